"""Simulates small programs of threads that share cores evenly, step by step in exact fractions: an oracle for replays.

A thread is a list of operations: ("run", ns), ("post", n) and ("wait", n), each n posted once and waited for once at most, and
("lock", n) and ("unlock", n): who waits longest gets it next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

Operation = tuple[str, int | Fraction]


@dataclass
class _Thread:
    operations: Sequence[Operation]
    at: int = 0
    left: Fraction = Fraction(0)
    waits: int | Fraction | None = None
    asks: int | Fraction | None = None


@dataclass
class Simulated:
    """When all threads are done, None where they never are; each wait that did wait: (thread, n, since, until)."""

    end: Fraction | None
    waited: list[tuple[int, int | Fraction, Fraction, Fraction]] = field(default_factory=list)


def simulate(programs: Sequence[Sequence[Operation]], cores: int) -> Simulated:
    """Run the programs on so many cores."""
    threads = [_Thread(each) for each in programs]
    now, posted, since = Fraction(0), set[int | Fraction](), dict[int, Fraction]()
    found, locks = Simulated(None), Locks()
    while True:
        _do_what_takes_no_time(threads, posted, since, now, found, locks)
        running = [each for each in threads if each.left > 0]
        if not running:
            done = all(each.waits is None and each.asks is None and each.at == len(each.operations) for each in threads)
            return Simulated(now if done else None, found.waited)
        speed = min(Fraction(1), Fraction(cores, len(running)))
        length = min(each.left for each in running) / speed
        now += length
        for each in running:
            each.left -= length * speed


class Locks:
    """Locks that whoever waits longest gets next."""

    def __init__(self) -> None:
        self.holder: dict[int | Fraction, int] = {}
        self.queue: dict[int | Fraction, deque[int]] = {}

    def ask(self, lock: int | Fraction, thread: int) -> bool:
        """Return whether a thread gets a lock at once; else it waits."""
        if lock not in self.holder:
            self.holder[lock] = thread
            return True
        self.queue.setdefault(lock, deque()).append(thread)
        return False

    def let_go(self, lock: int | Fraction) -> int | None:
        """Return who gets a lock next."""
        del self.holder[lock]
        waiting = self.queue.get(lock)
        if not waiting:
            return None
        self.holder[lock] = waiting.popleft()
        return self.holder[lock]


def _do_what_takes_no_time(
    threads: list[_Thread],
    posted: set[int | Fraction],
    since: dict[int, Fraction],
    now: Fraction,
    found: Simulated,
    locks: Locks,
) -> None:
    changed = True
    while changed:
        changed = False
        for number, each in enumerate(threads):
            if each.waits is not None and each.waits in posted:
                if since[number] < now:
                    found.waited.append((number, each.waits, since[number], now))
                each.waits, changed = None, True
            while each.left == 0 and each.waits is None and each.asks is None and each.at < len(each.operations):
                what, value = each.operations[each.at]
                each.at, changed = each.at + 1, True
                if what == "wait" and value not in posted:
                    each.waits, since[number] = value, now
                elif what != "wait":
                    _do(threads, number, what, value, posted, locks)


def _do(
    threads: list[_Thread], number: int, what: str, value: int | Fraction, posted: set[int | Fraction], locks: Locks
) -> None:
    if what == "run":
        threads[number].left = Fraction(value)
    elif what == "post":
        posted.add(value)
    elif what == "lock":
        threads[number].asks = None if locks.ask(value, number) else value
    else:
        following = locks.let_go(value)
        if following is not None:
            threads[following].asks = None


@dataclass
class _Worker:
    operations: Sequence[Operation]
    at: int = 0
    begin: int = 0
    woken: int = 0
    start: int = 0
    waker: int = -1
    asked: int = 0
    got: int = 0
    waits_for_lock: bool = False


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
        self.locks = Locks()
        self.acquired: list[tuple[int, int, int, int, int]] = []
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
        if each.waits_for_lock:
            each.waits_for_lock, each.got = False, self.now
        while each.at < len(each.operations):
            what, value = each.operations[each.at]
            each.at += 1
            assert isinstance(value, int)
            if what == "run":
                self.running[number] = self.now + value
                return
            if what == "lock":
                each.asked = each.got = self.now
                if not self.locks.ask(value, number):
                    each.waits_for_lock = True
                    break
            elif what == "unlock":
                self.acquired.append((value, number, each.asked, each.got, self.now))
                following = self.locks.let_go(value)
                if following is not None:
                    self.workers[following].woken, self.workers[following].waker = self.now, number
                    self.ready.append(following)
            elif what == "post":
                self._post(number, value)
            elif value not in self.posted:
                self.waiting[value] = number
                break
        self.slices.append((number, each.begin, each.woken, each.start, self.now, each.waker))
        each.begin = self.now

    def _post(self, number: int, value: int) -> None:
        self.posted.add(value)
        if value in self.waiting:
            woken = self.waiting.pop(value)
            if (
                self.workers[woken].begin < self.now
            ):  # else what it came for was there at that moment, and no wait is on record
                self.waited.add(value)
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


def run_with_locks(
    programs: Sequence[Sequence[Operation]], cores: int
) -> tuple[list[tuple[int, int, int, int, int, int]], set[int], list[tuple[int, int, int, int, int]]]:
    """Do the same, and return the acquisitions, too: (lock, thread, asked, got, released)."""
    schedule = _Schedule(programs, cores)
    schedule.run()
    return schedule.slices, schedule.waited, schedule.acquired
