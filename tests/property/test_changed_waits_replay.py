"""Replays without waits for room, with equal parts, and with other joins are what SimPy makes of a program so changed."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from headway.analyses.whatif.balanced import Stage, balanced_steps
from support.builders.replay_builder import BEFORE, FUTEX, NANOSLEEP, TIMED_FUTEX, Slice, replayed, steps
from support.oracles.simulated_programs import Operation, record, simulate

Programs = list[list[Operation]]
NUMBERS = st.integers(10, 500)
"""All within 1 to 50: what takes a hundredth of another part is none."""
SHORT = 400


def with_low_bits(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return lists of lengths whose low bits a seed decides, so that no two threads come to anything at one moment.

    The seed is drawn with the numbers: an example that fails is the same when it is run again.
    """
    return st.builds(lambda drawn, seed: _lengthened(drawn, random.Random(seed)), numbers, st.integers(0, 2**32 - 1))


def _lengthened(drawn: Any, chance: random.Random) -> Any:
    if isinstance(drawn, int):
        return 4 * (drawn * 2**20 + chance.getrandbits(20))
    return type(drawn)(_lengthened(each, chance) for each in drawn)


def slices_of(threads: Programs, cores: int) -> tuple[list[Slice], int, set[int | Fraction]]:
    """Return the slices of a recorded program, its wall time, and what threads waited for."""
    found = record(threads, cores)
    rows = [
        Slice(
            each.thread, each.begin, each.woken, each.start, each.end, each.waker, NANOSLEEP if each.is_sleep else FUTEX
        )
        for each in found.slices
    ]
    return [each._replace(irq=each.blocked_in == NANOSLEEP) for each in rows], found.wall, found.waited


# --- queues ------------------------------------------------------------------------------------------------------------

ROOM = 1000
"""Numbers of waits for room begin here; those of waits for an element at 0."""


def pipeline(room: int, made: list[int], used: list[int]) -> Programs:
    """Return a thread that makes elements, and one that uses them, with a queue that has room for some between them."""
    maker: list[Operation] = []
    user: list[Operation] = []
    for i, (one, other) in enumerate(zip(made, used, strict=True)):
        maker += [("run", one), *([("wait", ROOM + i - room)] if i >= room else []), ("run", SHORT), ("post", i)]
        user += [("wait", i), ("run", SHORT), ("post", ROOM + i), ("run", other)]
    return [[*maker, ("run", SHORT)], user]


@settings(max_examples=60, deadline=None)
@given(
    with_low_bits(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20)),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_without_waits_for_room_threads_come_when_a_queue_without_end_lets_them(
    elements: list[tuple[int, int]], room: int, recorded_cores: int, cores: int
) -> None:
    made, used = [each[0] for each in elements], [each[1] for each in elements]
    program = pipeline(room, made, used)
    rows, wall, waited = slices_of(program, recorded_cores)
    run = steps(rows, wall, recorded_cores)
    its = run.program_steps()
    full = its["step"][(its["thread"] == 0) & (its["woken_ns"] > its["begin_ns"])]
    changed = _native.StepChanges(
        steps=run, step=full.astype(np.uint32), wait_ns=np.zeros(len(full)), work_factor=np.ones(len(full))
    )
    larger = [
        [each for each in thread if each[0] != "wait" or each[1] in waited] for thread in pipeline(99, made, used)
    ]
    expected = simulate(larger, cores)
    got = [replayed([run], cores, last=[thread], changed=[changed])[0] for thread in (0, 1)]
    assert got == pytest.approx([float(expected.ends[thread]) for thread in (0, 1)], rel=1e-9, abs=2)


