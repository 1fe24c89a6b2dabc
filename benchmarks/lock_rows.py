"""What `headway locks --json` takes for a million rows: CPU time beside another build of headway, and memory for writing them.

    python benchmarks/lock_rows.py --before PATH/bin/headway [--rows 1000000] [--mended KEYS] [--rounds 3] [--quick] [--json FILE]

Makes a recording of that many locks, each waited for once, with a stack and with who ended the wait. Either build prints all
of them (`--by lock --json`) in turns, to a file. CPU time is that of the process; its ratio is of neighbours in time, this build
by the other, beside the same of the other build by itself. Memory is the most that was resident. What writing takes of it is the
difference to the same command that leaves out every row (`--min-parks`), and so only reads and sums.

The outputs are compared line by line. --mended names keys whose figures are others since that build, as they were wrong there:
only these may differ.

Target: at most 1.05 times the other build's CPU time, the same bytes, and at most 64 MiB for writing, however many rows.
"""

from __future__ import annotations

import collections
import itertools
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lib import harness

Ints = NDArray[np.int64]

TARGET_RATIO = 1.05
TARGET_MIB = 64
ORIGIN_NS = 10**12
THREADS = 4
TURN_NS, MOST_NS, LATER_NS = 2000, 1000, 200
"""How often a thread waits, for how long at most, and how much later than the thread before it."""
STACKS, DEPTH = 8, 8
MEMORY = "4G"
"""What analyses may take: with the usual limit a million locks that are waited for once do not all have a row of their own."""
LOCK = "java.util.concurrent.locks.ReentrantLock$NonfairSync"


@dataclass(frozen=True, slots=True)
class Printed:
    """What one run of the command took and printed."""

    cpu_ns: int
    peak_mib: float
    bytes: int


