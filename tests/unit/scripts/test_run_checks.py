"""The script that runs all checks: what it makes of a runner whose tests fail, and of how long they take."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

TESTS = """
from pathlib import Path
ONCE = Path(__file__).with_name("once")
def test_that_fails_once():
    first = not ONCE.exists()
    ONCE.touch()
    assert not first
def test_that_passes(): pass
def test_that_fails_while_there_are_failures_left():
    left = Path(__file__).with_name("failures_left")
    count = int(left.read_text()) if left.exists() else 0
    left.write_text(str(count - 1))
    assert count <= 0
"""


@pytest.fixture
def run_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = importlib.import_module("run_checks")
    for changed, name, value in (
        (module, "LOGS", tmp_path),
        (module.test_times, "UNSTEADY", tmp_path / "unsteady.jsonl"),
        (module.test_times, "DURATIONS", tmp_path / "durations.json"),
    ):
        monkeypatch.setattr(changed, name, value)
    (tmp_path / "durations.json").write_text('{"files": {}}')
    return module


def counts_of(run_checks: ModuleType, directory: Path) -> tuple[int, int, tuple[str, ...]]:
    (directory / "test_it.py").write_text(TESTS)
    pytest_here = f"cd {directory} && {sys.executable} -m pytest -c /dev/null --rootdir . test_it.py"
    junit = f"-o junit_family=xunit1 --junitxml={directory}/it.xml"
    again = f"{pytest_here} --last-failed --last-failed-no-failures none"
    found = run_checks.carry_out(
        run_checks.Check("it", "tests", f"{pytest_here} {junit}", 60, run_checks.count_pytest, again)
    )
    return found.passed, found.failed, found.unsteady


def test_a_test_that_passes_alone_is_named_unsteady(run_checks: ModuleType, tmp_path: Path) -> None:
    assert counts_of(run_checks, tmp_path) == (3, 0, ("test_it.py::test_that_fails_once",))
    (row,) = map(json.loads, (tmp_path / "unsteady.jsonl").read_text().splitlines())
    assert (row["test"], row["message"]) == ("test_it.py::test_that_fails_once", "assert not True")
    (line,) = run_checks.test_times.most_unsteady()
    assert line.startswith("1  test_it.py::test_that_fails_once  (20")


def test_a_test_that_fails_twice_and_then_passes_is_named_unsteady(run_checks: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "failures_left").write_text("2")
    passed, failed, unsteady = counts_of(run_checks, tmp_path)
    assert (passed, failed) == (3, 0)
    assert "test_it.py::test_that_fails_while_there_are_failures_left" in unsteady


def test_a_test_that_fails_three_times_fails_and_so_does_what_failed_with_it(
    run_checks: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "failures_left").write_text("3")
    assert counts_of(run_checks, tmp_path) == (1, 2, ())


def test_many_failures_are_not_looked_at_twice(
    run_checks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_checks, "AGAIN_AT_MOST", 0)
    assert counts_of(run_checks, tmp_path) == (2, 1, ())


def test_durations_are_summed_by_file_and_a_file_far_over_its_budget_is_named(
    run_checks: ModuleType, tmp_path: Path
) -> None:
    times = run_checks.test_times
    counts_of(run_checks, tmp_path)
    assert {test.file for test in times.read_junit(tmp_path / "it.xml")} == {"test_it.py"}
    tests = [times.Test("a.py", "one", 7.0, ""), times.Test("a.py", "two", 4.0, ""), times.Test("b.py", "one", 9.0, "")]
    assert times.over_budget(tests) == ["a.py: 11 s, and its budget is 5 s"]
    (tmp_path / "durations.json").write_text(json.dumps({"files": {"a.py": {"seconds": 1, "budget_s": 6}}}))
    assert times.over_budget(tests) == []


def test_durations_that_are_written_leave_budgets_as_they_are_and_give_new_files_one(
    run_checks: ModuleType, tmp_path: Path
) -> None:
    times = run_checks.test_times
    old, new = "tests/unit/scripts/test_run_checks.py", "tests/unit/cli/test_cli.py"
    rows = {"tests/gone/test_gone.py": {"seconds": 1, "budget_s": 5}, old: {"seconds": 1, "budget_s": 6}}
    (tmp_path / "durations.json").write_text(json.dumps({"files": rows}))
    times.write_durations([times.Test(old, "one", 7.04, ""), times.Test(new, "one", 20.0, "")])
    written = times.read_durations()
    assert written == {old: {"seconds": 7.0, "budget_s": 6}, new: {"seconds": 20.0, "budget_s": 30}}


def test_a_file_without_a_budget_and_a_budget_without_a_file_fail(run_checks: ModuleType, tmp_path: Path) -> None:
    times = run_checks.test_times
    there = {str(path.relative_to(times.ROOT)) for path in (times.ROOT / "tests").rglob("test_*.py")}
    rows = {file: {"budget_s": 5} for file in there - {"tests/unit/cli/test_cli.py"}} | {"tests/unit/test_no.py": {}}
    (tmp_path / "durations.json").write_text(json.dumps({"files": rows}))
    new, removed = times.without_budget()
    assert new.startswith("tests/unit/cli/test_cli.py: has no budget")
    assert removed == "tests/durations.json: there is no tests/unit/test_no.py"
    times.add_budgets()
    assert times.without_budget() == []
    assert times.read_durations()["tests/unit/cli/test_cli.py"] == {"seconds": 0.0, "budget_s": 10}


def test_neighbours_in_the_pool_run_at_the_same_time_and_the_others_after_them(
    run_checks: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the two waits for what the other one makes."""
    waits = "touch {0}/{1}; for i in $(seq 600); do [ -e {0}/{2} ] && echo {1} saw {2} && exit; sleep 0.1; done; exit 1"
    one, other = (
        run_checks.Check(name, "static", waits.format(tmp_path, name, of), 90, in_pool=True)
        for name, of in (("one", "other"), ("other", "one"))
    )
    last = run_checks.Check("last", "static", f"test -e {tmp_path}/one -a -e {tmp_path}/other", 60)
    found = run_checks.carry_out_all([one, other, last])
    assert [(check.name, counts.passed) for check, counts, _ in found] == [("one", 1), ("other", 1), ("last", 1)]
    assert "=== other\nother saw one\n" in capsys.readouterr().out
