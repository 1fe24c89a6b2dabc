"""What units of whole sockets counted, on the terminal: a table of its own, and why some of it is not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.common.units import significant
from headway.analyses.counters.totals.socket_units import amount, per_second
from headway.model.counter_ladder import by_reason
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.tables import UNKNOWN, make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from headway.analyses.counters.types import Figure, UnitCounts

_LONGEST_SHOWN = 40


def print_socket_units(units: Sequence[UnitCounts], console: Console, cell: Callable[[Figure], str]) -> None:
    """Print what each unit counted on each CPU that it is read on; `cell` shows a figure."""
    lines = [line for unit in units if unit.counted is not None for line in _lines(unit, cell)]
    if lines:
        table = make_table(
            ("event of a unit", "left"),
            ("socket", "right"),
            ("CPU", "right"),
            ("counted", "right"),
            ("a second", "right"),
            title="Counts of units of whole sockets, whatever ran there",
        )
        table.columns[0].max_width = _LONGEST_SHOWN
        for name, *rest in lines:
            table.add_row(Text(printable(name)), *(printable(each) for each in rest))
        print_table(console, table)
    for unit in units:
        for reason, names in by_reason(unit.absent).items():
            print_line(console, f"not counted of {unit.name}: {', '.join(names)}: {reason}", bullet="!")
    figures = [figure for unit in units if unit.counted is not None for figure in unit.counted.total.counts.values()]
    for reason in sorted({figure.withheld for figure in figures} - {""}):
        print_line(console, f"{UNKNOWN} of a unit is withheld: {reason}", bullet="!")


def _lines(unit: UnitCounts, cell: Callable[[Figure], str]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a line for each event and CPU, and one for all of them where there are several."""
    counted = unit.counted
    assert counted is not None
    for event, total in counted.total.counts.items():
        scale, of = unit.scales.get(event, (1.0, ""))
        rate = per_second(unit, event)
        shown = UNKNOWN if rate is None else f"{significant(rate)} {of}".strip()
        for row in counted.rows:
            socket = row.key["socket"]
            figure = f"{cell(amount(row.counts[event], scale))} {of}".strip()
            place = UNKNOWN if socket == -1 else str(socket)
            yield event, place, str(row.key["cpu"]), figure, shown if len(counted.rows) == 1 else ""
        if len(counted.rows) > 1:
            yield event, "all", "", f"{cell(amount(total, scale))} {of}".strip(), shown
