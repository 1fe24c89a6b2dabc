"""Noise that shows more than a line can gain is no finding; what can be is found as before, and so is contention that ends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from headway.analyses import causal_curves, causal_limits, causal_pairs
from headway.analyses.causal import analyse
from headway.analyses.causal_data import Data
from headway.analyses.causal_types import Curve, Line
from made_causal import Made, data_of, printed, serial, whole_runs, with_columns

SMALL = 0.02
"""Of the time: so much the line is sampled, and can gain."""


def line_of(made: Made) -> Line:
    (line,) = analyse(data_of(made), "a.headway").lines
    return line


def curve_of(made: Made) -> Curve:
    curve = line_of(made).curve
    assert curve is not None
    return curve


def p_of(made: Made) -> float:
    found = curve_of(made).p_value
    assert found is not None
    return found


def small(gain: float, seed: int, pairs: int = 20) -> Made:
    return Made({"line": serial(gain)}, pairs=pairs, seed=seed, cpu_share=SMALL, dispersion=3.0)


def test_of_lines_without_effect_fewer_seem_to_gain_than_chance_would_have_it_and_as_many_to_lose() -> None:
    # Each way 2.5 % of 400 are 10 by chance; 20 or more come about once in 300 times.
    curves = [curve_of(small(0.0, seed)) for seed in range(400)]
    gain = sum((curve.p_value or 0) < 0.05 and (curve.slope or 0) > 0 for curve in curves)
    loss = sum((curve.p_value or 0) < 0.05 and (curve.slope or 0) < 0 for curve in curves)
    assert gain <= 1
    assert 3 <= loss < 20


def test_a_large_effect_that_delays_allow_is_found_with_the_evidence_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made({"line": serial(0.2)}, pairs=12, seed=2, dispersion=3.0)  # of 0.3: sampled in so much of the time
    found = p_of(made)
    monkeypatch.setattr(causal_limits, "possible_gains", lambda *_: None)
    assert found == pytest.approx(p_of(made), rel=0.5)


def test_a_line_whose_delays_end_contention_is_found_with_more_evidence_than_others_need() -> None:
    assert not line_of(small(0.15, 1, pairs=10)).significant
    assert line_of(small(0.15, 1, pairs=1000)).significant


@pytest.mark.parametrize(
    ("value", "most", "t"),
    [
        (0.1, None, 2.0),
        (0.1, 0.2, 2.0),
        (-0.1, 0.02, 2.0),
        (0.1, 0.0, 0.0),
        (0.1, -0.05, 0.0),
        (0.13, 0.01, math.sqrt(0.13**2 - 0.12**2) / 0.05),
    ],
)
def test_evidence_is_that_of_the_best_effect_that_can_be(value: float, most: float | None, t: float) -> None:
    assert causal_limits.evidence(value, 0.05, most) == pytest.approx(t)


def limits(data: Data, speedups: list[int]) -> list[float]:
    mine, _ = causal_pairs.pairs(data, causal_pairs.usable(data))
    found = causal_limits.possible_gains(data, mine, data.measures[0], speedups)
    assert found is not None
    return [float(each) for each in found]


def test_a_program_without_noise_gains_all_that_delays_allow_if_it_is_nothing_but_the_line() -> None:
    # Every visit is the line's alone: at 40 % of its time delays take 60 % of the experiments.
    made = Made({"line": serial(1.0)}, pairs=40, speedups=(20, 40, 60), cpu_share=1.0, is_fixed_visits=True)
    assert limits(data_of(made), [20, 40, 60]) == pytest.approx([0.2, 0.4, 0.6], abs=1e-6)
    assert [point.program_speedup_pct for point in line_of(made).points] == pytest.approx([20, 40, 60], abs=1e-6)


def test_a_latency_has_no_limit_and_a_whole_run_has_one() -> None:
    data = whole_runs(0.3, 40, 1)
    columns = data.columns
    for speedup, found in zip((50, 100), limits(data, [50, 100]), strict=True):
        rows = columns["speedup_pct"] == speedup
        of_each = columns["delay_ns"][rows] / columns["dur_ns"][rows]
        assert of_each.min() < found < of_each.max()
    latency = replace(data, measures=(replace(data.measures[0], measure="latency"),))
    mine, _ = causal_pairs.pairs(latency, causal_pairs.usable(latency))
    assert causal_limits.possible_gains(latency, mine, latency.measures[0], [50]) is None


def in_bursts(gain: float, pairs: int = 360) -> Data:
    """Return a program that works a sixth of the time, and hardly touches its line in the rest."""
    data = data_of(Made({"line": serial(gain)}, pairs=pairs, dispersion=1.0))
    columns = data.columns
    works = (np.arange(data.count) // 120) % 6 == 1
    less = {
        name: np.where(works, columns[name], columns[name] // 20) for name in ("delay_ns", "all_hits_ns", "hits_ns")
    }
    dur_ns = columns["effective_ns"] + less["delay_ns"]
    begins = np.concatenate([[0], np.cumsum(dur_ns)[:-1]])
    measured = replace(data.measures[0], visits=np.where(works, data.measures[0].visits, 0))
    lines = {0: {**data.lines[0], "cpu_ns": int(less["all_hits_ns"].sum())}}
    placed = with_columns(data, **less, dur_ns=dur_ns, start_ns=begins)
    return replace(placed, measures=(measured,), lines=lines, recorded_ns=int(dur_ns.sum()))


def test_where_visits_come_in_bursts_the_delays_of_the_bursts_are_the_limit() -> None:
    data = in_bursts(0.15)
    columns = data.columns
    rows = columns["speedup_pct"] == 100
    of_all = columns["delay_ns"][rows].sum() / columns["dur_ns"][rows].sum()
    assert of_all < 0.1 < 0.15, "or all of the time would do as well"
    assert limits(data, [100])[0] > 0.2
    (line,) = analyse(data, "a.headway").lines
    assert line.significant
    assert line.slope == pytest.approx(0.15, abs=0.05)


def test_a_limit_is_scaled_with_the_gain_to_the_whole_run() -> None:
    fit = causal_curves.Fit(np.array([0.5, 1.0]), np.array([0.1, 0.2]), np.ones(2), None, 0, 1, np.array([0.2, 0.4]))
    found = causal_curves.scaled(fit, 0.25, 0.0, 1).most
    assert found is not None
    assert found.tolist() == pytest.approx([0.05, 0.1])


def test_the_limit_of_a_slope_is_that_of_its_points_weighted_as_the_gains_are() -> None:
    # Weighted least squares by hand: (1 * .5 * .2 + 3 * 1 * .3) / (1 * .25 + 3 * 1)
    fit = causal_curves.Fit(np.array([0.5, 1.0]), np.zeros(2), np.array([1.0, 3.0]), None, 0, 1, np.array([0.2, 0.3]))
    found = causal_curves.slope(fit)
    assert found is not None
    assert found.most == pytest.approx(1.0 / 3.25)


def test_a_line_whose_noise_is_beyond_its_delays_is_said_to_be_and_needs_what_its_true_size_needs() -> None:
    made = small(0.15, 14)
    curve = curve_of(made)
    assert curve.shape == "unknown"
    assert curve.slope_most is not None
    assert curve.slope_low is not None
    assert curve.slope_low > curve.slope_most
    assert curve.is_beyond_delays
    assert curve.slope_high is not None
    half = (curve.slope_high - curve.slope_low) / 2
    data = data_of(made)
    # Of at most 2 % it is to be told from 5 %: not as soon as what it seems to be from nothing.
    least = data.recorded_ns / 1e9 * ((half / (0.05 - curve.slope_most)) ** 2 - 1)
    assert curve.needs_s == pytest.approx(least)
    said = " ".join(printed(analyse(data, "a.headway")).split())
    assert "too much" in said
    assert "more than their delays allow: App.java:10" in said


def test_a_line_within_its_limits_is_not_said_to_be_beyond_them() -> None:
    made = Made({"line": serial(0.2)}, pairs=4, seed=2, dispersion=3.0)
    assert not curve_of(made).is_beyond_delays
    assert "more than their delays allow" not in " ".join(printed(analyse(data_of(made), "a.headway")).split())
