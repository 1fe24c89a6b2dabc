"""Distinguishes workers from background threads: timers, acceptors and housekeepers lose no cores while they wait.

Question   whose waits may have kept a core idle, and who only waits for something to do?
Method     a thread that hardly ran in its life is in the background, unless a worker, or a thread that workers wait for, waits
           for it or for what it sends for longer than it would have had to run. Watchers join the thread that started them.
Assumes    threads that work run for BACKGROUND_CPU_SHARE of the time in which they could.
Wrong when a program's own workers hardly run: all of them wait for something that is not recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.causes import CAUSES
from headway.analyses.common.columns import numbered_pairs
from headway.analyses.lost_cores.account.idle import pausing
from headway.analyses.lost_cores.account.io_wakers import io_waits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

BACKGROUND_CPU_SHARE = 0.05
"""A thread that ran for less of its life, and that nobody needs, waits in the background: a timer, an acceptor."""
WORKER, BACKGROUND, WATCHER, NEEDED = 0, 1, 2, 3
"""WorkRole of native/lost_cores/loss_account.h."""


def work_roles(recording: Recording, waits: Waits) -> NDArray[np.uint8]:
    """Return what each thread is, by thread_id: a worker, a background thread, a watcher or needed (WorkRole of loss_account.h).

    Background: it hardly ran in its life, and for hardly any of it a worker, or a thread that workers wait for, waits for it, or
    for what it sends. A watcher is in the background, and joins the thread that started it. Needed: it hardly ran, and is waited
    for, or was seen asleep in a call. What a thread waited for a core is no part of its life: on a busy machine one that is
    always at work runs seldom. Nor is the time in which the JVM stopped it, which may be most of a run.

    Carriers are background: one that blocks has no work, or a virtual thread keeps it, and only that one waits for something. Of
    virtual threads (numbers from the recorded threads' on) nothing tells how much they ran: each is, unless it is needed.
    """
    hardly_ran, lives_ns = _hardly_ran(recording)
    carriers = [row[0] for row in recording.query("SELECT thread_id FROM thread WHERE kind = 'carrier'").fetchall()]
    hardly_ran[carriers] = True
    asleep = sorted(thread for thread in pausing(recording, waits) if hardly_ran[thread])
    if not len(waits):
        found = np.where(hardly_ran, BACKGROUND, WORKER).astype(np.uint8)
        found[asleep] = NEEDED
        return found
    size = max(len(hardly_ran), int(waits.thread.max()) + 1, int(waits.target.max()) + 1)
    is_background = _resized(hardly_ran, size, True)
    is_background[asleep] = False
    least_ns = _resized(BACKGROUND_CPU_SHARE * lives_ns, size, 0.0)  # of a virtual thread's life nothing is known
    _find_needed(is_background, least_ns, *_waited_for(recording, waits, size))
    is_background[carriers] = True
    was_needed = _resized(hardly_ran, size, False)
    codes = np.where(is_background, BACKGROUND, np.where(was_needed, NEEDED, WORKER)).astype(np.uint8)
    watchers = _watchers(recording, waits)
    codes[watchers[is_background[watchers]]] = WATCHER
    return codes


def _hardly_ran(recording: Recording) -> tuple[Bools, Ints]:
    """Return which threads ran for less of their lives than BACKGROUND_CPU_SHARE, and how long these lives were."""
    begin, end = recording.window_ns
    rows = recording.query("SELECT thread_id, start_ns, end_ns, running_ns, runnable_ns FROM thread").fetchall()
    size = recording.places_of_threads(len(rows), max((row[0] for row in rows), default=-1))
    found = np.zeros(size, bool)
    lives_ns = np.zeros(size, np.int64)
    for thread, start, ended, running, runnable in rows:
        lives_ns[thread] = min(end, ended if ended is not None else end) - max(begin, start) - (runnable or 0)
        found[thread] = running is not None and running < BACKGROUND_CPU_SHARE * max(lives_ns[thread], 1)
    ran_ns = {row[0]: row[3] for row in rows if found[row[0]]}
    for thread, stopped_ns in _stopped_ns(recording).items() if ran_ns and recording.has("slice") else ():
        lives_ns[thread] -= stopped_ns
        found[thread] = thread in ran_ns and ran_ns[thread] < BACKGROUND_CPU_SHARE * max(lives_ns[thread], 1)
    return found, lives_ns


def _resized(values: NDArray[Any], size: int, beyond: Any) -> NDArray[Any]:
    """Return a column of threads made longer, so that virtual threads have rows, too: these have the value `beyond`."""
    found = np.full(size, beyond, values.dtype)
    found[: len(values)] = values
    return found


def _find_needed(is_background: Bools, least_ns: Floats, thread: Ints, target: Ints, waited_ns: Floats) -> None:
    """Take out of the background whoever those outside of it wait for longer than `least_ns`, until nobody is left.

    Pairs of who waits and who is waited for are in order of the first. Each is looked at once: all threads may be a chain in
    which each waits for the next.
    """
    first = np.searchsorted(thread, np.arange(len(is_background) + 1))
    sums_ns = np.zeros(len(is_background))
    new = np.flatnonzero(~is_background)
    while len(new):
        counts = first[new + 1] - first[new]
        before = np.cumsum(counts) - counts
        rows = np.arange(counts.sum()) + np.repeat(first[new] - before, counts)
        np.add.at(sums_ns, target[rows], waited_ns[rows])
        reached = np.unique(target[rows])
        new = reached[is_background[reached] & (sums_ns[reached] > least_ns[reached])]
        is_background[new] = False


def _stopped_ns(recording: Recording) -> dict[int, int]:
    """Return how long each thread of the program was stopped by the JVM, or waited for its collector or compiler.

    Other threads of the JVM end waits of who has nothing to do: the Reference Handler that of a thread at a ReferenceQueue.
    """
    begin, end = recording.window_ns
    woken = "s.start_ns - coalesce(s.runnable_ns, 0)"
    rows = recording.query(
        f"SELECT s.thread_id, sum(least({woken}, $2) - greatest({woken} - s.blocked_ns, $1))::BIGINT FROM slice s"
        " JOIN thread t ON t.thread_id = s.thread_id JOIN thread w ON w.thread_id = s.waker_id"
        f" WHERE s.blocked_ns > 0 AND NOT coalesce(s.waker_irq, FALSE) AND {woken} > $1 AND {woken} - s.blocked_ns < $2"
        " AND t.kind = 'app' AND (w.kind IN ('gc', 'jit') OR (w.kind = 'vm' AND w.name = 'VM Thread')) GROUP BY 1",
        (begin, end),
    ).fetchall()
    return {int(thread): int(ns) for thread, ns in rows}


def _waited_for(recording: Recording, waits: Waits, size: int) -> tuple[Ints, Ints, Floats]:
    """Return who waited for whom, and how long in all: for a thread that ends a wait, or that sends what is read."""
    which = np.flatnonzero(waits.target >= 0)
    # A JVM's first thread only waits for the others, and ends them.
    of_program = "kind = 'app' AND (tid != pid OR pid NOT IN (SELECT pid FROM thread WHERE tid != pid))"
    program = [row[0] for row in recording.query(f"SELECT thread_id FROM thread WHERE {of_program}").fetchall()]
    reader, start, end, sender = io_waits(recording, program, (0, recording.wall_ns))
    thread = np.concatenate([waits.thread[which].astype(np.int64), reader])
    target = np.concatenate([waits.target[which].astype(np.int64), sender])
    length = np.concatenate([waits.end[which] - waits.start[which], end - start])
    inside = (thread < size) & (target < size)
    thread, target, pair = numbered_pairs(thread[inside], target[inside])
    return thread, target, np.bincount(pair, length[inside], len(thread)).astype(np.float64)


def _pairs(waits: Waits, which: NDArray[np.bool_]) -> Ints:
    """Return each pair of a waiting thread and who it waits for (-1: not known) once, of the chosen waits, as two rows."""
    thread, target, _ = numbered_pairs(waits.thread[which].astype(np.int64), waits.target[which].astype(np.int64) + 1)
    return np.stack([thread, target - 1])


def _watchers(recording: Recording, waits: Waits) -> Ints:
    """Return the threads that joined, or awaited a result of, one that started them, or that started that one, and so on."""
    rows = recording.query("SELECT thread_id, pid, tid, start_ns, parent_tid FROM thread ORDER BY start_ns").fetchall()
    last: dict[tuple[int, int], int] = {}
    parent: dict[int, int] = {}
    for thread, pid, tid, _, parent_tid in rows:  # a number may be used again: the last one that began before
        if parent_tid is not None and (pid, parent_tid) in last:
            parent[thread] = last[pid, parent_tid]
        last[pid, tid] = thread
    joins = (
        np.isin(waits.cause, [list(CAUSES).index(cause) for cause in ("imbalance", "too_few_tasks")])
        & ~waits.is_directed
    )
    spans = _spans([row[0] for row in rows], parent)
    found = set()
    for thread, target in _pairs(waits, joins).T.tolist():
        if thread in spans and target in spans:
            place, (first, end) = spans[thread][0], spans[target]
            if first < place < end:
                found.add(thread)
    return np.array(sorted(found), np.int64)


def _spans(threads: Sequence[int], parent: Mapping[int, int]) -> dict[int, tuple[int, int]]:
    """Return a number for each thread, and the end of the numbers of those below it, which follow its own.

    Parents come before their children in `threads`. So who is below whom takes two comparisons, however long the chain is.
    """
    size = dict.fromkeys(threads, 1)
    for thread in reversed(threads):
        if thread in parent:
            size[parent[thread]] += size[thread]
    free, of_roots = dict[int, int](), 0
    spans = {}
    for thread in threads:
        above = parent.get(thread)
        if above is None:
            first, of_roots = of_roots, of_roots + size[thread]
        else:
            first = free[above]
            free[above] += size[thread]
        free[thread] = first + 1
        spans[thread] = first, first + size[thread]
    return spans
