"""Noise that shows more than a line can gain is no finding; what can be is found as before, and so is contention that ends."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from headway.analyses import causal_limits, causal_pairs
from headway.analyses.causal import analyse
from headway.analyses.causal_types import Line
from made_causal import Made, data_of, serial, whole_runs

SMALL = 0.02
"""Of the time: so much the line is sampled, and can gain."""


def line_of(made: Made) -> Line:
    (line,) = analyse(data_of(made), "a.headway").lines
    return line


def p_of(made: Made) -> float:
    curve = line_of(made).curve
    assert curve is not None
    assert curve.p_value is not None
    return curve.p_value


def small(gain: float, seed: int, pairs: int = 20) -> Made:
    return Made({"line": serial(gain)}, pairs=pairs, seed=seed, cpu_share=SMALL, dispersion=3.0)


def test_of_lines_without_effect_fewer_seem_to_gain_than_chance_would_have_it_and_as_many_to_lose() -> None:
    # Each way 2.5 % of 400 are 10 by chance; 20 or more come about once in 300 times.
    slopes = [(line_of(small(0.0, seed)), p_of(small(0.0, seed))) for seed in range(400)]
    gain = sum(p < 0.05 and (line.slope or 0) > 0 for line, p in slopes)
    loss = sum(p < 0.05 and (line.slope or 0) < 0 for line, p in slopes)
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


def test_a_latency_has_no_limit_and_a_whole_run_has_one() -> None:
    data = whole_runs(0.3, 40, 1)
    mine, _ = causal_pairs.pairs(data, causal_pairs.usable(data))
    found = causal_limits.possible_gains(data, mine, data.measures[0], [50, 100])
    columns = data.columns
    assert found is not None
    for gain, speedup in zip(found.tolist(), (50, 100), strict=True):
        rows = columns["speedup_pct"] == speedup
        assert gain == pytest.approx(columns["delay_ns"][rows].sum() / columns["dur_ns"][rows].sum())
    assert causal_limits.possible_gains(data, mine, replace(data.measures[0], measure="latency"), [50]) is None
