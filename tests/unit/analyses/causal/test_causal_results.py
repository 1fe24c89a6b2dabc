"""Causal recordings: what is read from their tables, printed, and exported."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.causal.analysis import analyse, causal
from headway.analyses.causal.data import read
from headway.analyses.causal.types import CurvePoint
from headway.errors import HeadwayError
from headway.model.causal.comparisons import Measured
from headway.report import export
from headway.report.json.causal import causal_json
from headway.report.terminal.causal import sparkline
from headway.store import open_recording
from support.builders.causal_builder import (
    MADE,
    CausalModel,
    data_of,
    printed,
    serial,
    with_columns,
    write,
)

Run = Callable[..., tuple[int, str, str]]


# --- reading -----------------------------------------------------------------------------------------------------------


def test_a_recording_gives_what_its_experiments_give(tmp_path: Path) -> None:
    data = data_of(MADE)
    found = causal(open_recording(write(tmp_path / "a.headway", data)))
    expected = analyse(data, str(tmp_path / "a.headway"))
    assert found.lines == expected.lines
    assert found.notices == expected.notices
    assert found.progress_points[0].hits == int(data.measures[0].visits.sum())
    assert found.progress_points[0].name == "done"


def test_points_of_several_runs_are_one_by_their_name_whatever_their_ids(tmp_path: Path) -> None:
    data = data_of(replace(MADE, pairs=20))
    half = data.count // 2
    run = np.repeat([0, 1], [half, data.count - half])
    visits = data.measures[0].visits.astype(int).tolist()
    path = write(
        tmp_path / "a.headway",
        replace(with_columns(data, run=run), runs=np.array([0, 1])),
        causal_point={
            "run": [0, 0, 1, 1],
            "point": [0, 1, 0, 1],
            "name": ["done", "other", "other", "done"],
            "kind": ["method"] * 4,
            "where": ["A.done", "A.other", "A.other", "A.done"],
            "hits": [3, 50, 60, 4],
        },
        experiment_visit={
            "run": run.tolist(),
            "experiment": data.columns["experiment"].tolist(),
            "point": run.tolist(),  # `done` is 0 in the first run, 1 in the second
            "visits": visits,
        },
    )
    found = read(open_recording(path))
    assert [(point.name, point.hits) for point in found.points] == [("done", 7), ("other", 110)]
    assert found.measures[0].visits.tolist() == visits
    assert found.measures[1].visits.sum() == 0


def test_a_latency_pair_is_measured_by_littles_law(tmp_path: Path) -> None:
    # Ten requests a millisecond, each 5 ms long at 0 %: 50 in flight. The line is 0.4 of the latency, not of the throughput.
    data = data_of(CausalModel({"slow": serial(0.0)}, pairs=40, is_fixed_visits=True, speedups=(25, 50, 100)))
    seconds = data.columns["effective_ns"] / 1e9
    mean_s = 0.005 * (1 - 0.4 * data.columns["speedup_pct"] / 100)
    begun = (10_000 * seconds).astype(int)
    pair = {
        "run": data.columns["run"].tolist(),
        "experiment": data.columns["experiment"].tolist(),
        "pair": [0] * data.count,
        "begun": (begun + 3).tolist(),
        "ended": (begun - 3).tolist(),
        "in_flight_begin": [50] * data.count,
        "in_flight_ns": (begun * mean_s * 1e9).astype(int).tolist(),
    }
    points: dict[str, Sequence[Any]] = {
        "run": [0, 0],
        "point": [0, 1],
        "name": ["request", "request"],
        "kind": ["latency_begin", "latency_end"],
        "where": ["A.begin", "A.end"],
        "hits": [1000, 990],
        "pair": [0, 0],
    }
    path = write(
        tmp_path / "a.headway", data, causal_point=points, experiment_latency=pair, experiment_visit=_no_visits()
    )
    result = causal(open_recording(path))
    point = result.progress_points[0]
    assert (point.measure, point.hits) == ("latency", 990)
    assert point.latency_ns == pytest.approx(5e6, rel=1e-3)
    assert len(result.progress_points) == 1
    curve = result.lines[0].curve
    assert curve is not None
    assert curve.measure == "latency"
    found = {each.virtual_speedup_pct: each.program_speedup_pct for each in curve.points}
    assert found == pytest.approx({25: 10, 50: 20, 100: 40}, abs=0.1)


def _no_visits() -> Mapping[str, Sequence[Any]]:
    return {"run": [0], "experiment": [0], "point": [0], "visits": [0]}


def test_end_to_end_runs_are_compared_with_the_runs_beside_them() -> None:
    random = np.random.default_rng(4)
    count = 41
    data = data_of(CausalModel({"half": serial(0.5)}, pairs=20, speedups=(40,)))
    plain = 2e9 * np.exp(0.3 * np.arange(count) / count) * (1 + 0.01 * random.standard_normal(count))
    effective = np.where(data.columns["speedup_pct"] == 40, plain * 0.8, plain).astype(np.int64)
    data = with_columns(data, effective_ns=effective, dur_ns=effective + data.columns["delay_ns"], run=np.arange(count))
    runs = Measured("whole run", "run", np.ones(count), effective.astype(float))
    result = analyse(replace(data, mode="end-to-end", runs=np.arange(count), measures=(runs,)), "a.headway")
    point = result.lines[0].points[0]
    assert point.low_pct is not None
    assert point.high_pct is not None
    assert point.low_pct <= 20 <= point.high_pct
    assert point.high_pct - point.low_pct < 3
    assert result.lines[0].significant
    assert "the run takes" in result.verdict


def test_end_to_end_a_run_that_failed_does_not_count(tmp_path: Path) -> None:
    data = data_of(CausalModel({"half": serial(0.5)}, pairs=4, speedups=(40,)))
    numbers = np.arange(data.count)
    data = replace(with_columns(data, run=numbers), runs=numbers, mode="end-to-end")
    codes = [0] * data.count
    codes[3], codes[4] = 1, 137
    runs = {
        "run": numbers.tolist(),
        "pid": [100] * data.count,
        "start_ns": [0] * data.count,
        "dur_ns": data.columns["dur_ns"].tolist(),
        "timer": ["perf"] * data.count,
        "period_ns": [1_000_000] * data.count,
        "mode": ["end-to-end"] * data.count,
        "exit_code": codes,
        "cores": [2] * data.count,
    }
    result = causal(open_recording(write(tmp_path / "a.headway", data, causal_run=runs, causal_point=_no_points())))
    assert result.experiments == data.count - 2
    assert [(point.name, point.hits) for point in result.progress_points] == [("whole run", data.count - 2)]


def _no_points() -> Mapping[str, Sequence[Any]]:
    return {name: [] for name in ("run", "point", "name", "kind", "where", "hits")}


def test_another_recording_is_refused(tmp_path: Path) -> None:
    from support.builders.recording_builder import Shape, make

    recording = open_recording(make(tmp_path / "other.headway", Shape()))
    for act in (causal, lambda each: export.export_coz(each, tmp_path / "a.coz")):
        with pytest.raises(HeadwayError) as refused:
            act(recording)
        assert refused.value.notice.id == "HW635"


def test_the_command_says_of_another_recording_that_it_has_no_experiments(run: Run, recording: Path) -> None:
    code, out, err = run("causal", recording)
    assert (code, out) == (1, "")
    assert "HW635" in err
    assert "headway causal --progress" in err


def test_a_speedup_that_leaves_nothing_but_delays_does_not_count() -> None:
    # A thread that sleeps all the time, made free, stops everybody: visits in what is left are delays that came late.
    data = data_of(CausalModel({"asleep": serial(0.0)}, pairs=60, speedups=(50, 100)))
    all_of_it = data.columns["speedup_pct"] == 100
    left = np.where(all_of_it, 5_000_000, data.columns["effective_ns"])
    measured = replace(data.measures[0], time_ns=left.astype(float))
    frozen = replace(with_columns(data, effective_ns=left), measures=(measured,))
    line = analyse(frozen, "a.headway").lines[0]
    assert [point.virtual_speedup_pct for point in line.points] == [50]
    assert not line.significant


def test_a_start_up_is_no_phase_and_targets_without_samples_have_none() -> None:
    data = data_of(MADE)
    late = replace(data, recorded_ns=data.recorded_ns * 2)
    assert [line.points for line in analyse(late, "a.headway").lines] == [
        line.points for line in analyse(data, "a.headway").lines
    ]
    locks = replace(
        data,
        lines={key: {**facts, "kind": "lock", "line_number": -1, "cpu_ns": 0} for key, facts in data.lines.items()},
    )
    found = analyse(locks, "a.headway")
    assert [line.line for line in found.lines] == ["lock App"] * 4
    assert [line.points for line in found.lines] == [line.points for line in analyse(data, "a.headway").lines]


# --- what is said ------------------------------------------------------------------------------------------------------


def test_lines_are_ranked_by_what_they_give_at_least() -> None:
    result = analyse(data_of(MADE), "a.headway")
    assert [(line.method, line.shape) for line in result.lines] == [
        ("half", "gain"),
        ("beside", "flattens"),
        ("worse", "slower"),
        ("nothing", "none"),
    ]
    beside = result.lines[1].curve
    assert beside is not None
    assert beside.flat_from_pct in (40, 50, 60)
    assert beside.maximum_pct == pytest.approx(30, abs=2)
    assert result.verdict.startswith("Work on App.java:10 (half): made free, a visit of done takes 5")


def test_the_first_sentence_says_that_a_gain_is_likely_larger_where_other_programs_had_the_cores() -> None:
    data = data_of(MADE)
    crowded = analyse(with_columns(data, waited_ns=data.columns["dur_ns"] // 2), "a.headway").verdict
    assert crowded.startswith("Work on App.java:10 (half): made free, a visit of done takes 5")
    assert crowded.endswith("; likely more: other programs had the cores (HW636).")
    assert "HW636" not in analyse(data, "a.headway").verdict


def test_a_line_is_found_by_any_of_its_names() -> None:
    data = data_of(MADE)
    for name in ("App.java:12", "App:12", "com.acme.App:12", "App.nothing", "com.acme.App.nothing"):
        assert [line.method for line in analyse(data, "a.headway", line=name).lines] == ["nothing"]
    with pytest.raises(HeadwayError) as unknown:
        analyse(data, "a.headway", line="App.java:99")
    assert unknown.value.notice.id == "HW620"
    assert "App.java:10" in unknown.value.notice.message


# --- reports -----------------------------------------------------------------------------------------------------------


def test_the_next_command_can_be_pasted_into_a_shell_whatever_the_names_are(run: Run, tmp_path: Path) -> None:
    data = data_of(CausalModel({"half": serial(0.5)}, pairs=100, dispersion=0.2))
    data = replace(data, lines={0: {**data.lines[0], "kind": "lock", "class_name": "com.acme.Store", "line_number": 0}})
    path = write(tmp_path / "two words.headway", data)
    found = json.loads(run("causal", path, "--json")[1])
    assert found["next"] == f"headway causal '{path}' --line 'lock Store'"
    code, _, err = run(*shlex.split(found["next"])[1:])
    assert (code, err) == (0, "")
    assert analyse(replace(data, measures=(), points=()), "b c.headway").next.startswith(
        "headway causal ... -o 'b c.headway'   "
    )


def test_the_json_has_the_keys_that_are_promised() -> None:
    answer = json.loads(json.dumps(causal_json(analyse(data_of(MADE), "a.headway"))))
    assert {"progress_points", "lines", "warnings"} <= set(answer)
    assert {"name", "hits"} <= set(answer["progress_points"][0])
    line = answer["lines"][0]
    assert {"line", "method", "samples_pct", "significant", "slope", "points"} <= set(line)
    assert (line["line"], line["method"], line["significant"]) == ("App.java:10", "half", True)
    assert set(line["points"][0]) >= {
        *("virtual_speedup_pct", "program_speedup_pct", "low_pct", "high_pct", "visits", "experiments"),
    }
    assert [each["progress_point"] for each in line["curves"]] == ["done"]
    assert line["samples_pct"] == pytest.approx(25, abs=2)


def test_a_line_that_nothing_was_tried_on_says_so_in_the_json_and_has_no_curve() -> None:
    data = data_of(MADE)
    data = replace(data, lines={**data.lines, 9: {**data.lines[0], "line_number": 99}})
    (line,) = (each for each in causal_json(analyse(data, "a.headway"))["lines"] if each["line_number"] == 99)
    said = {key: line[key] for key in ("shape", "significant", "slope", "points", "curves")}
    assert said == {"shape": "untested", "significant": False, "slope": None, "points": [], "curves": []}
    assert not {"progress_point", "measure", "p_value", "maximum_pct", "flat_from_pct", "needs_s"} & set(line)


def test_the_terminal_shows_gains_beside_the_flat_profile_in_80_columns() -> None:
    text = printed(analyse(data_of(MADE), "a.headway"))
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith(("headway", "601", "  ->")))
    rows = {row.split()[0]: row for row in text.splitlines() if row.startswith("App.java:")}
    assert "25 %" in rows["App.java:10"]
    assert "+50 %" in rows["App.java:10"] or "+49 %" in rows["App.java:10"]
    assert "flat from" in rows["App.java:11"]
    assert "no effect" in rows["App.java:12"]
    assert "slower!" in rows["App.java:13"]
    assert "Look hot, but give nothing: App.java:12" in text
    assert ", 1 run. One line" in text
    assert "Make the program slower the faster they get (contention): App.java:13" in text


def test_one_line_is_shown_in_full() -> None:
    text = printed(analyse(data_of(MADE), "a.headway", line="App.half"))
    assert "line faster by" in text
    assert text.count(" %") > 20


def test_names_of_the_program_can_do_no_harm_on_the_terminal() -> None:
    data = data_of(replace(MADE, pairs=30))
    lines = {key: {**facts, "file": "\x1b[31mA[bold].java"} for key, facts in data.lines.items()}
    assert "\x1b" not in printed(analyse(replace(data, lines=lines), "a.headway"))


def test_a_curve_is_drawn_with_one_character_per_tenth() -> None:
    points = [
        CurvePoint(
            virtual_speedup_pct=pct, program_speedup_pct=pct / 2, low_pct=None, high_pct=None, visits=1, experiments=1
        )
        for pct in range(10, 101, 10)
    ]
    drawn = sparkline(points)
    assert len(drawn) == 10
    levels = ["_.-=+*#".index(char) for char in drawn]
    assert levels == sorted(levels)
    assert levels[-1] == 6
    down = [replace(point, program_speedup_pct=-point.program_speedup_pct) for point in points]
    assert sparkline(down) == "v" * 10
    assert sparkline([]) == " " * 10


# --- Coz's format ------------------------------------------------------------------------------------------------------


def _parsed(text: str) -> list[dict[str, str]]:
    """Return records as Coz's viewer splits them: tabs between fields, the first = ends a key."""
    records = []
    for row in text.splitlines():
        kind, *fields = row.split("\t")
        records.append({"record": kind, **dict(field.split("=", 1) for field in fields)})
    return records


