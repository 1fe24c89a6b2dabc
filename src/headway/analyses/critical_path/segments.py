"""The critical path as a list of bounded length: like neighbours are merged, and beyond a limit short ones are, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.critical_path.sums import NAMES, dominant
from headway.analyses.critical_path.types import PathSegment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.critical_path.lock_names import LockNames
    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.critical_path.sums import NamedPieces
    from headway.analyses.critical_path.walk import PathWaits

    Ints = NDArray[np.int64]

_HELD = 8
"""How many times the limit may be held before short segments are put together."""


class Segments:
    """Collects a path in batches, from its end to its start, in memory bounded by the limit."""

    def __init__(self, threads: PathThreadTable, waits: PathWaits, span: tuple[int, int], limit: int) -> None:
        """Start from nothing; `span` in CLOCK_MONOTONIC ns."""
        self._threads, self._waits, self._span, self._limit = threads, waits, span, limit
        self._parts: list[Ints] = []
        self._count = 0

    def add(self, named: NamedPieces) -> None:
        """Add one batch of pieces, which lie before all those added so far."""
        blocker = np.full(len(named.wait), -1)
        there = named.wait >= 0
        blocker[there] = self._waits.blocker[named.wait[there]]
        state = dominant(named)
        once = np.ones(len(state), np.int64)
        columns = (named.start, named.end, named.thread, state, blocker, named.waiter, named.wait, named.length, once)
        self._parts.append(_alike(np.stack(columns)))
        self._count += self._parts[-1].shape[1]
        if self._count > _HELD * self._limit:
            self._parts = [self._fewer(self._all())]
            self._count = self._parts[0].shape[1]

    def _all(self) -> Ints:
        if not self._parts:
            return np.zeros((9, 0), np.int64)
        return _alike(np.concatenate(self._parts[::-1], axis=1))

    def _fewer(self, rows: Ints) -> Ints:
        """Put short neighbours together that end in one of limit / 4 equal parts of the span: at most the limit are left."""
        width = max(1, 4 * (self._span[1] - self._span[0]) // max(self._limit, 4) + 1)
        is_long = rows[1] - rows[0] >= width
        part = (rows[1] - 1 - self._span[0]) // width
        first = np.concatenate([[True], is_long[1:] | is_long[:-1] | (part[1:] != part[:-1])])
        return _merged(rows, np.flatnonzero(first))

    def result(self, origin: int, locks: LockNames | None) -> tuple[PathSegment, ...]:
        """Return the path's segments in order of time; times count from `origin`. `locks`: None where none are recorded."""
        rows = self._all()
        if rows.shape[1] > self._limit:
            rows = self._fewer(rows)
        names = self._threads.names
        return tuple(
            PathSegment(
                start - origin,
                end - origin,
                thread,
                names[thread],
                NAMES[state],
                locks.name([self._blocker(wait)]) if wait >= 0 and locks is not None else None,
                names[waiter] if waiter >= 0 else None,
                pieces,
                locks.place(self._blocker(wait)) if wait >= 0 and locks is not None else None,
            )
            for start, end, thread, state, _, waiter, wait, _, pieces in rows.T.tolist()
        )

    def _blocker(self, wait: int) -> int:
        return int(self._waits.blocker[wait])


def _alike(rows: Ints) -> Ints:
    """Put neighbours together that differ in nothing but their time."""
    if rows.shape[1] < 2:
        return rows
    changed = (rows[2:6, 1:] != rows[2:6, :-1]).any(axis=0)
    begin = np.flatnonzero(np.concatenate([[True], changed]))
    if len(begin) == rows.shape[1]:
        return rows
    joined = rows[:, begin].copy()
    joined[1] = rows[1, np.append(begin[1:], rows.shape[1]) - 1]
    joined[7] = np.add.reduceat(rows[7], begin)
    joined[8] = np.add.reduceat(rows[8], begin)
    return joined


def _merged(rows: Ints, begin: Ints) -> Ints:
    """Put the rows of each group together; it is called after its longest row."""
    count = np.diff(np.append(begin, rows.shape[1]))
    group = np.repeat(np.arange(len(begin)), count)
    longest = np.flatnonzero(rows[7] == np.maximum.reduceat(rows[7], begin)[group])
    longest = longest[np.diff(group[longest], prepend=-1) > 0]  # the first, where several are
    joined = rows[:, longest]
    joined[0] = rows[0, begin]
    joined[1] = rows[1, begin + count - 1]
    joined[8] = np.add.reduceat(rows[8], begin)
    return joined
