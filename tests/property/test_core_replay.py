"""Replays of random programs on other cores take as long as an exact simulation of what is on record of them takes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.builders.replay_builder import BEFORE, Held, Slice, acquired, plan, replayed, steps
from support.oracles.sharing_oracle import Operation, run_to_block, run_with_locks, simulate

Programs = list[list[Operation]]


@st.composite
def programs(draw: st.DrawFn) -> Programs:
    """Threads that compute, and wait for each other in an order that can't come to a circle."""
    threads: Programs = [[("run", draw(st.integers(1, 50)))] for _ in range(draw(st.integers(1, 5)))]
    for number in range(draw(st.integers(0, 8)) if len(threads) > 1 else 0):
        poster, waiter = draw(st.lists(st.integers(0, len(threads) - 1), min_size=2, max_size=2, unique=True))
        threads[poster] += [("post", number), ("run", draw(st.integers(1, 50)))]
        threads[waiter] += [("wait", number), ("run", draw(st.integers(1, 50)))]
    return threads


def recorded(threads: Programs, cores: int) -> tuple[Programs, list[Slice], int]:
    """Return the programs without waits that did not wait on so many cores, and the slices of their run there."""
    rows, waited = run_to_block(threads, cores)
    kept = [[each for each in thread if each[0] != "wait" or each[1] in waited] for thread in threads]
    slices = [Slice(who, begin, woken, start, end, waker) for who, begin, woken, start, end, waker in rows]
    return kept, slices, max(each.end for each in slices)


@settings(max_examples=150, deadline=None)
@given(programs(), st.integers(1, 6), st.integers(1, 6))
def test_a_replay_takes_what_an_exact_simulation_takes_without_waits_for_what_was_there_already(
    threads: Programs, k1: int, k2: int
) -> None:
    kept, slices, wall = recorded(threads, k1)
    expected = simulate(kept, k2).end
    assert expected is not None
    assert replayed([steps(slices, wall, k1)], k2) == pytest.approx([float(expected)], rel=1e-9, abs=1e-3)


@settings(max_examples=50, deadline=None)
@given(programs(), st.integers(1, 6))
def test_with_a_core_for_each_thread_no_replay_takes_longer_than_the_program_with_all_its_waits(
    threads: Programs, k1: int
) -> None:
    """What was there already when a thread came for it is on no record: the replay may only be earlier by that."""
    _, slices, wall = recorded(threads, k1)
    most = simulate(threads, len(threads)).end
    assert most is not None
    assert replayed([steps(slices, wall, k1)], len(threads))[0] <= float(most) + 1e-3


@settings(max_examples=50, deadline=None)
@given(programs())
def test_with_a_core_for_each_thread_the_replay_of_the_unchanged_run_takes_what_the_run_took(threads: Programs) -> None:
    _, slices, wall = recorded(threads, len(threads))
    run = steps(slices, wall, len(threads))
    assert replayed([run], len(threads), has_stolen=True) == pytest.approx([wall], abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(programs(), programs(), st.integers(1, 4))
def test_two_programs_together_take_what_the_later_of_both_takes(one: Programs, other: Programs, cores: int) -> None:
    (first, of_first, wall), (second, of_second, until) = recorded(one, 2), recorded(other, 3)
    runs = [steps(of_first, wall, 2), steps(of_second, until, 3)]
    shifted = [[(what, value + 1000 if what != "run" else value) for what, value in thread] for thread in second]
    expected = simulate([*first, *shifted], cores).end
    assert expected is not None
    assert max(replayed(runs, cores)) == pytest.approx(float(expected), rel=1e-9, abs=1e-3)


LOCKS = 3


@st.composite
def locking_programs(draw: st.DrawFn) -> Programs:
    """Threads that compute with a lock and without, and wait for each other while they have none.

    Times are large and differ: two threads that come at one moment may get a lock in any order.
    """
    length = st.integers(1, 10**9).map(lambda value: 2 * value)
    threads: Programs = [[("run", draw(length))] for _ in range(draw(st.integers(1, 5)))]
    for number in range(draw(st.integers(1, 12))):
        at = draw(st.integers(0, len(threads) - 1))
        if draw(st.booleans()) or len(threads) == 1:
            lock = draw(st.integers(0, LOCKS - 1))
            threads[at] += [("lock", lock), ("run", draw(length)), ("unlock", lock), ("run", draw(length))]
        else:
            other = draw(st.sampled_from([each for each in range(len(threads)) if each != at]))
            threads[at] += [("post", number), ("run", draw(length))]
            threads[other] += [("wait", number), ("run", draw(length))]
    return threads


def without(threads: Programs, lock: int) -> Programs:
    """Return the programs without one lock."""
    return [[each for each in thread if each[0] not in ("lock", "unlock") or each[1] != lock] for thread in threads]


def half_held(threads: Programs, lock: int) -> Programs:
    """Return the programs with a lock released after half of what was done with it."""
    found: Programs = [list(thread) for thread in threads]
    for thread in found:
        for i in [i for i, each in enumerate(thread) if each == ("unlock", lock)]:
            half = int(thread[i - 1][1]) // 2
            thread[i - 1 : i + 2] = [("run", half), ("unlock", lock), ("run", half + int(thread[i + 1][1]))]
    return found


@settings(max_examples=150, deadline=None)
@given(locking_programs(), st.integers(1, 6), st.integers(1, 6))
def test_who_gets_a_lock_is_decided_anew_as_an_exact_simulation_decides_it(threads: Programs, k1: int, k2: int) -> None:
    rows, waited, held = run_with_locks(threads, k1)
    kept = [[each for each in thread if each[0] != "wait" or each[1] in waited] for thread in threads]
    slices = [Slice(who, begin, woken, start, end, waker) for who, begin, woken, start, end, waker in rows]
    run = steps(slices, max(each.end for each in slices), k1)
    locks = acquired([Held(*each) for each in held])
    for changed, changes in (
        (kept, {}),
        (without(kept, 0), {"gone": {0: 1}}),
        (half_held(kept, 1), {"part": {1: 0.5}}),
    ):
        expected = simulate(changed, k2).end
        assert expected is not None
        replay = replayed([run], k2, plans=[plan(run, locks, LOCKS, **changes)])
        assert replay == pytest.approx([float(expected)], rel=1e-9, abs=1)


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
