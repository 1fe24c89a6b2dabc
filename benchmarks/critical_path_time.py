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

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np

import parallelism_query
from lib import against_sum, harness

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
    """Take turns between the sum and the path."""
    from headway.analyses.critical_path.analysis import critical_path
    from headway.store import open_recording

    def walk() -> None:
        result = critical_path(open_recording(path))
        assert sum(ns for _, ns in result.by_state) == result.wall_ns

    rows = against_sum.in_turns(path, {"path": walk}, rounds)
    found = critical_path(open_recording(path))
    wall = rows["path_wall"]
    return {
        **{name: wall[name] for name in ("ratio", "ratio_low", "ratio_high")},
        **{"wall_s": wall["median_s"], "cpu_s": rows["path_cpu"]["median_s"]},
        **{"pieces": found.pieces, "followed": found.followed},
    }


def answer_once(path: Path) -> dict[str, Any]:
    """Answer once and report this process's peak memory."""
    from headway.analyses.critical_path.analysis import critical_path
    from headway.store import open_recording

    critical_path(open_recording(path))
    return {"peak_bytes": against_sum.peak_bytes()}


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    done = against_sum.measured(__doc__, make, compare, {"once": answer_once}, rounds=5, quick_rounds=3)
    if done is None:
        return 0
    options, result = done
    result |= result.pop("once")
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
