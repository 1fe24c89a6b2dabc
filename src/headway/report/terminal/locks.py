"""Locks on the terminal: the verdict first (which lock, what it costs, who holds it, doing what), then tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.live import LiveRow
from headway.analyses.lock_types import Holder, Link, Lock, Locks, Waker
from headway.analyses.units import duration, percent, significant
from headway.report.terminal.tables import UNKNOWN, _table, _time
from headway.report.terminal.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.model.live_lock import LiveTable

TOP = 20
"""Rows of a table unless all are asked for."""
DETAILS = 3
"""Contended locks that get their sites and holders printed."""

_DOING = {
    "running": "running",
    "runnable": "waiting for a core",
    "blocked": "blocked on another lock",
    "gc_pause": "stopped by GC",
    "sleeping": "sleeping or in I/O",
    "handoff": "nobody: the next one wakes up",
    "unknown": "not known",
}


def render_locks(result: Locks, console: Console, show_all: bool = False) -> None:
    """Print the verdict, the contended locks, details of the first ones, idle waiting, and what weakens the figures."""
    from headway.report import terminal

    for line in verdict(result):
        terminal.print_line(console, line, bullet="*")
    contended, idle = result.contended, result.idle
    if contended:
        shown = contended if show_all else contended[:TOP]
        terminal.print_table(console, locks_table(shown, f"Contention, by {result.by}"))
        _print_more(console, len(contended) - len(shown))
    for row in contended if show_all else contended[:DETAILS]:
        _print_details(console, row, show_all)
    if idle:
        shown = idle if show_all else idle[: TOP // 2]
        terminal.print_table(console, idle_table(shown))
        _print_more(console, len(idle) - len(shown))
    if result.hidden:
        console.print(f"{result.hidden} more waited for less often than asked for")
    terminal.print_notices(console, result.notices)


def _print_more(console: Console, count: int) -> None:
    if count > 0:
        console.print(f"{count} more: --all")


# --- the verdict -------------------------------------------------------------------------------------------------------


def verdict(result: Locks) -> list[str]:
    """Return what a person should know first, each in one sentence."""
    lines = [_deadlock_text(each.links) for each in result.deadlocks]
    if not result.waited_for:
        nothing = "No thread waited for a lock or a condition"
        return [
            *lines,
            f"{nothing}; {duration(result.idle_ns)} were idle waiting." if result.idle_ns else f"{nothing}.",
        ]
    first = next(row for row in result.contended if row.sums.thread_time_ns)
    lines.append(f"{first.name} {_cost_text(first, result.wall_ns)}")
    if first.holders:
        lines.append(_holder_text(first))
    if len(first.chain) > 1:
        lines.append(_chain_text(first))
    lines += [pattern.text[0].upper() + pattern.text[1:] + "." for pattern in first.patterns]
    if result.waited_for > 1:
        rest = result.waited_for_ns - first.sums.thread_time_ns
        word = "lock" if result.waited_for == 2 else "locks"
        lines.append(f"{result.waited_for - 1} more {word} cost {duration(rest)} of threads' time.")
    return lines


def _cost_text(row: Lock, wall_ns: int) -> str:
    waited = f"made threads wait for {duration(row.sums.thread_time_ns)} in all"
    waits = "wait" if row.sums.times_parked == 1 else "waits"
    waited += f" ({row.sums.times_parked} {waits}, up to {row.sums.peak_parked} at once"
    waited += f", {percent(min(1.0, row.sums.real_time_ns / wall_ns))} of the time)"
    if row.waiting != "lock contention":
        waited += f": {row.waiting}"
    if row.lost_core_ns is not None and row.lost_core_ns > 0:
        waited += f"; {duration(row.lost_core_ns)} of core time stood idle for it"
    bound = row.speedup_bound
    if bound is not None and bound >= 1.005:
        top = f"at most {significant(bound)} times as fast" if bound < 100 else "more than 100 times as fast at best"
        waited += f". If it never blocked, the program would be {top}"
    return f"{waited}."


def _holder_text(row: Lock) -> str:
    top = row.holders[0]
    many = f" and {len(row.holders) + row.more_holders - 1} others" if len(row.holders) > 1 else ""
    held = "brought it on" if top.seen_by == ("waker",) and row.waiting != "lock contention" else "held it"
    return f"{printable(top.thread)}{many} {held} meanwhile: {_doing_text(row.holding or {})}."


def _doing_text(doing: Mapping[str, int]) -> str:
    total = sum(doing.values()) or 1
    parts = sorted(((ns, what) for what, ns in doing.items() if ns / total >= 0.005), reverse=True)
    return ", ".join(f"{percent(ns / total)} {_DOING[what]}" for ns, what in parts) or "no time at all"


def _chain_text(row: Lock) -> str:
    steps = [f"{link.name}, held by {printable(link.thread)}" for link in row.chain]
    end = ", who waits for the first of them again" if row.chain_is_cycle else ""
    return f"Chain: {'; who waits for '.join(steps)}{end}."


def _deadlock_text(links: Sequence[Link]) -> str:
    parts = [f"{printable(link.thread)} has {link.name}" for link in links]
    return f"Deadlock at the end: {', '.join(parts)}, and each waits for the next one."


# --- tables ------------------------------------------------------------------------------------------------------------


def locks_table(rows: Sequence[Lock], title: str) -> Table:
    """Contended locks, what they cost and how they are held."""
    table = _table(
        ("waited for", "left"),
        ("waits", "right"),
        ("peak", "right"),
        ("waited", "right"),
        ("average", "right"),
        ("hold", "right"),
        ("busy", "right"),
        ("lost", "right"),
        title=title,
    )
    table.padding = (0, 1, 0, 0)
    table.columns[0].max_width = 28
    for row in rows:
        table.add_row(
            Text(printable(_short(row.name, 28))),
            str(row.sums.times_parked),
            str(row.sums.peak_parked),
            duration(row.sums.thread_time_ns),
            _figure(row.metrics.average_parking_time_ns),
            _figure(row.true_hold.mean_ns if row.true_hold else row.metrics.average_hold_time_ns),
            UNKNOWN if row.metrics.real_time_util_pct is None else percent(row.metrics.real_time_util_pct / 100),
            _time(row.lost_core_ns),
        )
    return table


def _figure(ns: float | None) -> str:
    return UNKNOWN if ns is None else duration(ns)


def _short(name: str, width: int) -> str:
    """Keep the end of a long name, where the hash or the method and line stand."""
    return name if len(name) <= width else "~" + name[1 - width :]


def idle_table(rows: Sequence[Lock]) -> Table:
    """Idle waiting, with the rule that says so."""
    table = _table(
        ("waited for", "left"),
        ("waits", "right"),
        ("waited", "right"),
        ("class", "left"),
        ("rule", "left"),
        title="Idle waiting (no contention)",
    )
    table.padding = (0, 1, 0, 0)
    table.columns[0].max_width = 26
    for row in rows:
        table.add_row(
            Text(printable(_short(row.name, 26))),
            str(row.sums.times_parked),
            duration(row.sums.thread_time_ns),
            row.waiting.removeprefix("waiting for "),
            row.rule.id,
        )
    return table


def _print_details(console: Console, row: Lock, show_all: bool) -> None:
    from headway.report import terminal

    console.print()
    console.print(Text(printable(_short(row.name, 60))), style="bold", end="")
    console.print(Text(f"  ({row.rule.id}: {row.waiting})"))
    most = None if show_all else DETAILS
    for site in row.sites[:most]:
        terminal.print_line(console, f"{percent(site.share)} at {site.line}", bullet="  at")
    for holder in row.holders[:most]:
        terminal.print_line(console, _one_holder(holder), bullet="  by")
    for waker in row.wakers[:most]:
        terminal.print_line(console, _one_waker(waker), bullet="  up")


def _one_holder(holder: Holder) -> str:
    text = f"{percent(holder.share)} {printable(holder.thread)}: {_doing_text(holder.doing)}"
    if holder.blocked_on:
        text += f" ({holder.blocked_on[0].name})"
    return text


def _one_waker(waker: Waker) -> str:
    place = f" at {waker.line}" if waker.line else ""
    return f"{percent(waker.share)} woken by {printable(waker.thread)}{place}"


# --- live --------------------------------------------------------------------------------------------------------------


def live_table(table: LiveTable, rows: Sequence[LiveRow], limit: int | None = TOP) -> Table:
    """The table of a running JVM."""
    span = duration(max(0, table.now_ns - table.since_ns))
    found = _table(
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
    found.columns[0].max_width = 26
    for row in rows[:limit]:
        busy = row.metrics.real_time_util_pct
        found.add_row(
            Text(printable(_short(row.name, 26))),
            str(row.lock.sums.times_parked),
            str(row.lock.sums.parked_now),
            str(row.lock.sums.peak_parked),
            duration(row.lock.sums.thread_time_ns),
            _figure(row.metrics.average_parking_time_ns),
            _figure(row.mean_hold_ns if row.mean_hold_ns is not None else row.metrics.average_hold_time_ns),
            UNKNOWN if busy is None else percent(busy / 100),
            UNKNOWN if row.parks_per_s is None else significant(row.parks_per_s),
        )
    return found


def first_waits(rows: Sequence[LiveRow], show_all: bool) -> list[str]:
    """Return who waited first for each of the contended locks that come first, and where."""
    known = [row for row in rows if row.contention and row.lock.first_thread is not None]
    return [
        f"{row.name}: first {row.lock.first_thread}" + (f" at {row.first_line}" if row.first_line else "")
        for row in (known if show_all else known[:DETAILS])
    ]
