"""`headway critical-path`: what the program's end was waiting for, at each instant."""

from __future__ import annotations

import re
from pathlib import Path

import click

from headway.cli import options
from headway.cli.options import TimePoint, TimeType
from headway.cli.profiles import RegexType


@click.command(
    epilog="""\b
Examples:
  headway critical-path app.headway
  headway critical-path app.headway --from 2s --to 50%
  headway critical-path app.headway --thread 'request-7$' --json
"""
)
@options.recording_argument
@click.option("--thread", type=RegexType(), metavar="REGEX", help="End in a thread whose name it is found in.")
@click.option("--from", "start", type=TimeType(), metavar="T", help="Begin of the window: 1.5s, 200ms, 2m, 25% ...")
@click.option("--to", "end", type=TimeType(), metavar="T", help="End of the window.")
@options.json_option
def command(
    recording_path: Path, thread: re.Pattern[str] | None, start: TimePoint | None, end: TimePoint | None, as_json: bool
) -> None:
    """Tell which threads, methods and locks the end of the program waited for.

    The path goes backwards from the end: where a thread ran, it is on it; where
    it waited, what the thread did that ended the wait. Its length is that of the
    window. Locks are named where the recording has them (--locks), methods where
    it has samples (--sample cpu).
    """
    from headway.analyses import activity
    from headway.analyses.critical_path import critical_path
    from headway.store import open_recording

    recording = open_recording(recording_path)
    window = options.resolve_window(start, end, activity.wall_ns(recording))
    result = critical_path(recording, window=window, thread=thread)
    if as_json:
        from headway.report.critical_path_json import critical_path_json

        options.print_json(critical_path_json(result))
    else:
        from headway.report.terminal import make_console
        from headway.report.terminal.critical_path import render

        render(result, make_console())
