"""`headway report`: a recording, or a sweep, as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli import options


@click.command(
    epilog="""\b
Examples:
  headway report app.headway                  # writes app.html
  headway report app.headway -o today.html --force
  headway report kmeans.sweep                 # speedups and their limits
  headway report causal.headway --sources .   # with source lines
  headway report app.headway --placements placed.jsonl   # placed meanwhile
"""
)
@options.any_recording_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: NAME.html, here. - is the standard output.",
)
@click.option(
    "--sources",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="DIR",
    help="Causal recordings: show the lines of source around each place. DIR is where sources begin. Any number.",
)
@click.option(
    "--placements",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Recordings: show on which memory nodes the program was placed; FILE is what 'headway place --json' wrote.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(
    recording_path: Path, output: Path | None, sources: tuple[Path, ...], placements: Path | None, force: bool
) -> None:
    """Write the findings as one HTML file that opens by double click."""
    from headway.cli.recording import Working
    from headway.report.html import render_causal, render_html, render_sweep
    from headway.store.sweep import is_sweep, read_sweep

    target = output if output is not None else Path(f"{recording_path.resolve().stem}.html")
    if is_sweep(recording_path):
        _only_recordings(placements)
        options.print_written(render_sweep(read_sweep(recording_path), target, overwrite=force))
        return
    recording = options.opened(recording_path)
    if recording.manifest.extra.get("kind") == "causal":
        _only_recordings(placements)
        options.print_written(render_causal(recording, target, sources=sources, overwrite=force))
    elif sources:
        raise click.UsageError("--sources is for causal recordings (headway causal)")
    else:
        with Working("writing the report", "the recording stays as it is"):
            written = render_html(recording, target, overwrite=force, placements=placements)
        options.print_written(written)


def _only_recordings(placements: Path | None) -> None:
    if placements is not None:
        raise click.UsageError("--placements is for recordings of one run")
