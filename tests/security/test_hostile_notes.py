"""Notes on experiments that a process made to do harm: their reader is neither kept busy nor filled."""

from __future__ import annotations

import functools
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.record.causal import messages, note_files
from headway.record.causal import notes as causal_notes
from headway.record.causal.estimate import estimates
from headway.record.causal.note_files import Tail, Tails, read_all, read_notes
from headway.record.causal.notes import Notes
from headway.record.finalise.finalise import finalise
from headway.store import open_recording
from headway.store.schemas import causal
from support.builders import causal_notes_builder as build
from support.drivers.peak_memory import grown_kib


def test_a_file_that_is_a_hole_without_end_is_read_a_piece_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "causal-1.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    tail = Tail(path)
    begun = time.process_time()
    for _ in range(8):
        tail.poll()
    assert time.process_time() - begun < 5
    assert tail._at <= 8 * note_files._MOST_AT_ONCE_BYTES
    assert len(tail._rest) <= note_files._MOST_LINE_BYTES + note_files._READ_BYTES
    assert tail.notes.damaged > 0


def test_notes_elsewhere_that_stop_answering_keep_what_was_read() -> None:
    line = json.dumps({"t": "problem", "ns": 1, "id": "HW1", "text": "x"}).encode() + b"\n"
    answers = [line[:10], line[10:]]

    def read(offset: int, most: int) -> bytes:
        assert offset == sum(map(len, (line[:10], line[10:])[: 2 - len(answers)]))
        assert most <= note_files._READ_BYTES
        if answers:
            return answers.pop(0)
        raise TimeoutError

    tail = Tail(Path("causal-1.jsonl"), read)
    for _ in range(3):
        tail.poll()
    assert tail.notes.problems == [("HW1", "x")]


def test_notes_elsewhere_that_never_answer_are_asked_for_a_few_times() -> None:
    """Each time may leave a process behind that nothing can end."""
    asked: list[int] = []

    def read(offset: int, _most: int) -> bytes:
        asked.append(offset)
        raise TimeoutError

    tail = Tail(Path("causal-1.jsonl"), read)
    for _ in range(1000):
        tail.poll()
    assert len(asked) == note_files._MOST_LATE


def test_lines_without_end_in_a_compressed_file_do_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "causal-1.jsonl.gz"
    good = json.dumps({"t": "problem", "ns": 1, "id": "HW1", "text": "x"}).encode()
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(good + b"\n")
        for _ in range(96):
            file.write(bytes(1 << 20))
        file.write(b"\n" + good.replace(b"HW1", b"HW2") + b"\n" + good[:-3])
    imports = "from pathlib import Path; from headway.record.causal.note_files import read_notes"
    reads = "notes = read_notes(Path(sys.argv[1])); print([each[0] for each in notes.problems], notes.damaged)"
    grown, printed = grown_kib(imports, reads, path)
    assert printed == "['HW1', 'HW2'] 1"
    assert grown < 80 << 10


