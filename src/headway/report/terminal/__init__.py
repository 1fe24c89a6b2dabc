"""The terminal report: the verdict first, then tables that fit 80 columns, then what weakens the figures."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from headway.errors import Notice

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.store import Recording

TOP_THREADS = 8
IN_THE_ACCOUNT = ("cores", "lost_most", "serial", "locks")
"""Findings that the account of the cores says better."""


def make_console(file: IO[str] | None = None) -> Console:
    """Return a console for reports: colour only on a terminal, 80 columns when the output is no terminal.

    Markup is off, because names of the recorded program are printed as they are. Printing raises BrokenPipeError when
    the reader has left.
    """
    from rich.console import Console

    class PlainConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich's own gives standard output away and exits with 1, in the midst of what the caller has yet to do.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return PlainConsole(file=file, markup=False, highlight=False, emoji=False, soft_wrap=False)


def render_overview(recording: Recording, console: Console) -> None:
    """Print everything a person reads first about a recording.

    Raises HeadwayError as `analyses.overview.overview` does.
    """
    from headway.analyses.overview import overview
    from headway.report.terminal import tables

    found = overview(recording)
    if found.why is not None:
        from headway.report.terminal.why import render_account

        render_account(found.why.account, console)
        console.print()
    for finding in found.findings:
        if found.why is None or finding.id not in IN_THE_ACCOUNT:
            print_line(console, finding.text, bullet="*")
    if found.parallelism is not None:
        print_table(console, tables.levels_table(found.parallelism))
        print_table(console, tables.kinds_table(found.parallelism))
    if found.walltime is not None:
        print_table(console, tables.walltime_table(found.walltime))
        print_withheld(console, found.walltime.predictions)
    contended = found.locks.contended if found.locks is not None else []
    if any(finding.id == "locks" for finding in found.findings):
        from headway.report.terminal.locks import locks_table

        print_table(console, locks_table(contended, "Locks that cost most (headway locks shows all)"))
    if found.threads.rows:
        rows = found.threads.rows
        title = f"Threads that ran longest ({min(TOP_THREADS, len(rows))} of {len(rows)})"
        print_table(console, tables.threads_table(rows[:TOP_THREADS], title))
    print_notices(console, found.notices)


def print_table(console: Console, table: Table) -> None:
    """Print a table with a line before it."""
    from headway.report.terminal.fitted import fit

    console.print()
    fit(table, console)
    console.print(table, crop=False)


def print_line(console: Console, text: str, bullet: str) -> None:
    """Print a paragraph with a hanging bullet, wrapped at the console's width."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from headway.report.terminal.text import printable

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(bullet), Text(printable(text)))
    console.print(Padding(grid, (0, 0, 0, 0)))


def print_withheld(console: Console, predictions: Sequence[object]) -> None:
    """Say why figures are withheld."""
    for each in predictions:
        reason = getattr(each, "withheld", None)
        if reason:
            print_line(console, f"{getattr(each, 'cores', '')} cores: withheld, because {reason}.", bullet="!")


def print_notices(console: Console, notices: Sequence[Notice]) -> None:
    """Print what weakens the figures, each with the next command."""
    if not notices:
        return
    console.print()
    console.print("Warnings (headway explain ID says more)", style="bold")
    for notice in notices:
        print_line(console, notice.message, bullet=notice.id)
        if notice.remedy:
            print_line(console, notice.remedy, bullet="  ->  ")
