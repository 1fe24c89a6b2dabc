"""Losses put together: sums stay what they are, the largest are named, and the rest of a cause is one row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from headway.analyses.why_rows import NAMED, Row, rows_of, there, waited_for


class SomeWaits(SimpleNamespace):
    """The columns of waits that are looked at."""

    def __len__(self) -> int:
        return len(self.key)


def rows(*losses: tuple[int, int, int, float], total: int = 1000) -> list[Row]:
    columns = [np.array(column) for column in zip(*losses, strict=True)] or [np.zeros(0)] * 4
    return rows_of(columns[0], columns[1], columns[2], columns[3].astype(float), total)


def test_losses_of_one_object_are_one_at_the_thread_that_cost_most() -> None:
    found = rows((1, 7, 3, 10), (1, 7, 4, 30), (1, 8, 3, 20))
    assert found == [Row(1, 7, 4, 40, threads=(4, 3)), Row(1, 8, 3, 20, threads=(3,))]


def test_losses_without_an_object_are_told_apart_by_thread() -> None:
    found = rows((0, -1, 3, 10), (0, -1, 4, 30), (0, -1, 3, 5))
    assert found == [Row(0, -1, 4, 30, threads=(4,)), Row(0, -1, 3, 15, threads=(3,))]


def test_threads_that_are_the_same_to_the_reader_are_one_loss() -> None:
    columns = (np.zeros(3, np.int64), np.full(3, -1), np.array([3, 4, 5]), np.array([10.0, 35.0, 20.0]))
    names = {3: "worker", 4: "main", 5: "worker"}
    found = rows_of(*columns, 1000, lambda _, thread: names[thread])
    assert [(row.thread, row.core_ns, row.threads) for row in found] == [(4, 35, (4,)), (5, 30, (5, 3))]


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


def test_how_long_threads_waited_is_counted_within_the_window_and_those_who_would_run_at_once() -> None:
    waits = SomeWaits(
        key=np.array([5, 5, 6, 5]),
        start=np.array([0, 10, 10, 40]),
        end=np.array([20, 30, 15, 50]),
        is_directed=np.array([True, True, False, True]),
    )
    found = there(cast(Any, waits), [5, 6, -1], (5, 45))
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
