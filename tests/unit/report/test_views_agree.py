"""Views of one recording agree: what two commands, the overview and the page say of the same thing is the same."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from headway.analyses.common.causes import OF_THE_JVM, TITLES
from headway.analyses.locks import cost as cost_of_locks
from headway.analyses.locks.analysis import has_locks, locks
from headway.analyses.lost_cores.analysis import why
from headway.analyses.overview import LEAST_LOST, MOST_LOCKS, Overview, overview
from headway.analyses.whatif.predicted_gains import PredictedGains
from headway.report.html.locks import locks_view
from headway.report.html.lost_cores import why_values
from headway.report.json.locks import locks_json
from headway.report.json.lost_cores import why_json
from headway.report.terminal import make_console, print_table
from headway.report.terminal.closing import closing
from headway.report.terminal.locks import locks_table
from headway.report.terminal.lost_cores import largest
from headway.store import Recording, open_recording
from support.builders.extreme_recordings import EXTREMES, write_rows
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

STACK = (*LOCK_FRAMES, ("org.example.Server", "handle"), ("java.lang.Thread", "run"))


def contended(path: Path) -> Path:
    """Write a recording in which two threads wait for a lock, and one for another, beside one that runs: 450 ns are lost."""
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 300), ("R", 600)]),
        FakeThread("app", 100, [("R", 50), ("B", 350)]),
        FakeThread("app", 500, [("R", 100), ("B", 100), ("R", 300)]),
        FakeThread("app", 50, [("R", 350)]),
    ]
    waits = [
        Wait(0, 0, 100, 400, owner=3, waker=3, stack=0),
        Wait(1, 0, 150, 500, owner=3, waker=0, stack=0),
        Wait(2, 1, 600, 700, owner=1, waker=1, stack=0),
    ]
    holds = [LockHold(0, 3, 50, 400), LockHold(0, 0, 400, 500)]
    return LockRecording(threads, waits, holds, wall=1000, stacks=[STACK]).write(path)


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


@pytest.fixture(scope="module", params=sorted(MADE))
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return open_recording(MADE[request.param](tmp_path_factory.mktemp("agree") / "a.headway"))


@pytest.fixture(scope="module")
def found(recording: Recording) -> Overview:
    return overview(recording)


def test_lost_cores_are_the_same_in_why_in_the_overview_and_on_the_page(recording: Recording, found: Overview) -> None:
    said = why_json(why(recording, gains=PredictedGains(recording)))
    assert found.why is not None
    assert why_json(found.why) == said
    page = why_values(found.why)["account"]
    ours = {(each["cause"], each["place"]["lock"], each["core_ns"], each["likely_speedup"]) for each in said["lost"]}
    shown = [(each["cause"], each["lock"], each["core_ns"], each["likely"]) for each in page["losses"]]
    assert set(shown) <= ours
    assert len(shown) + page["more"]["losses"] == len(said["lost"])
    assert bool(shown) == bool(said["lost"])
    assert (page["core_ns"], page["lost_ns"], page["stolen_ns"]) == (
        said["core_ns"],
        said["lost_ns"],
        said["stolen_ns"],
    )
    (cores,) = (each for each in found.findings if each.id == "cores")
    assert cores.figures["lost_ns"] == said["lost_ns"]
    most = [each.figures["core_ns"] for each in found.findings if each.id == "lost_most"]
    largest = max(said["lost"], key=lambda each: each["core_ns"], default=None)
    assert most == ([] if largest is None or largest["share"] < LEAST_LOST else [largest["core_ns"]])


def test_the_last_sentences_of_run_name_what_why_lists(found: Overview) -> None:
    assert found.why is not None
    listed = [loss for loss in largest(found.why.account) if loss.cause not in OF_THE_JVM]
    cost = closing(found, "a.headway")[1]
    assert (cost == "It lost nothing to speak of.") <= (largest(found.why.account) == [])
    named = [cause for cause, title in TITLES.items() if cost.startswith(f"Most was lost to {title}")]
    assert set(named) <= {loss.cause for loss in listed}


def test_locks_are_the_same_in_the_command_in_the_overview_and_on_the_page(
    recording: Recording, found: Overview
) -> None:
    if not has_locks(recording):
        assert found.locks is None
        return
    rows = list(locks_json(locks(recording)))
    page = locks_view(recording, found.locks).values
    assert page is not None
    keys = ("parking_thread_time_ns", "parking_real_time_ns", "times_parked", "lost_core_ns", "speedup_bound")
    for shown, row in zip(page["rows"], rows[:MOST_LOCKS], strict=True):
        assert [shown[key] for key in keys] == [row[key] for key in keys]
        assert shown["true_hold_time_ns"] == row["true_hold_time_ns"]
    for finding in found.findings:
        if finding.id == "locks":
            assert finding.figures["parking_thread_time_ns"] in {row["parking_thread_time_ns"] for row in rows}


def test_every_view_of_a_recording_with_contention_shows_it(tmp_path: Path) -> None:
    """What agrees above is there to agree."""
    recording = open_recording(contended(tmp_path / "a.headway"))
    found = overview(recording)
    assert found.why is not None
    page = locks_view(recording, found.locks).values
    assert page is not None
    assert [(row["parking_thread_time_ns"], row["lost_core_ns"]) for row in page["rows"]] == [(750, 450)]
    (finding,) = (each for each in found.findings if each.id == "locks")
    assert (finding.figures["parking_thread_time_ns"], finding.figures["lost_core_ns"]) == (750, 450)
    losses = why_values(found.why)["account"]["losses"]
    assert sum(each["core_ns"] for each in losses if each["cause"] == "lock_contention") == 450
    assert "lost_most" in {each.id for each in found.findings}
    assert closing(found, "a.headway")[1].startswith(f"Most was lost to {TITLES['lock_contention']}")


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


def figures_of_the_lock(recording: Recording) -> tuple[int, int | None]:
    """Return what `why` and what `locks` say that was lost to the only lock."""
    (row,) = locks(recording).rows
    (loss,) = (each for each in why(recording).account.lost if each.cause == "lock_contention")
    return loss.core_ns, row.lost_core_ns


def test_why_charges_a_lock_what_locks_says_though_others_and_ready_threads_had_the_cores(tmp_path: Path) -> None:
    waiter = FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)], "waiter")
    holder = FakeThread("app", 0, [("R", 20), ("W", 30), ("R", 50)], "holder")
    waits = [Wait(0, 0, 20, 80, owner=1, waker=1, waking=80, stack=0)]
    lock_recording = LockRecording([waiter, holder], waits, [LockHold(0, 1, 10, 80)], stacks=[STACK])
    assert figures_of_the_lock(open_recording(lock_recording.write(tmp_path / "a.headway"))) == (60, 60)


PID = 100
"""The JVM in which a thread waits for a lock from 20 to 80 while one core is idle."""
Rows = list[dict[str, Any]]


def of_jvms(
    directory: Path,
    threads: Sequence[FakeThread] = (),
    phases: Sequence[tuple[int, str, int, int]] = (),
    **tables: Rows,
) -> Recording:
    """Write a recording of that JVM and others, of one thread each (pids from 101 on); `phases`: pid, kind, from, to."""
    mine = [FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)]), FakeThread("app", 0, [("R", 100)])]
    waits = [Wait(0, 0, 20, 80, owner=1, waker=1, waking=80, stack=0)]
    lock_recording = LockRecording([*mine, *threads], waits, [LockHold(0, 1, 10, 80)], stacks=[STACK])
    rows: dict[str, Rows] = {}
    with contextlib.closing(open_recording(lock_recording.write(directory / "one.headway"))) as one:
        for name in one.manifest.tables:
            found = one.query(f"SELECT * FROM {name}")
            names = [column[0] for column in found.description]
            rows[name] = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    for number, row in enumerate(rows["thread"]):
        row["pid"] = PID + max(number - 1, 0)
    rows["jvm"] = [{"pid": pid, "key": "java.version", "value": "25"} for pid in {row["pid"] for row in rows["thread"]}]
    rows["jvm_phase"] = [
        {"pid": pid, "start_ns": ORIGIN + start, "dur_ns": end - start, "kind": kind, "cause": "test"}
        for pid, kind, start, end in phases
    ]
    return open_recording(write_rows(directory / "several.headway", rows | tables, lock_recording.wall))


def test_a_jvm_that_starts_takes_its_part_of_what_a_lock_of_another_one_lost_in_why_and_in_locks(
    tmp_path: Path,
) -> None:
    """From 30 to 40 it runs itself; until 70 half of the idle core is for its start."""
    other = FakeThread("app", 30, [("R", 10)], "main")
    found = of_jvms(tmp_path, [other], [(101, "startup", 30, 70)])
    assert figures_of_the_lock(found) == (10 + 15 + 10,) * 2


def test_nothing_is_lost_to_a_lock_where_all_jvms_pause_in_why_and_in_locks(tmp_path: Path) -> None:
    phases = [
        (101, "safepoint", 20, 60),
        (PID, "gc_pause", 40, 60),
        (PID, "gc_pause", 90, 95),
        (101, "shutdown", 70, 90),
    ]
    found = of_jvms(tmp_path, [FakeThread("vm", 0, [("B", 100)])], phases)
    assert figures_of_the_lock(found) == (10 + 0 + 10 + 5,) * 2


def test_what_lost_records_speak_for_is_lost_to_no_lock_in_why_and_in_locks(tmp_path: Path) -> None:
    """One of two CPUs lacks records from 30 to 50, both from 50 to 60."""
    spans = [(1, 30, 20), (-1, 50, 10)]
    loss = [
        {"cpu": cpu, "start_ns": ORIGIN + start, "dur_ns": dur, "source": "sched", "events": 1}
        for cpu, start, dur in spans
    ]
    assert figures_of_the_lock(of_jvms(tmp_path, loss=loss)) == (10 + 10 + 0 + 20,) * 2


def calls_in_cost(recording: Recording) -> int:
    """Return how many functions the module of the costs calls, and how often those are called and go on, for `locks`."""
    count = 0

    def seen(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call") and frame.f_code.co_filename == cost_of_locks.__file__

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        locks(recording)
    finally:
        sys.setprofile(before)
    return count


def test_the_pauses_of_very_many_jvms_are_added_up_in_one_pass(tmp_path: Path) -> None:
    """Each JVM had a pass over all changes in each stretch of slices: hours with 20,000 of them."""
    jvms, calls = 200, []
    for starting in (1, jvms // 2):
        (tmp_path / str(starting)).mkdir()
        phases = [(PID + 1 + number, "startup", 20, 80) for number in range(starting)]
        found = of_jvms(tmp_path / str(starting), [FakeThread("vm", 0, [("B", 100)])] * (jvms - 1), phases)
        calls.append(calls_in_cost(found))
    assert figures_of_the_lock(found) == (30, 30)
    assert calls[0] == calls[1] > 0
