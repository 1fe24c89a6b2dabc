"""`headway numa` as an analysis of the seam: what kind of program is it for a machine of several memory nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Subject, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import MAX_CORES

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.numa.types import NumaAnswer


class NumaAnalysis(BaseAnalysis):
    """Classifies programs by tables of their figures, published ones or one's own."""

    name = "numa"
    summary = summary_of(name)
    help = """Tell what kind of program it is for a machine of several memory nodes, from tables of figures.

    Each program gets a class of parallelism, of data dependencies and of locality, with what they go by, and what to do: keep
    it on one node, or measure both. Near the border of two classes both are named; what the tables leave open is told.
    Tables are CSV files with a column `application` or `program`, joined by it.
    """
    examples = (
        "headway numa --table balance.csv --table sharing.csv --table misses.csv",
        "headway numa --table programs.csv --cores-per-node 16 --program h2",
        "headway numa --table programs.csv --json",
    )
    subject: Subject = "tables"
    has_window = False
    needs_subject = False

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --table, and how to read and show tables."""
        cores = "Cores of one memory node. [default: 8, as of the published tables]"
        return (
            click.Option(
                ["--table", "tables"],
                type=click.Path(path_type=Path),
                metavar="FILE.csv",
                multiple=True,
                help="A table of programs; may be given several times.",
            ),
            click.Option(["--cores-per-node"], type=click.IntRange(1, MAX_CORES), metavar="N", help=cores),
            click.Option(["--program"], metavar="NAME", help="This program only, with all that its classes go by."),
        )

    def check(self, path: Path | None, **options: Any) -> None:
        """Refuse no table."""
        if not options["tables"]:
            raise click.UsageError("give --table FILE.csv, once or several times")

    def run(self, recording: None, window: Window, **options: Any) -> NumaAnswer:
        """Return the classes. Raises HeadwayError as `classify_tables` of analyses.numa.analysis, and HW708."""
        from headway.analyses.numa.analysis import classify_tables, only

        found = classify_tables(options["tables"], options["cores_per_node"])
        return found if options["program"] is None else only(found, options["program"])

    def to_json(self, result: NumaAnswer) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.numa import numa_json

        return numa_json(result)

    def render(self, result: NumaAnswer, console: Console, name: str) -> None:
        """Print the classes, and all that they go by where one program is asked for."""
        from headway.report.terminal.numa import render_numa

        render_numa(result, console)


NUMA = NumaAnalysis()
