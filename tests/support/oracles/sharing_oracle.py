"""Simulates small programs of threads that share cores evenly, step by step in exact fractions: an oracle for replays.

A thread is a list of operations: ("run", ns), ("post", n) and ("wait", n), each n posted once and waited for once at most.
"""

from __future__ import annotations

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
