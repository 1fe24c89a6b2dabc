"""`headway threads` on the terminal: what each thread spent its time on, those that ran longest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.common.units import percent, significant
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import MOST_PRINTED, UNKNOWN, make_table, time_text
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.scheduling.threads import ThreadRow, Threads

TOP_IN_OVERVIEW = 8


def render_threads(found: Threads, console: Console, most: int | None = None) -> None:
    """Print the table, of the first `most` threads if not of MOST_PRINTED, and what weakens its figures."""
    shown = found.rows[: MOST_PRINTED if most is None else most]
    print_table(console, threads_table(shown, counted(found.count, "thread"), console.width))
    if len(shown) < found.count:
        way = "--json, or headway query" if most is None else "--all"
        console.print(f"{found.count - len(shown)} more that ran less: {way}")
    print_notices(console, found.notices)


def print_longest(found: Threads, console: Console) -> None:
    """Print the few that ran longest."""
    rows = found.rows
    if rows:
        title = f"Threads that ran longest ({min(TOP_IN_OVERVIEW, len(rows))} of {found.count})"
        print_table(console, threads_table(rows[:TOP_IN_OVERVIEW], title, console.width))


def threads_table(rows: Sequence[ThreadRow], title: str = "Threads", width: int = 80) -> Table:
    """What each thread spent its time on; of several processes each with its process."""
    several = len({row.pid for row in rows}) > 1
    table = make_table(
        ("thread", "left"),
        *((("process", "right"),) if several else ()),
        ("tid", "right"),
        ("kind", "left"),
        ("running", "right"),
        ("waiting", "right"),
        ("blocked", "right"),
        ("switches", "right"),
        ("share", "right"),
        ("par.", "right"),
        title=title,
    )
    table.padding = (0, 1, 0, 0)
    table.columns[0].max_width = max(22, width - (58 if several else 50))
    for row in rows:
        table.add_row(
            Text(printable(row.name)),
            *((str(row.pid),) if several else ()),
            str(row.tid),
            f"{row.kind}+gc" if row.collecting_ns else row.kind,
            time_text(row.running_ns),
            time_text(row.runnable_ns),
            time_text(row.blocked_ns),
            UNKNOWN if row.switches is None else str(row.switches),
            UNKNOWN if row.share is None else percent(row.share),
            UNKNOWN if row.mean_parallelism is None else significant(row.mean_parallelism),
        )
    return table
