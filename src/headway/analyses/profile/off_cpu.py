"""Off-CPU profiles: the kernel's blocked intervals under the stack of the wait that each was part of.

Method     exact. Blocked time is that of the table `slice`. The waits of a thread (table `block`) are laid out as a sequence
           without overlaps: where one is inside another (a notified thread that blocks again to get its monitor), the inner
           one counts. Each blocked interval is cut at their borders; what lies in no wait has no stack, and is told apart by
           the kernel's word for it.
Assumes    nothing of the two clocks: both are CLOCK_MONOTONIC; a slice's borders are rounded to 32 ns.
Bounded    waits are kept in four columns, slices pass in batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import memory
from headway.analyses.stacks.sources import (
    NOT_TAKEN,
    SLEEPING,
    STOPPED,
    UNINTERRUPTIBLE,
    Weights,
    summed,
)
from headway.analyses.waits.classification.sites import fill_stacks
from headway.analyses.waits.nesting import FlatWaits, flattened
from headway.analyses.waits.tables.blocks import note_left
from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

_BY_STATE = np.array([SLEEPING, SLEEPING, UNINTERRUPTIBLE, STOPPED])
"""Indexed by slice.blocked_state."""


def off_cpu(recording: Recording, window: tuple[int, int] | None, kinds: tuple[str, ...]) -> Weights:
    """Sum the blocked time of threads of some kinds by thread and stack, inside the window (ns from the recording's start)."""
    origin = recording.window_ns[0]
    waits = _waits(recording)
    parts = []
    chosen = ", ".join(f"'{kind}'" for kind in kinds)
    woken = f"{woken_ns('s.')} - {origin}"
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
        parts.append(blocked_by_stack(waits, thread, start, end, _BY_STATE[state]))
    if not parts:
        return summed(*(np.zeros(0, np.int64) for _ in range(4)))
    return summed(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


_COLUMNS = ("thread", "stack", "weight", "samples")


def blocked_by_stack(waits: FlatWaits, thread: Ints, start: Ints, end: Ints, otherwise: Ints) -> Weights:
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


def _reach(waits: FlatWaits, thread: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
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
        of_thread = order[borders[i] : borders[i + 1]]
        first[of_thread] = low + np.searchsorted(waits.end[low:high], start[of_thread], side="right")
        last[of_thread] = low + np.searchsorted(waits.start[low:high], end[of_thread], side="left")
    return first, np.maximum(last, first)


def _waits(recording: Recording) -> FlatWaits:
    """Load the waits of platform threads, each with a stack: its own, or that of a wait near it for the same object."""
    rows = (
        "SELECT thread_id, blocker_id, COALESCE(stack_id, -1) AS stack_id, start_ns, dur_ns FROM block"
        f" WHERE thread_id IS NOT NULL AND dur_ns > 0 LIMIT {(most := memory.most_waits(recording))}"
    )
    parts = [[column.to_numpy(zero_copy_only=False) for column in batch.columns] for batch in recording.batches(rows)]
    kinds = (np.int32, np.int32, np.int32, np.int64, np.int64)
    thread, blocker, stack, start, length = (
        np.concatenate([np.zeros(0, kind), *(part[i] for part in parts)]) for i, kind in enumerate(kinds)
    )
    stack = fill_stacks(blocker, thread, stack)
    start = start - recording.window_ns[0]
    if len(start) == most < recording.manifest.tables["block"].rows:
        note_left(recording, most, recording.manifest.tables["block"].rows, int(start[-1]))
    order = np.lexsort((start, thread))
    thread, start, end = thread[order], start[order], (start + length)[order]
    return flattened(thread, start, end, np.where(stack < 0, NOT_TAKEN, stack)[order])
