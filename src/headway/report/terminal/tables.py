"""The tables of the terminal report: each takes a result and fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headway.analyses.parallelism import Level, Parallelism
from headway.analyses.threads import ThreadRow
from headway.analyses.units import duration, percent, significant
from headway.analyses.walltime import Prediction, Walltime
from headway.report.terminal.text import printable

if TYPE_CHECKING:
    from rich.console import JustifyMethod

BAR = 20
SINGLE_LEVELS = 8
UNKNOWN = "-"


def _table(*columns: tuple[str, JustifyMethod], title: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=title, title_justify="left", title_style="bold")
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")
    return table


def _time(ns: int | None) -> str:
    return UNKNOWN if ns is None else duration(ns)


def levels_table(result: Parallelism) -> Table:
    """T_j: how long each number of threads was active, and running; high numbers are put together."""
    table = _table(
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
            "#" * round(share * BAR),
            _time(corrected),
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


def _sum(rows: Sequence[Level]) -> int:
    return sum(row.ns for row in rows)


def kinds_table(result: Parallelism) -> Table:
    """What each kind of thread takes."""
    table = _table(
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


def walltime_table(result: Walltime) -> Table:
    """Predictions by number of cores."""
    table = _table(
        ("cores", "right"),
        ("time", "right"),
        ("from", "right"),
        ("to", "right"),
        ("speedup", "right"),
        ("ideal", "right"),
        ("no steal", "right"),
        ("", "left"),
        title="Wall time by number of cores",
    )
    for each, ideal in zip(result.predictions, result.ideal_ns, strict=True):
        table.add_row(*_prediction(each, ideal, result))
    return table


def _prediction(each: Prediction, ideal_ns: int, result: Walltime) -> tuple[str, ...]:
    if each.ns is None:
        return str(each.cores), "withheld", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, ""
    return (
        str(each.cores),
        duration(each.ns),
        _time(each.low_ns),
        _time(each.high_ns),
        f"{significant(result.measured_ns / each.ns)}x" if each.ns else UNKNOWN,
        duration(ideal_ns),
        _time(each.corrected_ns),
        "measured" if each.cores == result.recorded_cores else "",
    )


def threads_table(rows: Sequence[ThreadRow], title: str = "Threads") -> Table:
    """What each thread spent its time on."""
    table = _table(
        ("thread", "left"),
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
    table.columns[0].max_width = 22
    for row in rows:
        table.add_row(
            Text(printable(row.name)),
            str(row.tid),
            row.kind,
            _time(row.running_ns),
            _time(row.runnable_ns),
            _time(row.blocked_ns),
            UNKNOWN if row.switches is None else str(row.switches),
            UNKNOWN if row.share is None else percent(row.share),
            UNKNOWN if row.mean_parallelism is None else significant(row.mean_parallelism),
        )
    return table
