"""What recording changes in a speedup: the sequential and the parallel program, each warm in one JVM, recorded or not in turn.

Two launches of the same program differ by a third here, in CPU time as well: by what their JVMs compile, and by what other
machines do on the same host. Runs of one JVM, one right after the other, do not differ by that. So the quotient of computed
and real speedup is measured in two parts, whose product it is:

    computed / real = (computed / own speedup of the recorded runs) x (speedup recorded / speedup plain)

The first is what headway makes of the runs that it recorded, by the programs' own clocks; the second is what recording does to
the programs, measured here. A sweep records from the launch on, this by --pid; with the same locks and samples.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import driven
import harness

RUNS = 2
"""Of a block, after one that is not counted."""
WARM_UP_S = 8.0
OPTIONS = ("--locks", "--sample", "cpu:2ms")
"""Of `headway record`, as a sweep has them."""


def recorded_over_plain(command: Sequence[str], pairs: int, folder: Path) -> tuple[list[float], list[float]]:
    """Return what recording multiplies a run's wall time by, per pair of blocks, and the same of two plain blocks (A/A).

    Raises RuntimeError if the program or headway fails.
    """
    with driven.Driven(command, collects=False) as program:
        program.warm_up(WARM_UP_S)
        blocks = [_block(program, None)]
        for number in range(pairs):
            with program.recorded(folder / f"{number}.headway", *OPTIONS) as recorder:
                blocks.append(_block(program, recorder))
            shutil.rmtree(recorder.target)
            blocks.append(_block(program, None))
    return driven.pairs_of([{"blocks": blocks}], lambda run: run["wall_ns"])


def _block(program: driven.Driven, recorder: driven.Recorder | None) -> driven.Block:
    program.run(recorder)
    return driven.block([program.run(recorder) for _ in range(RUNS)], recorder is not None)


def own_ratios(output: Path, computed: dict[int, dict[int, float]]) -> dict[int, list[float]]:
    """Return computed over own speedup of each block's recorded runs, by threads; `computed`: by threads and block."""
    took: dict[tuple[int, int], int] = {}
    for run in json.loads((output / "sweep.json").read_text())["runs"]:
        if run["recorded"] and run["state"] == "complete":
            said = harness.last_json((output / run["output"]).read_text())
            threads = run["threads"] if run["program"] == "parallel" else 0
            took[threads, run["number"]] = said["end_ns"] - said["begin_ns"]
    return over_real(computed, took)


def over_real(
    computed: Mapping[int, Mapping[int, float]], took_ns: Mapping[tuple[int, int], int]
) -> dict[int, list[float]]:
    """Return computed over real speedup of each block, by threads; `took_ns`: by threads (0: sequential) and block."""
    return {
        threads: [
            speedup * took_ns[threads, block] / took_ns[0, block]
            for block, speedup in blocks.items()
            if (threads, block) in took_ns and (0, block) in took_ns
        ]
        for threads, blocks in computed.items()
    }


def product(own: Sequence[float], alone: Sequence[float], beside: Sequence[float]) -> tuple[float, float, float]:
    """Return computed over real speedup less 1, with its 95 % interval: each part's values are drawn anew.

    `own`: computed over own speedup of recorded runs; `alone`, `beside`: what recording multiplies the wall times of the
    sequential and the parallel program by.
    """
    generator = np.random.default_rng(20260101)

    def middles(values: Sequence[float]) -> Any:
        logs = np.log(np.asarray(values, dtype=float))
        drawn = generator.choice(logs, size=(harness.RESAMPLES, len(logs)))
        return np.append(np.median(drawn, axis=1), np.median(logs))

    whole = np.exp(middles(own) + middles(alone) - middles(beside)) - 1
    low, high = np.percentile(whole[:-1], [2.5, 97.5])
    return float(whole[-1]), float(low), float(high)
