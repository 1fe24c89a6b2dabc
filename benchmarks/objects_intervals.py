"""How often does the interval of a sampled count of objects hold the true number?

A program says how many objects of eight classes it has allocated; headway samples one object in 4 KiB in the mean, a dozen to
thousands of each class, anew in each run. Where intervals are right, 95 % of them hold the true number, and estimates are off by
one standard error in the mean square (a spread of 1), upwards as much as downwards. A class without any sample counts as an
interval that does not hold it.
Target: at least 93 %, and no bias beyond three standard errors of its mean.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lib import harness

LEAST_HELD, MOST_BIAS = 0.93, 3.0
RUNS, QUICK_RUNS = 62, 8
OBJECTS = "100000"
TWO_SIDED_95 = 1.96
SOURCE = harness.ROOT / "tests" / "programs" / "ObjectCounts.java"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The objects of a class: how many there were, and what headway says with its 95 % interval."""

    class_name: str
    objects: int
    value: float
    low: float
    high: float

    @property
    def is_held(self) -> bool:
        """Return whether the true number is within the interval."""
        return self.low <= self.objects <= self.high

    @property
    def off(self) -> float:
        """Return how many of the true number's standard errors the estimate is off; its own grows with its square root."""
        error = (self.high - self.low) / (2 * TWO_SIDED_95)
        return (self.value - self.objects) / (error * math.sqrt(self.objects / self.value)) if error else 0.0


def true_counts(said: str) -> dict[str, int]:
    """Return the objects that a program says it has allocated, by class."""
    found: dict[str, int] = {}
    for line in said.splitlines():
        _, name, *numbers = line.split()
        if len(numbers) == 2:
            found[name] = found.get(name, 0) + int(numbers[0])
    return found


def once(folder: Path, number: int) -> list[Estimate]:
    """Record the program; return the estimate of each class."""
    path = folder / f"{number}.headway"
    words: list[str | Path] = ["record", "--mode", "agent", "--objects", "allocations=4k", "-o", path]
    command: list[str | Path] = [harness.HEADWAY, *words, "--", "java", "-cp", folder, "ObjectCounts", OBJECTS]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    asked: list[str | Path] = [harness.HEADWAY, "objects", path, "--by", "class", "--json"]
    answer = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True, timeout=120).stdout)
    rows = {row["class"]: row for row in answer["groups"]}
    ends = ("objects", "objects_low", "objects_high")
    return [
        Estimate(name, objects, *(float(rows[name][end]) if name in rows else 0.0 for end in ends))
        for name, objects in true_counts(said).items()
    ]


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    options = harness.arguments(__doc__).parse_args()
    runs = QUICK_RUNS if options.quick else RUNS
    harness.progress(f"intervals of sampled objects: {runs} runs")
    with harness.recording_folder() as folder:
        subprocess.run(["javac", "-d", folder, SOURCE], check=True, timeout=120)
        estimates = [each for number in range(runs) for each in once(folder, number)]
    covered = sum(each.is_held for each in estimates)
    off = [each.off for each in estimates]
    bias, spread = statistics.fmean(off), statistics.pstdev(off)
    most = MOST_BIAS / math.sqrt(len(off))
    checks = [
        (
            f"{covered} of {len(estimates)} intervals hold the true number, target 93 %",
            covered >= LEAST_HELD * len(estimates),
        ),
        (f"off by {bias:+.2f} standard errors in the mean (spread {spread:.2f}), target {most:.2f}", abs(bias) <= most),
    ]
    return harness.finish(options, "objects_intervals", {"estimates": estimates}, checks)


if __name__ == "__main__":
    sys.exit(main())
