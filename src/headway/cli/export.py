"""`headway export`: a recording for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from headway.cli import options
from headway.cli.profiles import Selection, selected, selection_options
from headway.store.tables import TABLES

if TYPE_CHECKING:
    from headway.store import Recording

_SUFFIX = {
    "perfetto": ".perfetto-trace",
    "csv": ".csv",
    "collapsed": ".collapsed",
    "pprof": ".pb.gz",
    "speedscope": ".speedscope.json",
    "coz": ".coz",
}
_STACKS = ("collapsed", "pprof", "speedscope")


@click.command(
    epilog="""\b
Examples:
  headway export app.headway --format perfetto   # open it at ui.perfetto.dev
  headway export app.headway --format csv -o states.csv
  headway export app.headway --format csv --table all -o app.zip
  headway export app.headway --format speedscope --event off-cpu
  headway export app.headway --format coz
"""
)
@options.any_recording_argument
@click.option("--format", "form", type=click.Choice(sorted(_SUFFIX)), required=True, help="perfetto: a trace with the "
              "kernel's scheduling events, JVM phases and counters. csv: a table. collapsed, pprof, speedscope: a profile of "
              "one event. coz: the experiments of headway causal, for Coz's viewer.")  # fmt: skip
@click.option(
    "--table",
    type=click.Choice([*TABLES, "all"]),
    metavar="NAME",
    help="csv: which table (headway query --schema lists them); 'all' makes a zip of every one. Default: thread_state.",
)
@selection_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: NAME.SUFFIX, here. - is the standard output.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(
    recording_path: Path, form: str, table: str | None, output: Path | None, force: bool, **chosen: Unpack[Selection]
) -> None:
    """Write a recording for other tools.

    --event, --thread, --region, --from and --to go with the formats of profiles.
    """
    from headway.errors import HeadwayError
    from headway.report import export
    from headway.store import open_recording

    if table is not None and form != "csv":
        raise click.UsageError("--table goes with --format csv")
    if form not in _STACKS and any(each is not None for each in chosen.values()):
        raise click.UsageError(f"--event, --thread, --region, --from and --to go with --format {', '.join(_STACKS)}")
    recording = open_recording(recording_path)
    if recording.manifest.is_causal and form not in ("coz", "csv"):
        raise HeadwayError("HW601", path=recording_path, command=f"export --format {form}")
    suffix = ".zip" if table == export.ALL_TABLES else _SUFFIX[form]
    target = output if output is not None else Path(f"{recording.path.resolve().stem}{suffix}")
    if form == "perfetto":
        options.print_written(export.export_perfetto(recording, target, overwrite=force))
    elif form == "csv":
        options.print_written(export.export_csv(recording, target, table=table or "thread_state", overwrite=force))
    elif form == "coz":
        options.print_written(export.export_coz(recording, target, overwrite=force))
    else:
        options.print_written(_stacks(recording, form, target, chosen, force))


def _stacks(recording: Recording, form: str, target: Path, chosen: Selection, force: bool) -> Path:
    """Write a profile in one of the formats for stacks."""
    from headway.report import export

    if form == "collapsed":
        return export.export_collapsed(selected(recording, chosen), target, overwrite=force)
    if form == "pprof":
        by_line = selected(recording, chosen, by_thread=True, by_line=True)
        return export.export_pprof(by_line, target, program=recording.path.name, overwrite=force)
    by_thread = selected(recording, chosen, by_thread=True)
    merged = selected(recording, chosen)
    return export.export_speedscope(merged, by_thread, target, name=recording.path.name, overwrite=force)
