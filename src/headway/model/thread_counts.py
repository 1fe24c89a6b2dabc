"""What the counters of a running program's threads have counted, as `headway counters --pid` reads it again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Totals = tuple[tuple[int, int, int], ...]
"""Of each event in the order of the groups: how often it was counted, and for how long it could be and was, ns."""


@dataclass(frozen=True, slots=True)
class ThreadCounts:
    """A thread at one moment. `totals`: since it is counted, None while it is not.

    `uncounted_ns`: for how long it ran, since somebody looks at the program, without being counted.
    """

    name: str
    kind: str
    totals: Totals | None
    uncounted_ns: int


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """The threads of a process at `now_ns` (CLOCK_MONOTONIC), those that ended since the reading before included.

    Threads are by number and start time, as the numbers of ended ones are given out again. `cpu_ns`: what the process had used,
    by the kernel's clock, before and after its threads were read, None where it has ended. `left_out`: so many threads are not
    counted, for the reason `why`.
    """

    pid: int
    now_ns: int
    cpu_ns: tuple[int, int] | None
    threads: Mapping[tuple[int, int], ThreadCounts]
    left_out: int = 0
    why: str = ""