@pytest.mark.parametrize("cut", [1, 20, 40])
def test_a_compressed_file_that_is_cut_off_gives_what_it_has(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "causal-1.jsonl.gz"
    line = json.dumps({"t": "problem", "ns": 1, "id": "HW1", "text": "x"}).encode() + b"\n"
    path.write_bytes(gzip.compress(line)[:-cut])
    notes = read_notes(path)
    assert notes.damaged == 1 or notes.problems


def test_no_more_is_kept_than_an_agent_notes() -> None:
    notes = Notes(most_kept_bytes=900_000)
    for number in range(10_000):
        point = {
            "t": "point",
            "ns": 1,
            "id": number,
            "latency": 0,
            "places": 1,
            "name": "n",
            "kind": "candidate",
            "where": "w",
        }
        notes.take(json.dumps(point).encode())
    assert 8_000 < len(notes.points) < 10_000
    assert len(notes.points) + notes.damaged == 10_000
    notes.take(json.dumps({"t": "hits", "ns": 5, "points": [[1, 7]]}).encode())
    assert notes.hits(1) == 7, "what replaces what was there is still taken"


def test_problems_that_are_all_different_take_no_time_of_their_own() -> None:
    notes = Notes()
    begun = time.process_time()
    for number in range(20_000):
        notes.take(b'{"t":"problem","ns":1,"id":"HW1","text":"%d"}' % number)
    assert time.process_time() - begun < 10
    assert len(notes.problems) == causal_notes._MOST_PROBLEMS


def test_visits_within_experiments_are_summed_by_point() -> None:
    notes = Notes()
    for visits in ([[1, 5], [2, 1]], [[1, 7]]):
        notes.take(json.dumps({**build.experiment(1, 1, 50, visits=0), "visits": visits}).encode())
    assert (notes.hits(1), notes.hits(2), notes.hits(3)) == (12, 1, 0)


NUMBERS = (1 << 62, (1 << 63) - 1, 1 << 63, 1 << 80, -1, -(1 << 63), 1 << 31)
KINDS = ("begin", "point", "line", "experiment", "profile", "hits", "callers", "health", "end")


def with_number(note: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """A note with the number in place of each one it has."""
    for key, value in note.items():
        if isinstance(value, int):
            yield {**note, key: number}
        elif isinstance(value, list) and value and isinstance(value[0], list):
            for at, one in enumerate(value[0]):
                if isinstance(one, int):
                    yield {**note, key: [[*value[0][:at], number, *value[0][at + 1 :]], *value[1:]] * 3}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_no_agent_notes_cost_their_note_and_not_the_recording(tmp_path: Path, kind: str) -> None:
    """Three lines of visits that no table holds in all ended a causal recording in a defect's message."""
    callers = build.note("callers", 4, methods=[["com.acme.Work", "unit", 3, 4]], samples=10)
    run = [*build.a_run(), callers, build.note("end", 5)]
    odd = [each for note in run if note["t"] == kind for number in NUMBERS for each in with_number(note, number)]
    assert odd
    directory = tmp_path / "a.headway"
    build.recording(directory, {77: build.text([*run, *odd, *odd]), 78: build.text(build.a_run(78))})
    finalise(directory)
    recording = open_recording(directory)
    for table in causal.ALL:
        recording.query(f'FROM "{table.name}"').fetchall()
    assert "HW618" in [each.id for each in recording.notices]
    other = "SELECT sum(visits) FROM experiment_visit JOIN causal_run USING (run) WHERE pid = 78"
    assert recording.query(other).fetchall() == [(515,)]


def test_texts_that_are_not_utf_8_are_escaped_wherever_notes_have_them(tmp_path: Path) -> None:
    bad = "\ud800"
    notes = [
        {**build.begin(), "jdk": bad, "timer": bad},
        build.point(where=bad),
        build.line(1, 1, bad),
        build.health(3, **{bad: 1}),
        build.note("near", 3, name=bad, where=bad, reason="no_class", near=[bad]),
        build.note("problem", 3, id=bad, text=bad),
    ]
    directory = tmp_path / "a.headway"
    build.recording(directory, {77: build.text(notes)})
    finalise(directory)
    recording = open_recording(directory)
    assert recording.query("SELECT timer FROM causal_run").fetchall() == [("\\ud800",)]
    assert recording.query("SELECT name FROM causal_near").fetchall() == [("\\ud800",)]


def test_points_that_nobody_asked_for_are_not_a_message_each() -> None:
    """4,000 of them took 2.6 s, sixteen times as long for four times as many, and a line on the terminal each."""
    notes = Notes()
    for note in [build.begin(), *(build.point(number, f"p{number}") for number in range(3000))]:
        notes.take(json.dumps(note).encode())
    for number in range(3000):
        near = build.note("near", 3, name=f"n{number}", where=f"C{number}.m", reason="no_method", near=[])
        notes.take(json.dumps(near).encode())
    assert notes.damaged == 4000
    begun = time.process_time()
    assert len([*messages.of_runs([(notes, {})])]) == 2 * causal_notes._MOST_ASKED
    assert time.process_time() - begun < 5


def test_experiments_on_lines_without_end_are_estimated_for_those_with_most_of_them() -> None:
    """20,000 experiments, each second one on another line, took minutes of every ten seconds, and Ctrl-C waited for it."""
    notes = Notes()
    run = [build.begin(), build.point(), *(build.line(number, number + 1) for number in range(3))]
    for number in range(6000):
        target = number // 2 % 3 if number < 600 else number
        speedup_pct = 50 if number % 2 else 0
        run.append(build.experiment(number, target, speedup_pct, visits=100 + number % 7))
    for note in run:
        notes.take(json.dumps(note).encode())
    assert (len(notes.experiments), notes.damaged) == (6000, 0)
    begun = time.process_time()
    found = estimates([notes], ["work"])
    assert time.process_time() - begun < 10
    assert {"Work.java:1", "Work.java:2", "Work.java:3"} <= {each.name for each in found}
    assert len(found) <= 200


def problems(count: int) -> bytes:
    """Lines that say something new each."""
    lines = (json.dumps({"t": "problem", "ns": 1, "id": f"HW{number}", "text": "x"}) for number in range(count))
    return "".join(f"{line}\n" for line in lines).encode()


def test_notes_of_jvms_that_write_without_end_cost_no_others_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_files, "_MOST_KEPT_OF_ALL_BYTES", 300_000)
    paths = [tmp_path / f"causal-{number}.jsonl" for number in range(3)]
    for path, count in zip(paths, (20_000, 90, 20_000), strict=True):
        path.write_bytes(problems(count))
    found = read_all(paths)
    assert (len(found[paths[1]].problems), found[paths[1]].damaged) == (90, 0)
    assert sum(notes.kept_bytes for notes in found.values()) <= 300_000
    for path in (paths[0], paths[2]):
        assert found[path].damaged > 10_000, "what is left out is counted"
        assert found[path].kept_bytes > 140_000, "what the small one left of its share is theirs"


def test_a_file_that_is_longer_than_its_share_is_read_to_there_and_counts_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "causal-1.jsonl"
    path.write_bytes(problems(100))
    half = len(problems(50))
    notes = read_notes(path, most_bytes=half)
    assert (len(notes.problems), notes.damaged, notes.read_bytes) == (50, 1, half)


def test_a_look_at_the_notes_of_many_jvms_ends_soon_and_the_next_goes_on_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    asked: list[int] = []

    def slow(number: int, offset: int, most: int) -> bytes:
        assert most <= note_files._MOST_AT_ONCE_BYTES // 10
        asked.append(number)
        now_s[0] += 0.4
        raise TimeoutError

    tails = Tails()
    for number in range(10):
        tails.add(Path(f"causal-{number}.jsonl"), functools.partial(slow, number))
    for _ in range(4):
        begun_s = now_s[0]
        tails.look()
        assert now_s[0] - begun_s <= note_files._LOOK_LIMIT_S + 0.4
    assert asked == [*range(10), 0, 1]
