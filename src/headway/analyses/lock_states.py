"""What threads were doing at any moment: the kernel's states, the blocks of their own, and GC pauses, put together.

For each thread a row of intervals without gaps: running, runnable, blocked on a lock (the kernel says blocked, and a block
of the thread covers it), sleeping (blocked for another reason), unknown (before its birth, after its end, no states). The
kernel's word comes first: a thread in a park that already has a CPU again is running.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.activity import has_scheduling
from headway.analyses.lock_arrays import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]

RUNNING, RUNNABLE, BLOCKED, GC_PAUSE, SLEEPING, HANDOFF, UNKNOWN = range(7)
"""Codes in the order of lock_types.DOING."""

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

    def until(self, time: Ints) -> Ints:
        """Return the numbers of the last times at or before these."""
        if self.moments is None:
            return np.clip(time - self.first, 0, self.size - 1)
        return np.searchsorted(self.moments, time, side="right").astype(np.int64)


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


def states_of(data: LockData, threads: Ints) -> States:
    """Put the states of some threads together. `threads` are keys, in any order, without -1."""
    keys = distinct(threads)
    kernel_key, kernel_time, kernel_state = _kernel_edges(data, keys)
    own_key, own_time, own_lock = _own_blocks(data, keys)
    # Each thread begins as unknown and on no lock, long before everything.
    key = np.concatenate([keys, kernel_key, own_key])
    time = np.concatenate([np.full(len(keys), _BEFORE), kernel_time, own_time])
    is_kernel = np.concatenate(
        [np.zeros(len(keys), bool), np.ones(len(kernel_key), bool), np.zeros(len(own_key), bool)]
    )
    value = np.concatenate([np.full(len(keys), -1), kernel_state, own_lock]).astype(np.int64)
    scale = Scale.of(time, len(keys))
    place = np.searchsorted(keys, key)
    position = place * scale.size + scale.until(time)
    order = np.argsort(position, kind="stable")  # what comes in order already is merged, not sorted
    place, position, time = place[order], position[order], time[order]
    is_kernel, value = is_kernel[order], value[order]
    index = np.arange(len(place))
    first = np.searchsorted(place, np.arange(len(keys)))[
        place
    ]  # where this thread's edges begin: never look further back
    kernel_at = np.maximum.accumulate(np.where(is_kernel, index, -1))
    own_at = np.maximum.accumulate(np.where(is_kernel, -1, index))
    kernel = np.where(kernel_at >= first, value[kernel_at], UNKNOWN)
    lock = np.where(own_at >= first, value[own_at], -1)
    silent = (kernel == BLOCKED) | (kernel == UNKNOWN)
    state = np.where(silent & (lock >= 0), BLOCKED, np.where(kernel == BLOCKED, SLEEPING, kernel))
    return States(keys, scale, time, state, np.where(state == BLOCKED, lock, -1), position)


def _kernel_edges(data: LockData, keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the changes of state that the kernel saw: thread, time, the state from then on."""
    recording = data.recording
    platform = keys[keys < data.platform_threads]
    if not has_scheduling(recording) or not recording.has("slice") or not len(platform):
        return (np.zeros(0, np.int64),) * 3
    import pyarrow as pa

    # A connection of its own: on the recording's, a caller may have rows to fetch yet, and then nothing can be registered.
    connection = recording.connection().cursor()
    connection.register("headway_wanted", pa.table({"thread_id": platform}))
    try:
        rows = connection.execute(
            "SELECT thread_id, start_ns, blocked_ns, coalesce(runnable_ns, 0) AS runnable_ns, running_ns FROM slice"
            " WHERE thread_id IN (SELECT thread_id FROM headway_wanted)"
        ).fetchnumpy()
    finally:
        connection.close()
    column = {name: np.asarray(values).astype(np.int64) for name, values in rows.items()}
    order = np.lexsort((column["start_ns"] - column["runnable_ns"] - column["blocked_ns"], column["thread_id"]))
    column = {name: values[order] for name, values in column.items()}
    start = column["start_ns"] - recording.window_ns[0]
    woken = start - column["runnable_ns"]
    # A slice's edges in order; where one takes no time the later one counts, and so does the next slice's first.
    times = np.stack([woken - column["blocked_ns"], woken, start, start + column["running_ns"]], axis=1).reshape(-1)
    states = np.tile(np.array([BLOCKED, RUNNABLE, RUNNING, UNKNOWN]), len(start))
    return np.repeat(column["thread_id"], 4), times, states


def _own_blocks(data: LockData, keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return when those threads began and ended to block themselves: thread, time, the object from then on (-1: none)."""
    blocks = data.blocks
    mine = np.flatnonzero(np.isin(blocks.thread, keys))
    mine = mine[np.argsort(blocks.thread[mine], kind="stable")]  # of each thread in order of start
    thread, lock = blocks.thread[mine], blocks.blocker[mine]
    times = np.stack([blocks.began[mine], blocks.full[mine]], axis=1).reshape(-1)
    values = np.stack([lock, np.full(len(lock), -1)], axis=1).reshape(-1)
    return np.repeat(thread, 2), times, values


@dataclass(frozen=True, eq=False)
class Pauses:
    """The GC pauses of one JVM, merged: how much of any span they cover."""

    start: Ints
    end: Ints
    before: Ints

    def until(self, time: Ints) -> Ints:
        """Return how long pauses lasted in all, up to each time."""
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
        mine = spans.setdefault(pid, [])
        if mine and begin <= mine[-1][1]:
            mine[-1][1] = max(mine[-1][1], end)
        else:
            mine.append([begin, end])
    found = {}
    for pid, merged in spans.items():
        starts, ends = (np.array(values, dtype=np.int64) for values in zip(*merged, strict=True))
        lengths = ends - starts
        found[pid] = Pauses(starts, ends, np.cumsum(lengths) - lengths)
    return found
