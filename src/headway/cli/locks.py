"""`headway locks`: who waits for which lock, of a recording or of a JVM that runs now."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway.cli import options
from headway.cli.options import TimePoint, TimeType

if TYPE_CHECKING:
    from headway.model.live_lock import LiveTable

BY = ("lock", "class", "site")
SORT = ("cost", "thread-time", "real-time", "times", "average", "hold", "peak", "first")
LIVE_SORT = ("thread-time", "now", "times", "real-time", "average", "peak")


@click.command(
    epilog="""\b
Examples:
  headway locks app.headway
  headway locks app.headway --by site --from 2s --to 50%
  headway locks app.headway --sort times --min-parks 100 --json
  headway locks --pid 4711 --watch
"""
)
@click.argument(
    "recording_path",
    metavar="[NAME.headway]",
    type=click.Path(path_type=Path),
    required=False,
    callback=options.recorded_otherwise,
)
@click.option("--pid", type=int, metavar="PID", help="The locks of a JVM that runs now, instead of a recording.")
@click.option("--watch", is_flag=True, help="With --pid: again and again, until Ctrl-C.")
@click.option(
    "--interval", type=TimeType(), metavar="T", help="With --pid: time between two looks, and of the first one. [2s]"
)
@click.option("--by", type=click.Choice(BY), default="lock", help="A row per object, class or place that waits.")
@click.option("--sort", metavar="KEY", help=f"Order: {', '.join(SORT)}; with --pid also 'now'.")
@click.option("--min-parks", type=click.IntRange(0), default=0, metavar="N", help="Leave out what was waited for less.")
@click.option("--from", "start", type=TimeType(), metavar="T", help="Begin of the window: 1.5s, 200ms, 2m, 25% ...")
@click.option("--to", "end", type=TimeType(), metavar="T", help="End of the window.")
@click.option("--all", "show_all", is_flag=True, help="All rows, each with its sites and holders, up to 100.")
@options.json_option
def command(
    recording_path: Path | None, pid: int | None, watch: bool, interval: TimePoint | None, by: str, sort: str | None,
    min_parks: int, start: TimePoint | None, end: TimePoint | None, show_all: bool, as_json: bool,
) -> int:  # fmt: skip
    """Tell who waits for which lock, who holds it, and what the holder does.

    Locks, conditions, queues, pools, monitors and Object.wait alike. Waiting that is no contention (idle workers, timers,
    results of others) is listed apart, with the rule that says so: "lost" is core time that stood idle meanwhile, "busy"
    the share of the time with somebody waiting, "hold" the mean time held (or its estimate where it was not seen).
    """
    if (recording_path is None) == (pid is None):
        raise click.UsageError("give either a recording, or --pid PID")
    keys = SORT if pid is None else LIVE_SORT
    if sort is not None and sort not in keys:
        raise click.UsageError(f"--sort {sort}: choose of {', '.join(keys)}")
    if pid is None and (watch or interval is not None):
        raise click.UsageError("--watch and --interval go with --pid")
    if pid is not None:
        if by != "lock" or start is not None or end is not None:
            raise click.UsageError("--by, --from and --to go with a recording")
        return _live(pid, watch, seconds(interval), sort or LIVE_SORT[0], min_parks, show_all, as_json)
    assert recording_path is not None
    _recorded(recording_path, by, sort or SORT[0], min_parks, (start, end), show_all, as_json)
    return 0


def seconds(interval: TimePoint | None) -> float:
    """Return --interval in seconds. Raises click.UsageError for none, a percentage or zero."""
    if interval is None:
        return 2.0
    if not interval.ns:
        raise click.UsageError(f"--interval {interval.text}: give a time above zero, such as 2s")
    return interval.ns / 1e9


def _recorded(
    path: Path,
    by: str,
    sort: str,
    min_parks: int,
    window: tuple[TimePoint | None, TimePoint | None],
    show_all: bool,
    as_json: bool,
) -> None:
    from headway.analyses import activity, locks
    from headway.store import open_recording

    recording = open_recording(path)
    span = options.resolve_window(*window, activity.wall_ns(recording))
    result = locks.locks(recording, span, by=by, sort=sort, min_parks=min_parks)
    if as_json:
        from headway.report.lock_text import lock_texts

        options.print_json_list(lock_texts(result))
        for notice in result.notices:
            click.echo(f"{notice.id}: {notice.message}", err=True)
        return
    from headway.report.terminal import make_console
    from headway.report.terminal.locks import render_locks

    render_locks(result, make_console(), show_all)


# --- of a JVM that runs now --------------------------------------------------------------------------------------------


def _live(pid: int, watch: bool, interval_s: float, sort: str, min_parks: int, show_all: bool, as_json: bool) -> int:
    """Print the live table once or again and again. Ctrl-C, and the end of the JVM, end it well."""
    from headway.cli.live import ended_by_signals, looks
    from headway.record.live_locks import live_locks

    with ended_by_signals() as ended, live_locks(pid) as (table, is_ours):
        for now, before in looks(table, ended, pid, interval_s, first=is_ours, again=watch):
            _show(now, before, sort, min_parks, show_all, as_json, watch)
    return 0


def _show(
    now: LiveTable, before: LiveTable | None, sort: str, min_parks: int, show_all: bool, as_json: bool, watch: bool
) -> None:
    from headway.analyses.live import live_rows

    rows = live_rows(now, before, sort, min_parks)
    if as_json:
        import json

        from headway.report.lock_json import live_json

        click.echo(json.dumps(live_json(now, rows), indent=None if watch else 1, allow_nan=False))
    else:
        from headway.report.terminal import make_console, print_line
        from headway.report.terminal.locks import first_waits, live_table

        console = make_console()
        if watch and console.is_terminal:
            click.echo("\x1b[H\x1b[2J", nl=False)
        console.print(live_table(now, rows, None if show_all else 20))
        for line in first_waits(rows, show_all):
            print_line(console, line, bullet="*")
    sys.stdout.flush()
