"""`timeout 2 java ...`: who waits for a time to end a program with is not on its critical path while that runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.drivers.recording_cli import JAVA_17, headway

pytestmark = [pytest.mark.root]
PROGRAM = """
public class Endless {
  static volatile double sink;

  public static void main(String[] args) {
    new Thread(() -> { for (double x = 1; ; x = Math.sin(x) + 1) sink = x; }, "worker").start();
  }
}
"""


@pytest.mark.parametrize(("name", "code"), [("TERM", 124), ("KILL", 137)])
def test_the_path_goes_on_in_the_program_that_timeout_ends(tmp_path: Path, name: str, code: int) -> None:
    (tmp_path / "Endless.java").write_text(PROGRAM)
    subprocess.run([Path(JAVA_17).with_name("javac"), "-d", tmp_path, tmp_path / "Endless.java"], check=True)
    words = ["timeout", "-s", name, "2", JAVA_17, "-cp", tmp_path, "Endless"]
    assert headway("record", "-o", tmp_path / "r", "--", *words).returncode == code
    path = json.loads(headway("critical-path", tmp_path / "r", "--json").stdout)
    waited = [
        row for row in path["segments"] if row["thread"] == "timeout" and row["state"] not in ("running", "runnable")
    ]
    assert sum(row["end_ns"] - row["start_ns"] for row in waited) < 0.1 * path["wall_ns"], waited
    assert "worker" in {row["thread"] for row in path["segments"]}
