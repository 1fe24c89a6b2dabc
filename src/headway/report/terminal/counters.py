"""`headway counters` on the terminal: the step of the ladder, a table of counts, one of metrics, and what is absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.common.units import duration, percent, significant
from headway.errors.plurals import counted
from headway.model.counter_ladder import STEPS, by_reason, with_unit
from headway.report.terminal.joined_runs import print_by_runs
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import UNKNOWN, make_table
from headway.report.terminal.printing.text import printable
from headway.report.terminal.socket_counters import print_socket_units

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.counters.types import CountedGroup, Counters, Figure, OverIterations, Row, WholeCpus

_AT_LEAST = ">="
_COLUMNS = 4
"""Of figures in one table: more do not fit 80 columns."""
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
_LONGEST_SHOWN = 20
_SHOWN_BY_EVENT = ("HW107", "HW125")
"""Notices of events that were not counted, each of which has a line here."""
_OF_WHOLE = "of whole CPUs, whatever ran there"


def render_counters(found: Counters, console: Console, most: int | None) -> None:
    """Print the answer, of the first `most` rows if not of all."""
    if found.groups or found.whole is not None or not found.sockets:
        console.print(f"counted: {found.step} ({STEPS[found.step]})")
    _print_turns(found.groups, console)
    shown = found.rows[:most] if found.over is None or most is None else found.rows[-most:]
    for first in range(0, len(found.total.counts), _COLUMNS):
        names = list(found.total.counts)[first : first + _COLUMNS]
        print_table(console, _table(found, shown, names, "counts", console.width))
    for first in range(0, len(found.total.metrics), _COLUMNS):
        names = list(found.total.metrics)[first : first + _COLUMNS]
        print_table(console, _table(found, shown, names, "metrics", console.width))
    if len(shown) < len(found.rows):
        which = {"thread": " that ran less", "lock": " that ran less", "iteration": " before these"}.get(found.by, "")
        console.print(f"{len(found.rows) - len(shown)} more{which}: --all")
    if found.over is not None:
        print_table(console, _over_table(found.over, found.marks))
    _print_beside(found, console)
    if found.imbalance:
        print_line(console, _imbalance_line(found), bullet="*")
    for reason, events in by_reason(found.absent).items():
        print_line(console, f"not counted: {', '.join(events)}: {reason}", bullet="!")
    for text in _withholding_lines(found):
        print_line(console, text, bullet="!")
    print_notices(console, [each for each in found.notices if each.id not in _SHOWN_BY_EVENT])


def _print_beside(found: Counters, console: Console) -> None:
    """Print what was not counted by the rows: of CPUs as a whole, of whole sockets, and of the runs that were joined."""
    if found.whole is not None:
        _print_whole(found.whole, console)
    print_socket_units(found.sockets, console, _cell)
    if found.by_runs is not None:
        print_by_runs(found.by_runs, found.total.counts, found.by, console, _estimate)


def _print_turns(groups: Sequence[CountedGroup], console: Console) -> None:
    """Say which groups took turns on the counters."""
    for group in groups:
        if group.is_multiplexed:
            share = percent(group.running_ns / group.enabled_ns) if group.enabled_ns else percent(0)
            what = ", ".join(group.events)
            # HW121 says so where a group was without the counters for so long that nothing is scaled.
            print_line(
                console, f"{what}: counted {share} of the time; where others had a turn it is scaled", bullet="*"
            )


def _print_whole(whole: WholeCpus, console: Console) -> None:
    """Print what was counted on CPUs as a whole, whatever ran there."""
    for what, figures in (("counts", whole.total.counts), ("metrics", whole.total.metrics)):
        for first in range(0, len(figures), _COLUMNS):
            names = list(figures)[first : first + _COLUMNS]
            print_table(console, _rows_table(whole.total, whole.rows, "cpu", names, what, _LONGEST_SHOWN, _OF_WHOLE))
    for reason, events in by_reason(whole.absent).items():
        print_line(console, f"not counted on CPUs as a whole: {', '.join(events)}: {reason}", bullet="!")


def _imbalance_line(found: Counters) -> str:
    parts = []
    for event, each in found.imbalance.items():
        value = each.figure.value
        without = f" (without {each.left_out} that have no counts)" if each.left_out else ""
        parts.append(f"{event} {UNKNOWN if value is None else _about(each.figure) + percent(value)}{without}")
    return f"imbalance over the program's threads (deviation by mean): {', '.join(parts)}"


def _withholding_lines(found: Counters) -> list[str]:
    figures = [each for row in (found.total, *found.rows) for each in (*row.counts.values(), *row.metrics.values())]
    reasons = {each.withheld for each in (*figures, *(each.figure for each in found.imbalance.values()))}
    lines = [f"{UNKNOWN} is withheld: {reason}" for reason in sorted(reasons - {""})]
    if any(each.value is not None and each.high is None and each.low is not None for each in figures):
        lines.append(f"{_AT_LEAST} is the least that there was: some of the running time has no counts")
    if any(row.unassigned_ns for row in found.rows):
        lines.append("what virtual threads, or ones that are not known, ran while they held a lock is in no row")
    return lines


def _table(found: Counters, rows: Sequence[Row], names: Sequence[str], what: str, width: int) -> Table:
    return _rows_table(found.total, rows, found.by, names, what, max(_LONGEST_SHOWN, width - 60), f"by {found.by}")


def _rows_table(
    total: Row, rows: Sequence[Row], by: str, names: Sequence[str], what: str, longest: int, title: str
) -> Table:
    table = make_table(
        (by, "left"),
        ("time" if title == _OF_WHOLE else "running", "right"),
        *((printable(with_unit(name)), "right") for name in names),
        title=f"{'Counts' if what == 'counts' else 'Metrics'} {title}",
    )
    table.columns[0].max_width = longest
    is_count = what == "counts"
    for row, name in [*((row, _name(row)) for row in rows), (total, "all")]:
        figures = row.counts if is_count else row.metrics
        cells = (_cell(figures.get(each), is_count=is_count) for each in names)
        table.add_row(Text(printable(name)), _running(row), *cells)
    return table


def _over_table(over: OverIterations, marks: str) -> Table:
    """Return mean and spread of each count and metric over the iterations."""
    table = make_table(
        ("figure", "left"),
        ("mean", "right"),
        ("deviation", "right"),
        ("least", "right"),
        ("most", "right"),
        title=f"Over {counted(over.iterations, 'iteration')} by {printable(marks)}",
    )
    for is_count, spreads in ((True, over.counts), (False, over.metrics)):
        for name, each in spreads.items():
            of = "" if each.known == over.iterations else f" (of {each.known})"
            values = (each.deviation, each.least, each.most)
            spread = (UNKNOWN if value is None else _scaled(value, is_count=is_count) for value in values)
            table.add_row(Text(printable(name) + of), _cell(each.mean, is_count=is_count), *spread)
    return table


def _name(row: Row) -> str:
    return str(row.key.get("name") or next(iter(row.key.values()), ""))


def _running(row: Row) -> str:
    """Return for how long it ran: the least, where some of those that held a lock have no slices."""
    if not row.unassigned_ns:
        return duration(row.cpu_ns)
    return _AT_LEAST + duration(row.cpu_ns) if row.cpu_ns else UNKNOWN


def _cell(figure: Figure | None, *, is_count: bool = True) -> str:
    """Return a figure: where nothing bounds it above, the least that there was, which may be less than its value."""
    if figure is None or figure.value is None:
        return UNKNOWN
    shown = figure.low if figure.high is None and figure.low is not None else figure.value
    return _about(figure) + _scaled(shown, is_count=is_count)


def _estimate(figure: Figure) -> str:
    """Return the value of a count, also where the least that there was is less, for a comparison with another value."""
    if figure.value is None:
        return UNKNOWN
    return ("" if figure.low == figure.high is not None else "~") + _scaled(figure.value)


def _scaled(value: float, *, is_count: bool = True) -> str:
    """Return a number with its unit; a small count without decimals, if it is whole."""
    for least, unit in _UNITS:
        if abs(value) >= least:
            return f"{significant(value / (least if least != 1e4 else 1e3))} {unit}"
    return f"{value:.0f}" if is_count and value % 1 == 0 else significant(value)


def _about(figure: Figure) -> str:
    """Return what stands before a figure: nothing where it is exact."""
    if figure.high is None and figure.low is not None:
        return _AT_LEAST
    return "" if figure.low == figure.high is not None else "~"
