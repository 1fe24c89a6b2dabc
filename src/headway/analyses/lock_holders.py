"""Who had the lock while others waited for it, and what was that thread doing meanwhile?

Method     each object gets a timeline of holders. Holds that were seen whole come first. What they leave open is filled from
           single sightings: an owner seen at the begin of a wait holds from then on; a thread that wakes a waiter had what is
           waited for since the waking before, but not from before it last had nothing to do (an idle pool worker holds
           nothing). Between a release and the next acquire nobody holds: `handoff`. Then every
           stretch of the timeline is cut at the changes of state of its holder (lock_states) and counted once for each
           thread that waits then; GC pauses come before everything else.
Sums       exact: over all holders and states, to the ns, the time waited.
Assumes    one holder at a time. Of a semaphore, or of readers, it is the one whose release let the next waiter go on.
Wrong when the waker is not who had the resource (a timer thread that signals, an interrupt); `seen_by` tells such holders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lock_arrays import distinct
from headway.analyses.lock_states import BLOCKED, GC_PAUSE, HANDOFF, UNKNOWN, Scale, pauses, states_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData
    from headway.analyses.lock_states import Pauses, States

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

SEEN_BY = ("hold", "owner", "waker")
HOLD, OWNER, WAKER = range(3)
NOBODY, DARK = -1, -2  # holders that are none: the lock is being handed over; nothing is known
_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class Doings:
    """Time of waiters, by unit of waiting, holder, how it is known, its state and the lock it was itself blocked on.

    Rows are unique in all five. `holder` is a thread key or -1 (nobody, or unknown), `lock` -1 unless the state is blocked.
    """

    unit: Ints
    holder: Ints
    seen_by: Ints
    state: Ints
    lock: Ints
    ns: Ints


def doings(data: LockData, contended: Bools, unit: Ints, units_blocker: Ints) -> Doings:
    """Tell what holders did while the blocks waited. `unit` groups the blocks; each unit's blocks are of one object.

    Blocks with unit -1 are left out. `contended` says which blocks are contention: the others are idle waiting.
    """
    chosen = np.flatnonzero(unit >= 0)
    if not len(chosen):
        return Doings(*(np.zeros(0, dtype=np.int64) for _ in range(6)))
    spans = _stretches(data, contended, unit[chosen], chosen, units_blocker)
    threads = distinct(spans.holder[spans.holder >= 0])
    states = states_of(data, threads)
    gc = pauses(data.recording)
    parts = []
    for low in range(0, max(len(spans.unit), 1), _CHUNK):
        part = slice(low, low + _CHUNK)
        one = _Stretches(*(getattr(spans, name)[part] for name in _Stretches.__dataclass_fields__))
        parts.append(_split(data, one, states, gc, units_blocker))
    columns = [np.concatenate([part[i] for part in parts]) for i in range(6)]
    return Doings(*_sum_up(columns))


@dataclass(frozen=True, eq=False)
class _Stretches:
    """Times during which an object has one holder and a fixed number of waiters (above 0)."""

    unit: Ints
    start: Ints
    end: Ints
    holder: Ints
    seen_by: Ints
    waiters: Ints


def _stretches(data: LockData, contended: Bools, unit: Ints, chosen: Ints, units_blocker: Ints) -> _Stretches:
    """Lay the waits of each unit over the timeline of its object."""
    blocks = data.blocks
    where, time, holder, seen_by = timeline(data, contended, chosen, units_blocker)
    count = len(chosen)
    key = np.concatenate([where, unit, unit])
    when = np.concatenate([time, blocks.start[chosen], blocks.end[chosen]])
    change = np.concatenate([np.zeros(len(where), np.int64), np.ones(count, np.int64), -np.ones(count, np.int64)])
    point = np.concatenate([np.arange(len(where)), np.full(2 * count, -1)])
    order = np.lexsort((when, key))
    key, when, point = key[order], when[order], point[order]
    waiters = np.cumsum(change[order])
    last_point = np.maximum.accumulate(np.where(point >= 0, np.arange(len(point)), -1))
    at = point[last_point] if len(point) else point
    ends = np.append(when[1:], 0)
    use = (waiters > 0) & (ends > when)
    return _Stretches(key[use], when[use], ends[use], holder[at[use]], seen_by[at[use]], waiters[use])


def timeline(data: LockData, contended: Bools, chosen: Ints, units_blocker: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the changes of holder per unit: (unit, time, holder from then on, how it is known), sorted.

    Each unit's timeline begins before its first wait.
    """
    blocker, time, kind, thread = _sightings(data, contended, chosen)
    order = np.lexsort((kind, time, blocker))
    blocker, time, kind, thread = _useful((blocker[order], time[order], kind[order], thread[order]))
    index = np.arange(len(kind))
    held = np.cumsum(np.where(kind == _BEGIN, 1, np.where(kind == _END, -1, 0))) > 0
    began = np.maximum.accumulate(np.where(kind == _BEGIN, index, 0))
    # Inside a hold single sightings say nothing new; outside, they are all there is.
    tells = ~held & ((kind == _WOKE) | (kind == _OWNED))
    following = _next_true(tells | (kind == _BEGIN) | (kind == _BACK))
    there = np.minimum(following, len(kind) - 1)
    same = (following < len(kind)) & (blocker[there] == blocker)
    told = same & tells[there]
    handed_over = (kind == _WOKE) | (same & (kind != _FIRST) & (kind[there] != _BACK))
    presumed = np.where(told, thread[there], np.where(handed_over, NOBODY, DARK))
    is_owned = kind == _OWNED
    holder = np.where(held, thread[began], np.where(is_owned, thread, presumed))
    by_sighting = np.where(is_owned | (kind[there] == _OWNED), OWNER, WAKER)
    return _per_unit(blocker, time, holder, np.where(held, HOLD, by_sighting), units_blocker)


