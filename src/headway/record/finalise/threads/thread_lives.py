"""Finds which thread had a number at a time: the kernel gives numbers of ended threads out again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headway.record.finalise.threads.thread_table import BIRTH_SLACK_NS, RecordedThreads

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOREVER = 1 << 62
"""The end of a thread that was not seen to end."""


class ThreadLives:
    """The threads of one process, by which of them had a number at a time.

    `ids` are their thread_ids and `end_ns` their ends, or FOREVER; both have -1 as their last, for no thread.
    """

    def __init__(self, threads: RecordedThreads, pid: int) -> None:
        """Take the threads of a process from all those that are on record."""
        rows = sorted((threads.rows[i].ns_tid, threads.rows[i].start_ns, i) for i in threads.of_process(pid))
        self._tid, self._start_ns, ids = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        ends = [threads.rows[i].end_ns for i in ids.tolist()]
        self.ids = np.append(ids, -1)
        self.end_ns = np.array([*(FOREVER if each is None else each for each in ends), -1], dtype=np.int64)

    def at(self, tids: Any, ns: Any) -> NDArray[np.int64]:
        """Return for each (tids, ns), sorted, the place of the thread that had the number then; -1: none.

        A number may be used again: it is the last thread with it that had begun by then, unless that one had ended.
        """
        last = last_before(self._tid, self._start_ns - BIRTH_SLACK_NS, tids, ns)
        fits = (last >= 0) & (np.append(self._tid, -1)[last] == tids) & (ns <= self.end_ns[last] + BIRTH_SLACK_NS)
        return np.where(fits, last, -1)


def last_before(tid: NDArray[np.int64], start: NDArray[np.int64], tids: Any, ns: Any) -> NDArray[np.int64]:
    """Return for each (tids, ns), sorted, the last index of the sorted (tid, start) that is not after it; -1: none."""
    both_tid, both_ns = np.concatenate([tid, tids]), np.concatenate([start, ns])
    is_query = np.arange(len(both_tid)) >= len(tid)
    order = np.lexsort((is_query, both_ns, both_tid))
    seen = np.cumsum(~is_query[order]) - 1
    return np.asarray(seen[is_query[order]], dtype=np.int64)
