"""How fast a spool becomes tables, and in how much memory, for two lengths of recording.

Each run finalises a made spool (lib/spool_file_builder.py: 64 threads that do nothing but switch and wake each other) in a
process of its own: CPU time of all its threads from the call to its return, imports apart, and the peak of its memory. Targets:
3 million switches per CPU second; four times the length takes no more memory.
"""

from __future__ import annotations

import json
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lib import harness, spool_file_builder

TARGET_RATE = 3e6
MEMORY_SLACK = 1.15


def one(recording: Path) -> None:
    """Finalise in this process and print what it took, as JSON."""
    import duckdb  # noqa: F401 - what the imports take is no part of the figure
    import numpy as np
    import pyarrow.parquet as pq

    from headway.record.finalise.finalise import finalise

    pq.ParquetFile  # noqa: B018
    np.zeros(1)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin_cpu, begin = time.process_time_ns(), time.monotonic_ns()
    manifest = finalise(recording)
    print(
        json.dumps(
            {
                "switches": manifest.switches,
                "cpu_ns": time.process_time_ns() - begin_cpu,
                "wall_ns": time.monotonic_ns() - begin,
                "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
                "imports_kib": before_kib,
                "bytes": sum(table.bytes for table in manifest.tables.values()),
                "broken": [each.message for each in manifest.invariants if not each.ok],
            }
        )
    )


def measure(folder: Path, switches: int, repeats: int) -> list[dict[str, Any]]:
    """Finalise copies of one made spool and return what each run printed."""
    original = spool_file_builder.make(folder / f"{switches}", switches)
    found = []
    for number in range(repeats):
        copy = folder / f"{switches}-{number}.headway"
        shutil.copytree(original, copy)
        command = [sys.executable, __file__, "--one", str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(harness.last_json(done.stdout))
        shutil.rmtree(copy)
    shutil.rmtree(original)
    return found


def row(runs: list[dict[str, Any]], rates: list[float], peak_kib: int) -> tuple[str, ...]:
    """Return the row of the table that shows the runs of one length."""
    return (
        f"{runs[0]['switches']:,}",
        f"{statistics.median(rates) / 1e6:.2f} M/s",
        f"{rates[0] / 1e6:.2f} to {rates[-1] / 1e6:.2f}",
        f"{statistics.median(run['wall_ns'] for run in runs) / 1e9:.2f} s",
        f"{peak_kib / 1024:.0f} MiB",
        f"{runs[0]['imports_kib'] / 1024:.0f} MiB",
        f"{runs[0]['bytes'] / runs[0]['switches']:.2f}",
    )


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--one", type=Path, metavar="DIR", help="finalise DIR in this process (used by the benchmark)")
    parser.add_argument("--switches", type=int, help="of the longer recording (10 million; 4 million with --quick)")
    parser.add_argument("--repeats", type=int, help="runs of each length (7; 3 with --quick)")
    options = parser.parse_args()
    if options.one:
        one(options.one)
        return 0
    long = options.switches or (4_000_000 if options.quick else 10_000_000)
    repeats = options.repeats or (3 if options.quick else 7)
    rows: list[tuple[str, ...]] = []
    figures: dict[str, Any] = {}
    with harness.recording_folder() as folder:
        for switches in (long // 4, long):
            harness.progress(f"finalise: {switches:,} switches, {repeats} runs")
            runs = measure(folder, switches, repeats)
            rates = sorted(run["switches"] / run["cpu_ns"] * 1e9 for run in runs)
            peak = max(run["peak_kib"] for run in runs)
            figures[str(switches)] = {"runs": runs, "rate": statistics.median(rates), "peak_kib": peak}
            rows.append(row(runs, rates, peak))
            assert not any(run["broken"] for run in runs), runs
    head = ("switches", "per CPU second", "lowest to highest", "wall", "peak memory", "imports alone", "bytes/switch")
    print(harness.table(head, rows))
    short, full = figures.values()
    return harness.finish(
        options,
        "finalise",
        figures,
        [
            (f"{full['rate'] / 1e6:.2f} million switches per CPU second (3)", full["rate"] >= TARGET_RATE),
            (
                f"memory of 4 times the length: {full['peak_kib'] / short['peak_kib']:.2f} times (1.15)",
                full["peak_kib"] <= MEMORY_SLACK * short["peak_kib"],
            ),
        ],
    )


if __name__ == "__main__":
    sys.exit(main())
