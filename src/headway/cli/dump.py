"""`headway dump`: the locks of a running JVM into a file, while it runs on."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from headway.cli import options
from headway.cli.options import TimePoint, TimeType


@click.command(
    epilog="""\b
Examples:
  headway dump --pid 4711
  headway dump --pid 4711 -o locks.json --json
"""
)
@click.option("--pid", type=int, metavar="PID", required=True, help="The JVM.")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Default: locks-PID-TIME.txt (.json), here."
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.option("--min-parks", type=click.IntRange(0), default=0, metavar="N", help="Leave out what was waited for less.")
@click.option("--interval", type=TimeType(), metavar="T", help="How long to look when nothing records the JVM. [2s]")
@options.json_option
def command(
    pid: int, output: Path | None, force: bool, min_parks: int, interval: TimePoint | None, as_json: bool
) -> int:
    """Write the table of locks of a running JVM to a file.

    A JVM that is recorded with --locks is neither stopped nor asked: its agent keeps the table in a file, which is read.
    Another one gets the agent for a moment: its threads stop two or three times, for some milliseconds, as that goes in
    and out, and the JVM compiles code anew.
    """
    from headway.analyses.live import live_rows
    from headway.cli.live import ended_by_signals, looks
    from headway.cli.locks import seconds
    from headway.record.live_locks import live_locks
    from headway.report.lock_json import live_json
    from headway.report.output import new_file

    suffix = "json" if as_json else "txt"
    path = output or Path(f"locks-{pid}-{time.strftime('%Y%m%d-%H%M%S')}.{suffix}")
    with ended_by_signals() as ended, live_locks(pid) as (table, is_ours):
        for now, _ in looks(table, ended, pid, seconds(interval), first=is_ours, again=False):
            rows = live_rows(now, min_parks=min_parks)
            with new_file(path, overwrite=force) as out:
                if as_json:
                    out.write((json.dumps(live_json(now, rows), indent=1, allow_nan=False) + "\n").encode())
                else:
                    from headway.report.terminal.lock_text import live_text

                    out.write(live_text(now, rows).encode(errors="backslashreplace"))
            if str(path) != "-":
                click.echo(f"{path}: {len(rows)} objects")
            return 0
    return 130
