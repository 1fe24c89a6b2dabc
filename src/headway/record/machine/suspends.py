"""Whether the machine slept while it was recorded: CLOCK_MONOTONIC, of which all times are, stands still then.

CLOCK_BOOTTIME goes on, so the difference of both grows by the time that the machine was suspended.
"""

from __future__ import annotations

import time
from pathlib import Path

from headway.errors import Notice

_TRIES = 3
_LEAST_NS = 1_000_000


def slept_ns() -> tuple[int, int]:
    """Return how long the machine has slept since it was booted: the least and the most, as clocks are read one by one."""
    return min((_once() for _ in range(_TRIES)), key=lambda ends: ends[1] - ends[0])


def _once() -> tuple[int, int]:
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return boot - time.clock_gettime_ns(time.CLOCK_MONOTONIC), boot - before


def suspend_notices(before: tuple[int, int], path: Path) -> list[Notice]:
    """Return the message HW122 where the machine has certainly slept since `slept_ns` returned `before`; else none."""
    asleep_ns = slept_ns()[0] - before[1]
    if asleep_ns < _LEAST_NS:
        return []
    return [Notice.of("HW122", path=path, time=f"{asleep_ns / 1e9:.3g} s")]
