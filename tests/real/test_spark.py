"""A Spark job one key of which has 80 % of the rows: who keeps the cores idle?"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.busy_machine import quietly
from support.drivers.real_servers import ROOT, asked, lost, recorded, warnings_of
from support.drivers.recording_cli import JAVA_17

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
ROWS = 200_000
CORES = 4
SPARK = ROOT / "java" / "real" / "spark" / "target"
OPENED = ("java.lang", "java.lang.invoke", "java.nio", "java.util", "sun.nio.ch")
"""Packages of the JDK that Spark looks into."""


@dataclass
class Measured:
    """The recording; when tasks ran in it and the run time by id of those of the last stage, longest first, by Spark; all pauses,
    by the JVM's log.
    """

    recording: Path
    job_ns: tuple[int, int]
    run_ns: dict[int, int]
    tasks: int
    gc_ns: int
    output: str
    errors: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return quietly(measure, tmp_path_factory.mktemp("spark"))


def measure(folder: Path) -> Measured:
    """Record the job, and read what Spark wrote of it."""
    events = folder / "events"
    events.mkdir()
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    words = [
        JAVA_17,
        *opened,
        f"-Xlog:gc:file={folder}/gc.log",
        "-cp",
        f"{SPARK}/spark.jar:{SPARK}/lib/*",
        "headway.real.SkewedJob",
        str(ROWS),
        str(events),
    ]
    done = recorded(folder / "spark.headway", words, "--locks", "--sample", "cpu")
    (log,) = events.iterdir()
    ends = [
        event for event in map(json.loads, log.read_text().splitlines()) if event["Event"] == "SparkListenerTaskEnd"
    ]
    last = max(event["Stage ID"] for event in ends)
    run_ns = {
        event["Task Info"]["Task ID"]: event["Task Metrics"]["Executor Run Time"] * 1_000_000
        for event in sorted(ends, key=lambda event: -event["Task Metrics"]["Executor Run Time"])
        if event["Stage ID"] == last
    }
    pauses = re.findall(r"Pause .* ([\d.]+)ms$", (folder / "gc.log").read_text(), re.MULTILINE)
    gc_ns = round(sum(map(float, pauses)) * 1e6)
    job_ns = job_in(folder / "spark.headway", [event["Task Info"] for event in ends])
    return Measured(folder / "spark.headway", job_ns, run_ns, len(ends), gc_ns, done.stdout, done.stderr)


def job_in(recording: Path, tasks: list[dict[str, Any]]) -> tuple[int, int]:
    """Return when the first task began and the last one ended, in ns from the recording's start; Spark counts ms of the epoch."""
    since_ns = time.time_ns() - time.monotonic_ns() + open_recording(recording).window_ns[0]
    begin_ms, end_ms = min(task["Launch Time"] for task in tasks), max(task["Finish Time"] for task in tasks)
    return begin_ms * 1_000_000 - since_ns, end_ms * 1_000_000 - since_ns


def lost_to(measured: Measured) -> list[dict[str, Any]]:
    """Return the losses while the job ran, largest gain first: before that and after it Spark sets itself up, alone, on main."""
    begin, end = (f"{ns / 1e9:.6f}s" for ns in measured.job_ns)
    return lost(asked(measured.recording, "why", "--cores", CORES, "--from", begin, "--to", end))


def test_the_straggler_is_the_first_cause_by_its_code_with_sparks_own_times(measured: Measured) -> None:
    first = lost_to(measured)[0]
    (straggler, longest_ns), (_, next_ns), *_ = measured.run_ns.items()
    assert first["cause"] in ("imbalance", "serial_section")
    assert first["place"]["method"].startswith("headway.real.SkewedJob.")
    assert f"(TID {straggler})" in first["place"]["thread"]
    assert first["figures"]["straggler_ns"] == pytest.approx(longest_ns, rel=0.1)
    assert first["figures"]["next_ns"] == pytest.approx(next_ns, rel=0.25)


def test_collections_results_and_idle_loops_are_not_to_blame(measured: Measured) -> None:
    first, *others = lost_to(measured)
    for loss in others:
        if loss["cause"] in ("lock_contention", "io", "condition", "sleep", "starved_consumer"):
            assert loss["core_ns"] < 0.2 * first["core_ns"], loss
    said = asked(measured.recording, "why", "--cores", CORES)
    for loss in lost(said):
        if loss["cause"] == "gc_pause":
            # Beside its pauses, G1 may take as much again from threads that wait for a core.
            assert (loss["likely_speedup"] or 1) <= 1 + 2 * measured.gc_ns / said["wall_ns"] + 0.01, loss


def test_the_critical_path_is_on_the_straggler_for_as_long_as_it_worked_after_the_others(measured: Measured) -> None:
    longest_ns, next_ns, *_ = measured.run_ns.values()
    path = asked(measured.recording, "critical-path")
    worker = max((each for each in path["by_thread"] if "task launch" in each["name"]), key=lambda row: row["ns"])
    assert worker["ns"] >= 0.8 * (longest_ns - next_ns), path["by_thread"]


def test_the_job_does_what_it_does_without_headway(measured: Measured) -> None:
    assert measured.output == "6836440791156697420\n"
    assert measured.tasks == 2 * CORES
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
