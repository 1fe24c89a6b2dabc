"""Queues whose takers put back what they took are pools of resources; those that others fill are queues of work."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from headway.analyses.waits.classification.pools import of_pools

MS = 1_000_000
USE, OTHER = 5 * MS, MS
THREADS = 6
HELPER = 99
"""A thread of the JVM."""


@dataclass(frozen=True)
class Wait:
    """A wait for an element of the only queue."""

    thread: int
    start: int
    end: int
    waker: int
    waking: int


def is_pool(waits: list[Wait]) -> bool:
    """Return whether all of the waits count as waits for a pool; none does otherwise."""

    def column(name: str) -> Any:
        return np.array([getattr(wait, name) for wait in waits])

    columns = {name: column(name) for name in ("thread", "waker", "waking")}
    zero = np.zeros(len(waits), np.int64)
    blocks = SimpleNamespace(full=column("end"), blocker=zero, is_open=zero > 0, **columns)
    asked = SimpleNamespace(fetchall=lambda: [(HELPER,)])

    class Blockers:
        is_object = np.array([True])

        def __len__(self) -> int:
            return 1

    recording = SimpleNamespace(query=lambda _: asked)
    data = SimpleNamespace(blocks=blocks, blockers=Blockers(), recording=recording)
    found = of_pools(cast("Any", data), np.arange(len(waits)))
    assert len(set(found.tolist())) == 1
    return bool(found[0])


def pool(things: int, rounds: int, *, pass_on: bool = False) -> list[Wait]:
    """Simulate threads that take one of a few things, use it, put it back, and do something else.

    `pass_on`: where two put something back at once, the first who gets it wakes the second, as a take() does that signals.
    """
    free = things
    queue: list[tuple[int, int, int]] = []
    waits: list[Wait] = []
    ready = [(i, i, rounds) for i in range(THREADS)]
    puts: list[tuple[int, int, int]] = []
    while ready or puts:
        if puts and (not ready or puts[0][0] <= ready[0][0]):
            now, thread, left = heapq.heappop(puts)
            if queue:
                since, other, its_left = queue.pop(0)
                by, waking = thread, now + 10_000
                if pass_on and waits and 0 <= now - waits[-1].end + 20_000 < 50_000:  # put back at the same time
                    by, waking = waits[-1].thread, waits[-1].end + 5_000
                end = waking + 10_000
                waits.append(Wait(other, since, end, by, waking))
                heapq.heappush(puts, (end + USE, other, its_left))
            else:
                free += 1
            if left > 1:
                heapq.heappush(ready, (now + OTHER, thread, left - 1))
            continue
        now, thread, left = heapq.heappop(ready)
        if free:
            free -= 1
            heapq.heappush(puts, (now + USE, thread, left))
        else:
            queue.append((now, thread, left))
    return waits


def fed(tasks: int) -> list[Wait]:
    """Return workers that wait for the tasks of a feeder, the last thread, who adds two: the first taker signals the next."""
    waits: list[Wait] = []
    for round_ in range(tasks):
        at, one, two = round_ * 8 * MS, round_ * 2 % 4, round_ * 2 % 4 + 1
        waits.append(Wait(one, at + MS, at + 4 * MS, waker=4, waking=at + 4 * MS - 10_000))
        waits.append(Wait(two, at + MS, at + 4 * MS + 30_000, waker=one, waking=at + 4 * MS + 20_000))
    return waits


def grown(rounds: int) -> list[Wait]:
    """Return three workers, each of which in turn does a task for 2 ms, and then adds two, for the others who wait."""
    waits: list[Wait] = []
    for round_ in range(rounds):
        at, who = round_ * 4 * MS, round_ % 3
        one, two = (who + 1) % 3, (who + 2) % 3
        waits.append(Wait(one, at, at + 2 * MS + 10_000, waker=who, waking=at + 2 * MS))
        waits.append(Wait(two, at, at + 2 * MS + 300_000, waker=who, waking=at + 2 * MS + 290_000))
    return waits


@pytest.mark.parametrize("things", [1, 2, 4])
def test_threads_that_put_back_what_they_took_wait_for_a_pool(things: int) -> None:
    assert is_pool(pool(things, 20))


def test_who_passes_a_waking_on_takes_nothing_from_that() -> None:
    waits = pool(2, 20, pass_on=True)
    assert is_pool(waits)
    # Where nothing else is known, nothing is told.
    ends = {wait.thread: 0 for wait in waits}
    only_passed_on = []
    for wait in waits:
        if 0 < wait.waking - ends[wait.waker] < 100_000:
            only_passed_on.append(wait)
        ends[wait.thread] = wait.end
    assert len(only_passed_on) > 20
    assert not is_pool(only_passed_on)


def test_a_thread_of_the_jvm_puts_nothing_back() -> None:
    waits = [Wait(wait.thread, wait.start, wait.end, HELPER, wait.waking) for wait in pool(2, 20)]
    assert not is_pool(waits)


@pytest.mark.parametrize("waits", [fed(20), grown(20)], ids=["a feeder", "workers that add two each"])
def test_threads_that_take_what_others_make_wait_for_work(waits: list[Wait]) -> None:
    assert not is_pool(waits)


def test_a_few_waits_tell_nothing() -> None:
    assert not is_pool(pool(2, 20)[:8])
