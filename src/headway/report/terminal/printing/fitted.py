"""Tables on a terminal that is narrower than they are: names are shortened, places go on in the next line, figures stay whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.measure import Measurement

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

SHORTEST_NAME = 10


def fit(table: Table, console: Console) -> None:
    """Make a table's columns of text narrower until it fits; where that is not enough, it stays wider than the terminal.

    A column whose overflow is "fold" loses nothing by it: its text goes on in the next line.

    A figure that is cut off, as in `23...`, has lost its unit: it would be another figure.
    """
    anything = console.options.update(max_width=1_000_000)
    total = Measurement.get(console, anything, table).maximum
    excess = total - console.width
    if excess <= 0 or not all(column.no_wrap for column in table.columns):
        return
    widths = [_width(column) for column in table.columns]
    texts = [number for number, column in enumerate(table.columns) if column.justify == "left"]
    while excess > 0 and (widest := max(texts, key=widths.__getitem__, default=None)) is not None:
        if widths[widest] <= SHORTEST_NAME:
            break
        widths[widest] -= 1
        excess -= 1
    for column, width in zip(table.columns, widths, strict=True):
        column.no_wrap = column.overflow != "fold"
        column.width = width
    table.width = console.width + excess


def _width(column: Column) -> int:
    widest = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
    return widest if column.max_width is None else min(widest, column.max_width)
