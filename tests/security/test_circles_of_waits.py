"""A recording whose threads wait for each other in circles, ten thousand of them: a replay looks at each thread a few times."""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np

from headway import _native
from support.builders.replay_builder import APP, BEFORE, FUTEX, NANOSLEEP, acquired, plan

WALL_NS = 30
MOST_FORCED = 10_000
"""kMostForced of native/replay/core_replay.cpp."""


def pairs(threads: int, *, in_circles: bool) -> Any:
    """Return a run in which all threads compute 10 ns, wait 10 ns and compute 10 ns; in circles each pair for each other."""
    number = np.arange(threads)
    steps = _native.RunSteps(
        birth_ns=np.full(threads, BEFORE),
        parent=np.full(threads, -1, np.int32),
        role=np.full(threads, APP, np.uint8),
        process=np.zeros(threads, np.int32),
        from_ns=0,
        to_ns=WALL_NS,
        cores=threads,
    )
    twice = np.tile(number, 2).astype(np.int32)
    waited = np.repeat([0, 10], threads)
    waker = np.concatenate([np.full(threads, -1), number ^ 1 if in_circles else np.full(threads, -1)])
    steps.batch(
        tick_ns=np.ones(2 * threads, np.int16),
        end_ticks=np.repeat([10, 30], threads),
        running_ticks=np.full(2 * threads, 10),
        runnable_ticks=np.zeros(2 * threads, np.int64),
        blocked_ticks=waited,
        stolen_ticks=np.zeros(2 * threads, np.int64),
        thread_id=twice,
        waker_id=waker.astype(np.int32),
        flags=(waited > 0).astype(np.uint8),
        blocked_in=np.full(2 * threads, FUTEX if in_circles else NANOSLEEP, np.uint8),
    )
    none, no_thread = np.zeros(0, np.int64), np.zeros(0, np.int32)
    steps.resolve(
        start_ns=none,
        end_ns=none,
        vm_thread=no_thread,
        lock_thread=no_thread,
        lock_start_ns=none,
        lock_end_ns=none,
        answered_thread=no_thread,
        answered_woken_ns=none,
    )
    return steps


def replay(run: Any) -> tuple[float, int, float]:
    """Return when it ends, how many waits were ended for nobody could go on, and the CPU time that took."""
    began_s = time.process_time()
    (found,) = _native.replay_on_cores(
        runs=[run],
        last=[-1],
        cores=1e6,
        has_stolen=False,
        work_factor=1.0,
        io_factor=1.0,
        waking_factor=1.0,
        has_collections=True,
        has_lock_waits=True,
        plans=[plan(run, acquired([]), 1)],
        changed=cast("list[_native.StepChanges]", [None]),
        per_core=1.0,
        throughput=1.0,
    )
    return found[0], found[5], time.process_time() - began_s


def test_circles_are_opened_one_by_one_at_the_wait_that_was_over_first() -> None:
    """All compute 10. One circle is opened where nobody can go on: its pair computes 10, and then the next one's turn comes."""
    assert replay(pairs(100, in_circles=True))[:2] == (10 + 50 * 10, 50)
    assert replay(pairs(100, in_circles=False))[:2] == (30, 0)


def test_no_more_circles_than_ten_thousand_are_opened() -> None:
    assert replay(pairs(2 * MOST_FORCED, in_circles=True))[1] == MOST_FORCED
    end_ns, forced, _ = replay(pairs(2 * MOST_FORCED + 2, in_circles=True))
    assert end_ns < 0
    assert forced == MOST_FORCED


def test_circles_take_no_longer_than_as_many_sleeps() -> None:
    """Of 200,000 threads each circle had all looked through: two billion looks, a hundred times as long as the sleeps."""
    threads = 200_000
    sleeps = min(replay(pairs(threads, in_circles=False))[2] for _ in range(2))
    _, forced, circles = replay(pairs(threads, in_circles=True))
    assert forced == MOST_FORCED
    assert circles < 8 * sleeps
