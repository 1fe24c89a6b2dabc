"""How fast runs are replayed, and how long `headway whatif` takes to rank changes of one with 10 million switches.

    python benchmarks/whatif_speed.py [--switches 10000000] [--rounds 3] [--quick] [--json FILE]

Makes the recording first: pairs of threads that wake each other in turn and wait for I/O now and then, on a core for each
pair, without locks. Events are steps that begin or end and waits that a thread ends. Peak memory is that of a process that does
nothing but rank once, imports included.

Target: at least 5 million events a second and core; the ranking at most 20 s, 2 GiB.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

from lib import against_sum, harness

PAIRS = 12
IO_EVERY = 20
BEGIN = 10**12
TARGET_EVENTS = 5e6
TARGET_S = 20.0
TARGET_BYTES = 2 << 30
IN_POLL = 4
"""HW_IN_POLL of native/wire/records.h."""


def make(path: Path, switches: int) -> None:
    """Write the recording."""
    import pyarrow as pa

    from headway.store.tables import TABLES
    from headway.store.writer import arrow_schema, write_recording

    parts = [_pair(number, -(-switches // PAIRS)) for number in range(PAIRS)]
    columns = {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
    order = np.argsort(columns["start_ns"] + columns["running_ns"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    rows = len(order)
    constant = {
        "stolen_ns": np.zeros(rows, np.int64),
        "cpu": (columns["thread_id"] // 2).astype(np.int16),
        "blocked_state": np.ones(rows, np.uint8),
        "is_open": np.zeros(rows, bool),
    }
    threads = [
        {"thread_id": i, "pid": 1, "tid": i, "start_ns": BEGIN, "name": f"t{i}", "comm": f"t{i}", "kind": "app"}
        | {"from_snapshot": True}
        for i in range(2 * PAIRS)
    ]
    manifest = {
        "mode": "ebpf",
        "window": {"start_ns": BEGIN, "end_ns": int((columns["start_ns"] + columns["running_ns"]).max())},
        "recorded_cores": PAIRS,
        "affinity": list(range(PAIRS)),
        "ended_by": "duration",
        "switches": rows,
    }
    tables = {
        "slice": pa.table({**columns, **constant}),
        "thread": pa.Table.from_pylist(threads, schema=arrow_schema(TABLES["thread"])),
    }
    write_recording(path, manifest, tables, overwrite=True)


def _pair(number: int, slices: int) -> dict[str, Any]:
    """Return the slices of two threads of which one runs while the other one waits for it."""
    source = np.random.default_rng(number)
    at = np.arange(slices)
    running = source.exponential(30e3, slices).astype(np.int64) + 1000
    runnable = source.exponential(2e3, slices).astype(np.int64) + 1
    is_io = at % IO_EVERY == IO_EVERY - 1
    io = np.where(is_io, source.exponential(100e3, slices).astype(np.int64) + 1000, 0)
    ends = BEGIN + np.cumsum(io + runnable + running)
    before, own = np.concatenate([[BEGIN], ends[:-1]]), np.concatenate([[BEGIN, BEGIN], ends[:-2]])
    return {
        "thread_id": (2 * number + at % 2).astype(np.int32),
        "start_ns": ends - running,
        "blocked_ns": before + io - own,
        "runnable_ns": runnable,
        "running_ns": running,
        "waker_id": np.where(is_io | (at == 0), -1, 2 * number + (at + 1) % 2).astype(np.int32),
        "waker_irq": is_io,
        "blocked_in": np.where(is_io, IN_POLL, 1).astype(np.uint8),
    }


def compare(path: Path, rounds: int) -> dict[str, Any]:
    """Time the reading of the run, and replays of it."""
    from headway import _native
    from headway.analyses.whatif.run_steps import load_run
    from headway.store import open_recording

    found: dict[str, Any] = {}
    recording = open_recording(path)
    read_s = against_sum.timed(lambda: found.update(run=load_run(recording)))[1]
    run = found["run"]
    figures = run.steps.figures()

    def replay() -> None:
        _native.replay_on_cores(
            runs=[run.steps], last=[run.last], cores=float(PAIRS), has_stolen=False, work_factor=1.0, io_factor=1.0,
            waking_factor=1.0, has_collections=True, has_lock_waits=True, plans=[None], changed=[None],  # type: ignore[list-item]
            per_core=1.0, throughput=1.0, timelines=[],
        )  # fmt: skip

    cpu_s = statistics.median(against_sum.timed(replay)[1] for _ in range(rounds))
    events = 2 * int(figures["slices"]) + int(figures["signals"])
    return {"read_s": read_s, "replay_s": cpu_s, "events": events, "events_per_s": events / cpu_s}


def rank_once(path: Path) -> dict[str, Any]:
    """Rank once; report the time, and this process's peak memory."""
    from headway.analyses.whatif.ranking import ranking
    from headway.store import open_recording

    found: dict[str, Any] = {}
    wall_s, cpu_s = against_sum.timed(lambda: found.update(answer=ranking(open_recording(path))))
    answer = found["answer"]
    assert answer.refused is None, answer.refused
    said = {"changes": len(answer.predicted), "error": answer.replays[0].error}
    return {"wall_s": wall_s, "cpu_s": cpu_s, "peak_bytes": against_sum.peak_bytes(), **said}


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    done = against_sum.measured(__doc__, make, compare, {"rank": rank_once}, rounds=3, quick_rounds=1)
    if done is None:
        return 0
    options, result = done
    rank = result["rank"]
    print(
        f"{result['switches']:,} switches: read in {result['read_s']:.2f} s of CPU, replayed in {result['replay_s']:.2f} s; "
        f"{rank['changes']} changes ranked in {rank['cpu_s']:.1f} s of CPU, error {rank['error']:.4f}"
    )
    return harness.finish(options, "whatif_speed", result, verdicts(result))


def verdicts(result: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return what is said of each target, and whether it is reached."""
    million, rank = result["events_per_s"] / 1e6, result["rank"]
    peak = rank["peak_bytes"]
    return [
        (f"replays: {million:.1f} million events a second and core, target 5 million", million >= TARGET_EVENTS / 1e6),
        (
            f"ranking: {rank['wall_s']:.1f} s, {peak / 2**20:.0f} MiB; targets 20 s, 2048 MiB",
            rank["wall_s"] <= TARGET_S and peak <= TARGET_BYTES,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
