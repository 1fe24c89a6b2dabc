"""`headway threads`: what every thread spent its time on, as a table or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import options

if TYPE_CHECKING:
    from headway.analyses.threads import ThreadRow

TOP = 40


def to_json(row: ThreadRow) -> dict[str, Any]:
    """Return the stable form of a thread; keys may be added, never changed."""
    keys = (
        *("pid", "tid", "name", "kind", "start_ns", "end_ns", "running_ns", "runnable_ns", "blocked_ns", "switches"),
        *("exec_ns", "stolen_ns", "share", "mean_parallelism", "bottle_height_ns", "bottle_width", "from_snapshot"),
    )
    return {key: getattr(row, key) for key in keys}


@click.command(
    epilog="""\b
Examples:
  headway threads app.headway
  headway threads app.headway --all
  headway threads app.headway --json
"""
)
@options.recording_argument
@click.option("--all", "show_all", is_flag=True, help=f"List all threads, not only the {TOP} that ran longest.")
@options.json_option
def command(recording_path: Path, show_all: bool, as_json: bool) -> None:
    """Tell per thread how long it ran, waited for a core, and was blocked.

    "share" is of all threads' running time; "par." is the mean number of active
    threads while this one ran. In JSON, start_ns and end_ns count from the start of
    the recording; warnings go to standard error.
    """
    from headway.analyses import threads
    from headway.store import open_recording

    found = threads.threads(open_recording(recording_path))
    if as_json:
        options.print_json([to_json(row) for row in found.rows])
        for notice in found.notices:
            click.echo(f"{notice.id}: {notice.message}", err=True)
        return
    from headway.report import terminal
    from headway.report.terminal import tables

    console = terminal.make_console()
    shown = found.rows if show_all else found.rows[:TOP]
    count = len(found.rows)
    terminal.print_table(console, tables.threads_table(shown, f"{count} thread{'s' if count != 1 else ''}"))
    if len(shown) < len(found.rows):
        console.print(f"{len(found.rows) - len(shown)} more that ran less: --all")
    terminal.print_notices(console, found.notices)
