"""How long each file of tests takes, what it may take, and which tests failed once and then passed.

    python scripts/test_times.py --check      every file of tests has a budget, and every budget a file
    python scripts/test_times.py --add        give new files of tests a budget, and drop those of files that are gone
    python scripts/test_times.py --write      take the durations of the last whole run into tests/durations.json
    python scripts/test_times.py --unsteady   the tests of tests/unsteady.jsonl, those that failed most often first

tests/durations.json has a row per file: `seconds`, measured in the last run that was written, and `budget_s`, which a person
sets. Durations of a busy machine are long: a file far over its budget is named, and fails nothing. pytest writes what is read
here, as JUnit XML, into build/logs.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DURATIONS = ROOT / "tests" / "durations.json"
UNSTEADY = ROOT / "tests" / "unsteady.jsonl"
FAR_OVER = 2.0
"""Times its budget: what a file takes on a machine that others use as well."""
LEAST_BUDGET_S = 5
NEW_BUDGET_S = 10
MESSAGE_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one run: its file, what it took with its fixtures, and the first line of its failure, if it failed."""

    file: str
    name: str
    seconds: float
    message: str


def read_junit(path: Path) -> list[Test]:
    """Return the tests of pytest's JUnit XML (family xunit1, which names files); none where there is no such file."""
    if not path.is_file():
        return []
    tests = []
    for case in ET.parse(path).iter("testcase"):
        failed = [case.find("failure"), case.find("error")]
        messages = [each.get("message", "").strip() for each in failed if each is not None]
        message = messages[0].splitlines()[0] if messages and messages[0] else "failed" if messages else ""
        tests.append(Test(case.get("file", ""), case.get("name", ""), float(case.get("time", 0)), message))
    return tests


def seconds_by_file(tests: Iterable[Test]) -> dict[str, float]:
    """Return what each file took."""
    found: Counter[str] = Counter()
    for test in tests:
        found[test.file] += test.seconds  # type: ignore[assignment]  # typeshed's Counter counts in whole numbers
    return dict(found)


def read_durations() -> dict[str, dict[str, float]]:
    """Return the rows of tests/durations.json by file."""
    files: dict[str, dict[str, float]] = json.loads(DURATIONS.read_text())["files"]
    return files


def over_budget(tests: Iterable[Test]) -> list[str]:
    """Return a line for each file that took more than twice its budget, the worst first."""
    rows = read_durations()
    over = []
    for file, seconds in seconds_by_file(tests).items():
        budget_s = rows.get(file, {}).get("budget_s", LEAST_BUDGET_S)
        if seconds > FAR_OVER * budget_s:
            over.append((seconds / budget_s, f"{file}: {seconds:.0f} s, and its budget is {budget_s:.0f} s"))
    return [line for _, line in sorted(over, reverse=True)]


def without_budget() -> list[str]:
    """Return what is wrong with the budgets: files of tests that have none, and budgets of files that there are not."""
    rows = read_durations()
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    new = [
        f"{file}: has no budget in tests/durations.json: give it one ({{'budget_s': 10}})" for file in there - {*rows}
    ]
    return sorted(new) + sorted(f"tests/durations.json: there is no {file}" for file in {*rows} - there)


def _files_of_tests() -> set[str]:
    return {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}


def add_budgets() -> None:
    """Give each file of tests a row."""
    rows = read_durations()
    _write(rows | {file: {"seconds": 0.0, "budget_s": NEW_BUDGET_S} for file in _files_of_tests() - {*rows}})


def write_durations(tests: Iterable[Test]) -> None:
    """Write the durations of a run; budgets stay, and a new file gets half as much again as it took."""
    rows = read_durations() if DURATIONS.is_file() else {}
    for file, seconds in seconds_by_file(tests).items():
        budget_s = rows.get(file, {}).get("budget_s") or max(LEAST_BUDGET_S, math.ceil(1.5 * seconds))
        rows[file] = {"seconds": round(seconds, 1), "budget_s": budget_s}
    _write(rows)


def _write(rows: dict[str, dict[str, float]]) -> None:
    lines = [f"    {json.dumps(file)}: {json.dumps(rows[file])}" for file in sorted(rows) if (ROOT / file).is_file()]
    DURATIONS.write_text('{\n  "files": {\n' + ",\n".join(lines) + "\n  }\n}\n")


def append_unsteady(names: Iterable[str], tests: Iterable[Test]) -> None:
    """Append the tests (as pytest names them) that failed once to the log: test, date and the first line of the failure."""
    messages = {f"{test.file}::{test.name}": test.message for test in tests if test.message}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    with UNSTEADY.open("a") as log:
        for name in names:
            row = {"test": name, "date": today, "message": messages.get(name, "")[:MESSAGE_CHARACTERS]}
            log.write(json.dumps(row) + "\n")
            print(f"unsteady  {json.dumps(row)}")


def most_unsteady() -> list[str]:
    """Return a line per test of the log: how often it failed, when last, and why then."""
    rows = [json.loads(line) for line in UNSTEADY.read_text().splitlines()] if UNSTEADY.is_file() else []
    last = {row["test"]: row for row in rows}
    counts = Counter(row["test"] for row in rows)
    return [f"{count}  {test}  ({last[test]['date']}: {last[test]['message']})" for test, count in counts.most_common()]


def main() -> int:
    """Do what is asked; return 1 if a budget is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked = parser.add_mutually_exclusive_group(required=True)
    for name in ("check", "add", "write", "unsteady"):
        asked.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if options.write:
        logs = sorted((ROOT / "build" / "logs").glob("*.xml"))
        write_durations(test for path in logs for test in read_junit(path))
        return 0
    if options.add:
        add_budgets()
        return 0
    lines = most_unsteady() if options.unsteady else without_budget()
    print("\n".join(lines) or ("none" if options.unsteady else "each file of tests has its budget"))
    return 1 if options.check and lines else 0


if __name__ == "__main__":
    sys.exit(main())
