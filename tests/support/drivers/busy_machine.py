"""How far other programs disturbed a measurement, by the kernel's counts; programs that run ahead of others."""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

Measured = TypeVar("Measured")

TRIES = 3
"""Something is measured so often at most, until others disturbed it no more than QUIET."""
QUIET = 0.1
BESIDE = 0.1
"""Others have no more than this part of what they have from programs that run ahead of them: two threads that compute for a
second on two CPUs took 1.04 and 1.07 s beside a load of 8, which made them take 9.4 s where they did not run ahead.
"""
_TICKS_A_SECOND = 100


def raise_priority() -> None:
    """Let what is started run before all else on the machine: then others have the cores that it leaves, and no more.

    Called in the child, in a session of its own: where the kernel groups processes by session, the group's priority counts.
    Without the right to, it runs as others do.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        Path("/proc/self/autogroup").write_text("-20")


AHEAD: dict[str, Any] = {"start_new_session": True, "preexec_fn": raise_priority}
"""Options of subprocess for what runs ahead of others."""


@functools.cache
def runs_ahead() -> bool:
    """Return whether what is started with AHEAD may run ahead of others."""
    shown = subprocess.run(["nice"], capture_output=True, text=True, check=True, **AHEAD).stdout
    return int(shown) == -20


@dataclass(frozen=True)
class _Counts:
    """Seconds since some time: real ones, those that CPUs were busy and the host had, and those of ended children."""

    wall: float
    busy: float
    stolen: float
    children: float

    @classmethod
    def now(cls) -> Self:
        first = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _, _, irq, soft_irq, stolen = (int(word) / _TICKS_A_SECOND for word in first[:8])
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), user + nice + system + irq + soft_irq, stolen, used.ru_utime + used.ru_stime)


def _cpus() -> int:
    return sum(line[:3] == "cpu" and line[3].isdigit() for line in Path("/proc/stat").read_text().splitlines())


def disturbed(measure: Callable[[], Measured]) -> tuple[Measured, float]:
    """Measure something that child processes do, and return by which part of the time others delayed it at most.

    That is what the host had of the CPUs, and what others had of them that the children could not run ahead of, in as much
    of the time as the children wanted a CPU: who sleeps is not delayed.
    """
    before = _Counts.now()
    found = measure()
    after = _Counts.now()
    wall, children = after.wall - before.wall, after.children - before.children
    others = max(0.0, after.busy - before.busy - children) * (BESIDE if runs_ahead() else 1.0)
    others += after.stolen - before.stolen
    return found, min(1.0, others / (wall * _cpus())) * min(1.0, children / wall)


def quietly(measure: Callable[[Path], Measured], folder: Path) -> Measured:
    """Measure in a folder of its own, again where others disturbed it: the quietest one counts."""
    found: list[tuple[Measured, float]] = []
    while len(found) < TRIES and (not found or min(part for _, part in found) > QUIET):
        own = folder / str(len(found))
        own.mkdir()
        found.append(disturbed(lambda own=own: measure(own)))  # type: ignore[misc]
    return min(found, key=lambda each: each[1])[0]
