"""The script that runs all checks: what it makes of a runner whose tests fail."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
from pathlib import Path
ONCE = Path(__file__).with_name("once")
def test_that_fails_once():
    first = not ONCE.exists()
    ONCE.touch()
    assert not first
def test_that_passes(): pass
def test_that_fails_when_told(): assert not Path(__file__).with_name("told").exists()
"""


@pytest.fixture
def run_checks(tmp_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_checks", ROOT / "scripts" / "run_checks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_checks"] = module
    spec.loader.exec_module(module)
    module.LOGS = tmp_path  # type: ignore[attr-defined]
    return module


def counts_of(run_checks: ModuleType, directory: Path) -> tuple[int, int, tuple[str, ...]]:
    (directory / "test_it.py").write_text(TESTS)
    pytest_here = f"cd {directory} && {sys.executable} -m pytest -c /dev/null --rootdir . test_it.py"
    again = f"{pytest_here} --last-failed --last-failed-no-failures none"
    found = run_checks.carry_out(run_checks.Check("it", "tests", pytest_here, 60, run_checks.count_pytest, again))
    return found.passed, found.failed, found.unsteady


def test_a_test_that_passes_alone_is_named_unsteady(run_checks: ModuleType, tmp_path: Path) -> None:
    assert counts_of(run_checks, tmp_path) == (3, 0, ("test_it.py::test_that_fails_once",))


def test_a_test_that_fails_twice_fails_and_so_does_what_failed_with_it(run_checks: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "told").touch()
    assert counts_of(run_checks, tmp_path) == (1, 2, ())


def test_many_failures_are_not_looked_at_twice(run_checks: ModuleType, tmp_path: Path) -> None:
    run_checks.AGAIN_AT_MOST = 0  # type: ignore[attr-defined]
    assert counts_of(run_checks, tmp_path) == (2, 1, ())
