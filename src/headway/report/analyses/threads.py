"""`headway threads` as an analysis of the seam: what every thread spent its time on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.analyses.common.limits import rows_left_out
from headway.report.analysis import BaseAnalysis, Shown, Window
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.overview import Overview
    from headway.analyses.scheduling.threads import Threads
    from headway.errors import Notice
    from headway.store import Recording

TOP = 40
"""Rows on the terminal unless all are asked for."""


class ThreadsAnalysis(BaseAnalysis):
    """The analysis `threads`: how long each thread ran, waited for a core, and was blocked."""

    name = "threads"
    summary = summary_of(name)
    help = """Tell per thread how long it ran, waited for a core, and was blocked.

    "share" is of all threads' running time; "par." is the mean number of active
    threads while this one ran. In JSON, start_ns and end_ns count from the start of
    the recording; warnings go to standard error.
    """
    examples = (
        "headway threads app.headway",
        "headway threads app.headway --all",
        "headway threads app.headway --json",
    )
    has_window = False

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --all."""
        text = f"List all threads, not only the {TOP} that ran longest."
        return (click.Option(["--all", "show_all"], is_flag=True, help=text),)

    def run(self, recording: Recording, window: Window, **options: Any) -> Shown[Threads]:
        """Return every thread. Raises HeadwayError as `analyses.scheduling.threads.threads`."""
        from headway.analyses.scheduling.threads import threads

        return Shown(threads(recording), options["show_all"])

    def to_json(self, result: Shown[Threads]) -> list[dict[str, Any]]:
        """Return the stable form of every thread."""
        from headway.report.json.threads import threads_json

        return threads_json(result.answer)

    def notices_beside_json(self, result: Shown[Threads]) -> tuple[Notice, ...]:
        """Return what weakens the figures: a list has no place for it."""
        found = result.answer
        return (*found.notices, *rows_left_out("threads", found.count))

    def render(self, result: Shown[Threads], console: Console, name: str) -> None:
        """Print the threads that ran longest, or all."""
        from headway.report.terminal.threads import render_threads

        render_threads(result.answer, console, None if result.show_all else TOP)

    def print_in_overview(self, found: Overview, console: Console) -> None:
        """Print the few that ran longest."""
        from headway.report.terminal.threads import print_longest

        print_longest(found.threads, console)


THREADS = ThreadsAnalysis()
