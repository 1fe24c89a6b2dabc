"""Simulates programs of phases with one cause of lost cores each, tick by tick; a cause's cost is known by playing without it.

In each phase threads are started and joined. Serial: one thread has all of the work. Lock: each thread works in pieces, a part of
each with the one lock held. Sleep: threads stand still between pieces of work. Uneven: the first one has more to do than the
others, and the join waits for it. Free cores go round to the threads that are ready; nobody else uses them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from headway.analyses.common import causes

CAUSES = (causes.SERIAL, causes.LOCK, causes.SLEEP, causes.IMBALANCE)


@dataclass(frozen=True)
class Phase:
    """`threads` threads with `pieces` times `work` ticks of work each, in all; of each piece `size` ticks are the cause's.

    With locks and sleeps two more threads, of no cause, come `late` ticks after the others, if at all, each with twice the
    work of one of them: one whose turn is before theirs, and one whose turn is behind.
    """

    cause: str
    threads: int
    pieces: int
    work: int
    size: int
    late: int = 0

    def parts(self, cores: int, removed: bool) -> list[list[tuple[str, int]]]:
        """Return each thread's actions in order as (what, ticks)."""
        total = self.threads * self.pieces * self.work
        even = [total // self.threads + (i < total % self.threads) for i in range(self.threads)]
        if self.cause == causes.SERIAL:
            spread = [total // cores + (i < total % cores) for i in range(cores)]
            return [[("work", each)] for each in (spread if removed else [total])]
        if self.cause == causes.IMBALANCE:
            more = 0 if removed else min(self.size, even[-1] - 1) * (self.threads - 1)
            others = [each - (0 if removed else min(self.size, even[-1] - 1)) for each in even[1:]]
            return [[("work", each)] for each in (even[0] + more, *others)]
        middle = {causes.LOCK: "work" if removed else "held", causes.SLEEP: "sleep"}[self.cause]
        if self.cause == causes.SLEEP:
            piece = [("sleep", 0 if removed else self.size), ("work", self.work)]
        else:
            busy = min(self.size, self.work)
            piece = [(middle, busy), ("work", self.work - busy)]
        first, last = (
            [[("away", self.late), ("work", 2 * self.pieces * self.work)]] if self.late else [] for _ in range(2)
        )
        return [*first, *(piece * self.pieces for _ in range(self.threads)), *last]


@dataclass
class CausePresence:
    """One cause in a played program: ticks with a thread in it, threads x ticks, and the core time lost to it."""

    wall: int = 0
    threads: int = 0
    core: float = 0.0


@dataclass
class Played:
    """A program's ticks: `ready` with a thread that did not run, `room` the integral of 1 - active/cores, `nobody` at work."""

    wall: int = 0
    work: int = 0
    ready: int = 0
    room: float = 0.0
    nobody: int = 0
    lost: float = 0.0
    causes: dict[str, CausePresence] = field(default_factory=lambda: {cause: CausePresence() for cause in CAUSES})


def play(phases: list[Phase], cores: int, without: str = "") -> Played:
    """Play phases one after the other, each to its end."""
    found = Played()
    for phase in phases:
        _play(phase, cores, phase.cause == without, found)
    return found


class _Thread:
    def __init__(self, parts: list[tuple[str, int]]) -> None:
        self.parts = deque((what, ticks) for what, ticks in parts if ticks)

    @property
    def what(self) -> str:
        return self.parts[0][0] if self.parts else "over"

    def tick(self) -> None:
        what, ticks = self.parts.popleft()
        if ticks > 1:
            self.parts.appendleft((what, ticks - 1))


def _play(phase: Phase, cores: int, removed: bool, found: Played) -> None:
    threads = [_Thread(parts) for parts in phase.parts(cores, removed)]
    queue = deque(threads)  # whose turn it is
    owner: _Thread | None = None
    wanting: deque[_Thread] = deque()
    while any(thread.parts for thread in threads):
        for thread in threads:
            if thread.what == "held" and thread is not owner and thread not in wanting:
                wanting.append(thread)
        if owner is None and wanting:
            owner = wanting.popleft()
        asleep = [thread for thread in threads if thread.what == "sleep"]
        away = [thread for thread in threads if thread.what == "away"]
        able = [each for each in queue if each.what == "work" or (each.what == "held" and each is owner)]
        running = able[:cores]
        _count(phase, cores, len(able), len(running), len(wanting) + len(asleep), found)
        for thread in running:
            queue.remove(thread)
            queue.append(thread)
        for thread in (*running, *asleep, *away):
            was = len(thread.parts)
            thread.tick()
            if thread is owner and len(thread.parts) < was:
                owner = None


def _count(phase: Phase, cores: int, able: int, running: int, waiting: int, found: Played) -> None:
    idle = cores - running
    found.wall += 1
    found.work += running
    found.ready += able > running
    found.lost += idle
    found.nobody += cores if not able else 0
    if 0 < able < cores:
        found.room += 1 - able / cores
    if waiting:
        there = found.causes[phase.cause]
        there.wall += 1
        there.threads += waiting
        there.core += min(idle, waiting) if able else idle
        idle -= round(min(idle, waiting) if able else idle)
    if idle and able:
        # Nobody waits for it but the join: of one thread, or of those that are left.
        cause = causes.SERIAL if phase.cause == causes.SERIAL else causes.IMBALANCE
        there = found.causes[cause]
        there.wall += not waiting
        there.core += idle
