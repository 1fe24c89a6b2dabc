"""Who held each lock while others waited, and the holder's state meanwhile (running, runnable, blocked ...).

Method     each object gets a timeline of holders. Holds that were seen whole come first. What they leave open is filled from
           single sightings: an owner seen at the begin of a wait holds from then on; a thread that wakes a waiter had what is
           waited for since the waking before, but not from before it last had nothing to do (an idle pool worker holds
           nothing). A virtual thread that leaves its carrier says whether it has the monitor that it last waited for. Between
           a release and the next acquire nobody holds: `handoff`. Then every stretch of the timeline is cut at the changes of
           state of its holder (threads.thread_states) and counted once for each
           thread that waits then; GC pauses come before everything else.
Sums       exact: over all holders and states, to the ns, the time waited.
Assumes    one holder at a time. Of a semaphore, or of readers, it is the one whose release let the next waiter go on.
Wrong when the waker is not who had the resource (a timer thread that signals, an interrupt); `seen_by` tells such holders.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct
from headway.analyses.common.intervals import Spans
from headway.analyses.scheduling.slice_chunks import Backwards, slice_chunks
from headway.analyses.waits.tables.blocks import has_all_waits
from headway.analyses.waits.threads.thread_states import BLOCKED, GC_PAUSE, HANDOFF, UNKNOWN, Scale, StatesOf, pauses
from headway.analyses.waits.threads.unmounted_owners import owned_while_unmounted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.waits.threads.thread_states import Pauses, States

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

SEEN_BY = ("hold", "owner", "waker")
HOLD, OWNER, WAKER = range(3)
HANDED_OVER, UNKNOWN_HOLDER = -1, -2  # holders that are none: the lock is being handed over; nothing is known
_CHUNK = 1 << 17
_BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class HolderStates:
    """Time of waiters, by unit of waiting, holder, how it is known, its state and the lock it was itself blocked on.

    Rows are unique in all five. `holder` is a thread key or -1 (nobody, or unknown), `lock` -1 unless the state is blocked.
    """

    unit: Ints
    holder: Ints
    seen_by: Ints
    state: Ints
    lock: Ints
    ns: Ints


def holder_states(data: LockData, contended: Bools, unit: Ints, units_blocker: Ints) -> HolderStates:
    """Return the holders' states while the blocks waited. `unit` groups blocks; each unit's blocks are of one object.

    Blocks with unit -1 are left out. `contended` says which blocks are contention: the others are idle waiting.
    """
    chosen = np.flatnonzero(unit >= 0)
    if not len(chosen):
        return HolderStates(*(np.zeros(0, dtype=np.int64) for _ in range(6)))
    line = _Line.of(len(units_blocker), timeline(data, contended, chosen, units_blocker))
    states = StatesOf(data, distinct(line.holder[line.holder >= 0]))
    gc = pauses(data.recording)
    start, end, unit = data.blocks.start[chosen], data.blocks.end[chosen], unit[chosen]
    backwards = Backwards(start, end)
    parts = []
    for chunk in slice_chunks(data.recording):
        for since, until in backwards.steps(chunk.since, chunk.until, _CHUNK):
            rows = backwards.overlapping(since)
            begins, ends = np.maximum(start[rows], since), np.minimum(end[rows], until)
            spans = _stretches(line, unit[rows], begins, ends)
            if len(spans.unit):
                of_stretch = states.within(chunk.within(since, until).during(Spans.of(begins, ends)))
                parts.append(_sum_up(list(_split(data, spans, of_stretch, gc, units_blocker))))
    columns = [np.concatenate([part[i] for part in parts] or [chosen[:0]]) for i in range(6)]
    *keys, ns = _sum_up(columns)
    return HolderStates(*(column[ns > 0] for column in (*keys, ns)))


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Times during which an object has one holder and a fixed number of waiters (above 0)."""

    unit: Ints
    start: Ints
    end: Ints
    holder: Ints
    seen_by: Ints
    waiters: Ints


