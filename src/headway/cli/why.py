"""`headway why`: where the cores went."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli import options
from headway.cli.options import TimePoint, TimeType


@click.command(
    short_help="Where the cores went: every lost core has a cause.",
    epilog="""\b
Examples:
  headway why app.headway
  headway why app.headway --from 2s --to 50%
  headway why app.headway --phase 2 --json
  headway why app.headway --cores 16
""",
)
@options.recording_argument
@click.option(
    "--cores",
    type=click.IntRange(1, options.MAX_CORES),
    metavar="N",
    help="Account for N cores instead of those that the program could use.",
)
@click.option("--from", "start", type=TimeType(), metavar="T", help="Begin of the window: 1.5s, 200ms, 2m, 25% ...")
@click.option("--to", "end", type=TimeType(), metavar="T", help="End of the window.")
@click.option("--phase", type=click.IntRange(1), metavar="K", help="One of the phases by itself.")
@options.json_option
def command(
    recording_path: Path,
    cores: int | None,
    start: TimePoint | None,
    end: TimePoint | None,
    phase: int | None,
    as_json: bool,
) -> None:
    """Tell where the cores went: cores x wall time, accounted for.

    What the application, GC, JIT, VM and headway used, the host stole, and other processes had; the rest is lost, and every lost
    core has a cause: one thread alone, a lock, imbalance, a slow queue, pauses, sleep, I/O, too few tasks, the scheduler, a
    quota ... with its place, and a bound of the speedup if it vanished. Causes that the recording can't tell are called so.
    """
    from headway.analyses import activity, why
    from headway.store import open_recording

    recording = open_recording(recording_path)
    window = options.resolve_window(start, end, activity.wall_ns(recording))
    result = why.why(recording, cores=cores, window=window, phase=phase)
    if as_json:
        from headway.report.why_json import why_json

        options.print_json(why_json(result))
    else:
        from headway.report.terminal import make_console
        from headway.report.terminal.why import render_why

        render_why(result, make_console(), str(recording_path))
