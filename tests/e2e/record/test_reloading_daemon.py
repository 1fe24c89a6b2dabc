"""A daemon that reloads under a lock and sleeps between: without its sleeps the program would be slower, so they are no cause."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import JAVA_17, headway, javas

pytestmark = [pytest.mark.root]
PROGRAM = Path(__file__).parents[2] / "programs" / "Reloader.java"
TRIES = 4
"""Once a second the agent looks where threads stand; the daemon may work each time."""


def recorded_asleep(folder: Path, java: str) -> Path:
    """Record the program until the agent has seen the daemon asleep."""
    subprocess.run([Path(JAVA_17).with_name("javac"), "-d", folder, PROGRAM], check=True)
    for number in range(TRIES):
        output = folder / f"{number}.headway"
        done = headway("record", "--locks", "-o", output, "--", java, "-cp", folder, "Reloader")
        assert done.returncode == 0, done.stderr
        stood = open_recording(output).query(
            "SELECT 1 FROM waiting_stack JOIN thread USING (thread_id) WHERE name = 'reloader' AND state = 'sleep'"
        )
        if stood.fetchall():
            assert int(done.stdout) > 0, "it did sleep"
            return output
    raise AssertionError("the daemon was never seen asleep")


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_the_sleep_of_a_daemon_between_its_rounds_is_no_cause_and_its_lock_may_be(tmp_path: Path, java: str) -> None:
    output = recorded_asleep(tmp_path, java)
    said = json.loads(headway("why", output, "--json").stdout)
    assert "sleep" not in {loss["cause"] for loss in said["lost"]}, said["lost"]
    rows = json.loads(headway("locks", output, "--json").stdout)
    assert rows[0]["contention"]
    assert rows[0]["place"].startswith("Reloader.read")
