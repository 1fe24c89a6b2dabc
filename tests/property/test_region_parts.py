"""The parts of regions against the slow, obvious way: looking at every thread at every ns."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.regions.analysis import regions_of
from headway.store import open_recording
from headway.store.sweep import SweepRegion
from support.builders.lock_builder import LOCK_CLASS, Wait
from support.builders.region_builder import JOIN_STACK, LOCK_STACK, MAIN, STACKS, WORK, ParallelRun
from support.builders.synthetic import FakeThread

WALL = 60
PARTS = ("cpu", "gc", "lock", "jit", "runnable", "io")
States = list[tuple[str, int]]

STATES = st.lists(st.tuples(st.sampled_from("RWB"), st.integers(1, 9)), max_size=6)
"""What a worker does after it has begun."""


@st.composite
def workers(draw: st.DrawFn) -> tuple[FakeThread, list[tuple[int, int, bool]]]:
    """Return a thread that runs, and the stretches of it that records call waits: in contention, or for a result."""
    states = [("R", draw(st.integers(1, 5))), *_cycles(draw(STATES))]
    start = draw(st.integers(0, 20))
    waits, now = [], start
    for state, length in states:
        if state == "B" and (kind := draw(st.sampled_from(["lock", "result", "none"]))) != "none":
            waits.append((now, now + length, kind == "lock"))
        now += length
    return FakeThread("app", start, states, "worker"), waits


def _cycles(states: States) -> States:
    """Put states into the order in which a cycle has them: blocked, ready, running; repeated ones are one."""
    found: States = []
    for state, length in states:
        if found and (found[-1][0] == state or (found[-1][0], state) == ("W", "B")):
            continue
        found.append((state, length))
    return found


@dataclass
class Case:
    run: ParallelRun
    waits: dict[int, list[tuple[int, int, bool]]]

    def part(self, index: int, t: int) -> str:
        """Return what a thread's ns counts as, '' for nothing to do."""
        thread = self.run.threads[index]
        state = thread.at(t)
        if state is None:
            return ""
        if state == "R":
            return "cpu"
        paused = self.run.paused(t)
        if state == "W":
            return "gc" if paused else "jit" if self._compiler_runs(t) else "runnable"
        known = next((is_lock for start, end, is_lock in self.waits.get(index, ()) if start <= t < end), None)
        if known is False:
            return ""
        return "gc" if paused else "lock" if known else "io"

    def _compiler_runs(self, t: int) -> bool:
        return any(thread.kind == "jit" and thread.at(t) == "R" for thread in self.run.threads)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Return a run: a main thread, workers with one sample each, a compiler, a pause or two."""
    team = draw(st.lists(workers(), min_size=1, max_size=3))
    compiler = FakeThread("jit", draw(st.integers(0, 20)), [("R", draw(st.integers(1, 20)))], "C2")
    threads = [
        FakeThread("app", 0, [("R", draw(st.integers(1, 20))), *_cycles(draw(STATES))], "main"),
        *(thread for thread, _ in team),
        compiler,
    ]
    pauses = [(at, at + draw(st.integers(1, 6))) for at in draw(st.lists(st.integers(0, 50), max_size=2))]
    samples = [(0, 1, 1, MAIN), *((i, thread.start, 1, WORK) for i, (thread, _) in enumerate(team, 1))]
    waits = [
        Wait(i, 0 if is_lock else 1, start, end, stack=LOCK_STACK if is_lock else JOIN_STACK)
        for i, (_, mine) in enumerate(team, 1)
        for start, end, is_lock in mine
    ]
    run = ParallelRun(
        threads, waits, wall=WALL, pauses=sorted(pauses), kinds=["park", "wait"], classes=[LOCK_CLASS, "java.lang.Thread"],
        stacks=STACKS, samples={"cpu": samples},
    )  # fmt: skip
    return Case(run, {i: mine for i, (_, mine) in enumerate(team, 1)})


@settings(max_examples=15)
@given(cases())
def test_regions_are_what_a_look_at_every_ns_gives(case: Case) -> None:
    team = range(1, len(case.run.threads) - 1)
    main_idle = [case.run.threads[0].at(t) not in ("R", "W") for t in range(WALL)]
    inside = [
        any(case.part(i, t) for i in team if case.part(i, t) == "cpu" or idle) for t, idle in enumerate(main_idle)
    ]
    expected = {
        name: {
            part: _sum(case, [t for t in range(WALL) if inside[t] == is_work], is_work, inside, part) for part in PARTS
        }
        for name, is_work in (("work", True), ("(rest)", False))
    }
    with tempfile.TemporaryDirectory() as folder:
        recording = open_recording(case.run.write(Path(folder) / "a.headway"))
        found = regions_of(recording, [SweepRegion("work", r"App\.work")]).primitives
        recording.close()
    for each in found:
        parts = (each.cpu_ns, each.gc_ns, each.lock_wait_ns, each.jit_ns, each.runnable_ns, each.io_ns)
        assert dict(zip(PARTS, parts, strict=True)) == expected[each.name], each.name
    assert found[0].wall_ns == sum(inside)
    assert found[0].instances == sum(now and not before for before, now in zip([False, *inside], inside, strict=False))
    assert sum(each.wall_ns for each in found) == WALL


def _sum(case: Case, moments: list[int], is_work: bool, inside: list[bool], part: str) -> int:
    """Add up a part over threads; one that does not run in an instance is neither stopped nor doing I/O in it."""
    total = 0
    for index, thread in enumerate(case.run.threads):
        if thread.kind != "app":
            continue
        for t in moments:
            if case.part(index, t) == part and (part not in ("gc", "io") or _runs(case, index, t, inside)):
                total += 1
    return total


def _runs(case: Case, index: int, t: int, inside: list[bool]) -> bool:
    """Return whether a thread runs in the instance (or the gap between two) that holds a moment."""
    low = high = t
    while low > 0 and inside[low - 1] == inside[t]:
        low -= 1
    while high < WALL - 1 and inside[high + 1] == inside[t]:
        high += 1
    return any(case.part(index, moment) == "cpu" for moment in range(low, high + 1))