@dataclass(frozen=True, eq=False)
class _Line:
    """The changes of holder of each unit, in order; `position`: unit and time as one number, `who`: how the holder is known."""

    scale: Scale
    position: Ints
    holder: Ints
    seen_by: Ints

    @classmethod
    def of(cls, units: int, points: tuple[Ints, Ints, Ints, Ints]) -> _Line:
        unit, time, holder, seen_by = points
        scale = Scale.of(time, units)
        return cls(scale, scale.place(unit, time), holder, seen_by)

    def during(self, units: Ints, since: int, until: int) -> tuple[Ints, Ints, Ints]:
        """Return the changes of some units in a stretch of time, and of each the last one before: (unit, time, row here)."""
        bounds = self.scale.until(np.array([since, until]))
        first = np.searchsorted(self.position, units * self.scale.size + bounds[0], side="right") - 1
        counts = np.searchsorted(self.position, units * self.scale.size + bounds[1], side="right") - first
        rows = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
        unit, number = np.divmod(self.position[rows], self.scale.size)
        return unit, np.maximum(self.scale.time(number), since), rows


def _stretches(line: _Line, unit: Ints, start: Ints, end: Ints) -> _Stretches:
    """Cut the times in which threads wait for an object where its holder or the number of waiting threads changes."""
    count = len(unit)
    since, until = (int(start.min()), int(end.max())) if count else (0, 0)
    where, time, point = line.during(distinct(unit), since, until)
    key = np.concatenate([where, unit, unit])
    when = np.concatenate([time, start, end])
    change = np.zeros(len(key), dtype=np.int8)
    change[len(where) : len(where) + count], change[len(where) + count :] = 1, -1
    order = np.lexsort((when, key))
    key, when = key[order], when[order]
    waiters = np.cumsum(change[order], dtype=np.int64)
    is_point = order < len(where)
    last = np.maximum.accumulate(np.where(is_point, np.arange(len(order)), 0))
    ends = np.append(when[1:], 0)[: len(when)]
    use = np.flatnonzero((waiters > 0) & (ends > when))
    at = point[order[last[use]]]
    return _Stretches(key[use], when[use], ends[use], line.holder[at], line.seen_by[at], waiters[use])


