"""How far others disturbed what was measured, by the kernel's counts, and runs that are compared in pairs."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import pytest

Measured = TypeVar("Measured")

TRIES = 3
"""Something is measured so often at most, until others disturbed it no more than QUIET."""
QUIET = 0.1
MOST_APART = 1.3
"""Where the times of two runs allow gains that are more than so many times apart, nothing is compared with them."""
OFF = 0.2
"""By this part a gain may be less or more than the times allow: runs differ, and a program without the cause is another one."""
GAINS = Path(__file__).resolve().parents[3] / "build" / "logs" / "gains.jsonl"
"""A row for each gain that was compared: scripts/run_checks.py counts those that the machine was too busy for."""
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


@dataclass(frozen=True)
class Pair(Generic[Measured]):
    """A recorded run, how long the program took right after that without a cause, and how far others disturbed both."""

    measured: Measured
    without_ns: int
    disturbed: float
    without_disturbed: float

    @property
    def apart(self) -> float:
        """Return how many times apart the least and the largest gain are that the times allow."""
        return 1 / max((1 - self.disturbed) * (1 - self.without_disturbed), 1e-9)

    def gained(self, of: dict[str, Any], wall_ns: int) -> tuple[float, float]:
        """Return how many times as fast a recorded program is whose part of `wall_ns` goes as it does without the cause: at least
        and at most; 1 where that is slower, which is no gain.
        """
        rest_ns = of["wall_ns"] - wall_ns
        least = of["wall_ns"] * (1 - self.disturbed) / (rest_ns + self.without_ns)
        most = of["wall_ns"] / (rest_ns + self.without_ns * (1 - self.without_disturbed))
        return max(1.0, least), max(1.0, most)

    def compare(self, likely: float, of: dict[str, Any], wall_ns: int) -> None:
        """Check the gain that headway calls likely, and keep what was compared in GAINS. Where others disturbed all tries too
        much for that to tell anything, the test counts as skipped, unless even that is impossible.
        """
        least, most = self.gained(of, wall_ns)
        tells = self.apart <= MOST_APART
        row = {"test": os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0], "tells": tells, "likely": likely}
        row |= {"least": least, "most": most}
        row |= {"disturbed": self.disturbed, "without_disturbed": self.without_disturbed}
        GAINS.parent.mkdir(parents=True, exist_ok=True)
        with GAINS.open("a") as kept:
            kept.write(json.dumps(row) + "\n")
        assert least * (1 - OFF) < likely < most * (1 + OFF), row
        if not tells:
            parts = f"{self.disturbed:.0%} of the recorded run and {self.without_disturbed:.0%} of the other one"
            pytest.skip(f"others may have delayed {parts} in the quietest of {TRIES} tries: a gain can't be measured")


def pairs(measure: Callable[[Path], Measured], without: Callable[[Path], int], folder: Path) -> Pair[Measured]:
    """Measure a program and, right after that, the same without a cause; again where others disturbed them."""
    found: list[Pair[Measured]] = []
    while len(found) < TRIES and (not found or min(each.apart for each in found) > 1 / (1 - QUIET)):
        own = folder / str(len(found))
        own.mkdir()
        measured, part = disturbed(lambda own=own: measure(own))  # type: ignore[misc]
        without_ns, other = disturbed(lambda own=own: without(own))  # type: ignore[misc]
        found.append(Pair(measured, without_ns, part, other))
    return min(found, key=lambda each: each.apart)
