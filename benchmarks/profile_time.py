"""How long profiles take of ten million samples in 100,000 different stacks, and of ten million blocked intervals.

    python benchmarks/profile_time.py [--samples 10000000] [--stacks 100000] [--quick] [--json FILE]

Makes a recording (a call tree grown at random, a stack for each of its nodes), then makes each profile once in a process of its
own, imports included. What is measured is CPU time: the machine may have other work. A process's memory includes that of Python,
DuckDB, Arrow and numpy.

Target: each profile within 30 s of CPU time and 2 GiB of memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from lib import harness

THREADS = 32
BEGIN_NS, WALL_NS = 10**12, 100 * 10**9
TARGET_S = 30.0
TARGET_BYTES = 2 << 30
PROFILES = ("cpu", "cpu by thread", "lock", "off-cpu")


def make(path: Path, samples: int, stacks: int) -> None:
    """Write a recording with samples, waits and slices of THREADS threads."""
    import pyarrow as pa

    from headway.store.writer import write_recording

    source = np.random.default_rng(1)
    threads = np.arange(THREADS, dtype=np.int32)
    names = [f"worker-{i}" for i in threads]
    fixed = {
        "start_ns": np.full(THREADS, BEGIN_NS),
        "kind": ["app"] * THREADS,
        "from_snapshot": np.zeros(THREADS, bool),
    }
    taken = source.integers(BEGIN_NS, BEGIN_NS + WALL_NS, samples)
    taken.sort()
    stack = np.minimum(source.zipf(1.2, samples) - 1, stacks - 1).astype(np.int32)
    stack[:stacks] = np.arange(stacks)
    tables = {
        "thread": pa.table(
            {"thread_id": threads, "pid": threads * 0 + 1, "tid": threads, "name": names, "comm": names, **fixed}
        ),
        "sample": pa.table(
            {
                "thread_id": source.integers(0, THREADS, samples).astype(np.int32),
                "ns": taken,
                "event": pa.DictionaryArray.from_arrays(np.zeros(samples, np.int8), pa.array(["cpu"])).cast("string"),
                "weight": source.integers(1, 20_000_000, samples),
                "stack_id": stack,
            }
        ),
        **_stacks(source, stacks),
        **_waits(samples, stacks),
    }
    manifest = {"mode": "ebpf", "window": {"start_ns": BEGIN_NS, "end_ns": BEGIN_NS + WALL_NS}, "recorded_cores": 2}
    write_recording(path, manifest, tables, overwrite=True)


def _stacks(source: np.random.Generator, stacks: int) -> dict[str, Any]:
    """Grow a call tree: a node's caller is one of the younger half of those before it, which makes stacks of some 40 frames."""
    import pyarrow as pa

    number = np.arange(stacks)
    parent = (number * source.uniform(0.5, 1, stacks)).astype(np.int64)
    frames = stacks // 5
    frame = source.integers(0, frames, stacks)
    rows, node, depth = [], number, 0
    while len(node):
        rows.append((number, np.full(len(node), depth), frame[node]))
        more = node > 0
        number, node, depth = number[more], parent[node[more]], depth + 1
    stack, depths, frame_ids = (np.concatenate(column) for column in zip(*rows, strict=True))
    order = np.lexsort((depths, stack))
    ids = np.arange(frames, dtype=np.int32)
    texts = {"class_name": [f"org.example.Class{i // 10}" for i in ids], "method": [f"method{i}" for i in ids]}
    return {
        "frame": pa.table({"frame_id": ids, **texts, "line": ids, "kind": ["java"] * frames}),
        "stack": pa.table(
            {
                "stack_id": stack[order].astype(np.int32),
                "depth": depths[order].astype(np.int16),
                "frame_id": frame_ids[order].astype(np.int32),
                "is_cut": np.zeros(len(order), bool),
            }
        ),
    }