_FIRST, _END, _WOKE, _GONE, _BACK, _OWNED, _BEGIN = range(7)
"""What a point of a timeline tells, in the order in which they count at one instant: a release, the waking that it brought,
the woken thread has gone on, who will wake the next one has come back from idle waiting, who is seen as the owner, the next
acquire."""


def _sightings(data: LockData, contended: Bools, chosen: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return everything that tells of a holder: (object, time, kind, thread)."""
    blocks, holds = data.blocks, data.holds
    rows = distinct(blocks.blocker[chosen])
    mine = np.isin(holds.blocker, rows) & (holds.end > holds.start)
    # A monitor's owner is that of the end: since when it was is not known.
    owned = chosen[(blocks.owner[chosen] >= 0) & (blocks.kind[chosen] == 0)]
    woken = chosen[(blocks.waker[chosen] >= 0) & (blocks.waking[chosen] >= 0)]
    low = min(int(blocks.began.min(initial=0)), int(holds.start.min(initial=0)), data.window[0]) - 1
    parts = (
        (rows, np.full(len(rows), low), _FIRST, np.full(len(rows), DARK)),
        (holds.blocker[mine], holds.start[mine], _BEGIN, holds.thread[mine]),
        (holds.blocker[mine], holds.end[mine], _END, holds.thread[mine]),
        (blocks.blocker[owned], blocks.began[owned], _OWNED, blocks.owner[owned]),
        (blocks.blocker[woken], blocks.waking[woken], _WOKE, blocks.waker[woken]),
        (blocks.blocker[woken], blocks.full[woken], _GONE, blocks.thread[woken]),
        _back(data, contended, woken),
    )
    return (
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([np.broadcast_to(part[2], len(part[0])) for part in parts]).astype(np.int64),
        np.concatenate([part[3] for part in parts]),
    )


def _back(data: LockData, contended: Bools, woken: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return since when those that ended waits had something to do: what they let others have they did not have before."""
    blocks = data.blocks
    waker, waking = blocks.waker[woken], blocks.waking[woken]
    idle = np.flatnonzero(~contended & np.isin(blocks.thread, distinct(waker)))
    scale = Scale.of(np.concatenate([blocks.full[idle], waking]), len(data.names))
    place = blocks.thread[idle] * scale.size + scale.until(blocks.full[idle])
    order = np.argsort(place)
    last = np.searchsorted(place[order], waker * scale.size + scale.until(waking), side="right") - 1
    at = idle[order[np.maximum(last, 0)]] if len(idle) else np.zeros(len(woken), dtype=np.int64)
    there = np.flatnonzero((last >= 0) & (blocks.thread[at] == waker))
    count = len(there)
    return blocks.blocker[woken[there]], blocks.full[at[there]], np.full(count, _BACK), waker[there]


def _useful(points: tuple[Ints, Ints, Ints, Ints]) -> tuple[Ints, Ints, Ints, Ints]:
    """Leave out that somebody has come back where somebody else is the next that is seen to hold."""
    blocker, _, kind, thread = points
    following = np.minimum(_next_true((kind == _WOKE) | (kind == _OWNED) | (kind == _BEGIN)), max(len(kind) - 1, 0))
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
    state = np.concatenate([state, np.where(spans.holder[dark] == NOBODY, HANDOFF, UNKNOWN)])
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
        mine = pid == each
        found[mine] = spans.until(end[mine]) - spans.until(begin[mine])
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
    keep = total > 0
    return [*(key[starts][keep] for key in keys), total[keep]]
