"""When a virtual thread is known to own a monitor, from JDK 24 on: it reports that when it leaves its carrier.

Question   nobody tells when a virtual thread lets a monitor go: who had it while others waited?
Method     a virtual thread that blocks elsewhere says whether it owns the monitor that it last waited for (`owns_monitor`). It
           has it until that block ends. It is presumed to have had it since its wait for it ended, or since its block before
           that said so; where another thread's wait for it ended in between, or the thread itself was in Object.wait with
           it, only since the block began.
Sums       none: times for which nothing is said are left to whatever else is known.
Assumes    each wait is on record: where single ones were left out, the thread's last one may be another, so nothing is known.
           Presumed times assume that a thread which waited for a monitor and owns it later has had it all the while.
Wrong when it let the monitor go in between and got it back without a wait. Of monitors within one another only the last one that
the thread waited for is known, and one that it got without a wait never is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.waits.tables.block_rows import KINDS
from headway.analyses.waits.threads.thread_states import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.block_rows import Blocks

    Ints = NDArray[np.int64]

_ENTER, _WAIT = KINDS.index("monitor"), KINDS.index("wait")


@dataclass(frozen=True, eq=False)
class OwnedTimes:
    """Times in which a thread surely owns a monitor, from `start` until `end`; it is presumed to do so from `presumed` on.

    Of one thread and monitor they do not overlap where its blocks do not.
    """

    monitor: Ints
    thread: Ints
    presumed: Ints
    start: Ints
    end: Ints


def owned_while_unmounted(blocks: Blocks) -> OwnedTimes:
    """Return the times that are known of all monitors, if `blocks` are all waits that there were."""
    owning = np.flatnonzero(blocks.owns_monitor)
    waited = np.flatnonzero(((blocks.kind == _ENTER) | (blocks.kind == _WAIT)) & ~blocks.is_open)
    if not len(owning) or not len(waited):
        none = np.zeros(0, dtype=np.int64)
        return OwnedTimes(none, none, none, none, none)
    owning = owning[np.lexsort((blocks.began[owning], blocks.thread[owning]))]
    last = _last_before(blocks.thread[waited], blocks.full[waited], blocks.thread[owning], blocks.began[owning])
    owning, last_wait = owning[last >= 0], waited[last[last >= 0]]
    monitor, start = blocks.blocker[last_wait], blocks.began[owning]
    last_of_all = waited[_last_before(blocks.blocker[waited], blocks.full[waited], monitor, start)]
    is_unbroken = (blocks.kind[last_wait] == _ENTER) & (last_of_all == last_wait)
    known_from = blocks.full[last_wait].copy()
    said_before = np.flatnonzero(last_wait[1:] == last_wait[:-1])
    known_from[said_before + 1] = blocks.full[owning[said_before]]
    presumed = np.where(is_unbroken, np.minimum(known_from, start), start)
    return OwnedTimes(monitor, blocks.thread[owning], presumed, start, blocks.full[owning])


def _last_before(group: Ints, time: Ints, asked: Ints, until: Ints) -> Ints:
    """Return for each asked group the place of its last time at or before `until`; -1: it has none."""
    if not len(group) or not len(asked):
        return np.full(len(asked), -1, dtype=np.int64)
    scale = Scale.of(np.concatenate([time, until]), int(max(group.max(), asked.max())) + 1)
    position = scale.place(group, time)
    order = np.argsort(position, kind="stable")
    at = np.searchsorted(position[order], scale.place(asked, until), side="right") - 1
    found = order[np.maximum(at, 0)]
    return np.where((at >= 0) & (group[found] == asked), found, -1)