def most_ahead(rows: list[Slice], wall: int) -> int:
    """Return how many waits of thread 0 that are left out are ahead of thread 1 at most."""
    run = steps(rows, wall, 2)
    its = run.program_steps()
    full = its["step"][(its["thread"] == 0) & (its["woken_ns"] > its["begin_ns"])]
    changed = _native.StepChanges(
        steps=run, step=full.astype(np.uint32), wait_ns=np.zeros(len(full)), work_factor=np.ones(len(full))
    )
    usual: dict[str, Any] = {"has_stolen": False, "work_factor": 1.0, "io_factor": 1.0, "waking_factor": 1.0}
    rest: dict[str, Any] = {"has_collections": True, "has_lock_waits": True, "per_core": 1.0, "throughput": 1.0}
    ((*_, ahead),) = _native.replay_on_cores(
        runs=[run], last=[-1], plans=[None], changed=[changed],  # type: ignore[list-item]
        cores=2.0, **usual, **rest,
    )  # fmt: skip
    return int(ahead)


@pytest.mark.parametrize(("used", "expected"), [(100_000, 8), (20_000, 4), (10_000, 0)])
def test_how_many_waits_are_left_out_at_a_time_is_how_far_the_maker_is_ahead(used: int, expected: int) -> None:
    """Ten elements, one made every 10,400, the last one at 104,000, with room for one.

    With 100,000 for each, the second one is taken after that; with 20,000 the fifth one is taken at 94,000.
    """
    rows, wall, _ = slices_of(pipeline(1, [10_000] * 10, [used] * 10), 2)
    assert most_ahead(rows, wall) == expected


# --- equal parts -------------------------------------------------------------------------------------------------------


def staged(parts: list[list[int]], kind: str) -> Programs:
    """Return a thread that lets workers go, each with its part of a stage, waits for all, and goes on to the next stage."""
    count = len(parts[0])
    first: list[Operation] = []
    workers: Programs = [[] for _ in range(count)]
    for stage, lengths in enumerate(parts):
        number = 100 * stage
        first += [("run", SHORT), *[("post", number + i) for i in range(count)]]
        first += [("wait", number + 50 + i) for i in range(count)]
        for i, ns in enumerate(lengths):
            workers[i] += [("wait", number + i), (kind, ns), ("post", number + 50 + i)]
    return [[*first, ("run", SHORT)], *workers]


PARTS = with_low_bits(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(NUMBERS, min_size=n, max_size=n), min_size=1, max_size=3))
)


def stages_in(rows: list[Slice], count: int, stages: int) -> list[Stage]:
    """Return the stages: each ends as the first thread has waited for the last time before it computes again."""
    waits = [each for each in rows if each.thread == 0 and each.woken > each.begin]
    ends = [each.woken for i, each in enumerate(waits) if each.end > each.start]
    assert len(ends) == stages
    return [Stage(begin, end, tuple(range(1, count + 1))) for begin, end in zip([0, *ends], ends, strict=False)]


@settings(max_examples=60, deadline=None)
@given(PARTS, st.sampled_from(["run", "sleep"]), st.integers(5, 8))
def test_equal_parts_take_what_a_program_takes_whose_parts_are_equal(
    parts: list[list[int]], kind: str, cores: int
) -> None:
    rows, wall, _ = slices_of(staged(parts, kind), cores)
    run = steps(rows, wall, cores)
    its = {name: np.asarray(column, np.int64) for name, column in run.program_steps().items()}
    found = balanced_steps(its, stages_in(rows, len(parts[0]), len(parts)))
    changed = _native.StepChanges(
        steps=run, step=found.step.astype(np.uint32), wait_ns=found.wait_ns, work_factor=found.work_factor
    )
    equal = [[Fraction(sum(lengths), len(lengths)) for _ in lengths] for lengths in parts]
    expected = simulate(staged(equal, kind), cores)  # type: ignore[arg-type]
    (got,) = replayed([run], cores, last=[0], changed=[changed])
    assert got == pytest.approx(float(expected.ends[0]), rel=1e-9, abs=10)


# --- joins -------------------------------------------------------------------------------------------------------------


def joined(works: list[int], factor: Fraction = Fraction(1), of: int = 0) -> Programs:
    """Return a thread that waits for all others to end, in the order of their numbers; one of them is faster by a factor."""
    first: list[Operation] = [("run", 4), *[("wait", i) for i in range(1, len(works) + 1)], ("run", 400)]
    return [first, *([("run", ns * (factor if i == of else 1)), ("post", i)] for i, ns in enumerate(works, 1))]


