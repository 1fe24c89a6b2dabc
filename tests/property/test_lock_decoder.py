"""Whatever threads do, the kernel's wakers, the holds of monitors and the sums are those that a slow look at it all gives.

Random threads run, sleep and wake each other on a few CPUs, and each says now and then that it waited for something from one
moment in which it ran to a later one. The decoder sees records; the slow look sees lists.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from support.builders.lock_spool_builder import MONITOR, PARK, WAIT, LockAgent
from support.builders.spool_builder import SLEEP, Spool

PID, FIRST_TID, THREADS = 100, 101, 6
OBJECTS = 2
NOBODY = -1


class Block(NamedTuple):
    thread: int
    blocker: int  # an object's monitor: 1..OBJECTS; waiting on it: 11...; parks: 21...
    kind: int
    start: int
    end: int
    waking_seen: bool


class Waking(NamedTuple):
    at: int
    thread: int
    waker: int
    irq: bool
    runs_at: int


@dataclass
class World:
    """Threads on CPUs. What is kept of them is all that the slow look goes by."""

    random: random.Random
    spool: Spool = field(default_factory=Spool)
    now: int = 1000
    on_cpu: dict[int, int] = field(default_factory=dict)
    asleep: set[int] = field(default_factory=lambda: set(range(THREADS)))
    woken: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    wakings: list[Waking] = field(default_factory=list)
    runs: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    since: dict[int, int] = field(default_factory=dict)

    def live(self, steps: int, cpus: int) -> None:
        for thread in range(THREADS):
            self.spool.snapshot(0, FIRST_TID + thread, "S", start_ns=thread, pid=PID)
        for _ in range(steps):
            self.now += self.random.choice([20, 100, 5000])
            self.wake(self.random.randrange(cpus)) if self.random.random() < 0.5 else self.switch(cpus)

    def wake(self, cpu: int) -> None:
        if not self.asleep:
            return
        thread = self.random.choice(sorted(self.asleep))
        waker, irq = self.on_cpu.get(cpu, NOBODY), self.random.random() < 0.15
        by = None if waker == NOBODY else FIRST_TID + waker
        self.spool.waking(self.now, cpu, FIRST_TID + thread, by=by, irq=irq)
        self.asleep.discard(thread)
        self.woken[thread] = (self.now, waker, irq)

    def switch(self, cpus: int) -> None:
        cpu = self.random.randrange(cpus)
        out = self.on_cpu.pop(cpu, None)
        into = self.random.choice(sorted(self.woken)) if self.woken and self.random.random() < 0.8 else None
        if out is None and into is None:
            return
        old, new = (None if each is None else FIRST_TID + each for each in (out, into))
        self.spool.switch(self.now, cpu, old, new, SLEEP, exec_ns=None if out is None else 0)
        if out is not None:
            self.runs.setdefault(out, []).append((self.since[out], self.now))
            self.asleep.add(out)
        if into is not None:
            at, waker, irq = self.woken.pop(into)
            self.wakings.append(Waking(at, into, waker, irq, self.now))
            self.on_cpu[cpu], self.since[into] = into, self.now

    def blocks(self) -> list[Block]:
        """Return what threads waited in: each from one run to a later one, with whole sleeps between."""
        found = []
        for thread, runs in sorted(self.runs.items()):
            at = 0
            while at + 1 < len(runs):
                last = min(len(runs) - 1, at + self.random.choice([1, 1, 2, 3]))
                start = self.random.randrange(runs[at][0] + 6, runs[at][1] - 5)
                end = self.random.randrange(runs[last][0] + 1, runs[last][0] + 6)
                kind, base = self.random.choice([(MONITOR, 0), (MONITOR, 0), (WAIT, 10), (PARK, 20)])
                blocker = base + self.random.randint(1, OBJECTS)
                seen = kind == PARK and self.random.random() < 0.5
                found.append(Block(thread, blocker, kind, start, end, seen))
                at = last + (self.random.random() < 0.3)
        return sorted(found, key=lambda each: each.start)


def simulate(seed: int, steps: int, cpus: int) -> tuple[World, list[Block]]:
    world = World(random.Random(seed))
    world.live(steps, cpus)
    return world, world.blocks()


def decoded(world: World, blocks: list[Block], java: list[bool], folder: Path) -> tuple[list[Any], list[Any], Any]:
    """Return blocks and holds as tuples, and the columns of blockers, as the decoder gives them."""
    agent = LockAgent(PID, created_ns=1)
    for number in range(OBJECTS):
        agent.blocker(1, 1 + number, MONITOR, b"app.Thing", 500 + number)
        agent.blocker(1, 11 + number, WAIT, b"app.Thing", 500 + number)
    for each in blocks:
        seen = each.end - 1 if each.waking_seen else 0
        agent.block(FIRST_TID + each.thread, 0, each.start, each.end, each.blocker, each.kind, waking_ns=seen)
    world.spool.write(folder)
    agent.write(folder)
    decoder = _native.Decoder(str(folder))
    tids = decoder.lifecycle()["tid"]
    ids = np.arange(len(tids), dtype=np.int32)
    nobody = np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int32)
    jvm = (PID, world.now, tids, np.zeros(len(tids), dtype=np.int64), ids, *nobody)
    locks = decoder.locks()
    java_ids = np.array([70 + i if is_java else -1 for i, is_java in enumerate(java)], dtype=np.int64)
    locks.begin([jvm], java_ids, np.zeros(len(tids), dtype=np.uint8), 0)
    decoder.begin(0, world.now, np.zeros(len(tids), dtype=np.uint8), 1 << 40, 1)
    while decoder.next() is not None:
        pass
    rows: list[Any] = []
    while (batch := locks.next_blocks(3)) is not None:
        names = ("thread_id", "start_ns", "dur_ns", "waking_ns", "waker_thread_id", "waker_java_id", "is_kernel_waking")
        rows += zip(*(batch[name].tolist() for name in names), strict=True)
    held: list[Any] = []
    while (batch := locks.next_holds(3)) is not None:
        held += zip(*(batch[name].tolist() for name in ("thread_id", "start_ns", "dur_ns")), strict=True)
    return rows, held, locks.blockers()


def waker_of(block: Block, wakings: list[Waking], java: list[bool]) -> tuple[int, int, int, int]:
    """Return (waking_ns, waker, its java id, is_kernel_waking), -1 for null, by looking at every waking."""
    if block.waking_seen:
        return block.end - 1, -1, -1, 0
    mine = [each for each in wakings if each.thread == block.thread and block.start <= each.runs_at <= block.end]
    likely = [each for each in mine if each.irq or (each.waker != NOBODY and java[each.waker])]
    if not mine:
        return -1, -1, -1, -1
    last = (likely or mine)[-1]
    who = -1 if last.irq else last.waker
    return last.at, who, 70 + who if who != NOBODY and java[who] else -1, 1


def holds_of(blocks: list[Block], wakings: list[Waking], java: list[bool]) -> list[tuple[int, int, int]]:
    """Return (thread, start, length) of each hold, by looking at every acquisition and all that came after it."""
    found = []
    for got in (each for each in blocks if each.kind == MONITOR):
        objects = (got.blocker, got.blocker + 10)
        releases = [
            (waking.at, waking.waker)
            for waking in wakings
            for each in blocks
            if each.blocker in objects and each.kind != PARK and each.thread == waking.thread and not waking.irq
            if each.start <= waking.at <= each.end and waking.waker != NOBODY and waking.at > got.end
        ]
        mine = min((at for at, waker in releases if waker == got.thread), default=None)
        if mine is None:
            continue
        same = [each for each in blocks if each.kind == MONITOR and each.blocker == got.blocker and each is not got]
        is_lost = not any(each.start < got.end < each.end for each in same)  # nobody was queued when it was got
        is_lost |= any(got.end <= each.end <= mine for each in same)
        is_lost |= any(each.thread == got.thread and got.end <= each.start <= mine for each in same)
        is_lost |= any(at < mine and java[waker] for at, waker in releases)
        if not is_lost:
            found.append((got.thread, got.end, mine - got.end))
    return sorted(found, key=lambda each: (each[1], each[0]))


worlds = st.tuples(st.integers(0, 2**32), st.integers(0, 250), st.integers(1, 3))
kinds = st.lists(st.booleans(), min_size=THREADS, max_size=THREADS)


@settings(max_examples=150)
@given(worlds, kinds)
def test_wakers_are_those_of_the_last_cycle_that_ends_inside_the_block(
    world: tuple[int, int, int], java: list[bool]
) -> None:
    lived, blocks = simulate(*world)
    with tempfile.TemporaryDirectory() as folder:
        rows, _, _ = decoded(lived, blocks, java, Path(folder))
    wanted = [(each.thread, each.start, each.end - each.start, *waker_of(each, lived.wakings, java)) for each in blocks]
    assert sorted(rows) == sorted(wanted)
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)


@settings(max_examples=150)
@given(worlds)
def test_holds_of_monitors_last_until_the_holders_first_waking(world: tuple[int, int, int]) -> None:
    lived, blocks = simulate(*world)
    java = [True] * THREADS
    with tempfile.TemporaryDirectory() as folder:
        _, held, _ = decoded(lived, blocks, java, Path(folder))
    assert sorted(held, key=lambda each: (each[1], each[0])) == holds_of(blocks, lived.wakings, java)


@settings(max_examples=100)
@given(worlds)
def test_sums_of_blocks_are_those_counted_moment_by_moment(world: tuple[int, int, int]) -> None:
    lived, blocks = simulate(*world)
    with tempfile.TemporaryDirectory() as folder:
        _, _, blockers = decoded(lived, blocks, [True] * THREADS, Path(folder))
    names = ("times_parked", "peak_parked", "thread_time_ns", "real_time_ns")
    got = sorted(row for row in zip(*(blockers[name].tolist() for name in names), strict=True) if row[0])
    wanted = []
    for blocker in {each.blocker for each in blocks}:
        mine = [each for each in blocks if each.blocker == blocker]
        edges = sorted({ns for each in mine for ns in (each.start, each.end)})
        levels = [(b - a, sum(each.start <= a < each.end for each in mine)) for a, b in itertools.pairwise(edges)]
        peak, busy = max(level for _, level in levels), sum(length for length, level in levels if level)
        wanted.append((len(mine), peak, sum(length * level for length, level in levels), busy))
    assert got == sorted(wanted)
