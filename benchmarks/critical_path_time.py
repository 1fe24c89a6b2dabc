"""How long the critical path takes on a recording of 10 million switches, and in how much memory.

    python benchmarks/critical_path_time.py [--switches 10000000] [--rounds 5] [--quick] [--json FILE]

Makes the recording first: that of benchmarks/parallelism_query.py, in which every wait was ended by a thread picked at random, so
that the path changes threads all the time. A process of its own then takes turns between the path and DuckDB summing one
column, after one unmeasured turn each: the ratio of wall times is the median over the rounds, with its range. CPU seconds per
million switches are those of the path alone. Peak memory is that of a process that does nothing but answer once, imports
included.

Target: at most 30 times the sum (imports apart), at most 1 GiB.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import harness
import parallelism_query

TARGET_RATIO = 30.0
TARGET_BYTES = 1 << 30


def make(path: Path, switches: int) -> None:
    """Write the recording, then let someone wake each waiter: packed columns, in place of those without wakers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from headway.store import packing
    from headway.store.manifest import TableInfo, read_manifest, write_manifest

    parallelism_query.make(path, switches)
    file = path / "slice.parquet"
    rows = pq.read_table(file)
    source = np.random.default_rng(2)
    wakers = source.integers(0, parallelism_query.THREADS, len(rows)).astype(np.int32)
    place = rows.schema.get_field_index("waker_id")
    rows = rows.set_column(place, rows.schema.field(place), pa.array(wakers))
    pq.write_table(rows, file, row_group_size=1 << 18, **packing.parquet_options())
    manifest = read_manifest(path)
    tables = {**manifest.tables, "slice": TableInfo(len(rows), file.stat().st_size)}
    write_manifest(path, dataclasses.replace(manifest, tables=tables))


def compare(path: Path, rounds: int) -> dict[str, Any]:
    """Take turns between the sum and the path, in this process, after one unmeasured turn each."""
    import duckdb

    from headway.analyses.critical_path import critical_path
    from headway.store import open_recording

    file = str(path / "slice.parquet")

    def total() -> None:
        with duckdb.connect() as connection:
            connection.execute("SELECT sum(running_ticks) FROM read_parquet($1)", [file]).fetchall()

    def walk() -> None:
        result = critical_path(open_recording(path))
        assert sum(ns for _, ns in result.by_state) == result.wall_ns

    total()
    walk()
    pairs = [(parallelism_query.timed(total), parallelism_query.timed(walk)) for _ in range(rounds)]
    ratios = sorted(path[0] / base[0] for base, path in pairs)
    found = critical_path(open_recording(path))
    return {
        "ratio": statistics.median(ratios),
        "ratio_low": ratios[0],
        "ratio_high": ratios[-1],
        "wall_s": statistics.median(path[0] for _, path in pairs),
        "cpu_s": statistics.median(path[1] for _, path in pairs),
        "pieces": found.pieces,
        "followed": found.followed,
    }


def answer_once(path: Path) -> dict[str, Any]:
    """Answer once and report this process's peak memory."""
    from headway.analyses.critical_path import critical_path
    from headway.store import open_recording

    critical_path(open_recording(path))
    return {"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def in_own_process(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--switches", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="fewer switches and rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON, too")
    parser.add_argument("--step", choices=["make", "compare", "once"], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.switches, options.rounds = min(options.switches, 2_000_000), 3
    if options.step == "make":
        make(options.path, options.switches)
        return 0
    if options.step:
        print(
            json.dumps(
                compare(options.path, options.rounds) if options.step == "compare" else answer_once(options.path)
            )
        )
        return 0
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        path = f"{folder}/big.headway"
        in_own_process("--step", "make", "--path", path, "--switches", str(options.switches))
        result = in_own_process("--step", "compare", "--path", path, "--rounds", str(options.rounds))
        result |= in_own_process("--step", "once", "--path", path)
    result["switches"] = options.switches
    result["cpu_s_per_million"] = result["cpu_s"] / options.switches * 1e6
    print(
        f"{result['switches']:,} switches, {result['pieces']:,} pieces of path, {result['followed']:,} wakings followed: "
        f"{result['wall_s']:.2f} s, {result['cpu_s']:.2f} s of CPU ({result['cpu_s_per_million']:.3f} s per million)"
    )
    return harness.finish(options, "critical_path_time", result, verdicts(result))


def verdicts(result: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return what is said of the target, and whether it is reached."""
    span = f"{result['ratio']:.1f} times DuckDB's sum of a column ({result['ratio_low']:.1f} to {result['ratio_high']:.1f})"
    peak = result["peak_bytes"]
    reached = result["ratio"] <= TARGET_RATIO and peak <= TARGET_BYTES
    return [(f"critical path: {span}, {peak / 2**20:.0f} MiB; targets 30 times, 1024 MiB", reached)]


if __name__ == "__main__":
    sys.exit(main())
