"""`headway walltime`: predictions from a recording or from a published table, as a table or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import options
from headway.cli.options import MAX_CORES, CoresType

if TYPE_CHECKING:
    from headway.analyses.walltime import Walltime


def to_json(result: Walltime) -> dict[str, Any]:
    """Return the stable form of a result; keys may be added, never changed."""
    return {
        "recorded_cores": result.recorded_cores,
        "runs": result.runs,
        "measured_ns": result.measured_ns,
        "corrected_measured_ns": result.corrected_measured_ns,
        "critical_ns": result.critical_ns,
        "predictions": [
            {
                "cores": each.cores,
                "ns": each.ns,
                "low_ns": each.low_ns,
                "high_ns": each.high_ns,
                "withheld": each.withheld,
                "corrected_ns": each.corrected_ns,
                "ideal_ns": ideal_ns,
                "interval": each.interval,
            }
            for each, ideal_ns in zip(result.predictions, result.ideal_ns, strict=True)
        ],
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _print(result: Walltime) -> None:
    from headway.analyses.units import duration
    from headway.report import terminal
    from headway.report.terminal import tables

    console = terminal.make_console()
    runs = f", mean of {result.runs} runs" if result.runs > 1 else ""
    cores = f"{result.recorded_cores} core{'s' if result.recorded_cores != 1 else ''}"
    console.print(f"{duration(result.measured_ns)} measured on {cores}{runs}")
    if result.critical_ns > 0:
        console.print(f"by the model no number of cores takes it below {duration(result.critical_ns)}")
    terminal.print_table(console, tables.walltime_table(result))
    terminal.print_withheld(console, result.predictions)
    for interval in dict.fromkeys(each.interval for each in result.predictions if each.low_ns is not None):
        which = ", ".join(str(each.cores) for each in result.predictions if each.interval == interval)
        terminal.print_line(console, f"from-to on {which} cores covers: {interval}", bullet=" ")
    terminal.print_notices(console, result.notices)


@click.command(
    epilog="""\b
Examples:
  headway walltime app.headway --cores 1,2,4,8
  headway walltime app.headway --cores 16 --json
  headway walltime --levels t.csv --column h2 --recorded-cores 1 --cores 2,4
"""
)
@click.argument(
    "recording_path",
    metavar="[NAME.headway]",
    required=False,
    type=click.Path(path_type=Path),
    callback=options.recorded_otherwise,
)
@click.option("--cores", type=CoresType(), required=True, metavar="LIST", help="Numbers of cores, such as 1,2,4,8.")
@click.option(
    "--levels",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Levels from a file: seconds per number of threads.",
)
@click.option("--column", metavar="NAME", help="With --levels: the program's column.")
@click.option(
    "--recorded-cores", type=click.IntRange(1, MAX_CORES), metavar="K", help="With --levels: cores it was measured on."
)
@options.json_option
def command(
    recording_path: Path | None,
    cores: tuple[int, ...],
    levels: Path | None,
    column: str | None,
    recorded_cores: int | None,
    as_json: bool,
) -> None:
    """Predict the wall time on other numbers of cores."""
    from headway.analyses import walltime

    if (recording_path is None) == (levels is None):
        raise click.UsageError("give either NAME.headway or --levels FILE.csv")
    if levels is not None:
        if column is None or recorded_cores is None:
            raise click.UsageError("--levels needs --column NAME and --recorded-cores K")
        result = walltime.walltime_of_levels(levels, column, recorded_cores, cores)
    else:
        if column is not None or recorded_cores is not None:
            raise click.UsageError("--column and --recorded-cores go with --levels only")
        from headway.store import open_recording

        assert recording_path is not None
        result = walltime.walltime(open_recording(recording_path), cores)
    if as_json:
        options.print_json(to_json(result))
    else:
        _print(result)
