"""How long `parallelism` takes on a recording of 10 million switches, against DuckDB summing one column of it.

    python benchmarks/parallelism_query.py [--switches 10000000] [--rounds 9] [--quick] [--json FILE]

Makes the recording first (random threads; its table `activity` by the native sweep, as finalise does). Then, in a process
of its own that has everything imported, takes turns between the two and compares wall times and CPU times pair by pair:
the ratio is the median over the rounds, with its range. The windowed form (`--from/--to`, which sweeps over the slices) is
measured beside it. Peak memory is that of a process that does nothing but answer once, imports included.

Target: at most 5 times the sum (imports apart), at most 1 GiB.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lib import against_sum, harness

THREADS = 24
KINDS = ("app",) * 16 + ("gc",) * 4 + ("jit",) * 2 + ("vm",) * 2
CODES = {"app": 0, "gc": 1, "jit": 2, "vm": 3}
ACTIVITY_ROWS = 1 << 17  # as in record/finalise
TARGET_RATIO = 5.0
TARGET_BYTES = 1 << 30


def make(path: Path, switches: int) -> None:
    """Write a recording with that many slices: threads that block, wait and run for random times."""
    import pyarrow as pa

    from headway.store.tables import TABLES
    from headway.store.writer import arrow_schema, write_recording

    slices = _slices(switches)
    begin, end = 10**12, int((slices["start_ns"] + slices["running_ns"]).max())
    rows = len(slices["start_ns"])
    constant = {
        "cpu": np.zeros(rows, np.int16),
        "blocked_state": np.ones(rows, np.uint8),
        "waker_id": np.full(rows, -1, np.int32),
        "waker_irq": np.zeros(rows, bool),
        "is_open": np.zeros(rows, bool),
    }
    threads = [
        {"thread_id": i, "pid": 1, "tid": i, "start_ns": begin, "name": f"t{i}", "comm": f"t{i}", "kind": kind}
        | {"from_snapshot": False}
        for i, kind in enumerate(KINDS)
    ]
    manifest = {
        "mode": "ebpf",
        "window": {"start_ns": begin, "end_ns": end},
        "recorded_cores": 2,
        "affinity": [0, 1],
        "ended_by": "exit",
        "switches": rows,
    }
    tables = {
        "slice": pa.table({**slices, **constant}),
        "activity": pa.table(_activity(slices, begin, end)),
        "thread": pa.Table.from_pylist(threads, schema=arrow_schema(TABLES["thread"])),
    }
    write_recording(path, manifest, tables, overwrite=True)


def _slices(switches: int) -> dict[str, Any]:
    """Return the columns of the table of slices, in order of their ends."""
    source = np.random.default_rng(1)
    each = -(-switches // THREADS)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("thread_id", "start_ns", "blocked_ns", "runnable_ns", "running_ns")
    }
    for thread in range(THREADS):
        blocked, runnable, running = (
            source.exponential(mean, each).astype(np.int64) + 1 for mean in (200e3, 20e3, 30e3)
        )
        ends = np.cumsum(blocked + runnable + running) + 10**12
        columns["thread_id"].append(np.full(each, thread, dtype=np.int32))
        columns["start_ns"].append(ends - running)
        for name, values in (("blocked_ns", blocked), ("runnable_ns", runnable), ("running_ns", running)):
            columns[name].append(values)
    slices = {name: np.concatenate(parts) for name, parts in columns.items()}
    order = np.argsort(slices["start_ns"] + slices["running_ns"], kind="stable")[:switches]
    slices = {name: values[order] for name, values in slices.items()}
    return {**slices, "stolen_ns": slices["running_ns"] // 20}


def _activity(slices: dict[str, Any], begin: int, end: int) -> Any:
    """Return how many threads ran when, in bins that are made wider until there are few enough, as finalising does."""
    from headway import _native

    kinds = np.array([CODES[kind] for kind in KINDS], dtype=np.uint8)
    bin_ns = (end - begin) // 1000 + 1
    while True:
        result = _native.integrate_parallelism(
            slices["thread_id"],
            slices["start_ns"],
            slices["runnable_ns"],
            slices["running_ns"],
            slices["stolen_ns"],
            kinds,
            from_ns=begin,
            to_ns=end,
            bin_ns=bin_ns,
        )
        if len(result["activity"]["dur_ns"]) <= ACTIVITY_ROWS:
            return result["activity"]
        bin_ns *= 2


def compare(path: Path, rounds: int) -> dict[str, Any]:
    """Take turns between the sum and the analysis, of all and of a window."""
    from headway.analyses.scheduling.parallelism import parallelism
    from headway.store import open_recording

    length = open_recording(path).wall_ns
    contenders: dict[str, Callable[[], object]] = {
        "parallelism": lambda: parallelism(open_recording(path)),
        "window": lambda: parallelism(open_recording(path), (length // 100, length - length // 100)),
    }
    return {**against_sum.in_turns(path, contenders, rounds), "bytes": (path / "slice.parquet").stat().st_size}


def answer_once(path: Path, *, window: bool = False) -> dict[str, Any]:
    """Answer once and report this process's peak memory."""
    from headway.analyses.scheduling.parallelism import parallelism
    from headway.store import open_recording

    recording = open_recording(path)
    length = recording.wall_ns
    parallelism(recording, (length // 100, length - length // 100) if window else None)
    return {"peak_bytes": against_sum.peak_bytes()}


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    once: dict[str, against_sum.Once] = {"once": answer_once, "once-window": partial(answer_once, window=True)}
    done = against_sum.measured(__doc__, make, compare, once, rounds=9, quick_rounds=5)
    if done is None:
        return 0
    options, result = done
    result["bytes_per_switch"] = result.pop("bytes") / options.switches
    show(result)
    return harness.finish(options, "parallelism_query", result, verdicts(result))


def verdicts(result: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return what is said of the target, whether it is reached, and what a window takes, which has no target."""
    found = []
    for name, what, once in (
        ("parallelism", "parallelism", "once"),
        ("window", "parallelism --from --to, 98 % of it", "once-window"),
    ):
        row, peak = result[f"{name}_wall"], result[once]["peak_bytes"]
        span = f"{row['ratio']:.2f} times DuckDB's sum of a column ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
        has_target = name == "parallelism"
        goal = "targets 5 times, 1024 MiB" if has_target else "no target"
        reached = row["ratio"] <= TARGET_RATIO and peak <= TARGET_BYTES
        found.append((f"{what}: {span}, {peak / 2**20:.0f} MiB; {goal}", reached or not has_target))
    return found


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    print(
        f"{result['switches']:,} switches, {result['bytes_per_switch']:.1f} bytes each in slice.parquet (random times)"
    )
    for name in ("sum", "parallelism", "window"):
        for clock in ("wall", "cpu"):
            row = result[f"{name}_{clock}"]
            span = f"{row['ratio']:.2f} times the sum ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
            print(f"{name:12} {clock:5} {row['median_s'] * 1e3:9.1f} ms   {span}")
    for name in ("once", "once-window"):
        print(f"peak memory ({name}): {result[name]['peak_bytes'] / 2**20:.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
