"""`headway top`: the methods where an event happens, as a flat profile and as a call tree."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

import click

from headway.cli import options
from headway.cli.profiles import Selection, selected, selection_options


@click.command(
    epilog="""\b
Examples:
  headway top app.headway
  headway top app.headway --event off-cpu --thread 'worker-.*' --tree
  headway top app.headway --busiest-thread --from 20% --to 80%
  headway top app.headway --region 'KMeans\\.(assign|tally)' --json
"""
)
@options.recording_argument
@selection_options
@click.option("--busiest-thread", "busiest", is_flag=True, help="Only the thread that used most CPU time.")
@click.option("--tree", "show_tree", is_flag=True, help="The call tree, too.")
@click.option("--lines", "by_line", is_flag=True, help="By source line instead of by method.")
@click.option("--all", "show_all", is_flag=True, help="All rows.")
@options.json_option
def command(
    recording_path: Path,
    busiest: bool,
    show_tree: bool,
    by_line: bool,
    show_all: bool,
    as_json: bool,
    **chosen: Unpack[Selection],
) -> None:
    """Tell which methods an event happens in: by themselves (self), and with all that they call (total).

    cpu, wall, alloc and hardware events are samples. lock and off-cpu are no samples
    but every contended wait, and every blocked interval, by the kernel's record.
    """
    from headway.store import open_recording

    found = selected(open_recording(recording_path), chosen, busiest=busiest, by_line=by_line)
    if as_json:
        from headway.report.profile_json import profile_json

        options.print_json(profile_json(found, with_tree=show_tree, whole=show_all))
        return
    from headway.report.terminal import make_console
    from headway.report.terminal.top import render_top

    render_top(found, make_console(), show_tree, show_all)
