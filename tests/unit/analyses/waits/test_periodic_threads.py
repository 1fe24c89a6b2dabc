"""Threads that a program's own clock, scheduler or cleaner consists of wait for their time, and lose nothing by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.locks.analysis import locks
from headway.analyses.lost_cores.analysis import why
from headway.store import Recording, open_recording
from support.builders.lock_builder import LOCK_CLASS, LockRecording, Wait
from support.builders.synthetic import FakeThread

PAUSE = 20
WORK = 1
ROUNDS = 10
WALL = ROUNDS * (PAUSE + WORK)
WAIT = (("java.lang.Object", "wait0"), ("java.lang.Object", "wait"))
RUN = ("java.lang.Thread", "run")
CLOCK = (*WAIT, ("org.quartz.core.QuartzSchedulerThread", "run"), RUN)
WORKER = (*WAIT, ("org.quartz.simpl.SimpleThreadPool$WorkerThread", "run"), RUN)
IN_A_CALL = (*WAIT, *(("org.example.Client", f"step{i}") for i in range(4)), RUN)
JOIN = (*WAIT, ("java.lang.Thread", "join"), ("org.example.App", "main"))
OBJECT = "java.lang.Object"
CUT_OFF: dict[str, Any] = {"attached": True, "ended_by": "duration"}


def rounds(
    number: int, lock: int, stack: int, wakers: Sequence[int | None] = (None,) * ROUNDS
) -> tuple[FakeThread, list[Wait]]:
    """Return a thread that waits with a limit in each round, until another one (None: nobody) ends that, and works for 1 ns."""
    waits = []
    for at, waker in enumerate(wakers):
        start = at * (PAUSE + WORK)
        waking = None if waker is None else start + PAUSE
        waits.append(Wait(number, lock, start, start + PAUSE, waker=waker, waking=waking, stack=stack, is_timed=True))
    return FakeThread(
        "app", 0, [step for _ in wakers for step in (("B", PAUSE), ("R", WORK))], f"thread-{number}"
    ), waits


def recorded(
    path: Path,
    threads: Sequence[tuple[FakeThread, Sequence[Wait]]],
    stacks: Sequence[Any],
    classes: Sequence[str] = (OBJECT, OBJECT),
    **facts: Any,
) -> Recording:
    """Write a recording of some threads and their waits."""
    waits = [wait for _, mine in threads for wait in mine]
    recording = LockRecording(
        [each for each, _ in threads], waits, wall=WALL, classes=classes, stacks=stacks, facts={**CUT_OFF, **facts},
        kinds=["park" if name == LOCK_CLASS else "wait" for name in classes],
    )  # fmt: skip
    return open_recording(recording.write(path / "a.headway"))


def rules(recording: Recording) -> set[tuple[str, bool]]:
    return {(row.rule.id, row.contention) for row in locks(recording).rows}


def own_gains(recording: Recording) -> list[str]:
    """Return the causes of waiting without which a recording's program would be faster."""
    waiting = {"sleep", "condition", "lock_contention", "starved_consumer"}
    return [loss.cause for loss in why(recording).account.lost if loss.cause in waiting]


def test_a_clock_and_the_workers_that_it_wakes_now_and_then_are_idle(tmp_path: Path) -> None:
    clock = rounds(0, 0, 0)
    workers = [rounds(number, 1, 1, [None, 0, None, None, 0] * 2) for number in (1, 2)]
    recording = recorded(tmp_path, [clock, *workers], [CLOCK, WORKER])
    assert rules(recording) == {("periodic", False), ("worker", False)}
    assert own_gains(recording) == []
    account = why(recording).account
    assert account.outside_ns == ROUNDS * PAUSE
    assert [(each.role, each.name, each.method) for each in account.idle] == [
        ("timer", "thread-0", "QuartzSchedulerThread.run")
    ]


def test_who_waits_in_a_call_waits_for_a_condition(tmp_path: Path) -> None:
    recording = recorded(tmp_path, [rounds(0, 0, 0), rounds(1, 1, 1, [None, 0] * 5)], [IN_A_CALL, IN_A_CALL])
    assert ("condition", True) in rules(recording)
    assert ("periodic", False) not in rules(recording)


