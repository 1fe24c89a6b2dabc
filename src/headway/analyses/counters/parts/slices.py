"""Slices with their counts, as analyses of counters read them from a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.layout import BY_THREAD, Layout
from headway.analyses.counters.uncounted.stolen import CountedTimes, Stolen, did_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]


_MOST_BEYOND_NS = 1 << 40
"""More than any recording takes to begin or to end: a manifest may state any number."""


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices with their counts, a row of each array for each. `uncounted`: for how long each group did not count, ns.

    `stolen`: groups of whose counts nothing is known, as others had the counters; None: there are none. `beyond_ns`: for how much
    longer each may have been counted before and after the recorded span, whose borders divided its counts by time; None: none.
    """

    thread_id: Ints
    cpu: Ints
    start_ns: Ints
    running_ns: Ints
    counts: Ints
    uncounted: Ints
    is_known: NDArray[np.bool_]
    stolen: NDArray[np.bool_] | None = None
    beyond_ns: Ints | None = None

    def at(self, places: Ints) -> Slices:
        """Return those at some places, a place as often as it is named."""
        return Slices(
            self.thread_id[places],
            self.cpu[places],
            self.start_ns[places],
            self.running_ns[places],
            self.counts[places],
            self.uncounted[places],
            self.is_known[places],
            None if self.stolen is None else self.stolen[places],
            None if self.beyond_ns is None else self.beyond_ns[places],
        )

    def of(self, places: Sequence[int], groups: Sequence[int]) -> Slices:
        """Return them with the counters at some places alone, which are those of some groups."""
        stolen = None if self.stolen is None else self.stolen[:, [*groups]]
        return replace(self, counts=self.counts[:, [*places]], uncounted=self.uncounted[:, [*groups]], stolen=stolen)


def slices(
    recording: Recording, layout: Layout, begin_ns: int, end_ns: int, threads: Sequence[int] | None = None
) -> Iterator[Slices]:
    """Read the slices with their counts that reach into a window, CLOCK_MONOTONIC ns; only those of `threads`, if given.

    They come some hundred thousand at a time, so that any recording fits in memory.
    """
    stolen = stolen_in(recording, layout)
    for each in _read(recording, layout, begin_ns, end_ns, threads):
        yield replace(each, stolen=stolen.within(each.cpu, each.start_ns)) if stolen else each


def stolen_in(recording: Recording, layout: Layout) -> Stolen:
    """Return when groups did not count for long, by CPU: looked for once in a recording, in all of its slices."""
    kept = recording.kept.get(stolen_in)
    if isinstance(kept, tuple) and kept[0] == layout and isinstance(kept[1], Stolen):
        return kept[1]
    begin, end = recording.window_ns
    batches = _read(recording, layout, begin, end, None) if layout.is_multiplexed else iter(())
    found = Stolen((_counted_times(each, layout) for each in batches), len(layout.groups))
    recording.kept[stolen_in] = (layout, found)
    return found


def _counted_times(each: Slices, layout: Layout) -> CountedTimes:
    known = each.at(np.flatnonzero(each.is_known))
    did = did_count(known.counts, known.uncounted, known.running_ns, layout.group_of)
    return CountedTimes(known.cpu, known.start_ns, known.running_ns, did)


def _read(
    recording: Recording, layout: Layout, begin_ns: int, end_ns: int, threads: Sequence[int] | None
) -> Iterator[Slices]:
    counts = [f"count_{place}" for place in range(len(layout.events))]
    uncounted = [f"uncounted_{place}" for place in range(len(layout.groups))]
    columns = ", ".join(f"COALESCE({name}, -1) AS {name}" for name in (*counts, *uncounted))
    text = (
        f"SELECT thread_id, cpu, start_ns, running_ns, is_open, {columns} FROM slice WHERE running_ns > 0 "
        f"AND start_ns < {end_ns} AND start_ns + running_ns > {begin_ns}"
    )
    if threads is not None:
        text += f" AND thread_id IN ({', '.join(map(str, threads))})"
    before_ns, after_ns = _beyond_ns(recording)
    # What a thread counted before it died is all its own, though the span ends a little before (slice_counts.cpp).
    ended = recording.query("SELECT thread_id FROM thread WHERE end_ns IS NOT NULL").fetchnumpy()["thread_id"]
    for batch in recording.batches(text):
        column = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}
        numbers = np.stack([column[name] for name in counts], axis=1)
        thread_id, cpu, start_ns, running_ns = (
            column[name].astype(np.int64) for name in ("thread_id", "cpu", "start_ns", "running_ns")
        )
        missed = np.stack([column[name] for name in uncounted], axis=1)
        is_known: NDArray[np.bool_] = np.all(numbers >= 0, axis=1)
        is_cut = column["is_open"].astype(bool) & ~np.isin(thread_id, np.ma.getdata(ended))
        beyond_ns = before_ns * (start_ns <= recording.window_ns[0]) + after_ns * is_cut
        yield Slices(thread_id, cpu, start_ns, running_ns, numbers, missed, is_known, beyond_ns=beyond_ns)


def _beyond_ns(recording: Recording) -> tuple[int, int]:
    """Return for how long counters can have been read before and after the recorded span, ns; 0 where it is not known."""
    found = recording.manifest.extra.get(BY_THREAD)
    counted = found if isinstance(found, Mapping) else {}
    from_ns, until_ns = counted.get("from_ns"), counted.get("until_ns")
    begin_ns, end_ns = recording.window_ns
    before_ns = begin_ns - from_ns if isinstance(from_ns, int) else 0
    after_ns = until_ns - end_ns if isinstance(until_ns, int) else 0
    return min(max(0, before_ns), _MOST_BEYOND_NS), min(max(0, after_ns), _MOST_BEYOND_NS)
