"""Finds when a group of counters did not count on a CPU for long: another tool had the counters, or the CPU was offline.

Question   in which of its running time nothing is known of a group, though each switch was read?
Method     stretches of slices of one CPU, one after the other, in none of which the group counted, whose running time is longer
           than what groups that take turns wait for theirs. Shorter ones are such turns, and scaled (estimate.py).
Assumes    no group waits longer for its turn than LEAST_NS of running time; the kernel's turns are 4 ms unless somebody set
           perf_event_mux_interval_ms.
Wrong when a counter is taken or given back within a slice: of that one the counts are scaled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import places_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

LEAST_NS = 200_000_000
_TURN_NS = 1_000_000
"""A group that had the counters for so long in a slice counted in it, even if nothing happened."""

_NOWHERE: Ints = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class CountedTimes:
    """Slices of all CPUs in order of their end. `did`: which groups counted in each of them, a column for each."""

    cpu: Ints
    start_ns: Ints
    running_ns: Ints
    did: Bools


def did_count(counts: Ints, uncounted_ns: Ints, running_ns: Ints, group_of: Sequence[int]) -> Bools:
    """Return which groups counted in each slice: something, for most of the time, or as long as a turn."""
    groups = uncounted_ns.shape[1]
    did_ns = running_ns[:, None] - uncounted_ns
    found: Bools = (2 * did_ns > running_ns[:, None]) | (did_ns >= _TURN_NS)
    for group in range(groups):
        found[:, group] |= np.any(counts[:, [place for place, of in enumerate(group_of) if of == group]] > 0, axis=1)
    return found


class Stolen:
    """The stretches in which groups did not count, by CPU."""

    def __init__(self, batches: Iterator[CountedTimes], groups: int) -> None:
        """Look at all slices of a recording whose counts are known."""
        self._groups = groups
        self._open: dict[tuple[int, int], tuple[int, int, int]] = {}
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for batch in batches:
            for cpu, of_cpu in places_of(batch.cpu):
                start, ran, did = batch.start_ns[of_cpu], batch.running_ns[of_cpu], batch.did[of_cpu]
                for group in range(groups):
                    self._look((cpu, group), start, ran, did[:, group], found)
        for key, stretch in self._open.items():
            self._keep(key, stretch, found)
        self._stretches = {key: np.array(rows, np.int64).T for key, rows in found.items()}

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self._stretches)

    def span(self, group: int) -> tuple[int, int]:
        """Return from when until when a group was stolen on any CPU (0, 0: never), CLOCK_MONOTONIC ns."""
        of_group = [times for (_, of), times in self._stretches.items() if of == group]
        return (
            (int(min(begin[0] for begin, _ in of_group)), int(max(end[-1] for _, end in of_group)))
            if of_group
            else (0, 0)
        )

    def _look(
        self,
        key: tuple[int, int],
        start: Ints,
        ran: Ints,
        did: Bools,
        found: dict[tuple[int, int], list[tuple[int, int]]],
    ) -> None:
        """Go on with a CPU's and a group's stretches; `_open` has the one that has not ended: begin, end and running time."""
        edges = np.flatnonzero(np.diff(did.astype(np.int8), prepend=1, append=1))
        total = np.concatenate(([0], np.cumsum(ran)))
        if did[0]:
            self._keep(key, self._open.pop(key, (0, 0, 0)), found)
        for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            begin, _, before_ns = (
                self._open.pop(key, (int(start[first]), 0, 0)) if first == 0 else (int(start[first]), 0, 0)
            )
            stretch = begin, int(start[last - 1] + ran[last - 1]), before_ns + int(total[last] - total[first])
            if last == len(did):
                self._open[key] = stretch
            else:
                self._keep(key, stretch, found)

    def _keep(
        self,
        key: tuple[int, int],
        stretch: tuple[int, int, int],
        found: dict[tuple[int, int], list[tuple[int, int]]],
    ) -> None:
        begin, end, ran_ns = stretch
        if ran_ns >= LEAST_NS:
            found.setdefault(key, []).append((begin, end))

    def within(self, cpu: Ints, start_ns: Ints) -> Bools:
        """Return which groups of counters did not count as each slice began: a row for each slice, a column for each group."""
        found: Bools = np.zeros((len(cpu), self._groups), bool)
        places = dict(places_of(cpu))
        for (of, group), (begin, end) in self._stretches.items():
            of_cpu = places.get(of, _NOWHERE)
            at = np.searchsorted(begin, start_ns[of_cpu], side="right") - 1
            found[of_cpu, group] = (at >= 0) & (start_ns[of_cpu] < end[np.maximum(at, 0)])
        return found
