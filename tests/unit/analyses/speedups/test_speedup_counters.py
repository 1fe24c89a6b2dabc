"""Counters that are imported into a sweep: when they are used, and the limits that they alone tell.

The sweeps are made by hand at 2 cycles per ns: the sequential program executes 4,000 instructions at a CPI of 2, nine tenths of
them in the region. Limits are named first as Gomes 2021 names them for its case studies.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.builders import sweep_builder
from support.builders.sweep_builder import EVERY, Shape

Run = Callable[..., tuple[int, str, str]]
THREADS = (2, 4)


def cpu_of(shape: Shape, n: int) -> int:
    """Return the CPU time of the region's workers: each has its share, in turn 0, 20, 40, ... ns more."""
    return shape.work // n * n + EVERY * sum(range(n))


def counted(shape: Shape, instructions: Callable[[int], int]) -> str:
    """Return counters of a sweep whose parallel program executes so many instructions for a CPU time in the region."""
    rows = ["threads,program,region,cycles,instructions", "1,sequential,work,7200,3600", "1,sequential,(rest),800,400"]
    for n in THREADS:
        cpu = cpu_of(shape, n)
        rows += [f"{n},parallel,work,{2 * cpu},{instructions(cpu)}", f"{n},parallel,(rest),800,400"]
    return "\n".join(rows) + "\n"


def counters_of(path: Path, run: Run, shape: Shape, instructions: Callable[[int], int]) -> Path:
    """Make a sweep and import its counters."""
    sweep = sweep_builder.make(path / "made.sweep", THREADS, 1, shape).path
    (path / "counters.csv").write_text(counted(shape, instructions))
    assert run("import", path / "counters.csv", "-o", sweep / "counters.headway")[0] == 0
    return sweep


def answer(run: Run, *arguments: object) -> Any:
    code, out, err = run("speedups", *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def asked(path: Path, run: Run, shape: Shape, instructions: Callable[[int], int]) -> Any:
    """Return what `speedups` says of a sweep with counters; what it proposes must run."""
    said = answer(run, counters_of(path, run, shape, instructions))
    assert said["counters"] is True
    code, _, err = run(*shlex.split(said["verdict"]["next"])[1:])
    assert code == 0, (said["verdict"]["next"], err)
    return said


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory: commands write their files into it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_maps_that_every_thread_keeps_and_merges_are_parallelism_overhead(run: Run, here: Path) -> None:
    """As k-means 4: twice the CPU time, because there are twice the instructions, each as fast as before."""
    shape = Shape(work=7200)
    said = asked(here, run, shape, lambda cpu: cpu)
    assert said["verdict"]["limit"] == "instruction_overhead"
    assert re.fullmatch(r"org\.example\.App\.work:\d+ in region work", said["verdict"]["place"])
    for row in said["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] == pytest.approx(
            3600 / cpu_of(shape, row["threads"])
        )
        assert row["efficiencies"]["parallel_cpi_overhead"] == pytest.approx(1)


def test_threads_that_wait_for_memory_are_a_memory_limit(run: Run, here: Path) -> None:
    """As molecular dynamics with many molecules: twice the CPU time for the same instructions."""
    shape = Shape(work=7200)
    said = asked(here, run, shape, lambda cpu: 3600)
    assert said["verdict"]["limit"] == "cpi_overhead"
    assert said["verdict"]["gain"] == pytest.approx((400 + 1860) / (400 + 1860 * 3600 / 7320) - 1)
    for row in said["threads"]:
        assert row["efficiencies"]["parallel_instruction_overhead"] == pytest.approx(1)
        assert row["efficiencies"]["parallel_cpi_overhead"] == pytest.approx(3600 / cpu_of(shape, row["threads"]))


def balance(work: int, n: int, locked: int) -> float:
    """Return the load balance of workers that wait equally long and work 20, 40, ... ns more than the first."""
    each = [work // n + EVERY * i + locked for i in range(n)]
    return sum(each) / n / max(each)


def test_a_shared_tally_with_locks_is_lock_contention_with_memory_behind_it(run: Run, here: Path) -> None:
    """As k-means 3: each thread waits for a lock for longer than it computes, and computes a third longer than alone."""
    said = asked(here, run, Shape(work=4800, locked=1500), lambda cpu: 3600)
    assert said["verdict"]["limit"] == "lock_contention"
    evidence = said["verdict"]["evidence"]
    assert any(sentence.startswith("next largest: memory, ") for sentence in evidence)
    without_both = 4000 / (400 + (4800 + 120) / 4 / balance(4800, 4, 1500) * 3600 / (4800 + 120))
    assert f"without both: {without_both:.2f}" in evidence
    assert said["threads"][1]["efficiencies"]["parallel_instruction_overhead"] == pytest.approx(1)
    lock = (4800 + 120) / (4800 + 120 + 4 * 1500)
    assert said["threads"][1]["efficiencies"]["lock_contention"] == pytest.approx(lock)


def test_counters_of_whole_runs_are_not_put_over_a_window(run: Run, tmp_path: Path) -> None:
    sweep = counters_of(tmp_path, run, Shape(), lambda cpu: cpu)
    said = answer(run, sweep, "--from", "0%", "--to", "50%")
    assert {"HW478", "HW466"} <= {each["id"] for each in said["warnings"]}
    assert said["counters"] is False
    for row in said["threads"]:
        assert row["metrics"]["instructions"] is None
        assert row["efficiencies"]["parallel_instruction_overhead"] is None
        assert row["efficiencies"]["work_inflation"] is not None
    assert "HW478" not in {each["id"] for each in answer(run, sweep)["warnings"]}


@pytest.mark.parametrize("warm_up", [0, 600])
def test_counters_beside_a_warm_up_are_said_to_be_without_it(warm_up: int, run: Run, tmp_path: Path) -> None:
    said = answer(run, counters_of(tmp_path, run, Shape(warm_up=warm_up), lambda cpu: cpu))
    assert said["counters"] is True
    messages = [each["message"] for each in said["warnings"] if each["id"] == "HW479"]
    assert len(messages) == (1 if warm_up else 0)
    assert all("up to 600 ns of warm-up" in message for message in messages)


def test_that_one_of_both_counts_is_known_is_not_called_none(run: Run, tmp_path: Path) -> None:
    """A sweep samples one event of the CPU: here cycles, by a counter that is there."""
    said = answer(run, sweep_builder.make(tmp_path / "a.sweep", THREADS, 1, Shape(events=("cycles",))).path)
    assert said["sequential"]["cycles"] == 4000
    assert said["sequential"]["instructions"] is None
    (message,) = (each["message"] for each in said["warnings"] if each["id"] == "HW466")
    assert message.startswith("instructions and cycles are not both known")
