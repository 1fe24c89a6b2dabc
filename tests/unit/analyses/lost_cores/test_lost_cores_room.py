"""What of a gain the cores allow: small windows counted by hand."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pytest

from headway.analyses.common import causes
from headway.analyses.locks.analysis import locks
from headway.analyses.lost_cores.account.course import Course, integral
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.gains.bounds import BoundInputs, WaitSummary, WaitTotals, bound, bound_of_waits
from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
from headway.analyses.lost_cores.gains.room import possible_ns
from headway.analyses.lost_cores.gains.slow_side import work_ns
from headway.analyses.lost_cores.grouping import LossRow
from headway.analyses.lost_cores.likely_gains import _as_if_alone
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
PARK = (("jdk.internal.misc.Unsafe", "park"), ("java.util.concurrent.locks.LockSupport", "park"))
PUT = (*PARK, ("java.util.concurrent.ArrayBlockingQueue", "put"), ("org.example.Shop", "produce"))
IN_A_CALL = tuple(("org.example.Shop", f"step{number}") for number in range(5))
TAKE = (*PARK, ("java.util.concurrent.ArrayBlockingQueue", "take"), *IN_A_CALL)


def course(edges: list[int], work: list[float], free: list[float], kept: list[float] | None = None) -> Course:
    """Return a course of bins with so much work, free and kept core time in each."""
    sums = (np.concatenate([[0.0], np.cumsum(each)]) for each in (work, kept or [0.0] * len(work), free))
    return Course(np.array(edges), *sums)


def test_the_integral_of_open_spans_is_that_of_counting_them_ns_by_ns() -> None:
    start, end = np.array([3, 10, 10, 40]), np.array([20, 12, 60, 41])
    at = np.array([0, 5, 11, 30, 50, 80])
    counted = [sum(max(0, min(int(b), t) - min(int(a), t)) for a, b in zip(start, end, strict=True)) for t in at]
    assert integral(at, start, end).tolist() == counted
    assert integral(at, start, end, np.full(4, 0.5)).tolist() == [each / 2 for each in counted]


def test_without_a_lock_nothing_changes_before_its_first_wait() -> None:
    # One thread starts the program for 50; then eight keep both cores busy for 50, and wait for a lock in turn.
    inputs = BoundInputs(100, 2, work_ns=150, course=course([0, 50, 100], [50, 100], [50, 0]))
    waited = WaitSummary(wall_ns=50, first_ns=50, thread_ns=200, peak=6)
    assert bound_of_waits(causes.LOCK, 0, waited, inputs) == 1.0
    # Where the second half left a core idle, that is what may be gained, whatever the first half left.
    half_idle = BoundInputs(100, 2, work_ns=100, course=course([0, 50, 100], [50, 50], [50, 50]))
    assert bound_of_waits(causes.LOCK, 0, waited, half_idle) == pytest.approx(100 / 75)
    # Work that is spread otherwise may be spread from the beginning on.
    assert bound(causes.IMBALANCE, WaitTotals(50, 50, of_room=1.0, first_ns=50), half_idle) == bound(
        causes.IMBALANCE, WaitTotals(50, 50, of_room=1.0), half_idle
    )


def possible(tmp_path: Path, threads: list[FakeThread], free: float, replayed: int = 40) -> int:
    """Return what of a replayed gain is possible, if the second of two threads waits from 10 to 50."""
    recording = open_recording(LockRecording(threads, [Wait(1, 0, 10, 50)]).write(tmp_path / "r"))
    spans = (np.array([1]), np.array([10]), np.array([50]))
    inputs = BoundInputs(100, 2, work_ns=100, course=course([0, 100], [100], [free]))
    (found,) = possible_ns(
        [replayed], [spans], inputs, KernelTimes(recording, (0, 100)), lambda _: (0, 100), (0, 100), 2
    )
    return found


def test_who_computes_needs_a_core_and_who_sleeps_needs_none(tmp_path: Path) -> None:
    busy = FakeThread("app", 0, [("R", 100)])
    computes = FakeThread("app", 0, [("R", 10), ("B", 40), ("R", 50)])
    sleeps = FakeThread("app", 0, [("B", 99), ("R", 1)])
    assert possible(tmp_path / "a", [busy, computes], free=0) == 0
    assert possible(tmp_path / "b", [busy, computes], free=40) == 40
    assert possible(tmp_path / "c", [busy, computes], free=10) == 10
    assert possible(tmp_path / "d", [busy, sleeps], free=0) == pytest.approx(40, abs=1)


def test_free_cores_make_no_gain_of_a_wait_that_delayed_nobody(tmp_path: Path) -> None:
    busy = FakeThread("app", 0, [("R", 100)])
    computes = FakeThread("app", 0, [("R", 10), ("B", 40), ("R", 50)])
    assert possible(tmp_path / "a", [busy, computes], free=40, replayed=0) == 0
    assert possible(tmp_path / "b", [busy, computes], free=40, replayed=5) == 5


def test_virtual_threads_need_no_core_and_are_not_looked_for_among_the_slices(tmp_path: Path) -> None:
    class Asked(KernelTimes):
        def active(self, threads: Collection[int], window: tuple[int, int]) -> Mapping[int, tuple[int, int]]:
            asked.extend(threads)
            return super().active(threads, window)

    asked: list[int] = []
    busy = FakeThread("app", 0, [("R", 100)])
    recording = open_recording(LockRecording([busy, busy], []).write(tmp_path / "r"))
    spans = (np.arange(1, 1002), np.full(1001, 10), np.full(1001, 50))
    inputs = BoundInputs(100, 2, work_ns=100, course=course([0, 100], [100], [0]))
    times = Asked(recording, (0, 100))
    (found,) = possible_ns([40], [spans], inputs, times, lambda _: (0, 100), (0, 100), 2)
    assert asked == [1]
    assert found == pytest.approx(40, abs=1)  # one of 1001 waiters would need a core


def test_a_lock_of_threads_that_keep_all_cores_busy_is_no_gain(tmp_path: Path) -> None:
    # Three compute on two cores; each waits while the two others run: whoever goes on takes another one's core.
    threads = [
        FakeThread("app", 0, [("R", 60), ("B", 30), ("R", 30)]),
        FakeThread("app", 0, [("R", 30), ("B", 30), ("R", 60)]),
        FakeThread("app", 0, [("B", 30), ("R", 90)]),
    ]
    waits = [Wait(0, 0, 60, 90, owner=2), Wait(1, 0, 30, 60, owner=0), Wait(2, 0, 0, 30, owner=1)]
    account = why(open_recording(LockRecording(threads, waits, wall=120).write(tmp_path / "r"))).account
    assert [loss.likely_speedup for loss in account.lost if loss.cause == "lock_contention"] in ([], [1.0])


@pytest.mark.parametrize(("cause", "stack"), [("full_producer", PUT), ("starved_consumer", TAKE)])
def test_the_bound_of_a_queue_is_one_in_why_and_locks(
    cause: str, stack: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    # The slow side computes for 280 of 300, the other one for 60, a third one for 90.
    lock_recording = LockRecording(
        [
            FakeThread("app", 0, [("R", 280)], "slow"),
            FakeThread("app", 0, [("R", 40), ("B", 240), ("R", 20)], "fast"),
            FakeThread("app", 100, [("R", 90)], "other"),
        ],
        [Wait(1, 0, 40, 280, waker=0, waking=279, stack=0)],
        wall=300,
        classes=[CONDITION],
        stacks=[stack],
    )
    recording = open_recording(lock_recording.write(tmp_path / "r"))
    (loss,) = (loss for loss in why(recording).account.lost if loss.cause == cause)
    (row,) = locks(recording).rows
    assert row.speedup_bound == loss.bound_speedup == pytest.approx(300 / ((60 + 90) / 2), rel=0.05)


def test_a_slow_side_one_thread_of_which_is_not_known_may_have_done_all_the_work(tmp_path: Path) -> None:
    recording = open_recording(LockRecording([FakeThread("app", 0, [("R", 30)])] * 2, []).write(tmp_path / "r"))
    # Group 0: both are known; 1: one wait is for nobody known; 2: one is for a virtual thread (number 2); 3: nothing is known.
    group, target = np.array([0, 0, 0, 1, 1, 2, 2, 3]), np.array([0, 1, 1, 0, -1, 1, 2, -1])
    found = work_ns(KernelTimes(recording, (0, 100)), group, target, 2, (0, 100))
    assert found == {0: 60, 1: None, 2: None, 3: None}


def test_a_place_where_both_sides_of_a_queue_wait_is_bounded_by_the_side_that_most_waited_for(tmp_path: Path) -> None:
    # At one place threads wait for room (for the thread that takes, which computes for 280), and once for an element.
    both = (*PARK, ("java.util.concurrent.ArrayBlockingQueue", "put"), ("org.example.Shop", "run"))
    other = (*PARK, ("java.util.concurrent.ArrayBlockingQueue", "take"), ("org.example.Shop", "run"))
    lock_recording = LockRecording(
        [
            FakeThread("app", 0, [("R", 280)], "taker"),
            FakeThread("app", 0, [("R", 40), ("B", 240), ("R", 20)], "putter"),
            FakeThread("app", 100, [("R", 20), ("B", 10), ("R", 60)], "other"),
        ],
        [
            Wait(1, 0, 40, 280, waker=0, waking=279, stack=0),
            Wait(2, 0, 120, 130, waker=1, waking=129, stack=1),
        ],
        wall=300,
        classes=[CONDITION],
        stacks=[both, other],
    )
    (row,) = locks(open_recording(lock_recording.write(tmp_path / "r"))).rows
    # Without the taker's work, 60 and 80 remain for two cores; the putter's 60 must not count as the slow side.
    assert row.speedup_bound == pytest.approx(300 / ((60 + 80) / 2), rel=0.05)


def test_what_others_used_of_idle_cores_counts_as_lost_to_the_causes_that_left_it_idle() -> None:
    # One thread works alone for 100 on two cores; another process has half of the other one, which nobody of the program wanted.
    rows = [
        LossRow(list(causes.CAUSES).index(causes.SERIAL), -1, 0, 50),
        LossRow(list(causes.CAUSES).index(causes.GC), -1, -1, 10),
    ]
    assert _as_if_alone(rows, 0, BoundInputs(100, 2, work_ns=100, left_ns=50)) == 2.0
    assert _as_if_alone(rows, 50, BoundInputs(100, 2, work_ns=100, left_ns=50)) == 1.5, (
        "half of it while it waited for work"
    )
    assert _as_if_alone(rows, 0, BoundInputs(10_000, 2, work_ns=100, left_ns=50)) == 1.0, "too little to tell by"


@pytest.mark.parametrize(
    ("free", "room"),
    [
        ([10, 0, 30, 40], 40),  # what finds no core in the second bin is done in the third
        ([40, 40, 0, 0], 30),  # what was free before somebody wanted it is of no use later
        ([0, 0, 25, 5], 30),
        ([0, 15, 0, 0], 15),
    ],
)
def test_work_that_finds_no_core_at_once_is_done_later_but_not_before(free: list[float], room: float) -> None:
    went = course([0, 20, 40, 60, 80], [0] * 4, free)
    done = left = 0.0
    for wanted, can in zip([10, 20, 10, 0], free, strict=True):  # one thread waits from 10 to 50
        now = min(wanted + left, can)
        done, left = done + now, left + wanted - now
    assert went.room_ns(np.array([10]), np.array([50]), 1.0) == done == room
