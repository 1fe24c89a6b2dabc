"""Replays of random programs on other cores, and after changes, are what SimPy makes of the changed programs, event by event."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from support.builders.replay_builder import BEFORE, NANOSLEEP, LockAcquisition, Slice, acquired, plan, replayed, steps
from support.oracles.simulated_programs import Operation, RecordedProgram, record, simulate

Programs = list[list[Operation]]
LOCKS = 3


@st.composite
def programs(draw: st.DrawFn, *, has_locks: bool = True) -> Programs:
    """Threads that compute, sleep, post and wait, and have locks, two at once in one order: none can come to a circle.

    Times differ in bits that are left to chance: two threads that come at one moment may get a lock in any order. In the middle
    of each stretch of computing is a mark.
    """
    chance = random.Random(draw(st.integers(0, 1000)))
    numbers = itertools.count()

    def length() -> int:
        return 4 * (draw(st.integers(1, 1000)) * 2**20 + chance.getrandbits(20))

    def run() -> list[Operation]:
        return [("run", length()), ("mark", next(numbers)), ("run", length())]

    threads: Programs = [run() for _ in range(draw(st.integers(1, 5)))]
    kinds = ["sleep", "signal", *(["lock", "sleep with a lock", "two locks"] if has_locks else [])]
    for number in range(draw(st.integers(0, 10))):
        at = draw(st.integers(0, len(threads) - 1))
        kind = draw(st.sampled_from(kinds))
        lock, other = draw(st.lists(st.integers(0, LOCKS - 1), min_size=2, max_size=2, unique=True).map(sorted))
        if kind == "sleep":
            threads[at] += [("sleep", length())]
        elif kind == "lock":
            threads[at] += [("lock", lock), *run(), ("unlock", lock)]
        elif kind == "sleep with a lock":
            threads[at] += [("lock", lock), *run(), ("sleep", length()), *run(), ("unlock", lock)]
        elif kind == "two locks":
            inner: list[Operation] = [("lock", other), *run(), ("unlock", other)]
            threads[at] += [("lock", lock), *run(), *inner, *run(), ("unlock", lock)]
        elif len(threads) > 1:
            waiter = draw(st.sampled_from([each for each in range(len(threads)) if each != at]))
            threads[at] += [("post", number)]
            threads[waiter] += [("wait", number), *run()]
        threads[at] += run()
    return threads


@dataclass(frozen=True)
class Replayable:
    """A recorded run: its steps, its acquisitions, its program without waits that did not wait, and a thread for each mark."""

    run: Any
    locks: Any
    program: Programs
    marks: Mapping[int | Fraction, int]


def recorded(threads: Programs, cores: int, *, has_marks: bool = True) -> Replayable:
    """Record a program. A thread that waits for a mark and does nothing else ends when another one has come to it."""
    found: RecordedProgram = record(threads, cores)
    kept = [[each for each in thread if each[0] != "wait" or each[1] in found.waited] for thread in threads]
    slices = [
        Slice(each.thread, each.begin, each.woken, each.start, each.end, each.waker, NANOSLEEP if each.is_sleep else 1)
        for each in found.slices
    ]
    slices = [each._replace(irq=each.blocked_in == NANOSLEEP) for each in slices]
    marks: dict[int | Fraction, int] = {}
    for number, (ns, thread) in found.marks.items() if has_marks else ():
        marks[number] = len(threads) + len(marks)
        slices.append(Slice(marks[number], 0, ns, ns, ns, thread))
    return Replayable(
        steps(slices, found.wall, cores), acquired([LockAcquisition(*each) for each in found.held]), kept, marks
    )


def without(threads: Programs, lock: int) -> Programs:
    """Return the programs without one lock."""
    return [[each for each in thread if each[0] not in ("lock", "unlock") or each[1] != lock] for thread in threads]


def released_after_half(threads: Programs, lock: int) -> Programs:
    """Return the programs with a lock released after half of what is done with it: what is computed and slept."""
    return [_half(thread, lock) for thread in threads]


def _half(thread: list[Operation], lock: int) -> list[Operation]:
    found: list[Operation] = []
    while ("lock", lock) in thread:
        begin = thread.index(("lock", lock)) + 1
        end = thread.index(("unlock", lock))
        left: int | Fraction = sum(value for what, value in thread[begin:end] if what in ("run", "sleep")) // 2
        found += thread[:begin]
        for what, value in thread[begin:end]:
            if what in ("run", "sleep") and 0 <= left < value:
                found += [(what, left), ("unlock", lock), (what, value - left)]
                left = -1
            else:
                found.append((what, value))
                left -= value if what in ("run", "sleep") and left >= 0 else 0
        thread = thread[end + 1 :]
    return [*found, *thread]


def scaled(threads: Programs, kind: str, factor: Fraction, of: int | None = None) -> Programs:
    """Return the programs with all that is computed, or slept, by a thread or all of them, times a factor."""
    return [
        [(what, value * factor) if what == kind and of in (None, number) else (what, value) for what, value in thread]
        for number, thread in enumerate(threads)
    ]


def sleeping(run: Any, factor: float) -> Any:
    """Return changes of a run's steps: sleeps last so many times as long."""
    its = run.program_steps()
    rows = np.flatnonzero(its["is_sleep"])
    wait_ns = (its["woken_ns"] - its["begin_ns"])[rows] * factor
    return _native.StepChanges(
        steps=run, step=its["step"][rows].astype(np.uint32), wait_ns=wait_ns, work_factor=np.ones(len(rows))
    )


