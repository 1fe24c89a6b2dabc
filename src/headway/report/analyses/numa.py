"""`headway numa` as an analysis of the seam: what kind of program is it for a machine of several memory nodes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.model.machine_limits import MAX_CORES
from headway.report.analysis import BaseAnalysis, Section, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import NodesType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.numa.types import NumaAnswer
    from headway.store import Recording


class NumaAnalysis(BaseAnalysis):
    """Classifies a recorded program, or programs by tables of their figures."""

    name = "numa"
    summary = summary_of(name)
    help = """Tell what kind of program it is for a machine of several memory nodes.

    Each program gets a class of parallelism, of data dependencies and of locality, with the figures that decide it, and advice:
    keep it on one node, or measure both. Near the border of two classes both are named; what is left open is said.
    A recording tells the parallelism. Two recordings, of a program on one node and of the same spread over two, are the test of
    locality. Tables are CSV files with a column `application` or `program`, joined by it.
    """
    examples = (
        "headway numa app.headway",
        "headway numa app.headway --from 50% --cores-per-node 16 --json",
        "headway numa one-node.headway two-nodes.headway",
        "headway numa --table balance.csv --table sharing.csv --table misses.csv",
        "headway numa --table programs.csv --cores-per-node 16 --program h2",
    )
    needs_subject = False
    section_needs = ("allocation", "access")

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return a second recording, --table, and how to read and show what there is."""
        cores = "Cores of one memory node. [default: as the recorded machine has; of tables 8, as the published]"
        nodes = (
            "Nodes of the machine to run on, or sets of CPUs that are taken for nodes, such as 0-7/8-15. [default: 2]"
        )
        return (
            click.Argument(["other"], type=click.Path(path_type=Path), required=False, metavar="[TWO.headway]"),
            click.Option(
                ["--table", "tables"],
                type=click.Path(path_type=Path),
                metavar="FILE.csv",
                multiple=True,
                help="A table of programs; may be given several times.",
            ),
            click.Option(["--cores-per-node"], type=click.IntRange(1, MAX_CORES), metavar="N", help=cores),
            click.Option(["--nodes"], type=NodesType(), metavar="M|CPUS", help=nodes),
            click.Option(
                ["--program"], metavar="NAME", help="Of tables: this program only, with all that its classes go by."
            ),
        )

    def check(self, path: Path | None, **options: Any) -> None:
        """Refuse neither or both of recordings and tables, and options of the other."""
        if (path is None) == (not options["tables"]):
            raise click.UsageError("give either NAME.headway, or --table FILE.csv once or several times")
        if path is not None and options["program"] is not None:
            raise click.UsageError("--program is about tables: a recording is of one program")
        if path is None and options["nodes"] is not None:
            raise click.UsageError("--nodes is about recordings")

    def run(self, recording: Recording | None, window: Window, **options: Any) -> NumaAnswer:
        """Return the classes. Raises HeadwayError as the modules of analyses.numa that are called, and HW708."""
        from headway.analyses.numa.analysis import classify_tables, only

        cores, nodes, other = (options.get(name) for name in ("cores_per_node", "nodes", "other"))
        if recording is None:
            found = classify_tables(options["tables"], cores)
            return found if options["program"] is None else only(found, options["program"])
        if other is None:
            from headway.analyses.numa.recorded import classify_recording

            return classify_recording(recording, window, cores, nodes)
        if window is not None:
            raise click.UsageError("--from and --to are about one recording: two are compared from begin to end")
        from headway.analyses.numa.locality_test import locality_test
        from headway.store import open_recording

        with contextlib.closing(open_recording(other)) as two:
            return locality_test(recording, two, cores, nodes)

    def to_json(self, result: NumaAnswer) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.numa import numa_json

        return numa_json(result)

    def has_section(self, recording: Recording) -> bool:
        """Return whether somebody looked at the program's objects, and it is known when its threads ran."""
        return super().has_section(recording) and recording.has("slice")

    def section(self, result: NumaAnswer) -> Section:
        """Return the classes of the recorded program, what they go by, and what to do."""
        from headway.report.terminal.numa import class_sentences

        (program,) = result.programs
        return Section("Several memory nodes", tuple(class_sentences(program)), (), result.notices)

    def render(self, result: NumaAnswer, console: Console, name: str) -> None:
        """Print the classes, and all that they go by where one program is asked for, or was recorded."""
        from headway.report.terminal.numa import render_numa

        render_numa(result, console)


NUMA = NumaAnalysis()
