"""Likely gains of programs that would have gone on: their threads count all together, whoever was let in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.gains.ongoing import OngoingThreads
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread

APP = ("org.example.Shop", "sell")
JAVA = FakeThread("app", 0, [("B", 99), ("R", 1)], "java")
ATTACHED: dict[str, Any] = {"attached": True, "ended_by": "interrupt"}
EIGHT_CORES: dict[str, Any] = {"recorded_cores": 8, "affinity": [*range(8)]}
LAUNCHED: dict[str, Any] = {"ended_by": "duration"}


def gain(path: Path, threads: list[FakeThread], waits: list[Wait], facts: dict[str, Any]) -> float | None:
    lock_recording = LockRecording(threads, waits, stacks=[(*LOCK_FRAMES, APP)], facts=facts)
    lost = why(open_recording(lock_recording.write(path))).account.lost
    (lock,) = (loss for loss in lost if loss.cause == "lock_contention")
    return lock.likely_speedup


def turns(rounds: int, first: int, second: int, ns: int) -> list[Wait]:
    """Two threads take turns of `ns` at a lock."""
    return [
        Wait(first if i % 2 else second, 0, i * ns, i * ns + ns, owner=second if i % 2 else first,
             waker=second if i % 2 else first, waking=i * ns + ns, stack=0)
        for i in range(rounds)
    ]  # fmt: skip


def test_one_that_was_seldom_let_in_would_do_much_more_and_the_other_nothing() -> None:
    """One had the lock nearly always and did 80 in 100; the other waited for 80 and did 10 in the other 20: 50 in 100."""
    found = OngoingThreads([1, 2], np.array([40.0, 5.0]), np.array([100.0, 100.0]))
    saved = found.ahead_ns(np.array([[0, 0], [80, 0]]), 100)
    assert saved.tolist() == [pytest.approx(100 - 100 / ((80 + 50) / (80 + 10)), abs=1), 0]


def test_nobody_does_more_than_run_all_its_life() -> None:
    found = OngoingThreads([1, 2], np.array([25.0, 25.0]), np.array([100.0, 100.0]))
    assert found.ahead_ns(np.array([[99], [99]]), 100).tolist() == [50]


@pytest.mark.parametrize("facts", [ATTACHED, LAUNCHED], ids=["attached", "for a duration"])
@pytest.mark.parametrize("slices", [20, 1], ids=["many slices", "one slice"])
def test_threads_that_never_wait_weigh_by_what_they_ran(tmp_path: Path, slices: int, facts: dict[str, Any]) -> None:
    """Two threads take turns at a lock and do 1 together, three others do 3: without the lock, all do 5 instead of 4."""
    first = FakeThread("app", 0, [("R", 5), ("B", 5)] * 10, "worker-0")
    second = FakeThread("app", 0, [("B", 5), ("R", 5)] * 10, "worker-1")
    solos = [FakeThread("app", 0, [("R", 100 // slices)] * slices, f"solo-{i}") for i in range(3)]
    found = gain(tmp_path / "r", [JAVA, first, second, *solos], turns(20, 1, 2, 5), facts | EIGHT_CORES)
    assert found == pytest.approx(5 / 4, rel=0.02)


def test_a_lock_of_virtual_threads_has_the_gain_of_the_cores_it_lost(tmp_path: Path) -> None:
    carriers = [
        FakeThread("carrier", 0, [("R", 100)], "ForkJoinPool-1-worker-1"),
        FakeThread("carrier", 0, [("B", 95), ("R", 5)], "ForkJoinPool-1-worker-2"),
    ]
    waits = turns(9, -1, -2, 10)
    ended = gain(tmp_path / "ended", carriers, waits, {})
    assert gain(tmp_path / "attached", carriers, waits, ATTACHED) == ended
    assert ended is not None
    assert ended > 1.5


def test_threads_that_end_with_their_tasks_have_the_gain_of_the_cores_that_they_lost(tmp_path: Path) -> None:
    threads, waits = [JAVA], []
    for i in range(10):
        holder = len(threads)
        threads.append(FakeThread("app", 10 * i, [("R", 5)], f"request-{i}a"))
        threads.append(FakeThread("app", 10 * i, [("B", 5), ("R", 5)], f"request-{i}b"))
        waits.append(Wait(holder + 1, 0, 10 * i, 10 * i + 5, owner=holder, waker=holder, waking=10 * i + 5, stack=0))
    ended = gain(tmp_path / "ended", threads, waits, {})
    assert gain(tmp_path / "attached", threads, waits, ATTACHED) == ended
    assert ended is not None
    assert ended > 1.2
