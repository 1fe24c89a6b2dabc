"""`headway numa-map --pid`: on which memory nodes the heap of a running process is. Recordings: report/analyses/numa_map.py."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli import out
from headway.cli.live import ended_by_signals, over, process_descriptor, seconds
from headway.cli.options import TimeType
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.analyses.numa.heap_map import HeapMap
    from headway.model.heap_look import HeapLook
    from headway.record.collect.heap_nodes import HeapAsker

_INTERVAL_S = 1.0
_STARTING_S = 0.2
"""Between two looks at a JVM that is starting."""


class LiveNumaMap:
    """The view of a running process that `numa-map` has beside recordings (cli/analysis.py says what a live view gives)."""

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --pid, and what goes with it."""
        return (
            click.Option(["--pid"], type=int, metavar="PID", help="The heap of a running JVM, not of a recording."),
            click.Option(["--interval"], type=TimeType(), metavar="T", help="With --pid: time between two looks. [1s]"),
            click.Option(
                ["--duration"], type=TimeType(), metavar="T", help="With --pid: end after this time, not at Ctrl-C."
            ),
        )

    def is_asked(self, path: Path | None, live_options: dict[str, Any], **options: Any) -> bool:
        """Return whether a process is asked, not a recording. Raises click.UsageError for options that don't go together."""
        pid: int | None = live_options["pid"]
        if (path is None) == (pid is None):
            raise click.UsageError("give either a recording, or --pid PID")
        if pid is None and (live_options["interval"] is not None or live_options["duration"] is not None):
            raise click.UsageError("--interval and --duration go with --pid")
        if pid is not None and options["show_all"]:
            raise click.UsageError("--all goes with a recording")
        return pid is not None

    def show(self, live_options: dict[str, Any], *, as_json: bool, **options: Any) -> None:
        """Print a line each interval. Ctrl-C, the end of the process, and that of the duration end it well."""
        from headway.analyses.numa.heap_map import heap_now
        from headway.record.collect.heap_nodes import HeapAsker
        from headway.record.machine.host import memory_nodes
        from headway.record.session.plan import running_process

        pid, interval_s = live_options["pid"], seconds(live_options["interval"], _INTERVAL_S)
        last_s = time.monotonic() + (
            float("inf") if live_options["duration"] is None else seconds(live_options["duration"], 0, "--duration")
        )
        asked = running_process(pid, "numa-map")
        asker, start_ns = HeapAsker(asked), time.monotonic_ns()
        nodes = memory_nodes()
        is_first = True
        with ended_by_signals() as ended, process_descriptor(asked) as process:
            while True:
                look = _look(asker, pid)
                if look is not None:
                    found = heap_now(look, start_ns, None if nodes is None else tuple(nodes))
                    _print(found, as_json=as_json, is_first=is_first)
                    is_first = False
                wait_s = min(interval_s if look is not None else _STARTING_S, last_s - time.monotonic())
                if wait_s <= 0 or over(ended, process, wait_s):
                    return


def _look(asker: HeapAsker, pid: int) -> HeapLook | None:
    """Return one look; None while the JVM starts. Raises HeadwayError HW732 where the kernel does not say."""
    try:
        return asker.look()
    except ProcessLookupError:
        return None
    except OSError as error:
        raise HeadwayError("HW732", pid=pid, reason=error.strerror or str(error)) from error


def _print(found: HeapMap, *, as_json: bool, is_first: bool) -> None:
    if as_json:
        from headway.report.json.numa_map import heap_map_json
        from headway.report.json.text import json_text, one_line

        out.echo(one_line(json_text(heap_map_json(found))))
    else:
        from headway.report.analyses.numa_map import SAMPLED, heap_line

        if is_first:
            for notice in found.notices:
                out.echo_notice(notice)
            if found.is_all_local:
                out.echo("The machine has one memory node: everything is local.")
            if not all(look.is_exact for look in found.looks):
                out.echo(SAMPLED)
        out.echo(heap_line(found))
