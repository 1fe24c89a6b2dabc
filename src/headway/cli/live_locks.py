"""`headway locks --pid`: the locks of a JVM that runs now, once or again and again. Recordings: report/analyses/locks.py."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import out
from headway.cli.live import ended_at_once, ended_by_signals, is_over, looks, seconds
from headway.cli.options import TimeType
from headway.report.analyses.locks import BY, check_order

if TYPE_CHECKING:
    from headway.model.live_lock import LiveTable

SORT = ("thread-time", "now", "times", "real-time", "average", "peak")


class LiveLocks:
    """The view of a running JVM that `locks` has beside recordings (cli/analysis.py says what a live view gives)."""

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --pid, and what goes with it."""
        interval = "With --pid: time between two looks, and of the first one. [2s]"
        pid = "The locks of a JVM that runs now, instead of a recording."
        return (
            click.Option(["--pid"], type=int, metavar="PID", help=pid),
            click.Option(["--watch"], is_flag=True, help="With --pid: again and again, until Ctrl-C."),
            click.Option(["--interval"], type=TimeType(), metavar="T", help=interval),
        )

    def is_asked(self, path: Path | None, live_options: dict[str, Any], **options: Any) -> bool:
        """Return whether a JVM is asked, not a recording. Raises click.UsageError for options that don't go together."""
        pid: int | None = live_options["pid"]
        if (path is None) == (pid is None):
            raise click.UsageError("give either a recording, or --pid PID")
        if pid is not None:
            check_order(options["sort"], SORT)
            if options["by"] != BY[0] or options["start"] is not None or options["end"] is not None:
                raise click.UsageError("--by, --from and --to go with a recording")
        elif live_options["watch"] or live_options["interval"] is not None:
            raise click.UsageError("--watch and --interval go with --pid")
        return pid is not None

    def show(self, live_options: dict[str, Any], *, as_json: bool, **options: Any) -> None:
        """Print the live table once or again and again. Ctrl-C, and the end of the JVM, end it well."""
        from headway.record.live.live_locks import live_locks
        from headway.record.session.plan import running_process
        from headway.record.target_process.deadline import Interrupted

        pid, watch, interval_s = live_options["pid"], live_options["watch"], seconds(live_options["interval"])
        process = running_process(pid, "locks")
        sort, min_parks, show_all = options["sort"] or SORT[0], options["min_parks"], options["show_all"]
        with (
            contextlib.suppress(Interrupted),
            ended_by_signals() as ended,
            live_locks(process, lambda: is_over(ended)) as (table, is_ours),
        ):
            for now, before in looks(table, ended, process, interval_s, first=is_ours, again=watch):
                with ended_at_once(ended):
                    _print(now, before, sort, min_parks, show_all, as_json, watch)


def _print(
    now: LiveTable, before: LiveTable | None, sort: str, min_parks: int, show_all: bool, as_json: bool, watch: bool
) -> None:
    from headway.analyses.locks.live import live_rows

    rows = live_rows(now, before, sort, min_parks)
    if as_json:
        from headway.report.json.live_locks import live_locks_text
        from headway.report.json.text import one_line

        text = live_locks_text(now, rows)
        out.echo(one_line(text) if watch else text)  # watched: a line a look
    else:
        from headway.analyses.locks.live import by_place
        from headway.report.terminal import make_console, print_line
        from headway.report.terminal.live_locks import first_waits, live_tables

        console = make_console()
        if watch and console.is_terminal:
            out.control(out.CLEAR_SCREEN)
        rows = by_place(now, rows, sort)
        for table in live_tables(now, rows, None if show_all else 20, console.width):
            console.print(table)
        for line in first_waits(rows, show_all):
            print_line(console, line, bullet="*")
    sys.stdout.flush()
