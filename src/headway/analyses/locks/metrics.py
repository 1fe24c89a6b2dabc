"""Lock metrics (Patros, 2014), derived from an object's exact sums, and those sums computed from single blocks.

Question   how often, how long and how much of the time was a lock waited for?
Method     Patros, "Measuring Java Util Concurrent Parking Contention", 2014, section 3.7. With n events (a thread blocks or
           goes on) at times t_i, and w_i threads blocked after event i:
             parking thread-time = sum w_(i-1) (t_i - t_(i-1)), parking real-time the same with min(w_(i-1), 1),
             average parking time = thread-time / times parked,
             average hold time    = real-time / (times parked - parked now), an estimate,
             utilisations         = real-time and thread-time over the program's time, and over t_n - t_1 ("life").
Assumes    for the hold time, that the lock is held whenever somebody waits for it, and only then, and by one thread at a
           time: of what several may have at once (permits, readers) it is not told; with a collection threshold, averages
           are over the blocks that were measured.
Wrong when a lock is mostly handed over rather than held: then the estimate counts the waking as holding (`true_hold_time`
           does not). Threads that still wait at the end count up to the end, and so does the life of their blocker.
Checked    tests/golden/test_park_metrics.py, tests/property/test_lock_figures.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


class LockSumsLike(Protocol):
    """Exact sums of a blocker, by whatever holds them: see LockSums."""

    @property
    def times_measured(self) -> int:
        """Return the number of waits whose time was measured."""

    @property
    def parked_now(self) -> int:
        """Return the number of threads that still wait."""

    @property
    def thread_time_ns(self) -> int:
        """Return the sum of all threads' blocked time in ns."""

    @property
    def real_time_ns(self) -> int:
        """Return the time in ns with at least one thread blocked."""

    @property
    def first_ns(self) -> int:
        """Return when a thread first waited for the object."""

    @property
    def last_ns(self) -> int:
        """Return when a thread last began or ended a wait for it."""

    @property
    def end_ns(self) -> int:
        """Return until when the time of threads that still wait counts."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """The derived metrics. None: undefined (no block, no time, first and last event at the same instant; of a hold: several
    threads may have it at once).
    """

    average_parking_time_ns: float | None
    average_hold_time_ns: float | None
    real_time_util_pct: float | None
    thread_time_util_pct: float | None
    real_life_time_util_pct: float | None
    thread_life_time_util_pct: float | None


def metrics(sums: LockSumsLike, total_ns: int, *, several_holders: bool = False) -> Metrics:
    """Derive an object's metrics in a program (or window) that lasted total_ns.

    `several_holders`: several threads may have it at once, so the time between two releases is no hold.
    """
    life_ns = (sums.end_ns if sums.parked_now else sums.last_ns) - sums.first_ns
    return Metrics(
        average_parking_time_ns=_ratio(sums.thread_time_ns, sums.times_measured),
        average_hold_time_ns=None
        if several_holders
        else _ratio(sums.real_time_ns, sums.times_measured - sums.parked_now),
        real_time_util_pct=_ratio(100 * sums.real_time_ns, total_ns),
        thread_time_util_pct=_ratio(100 * sums.thread_time_ns, total_ns),
        real_life_time_util_pct=_ratio(100 * sums.real_time_ns, life_ns),
        thread_life_time_util_pct=_ratio(100 * sums.thread_time_ns, life_ns),
    )


def _ratio(value: int, by: int) -> float | None:
    return value / by if by > 0 else None


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """Sums per group 0..n-1, and the spans in which a group has waiters: disjoint, in order of group, then time."""

    times_parked: Ints
    parked_now: Ints
    peak_parked: Ints
    thread_time_ns: Ints
    real_time_ns: Ints
    first_ns: Ints
    last_ns: Ints
    crowded_ns: Ints
    """Time with two waiters or more."""
    span_group: Ints
    span_start_ns: Ints
    span_end_ns: Ints


def grouped_sums(
    group: Ints,
    start: Ints,
    end: Ints,
    groups: int,
    window: tuple[int, int] | None = None,
    begins: Bools | None = None,
) -> GroupedSums:
    """Sum blocks [start, end) up per group, clipped to a window: one sort, then cumulative sums.

    Blocks must overlap the window (or lie in it, when they are empty). `times_parked` are those that began in it
    (of `begins`, if given: the blocks that begin a wait), `parked_now` those that go on past its end, which needs a window.
    """
    low, high = window if window is not None else (int(start.min(initial=0)), int(end.max(initial=0)))
    first, last = np.maximum(start, low), np.minimum(end, high)
    counted = (start >= low) & (start <= high)
    if begins is not None:
        counted &= begins
    owner, time, change = _changes(group, first, last)
    waiting = np.cumsum(change, dtype=np.int64)  # every group ends at zero, so one sum serves all
    length = np.append(time[1:], 0) - time
    length[waiting == 0] = 0
    began = waiting - np.where(change == 1, change, 0)
    opens = (waiting == 1) & (began == 0) & (change == 1)
    closes = (waiting == 0) & (change == -1)
    filled = last > first
    life = _life(group, start, end, first, last, (low, high), groups)
    return GroupedSums(
        times_parked=_count(group[counted], groups),
        parked_now=_count(group[end > high], groups),
        peak_parked=_maximum(owner, waiting, groups),
        thread_time_ns=_total(group[filled], (last - first)[filled], groups),
        real_time_ns=_total(owner, length, groups),
        first_ns=life[0],
        last_ns=life[1],
        crowded_ns=_total(owner[waiting > 1], length[waiting > 1], groups),
        span_group=owner[opens],
        span_start_ns=time[opens],
        span_end_ns=time[closes],
    )


def _changes(group: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints, NDArray[np.int8]]:
    """Return the group, the time and +1 or -1 of each change of a group's number of waiters, in order of group, then time."""
    # At one instant: ends, then starts, then the ends of blocks of no length, which are blocked for a moment all the same.
    rank = np.concatenate([np.ones(len(first), np.int8), np.where(last > first, 0, 2).astype(np.int8)])
    time = np.concatenate([first, last])
    owner = np.concatenate([group, group])
    order = np.lexsort((rank, time, owner))
    return owner[order], time[order], np.where(rank[order] == 1, 1, -1).astype(np.int8)


