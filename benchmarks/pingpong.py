"""What recording costs a program that does nothing but switch threads, and whether records are lost.

32 pairs of threads hand a turn to each other by park and unpark, with and without recording in turn. The program's own clocks
say what it took. Two rates: flat out (nothing between two hand-offs), and with some work between them, as a busy server has.
Target, flat out: at most 10 % more, no record lost.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import harness
import programs

TARGET = 1.10
PAIRS = 32


def clocks(said: dict[str, Any]) -> tuple[int, int]:
    """Return the (wall, CPU) ns of the hand-offs."""
    return int(said["end_ns"]) - int(said["begin_ns"]), int(said["cpu_ns"])


def measure(handoffs: int, work_us: int, pairs: int) -> tuple[list[harness.Run], list[harness.Run], int, int]:
    """Return (plain runs, recorded runs, switches recorded, records lost), of `handoffs` per pair of threads."""
    command = programs.workload("PingPong", PAIRS, handoffs, "park", work_us)
    number = itertools.count(1)
    switches = lost = 0
    with harness.recording_folder() as folder:

        def recorded() -> harness.Run:
            nonlocal switches, lost
            target: Path = folder / f"{next(number)}.headway"
            words = [str(harness.HEADWAY), "record", "-o", str(target), "--", *command]
            run = harness.run(words, recorded=True, clocks=clocks)
            manifest = json.loads((target / "manifest.json").read_text())
            switches += manifest["switches"]
            lost += manifest["losses"]["events"]
            return run

        plain, treated = harness.interleave(lambda: harness.run(command, clocks=clocks), recorded, pairs)
    return plain, treated, switches, lost


def main() -> int:
    """Measure and print; return 0 if the targets are reached."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--pairs", type=int, help="recorded runs per rate (10; 4 with --quick)")
    parser.add_argument("--handoffs", type=int, default=10_000, help="per pair of threads, flat out")
    options = parser.parse_args()
    pairs = options.pairs or (4 if options.quick else 10)
    rows, figures = [], {}
    for name, handoffs, work_us in (("flat out", options.handoffs, 0), ("20 us of work", options.handoffs // 4, 20)):
        harness.progress(f"ping-pong: {name}, {pairs} pairs")
        off, on, switches, lost = measure(handoffs, work_us, pairs)
        cpu = harness.ratio([run.cpu_ns for run in off], [run.cpu_ns for run in on])
        total = harness.ratio([run.cpu_ns for run in off], [run.cpu_ns + run.recorder_ns for run in on])
        wall = harness.ratio([run.corrected_wall_ns for run in off], [run.corrected_wall_ns for run in on])
        rate = switches / (sum(run.wall_ns for run in on) / 1e9)
        rows.append([name, cpu.percent(), total.percent(), wall.percent(), wall.noise(), f"{rate:,.0f}", str(lost)])
        figures[name] = {
            "cpu": cpu,
            "cpu_with_recorder": total,
            "wall_corrected": wall,
            "switches": switches,
            "lost": lost,
        }
    head = ["rate", "CPU", "CPU + recorder", "wall, steal-corrected", "A/A noise (wall)", "switches/s", "lost"]
    print(harness.table(head, rows))
    flat = figures["flat out"]["wall_corrected"]
    assert isinstance(flat, harness.Ratio)
    lost = sum(int(row[-1]) for row in rows)
    verdicts = [
        (f"flat out: wall {flat.percent()}, target +10 %", flat.median <= TARGET),
        (f"{lost} records lost, target 0", lost == 0),
    ]
    return harness.finish(options, "pingpong", {"rates": figures}, verdicts)


if __name__ == "__main__":
    sys.exit(main())
