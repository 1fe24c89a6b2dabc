"""`headway walltime` as an analysis of the seam: how long it would take on other numbers of cores."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.model.machine_limits import MAX_CORES
from headway.report.analysis import BaseAnalysis, View, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import CoresType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.overview import Overview
    from headway.analyses.scheduling.walltime import Walltime
    from headway.store import Recording


class WalltimeAnalysis(BaseAnalysis):
    """Predicts wall times from a recording, or from the levels of a published table."""

    name = "walltime"
    summary = summary_of(name)
    help = """Predict the wall time on other numbers of cores."""
    examples = (
        "headway walltime app.headway",
        "headway walltime app.headway --cores 1,2,4,8",
        "headway walltime app.headway --cores 16 --json",
        "headway walltime two.headway --against four.headway --cores 8",
        "headway walltime --levels t.csv --column h2 --recorded-cores 1 --cores 2,4",
    )
    has_window = False
    needs_subject = False

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --cores, and --levels with what belongs to it."""
        cores = "Numbers of cores, such as 1,2,4,8; by default one, half, as recorded, twice and four times."
        of_levels = "With --levels: cores it was measured on."
        return (
            click.Option(["--cores"], type=CoresType(), metavar="LIST", help=cores),
            click.Option(
                ["--against"],
                type=click.Path(path_type=Path),
                metavar="OTHER.headway",
                help="A recording on another number of cores: does the work grow? Both need --counters.",
            ),
            click.Option(
                ["--levels"],
                type=click.Path(path_type=Path),
                metavar="FILE.csv",
                help="Levels from a file: seconds per number of threads.",
            ),
            click.Option(["--column"], metavar="NAME", help="With --levels: the program's column."),
            click.Option(["--recorded-cores"], type=click.IntRange(1, MAX_CORES), metavar="K", help=of_levels),
        )

    def check(self, path: Path | None, **options: Any) -> None:
        """Refuse neither or both of a recording and --levels, and half of what --levels needs."""
        levels, column, recorded_cores = options["levels"], options["column"], options["recorded_cores"]
        if (path is None) == (levels is None):
            raise click.UsageError("give either NAME.headway or --levels FILE.csv")
        if levels is not None and (column is None or recorded_cores is None):
            raise click.UsageError("--levels needs --column NAME and --recorded-cores K")
        if levels is not None and options["against"] is not None:
            raise click.UsageError("--against goes with a recording, not with --levels")
        if levels is None and (column is not None or recorded_cores is not None):
            raise click.UsageError("--column and --recorded-cores go with --levels only")

    def run(self, recording: Recording | None, window: Window, **options: Any) -> Walltime:
        """Return the predictions. Raises HeadwayError as `walltime` and `walltime_of_levels` of analyses.scheduling.walltime."""
        from headway.analyses.lost_cores.idleness import idleness
        from headway.analyses.scheduling.walltime import default_cores, walltime, walltime_of_levels

        recorded = options["recorded_cores"] if recording is None else recording.manifest.recorded_cores
        cores = options["cores"] or default_cores(recorded or 1)
        if recording is None:
            return walltime_of_levels(options["levels"], options["column"], options["recorded_cores"], cores)
        if options["against"] is None:
            return walltime(recording, cores, idleness=idleness(recording))
        return _compared(recording, options["against"], cores)

    def to_json(self, result: Walltime) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.walltime import walltime_json

        return walltime_json(result)

    def render(self, result: Walltime, console: Console, name: str) -> None:
        """Print the measured time and the predictions."""
        from headway.report.terminal.walltime import render_walltime

        render_walltime(result, console)

    def print_in_overview(self, found: Overview, console: Console) -> None:
        """Print the predictions."""
        from headway.report.terminal.walltime import print_predictions

        if found.walltime is not None:
            print_predictions(found.walltime, console)

    def view(self, recording: Recording, found: Overview) -> View:
        """Return the predictions."""
        from headway.report.html.walltime import walltime_view

        return walltime_view(recording, found)


def _compared(recording: Recording, against: Path, cores: Sequence[int]) -> Walltime:
    """Return predictions that know how the work differs on another number of cores. Raises HeadwayError as `open_recording`."""
    from headway.analyses.counters.work import growth_between
    from headway.analyses.lost_cores.idleness import idleness
    from headway.analyses.scheduling.walltime import walltime
    from headway.errors import Notice
    from headway.store import open_recording

    with contextlib.closing(open_recording(against)) as other:
        growth = growth_between(recording, other)
    idle = idleness(recording)
    if not isinstance(growth, Notice):
        return walltime(recording, cores, growth, idle)
    found = walltime(recording, cores, idleness=idle)
    return dataclasses.replace(found, notices=(*found.notices, growth))


WALLTIME = WalltimeAnalysis()
