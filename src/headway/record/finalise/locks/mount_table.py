"""The table `mount`: when carriers had which virtual threads, as the agents of JVMs tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.record.finalise.threads.thread_lives import FOREVER, ThreadLives
from headway.record.finalise.threads.thread_table import RecordedThreads

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def mount_rows(threads: RecordedThreads, agents: Sequence[Mapping[str, Any]], window: tuple[int, int]) -> pa.Table:
    """Return the rows of all JVMs that lie in the recorded window, cut at its borders and at the ends of carriers."""
    import pyarrow as pa

    parts = [_of_agent(threads, threads.pid_of_agent[number], agent, window) for number, agent in enumerate(agents)]
    nothing = np.zeros((0, 5), np.int64)
    pid, thread, java_id, start, length = np.concatenate([nothing, *parts]).T
    order = np.lexsort((start, thread))
    return pa.table(
        {
            "pid": pid[order].astype(np.int32),
            "thread_id": thread[order].astype(np.int32),
            "java_id": java_id[order],
            "start_ns": start[order],
            "dur_ns": length[order],
        }
    )


def _of_agent(threads: RecordedThreads, pid: int, agent: Mapping[str, Any], window: tuple[int, int]) -> Ints:
    """Return the rows of one JVM, in no order."""
    tid, java_id, start, end = (
        np.asarray(agent["mounts"][name]).astype(np.int64) for name in ("tid", "java_id", "start_ns", "end_ns")
    )
    order = np.lexsort((start, tid))
    tid, java_id, start, end = tid[order], java_id[order], start[order], end[order]
    lives = ThreadLives(threads, pid)
    at = lives.at(tid, start)
    begin = np.maximum(start, window[0])
    until = np.minimum(np.where(end < 0, FOREVER, end), np.minimum(lives.end_ns[at], window[1]))
    known = (at >= 0) & (until > begin)
    columns = (np.full(len(tid), pid), lives.ids[at], java_id, begin, until - begin)
    return np.stack([each[known] for each in columns], axis=1)
