"""`headway report`: a recording as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli import options


@click.command(
    epilog="""\b
Examples:
  headway report app.headway                  # writes app.html
  headway report app.headway -o today.html --force
"""
)
@options.recording_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Default: NAME.html, here.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(recording_path: Path, output: Path | None, force: bool) -> None:
    """Write the findings as one HTML file that opens by double click."""
    from headway.report.html import render_html
    from headway.store import open_recording

    recording = open_recording(recording_path)
    target = output if output is not None else Path(f"{recording.path.resolve().stem}.html")
    click.echo(render_html(recording, target, overwrite=force))
