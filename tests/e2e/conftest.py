"""What several end-to-end tests need."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

# Where the tests run under nohup, SIGHUP is ignored, and a program can't trap what it was started to ignore.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest.register_assert_rewrite("lock_oracle")
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def workloads() -> Path:
    """The jar of the known-answer programs, built if it is not there."""
    jar = REPOSITORY / "java" / "workloads" / "target" / "workloads.jar"
    if not jar.exists():
        subprocess.run(["mvn", "-q", "-B", "package"], cwd=REPOSITORY / "java" / "workloads", check=True)
    return jar
