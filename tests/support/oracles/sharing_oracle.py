"""Simulates small programs of threads that share cores evenly, step by step in exact fractions: an oracle for replays.

A thread is a list of operations: ("run", ns), ("post", n) and ("wait", n), each n posted once and waited for once at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Operation = tuple[str, int]


@dataclass
class _Thread:
    operations: Sequence[Operation]
    at: int = 0
    left: Fraction = Fraction(0)
    waits: int | None = None


@dataclass
class Simulated:
    """When all threads are done, None where they never are; each wait that did wait: (thread, n, since, until)."""

    end: Fraction | None
    waited: list[tuple[int, int, Fraction, Fraction]] = field(default_factory=list)


def simulate(programs: Sequence[Sequence[Operation]], cores: int) -> Simulated:
    """Run the programs on so many cores."""
    threads = [_Thread(each) for each in programs]
    now, posted, since = Fraction(0), set[int](), dict[int, Fraction]()
    found = Simulated(None)
    while True:
        _do_what_takes_no_time(threads, posted, since, now, found)
        running = [each for each in threads if each.left > 0]
        if not running:
            done = all(each.waits is None and each.at == len(each.operations) for each in threads)
            return Simulated(now if done else None, found.waited)
        speed = min(Fraction(1), Fraction(cores, len(running)))
        length = min(each.left for each in running) / speed
        now += length
        for each in running:
            each.left -= length * speed


def _do_what_takes_no_time(
    threads: list[_Thread], posted: set[int], since: dict[int, Fraction], now: Fraction, found: Simulated
) -> None:
    changed = True
    while changed:
        changed = False
        for number, each in enumerate(threads):
            if each.waits is not None and each.waits in posted:
                if since[number] < now:
                    found.waited.append((number, each.waits, since[number], now))
                each.waits, changed = None, True
            while each.left == 0 and each.waits is None and each.at < len(each.operations):
                what, value = each.operations[each.at]
                each.at, changed = each.at + 1, True
                if what == "run":
                    each.left = Fraction(value)
                elif what == "post":
                    posted.add(value)
                elif value not in posted:
                    each.waits, since[number] = value, now


@dataclass
class _Worker:
    operations: Sequence[Operation]
    at: int = 0
    begin: int = 0
    woken: int = 0
    start: int = 0
    waker: int = -1


class _Schedule:
    """Threads on so many cores, first come first served: each keeps its core until it waits."""

    def __init__(self, programs: Sequence[Sequence[Operation]], cores: int) -> None:
        self.workers = [_Worker(each) for each in programs]
        self.cores = cores
        self.ready = deque(range(len(programs)))
        self.running: dict[int, int] = {}
        self.posted: set[int] = set()
        self.waiting: dict[int, int] = {}
        self.waited: set[int] = set()
        self.slices: list[tuple[int, int, int, int, int, int]] = []
        self.now = 0

    def run(self) -> None:
        """Run all threads to their ends."""
        while self._start() or self.running:
            self.now = min(self.running.values())
            for number in [each for each, end in self.running.items() if end == self.now]:
                del self.running[number]
                self._go_on(number)

    def _start(self) -> bool:
        while self.ready and len(self.running) < self.cores:
            number = self.ready.popleft()
            self.workers[number].start = self.now
            self._go_on(number)
        return bool(self.running)

    def _go_on(self, number: int) -> None:
        each = self.workers[number]
        while each.at < len(each.operations):
            what, value = each.operations[each.at]
            each.at += 1
            if what == "run":
                self.running[number] = self.now + value
                return
            if what == "post":
                self._post(number, value)
            elif value not in self.posted:
                self.waiting[value] = number
                self.waited.add(value)
                break
        self.slices.append((number, each.begin, each.woken, each.start, self.now, each.waker))
        each.begin = self.now

    def _post(self, number: int, value: int) -> None:
        self.posted.add(value)
        if value in self.waiting:
            woken = self.waiting.pop(value)
            self.workers[woken].woken, self.workers[woken].waker = self.now, number
            self.ready.append(woken)


def run_to_block(
    programs: Sequence[Sequence[Operation]], cores: int
) -> tuple[list[tuple[int, int, int, int, int, int]], set[int]]:
    """Run the programs on so many cores, each thread until it waits, first come first served.

    Returns the slices (thread, begin, woken, start, end, waker), and the numbers of the waits that did wait.
    """
    schedule = _Schedule(programs, cores)
    schedule.run()
    return schedule.slices, schedule.waited
