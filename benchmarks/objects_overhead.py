"""What does it cost to count allocations? A program that does little else but allocate small objects, and one that computes and
allocates now and then; each by turns alone, with a sample, with every object, and with every object and its site.

Each round runs all of them one right after the other, in an order that changes. What it takes is the program's own CPU time, by
the kernel, start of the JVM included. The worst case is the first program: each object costs what it costs. Targets: a sample
costs 3 % at most; every object 3 times the time of the program that allocates now and then.
"""

from __future__ import annotations

import dataclasses
import os
import random
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lib import harness

MOST_OF_SAMPLES, MOST_OF_ALL = 1.03, 3.0
ROUNDS, QUICK_ROUNDS = 9, 3
SETTINGS = {"sampled": "allocations=512k", "counted": "allocations", "with sites": "allocations,sites"}
PROGRAM = """
public class Allocating {
  static volatile Object sink;
  static final class Small { int a, b; }
  public static void main(String[] args) {
    long objects = Long.parseLong(args[0]);
    int work = Integer.parseInt(args[1]);
    double x = 1;
    for (long i = 0; i < objects; i++) {
      sink = new Small();
      for (int j = 0; j < work; j++) x = x * 1.0000001 + 1e-9;
    }
    System.out.println(x > 0);
  }
}
"""
PROGRAMS = {"only allocates": ("3000000", "0"), "computes, too": ("500000", "1000")}
OBJECTS = {name: int(arguments[0]) for name, arguments in PROGRAMS.items()}


@dataclass(frozen=True, slots=True)
class Figure:
    """CPU seconds alone, and how many times that with each way of counting: the median of the rounds, the least and the most."""

    program: str
    setting: str
    alone_s: float
    times: float
    least: float
    most: float
    us_an_object: float


def cpu_seconds(command: list[str]) -> float:
    """Run a command and return the CPU time of it and its children."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(rounds: int) -> list[Figure]:
    """Run the programs by turns, with the agent and without any recorder: what the recorder takes is no program's."""
    from headway.record.request.jvm_options import agent_library, agent_options
    from headway.record.request.objects import parse

    figures = []
    with harness.recording_folder() as folder:
        source = folder / "Allocating.java"
        source.write_text(PROGRAM)
        subprocess.run(["javac", "-d", folder, source], check=True, timeout=120)
        for name, arguments in PROGRAMS.items():
            took: dict[str, list[float]] = {setting: [] for setting in ("alone", *SETTINGS)}
            for _ in range(rounds):
                for setting in random.sample(list(took), len(took)):
                    spool = Path(folder, f"spool-{name[:4]}-{setting[:4]}-{len(took[setting])}")
                    spool.mkdir()
                    asked = parse(SETTINGS[setting]) if setting in SETTINGS else None
                    options = agent_options(spool, objects=asked)
                    java = ["java", f"-agentpath:{agent_library()}={options}", "-cp", str(folder)]
                    took[setting].append(cpu_seconds([*java, "Allocating", *arguments]))
            alone = took.pop("alone")
            for setting, seconds in took.items():
                ratios = [more / less for more, less in zip(seconds, alone, strict=True)]
                added = statistics.median(more - less for more, less in zip(seconds, alone, strict=True))
                times = statistics.median(ratios)
                figures.append(
                    Figure(
                        name,
                        setting,
                        statistics.median(alone),
                        times,
                        min(ratios),
                        max(ratios),
                        added / OBJECTS[name] * 1e6,
                    )
                )
    return figures


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    options = harness.arguments(__doc__).parse_args()
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    harness.progress(f"objects overhead: {rounds} rounds of {len(PROGRAMS) * (1 + len(SETTINGS))} runs")
    figures = measure(rounds)
    head = ["program", "allocations", "s alone", "times", "from", "to", "us an object"]
    rows = [dataclasses.astuple(each) for each in figures]
    print(harness.table(head, [[*row[:2], *(f"{each:.2f}" for each in row[2:])] for row in rows]))
    checks = []
    for each in figures:
        if each.setting == "sampled" or (each.setting == "counted" and each.program != "only allocates"):
            most = MOST_OF_SAMPLES if each.setting == "sampled" else MOST_OF_ALL
            checks.append(
                (f"{each.program}, {each.setting}: {each.times:.2f} times, target {most}", each.times <= most)
            )
    return harness.finish(options, "objects_overhead", {"figures": figures}, checks)


if __name__ == "__main__":
    sys.exit(main())
