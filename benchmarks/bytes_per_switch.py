"""How many bytes a context switch takes in the store, every file of the recording counted.

32 pairs of threads hand a turn to each other by park and unpark, flat out: the most switches, in the least regular order, that a
JVM program of 64 threads makes. A switch is a switch-in of a recorded thread, so the figure is not flattered by those of
others or to idle. Beside it: what each column takes, and what the same slices take as plain nanoseconds (a tick of 1).
Target: at most 8 bytes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from lib import harness, programs

TARGET = 8.0
PAIRS = 32


def record(target: Path, handoffs: int) -> dict[str, Any]:
    """Record the ping-pong and return the manifest."""
    command = programs.workload("PingPong", PAIRS, handoffs, "park", 0)
    words = [str(harness.HEADWAY), "record", "-o", str(target), "--", *command]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return dict(json.loads((target / "manifest.json").read_text()))


def column_bits(path: Path) -> dict[str, float]:
    """Return the compressed bits per row of each column of a Parquet file."""
    import pyarrow.parquet as pq

    file = pq.read_metadata(path)
    groups = [file.row_group(i) for i in range(file.num_row_groups)]
    return {
        groups[0].column(i).path_in_schema: sum(group.column(i).total_compressed_size for group in groups)
        * 8
        / file.num_rows
        for i in range(file.num_columns)
    }


def without_ticks(recording: Path, folder: Path) -> float:
    """Return the bytes per row of the same slices stored as nanoseconds, with noise where ticks had rounded it away."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from headway.store import packing

    rows = pq.read_table(recording / "slice.parquet")
    random = np.random.default_rng(1)
    for name in ("end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks"):
        ticks = rows.column(name).to_numpy()
        fine = np.where(ticks > 0, ticks * packing.TICK_NS + random.integers(0, packing.TICK_NS, len(ticks)), 0)
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), pa.array(fine))
    pq.write_table(rows, folder / "plain.parquet", row_group_size=1 << 18, **packing.parquet_options())
    return float((folder / "plain.parquet").stat().st_size / rows.num_rows)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeats", type=int, help="recordings (5; 2 with --quick)")
    parser.add_argument("--handoffs", type=int, default=10_000, help="per pair of threads")
    options = parser.parse_args()
    runs = []
    with harness.recording_folder() as folder:
        for number in range(options.repeats or (2 if options.quick else 5)):
            harness.progress(f"bytes per switch: recording {number + 1}")
            target = folder / f"{number}.headway"
            manifest = record(target, options.handoffs)
            tables = {name: table["bytes"] for name, table in manifest["tables"].items()}
            whole = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
            runs.append({"switches": manifest["switches"], "bytes": whole, "tables": tables})
        bits = column_bits(target / "slice.parquet")
        plain = without_ticks(target, folder)
    figures = sorted(run["bytes"] / run["switches"] for run in runs)
    last = runs[-1]
    rows = [(name, f"{size:,}", f"{size / last['switches']:.3f}") for name, size in last["tables"].items()]
    print(harness.table(("table (last recording)", "bytes", "per switch"), rows))
    print(harness.table(("column of slice", "bits per row"), [(name, f"{value:.2f}") for name, value in bits.items()]))
    print(f"{last['switches']:,} switches; slices in plain nanoseconds would take {plain:.2f} bytes per row")
    middle = statistics.median(figures)
    text = f"{middle:.2f} bytes per switch, all files ({figures[0]:.2f} to {figures[-1]:.2f}; target {TARGET:g})"
    body = {"runs": runs, "column_bits": bits, "plain_bytes": plain}
    return harness.finish(options, "bytes_per_switch", body, [(text, middle <= TARGET)])


if __name__ == "__main__":
    sys.exit(main())
