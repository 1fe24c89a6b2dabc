"""`headway memory` of a program that says itself what its workers allocated, by the JVM's own count."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

ARRAYS = (20_000, 40_000, 60_000)
WORKERS = [f"{arrays}:300" for arrays in ARRAYS]
MIB = 1 << 20


@pytest.mark.parametrize("jdk", JAVAS)
def test_rates_and_imbalance_are_those_of_the_jvm_s_own_count(jdk: str, tmp_path: Path) -> None:
    compile_java(tmp_path, PROGRAMS / "UnevenAllocators.java")
    path = tmp_path / "a.headway"
    done = headway(
        "record",
        "--objects",
        "allocations",
        "-o",
        path,
        "--",
        JAVAS[jdk],
        "-cp",
        tmp_path,
        "UnevenAllocators",
        *WORKERS,
    )
    assert done.returncode == 0, done.stderr
    by_worker = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("worker-")]
    assert len(by_worker) == len(ARRAYS)
    asked = headway("memory", path, "--json")
    assert asked.returncode == 0, asked.stderr
    said = json.loads(asked.stdout)
    figures = {name: each["value"] for name, each in said["figures"].items()}
    allocated = figures["mb_per_s"] * MIB * said["wall_ns"] / 1e9
    assert sum(by_worker) * 0.99 <= allocated <= sum(by_worker) + 16 * MIB  # main, and the JVM's start
    objects = figures["objects_k_per_s"] * 1e3 * said["wall_ns"] / 1e9
    assert figures["average_object_bytes"] == pytest.approx(allocated / objects)
    assert objects >= sum(ARRAYS)
    assert figures["mb_per_cpu_s"] * said["cpu_ns"] == pytest.approx(figures["mb_per_s"] * said["wall_ns"])
    expected = 100 * statistics.pstdev(by_worker) / statistics.mean(by_worker)
    assert figures["imbalance_bytes_pct"] == pytest.approx(expected, abs=2)
    assert figures["cpi"] is None
    assert said["figures"]["cpi"]["remedy"].startswith("headway record --counters")
