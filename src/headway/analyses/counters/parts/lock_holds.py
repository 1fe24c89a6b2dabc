"""Which parts of slices lie in holds of locks: from a contended acquire to the release, by the thread that holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered
from headway.analyses.waits.object_names import display
from headway.analyses.waits.tables.blocks import has_locks
from headway.analyses.waits.threads.thread_states import Scale
from headway.analyses.waits.threads.timelines import intervals
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.counters.parts.slices import Slices
    from headway.store import Recording

    Ints = NDArray[np.int64]

_HOLDS = """
    SELECT COALESCE(thread_id, -1) AS thread_id, blocker_id, start_ns, start_ns + dur_ns AS end_ns FROM hold
    WHERE start_ns < {end} AND start_ns + dur_ns > {begin} ORDER BY thread_id, blocker_id, start_ns
"""


class LockHolds:
    """When which thread held which lock, in a window of time (CLOCK_MONOTONIC ns), to divide the counts of slices by locks.

    `keys`: of each lock that has any, in the order of its number. `unassigned_ns`: for how long each was held by virtual threads,
    or by ones that are not known: which slices those ran in nobody tells.
    """

    def __init__(self, recording: Recording, begin_ns: int, end_ns: int) -> None:
        """Read the holds. Raises HeadwayError HW430 for a recording without locks."""
        if not has_locks(recording):
            raise HeadwayError("HW430", path=recording.path, reason="")
        self._begin_ns, self._end_ns = begin_ns, end_ns
        rows = recording.query(_HOLDS.format(begin=begin_ns, end=end_ns)).fetchnumpy()
        thread, blocker, start, end = (
            np.ma.getdata(rows[name]).astype(np.int64) for name in ("thread_id", "blocker_id", "start_ns", "end_ns")
        )
        ids, lock = numbered(blocker)
        self.keys = _keys(recording, ids)
        start, end = (self._inside(each) for each in (start, end))
        is_known = thread >= 0
        unassigned_ns = np.bincount(lock[~is_known], (end - start)[~is_known], len(ids))
        self.unassigned_ns: NDArray[np.float64] = unassigned_ns.astype(np.float64)
        thread, lock, start, end = (each[is_known] for each in (thread, lock, start, end))
        first, self._end = _merged(thread * max(1, len(ids)) + lock, start, end)
        self._threads, self._thread = numbered(thread[first])
        self._lock, self._start = lock[first], start[first]

    def _inside(self, ns: Ints) -> Ints:
        """Return moments as ns since the window's start; one before the window becomes its start, one after it its end."""
        inside: Ints = np.clip(ns, self._begin_ns, self._end_ns) - self._begin_ns
        return inside

    def parts(self, each: Slices, is_counted: NDArray[np.bool_]) -> tuple[Slices, Ints, Ints]:
        """Return the slices that have a part in a hold, once for each lock, with the lock and how much lies in its holds, ns."""
        places = np.flatnonzero(is_counted & np.isin(each.thread_id, self._threads))
        if not len(places):
            return each.at(places), places, places
        begin, end = each.start_ns[places], each.start_ns[places] + each.running_ns[places]
        begin, end = (self._inside(ns) for ns in (begin, end))
        thread = np.searchsorted(self._threads, each.thread_id[places])
        running = intervals(len(self._threads), thread, begin, end, places)
        hold, begin, end, place = running.over(self._thread, self._start, self._end)
        hold, inside, place = (of[place >= 0] for of in (hold, end - begin, place))
        pair, which = numbered(place * max(1, len(self.keys)) + self._lock[hold])
        total = np.bincount(which, inside, len(pair)).astype(np.int64)
        return each.at(pair // max(1, len(self.keys))), pair % max(1, len(self.keys)), total


def _merged(group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Merge holds of one group that overlap, sorted by group and start; return the first hold of each, and when the last ends."""
    if not len(group):
        return np.zeros(0, np.int64), end
    groups, number = numbered(group)
    scale = Scale.of(np.concatenate((start, end)), len(groups))
    until = np.maximum.accumulate(scale.place(number, end))
    first = np.flatnonzero(np.concatenate(([True], scale.place(number, start)[1:] > until[:-1])))
    return first, np.maximum.reduceat(end, first)


def _keys(recording: Recording, ids: Ints) -> list[Mapping[str, str | int]]:
    rows = recording.query("SELECT blocker_id, pid, class_name, identity_hash FROM blocker").fetchall()
    known = {blocker: (pid, name or "", code or 0) for blocker, pid, name, code in rows}
    keys: list[Mapping[str, str | int]] = []
    for blocker in ids.tolist():
        pid, name, code = known.get(blocker, (-1, "", 0))
        keys.append({"name": display(name, code), "pid": pid, "class_name": name, "identity_hash": code})
    return keys
