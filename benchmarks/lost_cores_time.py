"""How long `why` takes on a recording of 10 million switches, against DuckDB summing one column of it.

    python benchmarks/lost_cores_time.py [--switches 10000000] [--rounds 5] [--quick] [--json FILE]

Makes the recording first (random threads on more cores than they need, as in parallelism_query.py). Then, in a process of its own
that has everything imported, takes turns between the sum, `why` and the sweep behind it (analyses/lost_cores/account/attribution)
and compares wall and CPU times pair by pair: the ratio is the median over the rounds, with its range. Peak memory is that of a
process that does nothing but answer once, imports included.

Target: at most 30 times the sum (imports apart), at most 1 GiB.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import parallelism_query
from lib import against_sum, harness

CORES = 12
TARGET_RATIO = 30.0
TARGET_BYTES = 1 << 30
SHOWN = ("sum", "why", "sweep")


def compare(path: Path, rounds: int) -> dict[str, Any]:
    """Take turns between the sum, the answer and its sweep."""
    from headway.analyses.lost_cores.account import attribution
    from headway.analyses.lost_cores.analysis import why
    from headway.analyses.waits import pieces
    from headway.store import open_recording

    def sweep() -> None:
        recording = open_recording(path)
        attribution.sweep(recording, pieces.load(recording), cores=CORES)

    return dict(
        against_sum.in_turns(path, {"why": lambda: why(open_recording(path), cores=CORES), "sweep": sweep}, rounds)
    )


def answer_once(path: Path) -> dict[str, Any]:
    """Answer once; return this process's peak memory and how exact the account is."""
    from headway.analyses.lost_cores.analysis import why
    from headway.store import open_recording

    answer = why(open_recording(path), cores=CORES)
    return {"peak_bytes": against_sum.peak_bytes(), "invariant_error": answer.account.invariant_error}


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    once = {"once": answer_once}
    done = against_sum.measured(__doc__, parallelism_query.make, compare, once, rounds=5, quick_rounds=3)
    if done is None:
        return 0
    options, result = done
    show(result)
    return harness.finish(options, "lost_cores_time", result, [verdict(result)])


def verdict(result: dict[str, Any]) -> tuple[str, bool]:
    """Return what is said of the target and whether it is reached."""
    row, peak = result["why_wall"], result["once"]["peak_bytes"]
    span = f"{row['ratio']:.1f} times DuckDB's sum of a column ({row['ratio_low']:.1f} to {row['ratio_high']:.1f})"
    text = f"why on {result['switches']:,} switches: {span}, {peak / 2**20:.0f} MiB; targets 30 times, 1024 MiB"
    return text, row["ratio"] <= TARGET_RATIO and peak <= TARGET_BYTES


def show(result: dict[str, Any]) -> None:
    """Print the table."""
    for name in SHOWN:
        for clock in ("wall", "cpu"):
            row = result[f"{name}_{clock}"]
            span = f"{row['ratio']:.2f} times the sum ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
            print(f"{name:6} {clock:5} {row['median_s'] * 1e3:9.1f} ms   {span}")
    once = result["once"]
    print(f"peak memory: {once['peak_bytes'] / 2**20:.0f} MiB; left over of the account: {once['invariant_error']:.1e}")


if __name__ == "__main__":
    sys.exit(main())