def _life(
    group: Ints, start: Ints, end: Ints, first: Ints, last: Ints, window: tuple[int, int], groups: int
) -> tuple[Ints, Ints]:
    """Return each group's first and last event in the window; a block that only spans it has its edges for events."""
    begins = np.full(groups, window[1], dtype=np.int64)
    np.minimum.at(begins, group, first)
    ends = np.full(groups, window[0], dtype=np.int64)
    inside = end <= window[1]
    np.maximum.at(ends, group[inside], last[inside])
    np.maximum.at(ends, group, np.where(start >= window[0], start, window[0]))
    return begins, ends


def _count(group: Ints, groups: int) -> Ints:
    return np.bincount(group, minlength=groups).astype(np.int64)


def _maximum(group: Ints, value: Ints, groups: int) -> Ints:
    found = np.zeros(groups, dtype=np.int64)
    np.maximum.at(found, group, value)
    return found


def _total(group: Ints, value: Ints, groups: int) -> Ints:
    """Return sums per group in whole numbers (bincount would sum in floats)."""
    found = np.zeros(groups, dtype=np.int64)
    np.add.at(found, group, value)
    return found


def nearest_rank(group: Ints, value: Ints, groups: int, percent: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the percentiles of each group's values, one column each: the smallest value with p % at or below it; -1: none."""
    order = np.lexsort((value, group))
    sorted_values = value[order]
    counts = _count(group, groups)
    begins = np.cumsum(counts) - counts
    found = np.full((groups, len(percent)), -1, dtype=np.int64)
    some = counts > 0
    for column, p in enumerate(percent):
        index = begins + np.maximum(-(-counts * p // 100), 1) - 1
        found[some, column] = sorted_values[index[some]]
    return found
