"""Causal profiling beside another agent that never comes back from a retransformation: the JVM ends all the same."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from headway.errors import HeadwayError
from headway.record.agent.attach import attach
from headway.record.request.jvm_options import agent_options
from support.drivers.workloads import JAVAS, agent, compile_java, java_agent

PROGRAMS = Path(__file__).resolve().parents[2] / "programs"
SPEC = f"progress:{quote('work=Units.unit', safe='')};experiment_ms:100"
PATIENCE_S = 60
END_S = 30
"""Within which a JVM ends that nobody holds up: the agent waits five seconds for its own thread, at most."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compile_java(folder, PROGRAMS / "Units.java", PROGRAMS / "HoldingTransformer.java")
    java_agent(folder / "other.jar", folder, "HoldingTransformer")
    return folder


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """A folder for the notes."""
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@contextlib.contextmanager
def units(java: Path, classes: Path, folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run units of work beside the other agent, until the file `stop` is there; what it prints is in the file `out`."""
    held = f"-javaagent:{classes / 'other.jar'}=Units"
    command = [str(java), *options, held, "-Xmx128m", "-cp", str(classes), "Units", str(folder / "stop")]
    with (folder / "out").open("wb") as out:
        program = subprocess.Popen(command, stdout=out)
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def printed(folder: Path) -> list[str]:
    return [line.split()[0] for line in (folder / "out").read_text().splitlines()]


def kinds_of_notes(spool: Path) -> list[str]:
    notes = [path.read_bytes().split(b"\n")[:-1] for path in spool.glob("causal-*.jsonl")]
    return [json.loads(line)["t"] for lines in notes for line in lines]


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_jvm_ends_though_another_agent_never_lets_the_points_be_taken_out(
    jdk: str, classes: Path, tmp_path: Path, spool: Path
) -> None:
    recorder = os.open(spool, os.O_RDONLY)
    fcntl.flock(recorder, fcntl.LOCK_SH)
    option = f"-agentpath:{agent()}={agent_options(spool, causal=SPEC)}"
    with units(JAVAS[jdk], classes, tmp_path, option) as program:
        try:
            wait_for(lambda: "experiment" in kinds_of_notes(spool))
        finally:
            os.close(recorder)  # as if it were killed: the agent ends by itself
        wait_for(lambda: printed(tmp_path) == ["held"])
        (tmp_path / "stop").touch()
        assert program.wait(END_S) == 0
    assert printed(tmp_path) == ["held", "units"]
    assert kinds_of_notes(spool)[-1] == "end", "the last notes do not wait for the other agent"


@pytest.mark.parametrize("jdk", JAVAS)
def test_a_jvm_ends_though_another_agent_never_lets_the_points_be_put_in(
    jdk: str, classes: Path, tmp_path: Path, spool: Path
) -> None:
    with units(JAVAS[jdk], classes, tmp_path) as program:
        wait_for(lambda: "libinstrument" in Path(f"/proc/{program.pid}/maps").read_text())
        time.sleep(1)
        with pytest.raises(HeadwayError) as refused:
            attach(program.pid, agent(), spool, causal=SPEC, timeout_s=5)
        assert refused.value.notice.id == "HW024"
        assert printed(tmp_path) == ["held"]
        (tmp_path / "stop").touch()
        assert program.wait(END_S) == 0
    assert printed(tmp_path) == ["held", "units"]
