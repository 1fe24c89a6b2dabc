"""Files of several JVMs and of both writers, one behind the other: each chunk's samples stand for what its own settings say."""

from __future__ import annotations

import itertools
import os
import subprocess
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java, java_command, workloads_jar

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "FlightRecorded.java"
Sums = Counter[tuple[str, int]]
"""(event, weight) -> samples"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file of each JDK, where ExecutionSample has another number, and one of async-profiler, by counts of an event."""
    folder = tmp_path_factory.mktemp("joined")
    compile_java(folder, PROGRAM)
    for jdk, java in JAVAS.items():
        allocation_events = "all" if jdk == "jdk25" else "few"  # allocations, and CPU time, by two events
        command = [java, "-Xmx256m", "-cp", folder, "FlightRecorded", folder / f"{jdk}.jfr", allocation_events]
        subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=120)
    machine = "linux-arm64" if os.uname().machine == "aarch64" else "linux-x64"
    with zipfile.ZipFile(workloads_jar().with_name("async-profiler.jar")) as jar:
        library = jar.extract(f"{machine}/libasyncProfiler.so", folder)
    path = folder / "profiler.jfr"
    options = f"start,event=page-faults,interval=7,wall=3ms,alloc=8k,jfr,file={path}"
    profiled = java_command(JAVAS["jdk17"], "JucZoo", 3, jvm=(f"-agentpath:{library}={options}",))
    subprocess.run(profiled, check=True, capture_output=True, timeout=120)
    return {"jdk17": folder / "jdk17.jfr", "jdk25": folder / "jdk25.jfr", "profiler": path}


def sums_of(file: Path) -> Sums:
    output = file.with_suffix(".headway")
    done = headway("import", file, "--force", "-o", output)
    assert done.returncode == 0, done.stderr
    recording = open_recording(output)
    try:
        rows = recording.query("SELECT event, weight, count(*) FROM sample GROUP BY 1, 2").fetchall()
        return Counter({(event, weight): count for event, weight, count in rows})
    finally:
        recording.close()


@pytest.fixture(scope="module")
def alone(files: dict[str, Path]) -> dict[str, Sums]:
    return {name: sums_of(path) for name, path in files.items()}


def test_each_alone_says_what_its_samples_stand_for(alone: dict[str, Sums]) -> None:
    assert {key[1] for key in alone["jdk17"] if key[0] == "cpu"} == {10_000_000, 7_000_000}
    assert {key[1] for key in alone["jdk25"] if key[0] == "execution"} == {10_000_000, 7_000_000}
    assert {key[1] for key in alone["profiler"] if key[0] == "page-faults"} == {7}
    assert all(weight % 3_000_000 == 0 for event, weight in alone["profiler"] if event == "wall")
    assert {event for event, _ in alone["profiler"]} == {"page-faults", "wall", "alloc"}
    assert {event for event, _ in alone["jdk25"]} >= {"cpu", "execution", "alloc"}


@pytest.mark.parametrize("names", list(itertools.permutations(("jdk17", "jdk25", "profiler"))), ids="-".join)
def test_one_behind_the_other_they_have_the_same_samples(
    names: tuple[str, ...], files: dict[str, Path], alone: dict[str, Sums], tmp_path: Path
) -> None:
    joined = tmp_path / "joined.jfr"
    joined.write_bytes(b"".join(files[name].read_bytes() for name in names))
    assert sums_of(joined) == sum((alone[name] for name in names), Counter())
