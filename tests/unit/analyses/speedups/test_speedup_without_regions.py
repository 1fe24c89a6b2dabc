"""A sweep for which nobody gave a region, and none was found: what can be said of it, and what can't."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.store.sweep import read_sweep, write_sweep
from support.builders import sweep_builder

Run = Callable[..., tuple[int, str, str]]


def answer(run: Run, sweep: Path) -> Any:
    code, out, err = run("speedups", sweep, "--json")
    assert code == 0, err
    return json.loads(out)


def without_regions(sweep: Path) -> None:
    write_sweep(dataclasses.replace(read_sweep(sweep), regions=()))


def test_nothing_is_compared_part_by_part_and_the_verdict_is_withheld(run: Run, tmp_path: Path) -> None:
    """The times with several active threads are no part of the sequential program: its parallel fraction would be 0."""
    sweep = sweep_builder.make(tmp_path / "a.sweep", (2, 4)).path
    whole = answer(run, sweep)
    without_regions(sweep)
    said = answer(run, sweep)
    for row, known in zip(said["threads"], whole["threads"], strict=True):
        assert row["computed_speedup"] == pytest.approx(known["computed_speedup"]), "the ratio of the walls"
        for limit in ("parallel_fraction", "work_inflation", "cpi_overhead"):
            assert row["possible"][limit] is None
            assert limit not in row["possible_intervals"]
            assert not any(limit in pair["limits"] for pair in row["pairs"])
        assert row["efficiencies"]["parallel_fraction"] is None
        assert sum(row["stack"].values()) == pytest.approx(row["threads"])
        assert row["regions"] == {}
    assert said["regions"] == []
    verdict = said["verdict"]
    assert (verdict["limit"], verdict["gain"]) == (None, None)
    assert "no region was given" in verdict["withheld"]
    assert verdict["next"] == f"headway sweep --resume {sweep} --region NAME=REGEX"


def test_the_balance_of_the_times_with_several_threads_is_known(run: Run, tmp_path: Path) -> None:
    """Workers run 900, 920, 940 and 960: the last 20 of the last one are alone."""
    sweep = sweep_builder.make(tmp_path / "a.sweep", (4,), 1).path
    without_regions(sweep)
    balance = answer(run, sweep)["threads"][0]["efficiencies"]["load_balance"]
    assert balance == pytest.approx((900 + 920 + 940 + 940) / (4 * 940))


def test_it_is_said_and_that_region_can_not_be_asked_for(run: Run, tmp_path: Path) -> None:
    sweep = sweep_builder.make(tmp_path / "a.sweep", (4,), 1).path
    assert "HW460" not in {each["id"] for each in answer(run, sweep)["warnings"]}
    without_regions(sweep)
    ids = {each["id"] for each in answer(run, sweep)["warnings"]}
    assert "HW460" in ids
    assert "HW464" not in ids, "nobody gave a pattern that could match nothing"
    code, _, err = run("speedups", sweep, "--region", "(parallel)")
    assert (code, err.split(":")[0]) == (1, "HW470")
