"""What does a second memory node give, and does `headway run --place` find it? For a machine of several sockets.

Three programs on one node, on all nodes, and placed: each thread computes (`alone`), goes through an array of its own that no
cache holds (`own`), or reads and writes at random in an array of all (`shared`). Each writes a line for a unit of work; the
figure is units a second, and placed beside the better of the two fixed ones. Target: 0.97 of it at least.

On a machine of one memory node there is nothing to measure, which is said, and is no failure; --nodes 0/1 tries the program
itself out on CPUs that are taken for nodes, and says nothing of memory: it has no target then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from headway.placement.nodes import machine_nodes
from headway.record.machine.host import format_cpu_list, parse_cpu_list
from lib import harness

PROGRAMS = ("alone", "own", "shared")
MEASURED_S, QUICK_MEASURED_S, SETTLED_S, QUICK_SETTLED_S = 60, 5, 40, 12
"""A placement that was tried is decided once the program has settled: until then nothing is measured."""
FIRST_UNIT_S, LEAST_UNITS, LONGEST = 120, 10, 10
"""So long a program may take to begin; it is measured until it has done so many units, at most so many times as long."""
OF_BEST = 0.97
PROGRAM = """
import java.io.*;
import java.util.SplittableRandom;
public class OnNodes {
  static volatile double sink;
  static final int OWN = 8 << 20, SHARED = 32 << 20;
  static int[] shared = new int[0];
  public static void main(String[] args) throws Exception {
    var log = new FileOutputStream(args[2], true);
    if (args[0].equals("shared")) shared = new int[SHARED];
    for (int thread = 0; thread < Integer.parseInt(args[1]); thread++) {
      long seed = thread;
      new Thread(() -> {
        try {
          int[] own = new int[args[0].equals("own") ? OWN : 0];
          var random = new SplittableRandom(seed);
          while (true) {
            long sum = 0;
            switch (args[0]) {
              case "own" -> { for (int i = 0; i < own.length; i++) sum += own[i]++; }
              case "shared" -> { for (int i = 0; i < 500_000; i++) sum += shared[random.nextInt(SHARED)]++; }
              default -> { double x = 1; for (int i = 0; i < 5_000_000; i++) x = x * 1.0000001 + 1e-9; sum = (long) x; }
            }
            sink = sum;
            log.write(new byte[] {'u', '\\n'});
          }
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }, "worker-" + thread).start();
    }
  }
}
"""


def units_a_second(before: list[str], folder: Path, program: str, threads: int, seconds: tuple[int, int]) -> float:
    """Return how many units of work a program does a second, once it has run for a while. `before`: what places it."""
    log, said = folder / f"{program}.log", folder / f"{program}.txt"
    log.write_bytes(b"")
    java = ["java", "-Xmx2g", "-cp", str(folder), "OnNodes", program, str(threads), str(log)]
    settled_s, measured_s = seconds
    command = [word.replace("LOG", str(log)) for word in before] + java
    with said.open("wb") as messages, subprocess.Popen(command, stdout=messages, stderr=messages) as running:
        try:
            _wait_until(lambda: units(log) > 0, FIRST_UNIT_S, running, said)
            time.sleep(settled_s)
            began_s, had = time.monotonic(), units(log)
            time.sleep(measured_s)
            _wait_until(lambda: units(log) - had >= LEAST_UNITS, (LONGEST - 1) * measured_s, running, said)
            return (units(log) - had) / (time.monotonic() - began_s)
        finally:
            running.terminate()


def units(log: Path) -> int:
    """Return how many units of work a program has done: a line each."""
    return log.stat().st_size // 2


def _wait_until(is_there: Callable[[], bool], limit_s: float, running: subprocess.Popen[bytes], said: Path) -> None:
    """Wait for what a program does. Raises RuntimeError with what it said, where it ends before, or does not do it in time."""
    until_s = time.monotonic() + limit_s
    while not is_there():
        ended = running.poll() is not None
        if ended or time.monotonic() > until_s:
            why = f"ended with {running.returncode}" if ended else f"did not in {limit_s:g} s what it is measured by"
            raise RuntimeError(f"{running.args!r} {why}: {said.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def main() -> int:
    """Measure and print; return 0 if the target is reached, or there is nothing to measure."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--nodes", metavar="CPUS", help="sets of CPUs that are taken for nodes, such as 0/1")
    options = parser.parse_args()
    declared = [parse_cpu_list(each) for each in options.nodes.split("/")] if options.nodes else []
    nodes = declared or [sorted(node.cpus & os.sched_getaffinity(0)) for node in machine_nodes()]
    if len(nodes) < 2:
        print("this machine has one memory node: there is nothing to measure (lscpu shows the nodes of others)")
        return 0
    seconds = (QUICK_SETTLED_S, QUICK_MEASURED_S) if options.quick else (SETTLED_S, MEASURED_S)
    every = sorted(cpu for node in nodes for cpu in node)
    harness.progress(f"two nodes: {len(PROGRAMS)} programs, {3 * sum(seconds)} s each")
    place = [str(harness.HEADWAY), "run", "--place", "--progress-file", "LOG"]
    place += ["--nodes", options.nodes] if declared else []
    ways = {
        "one": ["taskset", "-c", format_cpu_list(nodes[0])],
        "all": ["taskset", "-c", format_cpu_list(every)],
        "placed": [*place, "--"],
    }
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as name:
        folder = Path(name)
        (folder / "OnNodes.java").write_text(PROGRAM)
        subprocess.run(["javac", "-d", name, folder / "OnNodes.java"], check=True, timeout=120)
        for program in PROGRAMS:
            found[program] = {
                way: units_a_second(words, folder, program, len(every), seconds) for way, words in ways.items()
            }
    rows = [[program, *(f"{speed:.1f}" for speed in speeds.values())] for program, speeds in found.items()]
    print(harness.table(["program", *ways], rows))
    checks = []
    for program, speeds in found.items():
        best = speeds["placed"] / max(speeds["one"], speeds["all"])
        text = f"{program}: all nodes {speeds['all'] / speeds['one']:.2f}x of one, placed {best:.3f} of the better"
        if declared:
            harness.progress(f"{text}; nodes are declared: no target")
        else:
            checks.append((f"{text}, target {OF_BEST}", best >= OF_BEST))
    return harness.finish(options, "two_nodes", {"units_a_second": found, "declared": bool(declared)}, checks)


if __name__ == "__main__":
    sys.exit(main())
