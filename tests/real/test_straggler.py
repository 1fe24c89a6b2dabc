"""A stage of Scala's futures one task of which has most of the rows: who keeps the cores idle, and who waits for it?"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers.busy_machine import quietly
from support.drivers.real_servers import alone, asked, command, lost, recorded, warnings_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
ROWS = 400_000
TASKS = 4


@dataclass
class Measured:
    """The recording, how long the tasks took by their own clock (longest first), and the checksum."""

    recording: Path
    took_ns: list[int]
    check: str
    errors: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    def measure(folder: Path) -> Measured:
        path = folder / "stage.headway"
        done = recorded(path, command("SkewedStage", ROWS), "--locks", "--sample", "cpu")
        took, check = done.stdout.splitlines()[:2]
        return Measured(path, [int(word) for word in took.split()], check, done.stderr)

    return quietly(measure, tmp_path_factory.mktemp("stage"))


def test_the_straggler_comes_first_with_its_code_its_task_and_the_next_one(measured: Measured) -> None:
    first = lost(asked(measured.recording, "why", "--cores", TASKS))[0]
    assert first["cause"] in ("imbalance", "serial_section")
    assert first["place"]["thread"].startswith("stage-worker-")
    assert first["place"]["method"] == "headway.real.SkewedStage.aggregate"
    figures = first["figures"]
    assert figures["straggler_ns"] == pytest.approx(measured.took_ns[0], rel=0.05)
    assert figures["next_ns"] == pytest.approx(measured.took_ns[1], rel=0.1)
    assert figures["equal_threads"] == TASKS
    assert figures["waits_for_it"] == "main"


def test_who_awaits_a_result_is_no_lock_and_collections_are_not_to_blame(measured: Measured) -> None:
    said = asked(measured.recording, "why", "--cores", TASKS)
    # A class that is loaded by two threads at once is a lock for a moment.
    assert said["by_cause"].get("lock_contention", 0) < 0.01 * said["lost_ns"], said["by_cause"]
    pauses = [loss for loss in said["lost"] if loss["cause"] == "gc_pause"]
    paused = sum(loss["figures"].get("pause_ns", 0) for loss in pauses)
    for loss in pauses:
        assert (loss["likely_speedup"] or 1) <= 1 + 2 * paused / said["wall_ns"] + 0.01, loss
    assert said["outside_ns"] < 0.05 * said["wall_ns"]


def test_the_critical_path_is_on_the_straggler_for_as_long_as_it_worked_after_the_others(measured: Measured) -> None:
    path = asked(measured.recording, "critical-path")
    worker = max(
        (each for each in path["by_thread"] if each["name"].startswith("stage-worker")), key=lambda row: row["ns"]
    )
    assert worker["ns"] >= 0.8 * (measured.took_ns[0] - measured.took_ns[1])


def test_a_launcher_that_waits_for_its_child_is_no_io(measured: Measured, tmp_path: Path) -> None:
    launcher = f"import subprocess, sys; sys.exit(subprocess.call({command('SkewedStage', ROWS // 4)!r}))"
    path = tmp_path / "launched.headway"
    recorded(path, (sys.executable, "-c", launcher), "--locks")
    said = asked(path, "why", "--cores", TASKS)
    assert said["by_cause"].get("io", 0) < 0.03 * said["lost_ns"], said["by_cause"]
    path_of = asked(path, "critical-path")
    shares = {each["name"]: each["ns"] / path_of["wall_ns"] for each in path_of["by_thread"]}
    # The launcher takes a moment to start; Java's first thread only waits for the others.
    assert shares.get("java", 0) < 0.2, shares
    assert sum(ns for name, ns in shares.items() if name.startswith(("stage-worker", "main"))) > 0.5, shares
    unknown = [each["share"] for each in path_of["by_state"] if each["state"] == "unknown"]
    assert sum(unknown) < 0.1, path_of["by_state"]


def test_the_program_does_what_it_does_without_headway(measured: Measured) -> None:
    done = alone(command("SkewedStage", ROWS))
    assert done.stdout.splitlines()[1] == measured.check
    assert done.stderr == ""
    assert len(measured.took_ns) == TASKS


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
