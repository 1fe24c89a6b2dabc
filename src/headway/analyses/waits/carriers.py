"""Finds the times in which a virtual thread could run but waited for a carrier thread.

Method     a virtual thread that is unparked, or whose sleep is over, may go on; until its park returns it waits for a carrier.
           Not while one was idle and is on its way: the scheduler of virtual threads wakes it, and it waits for a core, if
           anything. Else every carrier is taken: it runs, wants to run, or is pinned (kept by a virtual thread that blocks where
           it can't leave it). A carrier that has been blocked is idle until it runs again, as far as more of them are than
           virtual threads that keep theirs in a wait.
           A virtual thread that keeps its carrier while it sleeps wants no core as long as others wait for one (pieces.py).
           Who waited got the carrier that another virtual thread had left last (`freed_by`).
Assumes    that scheduler, which every JDK has as long as nobody exchanges it.
Wrong when virtual threads are started or give way: what waits for a carrier then leaves no trace. A carrier that is pinned in a
           sleep or in I/O is seen by the kernel only, as a blocked thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import places_of
from headway.analyses.common.intervals import NOTHING, Spans, pairs, reached

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]

_FUTEXES = (0, 1, 2)
"""What an idle carrier is blocked in, by slice.blocked_in; 0: not known."""


def without_carrier(data: LockData, block: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the parts of spans (block, start, end) from unpark to return in which all carriers were taken."""
    rows = data.recording.query("SELECT DISTINCT pid FROM thread WHERE kind = 'carrier'").fetchall()
    process = data.blockers.pid[data.blocks.blocker[block]]
    rows_of, begins, ends = [block[:0]], [start[:0]], [end[:0]]
    for pid, of_process in places_of(process):
        if (pid,) not in rows:
            continue
        span = int(start[of_process].min()), int(end[of_process].max())
        taken = Spans.single(*span) - _some_idle(data, pid, span)
        row, at = pairs(*reached(taken.start, taken.end, start[of_process], end[of_process]))
        rows_of.append(block[of_process[row]])
        begins.append(np.maximum(start[of_process[row]], taken.start[at]))
        ends.append(np.minimum(end[of_process[row]], taken.end[at]))
    return np.concatenate(rows_of), np.concatenate(begins), np.concatenate(ends)


def _some_idle(data: LockData, pid: int, span: tuple[int, int]) -> Spans:
    """Return when a carrier of a JVM had nothing to carry, or was on its way to it."""
    if not data.recording.has("slice"):
        return NOTHING
    low, high = (data.recording.window_ns[0] + each for each in span)
    begin = "s.start_ns - COALESCE(s.runnable_ns, 0) - s.blocked_ns"
    found = data.recording.query(
        f"SELECT {begin} - {data.recording.window_ns[0]} AS began, s.start_ns - {data.recording.window_ns[0]} AS ran"
        " FROM slice s JOIN thread t USING (thread_id) WHERE t.kind = 'carrier' AND t.pid = $1 AND s.blocked_ns > 0"
        f" AND COALESCE(s.blocked_in, 0) IN {_FUTEXES} AND s.start_ns > {low} AND {begin} < {high}",
        (pid,),
    ).fetchnumpy()
    began, ran = (np.asarray(found[name]).astype(np.int64) for name in ("began", "ran"))
    blocks = data.blocks
    kept = np.flatnonzero((blocks.thread >= data.platform_threads) & blocks.is_pinned)
    kept = kept[data.blockers.pid[blocks.blocker[kept]] == pid]
    time = np.concatenate([began, ran, blocks.began[kept], blocks.full[kept]])
    step = np.repeat([1, -1, -1, 1], [len(began), len(ran), len(kept), len(kept)])
    order = np.argsort(time, kind="stable")
    time, idle = time[order], np.cumsum(step[order])
    return Spans.of(time[:-1][idle[:-1] > 0], time[1:][idle[:-1] > 0]) if len(time) else NOTHING


def freed_by(data: LockData, block: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return which virtual thread left the carrier that each of some waits (block, start, end) was for, and when; -1: not known.

    Each leaves a carrier to one other thread. Where none was left during a wait, a carrier was free all the time.
    """
    thread, left_ns = np.full(len(block), -1, dtype=np.int64), np.full(len(block), -1, dtype=np.int64)
    blocks = data.blocks
    leaving = np.flatnonzero((blocks.thread >= data.platform_threads) & ~blocks.is_pinned)
    leaving = leaving[np.argsort(blocks.began[leaving], kind="stable")]
    process = data.blockers.pid[blocks.blocker[leaving]]
    waiting = data.blockers.pid[blocks.blocker[block]]
    for pid, rows in places_of(waiting):
        rows = rows[np.argsort(end[rows], kind="stable")]
        of_process = leaving[process == pid]
        for row, at in zip(rows.tolist(), _last_left(blocks.began[of_process], start[rows], end[rows]), strict=True):
            if at >= 0:
                thread[row], left_ns[row] = blocks.thread[of_process[at]], blocks.began[of_process[at]]
    return thread, left_ns


def _last_left(left_ns: Ints, start: Ints, end: Ints) -> list[int]:
    """Return for each wait, in order of `end`, the place in `left_ns` of the last one within it that is not taken, or -1."""
    found: list[int] = []
    times = left_ns.tolist()
    free: list[int] = []
    coming = 0
    for begin, until in zip(start.tolist(), end.tolist(), strict=True):
        while coming < len(times) and times[coming] <= until:
            free.append(coming)
            coming += 1
        found.append(free.pop() if free and times[free[-1]] > begin else -1)
    return found
