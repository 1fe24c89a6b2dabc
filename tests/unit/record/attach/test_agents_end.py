"""Which agents the end of a recording is waited for, by the words of their files."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.record.agent.agents import wait_until_ended
from headway.record.target_process import agent_file

LONG_S = 30.0


@pytest.fixture
def process() -> Iterator[int]:
    """A process that goes on."""
    sleeping = subprocess.Popen(["sleep", "1000"])
    yield sleeping.pid
    sleeping.kill()
    sleeping.wait()


def write_file(spool: Path, pid: int, host_pid: int = 0, end: int = agent_file.END_AHEAD) -> Path:
    header = bytearray(128)
    header[:8] = b"HWSPOOL\0"
    struct.pack_into("<I", header, 12, 3)  # HW_SOURCE_AGENT
    struct.pack_into("<II", header, agent_file.PID, pid, host_pid)
    struct.pack_into("<I", header, agent_file.END, end)
    path = spool / f"agent-{pid}.spool"
    path.write_bytes(header)
    return path


def waited_s(spool: Path, limit_s: float = LONG_S) -> float:
    begun = time.monotonic()
    wait_until_ended(spool, limit_s)
    return time.monotonic() - begun


def test_an_agent_that_has_not_let_go_is_waited_for_until_it_has(tmp_path: Path, process: int) -> None:
    path = write_file(tmp_path, process)
    let_go: list[float] = []

    def let_it_go() -> None:
        let_go.append(time.monotonic())
        agent_file.write_word(path, agent_file.END, 2, os.getuid())

    threading.Timer(0.3, let_it_go).start()
    assert waited_s(tmp_path) < LONG_S
    assert let_go


def test_an_agent_that_never_lets_go_is_waited_for_no_longer_than_the_limit(tmp_path: Path, process: int) -> None:
    write_file(tmp_path, 1 << 30, host_pid=process)  # its pid where the JVM lives is another one
    assert 0.2 <= waited_s(tmp_path, 0.2) < LONG_S


def test_a_jvm_that_has_ended_or_is_stopped_or_let_go_is_not_waited_for(tmp_path: Path, process: int) -> None:
    write_file(tmp_path, process, end=2)
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    write_file(tmp_path, ended.pid)  # a zombie
    stopped = subprocess.Popen(["sleep", "1000"])
    stopped.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
    write_file(tmp_path, stopped.pid)
    write_file(tmp_path, os.getpid(), end=0)  # nobody will say
    (tmp_path / "agent-1.spool").write_bytes(b"cut off")
    try:
        assert waited_s(tmp_path) < LONG_S
    finally:
        stopped.kill()
        stopped.wait()
        ended.wait()
