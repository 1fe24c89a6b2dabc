"""Regions of real programs: found by how these give work to other threads, where nobody gave one; corrected, and given badly."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.regions.analysis import regions_of
from headway.store.sweep import Program, Sweep, SweepRun, read_sweep
from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import JAVAS, compile_java

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "GivenWork.java"
CORES = len(os.sched_getaffinity(0))
ROUNDS, ITEMS = 3, 60 * max(2, CORES)
FOUND = {
    "pool": ("GivenWork$Part.compute", "fork/join"),
    "executor": ("GivenWork.lambda$byExecutor$", "executor"),
    "stream": ("GivenWork.item", "parallel stream"),
    "threads": ("GivenWork.lambda$byThreads$", "thread"),
}
ON_BOTH_JDKS = [(how, jdk) for how in ("pool", "stream") for jdk in sorted(JAVAS)]
"""Only the JDK's own code between the one who gives work and the one who does it differs: that of pools, above all."""
WAYS = pytest.mark.parametrize(("how", "jdk"), [*ON_BOTH_JDKS, ("executor", "jdk25"), ("threads", "jdk17")])
SHARED_LESS = 0.2
"""Of the time, at most: while the last threads of a round are at work, fewer than two share a core."""
PROGRAMS: tuple[Program, ...] = ("parallel", "sequential")
Swept = Callable[[str, str, str], Sweep]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    """Return what sweeps the program: how it gives work, with which Java, with how many threads; each once."""
    classes = tmp_path_factory.mktemp("given")
    compile_java(classes, PROGRAM)

    @functools.cache
    def sweep(how: str, java: str, threads: str) -> Sweep:
        command = f"{java} -Djava.util.concurrent.ForkJoinPool.common.parallelism=1 -cp {classes} GivenWork"
        output = tmp_path_factory.mktemp("sweep") / "a.sweep"
        done = headway(
            *("sweep", "--sequential", f"{command} sequential 1 {ROUNDS} {ITEMS}", "--threads", threads),
            *("--parallel", f"{command} {how} {{threads}} {ROUNDS} {ITEMS}", "--repeat", 1),
            *("--sample", "cpu:1ms", "-o", output),
        )
        assert done.returncode == 0, done.stderr
        (output / "said").write_text(done.stderr)
        return read_sweep(output)

    return sweep


def told_by(of: Sweep, run: SweepRun) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((of.path / "runs" / f"{run.name}.out").read_text())
    return said


@WAYS
def test_the_work_that_is_given_to_other_threads_is_the_region(how: str, jdk: str, swept: Swept) -> None:
    found = swept(how, str(JAVAS[jdk]), "2")
    assert found.regions_found
    (region,) = found.regions
    place, kind = FOUND[how]
    assert region.pattern.replace("\\", "").startswith(f"^{place}"), region
    (message,) = (notice.message for notice in found.notices if notice.id == "HW493")
    assert f"({kind})" in message
    (alone,) = found.sequential_regions
    assert alone.pattern == r"^GivenWork\.item$"


@WAYS
def test_a_found_region_takes_the_time_that_the_program_measured_of_it(how: str, jdk: str, swept: Swept) -> None:
    """Borders within a thread are between two samples; the executor's own work between items is in the region, too."""
    found = swept(how, str(JAVAS[jdk]), "2")
    for program in PROGRAMS:
        for run in found.select(program, recorded=True):
            own, recording = told_by(found, run), found.open(run)
            begin_ns = recording.window_ns[0]
            window = (own["begin_ns"] - begin_ns, own["end_ns"] - begin_ns)
            part = regions_of(recording, found.regions_of(program), window).primitives[0]
            assert part.wall_ns == pytest.approx(own["given_ns"], rel=0.05), (program, part)
            assert 0.98 * own["items_cpu_ns"] <= part.cpu_ns <= 1.08 * own["items_cpu_ns"], (program, part)


def test_threads_above_the_cores_are_told_and_wait_for_them(swept: Swept) -> None:
    found = swept("threads", JAVA_17, f"{CORES},{2 * CORES}")
    assert "HW083" in (found.path / "said").read_text()
    said = json.loads(headway("speedups", found.path, "--json").stdout)
    assert "HW462" in {each["id"] for each in said["warnings"]}
    _, above = said["threads"]
    assert above["threads"] == 2 * CORES
    # Two threads share a core, or less than that where others want it, too: each waits for half of the time and more.
    assert above["efficiencies"]["scheduling"] < 0.5 + SHARED_LESS


@pytest.mark.parametrize(
    ("region", "message"),
    [("x=NoSuchClass", "HW490"), ("x=.", "HW491"), (r"work=GivenWork\.item", None)],
    ids=["nothing", "everything", "corrected"],
)
def test_regions_of_a_finished_sweep_are_given_anew_and_bad_ones_told(
    region: str, message: str | None, swept: Swept, tmp_path: Path
) -> None:
    found = swept("threads", JAVA_17, f"{CORES},{2 * CORES}")
    copy = shutil.copytree(found.path, tmp_path / "copy.sweep")
    done = headway("sweep", "--resume", copy, "--region", region)
    assert done.returncode == 0, done.stderr
    again = read_sweep(copy)
    assert [f"{each.name}={each.pattern}" for each in again.regions] == [region]
    assert not again.regions_found
    assert [run.name for run in again.runs] == [run.name for run in found.runs], "nothing is run again"
    assert {each for each in ("HW490", "HW491") if each in done.stderr} == ({message} if message else set())
    assert "HW493" not in done.stderr
