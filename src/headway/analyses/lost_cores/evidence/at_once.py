"""Finds how many threads of a pool are at work at once, where a limit rather than the lack of work decides that.

Question   threads of a pool sleep or wait for I/O while cores are idle. Would more of them have had work? It may be queued where
           nobody waits for it, as the calls beyond a client's limit of calls per host are.
Method     threads whose names differ in numbers only are a pool. Each is at work but for its waits for a task. Where for nearly
           all of the time the same number are at work, and tasks are begun by a thread of the pool that ends one (in the second
           half of its own it ends another's wait for a task, or starts a new thread), these tasks were there before; what such
           a thread still does then is no part of its task. Who does so earlier divides its task. Where the threads hardly ever
           wait for a task, all of them are at work: whether more is queued nobody tells. Threads that never waited for one are a
           pool if a stack of one of them is in a task that a pool of the JDK's runs.
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
from headway.analyses.waits.classification.periodic_threads import POOLS
from headway.analyses.waits.classification.roles import CONSUMER, POOL_WORKER, ROLES
from headway.analyses.waits.rules import RULES
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.places import Places
    from headway.store import Recording

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
    """How many threads of a pool are at work at once, and for which part of the time that any is.

    `by_own`: the part of the tasks that a thread of the pool began as it ended its own. `waits`: the part of the time from the
    first task to the last one in which a thread of the pool waits for one, on average. `tasks`: None where nobody ever waits for
    one, so that nothing tells where they begin.
    """

    threads: int
    level: int
    share: float
    tasks: int | None
    by_own: float
    waits: float


def at_once(places: Places, threads: Sequence[int], window: Window) -> AtOnce | None:
    """Return how many of a pool's threads are at work at once in a window; None if none works, or they may be no pool."""
    waits = places.waits
    if waits.data is None or waits.sites is None:
        return None
    crowd = np.array(sorted(one for one in threads if one < waits.data.platform_threads), np.int64)  # no virtual ones
    blocks = waits.data.blocks
    idle = np.flatnonzero(np.isin(blocks.thread, crowd) & _FOR_WORK[waits.sites.rule])
    idle = idle[(blocks.end[idle] > window[0]) & (blocks.start[idle] < window[1])]
    lives = np.array([places.life(one) for one in crowd.tolist()], np.int64).reshape(-1, 2)
    born, died = np.maximum(lives[:, 0], window[0]), np.minimum(lives[:, 1], window[1])
    lived = died > born
    if not lived.any():
        return None
    if not len(idle):
        return _never_idle(born[lived], died[lived]) if _run_tasks(places.recording, crowd) else None
    thread = blocks.thread[idle].astype(np.int64)
    # Who is woken has a task, and may have to wait for a core.
    waker, waking = blocks.waker[idle].astype(np.int64), blocks.waking[idle]
    until = np.where((waking >= blocks.start[idle]) & (waking < blocks.end[idle]), waking, blocks.end[idle])
    start, end = np.maximum(blocks.start[idle], window[0]), np.clip(until, window[0], window[1])
    is_new = lives[:, 0] > window[0]
    parents = load_threads(places.recording).parent[crowd]
    begun = end < window[1]
    is_own = begun & np.isin(waker, crowd) & (waker != thread)
    by_parent = is_new & np.isin(parents, crowd)
    who = np.concatenate([waker[is_own], parents[by_parent]])
    when = np.concatenate([end[is_own], lives[by_parent, 0]])
    *at_work, ended = _at_work(crowd[lived], born[lived], died[lived], (thread, start, end), (who, when))
    time_at = _time_by_level(*at_work)
    busy_ns = int(time_at[1:].sum())
    if not busy_ns:
        return None
    beyond = busy_ns - np.cumsum(np.append(0, time_at[1:]))
    level = int(np.argmax(beyond <= _MORE * busy_ns))
    tasks = int(begun.sum() + is_new.sum())
    first, last = int(end.min()), int(start.max())
    waited = int(np.maximum(np.minimum(end, last) - np.maximum(start, first), 0).sum())
    waited_part = waited / (max(last - first, 1) * int(lived.sum()))
    share = float(time_at[level]) / busy_ns
    return AtOnce(int(lived.sum()), level, share, tasks, ended / max(tasks, 1), waited_part)


def _never_idle(born: Ints, died: Ints) -> AtOnce:
    """Return what is known of threads that live so long, and never wait for a task."""
    time_at = _time_by_level(born, died)
    level = int(np.argmax(time_at[1:])) + 1
    return AtOnce(len(born), level, float(time_at[level] / time_at[1:].sum()), None, 0.0, 0.0)


