"""Accesses in windows: programs that know how often they read and write, every collector, other agents, an early end."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway import _native
from headway.analyses.objects.analysis import objects
from headway.analyses.objects.window_types import WindowAnswer
from headway.record.request.jvm_options import agent_options
from headway.record.request.objects import ObjectOptions, Windows, parse, with_windows
from headway.store import Recording
from support.builders.access_agent import finished
from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, agent, compile_java, java_agent

KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes", "static_reads", "static_writes")
LONGER_AND_LONGER = ((Windows(60, 300), 6), (Windows(200, 1000), 20), (Windows(400, 2000), 40))
"""More often than `record` allows, for short tests: windows, and the seconds of a run with them."""
LONGER_THAN_THE_RUN = Windows(600_000, 2_400_000)
COLLECTORS = [(jdk, each) for jdk in ("jdk17", "jdk25") for each in ("Serial", "Parallel", "G1", "Z", "Shenandoah")]
Sums = dict[str, tuple[int, ...]]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("windows")
    for name in ("AccessCounts", "SteadyAccesses", "Retransformer", "HoldingTransformer"):
        compile_java(folder, PROGRAMS / f"{name}.java")
    return folder


@dataclass
class AgentFile:
    """What a real agent has written, where a builder's agent would write."""

    spool: Path

    def write(self, spool: Path) -> None:
        for file in self.spool.iterdir():
            shutil.copy(file, spool)


