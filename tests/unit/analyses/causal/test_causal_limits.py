"""Noise that shows more than a line can gain is no finding; what can be is found as before, and so is contention that ends."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from headway.analyses.causal import limits as causal_limits
from headway.analyses.causal import pairs as causal_pairs
from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import Data
from headway.analyses.causal.types import Curve, Line
from headway.model.causal import curves as causal_curves
from headway.report.html.causal import build_causal
from headway.report.json.causal import causal_json
from support.builders.causal_builder import CausalModel, data_of, notice_ids, printed, serial, whole_runs, with_columns

SMALL = 0.02
"""Of the time: so much the line is sampled, and can gain."""


def line_of(model: CausalModel) -> Line:
    (line,) = analyse(data_of(model), "a.headway").lines
    return line


def curve_of(model: CausalModel) -> Curve:
    curve = line_of(model).curve
    assert curve is not None
    return curve


def p_of(model: CausalModel) -> float:
    found = curve_of(model).p_value
    assert found is not None
    return found


def small(gain: float, seed: int, pairs: int = 20) -> CausalModel:
    return CausalModel({"line": serial(gain)}, pairs=pairs, seed=seed, cpu_share=SMALL, dispersion=3.0)


def test_of_lines_without_effect_fewer_seem_to_gain_than_chance_would_have_it_and_as_many_to_lose() -> None:
    # Each way 2.5 % of 400 are 10 by chance; 20 or more come about once in 300 times.
    curves = [curve_of(small(0.0, seed)) for seed in range(400)]
    gain = sum((curve.p_value or 0) < 0.05 and (curve.slope or 0) > 0 for curve in curves)
    loss = sum((curve.p_value or 0) < 0.05 and (curve.slope or 0) < 0 for curve in curves)
    assert gain <= 1
    assert 3 <= loss < 20


def test_a_large_effect_that_delays_allow_is_found_with_the_evidence_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    model = CausalModel(
        {"line": serial(0.2)}, pairs=12, seed=2, dispersion=3.0
    )  # of 0.3: sampled in so much of the time
    found = p_of(model)
    monkeypatch.setattr(causal_limits, "possible_gains", lambda *_: None)
    assert found == pytest.approx(p_of(model), rel=0.5)


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
    assert causal_curves.evidence(value, 0.05, most) == pytest.approx(t)


def limits(data: Data, speedups: list[int]) -> list[float]:
    mine, _ = causal_pairs.pairs(data, causal_pairs.usable(data))
    found = causal_limits.possible_gains(data, mine, data.measures[0], speedups)
    assert found is not None
    return [float(each) for each in found]


def test_a_program_without_noise_gains_all_that_delays_allow_if_it_is_nothing_but_the_line() -> None:
    # Every visit is the line's alone: at 40 % of its time delays take 60 % of the experiments.
    model = CausalModel({"line": serial(1.0)}, pairs=40, speedups=(20, 40, 60), cpu_share=1.0, is_fixed_visits=True)
    assert limits(data_of(model), [20, 40, 60]) == pytest.approx([0.2, 0.4, 0.6], abs=1e-6)
    assert [point.program_speedup_pct for point in line_of(model).points] == pytest.approx([20, 40, 60], abs=1e-6)


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
    data = data_of(CausalModel({"line": serial(gain)}, pairs=pairs, dispersion=1.0))
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
    model = small(0.15, 14)
    curve = curve_of(model)
    assert curve.shape == "unknown"
    assert curve.slope_most is not None
    assert curve.slope_low is not None
    assert curve.slope_low > curve.slope_most
    assert curve.is_beyond_delays
    assert curve.slope_high is not None
    half = (curve.slope_high - curve.slope_low) / 2
    data = data_of(model)
    # Of at most 2 % it is to be told from 5 %: not as soon as what it seems to be from nothing.
    least = data.recorded_ns / 1e9 * ((half / (0.05 - curve.slope_most)) ** 2 - 1)
    assert curve.needs_s == pytest.approx(least)
    said = " ".join(printed(analyse(data, "a.headway")).split())
    assert "too much" in said
    assert "more than their delays allow (+2.2 % at most): App.java:10; noise, or threads" in said
    assert "Not known well enough" not in said
    assert "is more than its delays allow." in said
    result = analyse(data, "a.headway")
    assert not {"HW622", "HW649"} & notice_ids(result)
    for shown in (build_causal(result)["lines"][0]["curves"][0], causal_json(result)["lines"][0]):
        assert shown["is_beyond_delays"]
        assert shown["slope_most"] == pytest.approx(curve.slope_most)


def test_a_line_within_its_limits_is_not_said_to_be_beyond_them() -> None:
    model = CausalModel({"line": serial(0.2)}, pairs=4, seed=2, dispersion=3.0)
    assert not curve_of(model).is_beyond_delays
    assert "more than their delays allow" not in " ".join(printed(analyse(data_of(model), "a.headway")).split())


def drawn_anew(pairs: int, seed: int) -> Data:
    """Return a program that works in a sixth of its experiments, by chance, and touches its line only there; no gain at all.

    Delays of half the line's time make an experiment longer, and its visits are as many per time with them as without.
    """
    data = data_of(CausalModel({"line": serial(0.0)}, pairs=pairs, seed=seed, speedups=(50,), cpu_share=1.0))
    random = np.random.default_rng((seed, 2))
    works = random.random(data.count) < 1 / 6
    columns = data.columns
    delay_ns = np.where(works & (columns["speedup_pct"] > 0), columns["dur_ns"] // 2, 0)
    visits = np.where(works, random.poisson(columns["dur_ns"] / 1e6), 0).astype(float)
    placed = with_columns(data, delay_ns=delay_ns, effective_ns=columns["dur_ns"] - delay_ns)
    measured = replace(data.measures[0], visits=visits, time_ns=placed.columns["effective_ns"].astype(float))
    return replace(placed, measures=(measured,))


def test_where_bursts_are_as_short_as_experiments_the_limit_is_still_above_what_was_measured() -> None:
    data = drawn_anew(4000, 1)
    mine, _ = causal_pairs.pairs(data, causal_pairs.usable(data))
    speedups, found = causal_curves.ratios(mine, data.measures[0], data.columns["speedup_pct"])
    assert speedups == [50]
    assert 1 - found[0] > 0.2, "visits and effective time go together here, and the ratio is off"
    assert limits(data, [50])[0] > 1 - found[0]


def test_a_line_far_beyond_its_limit_needs_what_would_make_it_a_finding() -> None:
    # With a slope of 15 % of a line of 0.2 % of the time the interval never comes inside 5 %.
    model = replace(small(0.15, 3, pairs=200), cpu_share=0.002)
    curve = curve_of(model)
    assert curve.shape == "unknown"
    assert curve.is_beyond_delays
    assert curve.needs_s is not None
    longer = 1 + curve.needs_s / (data_of(model).recorded_ns / 1e9)
    assert longer > 1.5
    found = [line_of(replace(model, pairs=round(200 * 1.5 * longer), seed=seed)).significant for seed in range(10)]
    assert sum(found) >= 7, "half as much again is more than enough, nine times of ten"


def test_a_line_that_can_gain_nothing_at_all_is_not_promised_to_be_a_finding() -> None:
    data = data_of(replace(small(0.15, 3, pairs=200), cpu_share=0.0))
    (line,) = analyse(data, "a.headway").lines
    assert line.is_beyond_delays
    assert line.curve is not None
    assert line.curve.needs_s is None


def test_what_a_line_within_its_limits_needs_goes_by_its_own_size() -> None:
    for gain, seed in ((0.12, 1), (-0.12, 4)):
        model = CausalModel({"line": serial(gain)}, pairs=8, seed=seed, dispersion=30.0)
        curve = curve_of(model)
        assert curve.shape == "unknown"
        assert curve.slope is not None
        assert curve.slope_most is not None
        assert abs(curve.slope) > 0.05
        assert curve.slope < curve.slope_most
        assert curve.slope_high is not None
        assert curve.slope_low is not None
        half = (curve.slope_high - curve.slope_low) / 2
        least = data_of(model).recorded_ns / 1e9 * max((half / (0.7 * abs(curve.slope))) ** 2 - 1, 0.1)
        assert curve.needs_s == pytest.approx(least)


def test_a_finding_beyond_its_delays_is_told_and_one_within_is_not() -> None:
    beyond = analyse(data_of(small(0.15, 1, pairs=1000)), "a.headway")
    (notice,) = [each for each in beyond.notices if each.id == "HW649"]
    assert "App.java:10: +1" in notice.message
    assert "delays allow +2." in notice.message
    assert "too much" not in printed(beyond)
    within = analyse(data_of(CausalModel({"line": serial(0.2)}, pairs=100)), "a.headway")
    assert within.lines[0].significant
    assert "HW649" not in notice_ids(within)


def test_few_experiments_are_too_few_rather_than_too_much() -> None:
    model = replace(small(0.5, 2, pairs=5), dispersion=0.1)
    curve = curve_of(model)
    assert sum(point.experiments for point in curve.points) == 5
    assert curve.slope_low is not None
    assert curve.slope_most is not None
    assert curve.slope_low > curve.slope_most
    assert not curve.is_beyond_delays


def test_a_line_that_is_all_of_a_program_without_noise_is_not_beyond_its_delays_by_rounding() -> None:
    model = CausalModel({"line": serial(1.0)}, pairs=40, speedups=(20, 30, 60), cpu_share=1.0, is_fixed_visits=True)
    assert not curve_of(model).is_beyond_delays