def timeline(data: LockData, contended: Bools, chosen: Ints, units_blocker: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return each unit's changes of holder, sorted: (unit, time, next holder, how it is known).

    Each unit's timeline begins before its first wait.
    """
    known = [_of_objects(data, contended, rows) for rows in _batches(data.blocks.blocker[chosen], chosen)]
    blocker, time, holder, seen_by = (np.concatenate([part[i] for part in known] or [chosen[:0]]) for i in range(4))
    return _per_unit(blocker, time, holder, seen_by, units_blocker)


def _batches(blocker: Ints, chosen: Ints) -> list[Ints]:
    """Return blocks of some objects after the other, a little over _BATCH of them at a time (more of an object that has more)."""
    order = np.argsort(blocker, kind="stable")
    objects = blocker[order]
    borders = [0]
    while borders[-1] < len(order):
        last = objects[min(borders[-1] + _BATCH, len(order)) - 1]
        borders.append(int(np.searchsorted(objects, last, side="right")))
    return [chosen[np.sort(order[low:high])] for low, high in itertools.pairwise(borders)]


def _of_objects(data: LockData, contended: Bools, chosen: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the changes of holder of the objects that some blocks wait for: (object, time, holder, how it is known)."""
    blocker, time, kind, thread = _sightings(data, contended, chosen)
    order = np.lexsort((kind, time, blocker))
    blocker, time, kind, thread = _useful((blocker[order], time[order], kind[order], thread[order]))
    index = np.arange(len(kind))
    is_held = np.cumsum((kind == _BEGIN).astype(np.int8) - (kind == _END), dtype=np.int64) > 0
    began = np.maximum.accumulate(np.where(kind == _BEGIN, index, 0))
    # Inside a hold single sightings say nothing new; outside, they are all there is.
    is_informative = ~is_held & ((kind == _WOKE) | (kind == _OWNED))
    following = _next_true(is_informative | (kind == _PRESUMED) | (kind == _BEGIN) | (kind == _BACK))
    there = np.minimum(following, len(kind) - 1)
    same = (following < len(kind)) & (blocker[there] == blocker)
    next_is_informative = same & is_informative[there]
    handed_over = (kind == _WOKE) | (same & (kind != _FIRST) & (kind != _UNSURE) & (kind[there] != _BACK))
    presumed = np.where(next_is_informative, thread[there], np.where(handed_over, HANDED_OVER, UNKNOWN_HOLDER))
    is_owned = (kind == _OWNED) | (kind == _PRESUMED)
    holder = np.where(is_held, thread[began], np.where(is_owned, thread, presumed))
    by_sighting = np.where(is_owned | (kind[there] == _OWNED), OWNER, WAKER)
    seen_by = np.where(is_held, HOLD, by_sighting)
    return blocker.astype(np.int32), time, holder.astype(np.int32), seen_by.astype(np.int8)


_FIRST, _END, _UNSURE, _WOKE, _RESUMED, _BACK, _OWNED, _PRESUMED, _BEGIN = range(9)
"""What a point of a timeline tells, in the order in which they count at one instant: a release, that nothing more is known of who
held, the waking that a release brought, the woken thread has gone on, who will wake the next one has come back from idle
waiting, who is seen as the owner, who is presumed to own it from now on, the next acquire."""


def _sightings(data: LockData, contended: Bools, chosen: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return everything that tells of a holder: (object, time, kind, thread)."""
    blocks, holds = data.blocks, data.holds
    rows = distinct(blocks.blocker[chosen])
    of_locks = np.isin(holds.blocker, rows) & (holds.end > holds.start)
    # A monitor's owner is that of the end: since when it was is not known.
    owned = chosen[(blocks.owner[chosen] >= 0) & (blocks.kind[chosen] == 0)]
    woken = chosen[(blocks.waker[chosen] >= 0) & (blocks.waking[chosen] >= 0)]
    low = min(int(blocks.began[0]) if len(blocks) else 0, int(holds.start.min(initial=0)), data.window[0]) - 1
    parts = (
        (rows, np.full(len(rows), low), _FIRST, np.full(len(rows), UNKNOWN_HOLDER, dtype=np.int32)),
        (holds.blocker[of_locks], holds.start[of_locks], _BEGIN, holds.thread[of_locks]),
        (holds.blocker[of_locks], holds.end[of_locks], _END, holds.thread[of_locks]),
        (blocks.blocker[owned], blocks.began[owned], _OWNED, blocks.owner[owned]),
        (blocks.blocker[woken], blocks.waking[woken], _WOKE, blocks.waker[woken]),
        (blocks.blocker[woken], blocks.full[woken], _RESUMED, blocks.thread[woken]),
        _back(data, contended, woken),
        *_while_unmounted(data, rows),
    )
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([np.full(len(part[0]), part[2], dtype=np.int8) for part in parts]),
        np.concatenate([part[3] for part in parts]),
    )


def _while_unmounted(data: LockData, rows: Ints) -> list[tuple[Ints, Ints, int, Ints]]:
    """Return the monitors that virtual threads owned while they had left their carriers; who has them afterwards is not known."""
    if not has_all_waits(data.recording):
        return []
    owned = owned_while_unmounted(data.blocks)
    of_monitors = np.isin(owned.monitor, rows) & (owned.end > owned.start)
    early = of_monitors & (owned.presumed < owned.start)
    points = (
        (early, owned.presumed, _PRESUMED),
        (of_monitors, owned.start, _BEGIN),
        (of_monitors, owned.end, _END),
        (of_monitors, owned.end, _UNSURE),
    )
    return [(owned.monitor[which], when[which], kind, owned.thread[which]) for which, when, kind in points]


def _back(data: LockData, contended: Bools, woken: Ints) -> tuple[Ints, Ints, int, Ints]:
    """Return since when those that ended waits had something to do: what they let others have they did not have before."""
    blocks = data.blocks
    waker, waking = blocks.waker[woken], blocks.waking[woken]
    # Who sleeps may hold something meanwhile. (Of platform threads no sleep is a block.)
    is_idle = ~contended & ~data.blockers.is_sleep[blocks.blocker]
    idle = np.flatnonzero(is_idle & np.isin(blocks.thread, distinct(waker)))
    scale = Scale.of(np.concatenate([blocks.full[idle], waking]), len(data.names))
    place = scale.place(blocks.thread[idle], blocks.full[idle])
    order = np.argsort(place)
    last = np.searchsorted(place[order], scale.place(waker, waking), side="right") - 1
    at = idle[order[np.maximum(last, 0)]] if len(idle) else np.zeros(len(woken), dtype=np.int64)
    there = np.flatnonzero((last >= 0) & (blocks.thread[at] == waker))
    return blocks.blocker[woken[there]], blocks.full[at[there]], _BACK, waker[there]


def _useful(points: tuple[Ints, Ints, Ints, Ints]) -> tuple[Ints, Ints, Ints, Ints]:
    """Leave out that somebody has come back where somebody else is the next that is seen to hold."""
    blocker, _, kind, thread = points
    following = np.minimum(_next_true((kind == _WOKE) | (kind >= _OWNED)), max(len(kind) - 1, 0))
    is_next = (kind[following] == _WOKE) & (thread[following] == thread) & (blocker[following] == blocker)
    keep = (kind != _BACK) | is_next
    return points[0][keep], points[1][keep], points[2][keep], points[3][keep]


def _next_true(flags: NDArray[np.bool_]) -> Ints:
    """Return for each place the next later one whose flag is set; len(flags) when there is none."""
    index = np.where(flags, np.arange(len(flags)), len(flags))
    later = np.minimum.accumulate(index[::-1])[::-1]
    return np.append(later[1:], len(flags)).astype(np.int64)


def _per_unit(
    blocker: Ints, time: Ints, holder: Ints, seen_by: Ints, units_blocker: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Give each unit its object's timeline; one object may have several units."""
    begin = np.searchsorted(blocker, units_blocker, side="left")
    counts = np.searchsorted(blocker, units_blocker, side="right") - begin
    unit = np.repeat(np.arange(len(units_blocker), dtype=np.int64), counts)
    at = np.arange(len(unit), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begin, counts)
    return unit, time[at], holder[at], seen_by[at]


def _split(
    data: LockData, spans: _Stretches, states: States, gc: Mapping[int, Pauses], units_blocker: Ints
) -> tuple[Ints, ...]:
    """Cut stretches at the changes of their holders' states; return (unit, holder, seen_by, state, lock, ns) rows."""
    known = np.flatnonzero(spans.holder >= 0)
    if len(known):
        span, begin, end, state, lock = states.pieces(spans.holder[known], spans.start[known], spans.end[known])
    else:
        span = begin = end = state = lock = np.zeros(0, dtype=np.int64)
    dark = np.flatnonzero(spans.holder < 0)
    row = np.concatenate([known[span], dark])
    begin = np.concatenate([begin, spans.start[dark]])
    end = np.concatenate([end, spans.end[dark]])
    state = np.concatenate([state, np.where(spans.holder[dark] == HANDED_OVER, HANDOFF, UNKNOWN)])
    lock = np.concatenate([lock, np.full(len(dark), -1)])
    unit, holder = spans.unit[row], np.maximum(spans.holder[row], -1)
    # Who still waits for the same object does not hold it yet.
    waits_itself = (state == BLOCKED) & (lock == units_blocker[unit])
    state = np.where(waits_itself, HANDOFF, state)
    lock = np.where(state == BLOCKED, lock, -1)
    holder = np.where(waits_itself, -1, holder)
    length = (end - begin) * spans.waiters[row]
    paused = _paused(data, units_blocker[unit], begin, end, gc) * spans.waiters[row]
    seen_by = np.where(holder >= 0, spans.seen_by[row], -1)
    stopped = np.flatnonzero(paused > 0)
    return (
        np.concatenate([unit, unit[stopped]]),
        np.concatenate([holder, holder[stopped]]),
        np.concatenate([seen_by, seen_by[stopped]]),
        np.concatenate([state, np.full(len(stopped), GC_PAUSE)]),
        np.concatenate([lock, np.full(len(stopped), -1)]),
        np.concatenate([length - paused, paused[stopped]]),
    )


def _paused(data: LockData, blocker: Ints, begin: Ints, end: Ints, gc: Mapping[int, Pauses]) -> Ints:
    """Return how much of each span the JVM stood still for its collector."""
    found = np.zeros(len(begin), dtype=np.int64)
    pid = data.blockers.pid[blocker]
    for each, spans in gc.items():
        of_process = pid == each
        found[of_process] = spans.until(end[of_process]) - spans.until(begin[of_process])
    return found


def _sum_up(columns: list[Ints]) -> list[Ints]:
    """Add up the rows that agree in all but their time."""
    *keys, ns = columns
    order = np.lexsort(keys[::-1])
    keys, ns = [key[order] for key in keys], ns[order]
    if not len(ns):
        return [*keys, ns]
    differs = np.any([np.diff(key) != 0 for key in keys], axis=0)
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
    total = np.add.reduceat(ns, starts)
    return [*(key[starts] for key in keys), total]