def make(path: Path, rows: int) -> None:
    """Write a recording of so many locks: threads that wait and run in turn, each time for a lock of its own."""
    import pyarrow as pa

    from headway.store.tables import TABLES
    from headway.store.writer import arrow_schema, write_recording

    def table(name: str, columns: dict[str, Any]) -> pa.Table:
        """Return a table; what is one value is that of every row."""
        schema = arrow_schema(TABLES[name])
        full = {key: np.full(rows, each) if np.isscalar(each) else each for key, each in columns.items()}
        return pa.table({key: pa.array(each, type=schema.field(key).type) for key, each in full.items()})

    number = np.arange(rows, dtype=np.int64)
    chance = np.random.default_rng(
        20261126
    )  # numbers as in real recordings: those that hardly differ are refused as a trap
    start = ORIGIN_NS + number // THREADS * TURN_NS + number % THREADS * LATER_NS + chance.integers(0, LATER_NS, rows)
    waited, hashes = chance.integers(MOST_NS // 2, MOST_NS, rows), chance.integers(1, 1 << 31, rows)
    end_ns = int(start[-1]) + 2 * TURN_NS
    slices = slice_columns(number, start, waited, end_ns)
    tables = {
        **{name: table(name, columns) for name, columns in lock_columns(number, start, waited, hashes).items()},
        "slice": table("slice", slices),
        "activity": pa.table(activity_of(slices, end_ns)),
        **{
            name: pa.Table.from_pylist(each, schema=arrow_schema(TABLES[name]))
            for name, each in threads_and_stacks().items()
        },
    }
    manifest = {
        "mode": "ebpf",
        "window": {"start_ns": ORIGIN_NS, "end_ns": end_ns},
        "recorded_cores": 2,
        "affinity": [0, 1],
        "ended_by": "exit",
        "switches": rows,
    }
    write_recording(path, manifest, tables)


def lock_columns(number: Ints, start: Ints, waited: Ints, hashes: Ints) -> dict[str, dict[str, Any]]:
    """Return the tables of waits and of locks, a row each per number."""
    thread, stack = number % THREADS, number % STACKS
    waker = (thread + 1) % THREADS
    waits = {
        "pid": 1, "thread_id": thread, "java_id": thread + 1, "is_virtual": False, "is_pinned": False, "blocker_id": number,
        "kind": "park", "is_timed": False, "start_ns": start, "dur_ns": waited, "stack_id": stack, "weight": 1,
        "waker_thread_id": waker, "waker_java_id": waker + 1, "waker_stack_id": stack, "waking_ns": start + waited,
        "is_kernel_waking": False, "is_open": False, "is_attached": False, "is_end_guessed": False, "is_repark": False,
    }  # fmt: skip
    locks = {
        "blocker_id": number, "pid": 1, "kind": "park", "class_name": LOCK, "identity_hash": hashes,
        "first_thread": "worker", "first_stack_id": stack, "first_ns": start, "last_ns": start + waited, "times_parked": 1,
        "times_measured": 1, "parked_now": 0, "peak_parked": 1, "thread_time_ns": waited, "real_time_ns": waited,
        "holds": 0, "hold_ns": 0,
    }  # fmt: skip
    return {"block": waits, "blocker": locks}


def slice_columns(number: Ints, start: Ints, waited: Ints, end_ns: int) -> dict[str, Any]:
    """Return the table of slices: after each wait its thread runs until the next."""
    thread, following = number % THREADS, np.append(start[THREADS:], [end_ns] * THREADS)
    return {
        "thread_id": thread.astype(np.int32), "start_ns": start + waited, "blocked_ns": waited,
        "runnable_ns": np.zeros_like(start), "running_ns": following - start - waited,
        "stolen_ns": np.zeros_like(start), "cpu": thread % 2, "blocked_state": 1, "waker_id": (thread + 1) % THREADS,
        "waker_irq": False, "is_open": False,
    }  # fmt: skip


def activity_of(slices: dict[str, Any], end_ns: int) -> Any:
    """Return how many threads ran when, as the end of a recording counts them."""
    from headway import _native

    names = ("thread_id", "start_ns", "runnable_ns", "running_ns", "stolen_ns")
    ids, starts, runnable, running, stolen = (slices[name] for name in names)
    kinds, bin_ns = np.zeros(THREADS, np.uint8), (end_ns - ORIGIN_NS) // 1000 + 1
    swept = _native.integrate_parallelism(
        ids, starts, runnable, running, stolen, kinds, from_ns=ORIGIN_NS, to_ns=end_ns, bin_ns=bin_ns
    )
    return swept["activity"]


def threads_and_stacks() -> dict[str, list[dict[str, Any]]]:
    """Return the tables that are small."""
    threads = [
        {"thread_id": i, "pid": 1, "tid": i + 1, "start_ns": ORIGIN_NS, "name": f"worker-{i}", "comm": "java"}
        | {"kind": "app", "java_id": i + 1, "from_snapshot": False}
        for i in range(THREADS)
    ]
    places = [divmod(i, DEPTH) for i in range(STACKS * DEPTH)]
    frames = [
        {"frame_id": i, "class_name": f"org.acme.Worker{stack}", "method": f"step{depth}", "line": i, "kind": "java"}
        for i, (stack, depth) in enumerate(places)
    ]
    stacks = [
        {"stack_id": stack, "depth": depth, "frame_id": i, "is_cut": False} for i, (stack, depth) in enumerate(places)
    ]
    return {"thread": threads, "frame": frames, "stack": stacks}


def printed(headway: Path, recording: Path, output: Path, *options: str) -> Printed:
    """Let a build print the rows to a file. Raises CalledProcessError if it fails."""
    command = [str(headway), "locks", str(recording), "--by", "lock", "--json", *options]
    with open(output, "wb") as out:
        process = subprocess.Popen(command, stdout=out, env={**os.environ, "HEADWAY_MEMORY": MEMORY})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    cpu_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
    return Printed(cpu_ns, usage.ru_maxrss / 1024, output.stat().st_size)


def differing_keys(first: Path, second: Path) -> dict[str, int]:
    """Return the keys whose lines differ, and how many lines; "(lines)" where one has more of them."""
    found: collections.Counter[str] = collections.Counter()
    with open(first, "rb") as one, open(second, "rb") as other:
        for line, beside in itertools.zip_longest(one, other):
            if line is None or beside is None:
                return {**found, "(lines)": 1}
            if line != beside:
                key, other_key = (each.partition(b":")[0].strip().decode() for each in (line, beside))
                found[key if key == other_key else "(lines)"] += 1
    return {key.strip('"'): count for key, count in found.items()}


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--before", type=Path, required=True, metavar="HEADWAY", help="the other build's command")
    parser.add_argument("--rows", type=int, help="(1,000,000; 100,000 with --quick)")
    mended = "keys whose figures were wrong in the other build, with commas"
    parser.add_argument("--mended", default="", metavar="KEYS", help=mended)
    parser.add_argument("--rounds", type=int, default=3, help="pairs of runs (3)")
    options = parser.parse_args()
    count = options.rows or (100_000 if options.quick else 1_000_000)
    with harness.recording_folder() as folder:
        recording, output, other = folder / "locks.headway", folder / "rows.json", folder / "other.json"
        harness.progress(f"a recording of {count:,} locks")
        make(recording, count)
        before, after = [printed(options.before, recording, other)], []
        for number in range(options.rounds):
            harness.progress(f"round {number + 1} of {options.rounds}")
            after.append(printed(harness.HEADWAY, recording, output))
            before.append(printed(options.before, recording, other))
        differing = differing_keys(other, output)
        without_rows = printed(harness.HEADWAY, recording, output, "--min-parks", "2")
    found = {"before": before, "after": after, "without_rows": [without_rows]}
    plain = {name: [asdict(each) for each in runs] for name, runs in found.items()}
    rows = f"{count:,} rows, {after[0].bytes / (1 << 30):.2f} GiB"
    allowed = set(filter(None, options.mended.split(",")))
    said = ", ".join(f"{key} ({lines:,})" for key, lines in sorted(differing.items()))
    which = f"other values of {said}, mended since" if said else "the same bytes"
    same = (f"{rows}: {which}; target the same bytes, but for figures that were mended", set(differing) <= allowed)
    figures = {"rows": count, "differing": differing, **plain}
    return harness.finish(options, "lock_rows", figures, [same, *verdicts(rows, before, after, without_rows)])


def verdicts(rows: str, before: list[Printed], after: list[Printed], without_rows: Printed) -> list[tuple[str, bool]]:
    """Return what the runs say of time and memory."""
    ratio = harness.ratio([each.cpu_ns for each in before], [each.cpu_ns for each in after])
    writing_mib = statistics.median(each.peak_mib for each in after) - without_rows.peak_mib
    cpu_s = statistics.median(each.cpu_ns for each in after) / 1e9
    beside = f"beside the other build {ratio.percent()}, that with itself {ratio.noise()}"
    memory = f"{after[0].peak_mib:.0f} MiB resident at most, {writing_mib:.0f} MiB of it for writing rows"
    memory = f"{rows}: {memory} (the other build {before[0].peak_mib:.0f} MiB); target {TARGET_MIB} MiB for writing"
    time = f"{rows}: {cpu_s:.1f} s of CPU, {beside}; target {TARGET_RATIO:.2f} times"
    return [
        harness.against(time, ratio.median, ratio.high, TARGET_RATIO),
        (memory, writing_mib <= TARGET_MIB),
    ]


if __name__ == "__main__":
    sys.exit(main())