def test_coz_gets_the_same_curves_from_the_export(tmp_path: Path) -> None:
    data = data_of(replace(MADE, is_fixed_visits=True, visit_ns=1e4))
    recording = open_recording(write(tmp_path / "a.headway", data))
    records = _parsed(export.export_coz(recording, tmp_path / "a.coz").read_text())
    sums: dict[tuple[str, float], list[float]] = {}
    selected: tuple[str, float, int] | None = None
    for record in records:
        if record["record"] == "experiment":
            selected = (record["selected"], float(record["speedup"]), int(record["duration"]))
        elif record["record"] == "throughput-point":
            assert selected is not None
            assert record["name"] == "done"
            entry = sums.setdefault(selected[:2], [0, 0])
            entry[0] += selected[2]
            entry[1] += int(record["delta"])
    for line in causal(recording).lines:
        name = f"com/acme/{line.line}"
        base = sums[name, 0.0][0] / sums[name, 0.0][1]
        for point in line.points:
            time, delta = sums[name, point.virtual_speedup_pct / 100]
            assert 100 * (1 - time / delta / base) == pytest.approx(point.program_speedup_pct, abs=0.05)
    kinds = [record["record"] for record in records]
    assert (kinds[0], kinds.count("shutdown"), kinds.count("runtime")) == ("startup", 1, 1)
    counts = {record["location"]: int(record["count"]) for record in records if record["record"] == "samples"}
    assert counts == {f"com/acme/App.java:{10 + at}": facts["samples"] for at, facts in data.lines.items()}


