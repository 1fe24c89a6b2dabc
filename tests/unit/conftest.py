"""What several tests of the command line need: a command's outcome, and a recording to ask."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.analyses.whatif import predictions
from support.builders import synthetic
from support.builders.synthetic import FakeThread

os.environ.setdefault("HEADWAY_TRACEBACK", "1")  # what headway does not expect is a failure, not a message

WALL = 1000


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    threads = [
        FakeThread("app", 0, [("R", 300), ("B", 200), ("W", 50), ("R", 450)], "main", stolen=[30, 45]),
        FakeThread("gc", 100, [("R", 100), ("W", 200), ("R", 100)], "GC Thread#0"),
        FakeThread("app", 100, [("R", 100), ("W", 200), ("R", 100)], "[bold]\x1b[31mred\u202e[/bold]"),
    ]
    return synthetic.write(tmp_path_factory.mktemp("cli") / "a.headway", threads, WALL)


@pytest.fixture
def intervals_of_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out of the intervals of predictions how much another run of a program differs; test_whatif.py has a test of that."""
    monkeypatch.setattr(predictions, "RUNS_DIFFER", 0.0)
