"""Tracks the CPUs that the program may run on, by polling affinities and cpusets while it is recorded.

What a program is started with need not be what it works with: `taskset`, `numactl` or the shell that puts it in a cpuset have
their say first, and both may change while it runs. A program may use a CPU if one of its threads may.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from headway.record.target_process.processes import tree

MOST_OF_A_CPU = 0.01
"""Looking through all processes of a large machine takes a while: it is done so rarely that it takes no more than this."""

Seen = tuple[int, frozenset[int]]
"""From when on (ns, CLOCK_MONOTONIC) the program was seen to have these CPUs."""


@dataclass(slots=True)
class _EqualLooks:
    """Consecutive polls with the same result: the first and the last of them."""

    first_ns: int
    last_ns: int
    cpus: frozenset[int]


@dataclass(slots=True)
class AllowedCpus:
    """The CPUs that process `pid` and its descendants may use, the recorder itself left out."""

    pid: int
    _runs: list[_EqualLooks] = field(default_factory=list)
    _next_ns: int = 0
    _is_cold: bool = True

    def look(self) -> None:
        """Poll now, unless the last poll, not being the first, took so much CPU time that it would be too soon."""
        began_ns, cpu_ns = time.monotonic_ns(), time.thread_time_ns()
        if began_ns < self._next_ns:
            return
        try:
            cpus = self._now()
        except OSError:  # /proc hides processes of others: nothing is known
            cpus = frozenset()
        if cpus and self._runs and self._runs[-1].cpus == cpus:
            self._runs[-1].last_ns = began_ns
        elif cpus:
            self._runs.append(_EqualLooks(began_ns, began_ns, cpus))
        # The first poll of all runs cold, and its result counts for little once the program proper begins.
        if not self._is_cold:
            self._next_ns = began_ns + round((time.thread_time_ns() - cpu_ns) / MOST_OF_A_CPU)
        self._is_cold = False

    def since(self, ns: int) -> list[Seen]:
        """Return the allowed CPUs over time, by the polls from `ns` on; by the last one where there is none."""
        runs = [run for run in self._runs if run.last_ns >= ns] or self._runs[-1:]
        return [(max(run.first_ns, ns), run.cpus) for run in runs]

    def _now(self) -> frozenset[int]:
        pids = tree(self.pid)
        if os.getpid() in pids:  # a shell that records itself
            own = set(tree(os.getpid()))
            pids = [pid for pid in pids if pid not in own]
        first = _union(pids)
        if self._runs and first == self._runs[-1].cpus:
            return first
        # A process's first thread may have been narrowed by itself: in a JVM it only waits.
        return first | _union(tid for pid in pids for tid in _threads(pid))


def _union(tids: Iterable[int]) -> frozenset[int]:
    """Return the CPUs on which any of these threads may run."""
    found: set[int] = set()
    for tid in tids:
        try:
            found |= os.sched_getaffinity(tid)
        except OSError:  # it has ended
            continue
    return frozenset(found)


def _threads(pid: int) -> list[int]:
    try:
        return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
