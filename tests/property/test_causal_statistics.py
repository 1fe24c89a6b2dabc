"""Causal results against programs whose answer is exact: intervals, false findings, drift, phases, few visits.

Draws come from fixed seeds, so each figure is the same in every run; bounds are those of the claim, not of what came out.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import Data
from headway.analyses.causal.pairs import pairs, usable
from headway.analyses.causal.types import Causal, Line
from headway.model.causal.curves import ratios, significant
from headway.report.json.causal import causal_json
from support.builders.causal_builder import (
    CausalModel,
    assembled,
    columns,
    data_of,
    harmful,
    joined,
    parallel,
    serial,
    whole_runs,
)

EFFECTS = {"half": serial(0.5), "beside": parallel(0.6, 0.3), "nothing": serial(0.0), "worse": harmful(0.2)}
RECORDINGS = 30


def _result(model: CausalModel) -> Causal:
    return analyse(data_of(model), "made.headway")


def _by_method(result: Causal) -> dict[str, Line]:
    return {line.method: line for line in result.lines}


@pytest.mark.parametrize(
    "noise",
    [
        {"dispersion": 0.2},
        {"dispersion": 1.0, "pairs": 80},
        {"dispersion": 5.0},
        {"dispersion": 1.0, "wobble": 0.4, "drift": -0.8},
        {"dispersion": 0.2, "wall_noise": 0.2, "cpu_share": 0.45},
    ],
    ids=["steady", "few", "bursts", "drift", "others"],
)
def test_intervals_hold_the_truth_about_as_often_as_they_say(noise: dict[str, float]) -> None:
    points, slopes, maxima = [], [], []
    for seed in range(RECORDINGS):
        model = CausalModel(EFFECTS, seed=seed, **noise)  # type: ignore[arg-type]
        for method, line in _by_method(_result(model)).items():
            effect, curve = model.effects[method], line.curve
            assert curve is not None
            for point in line.points:
                assert point.low_pct is not None
                assert point.high_pct is not None
                points.append(point.low_pct <= 100 * effect(point.virtual_speedup_pct / 100) <= point.high_pct)
            assert curve.slope_low is not None
            assert curve.slope_high is not None
            if method != "beside":
                slopes.append(curve.slope_low <= effect(1.0) <= curve.slope_high)
            assert curve.maximum_low_pct is not None
            assert curve.maximum_high_pct is not None
            most = max((100 * effect(point.virtual_speedup_pct / 100) for point in line.points), key=abs)
            maxima.append(curve.maximum_low_pct <= most <= curve.maximum_high_pct)
    assert 0.90 <= np.mean(points) <= 0.99
    assert 0.90 <= np.mean(slopes) <= 0.99
    assert np.mean(maxima) >= 0.90


def test_of_lines_that_give_nothing_at_most_one_recording_in_twenty_names_one() -> None:
    effects = {f"line{number}": serial(0.0) for number in range(8)}
    named = [
        any(line.significant for line in _result(CausalModel(effects, pairs=240, seed=seed)).lines)
        for seed in range(RECORDINGS)
    ]
    assert np.mean(named) <= 0.05


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_luck_in_few_visits_makes_no_line_seem_better(share: float) -> None:
    speedups = tuple(range(5, 101, 5))  # an experiment each, so that single ones have weight
    errors = []
    for seed in range(2 * RECORDINGS):
        model = CausalModel({"one": serial(share)}, pairs=20, visit_ns=250e6 / 8, speedups=speedups, seed=seed)
        slope = _result(model).lines[0].slope
        assert slope is not None
        errors.append(slope - share)
    assert abs(np.mean(errors)) < 2 * np.std(errors) / math.sqrt(len(errors))


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("runs", [12, 20])
def test_whole_runs_have_intervals_that_hold_the_truth_and_few_false_findings(runs: int, share: float) -> None:
    points, slopes, found = [], [], []
    for seed in range(2 * RECORDINGS):
        line = analyse(whole_runs(share, runs, seed), "made.headway").lines[0]
        assert line.curve is not None
        assert line.curve.slope_low is not None
        assert line.curve.slope_high is not None
        for point in line.points:
            assert point.low_pct is not None
            assert point.high_pct is not None
            points.append(point.low_pct <= share * point.virtual_speedup_pct <= point.high_pct)
        slopes.append(line.curve.slope_low <= share <= line.curve.slope_high)
        found.append(line.significant)
    assert np.mean(points) >= 0.92
    assert np.mean(slopes) >= 0.92
    assert np.mean(found) <= 0.05 if share == 0 else all(found)


def test_a_run_too_short_to_know_its_noise_outweighs_no_longer_one() -> None:
    model = [CausalModel({"one": serial(0.5)}, pairs=100, speedups=(25, 50), seed=1)]
    model.append(replace(model[0], pairs=1, speedups=(100,), seed=2))
    alone, short = (data_of(one) for one in model)
    visits = short.measures[0].visits.copy()
    visits[1] /= 4  # by bad luck
    both = joined(model[0], [alone, replace(short, measures=(replace(short.measures[0], visits=visits),))])
    lines = [analyse(data, "made.headway").lines[0] for data in (alone, both)]
    assert [len(line.points) for line in lines] == [2, 3]
    assert lines[0].slope is not None
    assert lines[1].slope is not None
    assert abs(lines[1].slope - lines[0].slope) < 0.1 * abs(lines[1].points[-1].program_speedup_pct / 100 - 0.5)


def test_a_drift_of_the_whole_program_biases_nothing() -> None:
    errors = []
    for seed in range(RECORDINGS):
        model = CausalModel({"half": serial(0.5)}, pairs=100, drift=-1.2, wobble=0.5, seed=seed)
        errors += [
            point.program_speedup_pct - 50 * point.virtual_speedup_pct / 100 for point in _result(model).lines[0].points
        ]
    standard_error = np.std(errors) / math.sqrt(len(errors))
    assert abs(np.mean(errors)) < 3 * standard_error
    assert standard_error < 0.5  # percent: fine enough to see a bias


def test_experiments_without_any_visit_count_and_bias_nothing() -> None:
    gains = []
    for seed in range(RECORDINGS):
        model = CausalModel({"half": serial(0.5)}, pairs=400, visit_ns=250e6, speedups=(100,), seed=seed)
        data = data_of(model)
        assert (data.measures[0].visits == 0).sum() > 100
        gains.append(_result(model).lines[0].points[0].program_speedup_pct)
    assert abs(np.mean(gains) - 50) < 3 * np.std(gains) / math.sqrt(len(gains)) + 0.5


def test_warm_up_is_left_out_and_said() -> None:
    model = CausalModel(EFFECTS, warm_up=24, dispersion=0.3, seed=3)
    result = _result(model)
    assert 4 <= result.warm_up_experiments <= 30
    assert "HW629" in {notice.id for notice in result.notices}
    assert result.experiments == 2 * model.pairs + 1 - result.warm_up_experiments


def test_a_line_of_one_phase_is_scaled_to_the_whole_run_exactly() -> None:
    model = CausalModel(
        {"first": serial(0.4), "always": serial(0.5)},
        phase={"first": (0.0, 0.25)},
        pairs=200,
        speedups=(25, 50, 75),
        is_fixed_visits=True,
    )
    data = data_of(model)
    found = _by_method(analyse(data, "made.headway"))
    inside = data.lines[0]["cpu_ns"] / data.lines[1]["cpu_ns"]  # both have one share of the CPU while they run
    assert found["first"].phase_share == pytest.approx(inside, rel=1e-6)
    for point in found["first"].points:
        assert point.program_speedup_pct == pytest.approx(40 * point.virtual_speedup_pct / 100 * inside, rel=1e-6)
    assert found["always"].phase_share == 1
    for point in found["always"].points:
        assert point.program_speedup_pct == pytest.approx(50 * point.virtual_speedup_pct / 100, rel=1e-6)


def test_a_steady_program_has_no_warm_up_and_no_phases_for_the_noise_of_its_samples() -> None:
    results = [_result(CausalModel(EFFECTS, seed=seed)) for seed in range(RECORDINGS)]
    assert sum(result.warm_up_experiments > 0 for result in results) <= 1
    assert all(line.phase_share == 1 for result in results for line in result.lines)


def test_two_runs_added_are_pooled() -> None:
    model = [CausalModel(EFFECTS, pairs=100, seed=seed) for seed in (1, 2)]
    each = [data_of(one) for one in model]
    both = joined(model[0], each)
    result = _by_method(analyse(both, "made.headway"))
    for number, method in enumerate(EFFECTS):
        expected = _by_hand(both, number)
        found = {point.virtual_speedup_pct: point.program_speedup_pct for point in result[method].points}
        assert found == pytest.approx(expected, abs=1e-9)
        alone = [_by_method(analyse(data, "made.headway"))[method] for data in each]
        assert result[method].experiments == sum(line.experiments for line in alone)
        assert _width(result[method]) < min(_width(line) for line in alone)


def _width(line: Line) -> float:
    assert line.curve is not None
    assert line.curve.slope_low is not None
    assert line.curve.slope_high is not None
    return line.curve.slope_high - line.curve.slope_low


def _by_hand(data: Data, line: int) -> dict[int, float]:
    """Return program speedups in percent, experiment by experiment, without arrays."""
    rows = list(zip(*(data.columns[name].tolist() for name in ("run", "line", "speedup_pct")), strict=True))
    visits, times = data.measures[0].visits.tolist(), data.measures[0].time_ns.tolist()
    over: dict[int, float] = {}
    under: dict[int, float] = {}
    for at, (run, target, speedup) in enumerate(rows):
        if not speedup or target != line:
            continue
        before = next((b for b in range(at - 1, -1, -1) if rows[b][0] == run and rows[b][2] == 0), None)
        after = next((b for b in range(at + 1, len(rows)) if rows[b][0] == run and rows[b][2] == 0), None)
        beside = [row for row in (before, after) if row is not None]
        time, count = sum(times[row] for row in beside), sum(visits[row] for row in beside)
        over[speedup] = over.get(speedup, 0) + count * times[at] / (times[at] + time)
        under[speedup] = under.get(speedup, 0) + visits[at] * time / (times[at] + time)
    return {
        speedup: 100 * (1 - over[speedup] / under[speedup])
        for speedup in sorted(over)
        if over[speedup] * under[speedup]
    }


def test_what_is_said_to_be_missing_makes_a_finding_in_most_recordings() -> None:
    weak, found = 0, 0
    for seed in range(3 * RECORDINGS):
        model = CausalModel({"some": serial(0.12)}, pairs=8, seed=seed)
        curve = _result(model).lines[0].curve
        assert curve is not None
        if curve.shape != "unknown":
            continue
        assert curve.needs_s is not None
        recorded = data_of(model).recorded_ns / 1e9
        longer = replace(
            model, pairs=min(round(model.pairs * (1 + curve.needs_s / recorded)), 1500), seed=seed + 10_000
        )
        weak += 1
        found += _result(longer).lines[0].shape != "unknown"
    assert weak >= 20
    assert found >= 0.6 * weak


def test_a_result_that_is_not_known_is_no_finding() -> None:
    for seed in range(RECORDINGS):
        for line in _result(CausalModel(EFFECTS, pairs=6, seed=seed)).lines:
            if line.shape in ("unknown", "none", "untested"):
                assert not line.significant
            if line.shape == "unknown":
                assert line.curve is not None
                assert line.curve.needs_s is not None
                assert line.curve.needs_s > 0


def test_findings_are_counted_against_all_that_was_tried() -> None:
    assert significant([0.04]) == [True]
    assert significant([0.04] + [0.5] * 9) == [False] * 10
    # The example of Benjamini and Hochberg, 1995, section 3.2: 15 tests, the first four are found at 5 %.
    published = [
        *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
        *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
    ]
    assert significant(published) == [True] * 4 + [False] * 11
    assert significant([None, 0.001]) == [False, True]


def test_only_whole_experiments_count() -> None:
    model = CausalModel(EFFECTS, pairs=60)
    table, visits = columns(model)
    table["is_complete"] = table["is_complete"].copy()
    table["is_complete"][-7:] = False
    cut = analyse(assembled(model, table, visits), "made.headway")
    shorter = {name: values[:-7] for name, values in table.items()}
    whole = analyse(assembled(model, shorter, visits[:-7]), "made.headway")
    assert cut.experiments == whole.experiments
    for line, expected in zip(cut.lines, whole.lines, strict=True):
        assert [point.program_speedup_pct for point in line.points] == [
            point.program_speedup_pct for point in expected.points
        ]


small = st.integers(0, 6)


@st.composite
def tables(draw: st.DrawFn) -> Data:
    """Return any small table: speedups in any order, empty experiments, cut off ones, several runs."""
    model = CausalModel(
        {"one": serial(0.1), "two": serial(0.2)}, pairs=draw(st.integers(0, 8)), seed=draw(st.integers(0, 99))
    )
    table, visits = columns(model)
    count = len(visits)
    table["speedup_pct"] = np.array(
        draw(st.lists(st.sampled_from([0, 0, 25, 50, 100]), min_size=count, max_size=count))
    )
    table["run"] = np.sort(np.array(draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), dtype=np.int64))
    table["is_complete"] = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)
    table["gcs"] = np.array(draw(st.lists(small, min_size=count, max_size=count)), dtype=np.int64)
    visits = np.array(draw(st.lists(small, min_size=count, max_size=count)), dtype=float)
    return assembled(model, table, visits)


@settings(max_examples=150)
@given(tables())
def test_any_table_has_an_answer_of_finite_figures(data: Data) -> None:
    result = analyse(data, "made.headway")
    _check_finite(causal_json(result))
    for line in result.lines:
        for point in line.points:
            assert point.experiments > 0
            if point.low_pct is not None and point.high_pct is not None:
                assert point.low_pct <= point.program_speedup_pct <= point.high_pct


def _check_finite(value: object) -> None:
    if isinstance(value, dict):
        for each in value.values():
            _check_finite(each)
    elif isinstance(value, list):
        for each in value:
            _check_finite(each)
    elif isinstance(value, float):
        assert math.isfinite(value)


@settings(max_examples=100)
@given(tables())
def test_ratios_are_those_counted_by_hand(data: Data) -> None:
    data = replace(data, columns={**data.columns, "is_complete": np.ones(data.count, dtype=bool)})
    compared, _ = pairs(data, usable(data))
    for line in data.lines:
        mine = compared.of(data.columns["line"][compared.treated] == line)
        speedups, found = ratios(mine, data.measures[0], data.columns["speedup_pct"])
        assert dict(zip(speedups, (100 * (1 - found)).tolist(), strict=True)) == pytest.approx(_by_hand(data, line))