def test_who_paces_others_that_wait_for_what_it_does_is_no_clock(tmp_path: Path) -> None:
    paced = [Wait(1, 1, at * 21, at * 21 + 20, waker=0, waking=at * 21 + 20, stack=1) for at in range(ROUNDS)]
    others = FakeThread("app", 0, [("B", PAUSE), ("R", WORK)] * ROUNDS, "paced"), paced
    recording = recorded(tmp_path, [rounds(0, 0, 0), others], [CLOCK, IN_A_CALL])
    assert rules(recording) == {("timed-wait", False), ("condition", True)}
    assert "sleep" in own_gains(recording)


def test_threads_that_one_waits_for_at_a_join_are_no_clocks(tmp_path: Path) -> None:
    joined = [Wait(1, 1, 0, WALL, stack=1, is_open=True)]
    main = FakeThread("app", 0, [("B", WALL)], "main"), joined
    recording = recorded(tmp_path, [rounds(0, 0, 0), main], [CLOCK, JOIN])
    assert ("timed-wait", False) in rules(recording)
    assert own_gains(recording) == ["sleep"]


@pytest.mark.parametrize("ended_by", ["exit", "duration"])
def test_in_a_program_that_ended_a_thread_that_ended_before_is_no_clock(tmp_path: Path, ended_by: str) -> None:
    recording = recorded(tmp_path, [rounds(0, 0, 0)], [CLOCK], [OBJECT], attached=False, ended_by=ended_by)
    assert rules(recording) == {("timed-wait" if ended_by == "exit" else "periodic", False)}


@pytest.mark.parametrize("has_limit", [True, False])
def test_a_housekeeper_that_the_main_thread_ends_before_itself_waits_for_its_time_or_for_work(
    tmp_path: Path, has_limit: bool
) -> None:
    """As the daemons of an embedded database do until it is closed, which joins them for a moment."""
    keeper = FakeThread("app", 0, [("R", 1), ("B", WALL - 11), ("R", 1)], "Checkpointer", is_daemon=True)
    waits = [Wait(0, 0, 1, WALL - 10, waker=1, waking=WALL - 10, stack=0, is_timed=has_limit)]
    main = FakeThread("app", 0, [("R", WALL - 10), ("B", 1), ("R", 9)], "main")
    joins = [Wait(1, 1, WALL - 10, WALL - 9, waker=0, waking=WALL - 9, stack=1)]
    threads = [(keeper, waits), (main, joins)]
    recording = recorded(tmp_path, threads, [CLOCK, JOIN], attached=False, ended_by="exit")
    assert {(row.rule.waiting, row.contention) for row in locks(recording).rows} == {
        ("waiting for work", False),
        ("waiting for a result", False),
    }
    assert own_gains(recording) == []


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_clock_that_is_no_daemon_and_is_woken_to_end_before_the_main_thread_waits_for_its_time(
    tmp_path: Path, is_interrupted: bool
) -> None:
    """As Ignite's timeout worker, which is notified of new timeouts now and then, and interrupted as the node is stopped."""
    last = 1 if is_interrupted else None
    _, waits = rounds(0, 0, 0, [None, 1, None, None, None, None, 1, None, None, last])
    ended = FakeThread("app", 0, [("B", PAUSE), ("R", WORK)] * (ROUNDS - 1) + [("B", PAUSE)], "timeout-worker")
    main = FakeThread("app", 0, [("R", WALL)], "main")
    recording = recorded(tmp_path, [(ended, waits), (main, [])], [CLOCK], [OBJECT], attached=False, ended_by="exit")
    (row,) = locks(recording).rows
    assert row.contention == (not is_interrupted)


def test_who_waits_for_a_lock_that_a_clock_has_waits_for_the_lock(tmp_path: Path) -> None:
    waits = [Wait(1, 1, at * 21, at * 21 + 20, owner=0, waker=0, waking=at * 21 + 20) for at in range(ROUNDS)]
    other = FakeThread("app", 0, [("B", PAUSE), ("R", WORK)] * ROUNDS, "other"), waits
    recording = recorded(tmp_path, [rounds(0, 0, 0), other], [CLOCK], (OBJECT, LOCK_CLASS))
    assert own_gains(recording)[0] == "lock_contention"
    assert "sleep" not in own_gains(recording)
