"""`headway speedups`: what limits the scaling of a program, and what removing each limit would give."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli import options
from headway.cli.options import TimePoint, TimeType

if TYPE_CHECKING:
    from headway.analyses.speedup_runs import Window


@click.command(
    short_help="What limits the speedup, and what removing it would give.",
    epilog="""\b
Examples:
  headway speedups kmeans.sweep
  headway speedups kmeans.sweep --region assign
  headway speedups kmeans.sweep --from 25% --to 75% --json
""",
)
@click.argument("sweep_path", metavar="NAME.sweep", type=click.Path(path_type=Path))
@click.option("--region", metavar="NAME", help="One region by itself, as if it were the whole program.")
@click.option(
    "--from", "start", type=TimeType(), metavar="T", help="Begin of the part of every run: 1.5s, 200ms, 25% ..."
)
@click.option("--to", "end", type=TimeType(), metavar="T", help="End of that part.")
@options.json_option
def command(
    sweep_path: Path, region: str | None, start: TimePoint | None, end: TimePoint | None, as_json: bool
) -> None:
    """Tell what limits the speedup of a parallel program, and what removing each limit would give.

    From a sweep (headway sweep): the real speedup of the plain runs, the computed one of the recorded runs, and the possible
    ones without the sequential fraction, parallelism overhead, memory, load imbalance, locks, waiting for CPUs, GC, JIT,
    busy waiting. The verdict names the largest limit, its place, and the command to look at it. Intervals (95 %) come from
    the repeats.
    """
    from headway.analyses.speedups import speedups
    from headway.store.sweep import read_sweep

    result = speedups(read_sweep(sweep_path), region=region, window=_window(start, end))
    if as_json:
        from headway.report.speedup_json import speedups_json

        options.print_json(speedups_json(result))
    else:
        from headway.report.terminal import make_console
        from headway.report.terminal.speedups import render

        render(result, make_console())


def _window(start: TimePoint | None, end: TimePoint | None) -> Window | None:
    """Return the window as a function of a run's length: runs of a sweep are not equally long."""
    if start is None and end is None:
        return None
    return lambda wall_ns: options.resolve_window(start, end, wall_ns)
