"""What a recorder that was killed left in the /tmp of another user's JVM: fetched by recover, or removed by the next attach."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.ordinary_user import OrdinaryUser, ordinary_user
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, java_command

pytestmark = [pytest.mark.root, pytest.mark.other_users]


@contextmanager
def recorded_and_killed(user: OrdinaryUser, recording: Path) -> Iterator[subprocess.Popen[str]]:
    """A JVM of the user's that was recorded by root, whose recorder was killed while its agent wrote."""
    command = [*user.argv([]), *java_command(JAVAS["jdk17"], "Sleeper", 600, 2, 20)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as java:
        try:
            assert java.stdout is not None
            assert "ready" in java.stdout.readline()
            headway = [sys.executable, "-m", "headway", "record", "-o", str(recording), "--pid", str(java.pid)]
            recorder = subprocess.Popen(headway, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_for(lambda: left_of(user) and (recording / "manifest.json").read_text().count("agents_elsewhere"))
            finally:
                recorder.send_signal(signal.SIGKILL)
                recorder.wait()
            assert len(left_of(user)) == 1
            yield java
            assert java.poll() is None
        finally:
            java.kill()


def left_of(user: OrdinaryUser) -> list[Path]:
    return [path for path in Path("/tmp").glob(".headway-*") if path.stat().st_uid == user.uid]


def test_recover_fetches_what_the_agent_wrote_and_removes_it(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    with ordinary_user() as user:
        with recorded_and_killed(user, recording):
            recover = [sys.executable, "-m", "headway", "recover", str(recording)]
            done = subprocess.run(recover, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            assert left_of(user) == []
        opened = open_recording(recording)
        assert opened.manifest.state == "partial"
        names = {str(row[0]) for row in opened.query("SELECT name FROM thread").fetchall()}
        assert "Notification Thread" in names, "the agent's names of threads: the kernel's are cut to 15 bytes"


def test_the_next_attach_removes_what_a_killed_recorder_left(tmp_path: Path) -> None:
    with ordinary_user() as user, recorded_and_killed(user, tmp_path / "r.headway") as java:
        (left,) = left_of(user)
        command = [sys.executable, "-m", "headway", "record", "-o", str(tmp_path / "s.headway"), "--duration", "0.3"]
        done = subprocess.run([*command, "--pid", str(java.pid)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert not left.exists()
        assert left_of(user) == []
        assert "HW054" not in done.stderr, "the agent that was left behind made room"
