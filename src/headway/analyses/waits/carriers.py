"""Finds the times in which a virtual thread could run but waited for a carrier thread.

Method     a virtual thread that is unparked may go on; until its park returns it waits for a carrier. The scheduler of virtual
           threads lets no carrier idle while one is waiting, so all that time every carrier is taken: it runs, wants to run, or
           is pinned (kept by a virtual thread that blocks where it can't leave it).
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

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.blocks import LockData

    Ints = NDArray[np.int64]


def without_carrier(data: LockData, block: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return which spans (block, start, end) from unpark to return are waits for a carrier."""
    rows = data.recording.query("SELECT DISTINCT pid FROM thread WHERE kind = 'carrier'").fetchall()
    known = np.isin(data.blockers.pid[data.blocks.blocker[block]], [row[0] for row in rows])
    return block[known], start[known], end[known]


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
        mine = leaving[process == pid]
        for row, at in zip(rows.tolist(), _last_left(blocks.began[mine], start[rows], end[rows]), strict=True):
            if at >= 0:
                thread[row], left_ns[row] = blocks.thread[mine[at]], blocks.began[mine[at]]
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
