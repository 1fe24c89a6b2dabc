"""What stack samples cost beside a recording: CPU samples at 100 Hz, against the same recording without them.

One warm JVM per program does the same work again and again, recorded all the time: in turn with samples and without. At 100 Hz
the cost is less than what two blocks of the same work differ by, so it is amplified: 5,000 samples per CPU second, by the dearer
of the two timers (cpu-clock: perf's; the cheaper one fires at the kernel's tick at most), and what they cost is divided by 50.
What does not grow with the rate is not in it; `--events cpu` measures at 100 Hz, as it is.

Three figures: the CPU time of the program (async-profiler's signal handlers run on it; without what the JVM's compilers took),
that plus what the recorder used, and the wall time without stolen time. The first run after each change is not counted:
the agent's coming and going throws compiled code out. What the sampler takes to start and to end is in none of them.
Target: CPU time at most 1 % more in the mean over the programs.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

from lib import driven, harness, in_pairs, programs, results

TARGET = 1.01
AMPLIFIED = "cpu-clock:200us"
BASE_NS = 10_000_000
"""100 samples per CPU second."""
PERCENT = 20  # of the work that takes some seconds: a run is half a second


def measure(name: str, options: Any) -> results.Session:
    """Warm one program up; return its blocks without samples and with them, one more without."""
    number = itertools.count(1)
    with harness.recording_folder() as folder, driven.Driven(programs.driven(name, PERCENT)) as program:
        warm = program.warm_up(options.warm_up)

        def work(*words: str) -> harness.Run:
            with program.recorded(folder / f"{next(number)}.headway", *words) as recorder:
                program.run(recorder)
                return driven.total([program.run(recorder) for _ in range(options.runs)])

        off, on = harness.interleave(work, lambda: work("--sample", options.events), options.pairs)
    return {
        "warm_up_runs": warm,
        "times": times(options.events),
        "off": [driven.block([run], recorded=True) for run in off],
        "on": [driven.block([run], recorded=True) for run in on],
    }


def times(events: str) -> float:
    """Return how many times as often as 100 Hz events of the CPU come that are asked for with an interval in us."""
    interval = events.partition(",")[0].partition(":")[2]
    return BASE_NS / (float(interval.removesuffix("us")) * 1000) if interval else 1.0


def values(blocks: list[driven.Block], figure: str) -> list[float]:
    """Return a figure of each block."""
    (runs,) = zip(*(block["runs"] for block in blocks), strict=True)
    if figure == "wall":
        return [run["corrected_wall_ns"] for run in runs]
    recorder = [run["recorder_ns"] if figure == "cpu_with_recorder" else 0 for run in runs]
    return [run["cpu_ns"] - run["jit_ns"] + more for run, more in zip(runs, recorder, strict=True)]


def pairs_of(sessions: list[results.Session], figure: str) -> tuple[list[float], list[float]]:
    """Return the ratios with samples to without at 100 Hz, and those of two blocks without, over all sessions."""
    treated: list[float] = []
    same: list[float] = []
    for each in sessions:
        ratios, alike = harness.pair_ratios(values(each["off"], figure), values(each["on"], figure))
        rate = each.get("times", 1.0)
        treated += [1 + (ratio - 1) / rate for ratio in ratios]
        same += [1 + (ratio - 1) / rate for ratio in alike]
    return treated, same


def summarise(sessions: dict[str, list[results.Session]]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and the verdict."""
    figures = {
        name: {
            figure: harness.ratio_of(*pairs_of(sessions[name], figure))
            for figure in ("cpu", "cpu_with_recorder", "wall")
        }
        for name in sorted(sessions)
    }
    rows = [
        [name, each["cpu"].percent(), each["cpu"].noise(), each["cpu_with_recorder"].percent(), each["wall"].percent()]
        for name, each in figures.items()
    ]
    print(harness.table(["program", "CPU", "A/A noise", "CPU with recorder", "wall, steal-corrected"], rows))
    ratios = {name: pairs_of(sessions[name], "cpu") for name in figures}
    mean, low, high = harness.mean_over_programs({name: pair[0] for name, pair in ratios.items()})
    same, same_low, same_high = harness.mean_over_programs({name: pair[1] for name, pair in ratios.items()})
    print(f"A/A: {100 * same - 100:+.2f} % [{100 * same_low - 100:+.2f}, {100 * same_high - 100:+.2f}] in the mean")
    interval = f"[{100 * low - 100:+.2f}, {100 * high - 100:+.2f}]"
    text = f"mean {100 * mean - 100:+.2f} % {interval}, {len(figures)} programs, target +1.00 %"
    whole = {"mean": mean, "low": low, "high": high, "aa": same, "aa_low": same_low, "aa_high": same_high}
    return {"programs": figures, "mean": whole}, [harness.against(text, mean, high, TARGET)]


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = in_pairs.arguments(__doc__, "sampled blocks per program (12; 5 with --quick)")
    parser.add_argument(
        "--events", default=AMPLIFIED, help=f"what to sample, as --sample takes it ({AMPLIFIED}; cpu: 100 Hz)"
    )
    options = parser.parse_args()
    return in_pairs.carry_out("sample_overhead", options, measure, summarise)


if __name__ == "__main__":
    sys.exit(main())
