"""What recording changes in a speedup: the sequential and the parallel program, each warm in one JVM, recorded or not in turn.

Two launches of the same program differ by a third here, in CPU time as well: by what their JVMs compile, and by what other
machines do on the same host. Runs of one JVM, one right after the other, do not differ by that. So the quotient of computed
and real speedup is measured in two parts, whose product it is:

    computed / real = (computed / own speedup of the recorded runs) x (speedup recorded / speedup plain)

The first is what headway makes of the runs that it recorded, by the programs' own clocks; the second is what recording does to
the programs, measured here with the samples of a sweep. A sweep records from the launch on, this by --pid. An attach with locks
has the JVM throw out the code with locks in it, and what it compiles instead makes two attaches differ by a tenth. So recording
without locks is attached again and again, and locks are switched on and off within one recording of the parallel program
(HookSwitch); the product of the two is what counts. Left out is thereby what a call site costs that is in but switched off, and,
as of each block the fastest run is taken, what disturbs a program only now and then, be it the recorder or the machine.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lib import driven, harness, programs

RUNS, UNCOUNTED = 5, 1
"""Of a block. Of those that are counted the fastest is taken: with a thread on every core whatever else runs holds all up."""
FEWEST = 6
"""Values that are drawn anew for an interval of 95 %."""
WARM_UP_S = 8.0
SAMPLES = ("--sample", "cpu:2ms")
"""Of `headway record`, as a sweep has them."""


@dataclass(frozen=True, slots=True)
class Change:
    """What recording multiplies a program's wall time by, pair by pair: recording without locks, and locks to that."""

    recorded: Sequence[float]
    locks: Sequence[float] = (1.0,)


@dataclass(frozen=True, slots=True)
class Parts:
    """Computed over own speedup of recorded runs; what recording does to the sequential and the parallel program."""

    own: Sequence[float]
    alone: Change
    beside: Change


def change(command: Sequence[str], pairs: int, folder: Path, *, with_locks: bool) -> Change:
    """Measure it in one JVM. A program of one thread has no locks to wait for. Raises RuntimeError if it or headway fails."""
    with driven.Driven(programs.switchable(command), collects=False) as program:
        program.warm_up(WARM_UP_S)
        blocks = [_block(program, None)]
        for number in range(pairs):
            with program.recorded(folder / f"{number}.headway", "--no-locks", *SAMPLES) as recorder:
                blocks.append(_block(program, recorder))
            shutil.rmtree(recorder.target)
            blocks.append(_block(program, None))
        recorded = _ratios(blocks)
        return Change(recorded, _of_locks(program, pairs, folder)) if with_locks else Change(recorded)


def _of_locks(program: driven.Driven, pairs: int, folder: Path) -> list[float]:
    """Return what recording the locks, too, multiplies the wall time by, pair by pair, within one recording."""
    with program.recorded(folder / "locks.headway", "--locks", *SAMPLES) as recorder:
        program.warm_up(WARM_UP_S)
        blocks = []
        for number in range(2 * pairs + 1):
            is_on = number % 2 == 1
            program.tell("locks on" if is_on else "locks off")
            blocks.append({**_block(program, recorder), "recorded": is_on})
        program.tell("locks on")
    shutil.rmtree(recorder.target)
    return _ratios(blocks)


def _ratios(blocks: list[driven.Block]) -> list[float]:
    return driven.pairs_of([{"blocks": blocks}], lambda run: run["wall_ns"])[0]


def _block(program: driven.Driven, recorder: driven.Recorder | None) -> driven.Block:
    runs = [program.run(recorder) for _ in range(UNCOUNTED + RUNS)]
    return driven.block(runs[UNCOUNTED:], recorder is not None)


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


def product(parts: Parts) -> tuple[float, float, float]:
    """Return computed over real speedup less 1, with its 95 % interval: each part's values are drawn anew."""
    generator = np.random.default_rng(20260101)

    def middles(values: Sequence[float]) -> Any:
        """Return draws of the logarithm of the typical value, and that of the values themselves behind them."""
        data = np.asarray(values, dtype=float)
        found = np.log(harness.typical(data))
        if len(data) >= FEWEST or np.ptp(data) == 0:
            return np.append(
                np.log(harness.typical(generator.choice(data, size=(harness.RESAMPLES, len(data))))), found
            )
        # Few values have no tails to draw: Student's, which are wide then. One has no interval at all.
        spread = np.std(np.log(data), ddof=1) / np.sqrt(len(data))
        return np.append(found + spread * generator.standard_t(len(data) - 1, size=harness.RESAMPLES), found)

    slower = [sum(middles(part) for part in (each.recorded, each.locks)) for each in (parts.alone, parts.beside)]
    whole = np.exp(middles(parts.own) + slower[0] - slower[1]) - 1
    low, high = np.percentile(whole[:-1], [2.5, 97.5])
    return float(whole[-1]), float(low), float(high)
