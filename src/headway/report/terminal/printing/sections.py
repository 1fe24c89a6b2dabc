"""Prints the section of an analysis: its sentences, its tables, and what weakens its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import significant
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from headway.report.section import Cell, Section, Table

NOT_KNOWN = "-"


def print_section(section: Section, console: Console) -> None:
    """Print a section as the report shows it."""
    for sentence in section.sentences:
        print_line(console, sentence, bullet="*")
    for table in section.tables:
        print_table(console, rich_table(table))
    print_notices(console, section.notices)


def cell_text(value: Cell) -> str:
    """Return a cell as people read it."""
    if value is None:
        return NOT_KNOWN
    return significant(value) if isinstance(value, float) else printable(str(value))


def rich_table(table: Table) -> RichTable:
    """Return a table with its numbers to the right."""
    from rich.table import Table as Rich

    rich = Rich(title=printable(table.title), title_justify="left", box=None, pad_edge=False)
    for place, column in enumerate(table.columns):
        is_number = all(isinstance(row[place], int | float | None) for row in table.rows)
        rich.add_column(printable(column), justify="right" if is_number else "left")
    for row in table.rows:
        rich.add_row(*map(cell_text, row))
    return rich
