"""What several end-to-end tests need."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

os.environ.setdefault("HEADWAY_TRACEBACK", "1")  # what headway does not expect is a failure, not a message
# Where the tests run under nohup, SIGHUP is ignored, and a program can't trap what it was started to ignore.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

pytest.register_assert_rewrite("support.oracles.lock_oracle")
REPOSITORY = Path(__file__).resolve().parents[2]


DURATIONS = REPOSITORY / "tests" / "durations.json"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what may run beside other tests, and let long files begin first; this is called with the tests of all folders.

    What is marked `alone` asks where cores went, or how long something took, and needs the cores; so does all of tests/real. What
    all others ask holds whatever else the machine does: how faults, signals, files and options are dealt with, and what programs
    count of themselves.
    """
    for item in items:
        if item.get_closest_marker("alone") is None and item.path.parent.name != "real":
            item.add_marker(pytest.mark.beside_others)
    if hasattr(config, "workerinput"):  # one of several processes of pytest-xdist, each of which takes the next file
        rows = json.loads(DURATIONS.read_text())["files"]
        seconds = {REPOSITORY / file: row.get("seconds", 0.0) for file, row in rows.items()}
        items.sort(key=lambda item: -seconds.get(item.path, 0.0))


@pytest.fixture(scope="session")
def workloads() -> Path:
    """The jar of the known-answer programs, built if it is not there."""
    jar = REPOSITORY / "java" / "workloads" / "target" / "workloads.jar"
    if not jar.exists():
        subprocess.run(["mvn", "-q", "-B", "package"], cwd=REPOSITORY / "java" / "workloads", check=True)
    return jar
