"""`headway dump`: the locks of a running JVM into a file, while it runs on."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import click

from headway.cli import options, out
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
    from headway.analyses.locks.live import live_rows
    from headway.cli.live import ended_at_once, ended_by_signals, is_over, looks, seconds
    from headway.record.live.live_locks import live_locks
    from headway.record.session.plan import running_process
    from headway.record.target_process.deadline import Interrupted
    from headway.report.json.live_locks import live_locks_text
    from headway.report.output import new_file
    from headway.report.terminal.printing.text import printable

    suffix = "json" if as_json else "txt"
    path = output or Path(f"locks-{pid}-{time.strftime('%Y%m%d-%H%M%S')}.{suffix}")
    process = running_process(pid, "dump")
    with (
        contextlib.suppress(Interrupted),
        ended_by_signals() as ended,
        live_locks(process, lambda: is_over(ended)) as (table, is_ours),
    ):
        for now, _ in looks(table, ended, process, seconds(interval), first=is_ours, again=False):
            with ended_at_once(ended), new_file(path, overwrite=force) as file:
                rows = live_rows(now, min_parks=min_parks)
                if as_json:
                    file.write((live_locks_text(now, rows) + "\n").encode())
                else:
                    from headway.report.terminal.lock_text import live_text

                    file.write(live_text(now, rows).encode(errors="backslashreplace"))
            if str(path) != "-":
                out.echo(f"{printable(str(path))}: {len(rows)} objects")
            return 0
    return 130
