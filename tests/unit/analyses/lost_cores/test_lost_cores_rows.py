"""Losses put together: sums stay what they are, the largest are named, and the rest of a cause is one row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from headway.analyses.lost_cores.grouping import (
    MOST_LONG,
    NAMED,
    LossRow,
    long_calls_of,
    rows_of,
    wait_totals_of,
    waited_for,
    waited_long_for,
)
from headway.analyses.lost_cores.places import Places


class SomeWaits(SimpleNamespace):
    """The columns of waits that are looked at."""

    def __len__(self) -> int:
        return len(self.key)


def rows(*losses: tuple[int, int, int, float], total: int = 1000) -> list[LossRow]:
    columns = [np.array(column) for column in zip(*losses, strict=True)] or [np.zeros(0)] * 4
    return rows_of(columns[0], columns[1], columns[2], columns[3].astype(float), total)


def test_losses_of_one_object_are_one_at_the_thread_that_cost_most() -> None:
    found = rows((1, 7, 3, 10), (1, 7, 4, 30), (1, 8, 3, 20))
    assert found == [LossRow(1, 7, 4, 40, threads=(4, 3)), LossRow(1, 8, 3, 20, threads=(3,))]


def test_losses_without_an_object_are_told_apart_by_thread() -> None:
    found = rows((0, -1, 3, 10), (0, -1, 4, 30), (0, -1, 3, 5))
    assert found == [LossRow(0, -1, 4, 30, threads=(4,)), LossRow(0, -1, 3, 15, threads=(3,))]


def test_threads_that_are_the_same_to_the_reader_are_one_loss() -> None:
    columns = (np.zeros(3, np.int64), np.full(3, -1), np.array([3, 4, 5]), np.array([10.0, 35.0, 20.0]))
    names = {3: "worker", 4: "main", 5: "worker"}
    found = rows_of(*columns, 1000, lambda _, thread: names[thread])
    assert [(row.thread, row.core_ns, row.threads) for row in found] == [(4, 35, (4,)), (5, 30, (5, 3))]


def pooled(*lost: float) -> list[tuple[float, tuple[int, ...]]]:
    """Losses of threads 10, 11, ... that are one pool, beside a thread 9 that is none of it."""
    ns = np.array([*lost, 7.0])
    thread = np.array([*range(10, 10 + len(lost)), 9])
    found = rows_of(
        np.zeros(len(ns), np.int64), np.full(len(ns), -1), thread, ns, 1000, pool=lambda _, each: each >= 10
    )
    return [(row.core_ns, row.threads) for row in found]


def test_threads_of_a_pool_are_one_loss() -> None:
    assert pooled(10, 30, 20) == [(30, (11,)), (30, (12, 10)), (7, (9,))]
    assert pooled(10, 29, 20) == [(59, (11, 12, 10)), (7, (9,))]
    ten = pooled(*range(20, 30))
    assert ten == [(sum(range(20, 30)), tuple(range(19, 9, -1))), (7, (9,))]


def test_a_straggler_stands_beside_its_pool() -> None:
    assert pooled(10, 90, 20, 15) == [(90, (11,)), (45, (12, 13, 10)), (7, (9,))]
    assert pooled(10) == [(10, (10,)), (7, (9,))]


def test_what_has_an_object_is_no_matter_of_pools() -> None:
    columns = (np.zeros(3, np.int64), np.array([5, 5, 6]), np.array([10, 11, 12]), np.array([10.0, 11.0, 12.0]))
    found = rows_of(*columns, 1000, pool=lambda _, __: "pool")
    assert [(row.key, row.core_ns, row.threads) for row in found] == [(5, 21, (11, 10)), (6, 12, (12,))]


@pytest.mark.parametrize("seed", range(5))
def test_the_sum_is_kept_to_the_ns_however_many_there_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = 5000
    lost = random.exponential(1000.0, count)
    cause, key = random.integers(0, 20, count), random.integers(-1, 500, count)
    found = rows_of(cause, key, random.integers(-1, 50, count), lost, int(lost.sum()))
    assert sum(row.core_ns for row in found) == round(lost.sum())
    assert [row.core_ns for row in found] == sorted((row.core_ns for row in found), reverse=True)
    assert sum(not row.is_rest for row in found) <= NAMED + 20
    by_cause = np.bincount(cause, weights=lost, minlength=20)
    for one in range(20):
        assert sum(row.core_ns for row in found if row.cause == one) == pytest.approx(by_cause[one], abs=len(found))


def test_nothing_lost_is_no_row() -> None:
    assert rows() == []
    assert rows((0, -1, 1, 0.0)) == []


def test_the_first_of_each_cause_is_named_however_small() -> None:
    assert [row.is_rest for row in rows((0, -1, 1, 900.0), (5, 2, 1, 1.0), total=10**9)] == [False, False]


def test_what_was_waited_for_long_has_a_row_though_next_to_nothing_was_lost_to_it() -> None:
    columns = (np.array([1, 1, 1]), np.array([5, 7, 8]), np.array([3, 3, 3]), np.array([100_000.0, 4.0, 3.0]))
    found = rows_of(*columns, 1_000_000, named_anyway={(1, 7), (2, 9)})
    assert [(row.cause, row.key, row.core_ns, row.is_rest) for row in found] == [
        (1, 5, 100_000, False),
        (1, 7, 4, False),
        (1, -1, 3, True),
        (2, 9, 0, False),
    ]


def test_long_sleeps_of_threads_have_a_row_though_next_to_nothing_was_lost_to_them() -> None:
    columns = (np.array([1, 1, 1]), np.array([-1, -1, -1]), np.array([3, 4, 5]), np.array([100_000.0, 4.0, 3.0]))
    found = rows_of(*columns, 1_000_000, lambda _, thread: f"of {thread}", long_calls={(1, "of 4"), (2, "of 5")})
    assert [(row.cause, row.threads, row.core_ns, row.is_rest) for row in found] == [
        (1, (3,), 100_000, False),
        (1, (4,), 4, False),
        (1, (), 3, True),
    ]


def test_long_sleeps_are_those_of_all_threads_that_are_one_within_the_window() -> None:
    thread = np.array([1, 2, 3, 1 << 40])
    calls = {1: (thread, np.array([0, 0, 95, 0]), np.array([6, 5, 140, 9]))}
    assert long_calls_of(calls, lambda _, one: "both" if one < 3 else one, (0, 100)) == {(1, "both")}, "11 of 100"
    assert long_calls_of(calls, lambda _, one: one, (100, 200)) == {(1, 3)}
    many = np.arange(20)
    calls = {1: (many, np.zeros(20, np.int64), 50 + many)}
    assert long_calls_of(calls, lambda _, one: one, (0, 100)) == {(1, one) for one in range(20 - MOST_LONG, 20)}


def test_what_was_waited_for_long_is_told_by_the_time_of_all_threads_within_the_window() -> None:
    lengths = [100, 9, 10, 50, 80, *range(20, 20 + MOST_LONG)]
    count = len(lengths)
    waits = cast(
        "Any",
        SomeWaits(
            key=np.array([0, 1, 2, 3, -1, *range(5, count)]),
            cause=np.array([1, 1, 1, 9, 1, *[2] * MOST_LONG]),
            start=np.zeros(count, np.int64),
            end=np.array(lengths),
            is_directed=np.ones(count, bool),
        ),
    )
    longest = {(2, key) for key in range(6, count)}
    assert waited_long_for(waits, [1, 2], (0, 100)) == {(1, 0), *longest}, "no more than the longest"
    assert waited_long_for(waits, [1], (0, 100)) == {(1, 0), (1, 2)}, "2 for a tenth, 1 for less"
    assert waited_long_for(waits, [1], (90, 190)) == {(1, 0)}, "0 for ten within the window"
    waits.is_directed[0] = False
    assert waited_long_for(waits, [1], (0, 100)) == {(1, 2)}, "who has nothing to do waits for nothing"
    assert waited_long_for(waits, [3], (0, 100)) == frozenset()


def test_how_long_threads_waited_is_counted_within_the_window_and_those_who_would_run_at_once() -> None:
    waits = SomeWaits(
        key=np.array([5, 5, 6, 5]),
        start=np.array([0, 10, 10, 40]),
        end=np.array([20, 30, 15, 50]),
        is_directed=np.array([True, True, False, True]),
    )
    found = wait_totals_of(cast(Any, waits), [5, 6, -1], (5, 45))
    assert (found[5].wall_ns, found[5].thread_ns, found[5].peak) == (25 + 5, 15 + 20 + 5, 2)
    assert (found[6].wall_ns, found[6].thread_ns, found[6].peak) == (5, 0, 0)


def test_how_long_at_least_one_thread_waited_because_of_a_cause_is_a_union_within_the_window() -> None:
    waits = SomeWaits(
        cause=np.array([3, 3, 4, 3]),
        start=np.array([0, 10, 30, 50]),
        end=np.array([20, 30, 50, 70]),
        key=np.full(4, -1),
    )
    assert waited_for(cast(Any, waits), 3, (5, 60)) == 25 + 10
    assert waited_for(cast(Any, waits), 5, (5, 60)) == 0


def test_a_loss_knows_all_of_its_threads() -> None:
    many = [(0, -1, thread, 1.0 + thread) for thread in range(200)]
    columns = [np.array(column) for column in zip(*many, strict=True)]
    (row,) = rows_of(columns[0], columns[1], columns[2], columns[3], 1000, lambda *_: "worker")
    assert row.threads == tuple(reversed(range(200)))


@pytest.mark.parametrize(
    ("name", "crowd"),
    [
        ("http-nio-8080-exec-3", "http-nio-*-exec-*"),
        ("Executor task 3.0 in stage 1.0 (TID 7)", "Executor task *.* in stage *.* (TID *)"),
        ("pool-2-thread-13", "pool-2-thread-*"),
        ("ForkJoinPool-1-worker-3", "ForkJoinPool-1-worker-*"),
        ("ForkJoinPool.commonPool-worker-3", "ForkJoinPool.commonPool-worker-*"),
    ],
)
def test_threads_of_one_pool_are_alike_and_those_of_two_without_names_are_not(name: str, crowd: str) -> None:
    places = Places.__new__(Places)
    places.thread = lambda thread: (name, 1)  # type: ignore[method-assign]
    assert places.crowd(0) == (crowd, 1)
