"""What causal profiling costs, as the benchmark counts it: as long as it lasts, and once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import causal_overhead
from lib import harness

SECOND = 1_000_000_000


def block(*cpu_s: float, jit_s: float = 0) -> dict[str, Any]:
    """Return a block of runs that took this CPU time, `jit_s` of each in the compilers."""
    runs = [{"cpu_ns": round(each * SECOND), "jit_ns": round(jit_s * SECOND), "corrected_wall_ns": 1} for each in cpu_s]
    return {"runs": runs}


def test_compilers_are_no_cost_of_what_lasts_and_blocks_are_compared_with_their_neighbours() -> None:
    session = {"off": [block(2.5, jit_s=0.5), block(2)], "on": [block(3.1, jit_s=1)]}
    ratios, same = causal_overhead.pairs_of([session, session], "cpu")
    assert ratios == [pytest.approx(1.05)] * 2
    assert same == []


def test_attaching_takes_what_its_runs_take_beyond_settled_ones_compilers_included() -> None:
    attach = {"cpu_ns": SECOND // 4, **block(5, 3, jit_s=1)}
    assert causal_overhead.attach_ns([{"attaching": [attach], "on": [block(2.5, jit_s=0.5)]}]) == 4.25 * SECOND


def test_what_the_agent_leaves_behind_is_told_against_the_time_before_it() -> None:
    assert causal_overhead.left_behind([{"off": [block(2), block(2.1), block(2.2), block(2.1)]}]) == pytest.approx(1.05)


def test_attaches_that_did_not_settle_are_counted() -> None:
    assert causal_overhead.unsettled([{"attaching": [{"is_settled": True}, {"is_settled": False}]}]) == "1 of 2"


def test_samples_are_read_from_the_notes_of_the_one_experiment(tmp_path: Path) -> None:
    notes = [{"t": "begin"}, {"t": "experiment", "samples": 40, "sampled_ns": 80_000_000}]
    (tmp_path / "causal-1.jsonl").write_text("".join(f"{json.dumps(note)}\n" for note in notes))
    assert causal_overhead.samples_of(tmp_path) == 40


def four(*cpu_s: float) -> dict[str, Any]:
    """Return four runs in the order off, on, on, off."""
    first, *on, last = block(*cpu_s)["runs"]
    return {"off": [first, last], "on": on}


def test_of_four_runs_what_drifts_is_in_both_and_fours_of_two_attaches_are_not_compared() -> None:
    drifting = [four(10, 11 * 1.05, 12 * 1.05, 13), four(13, 14 * 1.05, 15 * 1.05, 16)]
    ratios, same = causal_overhead.switched_pairs([{"quads": [drifting, drifting]}], "cpu")
    assert ratios == pytest.approx([1.05] * 4, abs=0.01)
    assert same == [pytest.approx(1)] * 2


def test_a_file_of_the_benchmark_before_is_told_from_one_of_today() -> None:
    with pytest.raises(SystemExit, match="begin a new one"):
        causal_overhead.summarise({"xalan": [{"off": [block(2)], "on": [block(2)], "attaching": []}]})


def test_each_piece_of_work_is_a_visit() -> None:
    where = unquote(causal_overhead.spec()).partition("piece=")[2].partition(";")[0]
    name, _, line = where.partition(":")
    source = harness.ROOT / "java" / "benchmarks" / "src" / "main" / "java" / f"{name.replace('.', '/')}.java"
    assert "piece.run(" in source.read_text().splitlines()[int(line) - 1]


def test_launches_and_warm_programs_are_not_mixed() -> None:
    warm = {"off": [block(2), block(2)], "on": [block(2)], "attaching": [], "quads": []}
    with pytest.raises(SystemExit, match="a file each"):
        causal_overhead.summarise({"xalan": [warm, {"launches": True, "off": warm["off"], "on": warm["on"]}]})
