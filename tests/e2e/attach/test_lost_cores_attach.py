"""`headway why` of a recording that was attached says which losses hang on what came before."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import attached, headway, javas, start_headway, wait_for, wait_for_file
from support.drivers.workloads import compile_java

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SOURCE = Path(__file__).parents[2] / "programs" / "Joined.java"
AT_WORK_ALONE = {"serial_section", "imbalance", "too_few_tasks"}
"""What main's wait for the worker may come out as."""
CORES = 64
"""More than there are: however busy the machine is with others, cores are lost."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("joined")
    compile_java(out, SOURCE)
    return out


def asked(recording: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the losses, and the text that people read."""
    done = headway("why", recording, "--cores", CORES, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    text = headway("why", recording, "--cores", CORES)
    assert text.returncode == 0, text.stderr
    warned = {notice["id"] for notice in said["warnings"]}
    assert ("HW498" in warned) == any("HW498" in row["doubts"] for row in said["lost"])
    return said["lost"], text.stdout + text.stderr


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_while_a_thread_is_in_a_wait_from_before_an_attach_what_another_does_alone_is_in_doubt(
    tmp_path: Path, program: Path, java: str
) -> None:
    recording, stop, out = tmp_path / "r.headway", tmp_path / "stop", tmp_path / "out"
    with open(out, "wb") as output:
        jvm = subprocess.Popen([java, "-cp", program, "Joined", stop], stdout=output)
    try:
        wait_for_file(out)
        recorder = start_headway("record", "--locks", "-o", recording, "--pid", jvm.pid)
        wait_for(lambda: attached(recording))
        stop.touch()
        assert jvm.wait(timeout=100) == 0
        assert recorder.wait(timeout=100) == 0
    finally:
        jvm.kill()
        jvm.wait()
    lost, text = asked(recording)
    alone = [row for row in lost if row["cause"] in AT_WORK_ALONE and row["place"]["thread"] == "worker"]
    assert alone
    assert all("HW498" in row["doubts"] for row in alone), lost
    assert not any("HW498" in row["doubts"] for row in lost if row["cause"] in ("scheduler", "jvm_end", "gc_pause")), (
        lost
    )
    marked = re.search(r"^\w[^?:\n]* \?", text, re.MULTILINE)
    assert bool(re.search(r"\?: in doubt, see .*HW498\.", text)) == bool(marked), (
        "a mark is explained, where there is one"
    )
    assert "HW498" in text


def test_a_recording_from_the_start_has_no_doubts_of_what_came_before(tmp_path: Path, program: Path) -> None:
    recording, stop = tmp_path / "r.headway", tmp_path / "stop"
    stop.touch()
    done = headway("record", "--locks", "-o", recording, "--", javas()[0], "-cp", program, "Joined", stop)
    assert done.returncode == 0, done.stderr
    lost, text = asked(recording)
    assert not any("HW498" in row["doubts"] for row in lost)
    assert "HW498" not in text
