"""Pools in replays: random tasks on any number of workers take what a list of them takes, in the order of submission."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from support.builders.replay_builder import NANOSLEEP, Slice, replayed, steps

CORES = 64
SUBMITS = 1
"""What the submitting thread computes for each task."""


class Ran(NamedTuple):
    """A task: when it was submitted, which worker ran it from when until when, and whether that one had waited for it."""

    submitted: int
    worker: int
    start: int
    end: int
    waited: bool


def scheduled(gaps: Sequence[int], lengths: Sequence[int], workers: int) -> list[Ran]:
    """Return what becomes of tasks that are submitted so long after each other; the worker that is free first takes the next."""
    free = [(0, worker) for worker in range(workers)]
    now, found = 0, []
    for gap, length in zip(gaps, lengths, strict=True):
        now += gap + SUBMITS
        since, worker = heapq.heappop(free)
        start = max(now, since)
        found.append(Ran(now, worker, start, start + length, since < now))
        heapq.heappush(free, (start + length, worker))
    return found


def run_of(gaps: Sequence[int], ran: Sequence[Ran], latest: int | None = None) -> tuple[Any, int]:
    """Return the recorded run, its tasks apart, and its end: the submitter is thread 0, and waits for all at last.

    `latest`: all that is known of when tasks that were in the queue had been submitted.
    """
    end = max(each.end for each in ran)
    last = max(ran, key=lambda each: each.end)
    slices: list[Slice] = []
    now, free = 0, dict[int, int]()
    for gap in gaps:
        slices.append(Slice(0, now, now + gap, now + gap, now + gap + SUBMITS, blocked_in=NANOSLEEP, irq=True))
        now += gap + SUBMITS
    if end > now:
        slices.append(Slice(0, now, end, end, end + SUBMITS, waker=last.worker + 1))
    for each in ran:
        begin = free.get(each.worker, 0) if each.waited else each.start
        slices.append(Slice(each.worker + 1, begin, each.start, each.start, each.end, waker=0 if each.waited else -1))
        free[each.worker] = each.end
    tasks = sorted(ran, key=lambda each: (each.worker, each.start))
    middle = [(free_before(ran, each) + each.start) // 2 if each.waited else each.start for each in tasks]
    joins = [(0, (now + end) // 2)] if end > now else []

    def column(values: Sequence[int], kind: Any = np.int64) -> Any:
        return np.array(values, kind)

    run = steps(slices, end + SUBMITS, CORES).with_tasks(
        thread=column([each.worker + 1 for each in tasks], np.int32),
        begin_ns=column(middle),
        pool=column([0] * len(tasks), np.int32),
        has_wait=column([each.waited for each in tasks], np.uint8),
        submitter=column([0] * len(tasks), np.int32),
        submitted_ns=column([each.submitted if latest is None else latest for each in tasks]),
        join_thread=column([thread for thread, _ in joins], np.int32),
        join_ns=column([ns for _, ns in joins]),
        join_since_ns=column([-1] * len(joins)),
        join_pool=column([0] * len(joins), np.int32),
    )
    return run, end


def free_before(ran: Sequence[Ran], task: Ran) -> int:
    """Return since when the worker of a task had been free."""
    return max([each.end for each in ran if each.worker == task.worker and each.end <= task.start], default=0)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 100)), min_size=1, max_size=25),
    st.integers(1, 6),
    st.integers(1, 8),
)
def test_tasks_on_other_workers_end_when_a_list_of_them_is_done(
    tasks: list[tuple[int, int]], recorded: int, asked: int
) -> None:
    gaps, lengths = [10 * gap for gap, _ in tasks], [10 * length for _, length in tasks]
    run, _ = run_of(gaps, scheduled(gaps, lengths, recorded))
    done = max(each.end for each in scheduled(gaps, lengths, asked))
    submitted = sum(gaps) + SUBMITS * len(gaps)
    (ns,) = replayed([run], CORES, workers=[[asked]])
    assert abs(ns - max(done, submitted)) <= SUBMITS, (ns, done, submitted)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=25), st.integers(1, 6), st.integers(1, 8))
def test_tasks_whose_latest_submission_alone_is_known_are_taken_in_the_order_in_which_they_began(
    tasks: list[int], recorded: int, asked: int
) -> None:
    gaps, lengths = [0] * len(tasks), [100 * length for length in tasks]
    submitted = SUBMITS * len(tasks)
    run, _ = run_of(gaps, scheduled(gaps, lengths, recorded), submitted)
    done = max(each.end for each in scheduled(gaps, lengths, asked))
    (ns,) = replayed([run], CORES, workers=[[asked]])
    assert abs(ns - max(done, submitted)) <= submitted, (ns, done)
