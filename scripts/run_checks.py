"""Run every check and test of the project, and say at the end how many passed and failed.

`--only static|tests` runs a part, `--only quick` what takes five minutes and needs no root, `--only NAME` a single check. The
last line is '<N> passed, <M> failed'. A check counts as one; a test runner counts as its tests. A runner that ran no test has
failed. Checks that leave a CPU idle for a time run two at a time, and what one of these says is shown when it has ended.

Where a few tests of pytest fail, these run once more, in a new process. Those that pass then are named `unsteady`: on machines
whose host takes the CPUs away for a second, one test in a thousand meets what no test can rule out. An unsteady test is a defect
to be looked into all the same, and kept in tests/unsteady.jsonl; one that fails twice fails. Files of tests that took far longer
than their budget (tests/durations.json) are named.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import itertools
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

import test_times

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
    is_quick: bool = False
    """Part of `--only quick`."""
    in_pool: bool = False
    """Runs at the same time as another one of these that stands next to it in the list."""


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
TIDY_COMMITS = " --commits 4" if os.environ.get("CI") else ""
NATIVE_SOURCES = "git ls-files -z 'native/*.h' 'native/*.cpp' 'native/*.c'"
SANITIZED = (
    "mkdir -p build && flock build/sanitized.lock sh -c '"
    "cmake -S . -B build/sanitized -G Ninja -DHEADWAY_TESTS=ON -DHEADWAY_PYTHON=OFF -DCMAKE_BUILD_TYPE=Debug "
    "-DCMAKE_CXX_FLAGS_DEBUG=-g1 -DCMAKE_C_FLAGS_DEBUG=-g1 "  # lines for reports; types and variables take time to compile
    f"-DHEADWAY_SANITIZE=address,undefined -DPython_EXECUTABLE={BIN}/python >build/sanitized.log && "
    'cmake --build build/sanitized -j "$(nproc)" >>build/sanitized.log || { tail -n 60 build/sanitized.log; exit 1; }\''
)
AT_A_TIME = 2
AGAIN_AT_MOST = 13
"""More failures than these are no accident: of 6,500 tests, one in a thousand on a busy machine is 6 or 7."""
AGAIN_TIMES = 2
"""How often failed tests run again, alone: a machine whose host takes half of it for a minute fails one twice."""
QUICK_ONLY = "quick"
"""The group of what runs only where it is asked for: the others hold it."""


def pytest_check(name: str, words: str, limit_s: int, group: str = "tests") -> Check:
    """Return the check that runs some tests; what it must know of them later lies under build/."""
    kept = f"-o cache_dir=build/pytest/{name}"
    first = f"{BIN}/pytest {words} {kept} --durations=25 -o junit_family=xunit1 --junitxml=build/logs/{name}.xml"
    again = f"{BIN}/pytest {words.partition(' -n ')[0]} {kept} --last-failed --last-failed-no-failures none"
    return Check(name, group, first, limit_s, count_pytest, again, is_quick=group == QUICK_ONLY)


def pooled(name: str, command: str, limit_s: int, is_quick: bool = False) -> Check:
    """Return a static check that runs beside its neighbours."""
    return Check(name, "static", command, limit_s, is_quick=is_quick, in_pool=True)


# Whoever writes no bytecode compiles all of headway at each of the thousands of its starts: half a second each.
NOT_FOR_CHECKS = ("PYTHONDONTWRITEBYTECODE",)
CHECKS = (
    pooled("native-build", SANITIZED, 1200),  # the longest; all that follow up to clang-tidy are done meanwhile
    pooled("ruff", f"{BIN}/ruff check -q .", 120, is_quick=True),
    pooled("ruff-format", f"{BIN}/ruff format -q --check .", 120, is_quick=True),
    pooled("test-budgets", f"{BIN}/python scripts/test_times.py --check", 60, is_quick=True),
    pooled("mypy", f"{BIN}/mypy", 600, is_quick=True),
    pooled(
        "generated",  # types and numbers that several languages share
        f"{BIN}/python scripts/make_shared.py --check && {BIN}/python scripts/make_stub.py --check",
        120,
        is_quick=True,
    ),
    pooled("import-linter", f"{BIN}/lint-imports", 120, is_quick=True),
    pooled("clang-format", f"{NATIVE_SOURCES} | xargs -0 clang-format --dry-run -Werror", 120, is_quick=True),
    pooled("web", "cd web && npm run --silent check", 300, is_quick=True),
    Check("vitest", "tests", "cd web && npm test --silent", 300, count_vitest, in_pool=True),
    # Java's programs have no tests of their own: the tests in Python run them. Warnings are errors.
    # Those that tests/real records are made here, where others work while their packages come over the network.
    pooled("maven", "make java bench-programs real-programs", 1200),
    pooled("changelog", f"{BIN}/towncrier build --draft --version 0 >build/changelog.md", 60),
    pooled("docs", f"{BIN}/mkdocs build --strict -d build/site", 300),
    # It also leaves each file of tests compiled: six processes that begin at once would compile all of them six times.
    pooled(
        "collection",
        f"{BIN}/pytest tests --collect-only -q >build/collected.txt || {{ tail -n 60 build/collected.txt; exit 1; }}",
        300,
    ),
    # It looks at what native-build compiles, as CMake has set it up by then.
    pooled(
        "clang-tidy",
        f"flock build/sanitized.lock true && {BIN}/python scripts/clang_tidy.py --limit-s 900{TIDY_COMMITS}",
        1000,
    ),
    Check(
        "ctest", "tests", f"{SANITIZED} && ctest --test-dir build/sanitized -j 2 --output-on-failure", 900, count_ctest
    ),
    pytest_check("pytest-quick", "tests/unit tests/golden tests/property -n 2 --dist loadfile", 900, QUICK_ONLY),
    # Three times as many as CPUs there are to test on: those that record real programs wait for them, and for time to pass, for
    # more than half of their time. Files begin in the order of their durations.
    pytest_check("pytest", "tests -m beside_others -n 6 --dist loadfile --no-loadscope-reorder", 3600),
    # These ask where cores went, and need the cores.
    pytest_check("pytest-e2e", "tests/e2e tests/security tests/real -m 'not beside_others'", 2700),
)


def run(check: Check) -> tuple[int, str]:
    """Run a check; return exit code and output, shown as it comes or, in the pool, at its end. 124: it was over its limit."""
    env = {
        **{name: value for name, value in os.environ.items() if name not in NOT_FOR_CHECKS},
        **({"HEADWAY_EXAMPLES": "few"} if check.group == QUICK_ONLY else {}),
        "HEADWAY_TRACEBACK": "1",
        "NO_COLOR": "1",
        "NO_MKDOCS_2_WARNING": "1",
        "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin",
    }
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
        if not check.in_pool:
            print(line, end="", flush=True)
    code = process.wait()
    timer.cancel()
    if late.is_set():
        lines.append(f"{check.name}: stopped after {check.limit_s} s\n")
        code = 124
    if check.in_pool:
        print(f"=== {check.name}\n{''.join(lines)}", end="", flush=True)
    elif late.is_set():
        print(lines[-1], end="")
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
    """Run a check, and its few failed tests up to twice more; keep what was printed."""
    code, output = run(check)
    counts = judge(check, code, output)
    names = failed_tests(output)
    if check.again and 0 < counts.failed == len(names) <= AGAIN_AT_MOST:
        failed = names
        for _ in range(AGAIN_TIMES):
            print(f"=== {check.name}: once more what failed", flush=True)
            code, later = run(replace(check, command=check.again))
            output += later
            last = judge(check, code, later)
            if last.passed + last.failed != len(failed) or last.failed != len(failed_tests(later)):
                break  # it ended otherwise than by tests that fail
            failed = failed_tests(later)
            if not failed:
                counts = Counts(counts.passed + len(names), 0, counts.skipped, names)
                test_times.append_unsteady(names, test_times.read_junit(LOGS / f"{check.name}.xml"))
                break
    (LOGS / f"{check.name}.log").write_text(output)
    return counts


def timed(check: Check) -> tuple[Check, Counts, float]:
    """Carry out a check; return its counts and how many seconds it took."""
    if not check.in_pool:
        print(f"=== {check.name}", flush=True)
    begin = time.monotonic()
    return check, carry_out(check), time.monotonic() - begin


def carry_out_all(chosen: list[Check]) -> list[tuple[Check, Counts, float]]:
    """Carry out the checks in their order, neighbours that may run beside each other two at a time."""
    found: list[tuple[Check, Counts, float]] = []
    for in_pool, checks in itertools.groupby(chosen, key=lambda check: check.in_pool):
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME if in_pool else 1) as pool:
            found += pool.map(timed, checks)
    return found


def sum_up(found: list[tuple[Check, Counts, float]]) -> int:
    """Print what came of each check, and the totals; return how many failed."""
    print("\n=== all checks")
    for check, counts, seconds in found:
        verdict = "FAILED" if counts.failed else "ok"
        said = f"{counts.passed} ok, {counts.failed} failed, {counts.skipped} skipped, {seconds:.0f} s"
        print(f"{verdict:>6}  {check.name:<14} {said}")
        for test in counts.unsteady:
            print(f"unsteady  {test}: failed, then passed alone")
        for line in test_times.over_budget(test_times.read_junit(LOGS / f"{check.name}.xml")):
            print(f"over budget  {line}")
    failed = sum(counts.failed for _, counts, _ in found)
    print(f"{sum(counts.passed for _, counts, _ in found)} passed, {failed} failed")
    return failed


def main() -> int:
    """Run the chosen checks; return 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="static, tests, quick, or the name of a check; several with commas")
    parser.add_argument("--write-durations", action="store_true", help="keep how long the files of tests took")
    asked = parser.parse_args()
    only = {name for name in asked.only.split(",") if name}
    usual = [check for check in CHECKS if check.group != QUICK_ONLY]
    quick = {check.name for check in CHECKS if check.is_quick} if QUICK_ONLY in only else set()
    chosen = [check for check in CHECKS if {check.group, check.name} & only or check.name in quick] if only else usual
    if not chosen:
        parser.error(f"no such check; there are {', '.join(check.name for check in CHECKS)}")
    # Started in the background, a shell's child ignores SIGINT, and so would every program that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    LOGS.mkdir(parents=True, exist_ok=True)
    for old in LOGS.glob("*.xml"):
        old.unlink()
    failed = sum_up(carry_out_all(chosen))
    if asked.write_durations:
        test_times.write_durations(test for path in LOGS.glob("*.xml") for test in test_times.read_junit(path))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
