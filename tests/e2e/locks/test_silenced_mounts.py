"""Mounts of virtual threads are events of the JVM: when the recorder stops, they end, though no thread starts or ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, JDK_21, agent, compile_java
from support.oracles.agent_reader import read_agent_spool

PROGRAM = Path(__file__).parents[2] / "programs" / "VirtualRounds.java"
STOP_WORD_AT = 48
ONE_CARRIER = ("-Djdk.virtualThreadScheduler.parallelism=1", "-Djdk.virtualThreadScheduler.maxPoolSize=1")
"""Of several, one with nothing to do ends after half a minute: a thread's end would turn the events off as well."""


@pytest.mark.parametrize("java", [JDK_21, JAVAS["jdk25"]], ids=["jdk21", "jdk25"])
def test_the_stop_word_turns_the_events_of_mounts_off(java: Path, tmp_path: Path) -> None:
    compile_java(tmp_path, PROGRAM)
    options = agent_options(tmp_path, virtual_threads=True)
    command = [str(java), *ONE_CARRIER, f"-agentpath:{agent()}={options}", "-cp", str(tmp_path), "VirtualRounds"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            (file,) = tmp_path.glob("agent-*.spool")
            assert len(read_agent_spool(file).mounts) > 500
            with file.open("r+b") as opened:
                os.pwrite(opened.fileno(), b"\1", STOP_WORD_AT)
            # The next mount lets go of the file; by then the events are turned off.
            wait_for(lambda: file.name not in Path(f"/proc/{process.pid}/maps").read_text())
            assert process.poll() is None
        finally:
            process.kill()
