"""Finds who came last to each meeting at one place (barrier trips, latch openings, joins, results), and who ran for how long.

Method     waits that end together are one meeting (waits.wait_causes.trips; else each wait is one). Work before a meeting is
           what a thread ran since the meeting before, or since the window's begin. Of many, those waited for longest count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import IMBALANCE
from headway.analyses.waits.wait_causes import CODE, trip_rows, trips

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.evidence.kernel_figures import KernelFigures
    from headway.analyses.waits.pieces import Waits

    Ints = NDArray[np.int64]

_MOST_LOOKED_AT = 200
_MOST_WAITS = 100_000
"""Of more waits the longest are looked at."""
_TAKES_PART = 0.02
"""A thread that ran less than this part of the last one's time is not one of those that met."""
_SHORT_NS = 100_000


@dataclass(slots=True)
class _Meeting:
    """`meets`: those that wait are those that meet (a barrier); else they wait for others to be done."""

    start: int
    end: int
    last: int
    meets: bool
    lost_ns: int = 0
    since: int = 0
    waiters: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Meetings:
    """`last`: how often each thread came last. `last_ns`, `others_mean_ns`: means over `looked_at` meetings of how long the last
    one and each of the others ran before; None where nobody else did.
    """

    count: int
    last: Mapping[int, int]
    looked_at: int
    last_ns: float | None
    others_mean_ns: float | None


def meetings(waits: Waits, kernel: KernelFigures, rows: Ints, window: tuple[int, int]) -> Meetings | None:
    """Return the meetings that some waits are about; of very many those with the longest waits."""
    data = waits.data
    if data is None or waits.sites is None:
        return None
    if len(rows) > _MOST_WAITS:
        rows = rows[np.argsort(waits.start[rows] - waits.end[rows], kind="stable")[:_MOST_WAITS]]
    blocks, first = np.unique(waits.block[rows], return_index=True)
    target, directed = waits.target[rows][first], waits.is_directed[rows][first]
    number = _numbers(waits, blocks)
    count = int(number.max(initial=-1)) + 1
    start = np.maximum(data.blocks.start[blocks], window[0])
    end = np.minimum(data.blocks.end[blocks], window[1])
    found: dict[int, _Meeting] = {}
    columns = (number, start, end, target, directed, data.blocks.thread[blocks])
    for at, begin, until, who, meets, thread in zip(*(column.tolist() for column in columns), strict=True):
        one = found.setdefault(at, _Meeting(begin, until, who, meets))
        one.end, one.start = max(one.end, until), min(one.start, begin)
        one.last = one.last if one.last >= 0 else who
        one.lost_ns += until - begin
        one.waiters.add(thread)
    assert len(found) == count
    return _last_compared(_sections(list(found.values()), kernel), kernel, window)


def _last_compared(met: list[_Meeting], kernel: KernelFigures, window: tuple[int, int]) -> Meetings:
    """Compare who came last with the others."""
    for before, after in pairwise(met):
        after.since = before.end
    met[0].since = window[0]
    known = Counter(one.last for one in met if one.last >= 0)
    use = sorted((one for one in met if one.last >= 0 and one.end > one.since), key=lambda one: -one.lost_ns)
    use = sorted(use[: _MOST_LOOKED_AT if kernel.is_small else 1], key=lambda one: one.end)
    spans = (np.array([getattr(one, name) for one in use], dtype=np.int64) for name in ("since", "end"))
    keys, ran = kernel.ran(*spans)
    means = [_compared(keys, ran[:, i], one) for i, one in enumerate(use)]
    both = [each for each in means if each is not None]
    if not both:
        return Meetings(len(met), known, len(use), None, None)
    ours, others = (float(np.mean([each[i] for each in both])) for i in range(2))
    return Meetings(len(met), known, len(both), ours, others)


def _sections(met: list[_Meeting], kernel: KernelFigures) -> list[_Meeting]:
    """Put waits together that a thread has one after the other and wakes or starts nobody in between: it joins several threads,
    or asks several futures.
    """
    found: list[_Meeting] = []
    before: dict[int, _Meeting] = {}
    for one in sorted(met, key=lambda each: each.end):
        (thread, *others) = one.waiters
        last = before.get(thread)
        if one.meets or others or last is None or _wakes(kernel, thread, last.end, one.start):
            found.append(one)
            before[thread] = one
            continue
        last.end, last.lost_ns = one.end, last.lost_ns + one.lost_ns
        last.last = one.last if one.last >= 0 else last.last
    return sorted(found, key=lambda each: each.end)


def _wakes(kernel: KernelFigures, thread: int, start: int, end: int) -> bool:
    """Return whether a thread wakes or starts another one in a span; where that is too much to look at, whether it is long."""
    wakings = kernel.wakings(thread)
    if wakings is None:
        return end - start > _SHORT_NS
    return bool(np.searchsorted(wakings, end) > np.searchsorted(wakings, start))


def _numbers(waits: Waits, blocks: Ints) -> Ints:
    """Number the meetings of some blocks."""
    assert waits.data is not None
    assert waits.sites is not None
    cause = np.full(len(waits.data.blocks), -1, dtype=np.int64)
    cause[blocks] = CODE[IMBALANCE]
    together = np.intersect1d(blocks, trip_rows(waits.data, waits.sites, cause))
    number = np.full(len(blocks), -1, dtype=np.int64)
    trip, _ = trips(waits.data, together)
    number[np.searchsorted(blocks, together)] = trip
    alone = number < 0
    number[alone] = int(trip.max(initial=-1)) + 1 + np.arange(int(alone.sum()))
    return number


def _compared(keys: Ints, ran: Ints, one: _Meeting) -> tuple[int, float] | None:
    """Return how long the last one ran, and the mean of the others that took part."""
    by_thread = dict(zip(keys.tolist(), ran.tolist(), strict=True))
    ours = by_thread.get(one.last)
    if ours is None:
        return None
    if one.meets:
        others = [by_thread[thread] for thread in one.waiters if thread in by_thread and thread != one.last]
    else:
        least = max(_TAKES_PART * ours, 1)
        others = [ns for each, ns in by_thread.items() if each != one.last and each not in one.waiters and ns >= least]
    return (ours, float(np.mean(others))) if others else None
