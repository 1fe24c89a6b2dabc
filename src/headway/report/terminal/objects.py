"""Prints the answer of `headway objects`: totals, then a table whose names fit the terminal and still say what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from headway.report.terminal.lost_cores import shortened
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.sections import cell_text
from headway.report.terminal.printing.tables import make_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console, JustifyMethod

    from headway.report.section import Section, Table

LEAST_NAMES = 14
"""Columns that all names of a row get, however narrow the terminal is."""
_GAP = 2


def render_objects(section: Section, names: Callable[[Table], int], console: Console) -> None:
    """Print a section; of each table so many of the first columns are names."""
    for sentence in section.sentences:
        print_line(console, sentence, bullet="*")
    for table in section.tables:
        _print_table(table, names(table), console)
    print_notices(console, section.notices)


def _print_table(table: Table, names: int, console: Console) -> None:
    cells = [[cell_text(value) for value in row] for row in table.rows]
    widths = [max(map(cell_len, column)) for column in zip(table.columns, *cells, strict=True)]
    room = console.width - sum(widths[names:]) - _GAP * (len(widths) - 1)
    fitted = fitted_widths(widths[:names], max(room, LEAST_NAMES))
    heads: list[tuple[str, JustifyMethod]] = [(name, "left") for name in table.columns[:names]]
    heads += [(name, "right") for name in table.columns[names:]]
    shown = make_table(*heads, title=table.title)
    full = [tuple(row[:names]) for row in cells]
    short = [tuple(map(shortened, row, fitted)) for row in full]
    for column in shown.columns[:names]:
        column.overflow = "fold"  # beside wide figures names may get less room than they were shortened to
    # Rows that read alike say nothing: then names are whole, in as many lines as they take.
    for row, name in zip(cells, short if len(set(short)) == len(set(full)) else full, strict=True):
        shown.add_row(*name, *row[names:])
    print_table(console, shown)


def fitted_widths(wanted: Sequence[int], room: int) -> list[int]:
    """Return how wide each column of names is: as wanted where that fits, else the widest give way."""
    found = list(wanted)
    while sum(found) > room and max(found) > 1:
        found[found.index(max(found))] -= 1
    return found
