"""What the flame graphs of a sweep's page are of: the same part of the runs as its figures. Times are ns."""

from __future__ import annotations

from pathlib import Path

from headway.report.html.sweep_flames import sweep_flames
from support.builders import sweep_builder
from support.builders.flame_pages import unpacked

WARM_UP = 600


def test_warm_up_that_the_figures_leave_out_is_in_no_flame_graph_and_each_says_so(tmp_path: Path) -> None:
    shape = sweep_builder.Shape(warm_up=WARM_UP)
    found = sweep_flames(sweep_builder.make(tmp_path / "warm.sweep", (1, 4), 1, shape), 2_000_000)
    assert found is not None
    graphs = {graph["label"]: graph for graph in found["graphs"]}
    workers = sum(900 + sweep_builder.EVERY * i for i in range(4))
    assert graphs["CPU time, the sequential program"]["total"] == 4000
    assert graphs["CPU time, 4 threads"]["total"] == 400 + workers
    step = graphs["CPU time, 1 thread against the sequential program"]
    assert (step["total"], step["versus"]["total"]) == (4000, 4000)
    frames = {node.path[-1] for graph in found["graphs"] for node in unpacked(found, graph["merged"])}
    assert any("App.work" in name for name in frames)
    assert not any("App.warm" in name for name in frames)
    assert graphs["CPU time, 4 threads"]["notes"] == ["Without the warm-up: the first 600 ns of 4 threads."]
    both = "Without the warm-up: the first 600 ns of the sequential program and the first 600 ns of 1 thread."
    assert step["notes"] == [both]


def test_without_a_warm_up_nothing_is_left_out_nor_said(tmp_path: Path) -> None:
    found = sweep_flames(sweep_builder.make(tmp_path / "cold.sweep", (4,), 1), 2_000_000)
    assert found is not None
    assert not any("warm-up" in note for graph in found["graphs"] for note in graph["notes"])
    (graph,) = (each for each in found["graphs"] if each["label"] == "CPU time, the sequential program")
    assert graph["total"] == 4000
