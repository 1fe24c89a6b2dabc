"""Of an agent's notes no experiment is lost through what else they tell: many requests in flight, odd figures, many messages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.errors import HeadwayError
from headway.model.causal.latency import in_flight
from headway.record.causal import messages
from headway.record.causal.notes import Notes
from headway.record.causal.tables import next_run
from headway.record.finalise.finalise import finalise
from headway.record.finalise.recover import recover
from headway.store import open_recording
from support.builders import causal_notes_builder as notes_builder
from support.builders.edited_manifest import edit

DUR_NS = 500_000_000
LARGEST = (1 << 63) - 1


def notes_of(lines: list[dict[str, Any]]) -> Notes:
    notes = Notes()
    for each in lines:
        notes.take(json.dumps(each).encode())
    return notes


def requests_without_end(per_s: int, experiments: int) -> list[dict[str, Any]]:
    """Return experiments of a point, and of a pair whose begin is visited and whose end never is, as an agent sums them up."""
    begun, found = per_s // 2, []
    for number in range(experiments):
        flying = number * begun
        row = [0, begun, 0, flying, flying * DUR_NS + begun * DUR_NS // 2]
        percent = 50 if number % 2 else 0
        found.append(notes_builder.experiment(number, 2, percent, visits=100 + percent, latency=[row]))
    return found


@pytest.mark.parametrize(("per_s", "experiments"), [(1_000_000, 1200), (1000, 1200)])
def test_requests_that_never_end_cost_no_experiment(per_s: int, experiments: int) -> None:
    notes = notes_of([notes_builder.begin(), *requests_without_end(per_s, experiments)])
    assert (len(notes.experiments), notes.damaged, notes.left_out_latencies) == (experiments, 0, 0)
    assert notes.inside == {0: sum(150 if number % 2 else 100 for number in range(experiments))}
    assert all(each["latency"] for each in notes.experiments)


def test_a_recording_of_requests_that_never_end_in_many_jvms_can_be_read(tmp_path: Path) -> None:
    directory = tmp_path / "a.headway"
    # Of twenty JVMs with half a billion requests in flight, the time in all is beyond 64 bits.
    flying = 500_000_000
    rows = [
        notes_builder.experiment(number, 2, 0, visits=7, latency=[[0, 0, 0, flying, flying * DUR_NS]])
        for number in range(10)
    ]
    each = [notes_builder.point(), notes_builder.line(2, 42), *rows, notes_builder.note("end", 9)]
    notes_builder.recording(
        directory, {pid: notes_builder.text([notes_builder.begin(pid), *each]) for pid in range(77, 97)}
    )
    finalise(directory)
    recording = open_recording(directory)
    assert recording.query("SELECT count(*), sum(visits) FROM experiment_visit").fetchall() == [(200, 1400)]
    total = 20 * 10 * flying * DUR_NS
    assert total > LARGEST
    assert recording.query("SELECT sum(in_flight_ns) FROM experiment_latency").fetchall() == [(total,)]
    assert "HW618" not in {each.id for each in recording.notices}


@pytest.mark.parametrize(
    "row", [[0, 1, 1, 0, LARGEST], [0, 1, 1, -(1 << 62) - 1, 0], [0, -1, 1, 0, 0], [0, 1, 1 << 56, 0, 0]]
)
def test_latency_figures_that_no_table_holds_cost_themselves_alone(tmp_path: Path, row: list[int]) -> None:
    other = [1, 5, 5, 2, 10**6]
    lines = [
        *notes_builder.a_run()[:-1],
        notes_builder.experiment(5, 2, 0, visits=80, latency=[row, other]),
        notes_builder.experiment(6, 2, 0, visits=80, latency=[other]),
        notes_builder.note("end", 5),
    ]
    notes_builder.recording(tmp_path / "a.headway", {77: notes_builder.text(lines)})
    finalise(tmp_path / "a.headway")
    recording = open_recording(tmp_path / "a.headway")
    assert recording.query("SELECT count(*) FROM experiment").fetchall() == [(7,)]
    assert recording.query("SELECT experiment, pair FROM experiment_latency").fetchall() == [(5, 1), (6, 1)]
    (notice,) = recording.notices
    assert notice.id == "HW653"
    assert "1 figure is left out of latencies" in notice.message


def test_a_line_that_is_left_out_adds_to_no_sum() -> None:
    notes = notes_of([notes_builder.begin(), notes_builder.experiment(0, 2, 0, visits=5)])
    before = Counter(notes.sums)
    damaged = [
        notes_builder.experiment(1, 2, 0, visits=5, sampled_ns=1 << 60),
        notes_builder.experiment(1, 2, 0, visits=1 << 60),
        notes_builder.experiment(1, 2, 0, visits=5, sampled_ns=1 << 54, dur_s=(1 << 55) / 1e9),  # the sum is too large
        notes_builder.experiment(1, 2, 0, visits=5, latency=[[0, 1, 1, 0]]),
        notes_builder.experiment(1, 2, 0, visits=5, latency=[[0, 1, 1, 0, True]]),
    ]
    for number, line in enumerate(damaged, start=1):
        notes.take(json.dumps(line).encode())
        assert notes.damaged == number
        assert notes.sums == before


def test_more_problems_than_are_kept_are_counted() -> None:
    problems = [notes_builder.note("problem", 1, id="HW609", text=f"problem {number}") for number in range(150)]
    notes = notes_of([*problems, *problems[:100]])
    assert (len(notes.problems), notes.damaged) == (100, 50)


@pytest.mark.parametrize(("kind", "is_told"), [("lock", False), ("line", True)])
def test_a_lock_that_experiments_were_made_on_is_none_that_nobody_takes(kind: str, *, is_told: bool) -> None:
    """The agent says so after some seconds; where a JVM starts slowly the class comes later."""
    early = notes_builder.note(
        "problem", 3, id="HW640", text="no class that is loaded takes a lock that is com.acme.Work"
    )
    target = notes_builder.line(4, 0, kind=kind)
    notes = notes_of([notes_builder.begin(), early, target, notes_builder.experiment(0, 4, 50, visits=9)])
    assert [each.id for each in messages.problems([notes])] == (["HW640"] if is_told else [])


@pytest.mark.parametrize("points", [100, 350])
def test_what_is_said_of_the_notes_as_a_whole_comes_before_messages_about_single_points(
    tmp_path: Path, points: int
) -> None:
    unvisited = [notes_builder.point(number, f"p{number}", f"com.acme.W.m{number}") for number in range(1, points + 1)]
    launcher = notes_builder.text(
        [
            notes_builder.begin(76, "end-to-end"),
            notes_builder.line(2, 42),
            notes_builder.experiment(0, 2, 0, visits=1),
        ]
    )
    run = [notes_builder.begin(77, "end-to-end"), *notes_builder.a_run()[1:-1], *unvisited]
    notes = notes_builder.text(run) + "garbage\n" + notes_builder.text([notes_builder.note("end", 6)])
    notes_builder.recording(tmp_path / "a.headway", {76: launcher, 77: notes})
    finalise(tmp_path / "a.headway")
    found = open_recording(tmp_path / "a.headway").notices
    ids = Counter(each.id for each in found)
    assert [ids["HW618"], ids["HW638"]] == [1, 1]
    kept = ids["HW606"]
    if points == 100:
        assert (kept, ids["HW654"]) == (100, 0)
    else:
        (cut,) = [each for each in found if each.id == "HW654"]
        assert cut.message.startswith(f"{points - kept} more messages ")
        assert len(found) == 300


def test_figures_of_a_stranger_that_are_beyond_64_bits_when_added_up_end_no_analysis() -> None:
    flying, ended = np.array([-(1 << 62), 0]), np.array([1 << 62, 0])
    spent_ns, effective_ns = np.array([0, 0]), np.array([5e8, 5e8])
    found = in_flight(np.array([0, 10]), ended, flying, spent_ns, effective_ns)
    assert found.missing == 1 << 63
    assert not found.is_possible[0]


@pytest.mark.parametrize(("said", "kept_in"), [(5 * 10**18, 0), (10**18, 0), (10**18 - 1, 10**18 - 1), (-1, 0), (7, 7)])
def test_a_number_of_a_run_that_would_not_be_found_again_loses_no_notes(
    tmp_path: Path, said: int, kept_in: int
) -> None:
    directory = tmp_path / "a.headway"
    notes_builder.recording(directory, {77: notes_builder.text(notes_builder.a_run())}, causal_run=said)
    recover(directory)
    visits = "SELECT sum(visits) FROM experiment_visit"
    assert open_recording(directory).query(visits).fetchall() == [(515,)]
    assert [each.name for each in (directory / "runs").iterdir()] == [str(kept_in)]
    (directory / "spool").mkdir()
    (directory / "spool" / "causal-90.jsonl").write_text(notes_builder.text(notes_builder.a_run(90)))
    edit(directory, state="recording", causal_run=next_run(directory))
    recover(directory)
    assert open_recording(directory).query(visits).fetchall() == [(1030,)]


def test_an_exit_code_that_is_no_number_is_named(tmp_path: Path) -> None:
    directory = tmp_path / "a.headway"
    notes_builder.recording(directory, {77: notes_builder.text(notes_builder.a_run())}, exit_code=True)
    with pytest.raises(HeadwayError, match="exit_code is a bool"):
        recover(directory)
