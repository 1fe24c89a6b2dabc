"""The payload of a sweep's page: what `speedups --json` says, bounded, with flame graphs of the right runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.profile.analysis import profile
from headway.analyses.speedups.analysis import answer, speedups
from headway.analyses.speedups.model import LIMITS
from headway.analyses.speedups.types import AtThreads, Speedups
from headway.errors import Notice
from headway.report.html.page import script_safe_json
from headway.report.html.speedups import MAX_ROWS, PAGE_BYTES, build_sweep, sweep_payload
from headway.report.html.sweep_flames import sweep_flames
from headway.report.json.speedups import speedups_json
from headway.store.sweep import Sweep
from support.builders import primitives_builder as build
from support.builders import sweep_builder
from support.builders.flame_pages import unpacked


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return sweep_builder.make(tmp_path_factory.mktemp("sweep") / "made.sweep")


@pytest.fixture(scope="module")
def payload(sweep: Sweep) -> dict[str, Any]:
    return build_sweep(sweep, speedups(sweep))


def test_the_figures_are_those_of_the_command(sweep: Sweep, payload: dict[str, Any]) -> None:
    wanted = speedups_json(speedups(sweep))
    shown = json.loads(script_safe_json(payload))
    for key in ("mode", "counters", "cores", "regions", "sequential"):
        assert shown[key] == wanted[key]
    for row, expected in zip(shown["rows"], wanted["threads"], strict=True):
        for key in (
            "threads",
            "runs",
            "plain_runs",
            "real_speedup",
            "real_low",
            "real_high",
            "computed_speedup",
            "low",
        ):
            assert row[key] == expected[key]
        for key in ("high", "efficiencies", "possible", "possible_intervals", "stack", "pop", "metrics", "pairs"):
            assert row[key] == expected[key]
        assert sum(row["stack"].values()) == pytest.approx(row["threads"])
        assert [part["name"] for part in row["regions"]] == wanted["regions"]
        for part in row["regions"]:
            assert part["stack"] == expected["regions"][part["name"]]["stack"]
        assert {part["region"]: dict(part["frames"]) for part in row["flat"]} == {
            name: {frame.replace("\u202e", "\\u202e"): ns for frame, ns in frames.items()}
            for name, frames in expected["flat"].items()
        }
    for key in ("threads", "limit", "gain", "withheld"):
        assert shown["verdict"][key] == wanted["verdict"][key]


def test_every_limit_has_a_name(payload: dict[str, Any]) -> None:
    named = set(payload["labels"])
    assert set(LIMITS) | {"speedup", "all"} <= named
    for row in payload["rows"]:
        assert set(row["stack"]) | set(row["possible"]) | set(row["efficiencies"]) <= named


def test_flame_graphs_are_of_each_metric_and_number_of_threads_and_of_the_steps_between(
    sweep: Sweep, payload: dict[str, Any]
) -> None:
    labels = [graph["label"] for graph in payload["flames"]["graphs"]]
    assert labels[:4] == [
        f"CPU time, {run}" for run in ("4 threads", "2 threads", "1 thread", "the sequential program")
    ]
    assert "allocation, the sequential program" in labels
    steps = [label for label in labels if " against " in label and label.startswith("CPU time")]
    assert steps == [
        "CPU time, 4 threads against 2 threads",
        "CPU time, 2 threads against 1 thread",
        "CPU time, 1 thread against the sequential program",
    ]
    for graph in payload["flames"]["graphs"]:
        if graph["event"] != "cpu":
            continue
        name = graph["label"].split(", ")[1].split(" against ")[0]
        run = next(
            run for run in sweep.runs if run.recorded and _called(run.program, run.threads) == name and run.number == 1
        )
        wanted = profile(sweep.open(run), "cpu")
        assert graph["total"] == wanted.total
        nodes = unpacked(payload["flames"], graph["merged"])
        assert sum(node.self_weight for node in nodes) == wanted.total
        assert (graph["versus"] is None) == (" against " not in graph["label"])


def test_what_was_sampled_never_displaces_the_graphs_of_locks(tmp_path: Path) -> None:
    shape = sweep_builder.Shape(locked=200, events=("cpu", "wall"))
    sweep = sweep_builder.make(tmp_path / "all.sweep", threads=(1, 4), repeat=1, shape=shape)
    found = sweep_flames(sweep, PAGE_BYTES)
    assert found is not None
    whole = {graph["label"] for graph in found["graphs"] if graph["versus"] is None}
    named = ("CPU time", "wall time", "blocked in contention", "off CPU")
    assert {f"{name}, 4 threads" for name in named} <= whole
    assert "allocation, the sequential program" in whole


def test_events_that_get_no_graph_are_named(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.report.html.sweep_flames.MAX_EVENTS", 1)
    found = sweep_flames(sweep, PAGE_BYTES)
    assert found is not None
    assert {graph["event"] for graph in found["graphs"]} == {"cpu"}
    notes = {note for graph in found["graphs"] for note in graph["notes"]}
    (said,) = notes
    assert said.startswith("Not on this page: flame graphs of code that kept cores idle, ")
    assert "allocation" in said


def _called(program: str, threads: int) -> str:
    if program == "sequential":
        return "the sequential program"
    return "1 thread" if threads == 1 else f"{threads} threads"


def test_nothing_that_a_sweep_may_hold_breaks_the_bound(sweep: Sweep) -> None:
    worst = "<" * 1000
    result = speedups(sweep)
    last = result.rows[-1]
    names = [f"{worst[i:]}" for i in range(60)]
    flat = {name: {f"{i}{worst}": float(i) for i in range(30)} for name in names}
    part = dataclasses.replace(last, regions={})
    rows: list[AtThreads] = [
        dataclasses.replace(last, threads=n, flat=flat, regions=dict.fromkeys(names, part)) for n in range(1, 61)
    ]
    notices = tuple(Notice(f"HW{i}", worst, worst) for i in range(300))
    verdict = dataclasses.replace(result.verdict, evidence=(worst,) * 9, place=worst, text=worst)
    huge: Speedups = dataclasses.replace(
        result, rows=tuple(rows), regions=tuple(names), notices=notices, verdict=verdict
    )
    payload = build_sweep(sweep, huge)
    assert len(script_safe_json(payload).encode()) <= PAGE_BYTES
    assert len(payload["rows"]) == MAX_ROWS
    assert (payload["rows"][0]["threads"], payload["rows"][-1]["threads"]) == (1, 60)
    left = 60 - len(payload["regions"])
    assert payload["left_out"] == [f"{60 - MAX_ROWS} more numbers of threads", f"{left} more regions"]
    assert payload["flames"]["graphs"]
    assert payload["notices"][-1]["id"] == "HW503"


def test_a_sweep_without_samples_says_why_it_has_no_flame_graphs() -> None:
    runs = build.sweep_runs([build.alone()], {4: [build.one_second_each()]})
    payload = sweep_payload(answer(runs), name="made.sweep")
    assert payload["flames"] is None
    assert payload["title"] == "made.sweep"
