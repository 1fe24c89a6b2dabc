"""Benchmarks of analyses on ten million switches, compared with the time of a plain sum over the same recording.

The recording is made in a process of its own, the analyses take turns with DuckDB summing one column in a second one that has
everything imported, and peak memory is that of a third one that answers once, imports included.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, float]
MakeRecording = Callable[[Path, int], None]
Compared = Callable[[Path, int], dict[str, Any]]
Once = Callable[[Path], dict[str, Any]]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU seconds of a call."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def in_turns(path: Path, contenders: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Row]:
    """Run the sum and the contenders alternately in this process, after one unmeasured turn each.

    Returns for each, and for wall and CPU time ("why_wall"), the median and the ratio to the sum, pair by pair, with its range.
    """
    import duckdb

    file = str(path / "slice.parquet")

    def total() -> None:
        with duckdb.connect() as connection:
            connection.execute("SELECT sum(running_ticks) FROM read_parquet($1)", [file]).fetchall()

    everyone: dict[str, Callable[[], object]] = {"sum": total, **contenders}
    for work in everyone.values():
        work()
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in everyone}
    for _ in range(rounds):
        for name, work in everyone.items():
            runs[name].append(timed(work))
    result: dict[str, Row] = {}
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


def peak_bytes() -> int:
    """Return this process's peak memory in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measured(
    doc: str | None, make: MakeRecording, compare: Compared, once: Mapping[str, Once], *, rounds: int, quick_rounds: int
) -> tuple[argparse.Namespace, dict[str, Any]] | None:
    """Return the options and what was measured: compare's figures, and by name those of `once`. None in a process of one step."""
    options = _arguments(doc, [*once], rounds)
    if options.quick:
        options.switches, options.rounds = min(options.switches, 2_000_000), quick_rounds
    if options.step == "make":
        make(options.path, options.switches)
        return None
    if options.step:
        found = compare(options.path, options.rounds) if options.step == "compare" else once[options.step](options.path)
        print(json.dumps(found))
        return None
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        path = f"{folder}/big.headway"
        _in_own_process("--step", "make", "--path", path, "--switches", str(options.switches))
        result = _in_own_process("--step", "compare", "--path", path, "--rounds", str(options.rounds))
        for name in once:
            result[name] = _in_own_process("--step", name, "--path", path)
    return options, {**result, "switches": options.switches}


def _arguments(doc: str | None, once: list[str], rounds: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--switches", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--quick", action="store_true", help="fewer switches and rounds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON, too")
    parser.add_argument("--step", choices=["make", "compare", *once], help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def _in_own_process(*arguments: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, sys.argv[0], *arguments], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found
