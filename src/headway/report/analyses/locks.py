"""`headway locks` as an analysis of the seam: who waits for which lock, who holds it, and what the holder does.

The locks of a JVM that runs now are no recording: the command line looks at those itself (cli/live_locks.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.analyses.common.limits import rows_left_out
from headway.report.analysis import BaseAnalysis, Shown, View, Window
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.locks.answer import Locks
    from headway.analyses.overview import Overview
    from headway.errors import Notice
    from headway.store import Recording

BY = ("place", "lock", "class", "site")
SORT = ("cost", "thread-time", "real-time", "times", "average", "hold", "peak", "first")


class LocksAnalysis(BaseAnalysis):
    """Lists every lock, condition, queue and monitor that threads waited for, with its holders and their costs."""

    name = "locks"
    summary = summary_of(name)
    help = """Tell who waits for which lock, who holds it, and what the holder does.

    Locks, conditions, queues, pools, monitors and Object.wait alike. Waiting that is no contention (idle workers, timers,
    results of others) is listed apart, with the rule that says so: "lost" is core time that stood idle meanwhile, "busy"
    the share of the time with somebody waiting, "hold" the mean time held (or its estimate where it was not seen).
    """
    examples = (
        "headway locks app.headway",
        "headway locks app.headway --by site --from 2s --to 50%",
        "headway locks app.headway --sort times --min-parks 100 --json",
        "headway locks --pid 4711 --watch",
    )

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return how rows are made, ordered and selected."""
        by = "A row per place (the objects of a class that are waited for at one line), object, class, or line. [place]"
        sort, least = f"Order: {', '.join(SORT)}; with --pid also 'now'.", "Leave out what was waited for less."
        return (
            click.Option(["--by"], type=click.Choice(BY), default=BY[0], help=by),
            click.Option(["--sort"], metavar="KEY", help=sort),
            click.Option(["--min-parks"], type=click.IntRange(0), default=0, metavar="N", help=least),
            click.Option(
                ["--all", "show_all"], is_flag=True, help="All rows, each with its sites and holders, up to 100."
            ),
        )

    def check(self, path: Path | None, **options: Any) -> None:
        """Refuse an unknown order."""
        check_order(options["sort"], SORT)

    def run(self, recording: Recording, window: Window, **options: Any) -> Shown[Locks]:
        """Return the rows. Raises HeadwayError as `analyses.locks.analysis.locks`."""
        from headway.analyses.locks.analysis import locks

        by, sort, least = options["by"], options["sort"] or SORT[0], options["min_parks"]
        return Shown(locks(recording, window, by=by, sort=sort, min_parks=least), options["show_all"])

    def to_json(self, result: Shown[Locks]) -> list[dict[str, Any]]:
        """Return the stable form of every row."""
        from headway.report.json.locks import locks_json

        return list(locks_json(result.answer))

    def json_items(self, result: Shown[Locks]) -> Iterator[str]:
        """Return the text of each row: there may be a million."""
        from headway.report.json.locks import lock_texts

        return lock_texts(result.answer)

    def notices_beside_json(self, result: Shown[Locks]) -> tuple[Notice, ...]:
        """Return what weakens the figures: a list has no place for it."""
        found = result.answer
        return (*found.notices, *rows_left_out("locks", len(found.rows)))

    def render(self, result: Shown[Locks], console: Console, name: str) -> None:
        """Print which lock costs most, then contention and idle waiting."""
        from headway.report.terminal.locks import render_locks

        render_locks(result.answer, console, result.show_all)

    def print_in_overview(self, found: Overview, console: Console) -> None:
        """Print those that cost most, if any costs something to speak of."""
        from headway.report.terminal.locks import print_costliest

        if found.locks is not None and any(finding.id == "locks" for finding in found.findings):
            print_costliest(found.locks, console)

    def view(self, recording: Recording, found: Overview) -> View:
        """Return the first rows, and when each is waited for."""
        from headway.report.html.locks import locks_view

        return locks_view(recording, found.locks)


def check_order(sort: str | None, known: tuple[str, ...]) -> None:
    """Raise click.UsageError for an order that is not among those known."""
    if sort is not None and sort not in known:
        raise click.UsageError(f"--sort {sort}: choose of {', '.join(known)}")


LOCKS = LocksAnalysis()
