"""What does it cost to count reads and writes in windows, and how near are the estimates? Two threads that read and write in a
steady ratio, and two that change theirs, for some minutes, in turn as they are, with every access counted, and in windows; and
sunflow, by others, as it is and in windows.

The cost is the CPU time that the same work takes, compilers included: of the threads by what they did, of sunflow by its own
clock. Estimates are compared with what the threads counted themselves. Target: 1.10 times with windows. --quick has windows
every 10 s, and a sixth of the time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib import harness, programs

TARGET = 1.10
WINDOWS, QUICK_WINDOWS = "300ms/60s", "300ms/10s"
SECONDS, QUICK_SECONDS = 600, 100
SUNFLOW_PERCENT, QUICK_SUNFLOW_PERCENT = 2400, 400
ROUNDS = 3
PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "programs" / "SteadyAccesses.java"
MODES = ("steady", "phases")


@dataclass(frozen=True, slots=True)
class Cost:
    """By how many times the work took more CPU time: the median of the rounds, the least and the most."""

    program: str
    counted: str
    times: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one thread: how often it accessed its objects, and what windows say; None: not known."""

    mode: str
    thread: str
    true: int
    value: int | None
    low: int | None
    high: int | None


def recorded(folder: Path, command: list[str], options: list[str]) -> tuple[float, list[str], Any]:
    """Return the CPU seconds of a recorded command, its output, and what `headway objects` says of it."""
    path = str(folder / "a.headway")
    before = os.times()
    asked = ["record", "--mode", "agent", "--force", "-o", path, *options, "--", *command]
    done = subprocess.run([harness.HEADWAY, *asked], check=True, capture_output=True, text=True)
    after = os.times()
    said = None
    if options:
        shown = [str(harness.HEADWAY), "objects", path, "--by", "thread-class", "--json"]
        said = json.loads(subprocess.run(shown, check=True, capture_output=True, text=True).stdout)
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu_s, done.stdout.splitlines(), said


def steady(folder: Path, mode: str, seconds: int, options: list[str]) -> tuple[float, list[Estimate]]:
    """Return CPU seconds for each thousand million accesses, and the estimates."""
    cpu_s, lines, said = recorded(folder, ["java", "-cp", str(folder), "SteadyAccesses", str(seconds), mode], options)
    true = {name: int(writes) + int(reads) for name, writes, reads in map(str.split, lines)}
    groups = ((said or {}).get("windows") or {}).get("groups") or ()
    rows = {each["thread"]: each["of_objects"] for each in groups if each["class"] == "SteadyAccesses$Work"}
    found = [
        Estimate(mode, name, count, *(rows[name][key] for key in ("value", "low", "high")))
        for name, count in true.items()
        if name in rows
    ]
    return cpu_s * 1e9 / sum(true.values()), found


def sunflow_s(windows: str | None, percent: int, folder: Path) -> float:
    """Return the CPU seconds of sunflow's work, by its own line of JSON."""
    options = [] if windows is None else ["--objects", "accesses", "--windows", windows]
    _, lines, _ = recorded(folder, programs.command("sunflow", percent=percent, threads=programs.PROCESSORS), options)
    return float(harness.last_json("\n".join(lines))["cpu_ns"]) / 1e9


def cost(program: str, counted: str, ratios: list[float]) -> Cost:
    """Return the figure of some rounds' ratios."""
    return Cost(program, counted, statistics.median(ratios), min(ratios), max(ratios))


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    options = harness.arguments(__doc__).parse_args()
    windows, seconds = (QUICK_WINDOWS, QUICK_SECONDS) if options.quick else (WINDOWS, SECONDS)
    percent = QUICK_SUNFLOW_PERCENT if options.quick else SUNFLOW_PERCENT
    ways = {"accesses": ["--objects", "accesses"], "windows": ["--objects", "accesses", "--windows", windows]}
    costs: list[Cost] = []
    estimates: list[Estimate] = []
    rounds = 1 if options.quick else ROUNDS
    with harness.recording_folder() as folder:
        subprocess.run(["javac", "-d", folder, PROGRAM], check=True, timeout=120)
        for mode in MODES:
            ratios: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(rounds):
                alone, _ = steady(folder, mode, seconds // 10, [])
                for way, asked in ways.items():
                    length = seconds if way == "windows" else seconds // 10
                    took, found = steady(folder, mode, length, asked)
                    ratios[way].append(took / alone)
                    estimates += found
                    harness.progress(f"{mode}, {way}: {took / alone:.2f} times")
            costs += [cost(mode, way, ratios[way]) for way in ways]
        if "sunflow" in programs.available():
            pairs = [(sunflow_s(None, percent, folder), sunflow_s(windows, percent, folder)) for _ in range(rounds)]
            costs.append(cost("sunflow", "windows", [counted / alone for alone, counted in pairs]))
    rows = [
        [each.program, each.counted, f"{each.times:.2f}", f"{each.least:.2f}", f"{each.most:.2f}"] for each in costs
    ]
    print(harness.table(["program", "counted", "times", "from", "to"], rows))
    shown = [[each.mode, each.thread, *map(str, (each.true, each.value, each.low, each.high))] for each in estimates]
    print(harness.table(["mode", "thread", "true", "estimate", "low", "high"], shown))
    known = [each for each in estimates if each.low is not None and each.high is not None]
    covered = sum(
        each.low <= each.true <= each.high for each in known if each.low is not None and each.high is not None
    )
    checks = [
        (f"{each.program} in windows of {windows}: {each.times:.2f} times, target {TARGET}", each.times <= TARGET)
        for each in costs
        if each.counted == "windows"
    ]
    text = f"{covered} of {len(known)} intervals cover, {len(estimates) - len(known)} are unknown"
    checks.append((text, 0 < len(known) == covered))
    return harness.finish(options, "window_overhead", {"costs": costs, "estimates": estimates}, checks)


if __name__ == "__main__":
    sys.exit(main())
