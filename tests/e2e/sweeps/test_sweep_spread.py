"""Runs that differ by more than what a limit costs: nobody could see the limit go, so none is named."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import workloads_jar

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]

SHARE = 0.75
"""Of all work, done by the first of two threads: without it the program takes two thirds of the time, +50 %."""
REPEATS = 4


def known_limit(threads: object, thousands: object) -> str:
    words = f"imbalance {threads} {SHARE} 8 {thousands} 2"
    return f"{JAVA_17} -cp {workloads_jar()} headway.workloads.KnownLimit {words}"


def uneven_program(directory: Path, of_blocks: list[int]) -> Path:
    """Return a program that does so many thousands of units in a round: those of the block of a sweep that it is run in."""
    path = directory / "uneven"
    path.write_text(
        f'#!/bin/sh\ncd "$(dirname "$0")"\necho >> runs\nset -- "$1" {" ".join(map(str, of_blocks))}\n'
        f"shift $(( ($(wc -l < runs) - 1) / 2 % {len(of_blocks)} + 1 ))\n"
        f"exec {known_limit(2, '$1')}\n"
    )
    path.chmod(0o755)
    return path


def verdict_of(parallel: str, output: Path) -> dict[str, Any]:
    swept = headway(
        *("sweep", "--sequential", known_limit(0, 20_000), "--parallel", parallel, "--threads", 2),
        *("--repeat", REPEATS, "--region", r"work=KnownLimit\.work", "--from-marker", "measuring", "-o", output),
    )
    assert swept.returncode == 0, swept.stderr
    said = headway("speedups", output, "--json")
    assert said.returncode == 0, said.stderr
    verdict: dict[str, Any] = json.loads(said.stdout)["verdict"]
    return verdict


def test_runs_that_differ_by_more_than_the_largest_gain_name_no_limit_and_say_how_many_repeats_would_do(
    tmp_path: Path,
) -> None:
    uneven = uneven_program(tmp_path, [4_000, 36_000])
    verdict = verdict_of(f"{uneven} {{threads}}", tmp_path / "uneven.sweep")
    assert (verdict["limit"], verdict["gain"], verdict["place"]) == (None, None, None)
    assert "load_balance" in verdict["undecided"]
    assert verdict["withheld"].startswith(
        (
            f"{REPEATS} runs leave the computed speedup uncertain by",
            f"the {REPEATS} runs differ so much that the speedup may be",
        )
    )
    needed = int(verdict["withheld"].split(" repeats would do")[0].split()[-1])
    assert REPEATS < needed <= 1000
    words = shlex.split(verdict["next"])
    assert words[:2] == ["headway", "sweep"]
    assert words[words.index("--repeat") + 1] == str(needed)
    assert words[words.index("--parallel") + 1] == f"{uneven} {{threads}}"


def test_the_same_programs_with_even_runs_name_it(tmp_path: Path) -> None:
    even = uneven_program(tmp_path, [20_000, 20_000])
    verdict = verdict_of(f"{even} {{threads}}", tmp_path / "even.sweep")
    assert verdict["limit"] == "load_balance", verdict
    assert verdict["gain"] == pytest.approx(0.5, abs=0.15)
    assert "worker-0" in verdict["place"]
