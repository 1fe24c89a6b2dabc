"""Loads the threads of a recording as the critical path needs them: when each lived, its process, and who started it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import places_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PathThreadTable:
    """The threads by thread_id, as the walk needs them. Times are CLOCK_MONOTONIC ns."""

    pid: Ints
    tid: Ints
    birth_ns: Ints
    end_ns: Ints
    parent: Ints
    names: list[str]
    kinds: list[str]

    def __len__(self) -> int:
        """Return the number of thread ids."""
        return len(self.pid)

    @cached_property
    def by_process(self) -> dict[int, Ints]:
        """Return the threads of each process, in order: there may be as many processes as threads."""
        return dict(places_of(self.pid))


def load_threads(recording: Recording) -> PathThreadTable:
    """Load all threads, and which thread started each."""
    rows = recording.query(
        "SELECT thread_id, pid, tid, start_ns, end_ns, name, kind, parent_tid FROM thread ORDER BY thread_id"
    ).fetchall()
    size = max((row[0] for row in rows), default=-1) + 1
    pid, tid, birth = (np.zeros(size, np.int64) for _ in range(3))
    end = np.full(size, np.iinfo(np.int64).max)
    parent = np.full(size, -1)
    names, kinds = [""] * size, ["app"] * size
    lives: dict[int, list[tuple[int, int]]] = {}
    for thread, its_pid, its_tid, start, ended, name, kind, _ in rows:
        pid[thread], tid[thread], birth[thread], names[thread], kinds[thread] = its_pid, its_tid, start, name, kind
        end[thread] = ended if ended is not None else end[thread]
        lives.setdefault(its_tid, []).append((start, thread))
    for each in lives.values():
        each.sort()
    for thread, *_, parent_tid in rows:
        each = lives.get(parent_tid, [])
        at = bisect_right(each, (int(birth[thread]), -1)) - 1  # who had that tid when it was born
        if at >= 0:
            parent[thread] = each[at][1]
    return PathThreadTable(pid, tid, birth, end, parent, names, kinds)
