"""Finds how many threads of a pool are at work at once, where a limit rather than the lack of work decides that.

Question   threads of a pool sleep or wait for I/O while cores are idle. Would more of them have had work? It may be queued where
           nobody waits for it, as the calls beyond a client's limit of calls per host are.
Method     threads whose names differ in numbers only are a pool. Each is at work but for its waits for a task. Where for nearly
           all of the time the same number are at work, and tasks are begun by a thread of the pool that ends one (it ends
           another's wait for a task, or starts a new thread), these tasks were there before. Where the threads hardly ever
           wait for a task, all of them are at work: whether more is queued nobody tells.
Assumes    a pool's threads have a name in common, and that their waits for tasks are recorded.
Wrong when each task is the next step of the one that begins it: then so many chains of steps go on at once as were begun. The
           sentence says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.units import percent
from headway.analyses.critical_path.path_threads import load_threads
from headway.analyses.waits.roles import CONSUMER, POOL_WORKER, ROLES
from headway.analyses.waits.rules import RULES
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.places import Places

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Window = tuple[int, int]

_FOR_WORK = np.array([ROLES.get(rule.id) in (POOL_WORKER, CONSUMER) for rule in RULES])
_SAME = 0.8
"""Part of the time in which any thread is at work for which the same number must be."""
_MORE = 0.05
"""Part of that time for which more may be: who begins the next task still ends its own."""
_BY_OWN = 0.5
"""Part of the tasks that threads of the pool must begin."""
_LEAST_TASKS = 3
"""Tasks for each thread at work, at least: the first ones are begun by others."""
_HARDLY = 0.1
"""Part of the time from its first task to its last one that a thread of a pool without one to spare waits for tasks at most."""


@dataclass(frozen=True, slots=True)
class AtOnce:
    """How many threads of a pool are at work at once, and for which part of the time that any is. `by_own`: the part of the tasks
    that a thread of the pool began. `waits`: the part of the time from the first task to the last one in which a thread of the
    pool waits for one, on average.
    """

    threads: int
    level: int
    share: float
    tasks: int
    by_own: float
    waits: float


def at_once(places: Places, threads: Sequence[int], window: Window) -> AtOnce | None:
    """Return how many of a pool's threads are at work at once in a window; None where none waits for tasks, or none works."""
    waits = places.waits
    if waits.data is None or waits.sites is None:
        return None
    crowd = np.array(sorted(threads), np.int64)
    blocks = waits.data.blocks
    idle = np.flatnonzero(np.isin(blocks.thread, crowd) & _FOR_WORK[waits.sites.rule])
    if not len(idle):
        return None
    lives = np.array([places.life(one) for one in crowd.tolist()], np.int64)
    born, died = np.maximum(lives[:, 0], window[0]), np.minimum(lives[:, 1], window[1])
    start, end = np.maximum(blocks.start[idle], window[0]), np.minimum(blocks.end[idle], window[1])
    inside = end > start
    idle, start, end = idle[inside], start[inside], end[inside]
    lived = died > born
    time_at = _time_by_level(born[lived], died[lived], start, end)
    busy_ns = int(time_at[1:].sum())
    if not busy_ns:
        return None
    beyond = busy_ns - np.cumsum(np.append(0, time_at[1:]))
    level = int(np.argmax(beyond <= _MORE * busy_ns))
    begun = end < window[1]
    waker = blocks.waker[idle[begun]]
    is_own = np.isin(waker, crowd) & (waker != blocks.thread[idle[begun]])
    parents = load_threads(places.recording).parent[crowd[lives[:, 0] > window[0]]]
    tasks = int(begun.sum()) + len(parents)
    own = int(is_own.sum()) + int(np.isin(parents, crowd).sum())
    first, last = int(end.min()), int(start.max())
    waited = int(np.maximum(np.minimum(end, last) - np.maximum(start, first), 0).sum())
    waited_part = waited / (max(last - first, 1) * int(lived.sum()))
    return AtOnce(int(lived.sum()), level, float(time_at[level]) / busy_ns, tasks, own / max(tasks, 1), waited_part)


def _time_by_level(born: Ints, died: Ints, idle_from: Ints, idle_to: Ints) -> Ints:
    """Return for how long 0, 1, 2 ... threads are at work: alive, and not waiting for a task."""
    times = np.concatenate([born, idle_to, died, idle_from])
    change = np.repeat([1, -1], [len(born) + len(idle_to), len(died) + len(idle_from)])
    order = np.lexsort((-change, times))
    level = np.maximum(np.cumsum(change[order]), 0)[:-1]
    return np.bincount(level, weights=np.diff(times[order]), minlength=2).astype(np.int64)


def limit_evidence(
    places: Places, threads: Sequence[int], window: Window
) -> tuple[list[str], dict[str, float | int | str | None]]:
    """Return a sentence and figures about a limit of how many threads of a pool are at work; empty when nothing tells of one."""
    found = at_once(places, threads, window) if threads and threads[0] >= 0 else None
    if found is None or found.share < _SAME:
        return [], {}
    name = places.crowd(threads[0])[0] or "?"
    figures: dict[str, float | int | str | None] = {
        "at_once": found.level,
        "at_once_share": found.share,
        "tasks": found.tasks,
        "begun_by_own_share": found.by_own,
    }
    if found.by_own >= _BY_OWN and found.tasks >= _LEAST_TASKS * found.level:
        return [
            f"Of {counted(found.threads, 'thread')} '{name}' {found.level} were at work at once for"
            f" {percent(found.share)} of the time, and of {found.tasks} tasks {percent(found.by_own)} were begun by one of"
            " them that ended another: these were queued, and a limit on how many run at once let no more begin (calls"
            " per host, permits, a pool's size), or each is the next step of the one before."
        ], figures
    if found.waits <= _HARDLY and found.level == found.threads:
        return [
            f"All {counted(found.threads, 'thread')} '{name}' were at work for {percent(found.share)} of the time that any"
            " was, and hardly waited for a task between the first and the last: if more were queued, their number was the limit."
        ], figures
    return [], {}
