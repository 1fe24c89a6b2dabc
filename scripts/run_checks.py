"""Run every check and test of the project, one after another, and say at the end how many passed and failed.

`--only static|tests` runs a part, `--only NAME` a single check. The last line is '<N> passed, <M> failed'. A check counts
as one; a test runner counts as its tests. A runner that ran no test has failed.

Where a few tests of pytest fail, these run once more, in a new process. Those that pass then are named `unsteady`: on machines
whose host takes the CPUs away for a second, one test in a thousand meets what no test can rule out. An unsteady test is a defect
to be looked into all the same; one that fails twice fails.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
LOGS = ROOT / "build" / "logs"


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tests passed, failed and were skipped; `unsteady`: those of the passed that failed first."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unsteady: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """One check: a shell command run from the project's root, and how to count its tests (None: it is one check)."""

    name: str
    group: str
    command: str
    limit_s: int
    count: Callable[[str], Counts] | None = None
    again: str = ""
    """Runs the failed tests alone."""


def _sum(pattern: str, text: str) -> int:
    return sum(int(number) for number in re.findall(pattern, text))


def count_pytest(text: str) -> Counts:
    """Read pytest's closing line: '12 passed, 1 failed, 2 skipped in 3.1s'."""
    closing = [line for line in text.splitlines() if re.search(r"\d+ (passed|failed|error|skipped).* in [\d.]+s", line)]
    last = closing[-1] if closing else ""
    return Counts(_sum(r"(\d+) passed", last), _sum(r"(\d+) (?:failed|errors?)", last), _sum(r"(\d+) skipped", last))


def count_ctest(text: str) -> Counts:
    """Read ctest's closing line: '100% tests passed, 0 tests failed out of 12'."""
    found = re.findall(r"(\d+) tests failed out of (\d+)", text)
    failed = sum(int(row[0]) for row in found)
    return Counts(sum(int(row[1]) for row in found) - failed, failed)


def count_vitest(text: str) -> Counts:
    """Read vitest's 'Tests  1 failed | 11 passed (12)'."""
    lines = "\n".join(line for line in text.splitlines() if re.match(r"\s*Tests\s", line))
    return Counts(_sum(r"(\d+) passed", lines), _sum(r"(\d+) failed", lines), _sum(r"(\d+) skipped", lines))


# All of it takes a quarter of an hour on two slow cores; a clean clone has no marks of what has passed already.
TIDY_COMMITS = " --commits 12" if os.environ.get("CI") else ""
NATIVE_SOURCES = "git ls-files -z 'native/*.h' 'native/*.cpp' 'native/*.c'"
SANITIZED = (
    "mkdir -p build && flock build/sanitized.lock sh -c '"
    "cmake -S . -B build/sanitized -G Ninja -DHEADWAY_TESTS=ON -DHEADWAY_PYTHON=OFF -DCMAKE_BUILD_TYPE=Debug "
    f"-DHEADWAY_SANITIZE=address,undefined -DPython_EXECUTABLE={BIN}/python >build/sanitized.log && "
    'cmake --build build/sanitized -j "$(nproc)" >>build/sanitized.log || { tail -n 60 build/sanitized.log; exit 1; }\''
)
AGAIN_AT_MOST = 3
"""More failures than these are no accident."""
LAST_FAILED = f"{BIN}/pytest --last-failed --last-failed-no-failures none"
UNIT_AGAIN = f"{LAST_FAILED} --ignore=tests/e2e --ignore=tests/browser"
E2E = "tests/e2e tests/browser --durations=25"
E2E_AGAIN = f"{LAST_FAILED} {E2E}"
CHECKS = (
    Check("ruff", "static", f"{BIN}/ruff check -q .", 120),
    Check("ruff-format", "static", f"{BIN}/ruff format -q --check .", 120),
    Check("mypy", "static", f"{BIN}/mypy", 600),
    Check("import-linter", "static", f"{BIN}/lint-imports", 120),
    Check("clang-format", "static", f"{NATIVE_SOURCES} | xargs -0 clang-format --dry-run -Werror", 120),
    Check("web", "static", "cd web && npm run --silent check", 300),
    # Java's programs have no tests of their own: the tests in Python run them. Warnings are errors.
    Check("maven", "static", "make java bench-programs", 900),
    Check("changelog", "static", f"{BIN}/towncrier build --draft --version 0 >build/changelog.md", 60),
    Check("docs", "static", f"{BIN}/mkdocs build --strict -d build/site", 300),
    Check("native-build", "static", SANITIZED, 1200),
    Check("clang-tidy", "static", f"{BIN}/python scripts/clang_tidy.py --limit-s 900{TIDY_COMMITS}", 1000),
    Check(
        "ctest", "tests", f"{SANITIZED} && ctest --test-dir build/sanitized -j 2 --output-on-failure", 900, count_ctest
    ),
    Check("vitest", "tests", "cd web && npm test --silent", 300, count_vitest),
    Check(
        "pytest",
        "tests",
        f"{BIN}/pytest -n 2 --ignore=tests/e2e --ignore=tests/browser",
        1500,
        count_pytest,
        UNIT_AGAIN,
    ),
    # These record real programs, and end within an hour together only where those that can share the CPUs do.
    Check(
        "pytest-e2e-beside",
        "tests",
        f"{BIN}/pytest -n 2 --dist loadfile -m beside_others {E2E}",
        1800,
        count_pytest,
        E2E_AGAIN,
    ),
    Check("pytest-e2e", "tests", f"{BIN}/pytest -m 'not beside_others' {E2E}", 2700, count_pytest, E2E_AGAIN),
)


