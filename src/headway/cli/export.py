"""`headway export`: a recording for other tools."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Unpack

import click

from headway.cli import options
from headway.cli.options import Selection, selected, selection_options
from headway.report.formats import FORMATS
from headway.report.registry import exporter, exporters
from headway.store.tables import TABLES

_EXPORTERS = {each.name: each for each in exporters()}
_OF_PROFILES = [each.name for each in FORMATS if each.needs == "profile"]
_SUMMARIES = "; ".join(f"{each.name}: {each.summary}" for each in FORMATS)


@click.command(
    epilog="""\b
Examples:
  headway export app.headway --format perfetto   # open it at ui.perfetto.dev
  headway export app.headway --format csv -o states.csv
  headway export app.headway --format csv --table all -o app.zip
  headway export objects.headway --format csv --table thread_objects
  headway export app.headway --format speedscope --event off-cpu
  headway export app.headway --format coz
"""
)
@options.any_recording_argument
@click.option(
    "--format",
    "form",
    type=click.Choice([*_EXPORTERS]),
    required=True,
    help=f"{_SUMMARIES}. Packages may add others.",
)
@click.option(
    "--table",
    type=click.Choice([*TABLES, "all"]),
    metavar="NAME",
    help="csv: which table (headway query --schema lists them); 'all' makes a zip of every one. Default: thread_state; of "
    "recordings made with --objects thread_objects.",
)
@click.option(
    "--raw-text",
    is_flag=True,
    help="csv: leave text as it is that begins with = + - or @; else it gets a ' before it, as spreadsheets would run it.",
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
    recording_path: Path,
    form: str,
    table: str | None,
    raw_text: bool,
    output: Path | None,
    force: bool,
    **chosen: Unpack[Selection],
) -> None:
    """Write a recording for other tools.

    --event, --thread, --region, --from and --to go with the formats of profiles.
    """
    from headway.errors import HeadwayError
    from headway.report.export.tables import ALL_TABLES
    from headway.report.exporter import Source

    if table is not None and form != "csv":
        raise click.UsageError("--table goes with --format csv")
    if raw_text and form != "csv":
        raise click.UsageError("--raw-text goes with --format csv")
    plugin = _EXPORTERS[form]
    chosen_format = exporter(plugin)
    with plugin.named():
        needs, its_suffix = chosen_format.needs, chosen_format.suffix
    if needs != "profile" and any(each is not None for each in chosen.values()):
        formats = ", ".join(_OF_PROFILES)
        raise click.UsageError(f"--event, --thread, --region, --from and --to go with --format {formats}")
    recording = options.opened(recording_path)
    if recording.manifest.is_causal and needs not in ("experiments", "tables"):
        raise HeadwayError("HW601", path=recording_path, command=f"export --format {form}")
    suffix = ".zip" if table == ALL_TABLES else its_suffix
    target = output if output is not None else Path(f"{recording.path.resolve().stem}{suffix}")
    source = Source(recording, functools.partial(selected, recording, chosen), table, raw_text)
    with plugin.named():
        options.print_written(chosen_format.write(source, target, overwrite=force))