def _waits(slices: int, stacks: int) -> dict[str, Any]:
    """Let every thread block and run in turn; each tenth blocked interval is inside a wait for one of a thousand locks."""
    import pyarrow as pa

    each = slices // THREADS
    step = WALL_NS // each
    thread = np.tile(np.arange(THREADS, dtype=np.int32), each)
    count = len(thread)
    start = BEGIN_NS + np.repeat(np.arange(each), THREADS) * step + step * 3 // 4
    # No program's times are all equal; a file of such is refused, as one of that size would have far too many rows.
    blocked = np.random.default_rng(2).integers(step // 4, step // 2, count)
    zero = np.zeros(count, np.int64)
    slice_ = {
        "thread_id": thread,
        "start_ns": start,
        "blocked_ns": blocked,
        "runnable_ns": zero + 1,
        "running_ns": zero + step // 8,
    }
    state = {
        "cpu": zero.astype(np.int16),
        "blocked_state": (zero + 1).astype(np.uint8),
        "waker_id": (zero - 1).astype(np.int32),
    }
    flags = {"waker_irq": zero.astype(bool), "is_open": zero.astype(bool)}
    inside = np.arange(0, count, 10)
    waits, few = len(inside), min(1000, stacks)
    lock = np.arange(waits) % few
    no, hashes = np.zeros(waits, bool), np.arange(1, few + 1, dtype=np.int32)
    wait = {
        "pid": np.ones(waits, np.int32), "thread_id": thread[inside], "java_id": thread[inside].astype(np.int64) + 1,
        "is_virtual": no, "is_pinned": no, "blocker_id": lock.astype(np.int32), "kind": ["monitor"] * waits, "is_timed": no,
        "start_ns": start[inside] - blocked[inside] - 100, "dur_ns": blocked[inside] + 200, "stack_id": lock.astype(np.int32),
        "weight": np.ones(waits, np.int32), "is_open": no, "is_attached": no, "is_end_guessed": no,
    }  # fmt: skip
    sums = np.bincount(lock, minlength=few)
    zeros = np.zeros(few, np.int64)
    blocker = {
        "blocker_id": hashes - 1, "pid": zeros.astype(np.int32) + 1, "kind": ["monitor"] * few, "class_name": ["a.Lock"] * few,
        "identity_hash": hashes, "first_thread": ["worker-0"] * few, "first_ns": zeros + BEGIN_NS, "last_ns": zeros,
        "times_parked": sums, "times_measured": sums, "parked_now": hashes * 0, "peak_parked": hashes * 0 + 1,
        "thread_time_ns": sums * (step // 2 + 200), "real_time_ns": sums * (step // 2 + 200), "holds": zeros, "hold_ns": zeros,
    }  # fmt: skip
    return {"slice": pa.table({**slice_, **state, **flags}), "block": pa.table(wait), "blocker": pa.table(blocker)}


def once(path: str, what: str) -> None:
    """Make one profile and print what it took; runs in a process of its own."""
    from headway.analyses.profile.analysis import profile
    from headway.analyses.stacks.tree import flat_rows
    from headway.cli.flame import PATHS
    from headway.store import open_recording

    event, _, by_thread = what.partition(" ")
    bound = {"by_thread": True, "paths": PATHS} if by_thread else {}
    found = profile(open_recording(path), event, **bound)  # type: ignore[arg-type]
    rows = flat_rows(found.tree, found.frames)
    # Not ru_maxrss: that begins with the memory of the process that forked this one.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    figures = {"cpu_s": time.process_time(), "bytes": int(peak.split()[1]) * 1024, "nodes": len(found.tree)}
    print(json.dumps({**figures, "methods": len(rows), "samples": found.samples}))


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--samples", type=int, help="samples, and slices (10,000,000; 1,000,000 with --quick)")
    parser.add_argument("--stacks", type=int, default=100_000)
    parser.add_argument(
        "--once", nargs=2, metavar=("RECORDING", "PROFILE"), help="one profile of a recording made before"
    )
    arguments = parser.parse_args()
    if arguments.once:
        once(*arguments.once)
        return 0
    figures, verdicts = {}, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.headway")
        make(path, arguments.samples or (1_000_000 if arguments.quick else 10_000_000), arguments.stacks)
        for what in PROFILES:
            command = [sys.executable, __file__, "--once", str(path), what]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            figures[what] = found = json.loads(done.stdout)
            text = f"{what}: {found['cpu_s']:.1f} s CPU, {found['bytes'] / 2**20:.0f} MiB, {found['nodes']:,} nodes"
            print(text, flush=True)
            ok = found["cpu_s"] <= TARGET_S and found["bytes"] <= TARGET_BYTES
            verdicts.append((f"{text}; target {TARGET_S:.0f} s, {TARGET_BYTES >> 20} MiB", ok))
    return harness.finish(arguments, "profile_time", figures, verdicts)


if __name__ == "__main__":
    sys.exit(main())
