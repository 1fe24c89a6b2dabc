"""Splits waits for a join: until another worker has finished the cause is too few tasks, afterwards imbalance.

Question   a thread waits at a join, latch or future for one that works. Is the work unevenly shared, or shared too little?
Method     uneven is what was shared: while the one that is waited for has worked without a pause (since its own last wait
           ended, it let another join go on, or it was born), another thread must have worked, too, and stopped: waited or
           ended. Until the first such stop the idle cores are due to too few tasks (one thread in the pool, fewer tasks than
           cores), from then on to imbalance. A stop counts if it comes after 10 % of that work, behind a stretch of at least
           as much: who hands over as the other one begins has shared nothing. Waits for locks are part of the work. Nor has
           the one that waits, by what it did before it began to, if it then waits for the same thread again, which has not
           paused meanwhile: more work lay behind the first, and nobody took it.
Assumes    a thread works while it has no wait and lives.
Wrong when the others only sleep or read meanwhile, of which the JVM tells nothing: they seem to have worked. Where the work began
           before the window it is taken as shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.waits.threads.thread_states import Scale
from headway.model import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]

SHARED = 0.1
MOST_STOPS = 1_000_000
"""Of more stops only those behind the longest stretches count: what a laggard is waited for with is not shorter."""
_NEVER = 1 << 60


@dataclass(frozen=True, eq=False)
class _Stops:
    """Ends of stretches of work, in order of time, and how long each stretch was."""

    time: Ints
    stretch: Ints

    def first(self, begin: Ints, end: Ints, least: Ints) -> Ints:
        """Return for each row when the first stretch of at least `least` ended in [begin, end); _NEVER if none did."""
        low, high = np.searchsorted(self.time, begin), np.searchsorted(self.time, end)
        levels = [self.stretch.astype(np.float32)]
        width = 1
        while len(levels[-1]) > width:
            levels.append(np.maximum(levels[-1][:-width], levels[-1][width:]))
            width *= 2
        at = low.copy()
        for level in reversed(range(len(levels))):
            width, longest = 1 << level, levels[level]
            none = (at + width <= high) & (longest[np.minimum(at, len(longest) - 1)] < least)
            at = np.where(none, at + width, at)
        found = at < high
        return np.where(found, np.append(self.time, _NEVER)[np.where(found, at, len(self.time))], _NEVER)


@dataclass(frozen=True, eq=False)
class Joins:
    """Waits for a known thread: who waits, start, end, when it was woken (-1: unknown), and for whom.

    A target was still at work when the waking came; at the end of the wait it may be no more.
    """

    thread: Ints
    start: Ints
    end: Ints
    waking: Ints
    target: Ints


def shared_from(data: LockData, spans: tuple[Ints, Ints, Ints], joins: Joins) -> Ints:
    """Return when each join starts to wait for a straggler; its end where it never does.

    spans: (thread, start, end) of all waits, those of one thread not overlapping; the joins are some of them.
    """
    start, end, waking, target = joins.start, joins.end, joins.waking, joins.target
    if not len(start):
        return np.zeros(0, dtype=np.int64)
    until = np.where((waking > start) & (waking < end), waking, end)
    births, deaths = _lives(data)
    handed_over = _handed_over(len(data.names), joins)
    began, is_known = _work_began(data, spans, births, until, target, handed_over)
    least = np.maximum(1, (SHARED * (until - began)).astype(np.int64))
    stops = _stops(data, spans, births, deaths, int(least.min()))
    if not len(stops.time):
        first = np.full(len(start), _NEVER)
    else:
        first = stops.first(began + least, until, least)
        own = np.flatnonzero((first == start) & _more_lay_behind(joins, began))
        first[own] = stops.first(start[own] + 1, until[own], least[own])
    return np.where(is_known, np.clip(first, start, end), start)


def _lives(data: LockData) -> tuple[Ints, Ints]:
    """Return when each platform thread was born and died in the recording; -1: not a thread of the program, or not in it."""
    origin = data.recording.window_ns[0]
    births = np.full(data.platform_threads, -1, dtype=np.int64)
    deaths = np.full(data.platform_threads, -1, dtype=np.int64)
    kinds = (Kind.APP.value, Kind.CARRIER.value)
    rows = data.recording.query("SELECT thread_id, start_ns, end_ns, kind FROM thread").fetchall()
    for thread, born, died, kind in rows:
        if kind in kinds and 0 <= thread < data.platform_threads:
            births[thread] = born - origin if born >= origin else -1
            deaths[thread] = died - origin if died is not None else -1
    return births, deaths


def _more_lay_behind(joins: Joins, began: Ints) -> NDArray[np.bool_]:
    """Return whose thread next waits for the same target, which then has worked since it let this one go on."""
    order = np.lexsort((joins.start, joins.thread))
    this, after = order[:-1], order[1:]
    same = (joins.thread[this] == joins.thread[after]) & (joins.target[this] == joins.target[after])
    behind = np.zeros(len(order), dtype=np.bool_)
    behind[this] = same & (joins.waking[this] >= 0) & (began[after] == joins.waking[this])
    return behind


def _handed_over(threads: int, joins: Joins) -> Ints:
    """Return when the target of each join last let another one go on before it began, -1 for never.

    A pool's worker goes on with the next task without a wait, if one is there: this ends the work of the task before.
    """
    start, waking, target = joins.start, joins.waking, joins.target
    scale = Scale.of(np.concatenate([start, waking]), threads + 1)
    seen = np.flatnonzero(waking >= 0)
    seen = seen[np.lexsort((waking[seen], target[seen]))]
    position = scale.place(target[seen], waking[seen])
    last = np.searchsorted(position, scale.place(target, start), side="right") - 1
    if not len(seen):
        return np.full(len(start), -1, dtype=np.int64)
    there = seen[np.maximum(last, 0)]
    return np.where((last >= 0) & (target[there] == target), waking[there], -1)


def _work_began(
    data: LockData, spans: tuple[Ints, Ints, Ints], births: Ints, end: Ints, target: Ints, handed_over: Ints
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return since when each target had worked without a wait, and whether that is known."""
    thread, starts, ends = spans
    order = np.lexsort((starts, thread))
    thread, starts, ends = thread[order], starts[order], ends[order]
    scale = Scale.of(np.concatenate([starts, end]), len(data.names) + 1)
    position = scale.place(thread, starts)
    before = np.searchsorted(position, scale.place(target, end - 1), side="right") - 1
    is_its_own = (before >= 0) & (thread[np.maximum(before, 0)] == target)
    last = np.where(is_its_own, ends[np.maximum(before, 0)], -1)
    born = (
        np.where(target < len(births), births[np.minimum(target, max(len(births) - 1, 0))], -1) if len(births) else last
    )
    began = np.maximum(np.where(is_its_own, last, born), handed_over)
    # At the window's edge a wait is cut off, and not over.
    return np.maximum(began, 0), (began > data.window[0]) & (began < end)


def _stops(data: LockData, spans: tuple[Ints, Ints, Ints], births: Ints, deaths: Ints, least: int) -> _Stops:
    """Return the ends of all stretches of work of at least `least`."""
    thread, start, end = spans
    ended = np.flatnonzero(deaths >= 0)
    thread = np.concatenate([thread, ended])
    start = np.concatenate([start, deaths[ended]])
    end = np.concatenate([end, deaths[ended]])
    order = np.lexsort((start, thread))
    thread, start, end = thread[order], start[order], end[order]
    first = np.append(True, thread[1:] != thread[:-1])[: len(thread)]
    platform = len(births)
    born = np.maximum(births[np.minimum(thread, max(platform - 1, 0))], data.window[0]) if platform else start
    born = np.where(thread < platform, born, start)  # when a virtual thread came is not known
    since = np.where(first, born, np.append(0, end[:-1])[: len(end)])
    stretch = start - since
    use = np.flatnonzero(stretch >= least)
    if len(use) > MOST_STOPS:
        use = use[np.argpartition(stretch[use], len(use) - MOST_STOPS)[-MOST_STOPS:]]
    use = use[np.argsort(start[use], kind="stable")]
    return _Stops(start[use], stretch[use])