def run(check: Check) -> tuple[int, str]:
    """Run a check, showing its output as it comes; return exit code and output. A check over its limit gives 124."""
    env = {**os.environ, "NO_COLOR": "1", "NO_MKDOCS_2_WARNING": "1", "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", check.command],
        cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    late = threading.Event()

    def give_up() -> None:
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(check.limit_s, give_up)
    timer.start()
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        print(line, end="", flush=True)
    code = process.wait()
    timer.cancel()
    if late.is_set():
        lines.append(f"{check.name}: stopped after {check.limit_s} s\n")
        print(lines[-1], end="")
        code = 124
    return code, "".join(lines)


def judge(check: Check, code: int, output: str) -> Counts:
    """Turn exit code and output into counts: a runner that failed, or ran nothing, has at least one failure."""
    if check.count is None:
        return Counts(passed=1) if code == 0 else Counts(failed=1)
    counts = check.count(output)
    if code != 0 and counts.failed == 0:
        return Counts(counts.passed, 1, counts.skipped)
    if counts.passed + counts.failed == 0:
        print(f"{check.name}: ran no test")
        return Counts(0, 1, counts.skipped)
    return counts


def failed_tests(output: str) -> tuple[str, ...]:
    """Return the names in pytest's summary of failures and errors."""
    return tuple(dict.fromkeys(re.findall(r"(?m)^(?:FAILED|ERROR) (\S+::\S+)", output)))


def carry_out(check: Check) -> Counts:
    """Run a check, and its few failed tests once more; keep what was printed."""
    code, output = run(check)
    counts = judge(check, code, output)
    names = failed_tests(output)
    if check.again and 0 < counts.failed == len(names) <= AGAIN_AT_MOST:
        print(f"=== {check.name}: once more what failed", flush=True)
        code, second = run(replace(check, command=check.again))
        output += second
        later = judge(check, code, second)
        if not later.failed and later.passed == len(names):
            counts = Counts(counts.passed + len(names), 0, counts.skipped, names)
    (LOGS / f"{check.name}.log").write_text(output)
    return counts


def main() -> int:
    """Run the chosen checks; return 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="static, tests, or the name of a check; several with commas")
    only = {name for name in parser.parse_args().only.split(",") if name}
    chosen = [check for check in CHECKS if not only or only & {check.group, check.name}]
    if not chosen:
        parser.error(f"no such check; there are {', '.join(check.name for check in CHECKS)}")
    # Started in the background, a shell's child ignores SIGINT, and so would every program that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    LOGS.mkdir(parents=True, exist_ok=True)
    totals: list[tuple[str, Counts, float]] = []
    for check in chosen:
        print(f"=== {check.name}", flush=True)
        begin = time.monotonic()
        totals.append((check.name, carry_out(check), time.monotonic() - begin))
    print("\n=== all checks")
    for name, counts, seconds in totals:
        verdict = "FAILED" if counts.failed else "ok"
        print(
            f"{verdict:>6}  {name:<14} {counts.passed} ok, {counts.failed} failed, {counts.skipped} skipped, {seconds:.0f} s"
        )
        for test in counts.unsteady:
            print(f"unsteady  {test}: failed, then passed alone")
    failed = sum(counts.failed for _, counts, _ in totals)
    print(f"{sum(counts.passed for _, counts, _ in totals)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
