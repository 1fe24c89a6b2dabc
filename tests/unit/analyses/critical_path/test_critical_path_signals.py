"""Where the critical path goes when a signal ends a JVM: to what the program did before, on recordings made by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.critical_path.analysis import critical_path
from headway.analyses.critical_path.path_threads import load_threads
from headway.analyses.critical_path.stopped import Stop, stop_of_program, stops
from headway.analyses.critical_path.types import CriticalPath
from headway.analyses.lost_cores.changes import AvoidedLoss
from headway.analyses.whatif.predicted_gains import PredictedGains
from headway.analyses.whatif.unchanged import loaded
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.synthetic import FakeThread, slices_of

WALL = 100
JAVA, WORKER, DISPATCHER, HANDLER, VM = range(5)
PID = 100
OUTSIDE, BY_A_TIMER = -2, -3
IN_A_SLEEP = 3
"""What slice.blocked_in says of nanosleep."""


def recording(
    folder: Path,
    threads: Sequence[FakeThread],
    wakers: Mapping[tuple[int, int], int],
    parents: Mapping[int, int],
    ended_by: str,
    other_process: int = -1,
) -> Recording:
    """Write the recording; `wakers` of the n-th block of each thread, `parents`: who started it, else the first thread."""
    rows = [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)]
    for i, row in enumerate(rows):
        row |= {"parent_tid": PID + parents.get(i, JAVA) if i else None, "end_ns": synthetic.ORIGIN + threads[i].end}
        if i == other_process:
            row |= {"pid": PID + i, "end_ns": None}
    slices = []
    for i, thread in enumerate(threads):
        blocks = 0
        for row in slices_of(i, thread):
            if row["blocked_ns"]:
                waker = wakers.get((i, blocks), -1)
                is_timer = waker == BY_A_TIMER
                row |= {
                    "waker_id": max(waker, OUTSIDE),
                    "waker_irq": is_timer,
                    "blocked_in": IN_A_SLEEP if is_timer else 1,
                }
                blocks += 1
            slices.append(row)
    slices.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    tables = {"slice": slices, "thread": rows}
    return open_recording(synthetic.write(folder / "a", threads, WALL, tables=tables, pid=PID, ended_by=ended_by))


def ns_of(path: CriticalPath) -> dict[str, int]:
    return {row.name: row.ns for row in path.by_thread}


TOLD = (
    FakeThread("app", 0, [("B", 80), ("R", 1), ("B", 17), ("R", 1)], "java"),
    FakeThread("app", 0, [("R", 20), ("B", 40), ("R", 15), ("B", 23), ("R", 1)], "worker"),
    FakeThread("vm", 0, [("R", 1), ("B", 80), ("R", 2), ("B", 15), ("R", 1)], "Signal Dispatcher"),
    FakeThread("app", 83, [("R", 7), ("B", 8), ("R", 1)], "SIGTERM handler"),
    FakeThread("vm", 0, [("R", 1), ("B", 89), ("R", 9)], "VM Thread"),
)
"""The worker computes, sleeps from 20 to 60, computes until 75; the signal comes at 80; all are woken to die at 98."""
WAKERS = {
    **{(JAVA, 0): OUTSIDE, (WORKER, 0): BY_A_TIMER, (DISPATCHER, 0): JAVA, (VM, 0): HANDLER},
    **{(JAVA, 1): VM, (WORKER, 1): VM, (DISPATCHER, 1): VM, (HANDLER, 0): VM},
}
PARENTS = {HANDLER: DISPATCHER}


@pytest.mark.parametrize("ended_by", ["interrupt", "exit"])
def test_the_path_goes_from_the_signals_handler_to_the_thread_that_was_active_before(
    tmp_path: Path, ended_by: str
) -> None:
    found = critical_path(recording(tmp_path, TOLD, WAKERS, PARENTS, ended_by))
    ns = ns_of(found)
    assert ns["worker"] == 83
    assert sum(ns.values()) == WALL
    assert not {"java", "Signal Dispatcher"} & ns.keys()
    (worker,) = (row for row in found.by_thread if row.name == "worker")
    assert worker.by_state["running"] == 35
    if ended_by == "interrupt":
        assert (found.thread.name, found.chosen) == ("SIGTERM handler", "a signal told the program to end")


def test_the_gain_of_a_program_that_a_signal_ended_is_predicted_by_its_worker_and_not_by_its_end(
    tmp_path: Path,
) -> None:
    """What the worker did by 75 it does in 35 without the sleep; the JVM's own thread would end no earlier than told to."""
    of = recording(tmp_path, TOLD, WAKERS, PARENTS, "exit")
    assert loaded(of).last == VM, "the replay alone takes the JVM's own thread for the one that ended it"
    sleep = AvoidedLoss("sleep", "", "", *(np.array([each]) for each in (WORKER, 20, 60)))
    (gain,) = PredictedGains(of).without([sleep])
    assert gain is not None
    assert gain.refused is None
    assert gain.speedup == pytest.approx(75 / 35, rel=0.03)  # a ns more or less to wake up


