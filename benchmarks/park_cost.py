"""What recording adds to one park and one unpark: CPU time of the threads that do them, by their own clocks.

One warm program does nothing but park and unpark, recorded and not in turn. `alone`: a thread that unparks itself and then
parks, so that no switch of threads blurs the difference; every park is a record. `handed`: two threads on one CPU that wake
each other, so that there is a waiting thread to be found, a waker and its stack; here both are recorded, with --locks and with
--no-locks, so that the difference is what locks cost, not switches. Target: at most 1 microsecond for a park and an unpark.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lib import driven, harness, programs

TARGET_NS = 1000.0
COUNTS = {"alone": 400_000, "handed": 200_000}
RUNS = 4  # per block; the least of them counts, as all that disturbs a run adds to it
WARM_UP_S = 20.0


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU ns of a park and an unpark: without, and what recording adds (median of the pairs, 95 % interval)."""

    mode: str
    without_ns: float
    added_ns: float
    low_ns: float
    high_ns: float
    aa_low_ns: float  # the same of neighbouring blocks without: the noise
    aa_high_ns: float
    pairs: int
    parks: int  # recorded ones


def block_ns(program: driven.Driven, recorder: driven.Recorder | None) -> float:
    """Return the least CPU ns per park of a block of runs; before it, a run for the compiler."""
    program.run(recorder)
    printed = [program.run(recorder).own_output for _ in range(RUNS)]
    return min(float(each["cpu_ns"]) / float(each["parks"]) for each in printed)


def measure(mode: str, pairs: int) -> Cost:
    """Measure one mode: each block with locks lies between two without."""
    command = programs.workload("ParkCost", COUNTS[mode], mode)
    with harness.recording_folder() as folder, driven.Driven(command, collects=False) as program:
        if mode == "handed":
            program.place({max(os.sched_getaffinity(0))})
        program.warm_up(WARM_UP_S)

        def without(number: int) -> float:
            if mode == "alone":
                return block_ns(program, None)
            target: Path = folder / f"without{number}.headway"
            with program.recorded(target, "--no-locks") as recorder:
                value = block_ns(program, recorder)
            shutil.rmtree(target)
            return value

        off, on = [without(0)], []
        for number in range(1, pairs + 1):
            target = folder / f"with{number}.headway"
            with program.recorded(target, "--locks") as recorder:
                on.append(block_ns(program, recorder))
            shutil.rmtree(target)
            off.append(without(number))
            harness.progress(f"park cost: {mode}: {off[-1]:.0f} ns, recorded {on[-1]:.0f} ns")
    return cost(mode, off, on)


def cost(mode: str, off: list[float], on: list[float]) -> Cost:
    """Return what the blocks say: differences from the mean of the two neighbours."""
    added = [value - (before + after) / 2 for value, before, after in zip(on, off, off[1:], strict=False)]
    same = [after - before for before, after in itertools.pairwise(off)]
    median, low, high = harness.bootstrap(added)
    _, aa_low, aa_high = harness.bootstrap(same)
    parks = (RUNS + 1) * COUNTS[mode] * len(on)
    return Cost(mode, float(np.median(off)), median, low, high, aa_low, aa_high, len(on), parks)


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--pairs", type=int, help="blocks with locks per mode (15; 5 with --quick)")
    parser.add_argument("--modes", default=",".join(COUNTS), help="alone, handed, or both with a comma")
    options = parser.parse_args()
    pairs = options.pairs or (5 if options.quick else 15)
    costs = [measure(mode, pairs) for mode in options.modes.split(",")]
    rows = [
        [
            each.mode,
            f"{each.without_ns:.0f} ns",
            f"{each.added_ns:+.0f} ns [{each.low_ns:+.0f}, {each.high_ns:+.0f}]",
            f"[{each.aa_low_ns:+.0f}, {each.aa_high_ns:+.0f}]",
            str(each.pairs),
        ]
        for each in costs
    ]
    print(harness.table(["park + unpark", "without", "recording adds", "A/A noise", "pairs"], rows))
    verdicts = [
        (
            f"{each.mode}: {each.added_ns:.0f} ns [{each.low_ns:.0f}, {each.high_ns:.0f}], target 1000 ns",
            each.added_ns <= TARGET_NS,
        )
        for each in costs
    ]
    return harness.finish(options, "park_cost", {"costs": costs}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
