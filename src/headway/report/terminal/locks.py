"""Locks on the terminal: the verdict first (which lock, what it costs, who holds it, doing what), then tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.common.units import core_time, duration, percent, significant
from headway.analyses.locks.answer import Locks
from headway.analyses.locks.headline import headline
from headway.analyses.locks.namesakes import holder_groups, holders_by_name, wakers_by_name
from headway.analyses.locks.types import Holder, Link, Lock, Waker
from headway.analyses.waits.rules import may_have_several_holders
from headway.errors.message import ONCE
from headway.errors.plurals import counted
from headway.report.terminal.lock_names import add_names, place_and_object, title
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import MOST_PRINTED, UNKNOWN, make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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
    for line in verdict(result):
        print_line(console, line, bullet="*")
    contended, idle = result.contended, result.idle
    if contended:
        shown = contended[: MOST_PRINTED if show_all else TOP]
        print_table(console, locks_table(shown, f"Contention, by {result.by}", console.width))
        _print_more(console, len(contended) - len(shown), show_all)
    for row in contended[: MOST_PRINTED if show_all else DETAILS]:
        _print_details(console, row, show_all)
    if idle:
        shown = idle[: MOST_PRINTED if show_all else TOP // 2]
        print_table(console, idle_table(shown, console.width))
        _print_more(console, len(idle) - len(shown), show_all)
    if result.hidden:
        console.print(f"{result.hidden} more waited for less often than asked for")
    print_notices(console, result.notices, also=(ONCE,))


def print_costliest(result: Locks, console: Console) -> None:
    """Print the few that cost most, as `headway run` does."""
    from headway.analyses.overview import TOP_LOCKS

    heading = "Locks that cost most (headway locks shows all)"
    print_table(console, locks_table(result.contended[:TOP_LOCKS], heading, console.width))


def _print_more(console: Console, count: int, show_all: bool) -> None:
    if count > 0:
        console.print(f"{count} more: {'--json' if show_all else '--all'}")


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
    first = headline(result.contended, result.wall_ns)
    if first is None:
        return lines
    lines.append(f"{printable(title(first))} {_cost_text(first, result.wall_ns)}")
    if first.holders:
        lines.append(_holder_text(first))
    if len(first.chain) > 1:
        lines.append(_chain_text(first))
    lines += [pattern.text[0].upper() + pattern.text[1:] + "." for pattern in first.patterns]
    if result.waited_for > 1:
        rest = result.waited_for_ns - first.sums.thread_time_ns
        what = "place" if result.by in ("place", "site") else result.by
        more = result.waited_for - 1
        word = what if more == 1 else f"{what}s" if what != "class" else "classes"
        lines.append(f"{more} more {word} cost {duration(rest)} of threads' time.")
    return lines


def _cost_text(row: Lock, wall_ns: int) -> str:
    waited = f"made threads wait for {duration(row.sums.thread_time_ns)} in all"
    waited += f" ({counted(row.sums.times_parked, 'wait')}, up to {row.sums.peak_parked} at once"
    waited += f", {percent(min(1.0, row.sums.real_time_ns / wall_ns))} of the time)"
    if row.waiting != "lock contention":
        waited += f": {row.waiting}"
    if row.lost_core_ns is not None and row.lost_core_ns > 0:
        waited += f"; {core_time(row.lost_core_ns)} of core time stood idle for it"
    bound = row.speedup_bound
    if bound is not None and bound >= 1.005:
        waited += f". If it never blocked, the program would be at most {significant(bound)} times as fast"
    elif bound is None and row.lost_core_ns is not None and row.contention:
        waited += (
            ". How much faster the program would be if it never blocked is not known: all of its time may hang on it"
        )
    return f"{waited}."


def _holder_text(row: Lock) -> str:
    top = holders_by_name(row)[0]
    others = len(row.holders) + row.more_holders - len(holder_groups(row)[0])
    many = f" and {counted(others, 'other')}" if others else ""
    verb = "brought it on" if top.seen_by == ("waker",) and row.waiting != "lock contention" else "held it"
    return f"{printable(top.thread)}{many} {verb} meanwhile: {_doing_text(row.holding or {})}."


def _doing_text(doing: Mapping[str, int]) -> str:
    total = sum(doing.values()) or 1
    parts = sorted(((ns, what) for what, ns in doing.items() if ns / total >= 0.005), reverse=True)
    return ", ".join(f"{percent(ns / total)} {_DOING[what]}" for ns, what in parts) or "no time at all"


def _chain_text(row: Lock) -> str:
    steps = [f"{link.name}, held by {printable(link.thread)}" for link in row.chain]
    text = f"Chain: {'; who waits for '.join(steps)}."
    if row.chain_is_cycle:  # of sums over the recording: a deadlock has a sentence of its own
        text += " At other times it was the other way round; this is no deadlock."
    return text


def _deadlock_text(links: Sequence[Link]) -> str:
    parts = [f"{printable(link.thread)} has {link.name}" for link in links]
    return f"Deadlock at the end: {', '.join(parts)}, and each waits for the next one."


# --- tables ------------------------------------------------------------------------------------------------------------


def locks_table(rows: Sequence[Lock], title: str, width: int = 80) -> Table:
    """Contended locks, what they cost and how they are held."""
    table = make_table(
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
    figures = [
        (
            str(row.sums.times_parked),
            str(row.sums.peak_parked),
            duration(row.sums.thread_time_ns),
            _figure(row.metrics.average_parking_time_ns),
            _hold(row),
            UNKNOWN
            if row.metrics.real_time_util_pct is None
            else percent(min(row.metrics.real_time_util_pct, 100) / 100),
            UNKNOWN if row.lost_core_ns is None else core_time(row.lost_core_ns),
        )
        for row in rows
    ]
    add_names(table, map(place_and_object, rows), figures, width)
    return table


def _figure(ns: float | None) -> str:
    return UNKNOWN if ns is None else duration(ns)


def _hold(row: Lock) -> str:
    """Return how long it was held on average; ~ where no hold was seen, and it is taken to be held while somebody waits."""
    if row.true_hold is not None:
        return duration(row.true_hold.mean_ns)
    estimate = row.metrics.average_hold_time_ns
    return UNKNOWN if estimate is None else f"~{duration(estimate)}"


def idle_table(rows: Sequence[Lock], width: int = 80) -> Table:
    """Idle waiting, with the rule that says so."""
    table = make_table(
        ("waited for", "left"),
        ("waits", "right"),
        ("waited", "right"),
        ("class", "left"),
        ("rule", "left"),
        title="Idle waiting (no contention)",
    )
    table.padding = (0, 1, 0, 0)
    figures = [
        (
            str(row.sums.times_parked),
            duration(row.sums.thread_time_ns),
            row.waiting.removeprefix("waiting for "),
            row.rule.id,
        )
        for row in rows
    ]
    add_names(table, map(place_and_object, rows), figures, width)
    return table


def _print_details(console: Console, row: Lock, show_all: bool) -> None:
    console.print()
    name = Text(printable(title(row)), style="bold")
    several = may_have_several_holders(row.rule.id, row.class_name) and row.true_hold is None
    word = "; several threads may have it at once, so for how long one does is not known" if several else ""
    console.print(name.append(f"  ({row.rule.id}: {row.waiting}{word})", style="not bold"))
    most = None if show_all else DETAILS
    for line, share in _lines(row)[:most]:
        print_line(console, f"{percent(share)} at {line}", bullet="  at")
    for holder in holders_by_name(row)[:most]:
        print_line(console, _one_holder(holder), bullet="  by")
    for waker in wakers_by_name(row)[:most]:
        print_line(console, _one_waker(waker), bullet="  up")


def _lines(row: Lock) -> list[tuple[str, float]]:
    """Return the lines at which a row is waited for, with their shares: several stacks lead to one line."""
    shares: dict[str, float] = {}
    for site in row.sites:
        shares[site.line] = shares.get(site.line, 0.0) + site.share
    return sorted(shares.items(), key=lambda each: -each[1])


def _one_holder(holder: Holder) -> str:
    text = f"{percent(holder.share)} {printable(holder.thread)}: {_doing_text(holder.doing)}"
    if holder.blocked_on:
        text += f" ({holder.blocked_on[0].name})"
    return text


def _one_waker(waker: Waker) -> str:
    place = f" at {waker.line}" if waker.line else ""
    return f"{percent(waker.share)} woken by {printable(waker.thread)}{place}"