def test_a_handler_that_was_woken_by_who_started_it_did_not_wait_for_that_one(tmp_path: Path) -> None:
    handler = FakeThread("app", 82, [("B", 1), ("R", 7), ("B", 8), ("R", 1)], "SIGINT handler")
    threads = [*TOLD[:HANDLER], handler, TOLD[VM]]
    wakers = WAKERS | {(HANDLER, 0): DISPATCHER, (HANDLER, 1): VM}
    ns = ns_of(critical_path(recording(tmp_path, threads, wakers, PARENTS, "interrupt")))
    assert ns["worker"] == 83
    assert "java" not in ns


def test_what_a_shutdown_hook_does_is_on_the_path(tmp_path: Path) -> None:
    handler = FakeThread("app", 83, [("R", 2), ("B", 10), ("R", 1), ("B", 2), ("R", 1)], "SIGTERM handler")
    vm = FakeThread("vm", 0, [("R", 1), ("B", 95), ("R", 3)], "VM Thread")
    hook = FakeThread("app", 85, [("R", 10)], "a hook")
    wakers = WAKERS | {(HANDLER, 0): 5, (HANDLER, 1): VM}
    threads = [*TOLD[:HANDLER], handler, vm, hook]
    ns = ns_of(critical_path(recording(tmp_path, threads, wakers, {**PARENTS, 5: HANDLER}, "interrupt")))
    assert ns["a hook"] == 10
    assert ns["worker"] == 83


def test_of_a_program_that_is_killed_at_once_the_path_ends_in_the_thread_that_was_active_last(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("B", 98), ("R", 1)], "java"),
        FakeThread("app", 0, [("R", 20), ("B", 40), ("R", 37), ("B", 1), ("R", 1)], "worker"),
        FakeThread("vm", 0, [("R", 1), ("B", 97), ("R", 1)], "VM Thread"),
    ]
    wakers = {(0, 0): OUTSIDE, (1, 0): BY_A_TIMER, (1, 1): OUTSIDE, (2, 0): OUTSIDE}
    found = critical_path(recording(tmp_path, threads, wakers, {}, "exit"))
    assert found.thread.name == "worker"
    assert ns_of(found)["worker"] >= 97
    assert "java" not in ns_of(found)


def test_where_a_thread_on_record_sent_the_signal_the_path_goes_on_in_that_one(tmp_path: Path) -> None:
    threads = [*TOLD, FakeThread("app", 0, [("R", 100)], "who ends it")]
    of = recording(tmp_path, threads, WAKERS | {(JAVA, 0): 5}, PARENTS, "interrupt", other_process=5)
    assert stop_of_program(of, load_threads(of)) is None
    ns = ns_of(critical_path(of, thread=re.compile("SIGTERM")))
    assert ns["who ends it"] >= 80
    assert "worker" not in ns


TIMEOUT = FakeThread("app", 0, [("R", 1), ("B", 78), ("R", 1), ("B", 19), ("R", 1)], "timeout")
"""Waits for a time, sends a signal at 79, and waits for the JVM's end."""


def test_of_a_program_that_another_one_ends_after_a_time_the_path_goes_on_in_the_program(tmp_path: Path) -> None:
    wakers = WAKERS | {(JAVA, 0): 5, (5, 0): BY_A_TIMER, (5, 1): VM}
    of = recording(tmp_path, [*TOLD, TIMEOUT], wakers, PARENTS, "interrupt", other_process=5)
    stop = stop_of_program(of, load_threads(of))
    assert stop is not None
    assert (stop.active, stop.timer) == (WORKER, 5)
    assert ns_of(critical_path(of))["worker"] == 83
    # Whoever waits for the one that waited for the time, waits for the program.
    ns = ns_of(critical_path(of, thread=re.compile("timeout")))
    assert ns["worker"] >= 78
    assert ns["timeout"] <= 4