@settings(max_examples=60, deadline=None)
@given(
    with_low_bits(st.lists(NUMBERS, min_size=1, max_size=6)),
    st.integers(1, 6),
    st.sampled_from([Fraction(1, 4), Fraction(8)]),
    st.data(),
)
def test_who_waited_for_threads_to_end_waits_for_whoever_is_last_after_a_change(
    works: list[int], cores: int, factor: Fraction, data: st.DataObject
) -> None:
    """Of threads that had ended before the first one came to them there is no wait on record."""
    of = data.draw(st.integers(1, len(works)))
    rows, wall, _ = slices_of(joined(works), len(works) + 1)
    count = len(works)
    run = steps(
        rows, wall, len(works) + 1, parents=[-1, *[0] * count], births=[BEFORE, *[0] * count], ended=[0, *[1] * count]
    )
    its = run.program_steps()
    mine = np.flatnonzero(its["thread"] == of)
    changed = _native.StepChanges(
        steps=run, step=its["step"][mine].astype(np.uint32), wait_ns=np.full(len(mine), -1.0),
        work_factor=np.full(len(mine), float(factor)),
    )  # fmt: skip
    expected = simulate(joined(works, factor, of), cores)
    (got,) = replayed([run], cores, last=[0], changed=[changed])
    assert got == pytest.approx(float(expected.ends[0]), rel=1e-9, abs=10)


# --- sleeps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("waits", "end"),
    [(None, 30), ([], 120), ([(1, 0, 105, 5), (1, 108, 200, 5)], 30), ([(1, 0, 105, 5), (1, 108, 200, 6)], 120)],
    ids=["unknown", "the JVM tells of none", "of two for one thing", "of two for two things"],
)
def test_a_thread_sleeps_to_the_end_before_it_waits_for_another_one(
    waits: list[tuple[int, int, int, int]] | None, end: int
) -> None:
    """Thread 1 waits until 100, computes 10, and waits for thread 0, which comes to it at 20 instead of 200; it computes 10."""
    slices = [
        Slice(0, 0, 0, 0, 200),
        Slice(1, 0, 100, 100, 110, blocked_in=TIMED_FUTEX, irq=True),
        Slice(1, 110, 200, 200, 210, waker=0),
    ]
    run = steps(slices, 210, 2, jvm_waits=waits)
    changed = _native.StepChanges(
        steps=run, step=np.zeros(1, np.uint32), wait_ns=np.full(1, -1.0), work_factor=np.full(1, 0.1)
    )
    # Cut short, it computes what it computed in between from 20 on.
    assert replayed([run], 2, last=[1], changed=[changed]) == pytest.approx([40 if end == 30 else end])


@pytest.mark.parametrize(
    ("waits", "end"),
    [(None, 410), ([], 410), ([(1, 0, 60, 5)], 260), ([(1, 0, 60, 5), (1, 64, 101, 6)], 410)],
    ids=["unknown", "of a thread that the JVM tells nothing of", "that the JVM does not tell", "that the JVM tells"],
)
def test_a_wait_inside_the_jvm_is_over_as_it_was_where_the_other_thread_is_late(
    waits: list[tuple[int, int, int, int]] | None, end: int
) -> None:
    """Thread 1 waits for a lock of the JVM from 65 to 100; thread 0, which comes to that at 100, takes four times as long."""
    slices = [
        Slice(0, 0, 0, 0, 200),
        Slice(1, 0, 50, 50, 65, waker=0),
        Slice(1, 65, 100, 100, 110, waker=0),
    ]
    run = steps(slices, 200, 2, jvm_waits=waits)
    changed = _native.StepChanges(
        steps=run, step=np.zeros(1, np.uint32), wait_ns=np.full(1, -1.0), work_factor=np.full(1, 4.0)
    )
    assert replayed([run], 2, last=[1], changed=[changed]) == pytest.approx([end])
