"""Iterates over a recording's scheduling slices in stretches of time, last to first, with one stretch in memory at a time.

For analyses that need the states of threads at all times, of recordings of any length. Rows are stored in order of their
ends, so what begins in an earlier stretch is carried on to it; a table whose rows are in no order gives longer stretches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.scheduling.activity import has_scheduling
from headway.store.packing import RUNNABLE_UNKNOWN

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headway.analyses.common.intervals import Spans
    from headway.store import Recording

    Ints = NDArray[np.int64]

ALWAYS = 1 << 61
"""Later than every time in ns, and, negative, earlier."""
_STORED = ("tick_ns", "end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks", "thread_id", "flags")


@dataclass(frozen=True, eq=False)
class SliceChunk:
    """The slices that overlap the stretch from `since` to `until`, unclipped; times are ns from the recording's start.

    A slice is blocked from `blocked` on, runnable from `woken`, running from `start`, until `end`.
    """

    since: int
    until: int
    thread: Ints
    blocked: Ints
    woken: Ints
    start: Ints
    end: Ints

    def where(self, keep: NDArray[np.bool_]) -> SliceChunk:
        """Return a chunk with the selected slices only."""
        return SliceChunk(self.since, self.until, *(getattr(self, name)[keep] for name in _COLUMNS))

    def during(self, spans: Spans) -> SliceChunk:
        """Return a chunk with the slices that overlap or touch any of some spans."""
        if not len(spans):
            return self.where(np.zeros(len(self.thread), dtype=bool))
        at = np.searchsorted(spans.end, self.blocked)
        return self.where((at < len(spans)) & (spans.start[np.minimum(at, len(spans) - 1)] <= self.end))

    def within(self, since: int, until: int) -> SliceChunk:
        """Return a chunk for another stretch of time with the same slices."""
        return SliceChunk(since, until, *(getattr(self, name) for name in _COLUMNS))


_MOST = 1 << 17
"""Slices that end in a stretch, where a row group has more."""
_COLUMNS = ("thread", "blocked", "woken", "start", "end")


def slice_chunks(recording: Recording, window: tuple[int, int] | None = None) -> Iterator[SliceChunk]:
    """Yield consecutive stretches that cover the recording, or a window (ns from its start), last to first.

    One stretch without slices where no scheduling was recorded. Raises HeadwayError HW303 when the file is damaged.
    """
    low, high = window or (-ALWAYS, ALWAYS)
    until = high
    carried = SliceChunk(high, high, *(np.zeros(0, np.int64) for _ in _COLUMNS))
    if has_scheduling(recording) and recording.has("slice"):
        origin = recording.window_ns[0]
        for batch, largest in recording.groups_backwards("slice", "end_ticks", _STORED):
            found = _joined(_unpacked(batch, origin), carried)
            tick = int(batch.column("tick_ns")[0].as_py()) if batch.num_rows else 1
            since = low if largest is None else max(low, largest * tick - origin)
            if since < until:
                yield from _in_steps(found.within(since, until))
                until = since
            if until <= low:
                return
            carried = found.where(found.blocked < until)
    if low < until:
        yield carried.within(low, until)


def _in_steps(chunk: SliceChunk) -> Iterator[SliceChunk]:
    """Yield the slices that lie in a stretch in shorter ones, each with so few that what is made of them takes little memory."""
    chunk = chunk.where((chunk.end >= chunk.since) & (chunk.blocked < chunk.until))
    ends = np.sort(chunk.end)
    until = chunk.until
    for place in range(len(ends) - _MOST, 0, -_MOST):
        since = int(ends[place])
        if chunk.since < since < until:
            yield chunk.within(since, until).where((chunk.end >= since) & (chunk.blocked < until))
            until = since
    yield chunk.within(chunk.since, until).where(chunk.blocked < until)


def _unpacked(batch: pa.RecordBatch, origin: int) -> SliceChunk:
    column: dict[str, Any] = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in _STORED}
    tick = column["tick_ns"].astype(np.int64)
    end = column["end_ticks"] * tick - origin
    start = end - column["running_ticks"] * tick
    runnable = np.where(column["flags"] & RUNNABLE_UNKNOWN, 0, column["runnable_ticks"])
    woken = start - runnable * tick
    blocked = woken - column["blocked_ticks"] * tick
    return SliceChunk(0, 0, column["thread_id"].astype(np.int64), blocked, woken, start, end)


def _joined(first: SliceChunk, then: SliceChunk) -> SliceChunk:
    """Return the slices of both: those that end earlier come first."""
    return SliceChunk(0, 0, *(np.concatenate([getattr(first, name), getattr(then, name)]) for name in _COLUMNS))


class Backwards:
    """Cursor over spans of time from last to first, in step with `slice_chunks`."""

    def __init__(self, start: Ints, end: Ints) -> None:
        """Take the spans as arrays `start` and `end`, in any order."""
        self._start, self._end = start, end
        self._order = np.argsort(end)
        self._left = len(end)
        self._carried = np.zeros(0, dtype=np.int64)

    def steps(self, since: int, until: int, most: int) -> Iterator[tuple[int, int]]:
        """Yield the next stretch in shorter ones, the last first, in each of which at most `most` spans end (some more where many
        end at once). To be taken in turns with `overlapping`.
        """
        first = int(np.searchsorted(self._end, since, side="right", sorter=self._order)) if self._left else 0
        for place in range(self._left - most, first, -most):
            cut = int(self._end[self._order[place]])
            if since < cut < until:
                yield cut, until
                until = cut
        yield since, until

    def overlapping(self, since: int) -> Ints:
        """Return the rows of the spans that overlap the next stretch, from `since` to where the one before started."""
        first = int(np.searchsorted(self._end, since, side="right", sorter=self._order)) if self._left else 0
        first = min(first, self._left)
        rows = np.concatenate([self._order[first : self._left], self._carried])
        self._left = first
        self._carried = rows[self._start[rows] < since]
        return rows
