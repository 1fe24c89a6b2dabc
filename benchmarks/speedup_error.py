"""How far computed speedups are from real ones, and lock times from what the program measured around its lock.

The published case studies (java/workloads: k-means in five parallel versions, molecular dynamics balanced and not, a ray tracer
with a barrier that spins and with one that sleeps) and programs whose one limit has a known size, each swept over the numbers
of threads up to the cores. The real speedup is that of the plain runs. Where locks are waited for, the time that headway found in
the recorded runs is compared with the program's own in the same runs.

The same code takes a third longer in one run than in another, in CPU time as well, so no clock leaves it out. So runs are
compared that were made soon after each other: a block of a sweep has both programs once recorded and once plain, hence a
computed and a real speedup. The error is the typical value over the blocks (the median of the means of all pairs) of computed
over real, less 1, with its interval (95 %, blocks drawn anew); over all cases, with the most threads, the mean of these. Free
of what runs differ by is the error against the speedup of the recorded runs themselves as these programs timed it: what
headway makes of a run. With that as one part, and what recording does to either program in one warm JVM as others, the
error is measured again (`recorded_speedup`): the same figure with a far narrower interval.

Targets: computed against real speedup within 5 % at every number of threads; lock time within 3 %. A verdict needs the whole
interval on one side of the target; else it is open, and more --repeat would decide.

With --keep a measurement that was ended before its time goes on where it was when it is started again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import recorded_speedup
from headway.analyses.speedups.model import make_model
from headway.analyses.speedups.parts import pool
from headway.analyses.speedups.runs import read_runs
from headway.store.sweep import is_sweep, read_sweep
from lib import harness, programs

SPEEDUP_TARGET = 0.05
FEWEST_BLOCKS = 6
LOCK_TARGET = 0.03
TWO = r"kmeans=KMeans\.(assign|tally)"
ONE = r"kmeans=KMeans\.assign"
MOLECULES = r"molecules=MolecularDynamics\.(force|move)"
FRAMES = r"frames=RayTracer\.work"
KNOWN = r"work=KnownLimit\.work"
LISTS, ARRAYS = "sequential-lists 1", "sequential-arrays 1"


@dataclass(frozen=True, slots=True)
class Case:
    """A program with the words that make it sequential and parallel, its size, and what is parallel in it.

    Runs of one or two seconds: the same minutes spent on shorter ones give wider intervals. `turn` is the size of one of many
    runs in a warm JVM, of half a second.
    """

    program: str
    sequential: str
    parallel: str
    size: str
    turn: str
    region: str


CASES = {
    "k-means 1": Case("kmeans.KMeans", LISTS, "1 {threads}", "2 6 300000 1", "1 2 300000 2", ONE),
    "k-means 2": Case("kmeans.KMeans", ARRAYS, "2 {threads}", "3 8 400000 1", "1 4 400000 2", ONE),
    "k-means 3": Case("kmeans.KMeans", ARRAYS, "3 {threads}", "2 14 600000 1", "1 5 600000 2", TWO),
    "k-means 4": Case("kmeans.KMeans", ARRAYS, "4 {threads}", "4 5 200000 3", "1 3 200000 4", TWO),
    "k-means 5": Case("kmeans.KMeans", ARRAYS, "5 {threads}", "6 2 400000 2", "1 2 400000 4", TWO),
    "molecules": Case("md.MolecularDynamics", "sequential 1", "balanced {threads}", "200 32 60", "30 32 60", MOLECULES),
    "memory-bound": Case(
        "md.MolecularDynamics", "sequential 1", "memory-bound {threads}", "200 32 60", "30 32 60", MOLECULES
    ),
    "unbalanced": Case(
        "md.MolecularDynamics", "sequential 1", "unbalanced {threads}", "200 32 60", "30 32 60", MOLECULES
    ),
    "spinning barrier": Case(
        "raytracer.RayTracer", "sequential 1", "spinning {threads}", "160 160 40", "25 160 40", FRAMES
    ),
    "CyclicBarrier": Case("raytracer.RayTracer", "sequential 1", "cyclic {threads}", "160 160 40", "25 160 40", FRAMES),
    "half sequential": Case(
        "KnownLimit", "sequential 0", "sequential {threads}", "0.5 24 25000 6", "0.5 8 25000 6", KNOWN
    ),
    "locked": Case("KnownLimit", "lock 0", "lock {threads}", "0.9 24 25000 6", "0.9 8 25000 6", KNOWN),
}


@dataclass(frozen=True, slots=True)
class Error:
    """A relative error with the interval that the repeats give it; NaN where there are too few."""

    value: float
    low: float
    high: float

    @property
    def largest(self) -> float:
        """Return the largest size that the error may have; NaN where that is not known."""
        return max(abs(self.low), abs(self.high))

    def __str__(self) -> str:
        """Return for example '+1.2 % [-0.3, +2.7]', or '+1.2 % (no interval)'."""
        if math.isnan(self.largest):
            return f"{100 * self.value:+.1f} % (no interval)"
        return f"{100 * self.value:+.1f} % [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"


def command(case: Case, words: str, size: str) -> list[str]:
    """Return a program's command line; its young generation holds what it makes, so that nothing is collected."""
    java, *rest = programs.workload(case.program)
    return [java, "-Xms1g", "-Xmn700m", *rest, *words.split(), *size.split()]


