"""JFR files of real JVMs, read by headway and by the JDK's own tool: every value of every event is the same."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.record.request.sampling import library
from support.drivers.workloads import JAVAS, java_command
from support.oracles.jfr_oracle import JFR, Rows, printed, read

EVENTS = 100
ROUNDS = 2


@dataclass(frozen=True)
class Zoo:
    """A file with every kind of event, and how many of its own events the program says there are."""

    path: Path
    own: int
    theirs: Rows
    ours: Rows


@pytest.fixture(scope="module", params=sorted(JAVAS))
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    path = tmp_path_factory.mktemp("jfr") / "zoo.jfr"
    command = java_command(JAVAS[request.param], "JfrZoo", path, ROUNDS, EVENTS, jvm=("-Xmx256m",))
    said = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
    own = json.loads(said.splitlines()[-1])["own"]
    return Zoo(path, own, printed(path), read(path))


def test_every_event_is_read_as_often_as_the_jdk_prints_it(zoo: Zoo) -> None:
    assert {event: rows.total() for event, rows in zoo.ours.items()} == {
        event: rows.total() for event, rows in zoo.theirs.items()
    }
    assert zoo.ours["headway.Zoo"].total() == zoo.own
    assert {"jdk.ThreadPark", "jdk.JavaMonitorEnter", "jdk.JavaMonitorWait", "jdk.ThreadSleep"} <= zoo.ours.keys()
    assert {"jdk.GCPhasePause", "jdk.GarbageCollection", "jdk.ThreadStart", "jdk.ThreadEnd"} <= zoo.ours.keys()


def test_every_value_of_every_event_is_what_the_jdk_prints(zoo: Zoo) -> None:
    different = {
        event: (list((rows - zoo.ours[event]).elements())[:2], list((zoo.ours[event] - rows).elements())[:2])
        for event, rows in zoo.theirs.items()
        if rows != zoo.ours[event]
    }
    assert different == {}


def test_the_file_has_several_chunks(zoo: Zoo) -> None:
    summary = subprocess.run([JFR, "summary", str(zoo.path)], capture_output=True, text=True, check=True).stdout
    chunks = next(line for line in summary.splitlines() if "Chunks:" in line)
    assert int(chunks.split(":")[1]) >= ROUNDS


def test_a_file_of_async_profiler_is_read_as_the_jdk_prints_it(tmp_path: Path) -> None:
    path = tmp_path / "profiler.jfr"
    profiler = library()
    options = f"start,event=ctimer,interval=1ms,wall=5ms,alloc=64k,lock=0,clock=monotonic,jfr,file={path}"
    command = java_command(JAVAS["jdk17"], "JucZoo", 3, jvm=(f"-agentpath:{profiler}={options}",))
    subprocess.run(command, capture_output=True, check=True, timeout=120)
    theirs, ours = printed(path), read(path)
    assert {"jdk.ExecutionSample", "profiler.WallClockSample"} <= theirs.keys()
    assert {event: rows - ours[event] for event, rows in theirs.items() if rows != ours[event]} == {}
    assert theirs.keys() == ours.keys()
