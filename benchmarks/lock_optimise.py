"""Does the program get faster if the lock that headway names first is held for less time, and only then?

The paper's simulated optimisation: in each of its two patterns, every lock's hold is halved in turn. Throughput is what the
program counts: sections done per second. One recording of the program as it is names the bottleneck. Target: halving that
lock's hold speeds the program up by more than half, halving any other's does not change it by more than 5 %.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hold_time_error import OPEN_LOCKS, PATTERNS, THREADS, locks_of
from lib import harness, programs

FASTER, SAME = 1.5, 0.05


def command(pattern: str, kind: str, seconds: float, halved: int | None) -> list[str]:
    """Return the command of a pattern with one lock's hold halved."""
    factors = [0.5 if lock == halved else 1.0 for lock in range(len(PATTERNS[pattern]))]
    java, *rest = programs.workload(pattern, kind, seconds, *factors, THREADS)
    return [java, OPEN_LOCKS, *rest]


def throughput(said: dict[str, Any]) -> float:
    """Return the sections done per second, by the program's own count and clock."""
    return float(sum(said["sleeps"]) / (said["stop_ns"] - said["begin_ns"]) * 1e9)


def bottleneck(pattern: str, kind: str, seconds: float) -> str | None:
    """Return the program's name for the lock that headway puts first; None if it names something else."""
    with harness.recording_folder() as folder:
        target: Path = folder / "r.headway"
        words = [str(harness.HEADWAY), "record", "--locks", "-o", str(target), "--"]
        run = harness.run([*words, *command(pattern, kind, seconds, None)], recorded=True, clocks=lambda _: (0, 0))
        names = {lock["identity_hash"]: lock["name"] for lock in run.own_output["locks"]}
        return names.get(locks_of(target)[0]["identity_hash"])


def speedups(pattern: str, kind: str, seconds: float, repeats: int) -> list[harness.Ratio]:
    """Return, for each lock, the throughput with its hold halved over that of the runs right before and after."""

    def runner(halved: int | None) -> Callable[[], float]:
        words = command(pattern, kind, seconds, halved)
        return lambda: throughput(harness.run(words, clocks=lambda _: (0, 0)).own_output)

    found = []
    for lock in range(len(PATTERNS[pattern])):
        plain, halved = [runner(None)()], []
        for _ in range(repeats):
            halved.append(runner(lock)())
            plain.append(runner(None)())
        found.append(harness.ratio(plain, halved))
    return found


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--seconds", type=float, default=6, help="length of each run (6; the paper's took 100)")
    parser.add_argument("--repeats", type=int, help="runs with each lock's hold halved (8; 2 with --quick)")
    parser.add_argument("--kinds", default="juc,monitor", help="only these, with commas")
    options = parser.parse_args()
    repeats = options.repeats or (2 if options.quick else 8)
    names = {"LargeCriticalSection": ("lock-4ms", "lock-16ms", "lock-64ms"), "FrequentLock": ("frequent", "rare")}
    rows, figures, verdicts = [], {}, []
    for pattern, locks in names.items():
        for kind in options.kinds.split(","):
            harness.progress(f"optimise: {pattern}, {kind}, {repeats} runs of {options.seconds:g} s per lock")
            named = bottleneck(pattern, kind, options.seconds)
            for lock, ratio in zip(locks, speedups(pattern, kind, options.seconds, repeats), strict=True):
                first = lock == named
                reached = ratio.median >= FASTER if first else abs(ratio.median - 1) <= SAME
                text = f"{kind} {lock}{' (named first)' if first else ''}: speedup {ratio.percent()}"
                verdicts.append((text, reached))
                rows.append([f"{kind} {lock}", "yes" if first else "", ratio.percent(), ratio.noise()])
                figures[f"{kind} {lock}"] = {"named_first": first, "speedup": ratio}
            verdicts.append((f"{kind} {pattern}: headway names {named}", named in locks))
    print(harness.table(["lock halved", "named first", "throughput", "A/A noise"], rows))
    return harness.finish(options, "lock_optimise", {"locks": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
