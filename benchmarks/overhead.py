"""What recording costs a CPU-bound program while it runs.

One warm JVM per program does the same work again and again, with headway attached in turns: blocks of runs that are recorded,
each between two that are not. Four figures: the CPU time of the program (the agent, and the kernel's probes at its
switches, run on it; without what the JVM's compilers took, which comes and goes by itself), that plus what the recorder used
beside it (on a machine whose cores are all busy, this is the slowdown), the wall time without stolen time, and what the kernel
and the recorder say themselves that they used. What the agent costs a JVM's start-up is another benchmark: startup.py.
With --c1 the JVM uses its first compiler alone. Its code is slower, so that the same cost is a smaller share, but it is made once
and stays: without the second compiler, whose choices differ from one minute to the next, the noise is a third.
Target: CPU time with the recorder's at most 0.7 % more in the mean over the programs, at most 3 % for any.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from lib import driven, harness, in_pairs, programs, results

MEAN_TARGET = 1.007
MAX_TARGET = 1.03
PERCENT = 20  # of the work that takes some seconds: a run is half a second


def measure(name: str, options: Any, recorder: Sequence[str] = ()) -> results.Session:
    """Warm one program up and take its blocks. `recorder`: further options of the recordings."""
    jvm = ("-XX:TieredStopAtLevel=1",) if options.c1 else ()
    with harness.recording_folder() as folder, driven.Driven(programs.driven(name, PERCENT, jvm)) as program:
        warm = program.warm_up(options.warm_up)
        session = driven.alternate(program, options.pairs, options.runs, folder, recorder)
        return {"warm_up_runs": warm, **session, "kernel": driven.kernel_cost(program, options.runs, folder, recorder)}


def work_ns(run: dict[str, int]) -> float:
    """Return the CPU time of a run without the compilers'."""
    return run["cpu_ns"] - run["jit_ns"]


def accounted(sessions: list[results.Session]) -> float:
    """Return what the kernel's probes and the recorder used, as a share of what the program used; NaN: unknown."""
    known = [kernel for session in sessions if (kernel := session["kernel"])]
    cpu = sum(each["cpu_ns"] for each in known)
    return sum(each["ns"] + each["recorder_ns"] for each in known) / cpu if cpu else float("nan")


def of_program(sessions: list[results.Session]) -> dict[str, Any]:
    """Return the figures of one program, over all its sessions."""
    beside = driven.recorder_share(sessions)
    ratios, same = driven.pairs_of(sessions, work_ns)
    with_recorder = [each + beside for each in ratios]
    return {
        "cpu": harness.ratio_of(ratios, same),
        "cpu_with_recorder": harness.ratio_of(with_recorder, same),
        "recorder_share": beside,
        "wall_corrected": harness.ratio_of(*driven.pairs_of(sessions, lambda run: run["corrected_wall_ns"])),
        "accounted": accounted(sessions),
        "lost": sum(session["lost"] for session in sessions),
        "pairs": with_recorder,
        "aa": same,
    }


def summarise(
    sessions: dict[str, list[results.Session]], mean_target: float = MEAN_TARGET, max_target: float = MAX_TARGET
) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and the verdicts."""
    figures = {name: of_program(sessions[name]) for name in sorted(sessions)}
    rows = [
        [
            name,
            each["cpu"].percent(),
            f"{100 * each['recorder_share']:.2f} %",
            each["cpu"].noise(),
            each["wall_corrected"].percent(),
            f"{100 * each['accounted']:.2f} %",
            str(len(each["pairs"])),
        ]
        for name, each in figures.items()
    ]
    print(harness.table(["program", "CPU", "recorder", "A/A noise", "wall, corrected", "accounted for", "pairs"], rows))
    mean, low, high = harness.mean_over_programs({name: each["pairs"] for name, each in figures.items()})
    noise, noise_low, noise_high = harness.mean_over_programs({name: each["aa"] for name, each in figures.items()})
    worst = max(figures, key=lambda name: figures[name]["cpu_with_recorder"].median)
    most = figures[worst]["cpu_with_recorder"]
    direct = np.nanmean([each["accounted"] for each in figures.values()])
    print(f"accounted for by the kernel and the recorder themselves: {100 * direct:.2f} % in the mean")
    print(f"A/A: {100 * noise - 100:+.2f} % [{100 * noise_low - 100:+.2f}, {100 * noise_high - 100:+.2f}] in the mean")
    interval = f"[{100 * low - 100:+.2f}, {100 * high - 100:+.2f}]"
    verdicts = [
        harness.against(
            f"mean {100 * mean - 100:+.2f} % {interval}, {len(figures)} programs, {100 * direct:.2f} % accounted for, "
            f"target {100 * mean_target - 100:+.2f} %",
            mean,
            high,
            mean_target,
        ),
        harness.against(
            f"max {most.percent()} ({worst}), target {100 * max_target - 100:+.2f} %",
            most.median,
            most.high,
            max_target,
        ),
    ]
    whole = {"mean": mean, "low": low, "high": high, "aa": noise, "aa_low": noise_low, "aa_high": noise_high}
    return {"programs": figures, "mean": {**whole, "accounted": direct}}, verdicts


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = in_pairs.arguments(__doc__, "recorded blocks per program (12; 5 with --quick)")
    parser.add_argument("--c1", action="store_true", help="only the JVM's first compiler")
    options = parser.parse_args()
    return in_pairs.carry_out("overhead --c1" if options.c1 else "overhead", options, measure, summarise)


if __name__ == "__main__":
    sys.exit(main())