def test_coz_gets_a_name_of_its_own_for_every_target(run: Run, tmp_path: Path) -> None:
    effects = {name: serial(0.1) for name in ("first", "second", "put", "take", "all", "other", "price", "pauses")}
    data = data_of(CausalModel(effects, pairs=100, is_fixed_visits=True))
    lock = {"kind": "lock", "class_name": "com.acme.Store", "method": "", "file": ""}
    changes: list[dict[str, Any]] = [
        {"line_number": 0, "file": ""},  # of a class without line numbers
        {"line_number": 0, "file": ""},
        {**lock, "line_number": 42},
        {**lock, "line_number": 50},
        {**lock, "line_number": 0},
        {**lock, "line_number": 42, "class_name": "org.other.Store"},
        {"kind": "method", "line_number": 0},
        {"kind": "gc", "class_name": "", "method": "", "file": "", "line_number": 0},
    ]
    data = replace(data, lines={at: {**data.lines[at], **change} for at, change in enumerate(changes)})
    recording, target = write(tmp_path / "a.headway", data), tmp_path / "a.coz"
    assert run("export", recording, "--format", "coz", "-o", target)[0] == 0
    assert target.read_text().startswith("startup\ttime=")
    records = _parsed(target.read_text())
    names = [
        *("com.acme.App.first", "com.acme.App.second", "lock com.acme.Store:42", "lock com.acme.Store:50"),
        *("lock com.acme.Store", "lock org.other.Store:42", "com.acme.App.price", "GC pauses"),
    ]
    assert [record["location"] for record in records if record["record"] == "samples"] == names
    assert {record["selected"] for record in records if record["record"] == "experiment"} == set(names)
