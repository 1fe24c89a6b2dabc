"""Finds the collections that a JVM's VM thread does itself: in GC pauses, alone with Serial GC, else with the GC's threads.

That time is garbage collection, whatever kind the thread is of: `Decoder.begin` counts it so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.model import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.record.finalise.threads.thread_table import RecordedThreads

    Spans = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]

VM_THREAD = "VM Thread"
_PAUSE = 1
"""The agent's number for a pause of the collector (finalise._PHASES)."""


def spans(threads: RecordedThreads, agents: Sequence[Mapping[str, Any]]) -> Spans:
    """Return thread_id, start and end of the pauses of each JVM's VM thread; those of one JVM do not overlap."""
    import numpy as np

    of_pid = {
        row.pid: number
        for number, row in enumerate(threads.rows)
        if row.kind is Kind.VM and row.java is None and row.comm == VM_THREAD
    }
    rows: list[tuple[int, int, int]] = []
    for number, agent in enumerate(agents):
        thread = of_pid.get(threads.pid_of_agent[number])
        if thread is None:
            continue
        reached = 0
        for start, end in sorted((start, end) for start, end, kind, _ in agent["phases"] if kind == _PAUSE):
            rows.append((thread, max(start, reached), end))
            reached = max(reached, end)
    kept = [row for row in rows if row[1] < row[2]]
    thread_ids, begins, ends = zip(*kept, strict=True) if kept else ((), (), ())
    return np.array(thread_ids, np.int32), np.array(begins, np.int64), np.array(ends, np.int64)
