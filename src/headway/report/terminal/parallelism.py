"""`headway parallelism` on the terminal: averages, for how long how many threads were active, and what each kind took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent, significant
from headway.report.terminal.printing.console import print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import make_table, time_text
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.scheduling.parallelism import Parallelism, ParallelismLevel

BAR = 20
SINGLE_LEVELS = 8


def render_parallelism(result: Parallelism, console: Console) -> None:
    """Print the averages, the levels, the kinds of threads, and what weakens the figures."""
    middle = result.percentiles
    console.print(f"{significant(result.mean_active)} threads active on average, {result.max_active} at most")
    console.print(f"{significant(result.mean_running)} running on average, {result.max_running} at most")
    console.print(
        f"one thread alone for {percent(result.serial_share)} of the time, none for {percent(result.idle_share)}"
    )
    console.print(f"half of the time at most {middle[50]} active, {middle[5]} to {middle[95]} for nine tenths of it")
    console.print(f"wall time {duration(result.wall_ns)}, mode {printable(result.mode)}")
    print_tables(result, console)
    print_notices(console, result.notices)


def print_tables(result: Parallelism, console: Console) -> None:
    """Print the levels and the kinds of threads."""
    print_table(console, levels_table(result))
    print_table(console, kinds_table(result))


def levels_table(result: Parallelism) -> Table:
    """T_j: how long each number of threads was active, and running; high numbers are put together."""
    table = make_table(
        ("active", "right"),
        ("time", "right"),
        ("share", "right"),
        ("", "left"),
        ("no steal", "right"),
        ("running", "right"),
        title="Threads active at the same time",
    )
    for first, last in _groups(result.max_active):
        rows, running = result.levels[first : last + 1], result.running_levels[first : last + 1]
        share = _sum(rows) / result.wall_ns
        corrected = None if result.corrected_wall_ns is None else sum(row.corrected_ns or 0 for row in rows)
        table.add_row(
            str(first) if first == last else f"{first}-{last}",
            duration(_sum(rows)),
            percent(share),
            "#" * round(min(share, 1.0) * BAR),
            time_text(corrected),
            percent(_sum(running) / result.wall_ns),
        )
    return table


def _groups(top: int) -> list[tuple[int, int]]:
    """Return ranges of levels: single ones up to SINGLE_LEVELS, then each twice as long as the one before."""
    groups = [(j, j) for j in range(min(top, SINGLE_LEVELS) + 1)]
    first = SINGLE_LEVELS + 1
    while first <= top:
        last = min(top, 2 * (first - 1))
        groups.append((first, last))
        first = last + 1
    return groups


def _sum(rows: Sequence[ParallelismLevel]) -> int:
    return sum(row.ns for row in rows)


def kinds_table(result: Parallelism) -> Table:
    """What each kind of thread takes."""
    table = make_table(
        ("kind", "left"),
        ("CPU time", "right"),
        ("of all", "right"),
        ("mean active", "right"),
        ("max", "right"),
        ("active for", "right"),
        title="By kind of thread",
    )
    total = sum(result.running_core_ns.values()) or 1
    for kind in result.kinds:
        levels = result.by_kind[kind]
        table.add_row(
            kind,
            duration(result.running_core_ns[kind]),
            percent(result.running_core_ns[kind] / total),
            significant(sum(level.threads * level.ns for level in levels) / result.wall_ns),
            str(levels[-1].threads),
            percent(1 - levels[0].ns / result.wall_ns),
        )
    return table