def sweep(case: Case, threads: str, repeat: int, output: Path) -> None:
    """Run a sweep, or what is missing of the one that is there.

    Raises RuntimeError with its messages if a run fails, and where the one that is there was planned otherwise.
    """
    alone, beside = (" ".join(command(case, each, case.size)) for each in (case.sequential, case.parallel))
    words = ["--sequential", alone, "--parallel", beside]
    words += ["--threads", threads, "--repeat", str(repeat), "--region", case.region, "--from-marker", "measuring"]
    words += ["--sample", "cpu:2ms", "-o", str(output)]  # every run alike, counters or not
    if is_sweep(output):
        kept = read_sweep(output)
        had = (kept.sequential, kept.parallel, ",".join(map(str, kept.threads)), kept.repeat, kept.from_marker)
        if had != (alone, beside, threads, repeat, "measuring"):
            raise RuntimeError(f"{output} is another sweep ({had}): name another --keep, or remove it")
        words = ["--resume", str(output), "--region", case.region]
    done = subprocess.run([str(harness.HEADWAY), "sweep", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"headway sweep {' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")


def computed_speedups(output: Path) -> dict[int, dict[int, float]]:
    """Return the computed speedup of each block, by number of threads and of the block: of runs made soon after each other."""
    runs = read_runs(read_sweep(output))
    alone = {run.number: pool([run]) for run in runs.sequential}
    found: dict[int, dict[int, float]] = {}
    for threads, group in runs.parallel.items():
        of_blocks = {
            run.number: make_model(alone[run.number], pool([run]), threads).speedup()
            for run in group
            if run.number in alone
        }
        found[threads] = {number: float(speedup) for number, speedup in of_blocks.items() if speedup}
    return found


def block_ratios(output: Path, computed: Mapping[int, Mapping[int, float]]) -> dict[int, list[float]]:
    """Return computed over real speedup of each block, by number of threads."""
    return recorded_speedup.over_real(computed, _plain_ns(output))


def _plain_ns(output: Path) -> dict[tuple[int, int], int]:
    """Return what complete plain runs took, by number of threads (0: the sequential program) and of the block."""
    return {
        (run.threads if run.program == "parallel" else 0, run.number): run.measured_ns
        for run in read_sweep(output).runs
        if run.state == "complete" and not run.recorded and run.measured_ns
    }


def speedup_error(ratios: Sequence[float]) -> Error:
    """Return the typical error of the blocks of one case; NaN bounds below six blocks, whose range is no interval of 95 %."""
    found, low, high = (value - 1 for value in harness.bootstrap(ratios, harness.typical))
    nan = float("nan")
    return Error(found, low, high) if len(ratios) >= FEWEST_BLOCKS else Error(found, nan, nan)


def overall_error(of_all: Mapping[str, Sequence[float]]) -> Error:
    """Return the mean over the cases of their typical errors; blocks are drawn anew within each case."""
    generator = np.random.default_rng(20260101)
    draws = [
        harness.typical(generator.choice(np.asarray(ratios), size=(harness.RESAMPLES, len(ratios))))
        for ratios in of_all.values()
    ]
    found = float(np.mean([harness.typical(each) for each in of_all.values()])) - 1
    if min(map(len, of_all.values())) < FEWEST_BLOCKS:
        return Error(found, float("nan"), float("nan"))
    low, high = np.percentile(np.mean(draws, axis=0), [2.5, 97.5])
    return Error(found, float(low) - 1, float(high) - 1)


def in_parts(
    case: Case, output: Path, computed: dict[int, dict[int, float]], pairs: int, folder: Path
) -> dict[int, recorded_speedup.Parts]:
    """Return computed over real speedup by number of threads, in the parts that `recorded_speedup` measures."""

    def change(words: str, threads: int, with_locks: bool) -> recorded_speedup.Change:
        # The more threads, the more often one is held up by something else, and with it all that wait for it.
        shown = command(case, words, case.turn)
        return recorded_speedup.change(shown, pairs * threads, folder, with_locks=with_locks)

    own, alone = recorded_speedup.own_ratios(output, computed), change(case.sequential, 1, False)
    return {
        threads: recorded_speedup.Parts(
            own[threads], alone, change(case.parallel.format(threads=threads), threads, True)
        )
        for threads in computed
    }


def own_speedups(output: Path) -> dict[int, float]:
    """Return the speedup of the recorded runs by number of threads, as the programs themselves timed what they measure."""
    took: dict[int, list[int]] = defaultdict(list)
    for run in json.loads((output / "sweep.json").read_text())["runs"]:
        if run["recorded"] and run["state"] == "complete":
            said = harness.last_json((output / run["output"]).read_text())
            took[run["threads"] if run["program"] == "parallel" else 0].append(said["end_ns"] - said["begin_ns"])
    alone = statistics.fmean(took.pop(0))
    return {threads: alone / statistics.fmean(each) for threads, each in took.items()}


def lock_times(output: Path) -> Iterator[tuple[int, int]]:
    """Yield (headway's, the program's own) waiting in ns, of each recorded parallel run of more than one thread."""
    for run in json.loads((output / "sweep.json").read_text())["runs"]:
        if run["program"] == "parallel" and run["recorded"] and run["threads"] > 1:
            said = harness.last_json((output / run["output"]).read_text())
            recording = output / run["recording"]
            begin_ns = json.loads((recording / "manifest.json").read_text())["window"]["start_ns"]
            window = ["--from", f"{said['begin_ns'] - begin_ns}ns", "--to", f"{said['end_ns'] - begin_ns}ns"]
            rows = harness.headway("locks", recording, *window)
            # The program's lock is fair; those of the JDK's queues are not.
            fair = (row for row in rows if row["class_name"].endswith("ReentrantLock$FairSync"))
            yield sum(row["parking_thread_time_ns"] for row in fair), sum(said["lock_wait_ns"])


def lock_error(output: Path) -> Error:
    """Compare the lock times of all runs; each is a repeat."""
    errors = [found / own - 1 for found, own in lock_times(output)]
    return Error(*harness.bootstrap(errors))


def judged(text: str, error: Error, target: float) -> tuple[str, bool]:
    """Return the verdict on an error: reached if all of its interval is within the target, missed if none is."""
    text = f"{text}: {error}, target {100 * target:.0f} %"
    if error.largest <= target:
        return text, True
    if error.low > target or error.high < -target:
        return text, False
    reason = "too few repeats for an interval" if math.isnan(error.largest) else "the interval goes beyond the target"
    return f"{text}; undecided: {reason}", False


def verdict_on_same_runs(text: str, off: float) -> tuple[str, bool]:
    """Return the verdict on the error against the speedup of the same runs: one figure of all of them, without an interval."""
    target = f"target {100 * SPEEDUP_TARGET:.0f} %"
    return f"{text}: {100 * off:+.1f} % (all runs together), {target}", abs(off) <= SPEEDUP_TARGET


def options_of_run() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--repeat", type=int, help="recorded and plain runs of each (12; 3 with --quick)")
    parser.add_argument(
        "--pairs", type=int, default=8, help="of recorded and plain turns in one JVM, for each thread (8; 0: none)"
    )
    parser.add_argument(
        "--only", default="", metavar="NAMES", help=f"only these cases, with commas: {', '.join(CASES)}"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIRECTORY",
        help="keep the sweeps there, and run what is missing of those that are there",
    )
    return parser.parse_args()


def main() -> int:
    """Measure and print; return 0 if every target is reached."""
    options = options_of_run()
    cores = len(os.sched_getaffinity(0))
    threads = ",".join(str(n) for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= cores)
    repeat = options.repeat or (3 if options.quick else 12)
    rows, figures, verdicts = [], {}, []
    of_all: dict[str, list[float]] = {}
    with harness.recording_folder() as scratch:
        for name in filter(None, options.only.split(",")) if options.only else CASES:
            output = (options.keep or scratch) / f"{name.replace(' ', '-')}.sweep"
            harness.progress(f"{name}: threads {threads}, {repeat} repeats")
            sweep(CASES[name], threads, repeat, output)
            said, own = harness.headway("speedups", output), own_speedups(output)
            of_blocks = computed_speedups(output)
            ratios = block_ratios(output, of_blocks)
            parts = in_parts(CASES[name], output, of_blocks, options.pairs, scratch) if options.pairs else {}
            errors = {threads: Error(*recorded_speedup.product(each)) for threads, each in parts.items()}
            for row in said["threads"]:
                error = speedup_error(ratios[row["threads"]])
                at = f"{name}, {row['threads']} threads"
                of_all[name] = ratios[row["threads"]]  # those of the most threads stay
                off = row["computed_speedup"] / own[row["threads"]] - 1
                real, computed = f"{row['real_speedup']:.3f}", f"{row['computed_speedup']:.3f}"
                rows.append([at, real, computed, str(error), f"{100 * off:+.2f} %", said["verdict"]["limit"] or "-"])
                verdicts.append(judged(f"computed speedup, {at}", error, SPEEDUP_TARGET))
                if options.pairs:
                    verdicts.append(judged(f"computed speedup, {at}, in parts", errors[row["threads"]], SPEEDUP_TARGET))
                of_these = f"computed speedup, {at}, against that of the same runs"
                verdicts.append(verdict_on_same_runs(of_these, off))
            figures[name] = {
                "speedups": said,
                "own": own,
                "computed_over_real": ratios,
                "in_parts": parts,
                "errors": errors,
            }
            if max(row["threads"] for row in said["threads"]) > 1 and (name in ("k-means 3", "locked")):
                locks = lock_error(output)
                figures[name]["lock_time_error"] = locks
                verdicts.append(judged(f"lock time, {name}", locks, LOCK_TARGET))
    verdicts.append(judged(f"computed speedup, mean of {len(of_all)} cases", overall_error(of_all), SPEEDUP_TARGET))
    print(harness.table(["case", "real", "computed", "error", "of the same runs", "largest limit"], rows))
    return harness.finish(options, "speedup_error", {"repeat": repeat, "cases": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
