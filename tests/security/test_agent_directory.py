"""An agent that was told a directory by its recorder's descriptor writes there or nowhere, whoever has the number by then."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from headway.record.request.jvm_options import agent_library, agent_options

JAVA = shutil.which("java")
pytestmark = [
    pytest.mark.skipif(JAVA is None, reason="no java"),
    pytest.mark.skipif(not agent_library().exists(), reason="the agent is not built"),
]


def run_java(options: str) -> tuple[int, str]:
    """Run a JVM with the agent; return its exit code and its output."""
    assert JAVA is not None
    command = [JAVA, f"-agentpath:{agent_library()}={options}", "-version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout + done.stderr


def replace(fd: int, path: Path) -> None:
    """Give a descriptor's number to another file."""
    another = os.open(path, os.O_RDONLY)
    os.dup2(another, fd, inheritable=False)
    os.close(another)


@pytest.mark.parametrize("has", ["the recording", "another directory", "nothing"])
def test_an_agent_writes_into_the_directory_that_its_recorder_held_or_nowhere(tmp_path: Path, has: str) -> None:
    recording, other = tmp_path / "recording", tmp_path / "other"
    for directory in (recording, other):
        directory.mkdir(mode=0o700)
    fd = os.open(recording, os.O_RDONLY | os.O_DIRECTORY)
    try:
        options = agent_options(Path(f"/proc/{os.getpid()}/fd/{fd}"), children=True)
        if has == "another directory":  # as if the recorder had died, and another process had its number
            replace(fd, other)
        elif has == "nothing":
            replace(fd, Path(os.devnull))
        exit_code, said = run_java(options)
    finally:
        os.close(fd)
    assert exit_code == 0, said
    assert "version" in said
    assert "headway" not in said
    assert list(other.iterdir()) == []
    found = [path.name for path in recording.iterdir()]
    assert len(found) == (has == "the recording"), found


def test_an_agent_takes_no_directory_that_others_may_write_in_or_that_it_was_not_told_about(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    fd = os.open(open_to_all, os.O_RDONLY | os.O_DIRECTORY)
    try:
        path = f"/proc/{os.getpid()}/fd/{fd}"
        assert run_java(agent_options(Path(path)))[0] == 0
        open_to_all.chmod(0o700)
        assert run_java(f"spool={path}")[0] == 0
    finally:
        os.close(fd)
    assert list(open_to_all.iterdir()) == []
