"""`headway parallelism` as an analysis of the seam: for how long how many threads were active."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, View, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import KindsType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.overview import Overview
    from headway.analyses.scheduling.parallelism import Parallelism
    from headway.store import Recording


class ParallelismAnalysis(BaseAnalysis):
    """The analysis `parallelism`: how long exactly j threads were active, for each j."""

    name = "parallelism"
    summary = summary_of(name)
    help = """Tell for how long how many threads were active (running or runnable)."""
    examples = (
        "headway parallelism app.headway",
        "headway parallelism app.headway --from 2s --to 50%",
        "headway parallelism app.headway --kind app --json",
    )

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --kind."""
        text = "Count only these: app,gc,jit,vm."
        return (click.Option(["--kind", "kinds"], type=KindsType(), metavar="LIST", help=text),)

    def run(self, recording: Recording, window: Window, **options: Any) -> Parallelism:
        """Return the levels. Raises HeadwayError as `analyses.scheduling.parallelism.parallelism`."""
        from headway.analyses.scheduling.parallelism import parallelism

        return parallelism(recording, window, **options)

    def to_json(self, result: Parallelism) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.parallelism import parallelism_json

        return parallelism_json(result)

    def render(self, result: Parallelism, console: Console, name: str) -> None:
        """Print the averages and the levels."""
        from headway.report.terminal.parallelism import render_parallelism

        render_parallelism(result, console)

    def print_in_overview(self, found: Overview, console: Console) -> None:
        """Print the levels."""
        from headway.report.terminal.parallelism import print_tables

        if found.parallelism is not None:
            print_tables(found.parallelism, console)

    def view(self, recording: Recording, found: Overview) -> View:
        """Return the levels and their course over time."""
        from headway.report.html.parallelism import parallelism_view

        return parallelism_view(recording, found)


PARALLELISM = ParallelismAnalysis()
