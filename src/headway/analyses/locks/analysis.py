"""Analyses locks: which threads wait for each lock, who holds it, what the holder does meanwhile, and the cost in cores.

Question   per lock (object, class or site): how often, how long and by how many it is waited for; where; who holds it and
           what that thread does while others wait; how many cores stood idle for it; how much faster the program could be.
Method     the fifteen metrics of Patros (2014), section 3.7, for parks, contended monitors and Object.wait alike
           (locks.metrics), from the agent's exact sums for a whole recording and from single blocks for a window. Idle
           waiting is told apart from contention by rules (waits.rules). Holders come from releases, owners and wakers, their
           states from the kernel's record (waits.threads), chains of waiting and deadlocks from both (locks.chains),
           lost cores and the bound of the speedup from a sweep over the use of the cores (locks.cost),
           convoys and handoffs by their figures (locks.patterns).
Assumes    what these modules assume, each at its head.
Wrong when single blocks are missing because the agent's file was full: the exact sums go on, everything else is of the part
           that is there (HW431 says how much). Holders of semaphores, conditions and readers are those who woke the waiter.
Checked    tests/property/test_lock_figures.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.notices import recorded_notices
from headway.analyses.locks.answer import Locks
from headway.analyses.locks.barrier_latches import with_gates
from headway.analyses.locks.chains import deadlocks
from headway.analyses.locks.cost import cost
from headway.analyses.locks.groups import BY, make_groups, units_of
from headway.analyses.locks.lazy_rows import LazyRows
from headway.analyses.locks.rows import Rows
from headway.analyses.locks.types import Lock
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.tables import blocks
from headway.analyses.waits.threads.holders import holder_states
from headway.errors import Notice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

__all__ = ["BY", "SORT", "Lock", "Locks", "has_locks", "locks"]

SORT = ("cost", "thread-time", "real-time", "times", "average", "hold", "peak", "first")
has_locks = blocks.has_locks


def locks(
    recording: Recording,
    window: tuple[int, int] | None = None,
    *,
    by: str = "place",
    sort: str = "cost",
    min_parks: int = 0,
    limit: int | None = None,
) -> Locks:
    """Compute the locks of a recording.

    window: (from, to) in ns from the recording's start, None for all of it. by, sort: of BY and SORT; `cost` puts first what
    lost most core time, whatever kind of waiting it is, then what took most of the threads' time (all of it where cores are not
    known); idle waiting, which loses none, comes last.
    min_parks: leave out what was waited for less often. limit: at most so many rows.

    Raises HeadwayError HW430 (recorded without locks), HW401 (window empty or outside) or HW402 (no span).
    """
    data = blocks.load(recording, window)
    sites = with_gates(data, sites_of(data))
    groups = make_groups(data, sites, by)
    unit, units_blocker, units_group = units_of(data, groups, sites)
    found = holder_states(data, sites.contended, unit, units_blocker)
    costs = cost(data, groups.group, sites.contended, groups.count)
    rows = Rows(data, sites, groups, found, units_blocker, units_group, costs)
    is_used = (groups.columns["times_parked"] > 0) | (groups.columns["thread_time_ns"] > 0)
    order = _order(rows, sort)
    order = order[is_used[order] & (groups.columns["times_parked"][order] >= min_parks)]
    shown = order if limit is None else order[:limit]
    return _answer(recording, by, rows, shown, hidden=int(is_used.sum()) - len(shown))


def _answer(recording: Recording, by: str, rows: Rows, shown: NDArray[np.int64], hidden: int) -> Locks:
    """Return the answer that shows some of the rows, in this order, and hides so many."""
    data, sites, groups = rows.data, rows.sites, rows.groups
    contended = rows.is_contended[shown]
    contended_time = groups.columns["thread_time_ns"][shown[contended]]
    waited = data.blocks.end - data.blocks.start
    return Locks(
        by=by,
        wall_ns=data.window[1] - data.window[0],
        window_ns=data.window,
        mode=recording.manifest.mode,
        rows=LazyRows(rows, shown),
        contended=LazyRows(rows, shown[contended]),
        idle=LazyRows(rows, shown[~contended]),
        waited_for=int((contended_time > 0).sum()),
        waited_for_ns=int(contended_time.sum()),
        hidden=hidden,
        contended_ns=int(waited[sites.contended].sum()),
        idle_ns=int(waited[~sites.contended].sum()),
        deadlocks=deadlocks(data),
        notices=(*recorded_notices(recording), *_notices(data, sites)),
    )


def _order(rows: Rows, sort: str) -> NDArray[np.int64]:
    """Return the groups in the order asked for; equal ones by thread-time, then by their first event."""
    groups = rows.groups
    columns = groups.columns
    count = groups.count
    time = -columns["thread_time_ns"].astype(float)
    if sort == "cost":
        lost = -rows.cost.lost_core_ns.round(3).round() if rows.cost is not None else np.zeros(count)
        idle = ~rows.is_contended  # a row of contention may hold some idle waiting, and the other way round
        return np.lexsort((columns["first_ns"], time, lost, idle)) if count else np.zeros(0, np.int64)
    keys = {
        "thread-time": time,
        "real-time": -columns["real_time_ns"],
        "times": -columns["times_parked"],
        "average": -_divided(columns["thread_time_ns"], columns["times_measured"]),
        "hold": -_divided(columns["real_time_ns"], columns["times_measured"] - columns["parked_now"]),
        "peak": -columns["peak_parked"],
        "first": columns["first_ns"],
    }
    return np.lexsort((columns["first_ns"], time, keys[sort]))


def _divided(value: NDArray[np.int64], by: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(value, by, out=np.zeros(len(value)), where=by > 0)


def _notices(data: LockData, sites: Sites) -> tuple[Notice, ...]:
    found = []
    table = data.blockers.table
    counted, single = int(table["times_measured"].sum()), int(data.blocks.waits.begins.sum())
    has_warning = data.not_read and blocks.has_all_waits(data.recording)  # HW435
    if data.is_whole and single < counted and not has_warning:
        found.append(Notice.of("HW431", single=single, counted=counted))
    elif not data.is_whole and not blocks.has_all_waits(data.recording) and _is_capped(data):
        found.append(Notice.of("HW433"))
    if not has_scheduling(data.recording):
        found.append(Notice.of("HW432", mode=data.recording.manifest.mode))
    attached = int(data.blocks.is_attached.sum())
    if attached:
        found.append(Notice.of("HW434", count=attached))
    return tuple(found)


def _is_capped(data: LockData) -> bool:
    """Return whether single blocks are missing anywhere in the recording."""
    row = data.recording.query("SELECT count(*) FROM block WHERE NOT coalesce(is_repark, false)").fetchone()
    return row is not None and int(row[0]) < int(data.blockers.table["times_measured"].sum())
