"""What recording costs a JVM before its program is warm: the agent is loaded, classes are, and the recorder gets going.

A short run of a real program is launched with and without recording in turn. Only the JVM's first compiler is on, and one
garbage collector thread: what the second compiler does differs from launch to launch by far more than recording costs. The
figures are CPU time per launch, in ms: of the program, and of the recorder while the program ran. No target: paid once a run.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from lib import harness, programs

PROGRAM, PERCENT = "jython", 2
QUIET_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def measure(pairs: int) -> tuple[list[harness.Run], list[harness.Run]]:
    """Launch in turn: plain, recorded, plain, ..."""
    java, *rest = programs.command(PROGRAM, percent=PERCENT)
    command = [java, *QUIET_JVM, *rest]
    number = itertools.count(1)
    with harness.recording_folder() as folder:

        def recorded() -> harness.Run:
            target: Path = folder / f"{next(number)}.headway"
            return harness.run([str(harness.HEADWAY), "record", "-o", str(target), "--", *command], recorded=True)

        return harness.interleave(lambda: harness.run(command), recorded, pairs)


def extra_ms(off: list[harness.Run], on: list[harness.Run]) -> tuple[list[float], list[float]]:
    """Return (recorded less the mean of its two neighbours, plain less the mean of its two: A/A), in ms of CPU time."""
    plain = [run.cpu_ns / 1e6 for run in off]
    more = [run.cpu_ns / 1e6 - (a + b) / 2 for run, a, b in zip(on, plain, plain[1:], strict=False)]
    return more, [b - (a + c) / 2 for a, b, c in zip(plain, plain[1:], plain[2:], strict=False)]


def main() -> int:
    """Measure and print; there is no target to miss."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--pairs", type=int, help="recorded launches (25; 8 with --quick)")
    options = parser.parse_args()
    pairs = options.pairs or (8 if options.quick else 25)
    harness.progress(f"start-up: {pairs} pairs of launches")
    off, on = measure(pairs)
    more, same = extra_ms(off, on)
    figures = {
        "program_ms": harness.bootstrap(more),
        "aa_ms": harness.bootstrap(same),
        "recorder_ms": harness.bootstrap([run.recorder_ns / 1e6 for run in on]),
        "launch_ms": harness.bootstrap([run.cpu_ns / 1e6 for run in off]),
    }
    rows = [(name, *(f"{value:+.1f}" for value in values)) for name, values in figures.items()]
    print(harness.table(["CPU time per launch", "median", "low", "high"], rows))
    middle, low, high = figures["program_ms"]
    beside = figures["recorder_ms"][0]
    text = f"{middle:+.0f} ms [{low:+.0f}, {high:+.0f}] of the program's CPU time per launch, {beside:.0f} ms beside it"
    return harness.finish(options, "startup", {**figures, "off": off, "on": on}, [(f"{text} (no target)", True)])


if __name__ == "__main__":
    sys.exit(main())
