"""How often does a hit of a breakpoint end the program that it is in, with nothing of headway's at work?

More threads than the machine has CPUs write a word without a pause; `perf stat -I 10 -e mem:ADDRESS:w` counts that, by thread and
then on whole CPUs. The program handles SIGTRAP and says how many came: each is a hit whose reason the kernel did not find (DR6
reads zero). It ends a program that handles none, and no breakpoint counts it. `headway record --counters mem:ADDRESS` does the
same to a program, which is why it asks for --allow-breakpoints. They come in bursts: no SIGTRAP in a run says little.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from lib import harness

ADDRESS = 0x123450000000
EVENT = f"mem:{ADDRESS:#x}/8:w"
THREADS = 8
SECONDS, QUICK_SECONDS = 120, 5
PROGRAM = f"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static atomic_long traps;
static atomic_int is_over;
static void on_trap(int number) {{ (void)number; ++traps; }}
static void *work(void *given) {{
  volatile long *word = (volatile long *){ADDRESS};
  for (long i = 0; !is_over; ++i) *word = i;
  return given;
}}
int main(void) {{
  pthread_t id[{THREADS}];
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (mmap((void *){ADDRESS}, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) return 1;
  signal(SIGTRAP, on_trap);
  for (int i = 0; i < {THREADS}; ++i) pthread_create(&id[i], 0, work, 0);
  puts("ready");
  fflush(stdout);
  getchar();
  is_over = 1;
  for (int i = 0; i < {THREADS}; ++i) pthread_join(id[i], 0);
  printf("%ld\\n", traps);
}}
"""


def once(program: Path, seconds: float, *, on_cpus: bool) -> dict[str, int]:
    """Run the program while perf counts for some seconds; return {hits, traps}."""
    table = program.with_suffix(".csv")
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        of = ["-a"] if on_cpus else ["-p", str(writer.pid)]
        words = ["perf", "stat", "-I", "10", "-x", ";", "-o", str(table), "-e", EVENT, *of, "--", "sleep", str(seconds)]
        subprocess.run(words, check=True, timeout=seconds + 60)
        said, _ = writer.communicate("\n", timeout=60)
    rows = csv.reader(table.read_text().splitlines(), delimiter=";")
    return {"hits": sum(int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()), "traps": int(said)}


def main() -> int:
    """Measure and print; return 0 if no hit came as SIGTRAP."""
    options = harness.arguments(__doc__).parse_args()
    seconds = QUICK_SECONDS if options.quick else SECONDS
    harness.progress(f"breakpoints: twice {seconds} s")
    figures = {}
    with harness.recording_folder() as folder:
        program = folder / "writes"
        program.with_suffix(".c").write_text(PROGRAM)
        subprocess.run(["gcc", "-O1", "-pthread", "-o", program, program.with_suffix(".c")], check=True, timeout=120)
        for name, on_cpus in (("by thread", False), ("on whole CPUs", True)):
            figures[name] = once(program, seconds, on_cpus=on_cpus)
    checks = [
        (
            f"{name}: {each['traps']} SIGTRAPs in {each['hits']:,} hits of perf's breakpoints, target none",
            not each["traps"],
        )
        for name, each in figures.items()
    ]
    return harness.finish(options, "breakpoint_traps", figures, checks)


if __name__ == "__main__":
    sys.exit(main())
