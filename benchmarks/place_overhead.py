"""What does placing cost while nothing is moved? CPU time of headway and of its process that moves threads, beside the program's.

Programs of 2, 32 and 256 threads that compute and write a line for each unit of work run under `headway place --pid` on declared
nodes, in the daemon's usual state: a policy has decided, and it goes on measuring. Both CPU times are the kernel's, over the same
time. Everything that the daemon does to a program without moving it is to use CPUs. Targets: 0.3 % of the program's CPU time in
the mean, 1 % at worst. The published mechanism costs 0.84 % in the mean, 6.74 % at worst.

What a second socket gives (speeds, order of migrations) this can't show: --nodes are CPUs of one. On a machine of two,
`headway place --pid PID --progress-file FILE --json` gives each spell's speed beside that of the one before.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import harness

MEAN_PCT, WORST_PCT = 0.3, 1.0
THREADS = (2, 32, 256)
MEASURED_S, QUICK_MEASURED_S, SETTLED_S = 60, 10, 12
PROGRAM = """
import java.io.*;
public class Computing {
  static volatile double sink;
  public static void main(String[] args) throws Exception {
    var log = new FileOutputStream(args[1], true);
    for (int thread = 0; thread < Integer.parseInt(args[0]); thread++) {
      new Thread(() -> {
        try {
          while (true) {
            double x = 1;
            for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 1e-9;
            sink = x;
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


def used_s(pid: int) -> float:
    """Return the CPU time of a process, its ended threads included."""
    return time.clock_gettime((~pid << 3) | 2)


def cost_pct(classes: Path, threads: int, seconds: float) -> tuple[float, float]:
    """Return the daemon's CPU time in percent of the program's, and in percent of a CPU."""
    cpus = sorted(os.sched_getaffinity(0))
    nodes = f"{cpus[0]}/{','.join(map(str, cpus[1:]))}"
    log = classes / f"work-{threads}.log"
    log.touch()
    java = ["java", "-Xshare:auto", "-cp", str(classes), "Computing", str(threads), str(log)]
    with subprocess.Popen(java) as program:
        try:
            command = [
                str(harness.HEADWAY),
                "place",
                "--pid",
                str(program.pid),
                "--nodes",
                nodes,
                "--progress-file",
                str(log),
            ]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as daemon:
                time.sleep(SETTLED_S)
                children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
                ours = [daemon.pid, *map(int, children)]
                began_s = time.monotonic()
                before, program_before = sum(map(used_s, ours)), used_s(program.pid)
                time.sleep(seconds)
                used, of_program = sum(map(used_s, ours)) - before, used_s(program.pid) - program_before
                took_s = time.monotonic() - began_s
                daemon.terminate()
        finally:
            program.kill()
    return 100 * used / of_program, 100 * used / took_s


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    options = harness.arguments(__doc__).parse_args()
    seconds = QUICK_MEASURED_S if options.quick else MEASURED_S
    harness.progress(f"place overhead: {len(THREADS)} programs, {SETTLED_S + seconds} s each")
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        source = Path(folder, "Computing.java")
        source.write_text(PROGRAM)
        subprocess.run(["javac", "-d", folder, source], check=True, timeout=120)
        found = {threads: cost_pct(Path(folder), threads, seconds) for threads in THREADS}
    head = ["threads", "% of the program's CPU time", "% of a CPU"]
    print(harness.table(head, [[str(threads), *(f"{each:.3f}" for each in cost)] for threads, cost in found.items()]))
    mean, worst = statistics.fmean(cost for cost, _ in found.values()), max(cost for cost, _ in found.values())
    checks = [
        (f"mean {mean:.3f} % of the programs' CPU time, target {MEAN_PCT}", mean <= MEAN_PCT),
        (f"worst {worst:.3f} %, target {WORST_PCT}", worst <= WORST_PCT),
    ]
    return harness.finish(options, "place_overhead", {"found": {str(key): cost for key, cost in found.items()}}, checks)


if __name__ == "__main__":
    sys.exit(main())
