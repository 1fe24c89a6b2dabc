"""JFR files read by headway and by async-profiler's own converter: the same samples one by one, the same collapsed stacks."""

from __future__ import annotations

import os
import re
import subprocess
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from headway.record.jfr.reader import FRAME_KINDS, EventBatch, FileTimes, JfrFile
from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import JAVAS, java_command, workloads_jar

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "ConverterSamples.java"
TARGET = workloads_jar().parent
CONVERTER = TARGET / "jfr-converter.jar"
INTERVAL_NS = 2_000_000
RUNS = ("jdk.ExecutionSample", "jdk.NativeMethodSample", "profiler.WallClockSample")
ALLOCATIONS = ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB", "jdk.ObjectAllocationSample")
ROUNDING_NS = 4
"""Ticks of a fast clock become nanoseconds by a division, which both do in their own order."""
Samples = dict[tuple[object, ...], list[int]]
"""Kind, weight, thread and frames -> the times of all that have these."""


@pytest.fixture(scope="module")
def profiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of async-profiler in the converter's version."""
    machine = "linux-arm64" if os.uname().machine == "aarch64" else "linux-x64"
    with zipfile.ZipFile(TARGET / "converters-async-profiler.jar") as jar:
        return Path(jar.extract(f"{machine}/libasyncProfiler.so", tmp_path_factory.mktemp("library")))


@pytest.fixture(scope="module", params=sorted(JAVAS))
def profiled(request: pytest.FixtureRequest, profiler: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of async-profiler, of each JDK."""
    path = tmp_path_factory.mktemp("converter") / f"{request.param}.jfr"
    options = f"start,event=ctimer,interval={INTERVAL_NS},wall=10ms,alloc=32k,clock=monotonic,jfr,file={path}"
    command = java_command(JAVAS[request.param], "JucZoo", 3, jvm=(f"-agentpath:{profiler}={options}",))
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    return path


def theirs(path: Path) -> Samples:
    """Return the samples as the converter's reader sees them."""
    said = subprocess.run(
        [JAVA_17, "-cp", CONVERTER, PROGRAM, path], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    rows: Samples = defaultdict(list)
    for line in said.splitlines():
        kind, weight, ns, thread, *frames = line.split("\t")
        parts = [frame.rsplit("|", 3) for frame in frames]
        stack = tuple((name, method, _line(line), FRAME_KINDS[word]) for name, method, line, word in parts)
        rows[kind, weight, thread, stack].append(int(ns))
    return rows


def _line(text: str) -> int:
    """Return a frame's line; the converter keeps 16 bits of it, and -1 is the JDK's word for none."""
    return 0 if int(text) == 0xFFFF else int(text)


def ours(path: Path) -> Samples:
    """Return the same of headway's reader."""
    file = JfrFile(path, (*RUNS, *ALLOCATIONS), FileTimes.TICKS)
    batches: list[EventBatch] = []
    stacks: dict[int, list[int]] = {-1: []}
    for batch in file:
        batches.append(batch)
        new = file.stacks()
        for stack, frame in zip(new["stack_id"].tolist(), new["frame_id"].tolist(), strict=True):
            stacks.setdefault(stack, []).append(frame)
    assert file.problems == []
    frames = [(row["class_name"], row["method"], row["line"] or 0, row["kind"]) for row in file.frames().to_pylist()]
    threads = [each.name for each in file.threads()]
    rows: Samples = defaultdict(list)
    for batch in batches:
        kind = "run" if batch.event in RUNS else "alloc"
        size = "weight" if "weight" in batch.columns else "allocationSize"
        weights = batch.ints("samples", 1) if kind == "run" else batch.ints(size)
        tlab = batch.ints("tlabSize", 0)
        who = batch.ids("thread", "sampledThread" if "sampledThread" in batch.columns else "eventThread")
        for at, stack in enumerate(batch.ids("stack", "stackTrace").tolist()):
            weight = str(weights[at]) if kind == "run" else f"{weights[at]}:{tlab[at]}"
            path_of = tuple(frames[frame] for frame in stacks[stack])
            rows[kind, weight, threads[who[at]], path_of].append(int(batch.ints("startTime")[at]))
    return rows


def compare(path: Path) -> None:
    """Check that both readers see the same samples at the same times."""
    expected, found = theirs(path), ours(path)
    assert sum(map(len, expected.values())) > 50
    assert [each for each in expected if each not in found] == []
    assert [each for each in found if each not in expected] == []
    for key, times in expected.items():
        both = zip(sorted(times), sorted(found[key]), strict=True)
        assert max(abs(one - other) for one, other in both) <= ROUNDING_NS


def test_every_sample_of_async_profiler_is_what_its_converter_reads(profiled: Path) -> None:
    compare(profiled)


def test_every_sample_of_the_jdk_is_what_the_converter_reads(tmp_path: Path) -> None:
    path = tmp_path / "jdk.jfr"
    subprocess.run(
        java_command(JAVAS["jdk17"], "JfrZoo", path, 2, 100, jvm=("-Xmx256m",)),
        capture_output=True,
        check=True,
        timeout=120,
    )
    compare(path)


def test_collapsed_stacks_are_those_of_the_converter(profiled: Path, tmp_path: Path) -> None:
    expected, found = tmp_path / "theirs.collapsed", tmp_path / "ours.collapsed"
    subprocess.run(
        [JAVA_17, "-jar", CONVERTER, "--cpu", "-o", "collapsed", "--dot", profiled, expected],
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert headway("import", profiled, "-o", tmp_path / "a.headway").returncode == 0
    assert (
        headway("export", tmp_path / "a.headway", "--format", "collapsed", "--event", "cpu", "-o", found).returncode
        == 0
    )
    converted = collapsed(expected)
    assert converted.total() > 10
    assert {stack: weight // INTERVAL_NS for stack, weight in collapsed(found).items()} == converted


def collapsed(path: Path) -> Counter[str]:
    """Return the weight of each stack, its frames as both write them.

    The converter marks frames by how they were compiled (_[j]); headway says which library a native one is of (libjvm.so.).
    """
    rows: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        stack, _, weight = line.rpartition(" ")
        stack = re.sub(r"_\[[0-9a-z]\](?=;|$)", "", stack)
        rows[re.sub(r"(^|;)[\w+-][\w.+-]*\.so(\.\d+)*\.", r"\1", stack)] += int(weight)
    return rows
