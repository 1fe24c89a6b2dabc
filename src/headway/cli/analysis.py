"""The command of an analysis (report/analysis.py): the same arguments, windows and output for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from headway.cli import options, out
from headway.cli.options import TimePoint
from headway.report.registry import Plugin, analysis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.report.analysis import Analysis


class LiveView(Protocol):
    """What an analysis is beside recordings: a look at a JVM that runs now, which only the command line can take."""

    def parameters(self) -> Sequence[click.Parameter]:
        """Return its options; the analysis gets none of their values."""

    def is_asked(self, path: Path | None, live_options: dict[str, Any], **options: Any) -> bool:
        """Return whether a JVM is asked, not a recording: `live_options` are those of `parameters`. Raises click.UsageError."""

    def show(self, live_options: dict[str, Any], *, as_json: bool, **options: Any) -> None:
        """Look at the JVM, and print."""


def _live_view(plugin: Plugin) -> LiveView | None:
    """Return the live view that headway has for an analysis of its own."""
    if plugin.package:
        return None
    if plugin.name == "locks":
        from headway.cli.live_locks import LiveLocks

        return LiveLocks()
    if plugin.name == "counters":
        from headway.cli.live_counters import LiveCounters

        return LiveCounters()
    if plugin.name == "numa-map":
        from headway.cli.live_numa_map import LiveNumaMap

        return LiveNumaMap()
    return None


def make_command(plugin: Plugin) -> click.Command:
    """Return the click command that asks a recording, or a sweep, the question of an analysis.

    Raises HeadwayError HW510 for one of another package that fails, and so does the command.
    """
    asked, live = analysis(plugin), _live_view(plugin)
    live_parameters = list(live.parameters()) if live is not None else []

    def ask(
        *,
        as_json: bool,
        path: Path | None = None,
        start: TimePoint | None = None,
        end: TimePoint | None = None,
        **chosen: Any,
    ) -> None:
        live_options = {each.name: chosen.pop(each.name) for each in live_parameters if each.name is not None}
        if live is not None and live.is_asked(path, live_options, start=start, end=end, **chosen):
            live.show(live_options, as_json=as_json, **chosen)
            return
        with plugin.named():
            asked.check(path, **chosen)
        subject, window = _opened(asked, path, start, end)
        with plugin.named():
            _answer(asked, asked.run(subject, window, **chosen), as_json, str(path))

    with plugin.named():
        examples = "".join(f"  {each}\n" for each in asked.examples)
        command = click.Command(
            plugin.name,
            callback=ask,
            help=asked.help,
            short_help=asked.summary,
            epilog=f"\b\nExamples:\n{examples}" if examples else None,
        )
        command.params = [
            _argument(asked, required=asked.needs_subject and live is None),
            *live_parameters,
            *asked.parameters(),
            *(options.window_parameters(of_runs=asked.subject == "sweep") if asked.has_window else ()),
            options.json_parameter(),
        ]
    return command


def _argument(asked: Analysis[Any], *, required: bool) -> click.Argument:
    """Return the argument that names what is asked."""
    metavar = f"NAME.{'sweep' if asked.subject == 'sweep' else 'headway'}"
    callback = None if asked.subject == "sweep" else options.recorded_otherwise
    metavar = metavar if required else f"[{metavar}]"
    return click.Argument(["path"], type=options.PATH, metavar=metavar, required=required, callback=callback)


def _opened(asked: Analysis[Any], path: Path | None, start: TimePoint | None, end: TimePoint | None) -> tuple[Any, Any]:
    """Return what is asked, and the part of it: a window, or a function of a run's length. Raises HeadwayError."""
    if path is None:
        if start is not None or end is not None:
            raise click.UsageError("--from and --to select a part of a recording: give one")
        return None, None
    if asked.subject == "sweep":
        from headway.store.sweep import read_sweep

        whole = start is None and end is None
        return read_sweep(path), None if whole else lambda wall_ns: options.resolve_window(start, end, wall_ns)
    from headway.analyses.scheduling import activity

    recording = options.opened(path)
    return recording, options.resolve_window(start, end, activity.wall_ns(recording)) if asked.has_window else None


def _answer(asked: Analysis[Any], result: Any, as_json: bool, name: str) -> None:
    """Print an answer, on standard output; notices that JSON has no place for on standard error."""
    if not as_json:
        from headway.report.terminal import make_console

        asked.render(result, make_console(), name)
        return
    items = asked.json_items(result)
    if items is None:
        options.print_json(asked.to_json(result))
    else:
        options.print_json_list(items)
    for notice in asked.notices_beside_json(result):
        out.echo_notice(notice)
