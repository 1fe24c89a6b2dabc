"""What causal profiling costs besides its delays: sampling, stacks, bookkeeping at locks, and counting visits.

Whole launches in turn, plain and as one experiment at 0 %: all is done as always, and nobody is ever delayed. The agent is
given to the JVM directly, as `headway causal --end-to-end` gives it; the recorder, which reads a line a second, is left out.
Compared is the CPU time of the whole process, and its wall time without stolen time. Two launches of a JVM differ by what its
compilers do, so there are many pairs, and every comparison comes with that of plain launches among themselves (A/A). Target:
CPU time at most 5 % more in the mean over the programs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
import programs
import results
from headway.record.causal_spec import CausalOptions
from headway.record.jvm_options import agent_library, agent_options

TARGET = 1.05
PERCENT = 60
FIGURES = ("cpu", "wall")


def measure(name: str, options: Any) -> results.Session:
    """Run one program in turn with and without."""
    words = programs.command(name, percent=options.percent)

    def plain() -> harness.Run:
        return harness.run(words)

    def recorded() -> harness.Run:
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as spool:
            agent = agent_options(Path(spool), causal=CausalOptions(mode="end-to-end", speedup_pct=0).spec)
            return harness.run([words[0], f"-agentpath:{agent_library()}={agent}", *words[1:]])

    before, after = harness.interleave(plain, recorded, options.pairs)
    return {"plain": [kept(run) for run in before], "causal": [kept(run) for run in after]}


def kept(run: harness.Run) -> dict[str, int]:
    """Return what the result file keeps of a run."""
    return {"cpu": run.cpu_ns, "wall": run.corrected_wall_ns}


def pairs_of(sessions: list[results.Session], figure: str) -> tuple[list[float], list[float]]:
    """Return the ratios with to without, and those of two runs without, over all sessions of a program."""
    both = [
        harness.pair_ratios([run[figure] for run in each["plain"]], [run[figure] for run in each["causal"]])
        for each in sessions
    ]
    return [ratio for ratios, _ in both for ratio in ratios], [ratio for _, same in both for ratio in same]


def summarise(sessions: dict[str, list[results.Session]]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and the verdict."""
    figures = {
        name: {figure: harness.ratio_of(*pairs_of(sessions[name], figure)) for figure in FIGURES}
        for name in sorted(sessions)
    }
    rows = [
        [name, each["cpu"].percent(), each["cpu"].noise(), each["wall"].percent(), each["wall"].noise()]
        for name, each in figures.items()
    ]
    print(harness.table(["program", "CPU", "A/A noise", "wall, steal-corrected", "A/A noise"], rows))
    ratios = {name: pairs_of(sessions[name], "cpu")[0] for name in figures}
    mean, low, high = harness.mean_over_programs(ratios)
    interval = f"[{100 * low - 100:+.1f}, {100 * high - 100:+.1f}]"
    text = f"mean {100 * mean - 100:+.1f} % {interval} more CPU time, {len(figures)} programs, target +5 %"
    whole = {"mean": mean, "low": low, "high": high}
    return {"programs": figures, "mean": whole}, [harness.against(text, mean, high, TARGET)]


def main() -> int:
    """Measure and print; return 0 if the target is reached."""
    parser = harness.arguments(__doc__)
    results.arguments(parser)
    parser.add_argument("--pairs", type=int, help="of launches of each program (12; 3 with --quick)")
    parser.add_argument("--percent", type=int, default=PERCENT, help=f"of the work that takes some seconds ({PERCENT})")
    options = parser.parse_args()
    options.pairs = options.pairs or (3 if options.quick else 12)
    measured = results.Results("causal_overhead", options)
    for name in results.chosen(options, programs.available()):
        harness.progress(f"causal_overhead: {name}, {options.pairs} pairs")
        measured.add(name, measure(name, options))
    figures, verdicts = summarise(measured.sessions)
    return harness.finish(options, "causal_overhead", {**figures, "sessions": measured.sessions}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
