"""How long `why` takes on a recording of 10 million switches, against DuckDB summing one column of it.

    python benchmarks/why_time.py [--switches 10000000] [--rounds 5] [--quick] [--json FILE]

Makes the recording first (random threads on more cores than they need, as in parallelism_query.py). Then, in a process of its own
that has everything imported, takes turns between the sum, `why` and the sweep behind it (analyses/why_sweep) and compares wall
and CPU times pair by pair: the ratio is the median over the rounds, with its range. Peak memory is that of a process that does
nothing but answer once, imports included.

Target: at most 30 times the sum (imports apart), at most 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness
import parallelism_query

CORES = 12
TARGET_RATIO = 30.0
TARGET_BYTES = 1 << 30
SHOWN = ("sum", "why", "sweep")


def compare(path: Path, rounds: int) -> dict[str, Any]:
    """Take turns between the sum, the answer and its sweep, in this process, after one unmeasured turn each."""
    import duckdb

    from headway.analyses import why_sweep, why_waits
    from headway.analyses.why import why
    from headway.store import open_recording

    file = str(path / "slice.parquet")

    def total() -> None:
        with duckdb.connect() as connection:
            connection.execute("SELECT sum(running_ticks) FROM read_parquet($1)", [file]).fetchall()

    def sweep() -> None:
        recording = open_recording(path)
        why_sweep.sweep(recording, why_waits.load(recording), cores=CORES)

    contenders: dict[str, Callable[[], object]] = {
        "sum": total,
        "why": lambda: why(open_recording(path), cores=CORES),
        "sweep": sweep,
    }
    for work in contenders.values():
        work()
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            runs[name].append(parallelism_query.timed(work))
    result: dict[str, Any] = {}
    for name, pairs in runs.items():
        for which, clock in enumerate(("wall", "cpu")):
            ratios = sorted(pair[which] / base[which] for pair, base in zip(pairs, runs["sum"], strict=True))
            result[f"{name}_{clock}"] = {
                "median_s": statistics.median(pair[which] for pair in pairs),
                "ratio": statistics.median(ratios),
                "ratio_low": ratios[0],
                "ratio_high": ratios[-1],
            }
    return result


def answer_once(path: Path) -> dict[str, Any]:
    """Answer once; return this process's peak memory and how exact the account is."""
    from headway.analyses.why import why
    from headway.store import open_recording

    answer = why(open_recording(path), cores=CORES)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"peak_bytes": peak, "invariant_error": answer.account.invariant_error}


def in_own_process(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=True)
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
        parallelism_query.make(options.path, options.switches)
        return 0
    if options.step:
        found = compare(options.path, options.rounds) if options.step == "compare" else answer_once(options.path)
        print(json.dumps(found))
        return 0
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        path = f"{folder}/big.headway"
        in_own_process("--step", "make", "--path", path, "--switches", str(options.switches))
        result = in_own_process("--step", "compare", "--path", path, "--rounds", str(options.rounds))
        result["once"] = in_own_process("--step", "once", "--path", path)
    result |= {"switches": options.switches}
    show(result)
    return harness.finish(options, "why_time", result, [verdict(result)])


def verdict(result: dict[str, Any]) -> tuple[str, bool]:
    """Return what is said of the target and whether it is reached."""
    row, peak = result["why_wall"], result["once"]["peak_bytes"]
    span = f"{row['ratio']:.1f} times DuckDB's sum of a column ({row['ratio_low']:.1f} to {row['ratio_high']:.1f})"
    text = f"why on {result['switches']:,} switches: {span}, {peak / 2**20:.0f} MiB; targets 30 times, 1024 MiB"
    return text, row["ratio"] <= TARGET_RATIO and peak <= TARGET_BYTES


def show(result: dict[str, Any]) -> None:
    for name in SHOWN:
        for clock in ("wall", "cpu"):
            row = result[f"{name}_{clock}"]
            span = f"{row['ratio']:.2f} times the sum ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
            print(f"{name:6} {clock:5} {row['median_s'] * 1e3:9.1f} ms   {span}")
    once = result["once"]
    print(f"peak memory: {once['peak_bytes'] / 2**20:.0f} MiB; left over of the account: {once['invariant_error']:.1e}")


if __name__ == "__main__":
    sys.exit(main())
