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


# What these ask holds whatever else the machine does: how faults, signals, files and options are dealt with, and what programs
# compute. All others ask where cores went, and need those cores: they run one at a time.
BESIDE_OTHERS = frozenset(
    f"test_{name}.py"
    for name in (
        *("agent", "agent_attach", "agent_launch", "bad_input_record", "causal_agent", "causal_files", "causal_harm"),
        *(
            "causal_points",
            "doctor",
            "finalised_recordings",
            "jfr_converter",
            "jfr_import",
            "jfr_reader",
            "locks_faults",
            "locks_harm",
        ),
        *("locks_hooks", "never_harm", "record", "record_attach", "recorded_profiles", "run", "sweep_command"),
        *("unprivileged", "unprivileged_collector"),
    )
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what may run beside other tests; this is called with the tests of all folders."""
    for item in items:
        if item.path.parent.name == "browser" or item.path.name in BESIDE_OTHERS:
            item.add_marker(pytest.mark.beside_others)


@pytest.fixture(scope="session")
def workloads() -> Path:
    """The jar of the known-answer programs, built if it is not there."""
    jar = REPOSITORY / "java" / "workloads" / "target" / "workloads.jar"
    if not jar.exists():
        subprocess.run(["mvn", "-q", "-B", "package"], cwd=REPOSITORY / "java" / "workloads", check=True)
    return jar
