"""The critical path on the terminal: one sentence, then by state, thread, lock and method, then the longest stretches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent
from headway.analyses.critical_path.types import NOBODY_ACTIVE, STATES
from headway.errors.plurals import counted
from headway.report.terminal.lock_names import add_names, without_package
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.critical_path.types import CriticalPath, PathSegment

ROWS = 8
_FIGURES_WIDTH = 18
"""What time and share take beside a method, and their gaps."""
_LEAST_METHOD = 56
SMALL = 0.0005
"""What is less of the path than this is not worth a line."""


def render(result: CriticalPath, console: Console) -> None:
    """Print everything that a person needs; --json has the rest."""
    for text in sentences(result):
        print_line(console, text, bullet="*")
    if result.chosen != NOBODY_ACTIVE:
        _print_tables(result, console)
    print_notices(console, result.notices)


def _print_tables(result: CriticalPath, console: Console) -> None:
    print_table(console, states_table(result))
    print_table(console, threads_table(result, console.width))
    if result.by_lock:
        print_table(console, locks_table(result, console.width))
    if result.has_samples or any(row.waiting_ns for row in result.by_method[:ROWS] if row.method[0] != "("):
        print_table(console, methods_table(result, console.width))
    print_table(console, segments_table(result, console.width))
    if not result.has_samples:
        console.print("\nMethods of running threads need samples: headway record --sample cpu ...")


def sentences(result: CriticalPath) -> list[str]:
    """Say where the path ends, which thread it is on most, and for what it stands still."""
    wall = result.wall_ns
    if result.chosen == NOBODY_ACTIVE:
        return [
            "No application thread was active, so nothing leads to an end (headway why: what the program waited for)."
        ]
    first = (
        f"The critical path is {duration(wall)} long and ends in '{result.thread.name}' ({result.chosen}); "
        f"it went {counted(result.followed, 'time')} from a waiting thread to the one that woke it."
    )
    found = [first]
    if result.by_thread:
        top = result.by_thread[0]
        state = next(iter(top.by_state))
        found.append(
            f"It is on '{top.name}' for {percent(top.ns / wall)} of the time, there mostly {state} "
            f"({duration(top.by_state[state])})."
        )
    if result.by_lock and result.by_lock[0].ns >= SMALL * wall:
        lock = result.by_lock[0]
        name = f"{lock.place} ({lock.name})" if lock.place else lock.name
        found.append(f"For {percent(lock.ns / wall)} of it a thread waited for {name}: {lock.waiting}.")
    return found


def states_table(result: CriticalPath) -> Table:
    """What the path does."""
    table = make_table(
        ("state", "left"), ("time", "right"), ("share", "right"), ("", "left"), title="What was done on the path"
    )
    for state, ns in result.by_state:
        table.add_row(state, duration(ns), percent(ns / result.wall_ns), STATES[state])
    table.columns[-1].no_wrap = False
    return table


def threads_table(result: CriticalPath, width: int = 80) -> Table:
    """The threads that the path is on; with their tid where two have the same name, as those of several processes may."""
    rows = result.by_thread[:ROWS]
    is_ambiguous = len({row.name for row in rows}) < len(rows)
    table = make_table(
        ("thread", "left"),
        *((("tid", "right"),) if is_ambiguous else ()),
        ("kind", "left"),
        ("time", "right"),
        ("share", "right"),
        ("running", "right"),
        ("waiting", "right"),
        title=f"Threads on the path ({len(rows)} of {len(result.by_thread)})",
    )
    for row in rows:
        running = row.by_state.get("running", 0)
        table.add_row(
            _cut(row.name, width),
            *((str(row.tid),) if is_ambiguous else ()),
            row.kind,
            duration(row.ns),
            percent(row.ns / result.wall_ns),
            duration(running),
            duration(row.ns - running),
        )
    return table


def locks_table(result: CriticalPath, width: int = 80) -> Table:
    """What was waited for on the path."""
    rows = result.by_lock[:ROWS]
    table = make_table(
        ("waited for", "left"),
        ("waiting", "left"),
        ("time", "right"),
        ("share", "right"),
        title=f"Locks and queues that the path is there for ({len(rows)} of {len(result.by_lock)})",
    )
    names = [(row.place, row.name) if row.place else (row.name, "") for row in rows]
    add_names(table, names, [(row.waiting, duration(row.ns), percent(row.ns / result.wall_ns)) for row in rows], width)
    return table


def methods_table(result: CriticalPath, width: int = 80) -> Table:
    """The methods that the path is in."""
    table = make_table(("method", "left"), ("time", "right"), ("share", "right"), title="Methods on the path")
    for row in result.by_method[:ROWS]:
        table.add_row(
            _end(row.method, max(width - _FIGURES_WIDTH, _LEAST_METHOD)),
            duration(row.ns),
            percent(row.ns / result.wall_ns),
        )
    return table


def segments_table(result: CriticalPath, width: int = 80) -> Table:
    """The longest stretches in order of time: where the path is, and who waits for that."""
    longest = sorted(result.segments, key=lambda each: each.start_ns - each.end_ns)[:ROWS]
    table = make_table(
        ("from", "right"),
        ("time", "right"),
        ("thread", "left"),
        ("state", "left"),
        ("who waits for it", "left"),
        title=f"The longest stretches of the path ({len(longest)} of {result.pieces})",
    )
    for each in sorted(longest, key=lambda each: each.start_ns):
        table.add_row(
            duration(each.start_ns),
            duration(each.end_ns - each.start_ns),
            _cut(each.thread, width),
            each.state,
            _cut(_reason(each), width),
        )
    return table


def _reason(segment: PathSegment) -> str:
    """Return who waits for this stretch, and in what."""
    where = without_package(segment.place) if segment.place else segment.lock
    return " in ".join(text for text in (segment.waiter, where) if text) or "-"


def _cut(text: str, width: int) -> str:
    shown = printable(text)
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def _end(text: str, width: int) -> str:
    """Keep the end of a method's name: that is what tells it from others."""
    shown = printable(text)
    return shown if len(shown) <= width else f"…{shown[1 - width :]}"
