"""Views of one recording agree: what two commands, the overview and the page say of the same thing is the same."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.analyses.common.causes import OF_THE_JVM, TITLES
from headway.analyses.locks.analysis import has_locks, locks
from headway.analyses.lost_cores.analysis import why
from headway.analyses.overview import overview
from headway.report.html.locks import locks_view
from headway.report.html.lost_cores import why_values
from headway.report.json.locks import locks_json
from headway.report.json.lost_cores import why_json
from headway.report.terminal import make_console, print_table
from headway.report.terminal.closing import closing
from headway.report.terminal.locks import locks_table
from headway.report.terminal.lost_cores import largest
from headway.store import Recording, open_recording
from support.builders.extreme_recordings import EXTREMES
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

STACK = (*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))


def contended(path: Path) -> Path:
    """Write a recording in which two threads wait for a lock, and one for another."""
    waits = [
        Wait(0, 0, 100, 400, owner=3, waker=3, stack=0),
        Wait(1, 0, 150, 500, owner=3, waker=0, stack=0),
        Wait(2, 1, 600, 700, owner=1, waker=1, stack=0),
    ]
    holds = [LockHold(0, 3, 50, 400), LockHold(0, 0, 400, 500)]
    return LockRecording([FakeThread() for _ in range(4)], waits, holds, wall=1000, stacks=[STACK]).write(path)


CHOSEN = (
    "everything",
    "one_cpu",
    "only_virtual_threads",
    "blocks_of_no_length",
    "pauses_without_length",
    "usual",
    "mode_perf",
)
MADE: dict[str, Callable[[Path], Path]] = {"contended": contended, **{name: EXTREMES[name] for name in CHOSEN}}


@pytest.fixture(params=sorted(MADE))
def recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recording:
    return open_recording(MADE[request.param](tmp_path / "a.headway"))


def test_lost_cores_are_the_same_in_why_in_the_overview_and_on_the_page(recording: Recording) -> None:
    said, found = why_json(why(recording)), overview(recording)
    assert found.why is not None
    assert why_json(found.why) == said
    page = why_values(found.why)["account"]
    ours = {(each["cause"], each["place"]["lock"], each["core_ns"], each["likely_speedup"]) for each in said["lost"]}
    assert {(each["cause"], each["lock"], each["core_ns"], each["likely"]) for each in page["losses"]} <= ours
    assert (page["core_ns"], page["lost_ns"], page["stolen_ns"]) == (
        said["core_ns"],
        said["lost_ns"],
        said["stolen_ns"],
    )
    for finding in found.findings:
        if finding.id == "cores":
            assert finding.figures["lost_ns"] == said["lost_ns"]
        if finding.id == "lost_most":
            assert finding.figures["core_ns"] == max(each["core_ns"] for each in said["lost"])


def test_the_last_sentences_of_run_name_what_why_lists(recording: Recording) -> None:
    found = overview(recording)
    assert found.why is not None
    listed = [loss for loss in largest(found.why.account) if loss.cause not in OF_THE_JVM]
    cost = closing(found, "a.headway")[1]
    assert (cost == "It lost nothing to speak of.") <= (largest(found.why.account) == [])
    named = [cause for cause, title in TITLES.items() if cost.startswith(f"Most was lost to {title}")]
    assert set(named) <= {loss.cause for loss in listed}


def test_locks_are_the_same_in_the_command_in_the_overview_and_on_the_page(recording: Recording) -> None:
    found = overview(recording)
    if not has_locks(recording):
        assert found.locks is None
        return
    rows = list(locks_json(locks(recording)))
    page = locks_view(recording, found.locks).values
    assert page is not None
    keys = ("parking_thread_time_ns", "parking_real_time_ns", "times_parked", "lost_core_ns", "speedup_bound")
    for shown, row in zip(page["rows"], rows, strict=False):
        assert [shown[key] for key in keys] == [row[key] for key in keys]
        assert shown["true_hold_time_ns"] == row["true_hold_time_ns"]
    for finding in found.findings:
        if finding.id == "locks":
            assert finding.figures["parking_thread_time_ns"] in {row["parking_thread_time_ns"] for row in rows}


def test_a_hold_that_was_seen_is_no_estimate_in_any_table(tmp_path: Path) -> None:
    found = locks(open_recording(contended(tmp_path / "a.headway")), by="lock").rows
    rows = sorted(found, key=lambda row: row.blocker_id or 0)
    assert [row.true_hold is not None for row in rows] == [True, False]
    out = io.StringIO()
    print_table(make_console(out), locks_table(rows, "Contention"))
    seen, estimated = (line for line in out.getvalue().splitlines() if "%" in line)
    assert "~" not in seen
    assert "225 ns" in seen  # of 350 and 100, and not the 200 of 400 in which somebody waited
    assert "~100 ns" in estimated


def test_why_charges_a_lock_what_locks_says_though_others_and_ready_threads_had_the_cores(tmp_path: Path) -> None:
    waiter = FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)], "waiter")
    holder = FakeThread("app", 0, [("R", 20), ("W", 30), ("R", 50)], "holder")
    waits = [Wait(0, 0, 20, 80, owner=1, waker=1, waking=80, stack=0)]
    made = LockRecording([waiter, holder], waits, [LockHold(0, 1, 10, 80)], stacks=[STACK])
    found = open_recording(made.write(tmp_path / "a.headway"))
    (row,) = locks(found).rows
    (loss,) = (each for each in why(found).account.lost if each.cause == "lock_contention")
    assert (loss.core_ns, row.lost_core_ns) == (60, 60)
