"""Where threads were off the CPU: the kernel's blocked intervals, each under the stack of the wait that it was part of.

Method     exact. Blocked time is that of the table `slice`. The waits of a thread (table `block`) are laid out as a sequence
           without overlaps: where one is inside another (a notified thread that blocks again to get its monitor), the inner
           one counts. Each blocked interval is cut at their borders; what lies in no wait has no stack, and is told apart by
           the kernel's word for it.
Assumes    nothing of the two clocks: both are CLOCK_MONOTONIC; a slice's borders are rounded to 32 ns.
Bounded    waits are kept in four columns, slices pass in batches.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lock_data import whole
from headway.analyses.lock_sites import fill_stacks
from headway.analyses.profile_sources import (
    NOT_TAKEN,
    SLEEPING,
    STOPPED,
    UNINTERRUPTIBLE,
    Weights,
    summed,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

_BY_STATE = np.array([SLEEPING, SLEEPING, UNINTERRUPTIBLE, STOPPED])
"""Indexed by slice.blocked_state."""


@dataclass(frozen=True, eq=False)
class Waits:
    """Waits of all threads without overlaps, in order of (thread, start)."""

    thread: Ints
    start: Ints
    end: Ints
    stack: Ints


def off_cpu(recording: Recording, window: tuple[int, int] | None, kinds: tuple[str, ...]) -> Weights:
    """Sum the blocked time of the threads of some kinds, clipped to the window (ns from the recording's start)."""
    origin = recording.window_ns[0]
    waits = _waits(recording)
    parts = []
    chosen = ", ".join(f"'{kind}'" for kind in kinds)
    woken = f"s.start_ns - COALESCE(s.runnable_ns, 0) - {origin}"
    rows = (
        f"SELECT CAST(s.thread_id AS BIGINT) AS thread, {woken} - s.blocked_ns AS start, {woken} AS stop,"
        f" s.blocked_state AS state FROM slice s JOIN thread t ON t.thread_id = s.thread_id"
        f" WHERE s.blocked_ns > 0 AND t.kind IN ({chosen})"
    )
    if window is not None:
        rows += f" AND {woken} > {window[0]} AND {woken} - s.blocked_ns < {window[1]}"
    for batch in recording.batches(rows):
        thread, start, end, state = (column.to_numpy(zero_copy_only=False).astype(np.int64) for column in batch.columns)
        if window is not None:
            start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        parts.append(joined(waits, thread, start, end, _BY_STATE[state]))
    if not parts:
        return summed(*(np.zeros(0, np.int64) for _ in range(4)))
    return summed(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


_COLUMNS = ("thread", "stack", "weight", "samples")


def joined(waits: Waits, thread: Ints, start: Ints, end: Ints, otherwise: Ints) -> Weights:
    """Cut blocked intervals at the borders of waits and sum them by thread and stack; each counts as one sample."""
    first, last = _reach(waits, thread, start, end)
    count = last - first
    which = np.repeat(np.arange(len(thread)), count)
    within = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    wait = first[which] + within
    length = np.minimum(end[which], waits.end[wait]) - np.maximum(start[which], waits.start[wait])
    rest = end - start
    np.subtract.at(rest, which, length)
    once = within == 0
    alone = rest > 0
    return summed(
        np.concatenate([thread[which], thread[alone]]),
        np.concatenate([waits.stack[wait], otherwise[alone]]),
        np.concatenate([length, rest[alone]]),
        np.concatenate([once.astype(np.int64), (count == 0)[alone].astype(np.int64)]),
    )


def _reach(waits: Waits, thread: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return for each interval the first wait of its thread that ends after its start, and the one after the last that
    begins before its end.
    """
    first, last = np.zeros(len(thread), np.int64), np.zeros(len(thread), np.int64)
    order = np.argsort(thread, kind="stable")
    threads, begins = np.unique(thread[order], return_index=True)
    lows = np.searchsorted(waits.thread, threads, side="left").tolist()
    highs = np.searchsorted(waits.thread, threads, side="right").tolist()
    borders = [*begins.tolist(), len(thread)]
    for i, (low, high) in enumerate(zip(lows, highs, strict=True)):
        mine = order[borders[i] : borders[i + 1]]
        first[mine] = low + np.searchsorted(waits.end[low:high], start[mine], side="right")
        last[mine] = low + np.searchsorted(waits.start[low:high], end[mine], side="left")
    return first, np.maximum(last, first)


def _waits(recording: Recording) -> Waits:
    """Load the waits of platform threads, each with a stack: its own, or that of a wait near it for the same object."""
    columns = ("thread_id", "blocker_id", "start_ns", "dur_ns", "stack_id")
    found = recording.columns("block", *columns, where="thread_id IS NOT NULL AND dur_ns > 0")
    thread, blocker, start, length, stack = (whole(found[name]) for name in columns)
    stack = fill_stacks(blocker, thread, stack)
    start = start - recording.window_ns[0]
    order = np.lexsort((start, thread))
    thread, start, end = thread[order], start[order], (start + length)[order]
    return flattened(thread, start, end, np.where(stack < 0, NOT_TAKEN, stack)[order])


def flattened(thread: Ints, start: Ints, end: Ints, stack: Ints) -> Waits:
    """Return intervals, in order of (thread, start), without overlaps: at each moment the one that began last counts."""
    same = thread[1:] == thread[:-1]
    if not (same & (end[:-1] > start[1:])).any():
        return Waits(thread, start, end, stack)
    begins = np.concatenate([[True], ~same])
    reach = np.empty_like(end)
    borders = [*np.flatnonzero(begins).tolist(), len(thread)]
    for low, high in itertools.pairwise(borders):
        reach[low:high] = np.maximum.accumulate(end[low:high])
    alone = np.concatenate([[True], ~(same & (reach[:-1] > start[1:]))])  # begins when all before it are over
    alone_to_next = np.concatenate([alone[1:], [True]])
    simple = alone & alone_to_next
    pieces: list[tuple[Ints, ...]] = [(thread[simple], start[simple], end[simple], stack[simple])]
    nested: list[tuple[int, int, int, int]] = []
    heads = np.flatnonzero(alone & ~alone_to_next)
    tails = np.flatnonzero(~alone & alone_to_next) + 1
    for low, high in zip(heads.tolist(), tails.tolist(), strict=True):
        nested += _nested(thread[low], start[low:high].tolist(), end[low:high].tolist(), stack[low:high].tolist())
    pieces.append(tuple(np.array(column, dtype=np.int64) for column in zip(*nested, strict=True)))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    return Waits(*(column[order] for column in columns))


def _nested(thread: int, start: list[int], end: list[int], stack: list[int]) -> list[tuple[int, int, int, int]]:
    """Lay out a group of overlapping intervals of one thread."""
    found: list[tuple[int, int, int, int]] = []
    under: list[int] = []
    now = start[0]
    for i, begin in enumerate([*start, max(end)]):
        while under and now < begin:
            top = under[-1]
            if end[top] <= now:
                under.pop()
                continue
            stop = min(end[top], begin)
            found.append((int(thread), now, stop, stack[top]))
            now = stop
        now = max(now, begin)
        if i < len(start):
            under.append(i)
    return found
