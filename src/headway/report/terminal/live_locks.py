"""The locks of a running JVM on the terminal: a table, and who waited first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent, significant
from headway.report.terminal.lock_names import add_names, live_place_and_object
from headway.report.terminal.locks import DETAILS, TOP
from headway.report.terminal.printing.tables import UNKNOWN, make_table

if TYPE_CHECKING:
    from rich.table import Table

    from headway.analyses.locks.live import LiveRow
    from headway.model.live_lock import LiveTable


NOBODY_WAITED = "No thread waited for a lock or a condition."


def live_tables(table: LiveTable, rows: Sequence[LiveRow], limit: int | None = TOP, width: int = 80) -> list[Table]:
    """Return the tables of a running JVM: what may be contention, and idle waiting apart from it; below each how many rows it
    leaves out.
    """
    contended = [row for row in rows if row.contention is not False]
    idle = [row for row in rows if row.contention is False]
    shown, shown_idle = contended[:limit], idle[: None if limit is None else limit // 2]
    found = [_with_rest(_contention(table, shown, width), len(contended) - len(shown))]
    if not contended:
        found[0].show_header = False
        found[0].caption, found[0].caption_style, found[0].caption_justify = NOBODY_WAITED, "", "left"
    return [*found, _with_rest(_idle(shown_idle, width), len(idle) - len(shown_idle))] if idle else found


def _with_rest(table: Table, count: int) -> Table:
    """Say below a table how many more rows there are."""
    if count:
        table.caption, table.caption_style, table.caption_justify = f"{count} more: --all", "", "left"
    return table


def _contention(table: LiveTable, shown: Sequence[LiveRow], width: int) -> Table:
    span = duration(max(0, table.now_ns - table.since_ns))
    found = make_table(
        ("waited for", "left"),
        ("waits", "right"),
        ("now", "right"),
        ("peak", "right"),
        ("waited", "right"),
        ("average", "right"),
        ("hold", "right"),
        ("busy", "right"),
        ("waits/s", "right"),
        title=f"Locks of JVM {table.pid}, recorded for {span}",
    )
    found.padding = (0, 1, 0, 0)
    figures = [
        (
            str(row.lock.sums.times_parked),
            str(row.lock.sums.parked_now),
            f"{_at_least(row)}{row.lock.sums.peak_parked}",
            duration(row.lock.sums.thread_time_ns),
            _figure(row.metrics.average_parking_time_ns),
            _hold(row),
            f"{_at_least(row)}{_share(row.metrics.real_time_util_pct)}",
            UNKNOWN if row.parks_per_s is None else significant(row.parks_per_s),
        )
        for row in shown
    ]
    add_names(found, map(live_place_and_object, shown), figures, width)
    return found


def _idle(shown: Sequence[LiveRow], width: int) -> Table:
    found = make_table(
        ("waited for", "left"),
        ("waits", "right"),
        ("now", "right"),
        ("waited", "right"),
        ("class", "left"),
        ("rule", "left"),
        title="Idle waiting (no contention)",
    )
    found.padding = (0, 1, 0, 0)
    figures = [
        (
            str(row.lock.sums.times_parked),
            str(row.lock.sums.parked_now),
            duration(row.lock.sums.thread_time_ns),
            (row.waiting or UNKNOWN).removeprefix("waiting for "),
            row.rule or UNKNOWN,
        )
        for row in shown
    ]
    add_names(found, map(live_place_and_object, shown), figures, width)
    return found


def _at_least(row: LiveRow) -> str:
    """Return what stands before figures of several objects of which only the largest single one is known."""
    return "" if row.objects == 1 else ">="


def _hold(row: LiveRow) -> str:
    """Return how long it was held on average; ~ where no hold was seen, and it is taken to be held while somebody waits."""
    if row.mean_hold_ns is not None or row.objects > 1:
        return _figure(row.mean_hold_ns)
    estimate = row.metrics.average_hold_time_ns
    return UNKNOWN if estimate is None else f"~{duration(estimate)}"


def _figure(ns: float | None) -> str:
    return UNKNOWN if ns is None else duration(ns)


def _share(pct: float | None) -> str:
    return UNKNOWN if pct is None else percent(min(pct, 100) / 100)


def first_waits(rows: Sequence[LiveRow], show_all: bool) -> list[str]:
    """Return who waited first for each of the contended locks that come first, and where."""
    known = [row for row in rows if row.contention and row.lock.first_thread is not None]
    return [
        f"{place}{f' ({name})' if name else ''}: first waited for by {row.lock.first_thread}"
        for row in (known if show_all else known[:DETAILS])
        for place, name in (live_place_and_object(row),)
    ]
