"""`headway speedups` as an analysis of the seam: what limits scaling, and what removing each limit would give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Subject, WindowOfRun
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.speedups.types import Speedups
    from headway.store.sweep import Sweep


class SpeedupsAnalysis(BaseAnalysis):
    """Compares the runs of a sweep: real, computed and possible speedups."""

    name = "speedups"
    summary = summary_of(name)
    help = """Tell what limits the speedup of a parallel program, and what removing each limit would give.

    From a sweep (headway sweep): the real speedup of the plain runs, the computed one of the recorded runs, and the possible
    ones without the sequential fraction, parallelism overhead, memory, load imbalance, locks, waiting for CPUs, GC, JIT,
    busy waiting. The verdict names the largest limit, its place, and the command to look at it. Intervals (95 %) come from
    the repeats.
    """
    examples = (
        "headway speedups kmeans.sweep",
        "headway speedups kmeans.sweep --region assign",
        "headway speedups kmeans.sweep --from 25% --to 75% --json",
    )
    subject: Subject = "sweep"

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --region."""
        text = "One region by itself, as if it were the whole program."
        return (click.Option(["--region"], metavar="NAME", help=text),)

    def run(self, recording: Sweep, window: WindowOfRun, **options: Any) -> Speedups:
        """Return the speedups of a sweep. Raises HeadwayError as `analyses.speedups.analysis.speedups`."""
        from headway.analyses.speedups.analysis import speedups

        return speedups(recording, window=window, **options)

    def to_json(self, result: Speedups) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.speedups import speedups_json

        return speedups_json(result)

    def render(self, result: Speedups, console: Console, name: str) -> None:
        """Print the verdict, then the speedups by number of threads."""
        from headway.report.terminal.speedups import render

        render(result, console)


SPEEDUPS = SpeedupsAnalysis()
