"""A sweep of a program whose virtual threads all want one lock: on a real JVM."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import workloads_jar

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]

OPEN = ("--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")


def test_waits_of_virtual_threads_for_a_lock_are_not_said_to_be_no_contention(tmp_path: Path) -> None:
    carriers = "-Djdk.virtualThreadScheduler.parallelism={threads}"
    program = ["-cp", str(workloads_jar()), "headway.workloads.VirtualLock", "500", "200000"]
    done = headway(
        *("sweep", "--parallel", " ".join([javas()[1], *OPEN, carriers, *program]), "--threads", "1,2", "--repeat", 1),
        *("--region", r"work=VirtualLock\.lambda", "-o", tmp_path / "a.sweep"),
    )
    assert done.returncode == 0, done.stderr
    said = headway("speedups", tmp_path / "a.sweep", "--json")
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    for row in found["threads"]:
        assert row["efficiencies"]["lock_contention"] is None
        assert row["possible"]["lock_contention"] is None
        assert "lock_contention" not in row["stack"]
        assert row["efficiencies"]["load_balance"] is not None
    assert said.stdout.count('"HW457"') == 1
    assert "virtual threads waited for locks 500 times" in said.stdout
