"""`headway export`: a recording for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli import options
from headway.store.tables import TABLES

_SUFFIX = {"perfetto": ".perfetto-trace", "csv": ".csv"}


@click.command(
    epilog="""\b
Examples:
  headway export app.headway --format perfetto   # open it at ui.perfetto.dev
  headway export app.headway --format csv -o states.csv
  headway export app.headway --format csv --table all -o app.zip
"""
)
@options.recording_argument
@click.option("--format", "form", type=click.Choice(sorted(_SUFFIX)), required=True, help="perfetto: a trace with the "
              "kernel's scheduling events, JVM phases and counters. csv: a table.")  # fmt: skip
@click.option(
    "--table",
    type=click.Choice([*TABLES, "all"]),
    metavar="NAME",
    help="csv: which table (headway query --schema lists them); 'all' makes a zip of every one. Default: thread_state.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Default: NAME.SUFFIX, here.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(recording_path: Path, form: str, table: str | None, output: Path | None, force: bool) -> None:
    """Write a recording for other tools."""
    from headway.report import export
    from headway.store import open_recording

    if table is not None and form != "csv":
        raise click.UsageError("--table goes with --format csv: a Perfetto trace holds them together")
    recording = open_recording(recording_path)
    suffix = ".zip" if table == export.ALL_TABLES else _SUFFIX[form]
    target = output if output is not None else Path(f"{recording.path.resolve().stem}{suffix}")
    if form == "perfetto":
        click.echo(export.export_perfetto(recording, target, overwrite=force))
    else:
        click.echo(export.export_csv(recording, target, table=table or "thread_state", overwrite=force))
