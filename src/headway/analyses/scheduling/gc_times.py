"""Garbage collection by VM threads: when they collect, and how much CPU time that takes.

Question   with Serial GC the VM thread collects, with every collector it runs parts of the pauses: that is garbage collection,
           not work of the VM.
Method     its running time inside the pauses that the agent saw (table `jvm_phase`), exact to the nanosecond, without what the
           host stole, which is spread evenly over a running interval. The table `activity` has it as gc already, in recordings
           whose `thread.collecting_ns` is known; in older ones it is vm everywhere, so that parts and whole agree.
Wrong when pauses are not on record: no agent, or records of it were lost. Then it is time of the VM.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_COLLECTORS = "SELECT pid, max(thread_id) AS thread_id FROM thread WHERE collecting_ns > 0 GROUP BY pid"
"""The VM thread of each JVM: it has one, so that there are no more rows of pauses than pauses, whatever a recording says."""
_PAUSES = (
    f"SELECT t.thread_id, p.start_ns, p.start_ns + p.dur_ns AS end_ns FROM ({_COLLECTORS}) t"
    " JOIN jvm_phase p ON p.pid = t.pid WHERE p.kind = 'gc_pause' AND p.dur_ns > 0 ORDER BY t.thread_id, p.start_ns"
)
_RUNS = (
    "SELECT s.thread_id, s.start_ns, s.start_ns + s.running_ns AS end_ns, 1 - COALESCE(s.stolen_ns, 0) / s.running_ns AS rate"
    f" FROM slice s JOIN ({_COLLECTORS}) t USING (thread_id) WHERE s.running_ns > 0 ORDER BY s.thread_id, s.start_ns"
)


@dataclass(frozen=True, eq=False)
class CollectorTime:
    """Cumulative CPU time of VM threads on collections (ns from the recording's start), interpolated linearly."""

    ns: Floats
    executed_ns: Floats

    def between(self, edges: Ints) -> Ints:
        """Return the CPU time between each two consecutive edges; their sum is that between the first and the last."""
        if not len(self.ns):
            return np.zeros(max(0, len(edges) - 1), dtype=np.int64)
        so_far: Ints = np.rint(np.interp(edges.astype(np.float64), self.ns, self.executed_ns)).astype(np.int64)
        return so_far[1:] - so_far[:-1]


def pauses(recording: Recording) -> tuple[NDArray[np.int32], Ints, Ints]:
    """Return thread_id, start and end (CLOCK_MONOTONIC ns) of the pauses in which VM threads collect; pauses do not overlap."""
    found = recording.query(_PAUSES).fetchnumpy()
    thread, start, end = (np.ma.getdata(found[name]).astype(np.int64) for name in ("thread_id", "start_ns", "end_ns"))
    reached = _reached(thread, end)
    start = np.maximum(start, reached)
    keep = start < end
    return thread[keep].astype(np.int32), start[keep], end[keep]


def load(recording: Recording) -> CollectorTime:
    """Load the CPU time that a recording's VM threads spent on collections."""
    thread, begins, ends = pauses(recording)
    if not len(thread):
        return CollectorTime(np.zeros(0), np.zeros(0))
    runner, start, end, rate = _runs(recording)
    # What each thread runs and when it collects, as steps up and down; at one time those down come first.
    who = np.concatenate([runner, runner, thread, thread]).astype(np.int64)
    time = np.concatenate([end, start, ends, begins])
    zeros, ones = np.zeros(len(thread)), np.ones(len(thread), np.int64)
    speed = np.concatenate([-rate, rate, zeros, zeros])
    depth = np.concatenate([np.zeros(2 * len(runner), np.int64), -ones, ones])
    order = np.lexsort((np.concatenate([np.zeros(len(end)), np.ones(len(start)), zeros, ones]), time, who))
    who, time = who[order], time[order]
    executing = np.where(np.cumsum(depth[order]) > 0, np.cumsum(speed[order]), 0.0)[:-1]
    executing[who[1:] != who[:-1]] = 0.0
    use = np.flatnonzero((executing > 0) & (time[1:] > time[:-1]))
    return _summed(time[use] - recording.window_ns[0], time[use + 1] - recording.window_ns[0], executing[use])


def _reached(group: Ints, end: Ints) -> Ints:
    """Return how far the spans before each one of its group reach; rows are in order of group and start."""
    order = np.lexsort((end, group))
    place = np.empty(len(end), np.int64)
    place[order] = np.arange(len(end))
    before = end[order][np.maximum.accumulate(place)[:-1]] if len(end) else end
    is_first = np.append(True, group[1:] != group[:-1])[: len(end)]
    return np.where(is_first, 0, np.append(0, before)[: len(end)]).astype(np.int64)


def _runs(recording: Recording) -> tuple[Ints, Ints, Ints, Floats]:
    """Return when VM threads ran: thread_id, start, end, and the part of that time that the host did not steal."""
    found = recording.query(_RUNS).fetchnumpy()
    thread, start, end = (np.ma.getdata(found[name]).astype(np.int64) for name in ("thread_id", "start_ns", "end_ns"))
    following = np.append(start[1:], 0)  # a thread runs once at a time: where it is said otherwise, the next one counts
    is_last = np.append(thread[1:] != thread[:-1], True)
    end = np.where(is_last, end, np.minimum(end, following))
    return thread, start, end, np.ma.getdata(found["rate"]).astype(np.float64)


def _summed(start: Ints, end: Ints, speed: Floats) -> CollectorTime:
    """Return the time of several threads together, from the stretches in which each executes, with what part of a core."""
    if not len(start):
        return CollectorTime(np.zeros(1), np.zeros(1))
    time = np.concatenate([end, start])
    order = np.argsort(time, kind="stable")  # ends first, so that what touches adds up to no more than one of them
    time = time[order]
    together = np.cumsum(np.concatenate([-speed, speed])[order])[:-1]
    return CollectorTime(time.astype(np.float64), np.concatenate([[0.0], np.cumsum(np.diff(time) * together)]))


def as_gc(used_ns: Mapping[str, int], collected_ns: int) -> dict[str, int]:
    """Return the CPU time of each kind of thread, with what VM threads spent on collections moved to kind gc."""
    moved = max(0, min(collected_ns, used_ns.get("vm", 0)))
    return {**used_ns, "gc": used_ns["gc"] + moved, "vm": used_ns["vm"] - moved} if moved else dict(used_ns)
