"""`headway flame`: a flame graph as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from headway.cli import options
from headway.cli.options import Selection, TimePoint, TimeType, selected, selection_options

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile

PATHS = 200_000
"""Stacks of single threads that are told apart: bounds the memory and the time, the page itself is bounded anyhow."""


@click.command(
    epilog="""\b
Examples:
  headway flame app.headway                          # writes app.flame.html
  headway flame app.headway --event lock -o locks.html
  headway flame four.headway --diff one.headway --region 'KMeans\\.assign'
"""
)
@options.recording_argument
@selection_options
@click.option(
    "--diff",
    "other_path",
    type=click.Path(path_type=Path),
    metavar="OTHER",
    help="Colour by what changed since this recording: the same event, threads and region of it.",
)
@click.option(
    "--diff-from",
    "other_start",
    type=TimeType(of_recording=True),
    metavar="T",
    help="Begin of OTHER's window. Without --diff-from and --diff-to: as --from and --to.",
)
@click.option("--diff-to", "other_end", type=TimeType(of_recording=True), metavar="T", help="End of OTHER's window.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: NAME.flame.html, here. - is the standard output.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def command(
    recording_path: Path,
    other_path: Path | None,
    other_start: TimePoint | None,
    other_end: TimePoint | None,
    output: Path | None,
    force: bool,
    **chosen: Unpack[Selection],
) -> None:
    """Draw where an event happens as a flame graph: one HTML file that opens by double click.

    Width is weight: time, bytes or counts. lock and off-cpu are drawn from every single
    wait and blocked interval, not from samples.
    """
    from headway.analyses.profile.diff import diff
    from headway.report.html.flame import render_flame

    if other_path is None and (other_start or other_end):
        raise click.UsageError("--diff-from and --diff-to are of the recording that --diff names")
    recording = options.opened(recording_path)
    other = options.opened(other_path) if other_path is not None else None
    found = selected(recording, chosen)
    target = output if output is not None else Path(f"{recording.path.resolve().stem}.flame.html")
    label = _label(found, chosen)
    if other is None:
        by_thread = selected(recording, chosen, by_thread=True, paths=PATHS)
        written = render_flame(found, target, recording=recording, by_thread=by_thread, label=label, overwrite=force)
    else:
        theirs: Selection = {**chosen, "event": found.event}
        if other_start or other_end:
            theirs = {**theirs, "start": other_start, "end": other_end}
        before = selected(other, theirs)
        versus = other.path.resolve().name
        if other_start or other_end:
            versus += f", {_window(before)}"
        written = render_flame(
            diff(before, found), target, recording=recording, label=label, versus=versus, overwrite=force
        )
    options.print_written(written)


def _label(found: Profile, chosen: Selection) -> str:
    """Say what is drawn: the event and what it was narrowed to."""
    parts = [found.event]
    if chosen["region"] is not None:
        parts.append(f"region {chosen['region']}")
    if chosen["thread"] is not None:
        parts.append(f"threads {chosen['thread'].pattern}")
    if chosen["start"] is not None or chosen["end"] is not None:
        parts.append(_window(found))
    return ", ".join(parts)


def _window(found: Profile) -> str:
    return f"{found.window_ns[0] / 1e9:g} s to {found.window_ns[1] / 1e9:g} s"