def _run_tasks(recording: Recording, crowd: Ints) -> bool:
    """Return whether one of some threads was seen in a task that a pool of the JDK's runs."""
    pools = " OR ".join(f"contains(f.class_name, '{name}')" for name in POOLS)
    stacks = f"SELECT s.stack_id FROM stack s JOIN frame f USING (frame_id) WHERE {pools}"
    threads = ", ".join(map(str, crowd.tolist()))
    return any(
        recording.query(
            f"SELECT 1 FROM {table} WHERE thread_id IN ({threads}) AND stack_id IN ({stacks}) LIMIT 1"
        ).fetchone()
        for table in ("waiting_stack", "sample", "block")
        if recording.has(table) and recording.has("stack")
    )


def _at_work(
    crowd: Ints, born: Ints, died: Ints, idle: tuple[Ints, Ints, Ints], begins: tuple[Ints, Ints]
) -> tuple[Ints, Ints, int]:
    """Return from when until when threads are at work, all one after the other, and how many tasks were begun at an end.

    `idle`: waits for a task (thread, start, end); `begins`: who of them began another's task, and when.

    Who does so in the second half of its own had ended that: it may take long until it has a core for the rest. Of several times
    the last one counts: a thread that found a task queued takes it without a wait.
    """
    starts, ends, ended = [], [], 0
    waits, others = np.lexsort((idle[1], idle[0])), np.lexsort((begins[1], begins[0]))
    mine, theirs = _parts(crowd, idle[0][waits]), _parts(crowd, begins[0][others])
    for one, (birth, death) in enumerate(zip(born.tolist(), died.tolist(), strict=True)):
        at = waits[mine[one]]
        from_ns, to_ns = np.append(birth, idle[2][at]), np.append(idle[1][at], death)
        other = begins[1][others[theirs[one]]]
        half_ns = (from_ns + to_ns) // 2
        own = np.searchsorted(from_ns, other, side="right") - 1
        ended += int((other[own >= 0] >= half_ns[own[own >= 0]]).sum())
        last = np.append(other, -1)[np.searchsorted(other, to_ns, side="right") - 1]
        starts.append(from_ns)
        ends.append(np.maximum(np.where(last >= half_ns, last, to_ns), from_ns))
    return np.concatenate(starts), np.concatenate(ends), ended


def _parts(keys: Ints, ordered: Ints) -> list[slice]:
    """Return where each key's rows are in a column in order: looking through all of them for each takes the square."""
    first, last = (np.searchsorted(ordered, keys, side=side).tolist() for side in ("left", "right"))
    return [slice(begin, end) for begin, end in zip(first, last, strict=True)]


def _time_by_level(start: Ints, end: Ints) -> Ints:
    """Return for how long none, one, two and more of some time intervals overlap, ns by their number."""
    times = np.concatenate([start, end])
    change = np.repeat([1, -1], [len(start), len(end)])
    order = np.lexsort((-change, times))
    level = np.cumsum(change[order])[:-1]
    return np.bincount(level, weights=np.diff(times[order]), minlength=2).astype(np.int64)


def limit_evidence(
    places: Places, threads: Sequence[int], window: Window
) -> tuple[list[str], dict[str, float | int | str | None]]:
    """Return a sentence and figures about a limit of how many threads of a pool are at work; empty without sign of one."""
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
    if found.by_own >= _BY_OWN and (found.tasks or 0) >= _LEAST_TASKS * found.level:
        return [
            f"Of {counted(found.threads, 'thread')} '{name}' {found.level} {'was' if found.level == 1 else 'were'} at work at"
            f" once for {percent(found.share)} of the time that any was, and of {found.tasks} tasks {percent(found.by_own)}"
            " were begun by one of them that ended another: these were queued, and a limit on how many run at once let no"
            " more begin (calls per host, permits, a pool's size), or each is the next step of the one before."
        ], figures
    if found.waits <= _HARDLY and found.level == found.threads:
        waited = (
            "never waited for a task"
            if found.tasks is None
            else "hardly waited for a task between the first and the last"
        )
        who = f"The only thread '{name}'"
        if found.threads > 1:
            who = f"All {counted(found.threads, 'thread')} '{name}' were at work for {percent(found.share)} of the time that any"
            who += " was, and"
        return [f"{who} {waited}: if more were queued, their number was the limit."], figures
    return [], {}
