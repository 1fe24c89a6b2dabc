"""What does it cost to count reads and writes? Programs by others (sunflow, H2, xalan, luindex, lusearch), each by turns as it is
and with every access of its own code and its libraries' counted; and the sum of an array, in which the JIT compiler adds up
several elements at a time, and can't where it counts.

Each round runs both, one right after the other, in an order that changes. What it takes is the CPU time of all threads of the JVM
while it does its work, compilers included, as the program says it itself. Targets: 3 times in the median of the programs, 6 at
most.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from lib import harness, programs

MOST_OF_MEDIAN, MOST_OF_WORST = 3.0, 6.0
ROUNDS, QUICK_ROUNDS = 5, 2
PERCENT = 30
NAMES = ("sunflow", "h2", "xalan", "luindex", "lusearch")
LOOP = """
public class Loop {
  public static void main(String[] args) {
    int[] values = new int[4096];
    var system =
        (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean();
    long before = system.getProcessCpuTime();
    int sum = 0;
    for (int round = 0; round < 1_000_000; round++) {
      for (int i = 0; i < values.length; i++) sum += values[i];
    }
    System.out.println("{\\"cpu_ns\\": " + (system.getProcessCpuTime() - before) + ", \\"sum\\": " + sum + "}");
  }
}
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """CPU seconds as it is, and how many times that counted: the median of the rounds, the least and the most."""

    program: str
    alone_s: float
    times: float
    least: float
    most: float


def cpu_seconds(command: list[str]) -> float:
    """Run a program and return the CPU time of its work, by its own line of JSON."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("{"))
    return float(json.loads(line)["cpu_ns"]) / 1e9


def measure(commands: dict[str, list[str]], rounds: int, folder: Path) -> list[Figure]:
    """Run the programs by turns, with the agent and without any recorder: what the recorder takes is no program's."""
    from headway.record.request.jvm_options import agent_library, agent_options
    from headway.record.request.objects import parse

    took: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, (java, *rest) in commands.items():
            seconds = {}
            for is_counted in random.sample((False, True), 2):
                spool = folder / f"spool-{name}-{number}-{is_counted}"
                spool.mkdir()
                options = agent_options(spool, objects=parse("accesses") if is_counted else None)
                seconds[is_counted] = cpu_seconds([java, f"-agentpath:{agent_library()}={options}", *rest])
            took[name].append((seconds[False], seconds[True]))
            harness.progress(f"{name}: {seconds[True] / seconds[False]:.2f} times")
    figures = []
    for name, pairs in took.items():
        ratios = [counted / alone for alone, counted in pairs]
        alone_s = statistics.median(alone for alone, _ in pairs)
        figures.append(Figure(name, alone_s, statistics.median(ratios), min(ratios), max(ratios)))
    return figures


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    options = harness.arguments(__doc__).parse_args()
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    wanted = [name for name in NAMES if name in programs.available()]
    harness.progress(f"access overhead: {rounds} rounds of {len(wanted) + 1} pairs")
    with harness.recording_folder() as folder:
        source = folder / "Loop.java"
        source.write_text(LOOP)
        subprocess.run(["javac", "-d", folder, source], check=True, timeout=120)
        commands = {name: programs.command(name, percent=PERCENT, threads=programs.PROCESSORS) for name in wanted}
        figures = measure({**commands, "loop": ["java", "-cp", str(folder), "Loop"]}, rounds, folder)
    head = ["program", "s alone", "times", "from", "to"]
    rows = [[each.program, *(f"{value:.2f}" for value in list(asdict(each).values())[1:])] for each in figures]
    print(harness.table(head, rows))
    of_programs = [each.times for each in figures if each.program != "loop"]
    median, worst = statistics.median(of_programs), max(of_programs)
    checks = [
        (f"median of the programs: {median:.2f} times, target {MOST_OF_MEDIAN}", median <= MOST_OF_MEDIAN),
        (f"worst of the programs: {worst:.2f} times, target {MOST_OF_WORST}", worst <= MOST_OF_WORST),
    ]
    return harness.finish(options, "access_overhead", {"figures": figures}, checks)


if __name__ == "__main__":
    sys.exit(main())
