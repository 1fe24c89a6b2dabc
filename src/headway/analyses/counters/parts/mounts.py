"""Which parts of carriers' slices are those of virtual threads: from each mount to the unmount.

Question   what each virtual thread counted, and what is left to the carriers, which look for the next one to run.
Method     a slice of a carrier is cut where the JVM told of a mount or an unmount. One that lies within one mount is the virtual
           thread's as a whole; of one that reaches over such a border the counts are divided by time, with bounds (sums.py).
Assumes    the JVM's clock and the kernel's are one, as in all of a recording.
Wrong when a program has so many virtual threads that the spool of its JVM was full: what is not told of stays with the carriers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct, numbered
from headway.analyses.common.intervals import reached
from headway.analyses.counters.parts.time_windows import parts_of
from headway.model.names import virtual_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.counters.parts.slices import Slices
    from headway.store import Recording

    Ints = NDArray[np.int64]

MOST_VIRTUAL = 10_000
"""So many virtual threads have rows of their own: those that were mounted for longest."""
VIRTUAL = "virtual"
"""What their rows have in place of a kind of threads."""
_OTHERS = "(other virtual threads)"
_MOUNTS = """
    SELECT pid, thread_id, java_id, start_ns, start_ns + dur_ns AS end_ns FROM mount
    WHERE start_ns < {end} AND start_ns + dur_ns > {begin} ORDER BY thread_id, start_ns
"""


class Mounts:
    """The mounts of a window (CLOCK_MONOTONIC ns). `keys`: of the virtual threads, in the order of their numbers."""

    def __init__(self, recording: Recording, begin_ns: int, end_ns: int) -> None:
        """Read them. A recording without the table has none."""
        self.keys: list[Mapping[str, str | int]] = []
        self._path = recording.path
        self._thread = self._start = self._end = self._virtual_thread = np.zeros(0, np.int64)
        if not recording.has("mount"):
            return
        rows = recording.query(_MOUNTS.format(begin=begin_ns, end=end_ns)).fetchnumpy()
        pid, self._thread, java_id, start, end = (
            np.ma.getdata(rows[name]).astype(np.int64) for name in ("pid", "thread_id", "java_id", "start_ns", "end_ns")
        )
        self._start = np.maximum(start, begin_ns)
        # A carrier has one at a time: in a recording that says otherwise, the next one ends the one before.
        is_last = np.diff(self._thread, append=-1) != 0
        self._end = np.minimum(end, np.where(is_last, end_ns, np.minimum(end_ns, np.roll(self._start, -1))))
        self._virtual_thread = self._numbered(pid, java_id)

    def __len__(self) -> int:
        """Return how many mounts there are."""
        return len(self._start)

    def _numbered(self, pid: Ints, java_id: Ints) -> Ints:
        """Return the number of each mount's virtual thread, the longest mounted first, and make their keys."""
        pids, process = numbered(pid)
        ids, place = numbered(java_id)
        both, who = numbered(process * len(ids) + place)
        mounted_ns = np.bincount(who, np.maximum(self._end - self._start, 0), len(both))
        order = np.lexsort((both, -mounted_ns))
        number = np.empty(len(both), np.int64)
        number[order] = np.arange(len(both))
        for one in both[order[:MOST_VIRTUAL]].tolist():
            java = int(ids[one % len(ids)])
            self.keys.append(_key(int(pids[one // len(ids)]), virtual_name(java), java))
        if len(both) > MOST_VIRTUAL:
            self.keys += [_key(of, _OTHERS, -1) for of in pids.tolist()]
            number = np.where(number < MOST_VIRTUAL, number, MOST_VIRTUAL + both // len(ids))
        return number[who]

    def parts(self, each: Slices, is_counted: NDArray[np.bool_], inside_ns: Ints) -> list[tuple[Slices, Ints, Ints]]:
        """Return the parts of carriers' slices of each virtual thread: slices, index of its key (-1: nobody's), and ns.

        `inside_ns`: how much of each slice lies in the window. Raises HeadwayError HW323 as `parts_of`.
        """
        left_ns = np.where(is_counted, inside_ns, 0)
        places = np.flatnonzero(is_counted)
        places = places[np.argsort(each.thread_id[places], kind="stable")]
        begin = each.start_ns[places]
        end = begin + each.running_ns[places]
        first, count = self._reached(each.thread_id[places], begin, end)
        which, mount = parts_of(first, count, len(self), self._path)
        inside = np.minimum(end[which], self._end[mount]) - np.maximum(begin[which], self._start[mount])
        keys = max(1, len(self.keys))
        pair, number = numbered(places[which] * keys + self._virtual_thread[mount])
        total = np.bincount(number, inside, len(pair)).astype(np.int64)
        np.subtract.at(left_ns, pair // keys, total)
        return [(each.at(pair // keys), pair % keys, total), (each, np.full(len(left_ns), -1, np.int64), left_ns)]

    def _reached(self, thread: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return the first mount of its carrier that each slice overlaps, and how many it does; slices are in order of thread."""
        first, count = np.zeros((2, len(thread)), np.int64)
        carriers = distinct(self._thread)
        borders = (np.searchsorted(of, carriers, side) for of in (thread, self._thread) for side in ("left", "right"))
        for low, high, begins, ends in np.stack([*borders], axis=1).tolist():
            if low < high:
                rows = slice(low, high)
                at, count[rows] = reached(self._start[begins:ends], self._end[begins:ends], begin[rows], end[rows])
                first[rows] = at + begins
        return first, count


def _key(pid: int, name: str, java_id: int) -> Mapping[str, str | int]:
    return {"pid": pid, "tid": -1, "name": name, "kind": VIRTUAL, "java_id": java_id}
