"""How causal predictions are held against what was really measured: the benchmarks' own arithmetic."""

from __future__ import annotations

import re

import pytest

import causal_accuracy
import causal_h2
from lib import causal_arithmetic, causal_programs
from lib.causal_programs import CASES, Gain


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


@pytest.mark.parametrize(
    ("case", "line", "gains"),
    [
        ("barrier", "long", (25, 50, 50, 50)),  # then the short part is the longer one
        ("barrier", "short", (0, 0, 0, 0)),
        ("halves", "serial", (12.5, 25, 37.5, 50)),
        ("halves", "parallel", (12.5, 25, 37.5, 50)),
        ("independent", "first", (100 - 100 * 1.6 / 1.8, 25, 100 - 100 * 2 / 3.5, 100 - 100 * 2 / 6)),
        ("alternating", "ping", (12.5, 25, 37.5, 50)),
        ("alternating-monitor", "monitor pong", (12.5, 25, 37.5, 50)),
        ("contended-2", "inside", (25, 50, 62.5, 75)),  # then what is done without the lock
        ("contended-2", "outside", (0, 0, 0, 0)),
        ("pipeline", "change", (25, 37.5, 50, 62.5)),  # the cores, then the other stages
        ("pipeline", "read", (0, 0, 0, 0)),
        ("forkjoin", "large", (25, 50, 62.5, 75)),
        ("forkjoin", "small", (0, 0, 0, 0)),
        ("sleeper", "sleep", (25, 50, 75, 75)),
        ("sleeper", "produce", (0, 0, 0, 0)),
        ("spinning", "work", (25, 50, 50, 50)),
        ("spinning", "spin", (0, 0, 0, 0)),
        ("pipes", "answer", (12.5, 25, 37.5, 50)),
        ("virtual", "virtual half", (12.5, 25, 37.5, 50)),
    ],
)
def test_arithmetic_says_what_a_faster_line_gives_on_two_cores(case: str, line: str, gains: tuple[float, ...]) -> None:
    for percent, gain in zip((25, 50, 75, 100), gains, strict=True):
        assert causal_arithmetic.expected_pct(case, line, percent, cores=2) == pytest.approx(gain, abs=1e-9), percent


def test_arithmetic_knows_how_many_cores_there_are() -> None:
    assert causal_arithmetic.expected_pct("pipeline", "change", 75, cores=3) == pytest.approx(62.5)
    assert causal_arithmetic.expected_pct("barrier", "short", 100, cores=1) == pytest.approx(100 / 3)
    assert causal_arithmetic.expected_pct("oversubscribed", "mine", 50, cores=2) == pytest.approx(100 / 13)
    assert causal_arithmetic.expected_pct("gc", "gc", 50, cores=2) is None


def test_the_loads_of_the_arithmetic_are_those_of_the_programs() -> None:
    """Lines that have a load in microseconds: as the program's source says. A sleep's is in milliseconds there."""
    sources = "\n".join(path.read_text() for path in causal_programs.SOURCES.glob("*.java"))
    said: dict[str, set[float]] = {}
    for name, size in re.findall(r'play\.micros\("([^"]+)", (\d+)\)', sources):
        said.setdefault(name, set()).add(float(size))
    for case, (loads, _) in causal_arithmetic.TIMES.items():
        assert set(loads) == set(CASES[case].lines), case
        for line, load in loads.items():
            assert (said[line] == {load}) if line != "sleep" else 'play.pieces("sleep", 4 ' in sources, (case, line)


def test_measured_gains_are_counted_against_arithmetic_where_it_is_exact() -> None:
    points = [
        {"real": [gain, 0, 0], "arithmetic": exact} for gain, exact in ((52, 50.0), (56, 50.0), (9, None), (-4.9, 0.0))
    ]
    counts, (text, is_sound) = causal_accuracy.against_arithmetic(points, 10)
    assert counts == {"exact": 3, "as_by_arithmetic": 2}
    assert "2 of 3 measured gains within 5 of arithmetic" in text
    assert not is_sound
    assert causal_accuracy.against_arithmetic(points[:1], 10)[1][1]


def test_the_table_shows_arithmetic_beside_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    exact = {**causal_accuracy.compared("long", 50, Gain(48, 47, 49), Gain(46, 45, 50)), "arithmetic": 50.0}
    other = {**causal_accuracy.compared("sort", 50, Gain(20, 19, 21), None), "arithmetic": None}
    figures, verdicts = causal_accuracy.summarise({"barrier": [{"longer": 10, "points": [exact, other]}]})
    assert figures["longer 10"] == {
        **{"points": 2, "within": 1, "above": 0, "below": 0, "warned": 0},
        **{"exact": 1, "as_by_arithmetic": 1},
    }
    assert [reached for _, reached in verdicts] == [False, True]
    printed = capsys.readouterr().out
    assert "+50.0" in next(row for row in printed.splitlines() if "barrier: long" in row)
    # Sessions of before there was arithmetic have none, and no verdict on it.
    earlier = causal_accuracy.compared("long", 50, Gain(48, 47, 49), Gain(46, 45, 50))
    assert len(causal_accuracy.summarise({"barrier": [{"points": [earlier]}]})[1]) == 1
