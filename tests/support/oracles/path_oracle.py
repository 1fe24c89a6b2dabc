"""Oracle for the critical path: its definition evaluated moment by moment, independent of the native walk.

What a thread t was waited for in (low, high] is: where it ran or was ready to run, itself; a block of its own that some thread w
ended, at whose end we are: what w was waited for during that block; any other block: itself. No thread is come to twice at
one instant, and none that waits itself. Where a thread of the VM was woken by one of the program, the path is from there
on what that one was waited for: nobody waited for what the VM's thread did before it was asked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

HANDLER_NS = 2_000_000
RUNNING, RUNNABLE, INTERRUPTED, UNKNOWN, OUTSIDE, CUT, STARTING, NO_RECORD = range(8)
OTHER, VM, PROGRAM = range(3)


class Cycle(NamedTuple):
    """One row of `slice`: blocked from `begin` to `woken`, runnable to `start`, running to `end`."""

    begin: int
    woken: int
    start: int
    end: int
    waker: int = -1
    irq: bool = False


class JvmWait(NamedTuple):
    """One row of `block`; `waking` None: when the wait ended."""

    start: int
    end: int
    waker: int = -1
    waking: int | None = None


@dataclass
class FakeLife:
    """The life of a thread: when it began and ended, and who started it."""

    birth: int
    parent: int
    cycles: Sequence[Cycle]
    waits: Sequence[JvmWait] = field(default_factory=list)


Moment = tuple[int, int]
"""(thread, what it did) during one ns."""


def _ended(cycles: Sequence[Cycle], samplers: Collection[int]) -> list[Cycle]:
    """Return cycles whose waker is who ended the block, where a sampler's signal only cut it in two."""
    found: list[Cycle] = []
    for cycle in reversed(cycles):
        after = found[-1] if found else None
        is_cut = cycle.waker in samplers and not cycle.irq and cycle.end - cycle.start <= HANDLER_NS
        if is_cut and after is not None and after.begin == cycle.end and after.woken > after.begin:
            cycle = cycle._replace(waker=after.waker, irq=after.irq)
        found.append(cycle)
    return found[::-1]


class Oracle:
    """Computes paths over some threads."""

    def __init__(self, lives: Sequence[FakeLife], samplers: Collection[int] = (), roles: Sequence[int] = ()) -> None:
        self.lives = [replace(life, cycles=_ended(life.cycles, samplers)) for life in lives]
        self.roles = roles or [OTHER] * len(lives)
        self.waiting: list[int] = []
        self.seen: set[tuple[int, int]] = set()

    def path(self, thread: int, low: int, high: int) -> list[Moment]:
        """Return the critical path of a window, for each ns from its end backwards the thread and what it does."""
        found: list[Moment] = []
        now = high
        while now > low:
            part, thread = self._back(thread, low, now)
            found += part
            now -= len(part)
        return found

    def _back(self, thread: int, low: int, now: int) -> tuple[list[Moment], int]:
        """One stretch back from now, and where it goes on."""
        life = self.lives[thread]
        cycle = next((each for each in life.cycles if each.begin < now <= each.end), None)
        if cycle is None:
            return self._without_record(thread, low, now)
        if now > cycle.start:
            return [(thread, RUNNING)] * (now - max(cycle.start, low)), thread
        if now > cycle.woken:
            return [(thread, RUNNABLE)] * (now - max(cycle.woken, low)), thread
        first = max(cycle.begin, low)
        if now == cycle.woken:
            waker, waking = self._ended_by(life, cycle)
            if self._may_go_to(waker, waking, thread):
                ready = [(thread, RUNNABLE)] * (now - max(waking, first))
                if (self.roles[thread], self.roles[waker]) == (VM, PROGRAM) and waking > first:
                    self.seen |= {(thread, waking), (waker, waking)}
                    return ready, waker
                return ready + self._meanwhile(thread, waker, first, waking), thread
        state = INTERRUPTED if cycle.irq else OUTSIDE if cycle.waker == -2 else CUT if now < cycle.woken else UNKNOWN
        return [(thread, state)] * (now - first), thread

    def _meanwhile(self, thread: int, waker: int, low: int, high: int) -> list[Moment]:
        if high <= low:
            return []
        self.seen |= {(thread, high), (waker, high)}
        self.waiting.append(thread)
        found = self.path(waker, low, high)
        self.waiting.pop()
        self.seen.add((thread, low))
        return found

    def _ended_by(self, life: FakeLife, cycle: Cycle) -> tuple[int, int]:
        if cycle.irq or cycle.waker == -2:
            return -1, cycle.woken
        if cycle.waker >= 0:
            return cycle.waker, cycle.woken
        inside = [wait for wait in life.waits if wait.start < cycle.woken and wait.end > cycle.begin]
        if not inside:
            return -1, cycle.woken
        waking = cycle.woken if inside[-1].waking is None else inside[-1].waking
        if not cycle.begin < waking <= cycle.woken:
            return -1, cycle.woken
        return inside[-1].waker, waking

    def _may_go_to(self, to: int, at: int, thread: int) -> bool:
        known = 0 <= to < len(self.lives) and to != thread and to not in self.waiting
        return known and (to, at) not in self.seen and self.lives[to].birth < at

    def _without_record(self, thread: int, low: int, now: int) -> tuple[list[Moment], int]:
        life = self.lives[thread]
        if now <= life.birth:
            if self._may_go_to(life.parent, now, thread):
                self.seen |= {(thread, now), (life.parent, now)}
                return [], life.parent
            if not self.waiting:
                return [(thread, NO_RECORD)] * (now - low), thread
            return [(self.waiting[-1], CUT)] * (now - low), thread
        floor = max(low, life.birth)
        before = max((each.end for each in life.cycles if each.end < now), default=floor)
        state = STARTING if before <= floor == life.birth else NO_RECORD
        return [(thread, state)] * (now - max(before, floor)), thread
