"""What several tests of the command line need: a command's outcome, and a recording to ask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.analyses.whatif import predictions
from headway.store.reader import Recording
from support.builders import synthetic
from support.builders.synthetic import FakeThread

os.environ.setdefault("HEADWAY_TRACEBACK", "1")  # what headway does not expect is a failure, not a message

WALL = 1000


@pytest.fixture(scope="session", autouse=True)
def values_checked_once() -> Iterator[None]:
    """Let the values of a file be checked once as long as nobody writes to it: each answer would spend a third of its time so.

    What these checks find is looked at by tests/security.
    """
    check, passed = Recording._check_values, set()

    def check_once(recording: Recording, path: Path, table: str, rows: int) -> None:
        status, manifest = path.stat(), recording.manifest
        file = (path, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
        key = (*file, manifest.window, *((name, info.rows) for name, info in manifest.tables.items()))
        if key not in passed:
            check(recording, path, table, rows)
            passed.add(key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recording, "_check_values", check_once)
        yield


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
