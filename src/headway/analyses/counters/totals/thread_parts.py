"""Totals of whole threads in the form of slices, so that rows of figures are made of both in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.layout import Layout
from headway.analyses.counters.parts.slices import Slices
from headway.analyses.counters.rows import Columns, imbalances
from headway.analyses.counters.sums import Sums
from headway.analyses.counters.types import CountedGroup, Figure, Imbalance, Row

if TYPE_CHECKING:
    from headway.model.thread_counts import Totals

Key = Mapping[str, str | int]
UNSEEN = "(threads between looks)"
"""The row of what a program used beside the threads that were seen."""
_UNSEEN_SHARE = 0.2
"""Of the program's time. Clocks that are read at each switch and at each wake-up differ by half as much in the worst case."""

_ALIKE, _ALIKE_NS = 0.01, 10_000_000
"""By so much of it, or ns, the program's CPU time may be more than that of its threads when all of them were seen."""


def unseen_ns(used_ns: int, seen_ns: int) -> int:
    """Return what a program used beside what its threads are known to have run; 0 where that may be how clocks differ."""
    return used_ns - seen_ns if used_ns - seen_ns > _UNSEEN_SHARE * used_ns else 0


def are_all(used_ns: int, seen_ns: int) -> bool:
    """Return whether the threads that were seen are all that ran, by what the program used and what they ran."""
    return used_ns > 0 < seen_ns and used_ns - seen_ns <= max(_ALIKE * used_ns, _ALIKE_NS)


@dataclass(slots=True)
class ThreadParts:
    """What each of some threads counted, and for how long it ran without being counted. `is_app`: it runs the program's code."""

    keys: list[Key] = field(default_factory=list)
    is_app: list[bool] = field(default_factory=list)
    parts: list[tuple[int, int, Totals | None]] = field(default_factory=list)

    def add(self, key: Key, totals: Totals | None, uncounted_ns: int, *, is_app: bool) -> None:
        """Add a thread. `totals` None: nothing of it was counted."""
        number = len(self.keys)
        if totals is not None and totals[0][1] > 0:
            self.parts.append((number, totals[0][1], totals))
        if uncounted_ns > 0:
            self.parts.append((number, uncounted_ns, None))
        self.keys.append(key)
        self.is_app.append(is_app)

    @property
    def ran_ns(self) -> int:
        """Return for how long all of them ran."""
        return sum(ran for _, ran, _ in self.parts)


@dataclass(frozen=True, slots=True)
class ThreadFigures:
    """Rows of threads, those that ran longest first, or of the kinds of threads; their total, and how unevenly threads count."""

    groups: tuple[CountedGroup, ...]
    total: Row
    rows: tuple[Row, ...]
    imbalance: Mapping[str, Imbalance]
    unknown: float
    """Share of the running time without counts."""


def figures(
    threads: ThreadParts,
    groups: Sequence[Sequence[str]],
    step: str,
    of_set: str | None,
    by: str = "thread",
    *,
    is_whole: bool = True,
) -> ThreadFigures:
    """Return the figures of threads that counted some groups. `by`: thread or kind.

    `is_whole`: these are all threads that ran. Else the counts of several together are the least that there were.
    """
    recorded = Layout(step, _groups(groups, threads.parts), ())
    sums = _sums(threads, recorded, range(len(threads.keys)), len(threads.keys))
    keys, divided = threads.keys, sums
    if by == "kind":
        kinds = sorted({str(key["kind"]) for key in threads.keys})
        keys = [{"kind": kind} for kind in kinds]
        divided = _sums(threads, recorded, [kinds.index(str(key["kind"])) for key in threads.keys], len(kinds))
    columns = Columns(divided, recorded, of_set, np.zeros(len(keys)))
    ran = np.flatnonzero(divided.cpu_ns > 0).tolist()
    rows = [columns.row(number, keys[number]) for number in ran]
    total = Columns(sums.whole(), recorded, of_set, np.zeros(1)).row(0, {})
    uneven = imbalances(sums, np.array(threads.is_app, np.bool_), recorded) if ran else {}
    if not is_whole:
        total = _at_least(total)
        rows = [_at_least(row) for row in rows] if by == "kind" else rows
        uneven = {event: replace(each, figure=_without_ends(each.figure)) for event, each in uneven.items()}
    ordered = rows if by == "kind" else sorted(rows, key=lambda row: -row.cpu_ns)
    ran_ns = float(sums.cpu_ns.sum())
    return ThreadFigures(
        recorded.groups, total, tuple(ordered), uneven, float(sums.unknown_ns.sum()) / ran_ns if ran_ns else 0.0
    )


def _at_least(row: Row) -> Row:
    """Return the counts of a group of threads as least values: threads that were not seen may add to them."""
    counts = {event: replace(each, high=None) for event, each in row.counts.items()}
    return replace(row, counts=counts, metrics={name: _without_ends(each) for name, each in row.metrics.items()})


def _without_ends(figure: Figure) -> Figure:
    return replace(figure, low=None, high=None)


def _sums(threads: ThreadParts, recorded: Layout, row_of: Sequence[int], rows: int) -> Sums:
    sums = Sums(rows, 1, recorded)
    if threads.parts:
        slices = _slices(threads.parts, recorded)
        row = np.array(row_of, np.int64)[slices.thread_id]
        sums.add(slices, row, slices.running_ns, np.zeros(len(threads.parts), np.int64))
    return sums


def _groups(
    groups: Sequence[Sequence[str]], parts: Sequence[tuple[int, int, Totals | None]]
) -> tuple[CountedGroup, ...]:
    """Return the groups, and for how long each could count and did, over all threads."""
    found, first = [], 0
    for events in groups:
        of = [known[first] for _, _, known in parts if known is not None]
        found.append(CountedGroup(tuple(events), sum(each[1] for each in of), sum(each[2] for each in of)))
        first += len(events)
    return tuple(found)


def _slices(parts: Sequence[tuple[int, int, Totals | None]], recorded: Layout) -> Slices:
    """Return stretches of running as slices: those that are not known have counts below zero."""
    nothing = ((-1, 0, 0),) * len(recorded.events)
    totals = np.array([known or nothing for _, _, known in parts], np.int64).reshape(len(parts), -1, 3)
    firsts = [recorded.group_of.index(number) for number in range(len(recorded.groups))]
    key, ran = (np.array([each[place] for each in parts], np.int64) for place in (0, 1))
    zeros = np.zeros(len(parts), np.int64)
    # A group that never counted did not for all of the time, whatever its clock read a moment later than the first one's.
    did = totals[:, firsts, 2]
    uncounted = np.where(did > 0, np.maximum(totals[:, firsts, 1] - did, 0), ran[:, None])
    return Slices(
        key, zeros, zeros, ran, totals[:, :, 0], uncounted, np.array([known is not None for *_, known in parts])
    )
