"""Notes of agents become the tables of a causal recording: whole, cut off, of several JVMs, of several runs, recovered."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.record.causal.note_files import Tail, read_notes
from headway.record.finalise.finalise import finalise
from headway.record.finalise.recover import recover
from headway.store import open_recording
from support.builders import causal_notes_builder as notes_builder
from support.builders.edited_manifest import edit


def rows(directory: Path, sql: str) -> list[tuple[Any, ...]]:
    return open_recording(directory).query(sql).fetchall()


def ids(directory: Path) -> list[str]:
    return [each.id for each in open_recording(directory).notices]


def finished(directory: Path, notes: dict[int, str] | None = None, **manifest: Any) -> Path:
    notes_builder.recording(
        directory, notes if notes is not None else {77: notes_builder.text(notes_builder.a_run())}, **manifest
    )
    finalise(directory)
    return directory


def test_a_run_becomes_tables(tmp_path: Path) -> None:
    directory = finished(tmp_path / "a.headway")
    assert rows(directory, "FROM causal_run") == [
        (0, 77, notes_builder.BEGIN_NS, 4 * notes_builder.S, "posix", 10**6, "experiments", 0, 2)
    ]
    assert rows(directory, "FROM causal_line") == [
        (0, "line", "com.acme.Work", "unit", "Work.java", 42, 3 * 10**9, 7, 900),
        (1, "line", "com.acme.Work", "unit", "Work.java", 43, 10**9, 0, 300),
    ]
    found = rows(directory, "SELECT run, experiment, line, speedup_pct, dur_ns, delay_ns, is_complete FROM experiment")
    assert found == [
        (0, 0, 0, 0, 500_000_000, 0, True),
        (0, 1, 0, 50, 500_000_000, 100_000_000, True),
        (0, 2, 0, 0, 500_000_000, 0, True),
        (0, 3, 0, 100, 500_000_000, 250_000_000, False),
        (0, 4, 1, 0, 500_000_000, 0, True),
    ]
    assert rows(directory, "SELECT experiment, visits FROM experiment_visit") == [
        (0, 100),
        (1, 125),
        (2, 100),
        (3, 100),
        (4, 90),
    ]
    assert rows(directory, "SELECT name, hits, places FROM causal_point") == [("work", 700, 1)]
    health = dict(rows(directory, "SELECT key, value FROM causal_health"))
    assert health == {"samples": 100, "threads": 3, "refused.-3": 4, "out_of_scope_ns": 11, "unread_ns": 0}
    assert not (directory / "spool").exists()
    assert ids(directory) == []


def _whole(pid: int, cpu_ns: int, dur_s: float, speedup_pct: int) -> str:
    """Return the notes of a JVM that was one experiment."""
    whole = notes_builder.experiment(0, 2, speedup_pct, visits=1, dur_s=dur_s)
    notes = [
        notes_builder.begin(pid, "end-to-end"),
        notes_builder.line(2, 42),
        whole,
        notes_builder.profile(9, [[2, cpu_ns, 0, 5]]),
        notes_builder.note("end", 9),
    ]
    return notes_builder.text(notes)


def test_of_several_jvms_in_a_run_the_one_that_works_is_compared_end_to_end(tmp_path: Path) -> None:
    launcher = {76: _whole(76, 0, 2.0, 0)}
    directory = finished(tmp_path / "a.headway", launcher | {77: _whole(77, 10**9, 5.0, 0)})
    assert rows(directory, "SELECT pid, e.dur_ns FROM experiment e JOIN causal_run USING (run)") == [(77, 5 * 10**9)]
    assert len(rows(directory, "FROM causal_run")) == 2
    assert ids(directory) == ["HW638"]
    assert ids(finished(tmp_path / "b.headway", {77: _whole(77, 10**9, 5.0, 0)})) == []


def test_a_method_that_was_a_target_has_the_samples_of_its_lines(tmp_path: Path) -> None:
    notes = [
        *notes_builder.a_run()[:-1],
        notes_builder.line(5, 0, kind="method"),
        notes_builder.experiment(5, 5, 50, visits=3),
        notes_builder.note("end", 4),
    ]
    directory = finished(tmp_path / "a.headway", {77: notes_builder.text(notes)})
    found = rows(directory, "SELECT cpu_ns, blocked_ns, samples FROM causal_line WHERE kind = 'method'")
    assert found == [(4 * 10**9, 7, 1200)]


def test_how_steadily_a_point_is_visited_is_told_by_its_visits_per_second(tmp_path: Path) -> None:
    (variation,) = rows(finished(tmp_path / "a.headway"), "SELECT variation FROM causal_point")[0]
    assert variation == pytest.approx((((200 - 200) ** 2 + (300 - 200) ** 2 + (100 - 200) ** 2) / 3) ** 0.5 / 200)


def test_when_a_point_was_visited_last_is_kept(tmp_path: Path) -> None:
    notes = [
        notes_builder.begin(),
        notes_builder.point(),
        notes_builder.hits(1, 5),
        notes_builder.hits(2, 9),
        notes_builder.hits(3, 9),
        notes_builder.note("end", 4),
    ]
    directory = finished(tmp_path / "a.headway", {77: notes_builder.text(notes)})
    assert rows(directory, "SELECT last_hit_ns FROM causal_point") == [(notes_builder.BEGIN_NS + 2 * notes_builder.S,)]


def test_notes_of_a_killed_jvm_count_as_far_as_they_go(tmp_path: Path) -> None:
    whole = notes_builder.text(notes_builder.a_run())
    cut = whole[: whole.index('{"t": "experiment"', whole.index('"speedup_pct": 50')) + 40]
    directory = finished(tmp_path / "a.headway", {77: cut}, signal=9, exit_code=137)
    assert rows(directory, "SELECT count(*) FROM experiment") == [(2,)]
    assert rows(directory, "SELECT exit_code FROM causal_run") == [(137,)]
    assert "HW618" not in ids(directory)


@pytest.mark.parametrize("size", range(0, 1200, 7))
def test_notes_cut_off_anywhere_are_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "causal-77.jsonl"
    whole = notes_builder.text(notes_builder.a_run()).encode()
    path.write_bytes(whole[:size])
    notes = read_notes(path)
    assert notes.damaged == 0
    assert (notes.begin is not None) == (size > whole.index(b"\n"))


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        '{"t": "experiment", "ns": 5}',
        '{"t": "profile", "ns": 5, "lines": [[1, 2]], "out_of_scope_ns": 0, "unread_ns": 0}',
        '{"t": "hits", "ns": 1e400, "points": []}',
        '{"t": "point", "ns": 5, "id": 99999999999999999999, "name": "a", "kind": "b", "where": "c", "latency": 0, "places": 1}',
        '{"t": ["begin"], "ns": 5}',
        "[" * 100_000,
        "7",
        '{"t": "near", "ns": 5, "name": "a", "where": "b", "reason": "no_class", "near": [7]}',
    ],
)
def test_a_damaged_line_is_left_out_and_told(tmp_path: Path, line: str) -> None:
    notes = (
        notes_builder.text(notes_builder.a_run()[:-1])
        + line
        + "\n"
        + notes_builder.text([notes_builder.note("end", 4)])
    )
    directory = finished(tmp_path / "a.headway", {77: notes})
    assert rows(directory, "SELECT count(*) FROM experiment") == [(5,)]
    assert ids(directory) == ["HW618"]


def test_a_note_of_a_kind_that_is_not_known_does_no_harm(tmp_path: Path) -> None:
    notes = notes_builder.text([*notes_builder.a_run(), notes_builder.note("weather", 5, cloudy=1)])
    assert ids(finished(tmp_path / "a.headway", {77: notes})) == []


def test_names_that_are_no_unicode_text_are_escaped(tmp_path: Path) -> None:
    notes = notes_builder.text([*notes_builder.a_run(), notes_builder.point(1, name="\ud800x")])
    assert rows(finished(tmp_path / "a.headway", {77: notes}), "SELECT name FROM causal_point WHERE point = 1") == [
        ("\\ud800x",)
    ]


def test_several_jvms_of_a_run_are_runs_with_their_lines_under_one_id(tmp_path: Path) -> None:
    second = [{**each, "ns": each["ns"] + 5} for each in notes_builder.a_run(78)]
    second[2] = notes_builder.line(9, 43)
    second = [{**each, "target": 9} if each.get("target") == 2 else each for each in second]
    directory = finished(
        tmp_path / "a.headway", {78: notes_builder.text(second), 77: notes_builder.text(notes_builder.a_run())}
    )
    assert rows(directory, "SELECT run, pid FROM causal_run") == [(0, 77), (1, 78)]
    assert rows(directory, "SELECT DISTINCT line FROM experiment WHERE run = 1") == [(1,)]
    assert rows(directory, "SELECT cpu_ns FROM causal_line WHERE line_number = 43") == [(2 * 10**9,)]


def test_runs_add_up(tmp_path: Path) -> None:
    directory = finished(tmp_path / "a.headway")
    (directory / "spool").mkdir()
    (directory / "spool" / "causal-90.jsonl").write_text(notes_builder.text(notes_builder.a_run(90)))
    edit(directory, state="recording", causal_run=1, exit_code=3)
    recover(directory)
    assert rows(directory, "SELECT run, pid, exit_code FROM causal_run") == [(0, 77, 0), (1, 90, 3)]
    assert rows(directory, "SELECT count(*), count(DISTINCT line) FROM experiment") == [(10, 2)]
    assert rows(directory, "SELECT samples FROM causal_line WHERE line = 0") == [(1800,)]


def test_a_recording_whose_recorder_was_killed_is_recovered(tmp_path: Path) -> None:
    directory = notes_builder.recording(
        tmp_path / "a.headway",
        {77: notes_builder.text(notes_builder.a_run()[:8])},
        ended_by="recorder-died",
        exit_code=None,
    )
    with pytest.raises(HeadwayError, match="HW304"):
        open_recording(directory)
    recover(directory)
    manifest = open_recording(directory).manifest
    assert (manifest.state, manifest.is_causal) == ("partial", True)
    assert rows(directory, "SELECT count(*) FROM experiment") == [(3,)]
    assert rows(directory, "SELECT exit_code FROM causal_run") == [(None,)]
    assert ids(directory) == ["HW205"]


def test_a_recorder_that_died_after_it_had_kept_the_notes_does_not_count_them_twice(tmp_path: Path) -> None:
    directory = finished(tmp_path / "a.headway")
    (directory / "spool").mkdir()
    (directory / "spool" / "causal-77.jsonl").write_text(notes_builder.text(notes_builder.a_run()))
    edit(directory, state="recording")
    recover(directory)
    assert rows(directory, "SELECT count(*) FROM experiment") == [(5,)]


def test_a_run_of_which_half_was_kept_is_kept_anew(tmp_path: Path) -> None:
    directory = notes_builder.recording(tmp_path / "a.headway", {77: notes_builder.text(notes_builder.a_run())})
    (directory / "runs" / ".0.new").mkdir(parents=True)
    (directory / "runs" / ".0.new" / "causal-77.jsonl.gz").write_bytes(b"half")
    recover(directory)
    assert rows(directory, "SELECT count(*) FROM experiment") == [(5,)]


@pytest.mark.parametrize(
    ("target", "near"),
    [("line=com.acme.Work:99", "com.acme.Work:42"), ("method=com.acme.Work.gone", "com.acme.Work.unit")],
)
def test_a_target_that_is_not_there_is_told_with_what_runs_instead(tmp_path: Path, target: str, near: str) -> None:
    notes = [each for each in notes_builder.a_run() if each["t"] != "experiment"]
    asked = {"mode": "experiments", "progress": [{"name": "work", "where": "com.acme.Work.unit"}], "target": target}
    directory = finished(tmp_path / "a.headway", {77: notes_builder.text(notes)}, causal=asked)
    assert ids(directory) == ["HW639"]  # not that the program was too short
    (notice,) = open_recording(directory).notices
    assert target.replace("=", " ") in notice.message
    assert near in notice.message


def test_a_target_that_is_there_or_was_not_looked_for_yet_is_not_missed(tmp_path: Path) -> None:
    asked = {"mode": "experiments", "progress": [], "target": "line=com.acme.Work:42"}
    assert ids(finished(tmp_path / "a.headway", causal=asked)) == []
    notes = notes_builder.text([each for each in notes_builder.a_run() if each["t"] != "experiment"])
    assert ids(finished(tmp_path / "b.headway", {77: notes}, causal=asked)) == ["HW608"]  # sampled, but no experiment
    warming = {**asked, "target": "line=com.acme.Work:99", "warmup_ms": 60_000}
    assert ids(finished(tmp_path / "c.headway", {77: notes}, causal=warming)) == ["HW608"]


def test_a_link_in_place_of_notes_is_not_followed(tmp_path: Path) -> None:
    directory = notes_builder.recording(tmp_path / "a.headway", {})
    secret = tmp_path / "secret"
    secret.write_text(notes_builder.text(notes_builder.a_run()))
    (directory / "spool" / "causal-77.jsonl").symlink_to(secret)
    finalise(directory)
    assert ids(directory) == ["HW611"]
    tail = Tail(directory / "causal-1.jsonl")
    tail.path.symlink_to(secret)
    tail.poll()
    assert tail.notes.begin is None


def test_without_notes_it_is_told_that_no_experiments_were_made(tmp_path: Path) -> None:
    assert ids(finished(tmp_path / "a.headway", {})) == ["HW611"]
    known = [{"id": "HW053", "message": "no JVM", "remedy": ""}]
    assert ids(finished(tmp_path / "b.headway", {}, notices=known)) == ["HW053"]


def test_a_missing_spool_is_nothing_to_finalise(tmp_path: Path) -> None:
    directory = notes_builder.recording(tmp_path / "a.headway", {})
    shutil.rmtree(directory / "spool")
    with pytest.raises(HeadwayError, match="HW308"):
        finalise(directory)


def test_notes_are_read_while_they_grow(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "causal-77.jsonl")
    tail.poll()
    whole = notes_builder.text(notes_builder.a_run()).encode()
    with open(tail.path, "wb") as file:
        for at in range(0, len(whole), 97):
            file.write(whole[at : at + 97])
            file.flush()
            tail.poll()
    assert len(tail.notes.experiments) == 5
    assert (tail.notes.ended, tail.notes.damaged) == (True, 0)
