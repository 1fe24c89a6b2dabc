"""What does it cost to count reads and writes? Programs by others (sunflow, H2, xalan, luindex, lusearch), each by turns as it
is, with every access of its own code and its libraries' counted, and with those also by the owner of the object, who allocated
it or who wrote to it last, or with the cache line of each write; and the sum of an array, in which the JIT compiler adds up
several elements at a time, and can't where it counts.

Each round runs all five, one right after the other, in an order that changes. What it takes is the CPU time of all threads of
the JVM while it does its work, compilers included, as the program says it itself. Targets, of each way to count: 3 times in the
median of the programs, 6 at most. --quick does a third of the work, in two rounds.
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
PERCENT, QUICK_PERCENT = 30, 10
LOOPS = 1_000_000
COUNTED = ("accesses", "accesses,owners", "accesses --owner last-writer", "accesses,lines", "accesses,nodes")
NAMES = ("sunflow", "h2", "xalan", "luindex", "lusearch")
LOOP = """
public class Loop {
  public static void main(String[] args) {
    int[] values = new int[4096];
    var system =
        (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean();
    long before = system.getProcessCpuTime();
    int sum = 0;
    for (int round = 0; round < Integer.parseInt(args[0]); round++) {
      for (int i = 0; i < values.length; i++) sum += values[i];
    }
    System.out.println("{\\"cpu_ns\\": " + (system.getProcessCpuTime() - before) + ", \\"sum\\": " + sum + "}");
  }
}
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """CPU seconds as it is, and how many times that counted: the median of the rounds, the least and the most.

    `counted`: what was, as --objects takes it.
    """

    program: str
    counted: str
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

    took: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, (java, *rest) in commands.items():
            seconds = {}
            for counted in random.sample(("", *COUNTED), 1 + len(COUNTED)):
                spool = folder / f"spool-{name}-{number}-{counted}"
                spool.mkdir()
                what, _, owner = counted.partition(" --owner ")
                options = agent_options(spool, objects=parse(what, owner=owner or None) if what else None)
                seconds[counted] = cpu_seconds([java, f"-agentpath:{agent_library()}={options}", *rest])
            took[name].append(seconds)
            times = ", ".join(f"{each} {seconds[each] / seconds['']:.2f} times" for each in COUNTED)
            harness.progress(f"{name}: {times}")
    return [figure(name, counted, rounds_of) for name, rounds_of in took.items() for counted in COUNTED]


def figure(program: str, counted: str, took: list[dict[str, float]]) -> Figure:
    """Return one program's figure, of each round's pair."""
    ratios = [seconds[counted] / seconds[""] for seconds in took]
    alone_s = statistics.median(seconds[""] for seconds in took)
    return Figure(program, counted, alone_s, statistics.median(ratios), min(ratios), max(ratios))


def checks_of(figures: list[Figure], counted: str) -> list[tuple[str, bool]]:
    """Return the targets of one way to count, and whether they are reached."""
    times = [each.times for each in figures if each.program != "loop" and each.counted == counted]
    median, worst = statistics.median(times), max(times)
    return [
        (f"{counted}: median of the programs: {median:.2f} times, target {MOST_OF_MEDIAN}", median <= MOST_OF_MEDIAN),
        (f"{counted}: worst of the programs: {worst:.2f} times, target {MOST_OF_WORST}", worst <= MOST_OF_WORST),
    ]


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    options = harness.arguments(__doc__).parse_args()
    rounds, percent = (QUICK_ROUNDS, QUICK_PERCENT) if options.quick else (ROUNDS, PERCENT)
    wanted = [name for name in NAMES if name in programs.available()]
    harness.progress(f"access overhead: {rounds} rounds of {len(wanted) + 1} programs, {1 + len(COUNTED)} ways each")
    with harness.recording_folder() as folder:
        source = folder / "Loop.java"
        source.write_text(LOOP)
        subprocess.run(["javac", "-d", folder, source], check=True, timeout=120)
        commands = {name: programs.command(name, percent=percent, threads=programs.PROCESSORS) for name in wanted}
        figures = measure(
            {**commands, "loop": ["java", "-cp", str(folder), "Loop", str(LOOPS * percent // PERCENT)]}, rounds, folder
        )
    head = ["program", "counted", "s alone", "times", "from", "to"]
    rows = [
        [each.program, each.counted, *(f"{value:.2f}" for value in list(asdict(each).values())[2:])] for each in figures
    ]
    print(harness.table(head, rows))
    checks = [each for counted in COUNTED for each in checks_of(figures, counted)]
    return harness.finish(options, "access_overhead", {"figures": figures}, checks)


if __name__ == "__main__":
    sys.exit(main())
