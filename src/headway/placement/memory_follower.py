"""Moves the memory of a program after its threads, once these have stayed on a placement, a bit at a time.

Not while placements are compared: memory that is moved to and fro costs more than it can gain. And not while the kernel balances
nodes itself: it moves memory after the threads as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headway.analyses.placement.types import ALL, ONE, Placement
from headway.placement.moved_memory import MemoryMoved
from headway.placement.mover import MEMORY_BACK, MEMORY_HOME, Mover

AFTER_S = 5.0
"""So long threads have to have stayed where they are."""
MOST_OF_TIME = 0.05
"""Part of the time in which memory is moved: a thread that uses a page waits while it is copied."""
_IDLE_S, _LEAST_WAIT_S = 1.0, 0.01


@dataclass(slots=True)
class MemoryFollower:
    """What was moved, and where to: `goal` is ALL while memory is where the program had it, or is put back there."""

    mover: Mover
    home: str
    emit: Callable[[str, dict[str, Any]], None]
    goal: Placement = ALL
    is_under_way: bool = False
    moved_bytes: int = 0
    refused_bytes: int = 0
    used_s: float = 0.0
    _began_s: float = 0.0
    _next_s: float = 0.0

    def wait_s(self) -> float:
        """Return how long to wait before the next `follow`."""
        return max(_LEAST_WAIT_S, self._next_s - time.monotonic()) if self.is_under_way else _IDLE_S

    def follow(self, placement: Placement, since_s: float) -> None:
        """Move some memory where threads have been on a placement since then. Raises MoverEnded."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        if now_s - since_s < AFTER_S:
            self._next_s = since_s + AFTER_S
            return
        if placement != self.goal:
            self.goal, self.is_under_way, self._began_s = placement, True, now_s
            self.moved_bytes, self.refused_bytes, self.used_s = 0, 0, 0.0
        if not self.is_under_way:
            return
        found = self.mover.ask_memory(MEMORY_HOME if placement == ONE else MEMORY_BACK)
        self.moved_bytes += found.moved_bytes
        self.refused_bytes += found.refused_bytes
        self.used_s += self.mover.used_s
        self._next_s = now_s + self.mover.used_s / MOST_OF_TIME
        if found.is_done:
            self.is_under_way = False
            self._tell(found)

    def _tell(self, found: MemoryMoved) -> None:
        seconds = time.monotonic() - self._began_s
        is_home = self.goal == ONE
        text = f"{_mib(self.moved_bytes)} of memory {f'moved to {self.home}' if is_home else 'put back'}"
        text += f" in {seconds:.1f} s, {self.used_s:.2f} s of it by moving"
        text += f"; {_mib(self.refused_bytes)} could not be moved" if self.refused_bytes else ""
        text += f"; ended: {found.reason}" if found.reason else ""
        facts: dict[str, Any] = {
            "placement": self.goal,
            "memory_moved_bytes": self.moved_bytes,
            "memory_refused_bytes": self.refused_bytes,
            "memory_away_bytes": found.away_bytes,
            "seconds": seconds,
            "used_s": self.used_s,
        }
        self.emit(text, facts | ({"why": found.reason} if found.reason else {}))


def end_of_memory(left: MemoryMoved | None) -> tuple[str, dict[str, Any]]:
    """Return what to say at the end of memory that was moved, in words and by name."""
    if left is None:
        return "", {}
    facts = {"memory_put_back_bytes": left.moved_bytes, "memory_left_bytes": left.away_bytes}
    text = f"; {_mib(left.moved_bytes)} of memory put back" if left.moved_bytes else ""
    stays = facts["memory_left_bytes"]
    return text + (f"; {_mib(stays)} of memory stay where they were moved" if stays else ""), facts


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB"
