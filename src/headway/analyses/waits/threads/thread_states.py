"""Thread states over time, combined from the kernel's states, the threads' own blocks, and GC pauses.

For each thread a row of intervals without gaps: running, runnable, blocked on a lock (the kernel says blocked, and a block
of the thread covers it), sleeping (blocked for another reason), unknown (before its birth, after its end, no states). The
kernel's word comes first: a thread in a park that already has a CPU again is running. Of virtual threads it has none: their own
blocks alone tell, and those of no object (Thread.sleep, I/O) are sleeping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.columns import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.scheduling.slice_chunks import SliceChunk
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]

DOING = ("running", "runnable", "blocked", "gc_pause", "sleeping", "handoff", "unknown")
"""What a holder does while others wait, exclusive: on a CPU; waiting for one; blocked on another lock; stopped by a GC pause;
blocked in the kernel for another reason (a sleep, I/O); nobody holds the lock, its next owner is waking; not known."""
RUNNING, RUNNABLE, BLOCKED, GC_PAUSE, SLEEPING, HANDOFF, UNKNOWN = range(len(DOING))
"""Codes in the order of DOING."""

_BEFORE = -(1 << 60)


@dataclass(frozen=True, eq=False)
class Scale:
    """Times as numbers below `size`, in the same order: ns from the first one on, or, where so many threads times so many ns
    overflow, the number of different times so far.
    """

    first: int
    size: int
    moments: Ints | None

    @classmethod
    def of(cls, time: Ints, threads: int) -> Scale:
        """Return a scale for some times and a number of threads."""
        used = time[time > _BEFORE]
        first, last = int(used.min(initial=0)), int(used.max(initial=0))
        size = last - first + 3
        if threads < (1 << 62) // size:
            return cls(first - 1, size, None)
        moments = distinct(time)
        return cls(0, len(moments) + 1, moments)

    def place(self, group: NDArray[np.integer[Any]], time: Ints) -> Ints:
        """Return groups (threads, objects; of any width) and times as one number, in order of both."""
        return group.astype(np.int64) * self.size + self.until(time)

    def until(self, time: Ints) -> Ints:
        """Return the numbers of the last times at or before these."""
        if self.moments is None:
            return np.clip(time - self.first, 0, self.size - 1)
        return np.searchsorted(self.moments, time, side="right").astype(np.int64)

    def time(self, number: Ints) -> Ints:
        """Return the times that have these numbers."""
        if self.moments is None:
            return number + self.first
        return self.moments[np.maximum(number - 1, 0)]


@dataclass(frozen=True, eq=False)
class States:
    """Intervals of the threads in `threads` (sorted keys), one after another: each lasts until the next edge of its thread.

    `lock` is the object that a BLOCKED interval is about, -1 in the others.
    """

    threads: Ints
    scale: Scale
    edge: Ints
    state: Ints
    lock: Ints
    position: Ints
    """Of each edge: thread, then time, as one sorted number."""

    def pieces(self, thread: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Cut spans of threads at their changes of state: (index of the span, begin, end, state, lock) of each piece."""
        place = np.searchsorted(self.threads, thread) * self.scale.size
        first = np.searchsorted(self.position, place + self.scale.until(start), side="right") - 1
        last = np.searchsorted(self.position, place + self.scale.until(end - 1), side="right") - 1
        counts = np.maximum(last - first + 1, 0)
        span = np.repeat(np.arange(len(thread), dtype=np.int64), counts)
        offset = np.arange(len(span), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
        interval = first[span] + offset
        begin = np.maximum(self.edge[interval], start[span])
        is_last = offset == counts[span] - 1
        following = self.edge[np.minimum(interval + 1, len(self.edge) - 1)]
        until = np.where(is_last, end[span], following)
        return span, begin, until, self.state[interval], self.lock[interval]


class StatesOf:
    """The states of some threads, computed for one stretch of time after another."""

    def __init__(self, data: LockData, threads: Ints) -> None:
        """Take thread keys in any order, without -1."""
        self._keys = distinct(threads)
        self._place_of = np.full(data.platform_threads + 1, -1, dtype=np.int64)
        platform = self._keys[self._keys < data.platform_threads]
        self._place_of[platform] = np.arange(len(platform))
        key, time, lock = _own_blocks(data, self._keys)
        place = np.searchsorted(self._keys, key)
        self._scale = Scale.of(time, len(self._keys))
        position = self._scale.place(place, time)
        order = np.argsort(position, kind="stable")
        self._own = (position[order], place[order].astype(np.int32), time[order], lock[order].astype(np.int32))
        self._is_virtual = self._keys >= data.platform_threads
        self._is_no_object = np.append(~data.blockers.is_object, False)  # the last one: on no lock

    def within(self, chunk: SliceChunk) -> States:
        """Return the threads' states in a stretch of time."""
        keys, count = self._keys, len(self._keys)
        kernel_place, kernel_time, kernel_state = self._kernel_edges(chunk)
        own_place, own_time, own_lock = self._own_edges(chunk.since, chunk.until)
        # Each thread begins as unknown and on no lock, long before everything.
        place = np.concatenate([np.arange(count), kernel_place, own_place])
        time = np.concatenate([np.full(count, _BEFORE), kernel_time, own_time])
        value = np.concatenate([np.full(count, -1), kernel_state, own_lock]).astype(np.int64)
        is_kernel = np.zeros(len(place), dtype=bool)
        is_kernel[count : count + len(kernel_place)] = True
        scale = Scale.of(time, count)
        position = scale.place(place, time)
        order = np.argsort(position, kind="stable")  # what comes in order already is merged, not sorted
        place, position, time = place[order], position[order], time[order]
        is_kernel, value = is_kernel[order], value[order]
        index = np.arange(len(place))
        first = np.searchsorted(place, np.arange(count))[place]  # this thread's first edge: never look further back
        kernel_at = np.maximum.accumulate(np.where(is_kernel, index, -1))
        own_at = np.maximum.accumulate(np.where(is_kernel, -1, index))
        kernel = np.where(kernel_at >= first, value[kernel_at], UNKNOWN)
        lock = np.where(own_at >= first, value[own_at], -1)
        silent = (kernel == BLOCKED) | (kernel == UNKNOWN)
        state = np.where(silent & (lock >= 0), BLOCKED, np.where(kernel == BLOCKED, SLEEPING, kernel))
        # The kernel knows no virtual thread: in a park without an object it sleeps, or waits for I/O.
        is_asleep = (state == BLOCKED) & self._is_no_object[lock] & self._is_virtual[place]
        state = np.where(is_asleep, SLEEPING, state)
        return States(keys, scale, time, state, np.where(state == BLOCKED, lock, -1), position)

    def _kernel_edges(self, chunk: SliceChunk) -> tuple[Ints, Ints, Ints]:
        """Return the changes of state that the kernel saw: place of the thread, time, the state from then on."""
        place = self._place_of[np.clip(chunk.thread, -1, len(self._place_of) - 1)]
        of = chunk.where(place >= 0)
        place = place[place >= 0]
        order = np.lexsort((of.blocked, place))
        # A slice's edges in order; where one takes no time the later one counts, and so does the next slice's first.
        times = np.stack([of.blocked[order], of.woken[order], of.start[order], of.end[order]], axis=1).reshape(-1)
        states = np.tile(np.array([BLOCKED, RUNNABLE, RUNNING, UNKNOWN]), len(order))
        return np.repeat(place[order], 4), times, states

    def _own_edges(self, since: int, until: int) -> tuple[Ints, Ints, Ints]:
        """Return the changes of what they wait for: those in the stretch, and of each thread the last one before it."""
        position, place, time, lock = self._own
        of_thread = np.arange(len(self._keys), dtype=np.int64) * self._scale.size
        bounds = self._scale.until(np.array([since, until]))
        first = np.searchsorted(position, of_thread + bounds[0], side="right") - 1
        first = np.maximum(first, np.searchsorted(position, of_thread))
        counts = np.searchsorted(position, of_thread + bounds[1], side="right") - first
        rows = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
        return place[rows].astype(np.int64), time[rows], lock[rows].astype(np.int64)


def _own_blocks(data: LockData, keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return when those threads began and ended to block themselves: thread, time, the object from then on (-1: none)."""
    blocks = data.blocks
    of_threads = np.flatnonzero(np.isin(blocks.thread, keys))
    of_threads = of_threads[np.argsort(blocks.thread[of_threads], kind="stable")]  # of each thread in order of start
    thread, lock = blocks.thread[of_threads], blocks.blocker[of_threads]
    times = np.stack([blocks.began[of_threads], blocks.full[of_threads]], axis=1).reshape(-1)
    values = np.stack([lock, np.full(len(lock), -1)], axis=1).reshape(-1)
    return np.repeat(thread, 2), times, values


@dataclass(frozen=True, eq=False)
class Pauses:
    """The GC pauses of one JVM, merged: how much of any span they cover."""

    start: Ints
    end: Ints
    before: Ints

    def until(self, time: Ints) -> Ints:
        """Return the total length of pauses up to each time."""
        index = np.searchsorted(self.start, time, side="right") - 1
        known = index >= 0
        at = np.maximum(index, 0)
        if not len(self.start):
            return np.zeros(len(time), dtype=np.int64)
        inside = np.minimum(time, self.end[at]) - self.start[at]
        return np.where(known, self.before[at] + inside, 0)


def pauses(recording: Recording) -> dict[int, Pauses]:
    """Return each JVM's GC pauses."""
    origin = recording.window_ns[0]
    rows = recording.query(
        "SELECT pid, start_ns, dur_ns FROM jvm_phase WHERE kind = 'gc_pause' ORDER BY pid, start_ns"
    ).fetchall()
    spans: dict[int, list[list[int]]] = {}
    for pid, start, dur in rows:
        begin, end = start - origin, start - origin + dur
        of_process = spans.setdefault(pid, [])
        if of_process and begin <= of_process[-1][1]:
            of_process[-1][1] = max(of_process[-1][1], end)
        else:
            of_process.append([begin, end])
    found = {}
    for pid, merged in spans.items():
        starts, ends = (np.array(values, dtype=np.int64) for values in zip(*merged, strict=True))
        lengths = ends - starts
        found[pid] = Pauses(starts, ends, np.cumsum(lengths) - lengths)
    return found
