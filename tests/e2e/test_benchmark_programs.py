"""The programs that benchmarks measure run, do the work they are asked for, and say what it took."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

import harness
import programs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    done = subprocess.run(["make", "bench-programs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", programs.NAMES)
def test_a_program_of_others_does_its_work_and_measures_itself(name: str) -> None:
    if name == "sunflow" and not programs.SUNFLOW[0].is_file():
        pytest.skip("sunflow is Debian's package")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = harness.run(programs.command(name, percent=5, threads=2))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.said["program"] == name
    assert run.said["threads"] == 2
    assert 0 < run.wall_ns <= run.span_ns
    # The process's own clock against the kernel's account of it: nothing is counted that did not run.
    used_s = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    assert 0 < run.cpu_ns <= used_s * 1e9


def test_the_ping_pong_says_its_clocks_as_the_benchmark_reads_them() -> None:
    import pingpong

    run = harness.run(programs.workload("PingPong", 4, 200, "park", 0), clocks=pingpong.clocks)
    assert 0 < run.wall_ns < run.span_ns
    assert run.cpu_ns > 0
