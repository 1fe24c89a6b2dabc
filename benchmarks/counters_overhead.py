"""What do four software counters cost a switch, and a slice in the store? Two threads of a process hand a byte to each other on
one CPU, as fast as they can.

Each round records the program without and with counters, one right after the other, as other work of the machine comes and goes;
which comes first alternates. What a switch takes is the program's own time for its switches. Software counters are the kernel's
own numbers: those of a processor take a read of a register more each. Targets: 0.8 us more per switch with four counters in one
group; 12 bytes more per slice with four counters that differ from slice to slice.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from lib import harness

TARGET_US = 0.8
TARGET_BYTES = 12
LEAST_COUNTED = 0.99
"""Of the slices, so that a recording without counts can't be the cheap one."""
ROUNDS, QUICK_ROUNDS = 7, 2
SWITCHES = 400_000
GROUPS = "task-clock,page-faults,context-switches,cpu-migrations"
CLOCKS = "task-clock,cpu-clock;task-clock,cpu-clock"
"""Four counters none of which is the same in any two slices: the most that counts take."""
PROGRAM = f"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static int there[2], back[2];
static void *answer(void *none) {{
  char byte;
  for (int i = 0; i < {SWITCHES // 2}; i++) if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) break;
  return none;
}}
int main(void) {{
  struct timespec begin, end;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  if (pipe(there) || pipe(back)) return 1;
  pthread_t other;
  pthread_create(&other, 0, answer, 0);
  char byte = 0;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  for (int i = 0; i < {SWITCHES // 2}; i++) if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  pthread_join(other, 0);
  printf("%.3f\\n", ((end.tv_sec - begin.tv_sec) * 1e9 + end.tv_nsec - begin.tv_nsec) / 1e3 / {SWITCHES});
}}
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """Microseconds a switch without and with counters, and their difference, as medians over rounds.

    `bytes_per_slice`: what the counts take in the store, `of_clocks`: of four counters that differ from slice to slice.
    """

    without_us: float
    with_us: float
    added_us: float
    least_added_us: float
    most_added_us: float
    bytes_per_slice: float
    of_clocks: float


def once(program: Path, folder: Path, groups: str) -> float:
    """Record the program, with counters if any groups are named, and return the CPU time in us that each of its switches took."""
    recording = folder / "r.headway"
    words = [str(harness.HEADWAY), "record", "--no-agent", "--mode", "ebpf", "--force", "-o", str(recording)]
    words += ["--counters", groups] if groups else []
    done = subprocess.run([*words, "--", str(program)], capture_output=True, text=True, check=True, timeout=300)
    if groups:
        check_counted(recording, groups)
    return float(done.stdout)


def check_counted(recording: Path, groups: str) -> None:
    """Raise AssertionError unless all that was asked for was counted, in nearly all slices, in mode ebpf."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    manifest = json.loads((recording / "manifest.json").read_text())
    assert manifest["mode"] == "ebpf", manifest["mode"]
    assert [",".join(group["events"]) for group in manifest["counters"]["groups"]] == groups.split(";"), manifest[
        "counters"
    ]
    rows = pq.read_table(recording / "slice.parquet", columns=[f"count_{place}" for place in range(4)])
    known = [float(pc.mean(pc.cast(pc.greater_equal(column, 0), "int8")).as_py()) for column in rows.columns]
    assert min(known) >= LEAST_COUNTED, known
    assert rows.num_rows >= SWITCHES, rows.num_rows


def bytes_of_counts(recording: Path) -> float:
    """Return how many bytes the columns of counts take for each slice, compressed as they are."""
    import pyarrow.parquet as pq

    file = pq.read_metadata(recording / "slice.parquet")
    columns = [file.row_group(i).column(j) for i in range(file.num_row_groups) for j in range(file.num_columns)]
    counts = [each for each in columns if each.path_in_schema.startswith(("count_", "uncounted_"))]
    return float(sum(each.total_compressed_size for each in counts) / file.num_rows)


def measure(rounds: int) -> Figure:
    """Record the program by turns, then once for the bytes of clocks."""
    with harness.recording_folder() as folder:
        source = folder / "pingpong.c"
        source.write_text(PROGRAM)
        program = folder / "pingpong"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", program, source], check=True, timeout=120)
        pairs = []
        for number in range(rounds):
            order = ("", GROUPS) if number % 2 == 0 else (GROUPS, "")
            took = {groups: once(program, folder, groups) for groups in order}
            pairs.append((took[""], took[GROUPS]))
        once(program, folder, GROUPS)
        of_groups = bytes_of_counts(folder / "r.headway")
        once(program, folder, CLOCKS)
        of_clocks = bytes_of_counts(folder / "r.headway")
    added = [more - less for less, more in pairs]
    less, more = (statistics.median(column) for column in zip(*pairs, strict=True))
    return Figure(less, more, statistics.median(added), min(added), max(added), of_groups, of_clocks)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    options = harness.arguments(__doc__).parse_args()
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    harness.progress(f"counters overhead: {rounds} rounds of two recordings")
    figure = measure(rounds)
    head = ["us a switch", "with four counters", "added", "from", "to", "bytes a slice", "of clocks"]
    row = [*dataclasses.astuple(figure)]
    print(harness.table(head, [[f"{each:.2f}" for each in row]]))
    us = f"four software counters add {figure.added_us:.2f} us a switch, target {TARGET_US}"
    size = f"four clocks add {figure.of_clocks:.1f} bytes a slice, target {TARGET_BYTES}"
    checks = [(us, figure.added_us <= TARGET_US), (size, figure.of_clocks <= TARGET_BYTES)]
    return harness.finish(options, "counters_overhead", {"figure": figure}, checks)


if __name__ == "__main__":
    sys.exit(main())
