"""What recording costs a program that does nothing but switch threads, and whether records are lost.

32 pairs of threads hand a turn to each other by park and unpark, in one warm JVM with headway attached in turns: blocks of
runs that are recorded, each between two that are not. Two rates: flat out (nothing between two hand-offs), and with some work
between them, as a busy server has. Targets, flat out: CPU time of the program at most 10 % more, no record lost.
"""

from __future__ import annotations

import sys
from typing import Any

from lib import driven, harness, programs, results

TARGET = 1.10
PAIRS = 32
RATES = {
    "flat-out": (2000, 0),
    "20-us-of-work": (400, 20),
}  # hand-offs per pair of threads in a run, us of work between


def measure(rate: str, options: Any) -> results.Session:
    """Warm up and take the blocks of one rate."""
    handoffs, work_us = RATES[rate]
    command = programs.workload("PingPong", PAIRS, handoffs, "park", work_us)
    with harness.recording_folder() as folder, driven.Driven(command, collects=False) as program:
        warm = program.warm_up(options.warm_up)
        session = driven.alternate(program, options.pairs, options.runs, folder, ["--locks"] if options.locks else [])
        return {"warm_up_runs": warm, **session, "kernel": driven.kernel_cost(program, options.runs, folder)}


def of_rate(sessions: list[results.Session]) -> dict[str, Any]:
    """Return the figures of one rate, over all its sessions."""
    beside = driven.recorder_share(sessions)
    ratios, same = driven.pairs_of(sessions, lambda run: run["cpu_ns"])
    runs = [run for session in sessions for each in session["blocks"] if each["recorded"] for run in each["runs"]]
    kernel = [each for session in sessions if (each := session["kernel"])]
    return {
        "cpu": harness.ratio_of(ratios, same),
        "cpu_with_recorder": harness.ratio_of([each + beside for each in ratios], same),
        "recorder_share": beside,
        "wall_corrected": harness.ratio_of(*driven.pairs_of(sessions, lambda run: run["corrected_wall_ns"])),
        "switches": sum(session["switches"] for session in sessions),
        "switches_per_s": sum(session["switches"] for session in sessions) / sum(run["wall_ns"] for run in runs) * 1e9,
        "lost": sum(session["lost"] for session in sessions),
        "kernel_ns_per_call": sum(k["ns"] for k in kernel) / calls
        if (calls := sum(k["calls"] for k in kernel))
        else float("nan"),
        "kernel_share": sum(k["ns"] for k in kernel) / sum(k["cpu_ns"] for k in kernel) if kernel else float("nan"),
    }


def summarise(sessions: dict[str, list[results.Session]]) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and the verdicts."""
    figures = {rate: of_rate(sessions[rate]) for rate in RATES if rate in sessions}
    rows = [
        [
            rate,
            each["cpu"].percent(),
            f"{100 * each['recorder_share']:.2f} %",
            each["cpu"].noise(),
            each["wall_corrected"].percent(),
            f"{100 * each['kernel_share']:.2f} %, {each['kernel_ns_per_call']:.0f} ns a call",
            f"{each['switches']:,}",
            str(each["lost"]),
        ]
        for rate, each in figures.items()
    ]
    head = ["rate", "CPU", "recorder", "A/A noise", "wall, corrected", "in the kernel", "switches", "lost"]
    print(harness.table(head, rows))
    lost = sum(each["lost"] for each in figures.values())
    verdicts = [(f"{lost} records lost, target 0", lost == 0)]
    if "flat-out" in figures:
        cpu, beside = figures["flat-out"]["cpu"], figures["flat-out"]["cpu_with_recorder"]
        wall = figures["flat-out"]["wall_corrected"]
        verdicts = [
            harness.against(
                f"flat out: CPU of the program {cpu.percent()}, target +10 %", cpu.median, cpu.high, TARGET
            ),
            harness.against(
                f"flat out: CPU with the recorder's {beside.percent()}, target +10 %",
                beside.median,
                beside.high,
                TARGET,
            ),
            harness.against(
                f"flat out: wall, without stolen time {wall.percent()}, target +10 %", wall.median, wall.high, TARGET
            ),
            *verdicts,
        ]
    return figures, verdicts


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    results.arguments(parser)
    parser.add_argument("--pairs", type=int, help="recorded blocks per rate (16; 6 with --quick)")
    parser.add_argument("--runs", type=int, default=5, help="in a block (5)")
    parser.add_argument("--warm-up", type=float, metavar="S", help="at most so many seconds (15; 10 with --quick)")
    parser.add_argument("--locks", action="store_true", help="record locks as well: what that costs has no target")
    options = parser.parse_args()
    options.warm_up = options.warm_up or (10.0 if options.quick else 15.0)
    options.pairs = options.pairs or (6 if options.quick else 16)
    measured = results.Results("pingpong", options)
    for rate in results.chosen(options, tuple(RATES)):
        harness.progress(f"ping-pong: {rate}, {options.pairs} pairs")
        measured.add(rate, measure(rate, options))
    figures, verdicts = summarise(measured.sessions)
    if options.locks:
        lost = sum(each["lost"] for each in figures.values())
        verdicts = [(f"with locks, {lost} records lost, target 0", lost == 0)]
    return harness.finish(options, "pingpong", {"rates": figures, "sessions": measured.sessions}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
