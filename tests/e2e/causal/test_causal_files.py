"""A program that closes the agent's descriptors and is given their numbers: nothing of it is touched, and experiments go on."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.drivers.workloads import JAVAS, agent, compile_java

SOURCE = Path(__file__).resolve().parents[2] / "programs" / "Closes.java"
SPEC = "progress:" + quote("Visits=Closes.visited", safe="") + ";experiment_ms:100"
PATIENCE_S = 150


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, SOURCE, SOURCE.with_name("Descriptors.java"))
    return out


def notes(spool: Path) -> list[dict[str, Any]]:
    """Return what has been noted so far; [] before the agent's file is there."""
    for path in spool.glob("causal-*.jsonl"):
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return []


def wait_for(program: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert program.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


def sampled(found: list[dict[str, Any]]) -> int:
    """Return how many experiments had samples of threads that compute."""
    return sum(note["t"] == "experiment" and note["hits"] > 0 for note in found)


@pytest.mark.parametrize("name", JAVAS)
def test_descriptors_that_the_program_closed_are_left_alone_and_opened_again(
    name: str, classes: Path, tmp_path: Path
) -> None:
    spool, own = tmp_path / "spool", tmp_path / "own"
    spool.mkdir()
    own.mkdir()
    option = f"-agentpath:{agent()}=spool={quote(str(spool))},causal={quote(SPEC, safe='/._-~+:@')}"
    opens = ("--add-opens", "java.base/java.io=ALL-UNNAMED")
    command = [JAVAS[name], option, *opens, "-cp", classes, "Closes", own, spool]
    with subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            wait_for(program, lambda: sampled(notes(spool)) >= 2)
            (own / "close").touch()
            wait_for(program, lambda: any(note["t"] == "problem" for note in notes(spool)))
            before = sampled(notes(spool))
            wait_for(program, lambda: sampled(notes(spool)) >= before + 4)
            (own / "stop").touch()
            stdout, stderr = program.communicate(timeout=PATIENCE_S)
        finally:
            program.kill()
    assert (program.returncode, stderr) == (0, "")
    closed, ended = map(json.loads, stdout.splitlines())
    assert closed["count"] >= 2, "the file of notes and its folder, and timers where perf is allowed"
    assert closed["taken"] >= 1, "the agent may have opened one again already"
    assert ended["spoilt"] == 0
    found = notes(spool)
    assert {note["id"] for note in found if note["t"] == "problem"} == {"HW641"}
    assert found[-1]["t"] == "end"
