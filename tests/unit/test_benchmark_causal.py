"""How causal predictions are held against what was really measured: the benchmarks' own arithmetic."""

from __future__ import annotations

import pytest

import causal_accuracy
import causal_h2
import causal_programs
from causal_programs import CASES, Gain


def test_every_line_that_is_judged_is_marked_in_the_programs_source() -> None:
    marked = causal_programs.markers()
    for case in CASES.values():
        for line in case.lines:
            assert case.target or line in marked, (case.name, line)
            assert causal_programs.target_of(case, line)
    assert {causal_h2.place(name)[:13] for name in ("backoff", "watched")} == {"Backoff.java:"}


def test_between_two_virtual_speedups_a_curve_is_straight() -> None:
    curve = {40: Gain(20, 18, 22), 60: Gain(30, 26, 34)}
    between = causal_accuracy.interpolated(curve, 50)
    assert between is not None
    assert (between.percent, between.low, between.high) == (25, 22, 28)
    below = causal_accuracy.interpolated(curve, 10)
    assert below is not None
    assert below.percent == 5, "a line that is not made faster gives nothing"


def test_a_point_of_the_curve_is_taken_as_it_is() -> None:
    assert causal_accuracy.interpolated({50: Gain(30, float("-inf"), 34)}, 50) == Gain(30, float("-inf"), 34)


def test_beyond_the_last_point_nothing_is_predicted() -> None:
    assert causal_accuracy.interpolated({40: Gain(20, 18, 22)}, 50) is None
    assert causal_accuracy.interpolated({}, 50) is None


@pytest.mark.parametrize(
    ("predicted", "word"),
    [
        (Gain(24, 20, 28), "within"),
        (Gain(15, 14, 26), "within"),
        (Gain(27, 26, 28), "above"),
        (Gain(27, 19, 35), "above, intervals overlap"),
        (Gain(12, 11, 13), "below"),
        (None, "no prediction"),
    ],
)
def test_a_prediction_is_right_within_five_points_and_else_above_or_below(predicted: Gain | None, word: str) -> None:
    point = causal_accuracy.compared("long", 50, Gain(20, 18, 22), predicted)
    assert causal_accuracy.verdict(point) == word


def test_slices_are_compared_with_the_unchanged_ones_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def piece(line: str, percent: int, visits: int, gc_ms: int = 0) -> dict[str, object]:
        return {"line": line, "percent": percent, "wall_ns": 1_000_000_000, "visits": visits, "gc_ms": gc_ms}

    # The machine gets slower meanwhile.
    played = [piece("", 0, 100), piece("long", 50, 200), piece("", 0, 100), piece("long", 50, 100), piece("", 0, 50)]
    monkeypatch.setattr(causal_programs, "slices", lambda words: played)
    measured = causal_programs.truth(CASES["barrier"], 2)
    gain = measured.gains["long", 50]
    # 100 against 100 and 100 visits: half of the time is saved; 100 against 100 and 50: 10 ms instead of 15 ms a visit.
    assert gain.percent == pytest.approx((50 + 100 * (1 - 10 / 15)) / 2)
    assert not measured.real_pct


def test_how_much_faster_a_collection_was_is_measured_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def piece(line: str, percent: int, visits: int, gc_ms: int) -> dict[str, object]:
        return {"line": line, "percent": percent, "wall_ns": 1_000_000_000, "visits": visits, "gc_ms": gc_ms}

    played = [piece("", 0, 100, 400), piece("gc", 50, 100, 300), piece("", 0, 100, 400)]
    monkeypatch.setattr(causal_programs, "slices", lambda words: played)
    assert causal_programs.truth(CASES["gc"], 1).real_pct == {("gc", 50): pytest.approx(25)}


def test_gains_of_turns_are_ratios_of_sums_so_that_one_turn_that_stood_still_weighs_little() -> None:
    rates = [100.0, 200.0] * 50 + [100.0]
    assert causal_h2.gain_of(rates) == pytest.approx((50, 50, 50))
    rates[11] = 1.0  # the mean of 1 - 100 / 1 and 49 times 1 - 100 / 200 would be -149 %
    assert causal_h2.gain_of(rates)[0] == pytest.approx(100 * (1 - 100 / (200 - 199 / 50)))
    assert causal_h2.gain_of([100.0, 150.0, 200.0])[0] == pytest.approx(0), "what drifts cancels"
