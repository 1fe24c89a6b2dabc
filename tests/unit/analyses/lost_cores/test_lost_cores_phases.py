"""Phases: change points in parallelism."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headway.analyses.lost_cores.account.phases import MOST, SHORTEST, _partition, change_points, stretches
from headway.analyses.scheduling.activity import Activity


def cost(level: np.ndarray, cuts: tuple[int, ...], penalty: float) -> float:
    """The sum that is minimised, by its definition."""
    edges = [0, *cuts, len(level)]
    parts = [level[i:j] for i, j in itertools.pairwise(edges)]
    return float(sum(((part - part.mean()) ** 2).sum() for part in parts) + penalty * len(parts))


@pytest.mark.parametrize("seed", range(20))
def test_the_partition_is_the_best_of_all_there_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    level = random.integers(0, 4, 11).astype(float)
    found = _partition(level, np.ones(11), 1.0, 2)
    every = [
        cuts
        for count in range(5)
        for cuts in itertools.combinations(range(2, 10), count)
        if all(b - a >= 2 for a, b in itertools.pairwise((0, *cuts, 11)))
    ]
    assert cost(level, found, 1.0) == pytest.approx(min(cost(level, cuts, 1.0) for cuts in every))


def test_steps_are_found_where_they_are_though_they_are_noisy() -> None:
    random = np.random.default_rng(5)
    level = np.repeat([1.0, 3.5, 0.2, 4.0], [100, 200, 50, 250]) + random.normal(0, 0.2, 600)
    assert change_points(level, np.ones(600), 4) == pytest.approx((100, 300, 350), abs=1)


def test_noise_alone_is_one_phase() -> None:
    for seed in range(30):
        level = np.random.default_rng(seed).normal(2.0, 0.5, 600)
        assert change_points(level, np.ones(600), 4) == ()


def test_there_are_at_most_twelve_and_none_is_shorter_than_the_least() -> None:
    level = np.tile(np.repeat([0.0, 8.0], 15), 20)
    cuts = change_points(level, np.ones(600), 8)
    assert len(cuts) < MOST
    assert min(np.diff([0, *cuts, 600])) >= SHORTEST * 600


def test_a_change_above_the_number_of_cores_is_none() -> None:
    assert change_points(np.minimum(np.repeat([4.0, 9.0], 300), 2), np.ones(600), 2) == ()


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_few_bins_are_no_matter(count: int) -> None:
    level = np.linspace(0, 4, count)
    cuts = change_points(level, np.ones(count), 4)
    assert all(0 < cut < count for cut in cuts)


def levels_activity(levels: list[int], bin_ns: int) -> Activity:
    """One row per bin: so many application threads all the time."""
    starts = np.arange(len(levels), dtype=np.int64) * bin_ns
    counts = np.zeros((len(levels), 4), dtype=np.int64)
    counts[:, 0] = levels
    lengths = np.full(len(levels), bin_ns, dtype=np.int64)
    return Activity(0, len(levels) * bin_ns, starts, lengths, counts, counts, None)


def test_stretches_cover_the_span_and_know_their_mean() -> None:
    found = stretches(levels_activity([1] * 100 + [6] * 100, 10), 4)
    assert [(each.start_ns, each.end_ns, each.active) for each in found] == [(0, 1000, 1.0), (1000, 2000, 6.0)]
