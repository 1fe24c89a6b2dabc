"""Finds the times in which a virtual thread could run but waited for a carrier thread.

Method     a virtual thread that is unparked may go on; until its park returns it waits for a carrier. The scheduler of virtual
           threads lets no carrier idle while one is waiting, so all that time every carrier is taken: it runs, wants to run, or
           is pinned (kept by a virtual thread that blocks where it can't leave it).
           A virtual thread that keeps its carrier while it sleeps wants no core as long as others wait for one (pieces.py).
Assumes    that scheduler, which every JDK has as long as nobody exchanges it.
Wrong when virtual threads are started or give way: what waits for a carrier then leaves no trace. A carrier that is pinned in a
           sleep or in I/O is seen by the kernel only, as a blocked thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.blocks import LockData

    Ints = NDArray[np.int64]


def without_carrier(data: LockData, block: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return which spans (block, start, end) from unpark to return are waits for a carrier."""
    rows = data.recording.query("SELECT DISTINCT pid FROM thread WHERE kind = 'carrier'").fetchall()
    known = np.isin(data.blockers.pid[data.blocks.blocker[block]], [row[0] for row in rows])
    return block[known], start[known], end[known]
