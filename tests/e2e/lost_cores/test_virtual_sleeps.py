"""When the sleeps of virtual threads are over, on JDK 21 and 25: what is recorded against the program's own clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, JDK_21, compile_java

pytestmark = pytest.mark.root
PROGRAM = Path(__file__).parents[2] / "programs" / "Pinned.java"
ASKED_NS = 10_000_000
"""Each sleep of the program is for so long."""


@pytest.mark.parametrize("java", [JDK_21, JAVAS["jdk25"]], ids=["jdk21", "jdk25"])
def test_each_sleep_is_over_when_its_time_is_and_late_by_no_more_than_the_program_saw(
    java: Path, tmp_path: Path
) -> None:
    """The program's own span of a sleep encloses the recorded one; JDK 21 pins the sleeper, 25 does not."""
    compile_java(tmp_path, PROGRAM)
    path = tmp_path / "a.headway"
    done = headway("record", "--locks", "-o", path, "--", java, "-cp", tmp_path, "Pinned")
    assert done.returncode == 0, done.stderr
    said = next(line.split() for line in done.stdout.splitlines() if line.startswith("monitor "))
    sleeps, slept_ns = int(said[1]), int(said[4])
    rows = open_recording(path).query(
        "SELECT start_ns, waking_ns, start_ns + dur_ns AS end_ns FROM block JOIN blocker USING (blocker_id)"
        " WHERE class_name = 'java.lang.Thread.sleep' AND waking_ns IS NOT NULL AND waker_java_id IS NULL"
    )
    over = rows.fetchall()
    assert len(over) == sleeps
    assert all(start < waking <= end for start, waking, end in over)
    assert sum(end - waking for _, waking, end in over) <= slept_ns - sleeps * ASKED_NS
