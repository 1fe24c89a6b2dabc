"""`headway counters --pid`: what the threads of a running process count. Recordings: report/analyses/counters.py."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import out
from headway.cli.live import ended_at_once, ended_by_signals, is_over, over, process_descriptor, seconds
from headway.cli.options import ALLOW_BREAKPOINTS, TimeType
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.analyses.counters.types import Counters
    from headway.model.thread_counts import ProcessCounts
    from headway.record.collect.thread_counters import ThreadWatch
    from headway.record.target_process.processes import Process

_LOOK_S = 0.1
"""How often threads that are new are looked for."""
_INTERVAL_S = 1.0
_OF_PROCESSES = ("interval", "duration", "asked", "allow_breakpoints")
_OF_RECORDINGS = ("regions", "iterations", "last", "start", "end")


class LiveCounters:
    """The view of a running process that `counters` has beside recordings (cli/analysis.py says what a live view gives)."""

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --pid, and what goes with it."""
        return (
            click.Option(["--pid"], type=int, metavar="PID", help="The threads of a running process, not a recording."),
            click.Option(
                ["--interval"], type=TimeType(), metavar="T", help="With --pid: time between two tables. [1s]"
            ),
            click.Option(
                ["--duration"], type=TimeType(), metavar="T", help="With --pid: end after this time, not at Ctrl-C."
            ),
            click.Option(
                ["--counters", "asked"],
                metavar="GROUPS",
                help="With --pid: the groups of events, as in 'headway record --counters'.",
            ),
            click.Option(
                ["--allow-breakpoints"],
                is_flag=True,
                help=f"With --pid. {ALLOW_BREAKPOINTS}",
            ),
        )

    def is_asked(self, path: Path | None, live_options: dict[str, Any], **options: Any) -> bool:
        """Return whether a process is asked, not a recording. Raises click.UsageError for options that don't go together."""
        pid: int | None = live_options["pid"]
        if (path is None) == (pid is None):
            raise click.UsageError("give either a recording, or --pid PID")
        if pid is None and any(live_options[name] not in (None, False) for name in _OF_PROCESSES):
            raise click.UsageError("--interval, --duration, --counters and --allow-breakpoints go with --pid")
        if pid is not None and (options["by"] != "thread" or any(options[name] for name in _OF_RECORDINGS)):
            raise click.UsageError("--by, --region, --iterations, --last, --from and --to go with a recording")
        return pid is not None

    def show(self, live_options: dict[str, Any], *, as_json: bool, **options: Any) -> None:
        """Print a table each interval. Ctrl-C, the end of the process, and that of the duration end it well."""
        from headway.analyses.counters.totals.live import live_counters
        from headway.record.collect.thread_counters import countable, thread_watch
        from headway.record.counters.groups import DEFAULT, parse
        from headway.record.session.plan import running_process
        from headway.record.target_process.deadline import Interrupted

        pid, interval_s = live_options["pid"], seconds(live_options["interval"], _INTERVAL_S)
        duration_s = None if live_options["duration"] is None else seconds(live_options["duration"], 0, "--duration")
        process = running_process(pid, "counters")
        found = countable(parse(live_options["asked"] or DEFAULT, allow_breakpoints=live_options["allow_breakpoints"]))
        names = [[event.name for event in group] for group in found.groups]
        absent = [(each.event, each.reason) for each in found.absent]
        of_set = None if options["of_set"] == "all" else options["of_set"]
        with (
            contextlib.suppress(Interrupted),
            ended_by_signals() as ended,
            thread_watch(pid, found.groups, lambda: is_over(ended)) as watch,
        ):
            since_ns = 0
            if not process.is_alive:  # its number may have been another's
                raise HeadwayError("HW004", pid=pid, reason="it has ended")
            for before, now in _looks(watch, process, ended, interval_s, duration_s):
                since_ns = since_ns or before.now_ns
                answer = live_counters(before, now, names, found.step, absent, of_set, since_ns=since_ns)
                with ended_at_once(ended):
                    _print(answer, as_json=as_json, show_all=options["show_all"])
                absent = absent if as_json else []  # a table says so once


def _looks(
    watch: ThreadWatch, target: Process, ended: int, interval_s: float, duration_s: float | None
) -> Iterator[tuple[ProcessCounts, ProcessCounts]]:
    """Yield two readings, an interval apart, until somebody asks us to end, the process ends, or the duration is over."""
    began = time.monotonic()
    last_s = float("inf") if duration_s is None else began + duration_s
    next_s = began
    before = watch.read()
    with process_descriptor(target) as process:
        while True:
            next_s = min(max(next_s + interval_s, time.monotonic()), last_s)
            why = _wait(watch, ended, process, next_s)
            if why == "signal":
                return
            now = watch.read()
            yield before, now
            before = now
            if why or next_s >= last_s:
                return


def _wait(watch: ThreadWatch, ended: int, process: int | None, until_s: float) -> str:
    """Wait, looking for new threads, and return what ended it: 'signal', 'exit', or '' when the time is up."""
    pause_s = _LOOK_S
    while (left_s := until_s - time.monotonic()) > 0:
        if why := over(ended, process, min(left_s, pause_s)):
            return why
        began = time.monotonic()
        watch.look()
        pause_s = max(
            _LOOK_S, 9 * (time.monotonic() - began)
        )  # of very many threads it takes long: a tenth of the time
    return ""


def _print(answer: Counters, *, as_json: bool, show_all: bool) -> None:
    if as_json:
        from headway.report.json.counters import counters_json
        from headway.report.json.text import json_text, one_line

        out.echo(one_line(json_text(counters_json(answer))))
    else:
        from headway.report.analyses.counters import TOP
        from headway.report.terminal import make_console
        from headway.report.terminal.counters import render_counters

        console = make_console()
        if console.is_terminal:
            out.control(out.CLEAR_SCREEN)
        begin_ns, end_ns = answer.window_ns
        console.print(f"from {begin_ns / 1e9:.1f}s to {end_ns / 1e9:.1f}s:")
        render_counters(answer, console, None if show_all else TOP)
    sys.stdout.flush()