def test_of_a_program_that_another_one_kills_after_a_time_the_path_goes_on_in_the_program(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("B", 80), ("R", 1)], "java"),
        FakeThread("app", 0, [("R", 20), ("B", 40), ("R", 15), ("B", 5), ("R", 1)], "worker"),
        FakeThread("vm", 0, [("R", 1), ("B", 79), ("R", 1)], "VM Thread"),
        TIMEOUT,
    ]
    wakers = {(0, 0): 3, (1, 0): BY_A_TIMER, (1, 1): 3, (2, 0): 3, (3, 0): BY_A_TIMER, (3, 1): 2}
    of = recording(tmp_path, threads, wakers, {}, "exit", other_process=3)
    ns = ns_of(critical_path(of, thread=re.compile("timeout")))
    assert ns["worker"] >= 74
    assert "java" not in ns


def test_a_sender_that_reads_from_elsewhere_most_of_the_time_did_not_wait_for_a_time(tmp_path: Path) -> None:
    reader = FakeThread("app", 0, [("B", 60), ("R", 1), ("B", 18), ("R", 1)], "who ends it")
    wakers = WAKERS | {(JAVA, 0): 5, (5, 0): OUTSIDE, (5, 1): BY_A_TIMER}
    of = recording(tmp_path, [*TOLD, reader], wakers, PARENTS, "interrupt", other_process=5)
    assert stop_of_program(of, load_threads(of)) is None


def test_a_handler_that_returned_long_before_the_end_ended_nothing(tmp_path: Path) -> None:
    handler = FakeThread("app", 83, [("R", 3)], "SIGHUP handler")
    of = recording(tmp_path, [*TOLD[:HANDLER], handler, TOLD[VM]], WAKERS, PARENTS, "exit")
    assert stop_of_program(of, load_threads(of)) is None


def several(folder: Path, count: int) -> Recording:
    """Write a recording of JVMs that were told to end one ns after another, each as in TOLD; ids follow each other."""
    threads: list[FakeThread] = []
    rows, slices = [], []
    for jvm in range(count):
        for place, each in enumerate(TOLD):
            later = FakeThread(each.kind, each.start + jvm, each.states, each.name)
            i, pid = len(threads), PID * (jvm + 1)
            parent = PARENTS.get(place, JAVA)
            rows.append(
                synthetic.thread_row(i, later, WALL + count)
                | {"pid": pid, "tid": pid + place, "parent_tid": pid + parent if place else None}
                | {"end_ns": synthetic.ORIGIN + later.end}
            )
            mine = slices_of(i, later)
            for number, row in enumerate(row for row in mine if row["blocked_ns"]):
                waker = WAKERS.get((place, number), -1)
                row |= {"waker_id": waker + jvm * len(TOLD) if waker >= 0 else max(waker, OUTSIDE)}
                row |= {"waker_irq": waker == BY_A_TIMER}
            slices += mine
            threads.append(later)
    slices.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    tables = {"slice": slices, "thread": rows}
    return open_recording(
        synthetic.write(folder / "a", threads, WALL + count, tables=tables, pid=PID, ended_by="interrupt")
    )


def test_many_jvms_that_are_told_to_end_take_as_many_questions_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    plain = Recording.query

    def query(self: Recording, text: str, *parameters: Any) -> Any:
        asked.append(text)
        return plain(self, text, *parameters)

    counts = []
    for count in (1, 20):
        of = several(tmp_path / str(count), count)
        threads = load_threads(of)
        monkeypatch.setattr(Recording, "query", query)
        asked.clear()
        found = stops(of, threads)
        counts.append(sum("slice" in each for each in asked))
        monkeypatch.undo()
        assert found == tuple(
            Stop(
                pid=PID * (jvm + 1),
                handler=jvm * len(TOLD) + HANDLER,
                sender=jvm * len(TOLD) + DISPATCHER,
                active=jvm * len(TOLD) + WORKER,
                start_ns=synthetic.ORIGIN + jvm + 83,
                exit_ns=synthetic.ORIGIN + jvm + 98,
            )
            for jvm in range(count)
        )
    assert counts[0] == counts[1] <= 3