def computing(run: Any, thread: int, factor: float) -> Any:
    """Return changes of a run's steps: what a thread computes takes so many times as long."""
    its = run.program_steps()
    rows = np.flatnonzero(its["thread"] == thread)
    factors = np.full(len(rows), factor)
    return _native.StepChanges(
        steps=run, step=its["step"][rows].astype(np.uint32), wait_ns=np.full(len(rows), -1.0), work_factor=factors
    )


@dataclass(frozen=True)
class Change:
    """A change of a program, and how a replay is asked for it."""

    program: Callable[[Programs], Programs]
    plan: Mapping[str, Any]
    changed: Callable[[Any], Any] = lambda _run: None
    work_factor: float = 1.0


CHANGES = {
    "none": Change(lambda threads: threads, {}),
    "without a lock": Change(lambda threads: without(threads, 0), {"gone": {0: 1}}),
    "a lock for half of the time": Change(lambda threads: released_after_half(threads, 1), {"part": {1: 0.5}}),
    "both": Change(lambda threads: released_after_half(without(threads, 0), 1), {"gone": {0: 1}, "part": {1: 0.5}}),
    "shorter sleeps": Change(
        lambda threads: scaled(threads, "sleep", Fraction(1, 4)), {}, lambda run: sleeping(run, 0.25)
    ),
    "a faster thread": Change(
        lambda threads: scaled(threads, "run", Fraction(1, 2), of=0), {}, lambda run: computing(run, 0, 0.5)
    ),
    "a faster clock": Change(lambda threads: scaled(threads, "run", Fraction(1, 2)), {}, work_factor=0.5),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@settings(max_examples=40, deadline=None)
@given(programs(), st.integers(1, 6), st.integers(1, 6))
def test_every_event_of_a_replay_is_when_a_simulation_of_the_changed_program_has_it(
    change: Change, threads: Programs, k1: int, k2: int
) -> None:
    made = recorded(threads, k1)
    expected = simulate(change.program(made.program), k2)
    asked: dict[str, Any] = {
        "plans": [plan(made.run, made.locks, LOCKS, **change.plan)],
        "changed": [change.changed(made.run)],
        "work_factor": change.work_factor,
    }
    times = {**expected.ends, **{made.marks[mark]: ns for mark, ns in expected.marks.items()}}
    got = {thread: replayed([made.run], k2, last=[thread], **asked)[0] for thread in times}
    assert got == pytest.approx({thread: float(ns) for thread, ns in times.items()}, rel=1e-9, abs=1)


@settings(max_examples=40, deadline=None)
@given(programs(), st.integers(1, 6), st.sampled_from([(1, 1), (2, 1), (2, Fraction(5, 4)), (4, Fraction(5, 2))]))
def test_how_many_threads_are_ready_and_how_long_they_wait_for_locks_is_what_a_simulation_has(
    threads: Programs, k1: int, smt: tuple[int, Fraction | int]
) -> None:
    per_core, throughput = smt
    made = recorded(threads, k1, has_marks=False)
    expected = simulate(made.program, 4, per_core, throughput)
    ready_ns = expected.ready_ns
    levels = [
        ready_ns.get(0, Fraction(0)),
        ready_ns.get(1, Fraction(0)),
        sum(ns for ready, ns in ready_ns.items() if 1 < ready < 4),
        ready_ns.get(4, Fraction(0)),
        sum(ns for ready, ns in ready_ns.items() if ready > 4),
    ]
    usual: dict[str, Any] = {
        "has_stolen": False,
        "io_factor": 1.0,
        "waking_factor": 1.0,
        "has_collections": True,
        "has_lock_waits": True,
    }
    ((end, found, free_ns, _, waits, forced, _),) = _native.replay_on_cores(
        runs=[made.run], last=[-1], cores=4.0, plans=[plan(made.run, made.locks, LOCKS)], changed=[None],  # type: ignore[list-item]
        work_factor=1.0,
        per_core=float(per_core), throughput=float(throughput), **usual,
    )  # fmt: skip
    assert end == pytest.approx(float(expected.end), rel=1e-9)
    assert list(found) == pytest.approx([float(ns) for ns in levels], rel=1e-9, abs=1)
    assert free_ns == pytest.approx(float(sum(levels[:3])), rel=1e-9, abs=1)
    by_lock = [float(expected.lock_waits_ns.get(lock, 0)) for lock in range(LOCKS)]
    assert list(waits) == pytest.approx(by_lock[: len(waits)], rel=1e-9, abs=1)
    assert forced == 0


@settings(max_examples=50, deadline=None)
@given(programs(has_locks=False), st.integers(1, 6))
def test_with_a_core_for_each_thread_no_replay_takes_longer_than_the_program_with_all_its_waits(
    threads: Programs, k1: int
) -> None:
    """What was there already when a thread came for it is on no record: the replay may only be earlier by that."""
    made = recorded(threads, k1, has_marks=False)
    most = simulate(threads, len(threads)).end
    assert replayed([made.run], len(threads))[0] <= float(most) + 1


@settings(max_examples=50, deadline=None)
@given(programs())
def test_with_a_core_for_each_thread_the_replay_of_the_unchanged_run_takes_what_the_run_took(threads: Programs) -> None:
    made = recorded(threads, len(threads), has_marks=False)
    taken: dict[str, Any] = {"plans": [plan(made.run, made.locks, LOCKS)], "has_stolen": True}
    wall = record(threads, len(threads)).wall
    assert replayed([made.run], len(threads), has_stolen=True) == pytest.approx([wall], abs=1)
    assert replayed([made.run], len(threads), **taken) == pytest.approx([wall], abs=1)


@settings(max_examples=40, deadline=None)
@given(programs(has_locks=False), programs(has_locks=False), st.integers(1, 4))
def test_two_programs_together_take_what_the_later_of_both_takes(one: Programs, other: Programs, cores: int) -> None:
    first, second = recorded(one, 2, has_marks=False), recorded(other, 3, has_marks=False)
    numbered = ("post", "wait", "mark")
    shifted = [[(what, value + 1000 if what in numbered else value) for what, value in each] for each in second.program]
    expected = simulate([*first.program, *shifted], cores)
    ends = [max(expected.ends[i] for i in range(len(one))), expected.end]
    ends[1] = max(expected.ends[len(one) + i] for i in range(len(other)))
    assert replayed([first.run, second.run], cores) == pytest.approx([float(ns) for ns in ends], rel=1e-9, abs=1)


NUMBERS = st.integers(-(1 << 62), 1 << 62) | st.integers(0, 1000)
ROWS = st.builds(
    Slice,
    st.integers(0, 4),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.integers(-3, 9),
    st.integers(0, 9),
    NUMBERS,
    st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ROWS, min_size=1, max_size=30),
    st.integers(0, 10**6),
    st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(-2, 9)), max_size=5),
    st.lists(st.integers(0, 4), min_size=5, max_size=5),
    st.lists(st.integers(-3, 9), min_size=5, max_size=5),
)
def test_slices_that_no_run_has_are_replayed_to_some_end(
    rows: list[Slice], wall: int, stops: list[tuple[int, int, int]], roles: list[int], parents: list[int]
) -> None:
    def clipped(value: int) -> int:
        return min(max(value, -(1 << 61)), 1 << 61)

    sound = [
        each._replace(
            begin=clipped(each.begin), woken=clipped(each.woken), start=clipped(each.start), end=clipped(each.end)
        )
        for each in rows
    ]
    sound.append(Slice(4, 0, 0, 0, wall))
    births = [BEFORE if each % 2 else 0 for each in parents]
    run = steps(sound, wall, 2, roles, parents, births, sorted(stops))
    for stolen, collections, locks in itertools.product((True, False), repeat=3):
        (end,) = replayed([run], 2, has_stolen=stolen, has_collections=collections, has_lock_waits=locks)
        assert end == -1 or 0 <= end < 1e20
