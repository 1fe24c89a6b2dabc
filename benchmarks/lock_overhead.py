"""What recording its locks costs a program whose threads park all the time, and one that hardly does.

A queue server (every request parks several threads) and an SQL database in memory. One warm JVM does the same work again and
again, with `headway record --locks` attached or not, in turn: throughput is work over wall time, so its overhead is the ratio
of wall times, without stolen time. The same against a recording without locks tells what the locks alone cost.
Target: not distinguishable from 0 with an interval narrower than +-1 %, else at most 1 %.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import driven
import harness
import programs

TARGET = 1.01
NARROW = 0.01
CLIENTS, WORKERS = 32, 8
SETTLING_RUNS = 3
UNDECIDED = "; undecided: the interval goes beyond the target"


def command(name: str, percent: int) -> list[str]:
    """Return the command of a program that can be driven."""
    if name == "h2":
        return programs.command("h2", percent=percent)
    return programs.workload("QueueServer", CLIENTS, WORKERS, 22 * percent, 20_000, "array")


def measured(program: driven.Driven, recorder: driven.Recorder | None, runs: int) -> harness.Run:
    """Do the work until its code is compiled again, then `runs` times more; return these."""
    for _ in range(SETTLING_RUNS):
        program.run(recorder)
    return driven.total([program.run(recorder) for _ in range(runs)])


def pairs_of(
    program: driven.Driven, folder: Path, base: tuple[str, ...] | None, pairs: int, runs: int
) -> tuple[list[harness.Run], list[harness.Run]]:
    """Do the work under `base` (None: not recorded) and with locks in turn; what comes first after a change is not counted.

    The agent's coming and going throws compiled code of the JDK's out, which is compiled again in the first few runs: by the
    compilers' CPU time most of it in the first (250 ms), all but a trace after the third.
    """
    number = itertools.count(1)

    def work(options: tuple[str, ...] | None) -> harness.Run:
        if options is None:
            return measured(program, None, runs)
        with program.recorded(folder / f"{next(number)}.headway", *options) as recorder:
            return measured(program, recorder, runs)

    return harness.interleave(lambda: work(base), lambda: work(("--locks",)), pairs)


def compare(off: list[harness.Run], on: list[harness.Run]) -> dict[str, harness.Ratio]:
    """Return the ratios of the wall time without stolen time, of the wall time, and of the program's CPU time."""
    return {
        "wall_corrected": harness.ratio([run.corrected_wall_ns for run in off], [run.corrected_wall_ns for run in on]),
        "wall": harness.ratio([run.wall_ns for run in off], [run.wall_ns for run in on]),
        "cpu": harness.ratio([run.cpu_ns for run in off], [run.cpu_ns for run in on]),
    }


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--pairs", type=int, help="recorded phases per program and baseline (16; 4 with --quick)")
    parser.add_argument("--runs", type=int, default=2, help="runs of the work per phase")
    parser.add_argument("--percent", type=int, default=100, help="how much work in a run: 100 takes about two seconds")
    parser.add_argument("--programs", default="queue,h2", help="only these, with commas")
    parser.add_argument("--against", default="nothing,record", help="baselines: nothing, record (without locks)")
    options = parser.parse_args()
    pairs = options.pairs or (4 if options.quick else 16)
    rows, figures, verdicts = [], {}, []
    for name in options.programs.split(","):
        with (
            harness.recording_folder() as folder,
            driven.Driven(command(name, options.percent)) as program,
        ):
            warm = program.warm_up(60)
            for against in options.against.split(","):
                harness.progress(f"lock overhead: {name} against {against}, {pairs} pairs after {warm} warm-up runs")
                place = folder / against
                place.mkdir()
                base = None if against == "nothing" else ("--no-locks",)
                ratios = compare(*pairs_of(program, place, base, pairs, options.runs))
                wall, cpu = ratios["wall_corrected"], ratios["cpu"]
                rows.append([name, against, wall.percent(), wall.noise(), ratios["wall"].percent(), cpu.percent()])
                figures[f"{name} against {against}"] = ratios
                if against == "nothing":
                    nothing = wall.low <= 1 <= wall.high and (wall.high - wall.low) / 2 <= NARROW
                    open_text = "" if nothing or wall.high <= TARGET or wall.low > TARGET else UNDECIDED
                    verdicts.append(
                        (f"{name}: wall {wall.percent()}, target +1 %{open_text}", nothing or wall.high <= TARGET)
                    )
    print(harness.table(["program", "against", "wall, steal-corrected", "A/A noise", "wall", "CPU"], rows))
    return harness.finish(options, "lock_overhead", {"programs": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
