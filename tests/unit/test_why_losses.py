"""How long a loss was there, on recordings made by hand: what the bounds of the speedup stand on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import synthetic
from headway.analyses.why import why
from headway.analyses.why_times import Times
from headway.analyses.why_types import Account, Loss
from headway.store import Recording, open_recording
from made_locks import Made, Wait
from synthetic import FakeThread

CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
TAKE = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.ArrayBlockingQueue", "take"),
    ("org.example.Shop", "consume"),
)


def the(cause: str, account: Account) -> Loss:
    """Return the only loss to a cause."""
    (loss,) = (each for each in account.lost if each.cause == cause)
    return loss


@pytest.mark.parametrize("stolen", [0, 30])
def test_only_what_the_slow_stage_ran_within_the_window_vanishes_with_it(stolen: int, tmp_path: Path) -> None:
    made = Made(
        [
            FakeThread("app", 0, [("R", 300)], "producer", stolen=[stolen]),
            FakeThread("app", 0, [("R", 60), ("B", 239), ("R", 1)], "consumer"),
            FakeThread("app", 200, [("R", 60)], "other"),
        ],
        [Wait(1, 0, 60, 299, waker=0, waking=298, stack=0)],
        wall=300,
        classes=[CONDITION],
        stacks=[TAKE],
    )
    loss = the("starved_consumer", why(open_recording(made.write(tmp_path / "r")), window=(200, 300)).account)
    # The consumer waits for 99 of 100 ns. What others than the producer did, 60 ns and 1 ns, is left for two cores.
    assert loss.core_ns == 39
    assert loss.bound_speedup == pytest.approx(100 / ((60 + 1) / 2))


def with_calls(path: Path, made: Sequence[FakeThread], wall: int, calls: Sequence[tuple[int, int]]) -> Recording:
    """Write threads whose every block was in a call and ended by a waker: (blocked_in, waker_id) by thread."""
    rows = [
        row | ({"blocked_in": calls[i][0], "waker_id": calls[i][1]} if row["blocked_ns"] else {"blocked_in": 0})
        for i, thread in enumerate(made)
        for row in synthetic.slices_of(i, thread)
    ]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    return open_recording(synthetic.write(path, made, wall, tables={"slice": rows}))


def test_the_sleeps_of_two_hundred_threads_of_one_name_are_there_one_after_another(tmp_path: Path) -> None:
    workers = [FakeThread("app", 10 * i, [("B", 9), ("R", 1)]) for i in range(200)]
    found = why(with_calls(tmp_path / "r", workers, 2000, [(3, -1)] * 200))
    loss = the("sleep", found.account)
    assert loss.core_ns == 2 * 1800
    assert loss.bound_speedup == pytest.approx(2000 / 200)
    for phase in found.phases:
        assert the("sleep", phase.account).bound_speedup == pytest.approx(10, rel=0.1)


def test_how_long_threads_slept_and_did_io_is_the_union_within_the_window(tmp_path: Path) -> None:
    made = [
        FakeThread("app", 0, [("R", 5), ("B", 30), ("R", 5)]),
        FakeThread("app", 0, [("R", 20), ("B", 30), ("R", 5)]),
        FakeThread("app", 0, [("R", 70), ("B", 10), ("R", 5)]),
        FakeThread("headway", 0, [("R", 1)]),
        FakeThread("app", 0, [("B", 99), ("R", 1)]),
    ]
    # A nanosleep, a timed futex that the sampler's signal interrupted, a socket, and a futex that somebody woke.
    times = Times(with_calls(tmp_path / "r", made, 100, [(3, -1), (2, 3), (6, -1), (0, -1), (2, 0)]), (0, 100))
    assert times.in_calls("io", [3], (0, 100)) == 0
    assert times.in_calls("sleep", [0], (0, 100)) == 30
    assert times.in_calls("sleep", [0, 1, 4], (0, 100)) == 45
    assert times.in_calls("sleep", [0, 1], (30, 40)) == 10
    assert (times.in_calls("io", [2, 0], (0, 75)), times.in_calls("sleep", [2], (0, 100))) == (5, 0)


@pytest.mark.parametrize(
    ("kind", "cause"), [("app", "waiting_for_threads"), ("jit", "jit"), ("gc", "gc_pause"), ("vm", "safepoint")]
)
def test_waits_for_threads_that_only_the_kernel_tells_of_have_no_bound(kind: str, cause: str, tmp_path: Path) -> None:
    made = [
        FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)], "one"),
        FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)], "two"),
        FakeThread(kind, 0, [("R", 90)], "waker"),
    ]
    # From 20 to 80 ns two wait and one core is idle: each loses half a core, but would be done 60 ns sooner.
    loss = the(cause, why(with_calls(tmp_path / "r", made, 100, [(1, 2), (1, 2), (0, -1)]), window=(20, 80)).account)
    assert (loss.core_ns, loss.bound_speedup) == (60, None)


def test_what_a_thread_was_blocked_on_that_nothing_tells_has_no_bound(tmp_path: Path) -> None:
    made = [FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)]), FakeThread("app", 0, [("R", 100)], "busy")]
    found = why(with_calls(tmp_path / "r", made, 100, [(8, -1), (0, -1)]))
    assert the("blocked", found.account).bound_speedup is None
