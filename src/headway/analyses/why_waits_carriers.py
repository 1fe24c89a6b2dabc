"""When did virtual threads that could go on wait for a carrier?

Method     a virtual thread that is unparked may go on; until its park returns it has no carrier, or is being put on one. How many
           carriers of its JVM are free at each moment: those that the kernel says are blocked, less those that a pinned virtual
           thread keeps in its park. Where none is free, it waits for a carrier; else for the scheduler to bring both together,
           which is short and not told here.
Assumes    a carrier that blocks has no work, or is pinned in a park. One that blocks in a system call counts as free.
Wrong when virtual threads are started or give way: what waits for a carrier then leaves no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.activity import has_scheduling
from headway.analyses.lock_arrays import numbered
from headway.analyses.lock_data import whole
from headway.analyses.why_spans import timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData

    Ints = NDArray[np.int64]


def without_carrier(data: LockData, block: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the parts (block, start, end) of spans of unparked virtual threads during which no carrier was free."""
    if not len(block) or not has_scheduling(data.recording) or not data.recording.has("slice"):
        none = np.zeros(0, dtype=np.int64)
        return none, none, none
    rows = data.recording.query("SELECT DISTINCT pid FROM thread WHERE kind = 'carrier'").fetchall()
    jvm = data.blockers.pid[data.blocks.blocker[block]]
    has_carriers = np.isin(jvm, [row[0] for row in rows])
    block, start, end = block[has_carriers], start[has_carriers], end[has_carriers]
    if not len(block):
        return block, start, end
    pids, group = numbered(jvm[has_carriers])
    jvm, time, change = (np.concatenate(each) for each in zip(_idle(data), _pinned(data), strict=True))
    at = np.searchsorted(pids, jvm)
    known = pids[np.minimum(at, len(pids) - 1)] == jvm
    at, time, change = at[known], time[known], change[known]
    order = np.lexsort((time, at))
    level = np.cumsum(change[order])  # every begin has its end, so each JVM begins at nothing
    span, begin, until, free = timeline(len(pids), at[order], time[order], level).over(group, start, end)
    taken = free <= 0
    return block[span][taken], begin[taken], until[taken]


def _changes(jvm: Ints, start: Ints, end: Ints, each: int) -> tuple[Ints, Ints, Ints]:
    ones = np.full(len(jvm), each, dtype=np.int64)
    return np.concatenate([jvm, jvm]), np.concatenate([start, end]), np.concatenate([ones, -ones])


def _idle(data: LockData) -> tuple[Ints, Ints, Ints]:
    """Return when carriers block: (JVM, time, one more or one less)."""
    recording = data.recording
    found = recording.query(
        "SELECT CAST(t.pid AS BIGINT) AS pid, s.start_ns - COALESCE(s.runnable_ns, 0) AS woken, s.blocked_ns FROM slice s"
        " JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind = 'carrier' AND s.blocked_ns > 0"
    ).fetchnumpy()
    woken = whole(found["woken"]) - recording.window_ns[0]
    return _changes(whole(found["pid"]), woken - whole(found["blocked_ns"]), woken, 1)


def _pinned(data: LockData) -> tuple[Ints, Ints, Ints]:
    """Return when a virtual thread keeps a carrier in its park: (JVM, time, one less or one more)."""
    recording = data.recording
    found = recording.query(
        "SELECT CAST(pid AS BIGINT) AS pid, start_ns, COALESCE(waking_ns, start_ns + dur_ns) AS until FROM block"
        " WHERE is_virtual AND is_pinned AND dur_ns > 0"
    ).fetchnumpy()
    origin = recording.window_ns[0]
    start = whole(found["start_ns"]) - origin
    return _changes(whole(found["pid"]), start, np.maximum(whole(found["until"]) - origin, start), -1)