def run(java: Path, classes: Path, spool: Path, windows: Windows, *command: str, timeout_s: int = 240) -> str:
    """Run a program with the agent and no recorder; return what it prints."""
    spool.mkdir()
    asked = f"-agentpath:{agent()}={agent_options(spool, objects=ObjectOptions(None, accesses=True, windows=windows))}"
    done = subprocess.run(
        [java, asked, "-Xmx128m", "-Xcheck:jni", *command[:-3], "-cp", classes, *command[-3:]],
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert done.stderr == ""
    return done.stdout


def added(rows: list[tuple[str, tuple[int, ...]]]) -> Sums:
    found: Sums = {}
    for name, counts in rows:
        found[name] = tuple(map(sum, zip(found.get(name, (0,) * len(KINDS)), counts, strict=True)))
    return found


def stated(output: str) -> Sums:
    """Return what AccessCounts says of itself, by class."""
    lines = [line.split() for line in output.split("end\n")[0].splitlines()]
    return added([(name, tuple(map(int, counts))) for _, name, *counts in lines])


def counted(spool: Path) -> tuple[Sums, int]:
    """Return what windows have counted, by class, and how many there were."""
    (found,) = _native.Decoder(str(spool)).agents()
    names = [name.decode() for name in found["allocations"]["texts"]]
    columns = [found["accesses"][kind].tolist() for kind in ("group", "class", *KINDS)]
    rows = [(names[name], tuple(counts)) for group, name, *counts in zip(*columns, strict=True) if group == 0]
    coverage = dict(pair.split("=") for pair in dict(found["facts"])[b"accesses_coverage"].decode().split(","))
    return added(rows), int(coverage["windows"])


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_window_that_outlasts_the_program_counts_everything(jdk: str, classes: Path, tmp_path: Path) -> None:
    wanted = stated(run(JAVAS[jdk], classes, tmp_path / "spool", LONGER_THAN_THE_RUN, "AccessCounts", "5000", "exit"))
    found, windows = counted(tmp_path / "spool")
    assert windows == 0
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(("jdk", "collector"), COLLECTORS)
def test_a_program_runs_as_without_windows_under_each_collector(
    jdk: str, collector: str, classes: Path, tmp_path: Path
) -> None:
    option = f"-XX:+Use{collector}GC"
    if subprocess.run([JAVAS[jdk], option, "-version"], capture_output=True).returncode != 0:
        pytest.skip("this JVM has no such collector")
    wanted = stated(
        run(JAVAS[jdk], classes, tmp_path / "spool", Windows(20, 80), option, "AccessCounts", "300000", "exit")
    )
    found, windows = counted(tmp_path / "spool")
    assert windows > 1
    assert any(sum(found.get(name, ())) for name in wanted)
    assert all(got <= true for name in wanted for got, true in zip(found.get(name, (0,)), wanted[name], strict=False))


def steady_recording(
    java: Path, classes: Path, folder: Path, windows: Windows, seconds: int
) -> tuple[dict[str, Any], Recording]:
    """Return what SteadyAccesses says of itself, writes and reads by thread, and the recording of it."""
    folder.mkdir()
    said = run(java, classes, folder / "spool", windows, "SteadyAccesses", str(seconds), "steady")
    true = {line.split()[0]: tuple(map(int, line.split()[1:])) for line in said.splitlines()}
    return true, finished(folder, AgentFile(folder / "spool"))  # type: ignore[arg-type]


def answered(recording: Recording) -> WindowAnswer:
    found = objects(recording, "thread-class").windows
    assert found is not None
    return found


@pytest.mark.parametrize("jdk", JAVAS)
def test_steady_threads_are_estimated_as_what_they_say_of_themselves(jdk: str, classes: Path, tmp_path: Path) -> None:
    # On a machine that has no time for the program short windows see too little, and nothing is claimed.
    for number, (windows, seconds) in enumerate(LONGER_AND_LONGER):
        true, recording = steady_recording(JAVAS[jdk], classes, tmp_path / str(number), windows, seconds)
        if estimates_fit(true, answered(recording)):
            return
    pytest.fail("of no run anything was estimated")


def estimates_fit(true: dict[str, Any], found: WindowAnswer) -> bool:
    """Compare all that windows say of both threads; return whether they estimate something."""
    is_known = False
    groups = [row for row in found.groups if row.class_name == "SteadyAccesses$Work"]
    rows = dict(zip(("one", "two"), sorted(groups, key=lambda row: row.java_id or 0), strict=True))
    ends_of_windows = 2 * (found.windows + 1)
    for name, (writes, reads) in true.items():
        figures = rows[name].figures
        assert 0 < figures.tuple_writes.counted < writes
        assert 0 < figures.array_reads.counted < reads
        # Each end of a window is within one batch, of 2,000 reads and then 500 writes.
        assert figures.array_reads.counted == pytest.approx(
            4 * figures.tuple_writes.counted, rel=0.01, abs=2000 * ends_of_windows
        )
        for figure, wanted in ((figures.array_reads, reads), (figures.tuple_writes, writes)):
            if figure.value is None:
                continue
            is_known = True
            assert figure.low is not None
            assert figure.high is not None
            assert figure.counted <= figure.low <= figure.value <= figure.high
            # Windows slow a thread down three to eight times. How well intervals cover is a matter of many runs:
            # benchmarks/window_overhead.py.
            assert wanted / 2 < figure.value < 2 * wanted
    return is_known


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_jvm_ends_though_another_agent_never_lets_a_window_begin_or_end(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    option = f"-javaagent:{java_agent(tmp_path / 'other.jar', classes, 'HoldingTransformer')}"
    said = run(
        JAVAS[jdk], classes, tmp_path / "spool", Windows(50, 200), option, "SteadyAccesses", "1", "steady", timeout_s=60
    )
    assert [line.split()[0] for line in said.splitlines()] == ["held", "one", "two"]
    assert counted(tmp_path / "spool")[1] >= 1  # the agent's last records are there


def test_classes_that_another_agent_has_retransformed_count_as_before(classes: Path, tmp_path: Path) -> None:
    jar = java_agent(tmp_path / "other.jar", classes, "Retransformer")
    windows = LONGER_THAN_THE_RUN
    output = run(
        JAVAS["jdk25"], classes, tmp_path / "spool", windows, f"-javaagent:{jar}", "AccessCounts", "5000", "exit"
    )
    wanted, (found, _) = stated(output), counted(tmp_path / "spool")
    assert {name: found.get(name) for name in wanted} == wanted


def test_a_recording_that_ends_before_its_program_leaves_it_as_it_is(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    asked = ("--mode", "agent", "--objects", "accesses", "--windows", "1s/10s", "--duration", "2s")
    done = headway("record", *asked, "-o", path, "--", JAVAS["jdk17"], "-cp", classes, "SteadyAccesses", "4", "steady")
    assert done.returncode == 0, done.stderr
    true = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
    assert list(true) == ["one", "two"]
    said = json.loads(headway("objects", path, "--json", "--by", "thread-class").stdout)
    assert said["accesses"] is None
    rows = [each for each in said["windows"]["groups"] if each["class"] == "SteadyAccesses$Work"]
    assert rows
    for row in rows:
        write = row["tuple"]["write"]
        assert write["counted"] < true[row["thread"]]
        assert row["is_known"] or write["value"] is None


def test_what_windows_can_t_tell_is_refused_by_name(tmp_path: Path) -> None:
    record = ("record", "-o", tmp_path / "a.headway", "--objects")
    for what, windows, wanted in (
        ("accesses,owners", "300ms/60s", "HW899"),
        ("accesses,lines", "300ms/60s", "HW899"),
        ("accesses,nodes", "300ms/60s", "HW899"),
        ("accesses", "300ms/3s", "HW898"),
    ):
        done = headway(*record, what, "--windows", windows, "--", "true")
        assert done.returncode != 0
        assert wanted in done.stderr


def test_windows_are_of_accesses() -> None:
    with pytest.raises(ValueError, match="add --objects accesses"):
        with_windows(parse("allocations"), "300ms/60s")
    for text in ("", "300ms", "300/60", "-1s/60s", "1ms/60s", "20s/60s", "300ms/60s/1s", "1s/2000m"):
        with pytest.raises(ValueError, match="--windows"):
            with_windows(parse("accesses"), text)
    assert with_windows(parse("accesses"), "2s/1m").windows == Windows(2000, 60_000)
