"""A JVM whose agent's file somebody cuts off while it is written to: the program goes on to its end, as if there were none."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, agent, java_command


@pytest.mark.parametrize("java", [JAVAS["jdk17"], JAVAS["jdk25"]], ids=["jdk17", "jdk25"])
def test_a_jvm_outlives_its_truncated_spool(java: Path, tmp_path: Path) -> None:
    """A store beyond the end of a mapped file is a SIGBUS, of which a JVM dies."""
    options = f"-agentpath:{agent()}={agent_options(tmp_path)}"
    command = java_command(java, "ThreadPerTask", 4000, jvm=(options,))
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        wait_for(lambda: list(tmp_path.glob("agent-*.spool")))
        (spool,) = tmp_path.glob("agent-*.spool")
        cuts = 0
        while program.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                os.truncate(spool, 0)
                cuts += 1
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(0.02)
        said, errors = program.communicate()
    assert cuts > 0
    assert (program.returncode, errors) == (0, b"")
    assert b'"tasks": 4000' in said
    assert list(tmp_path.glob("hs_err*")) == []
