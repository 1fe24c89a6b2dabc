"""What the tables of the terminal have in common: columns without a frame, times, and the sign for what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from headway.analyses.common.units import duration

if TYPE_CHECKING:
    from rich.console import JustifyMethod

UNKNOWN = "-"
MOST_PRINTED = 2000
"""Rows of a table on a terminal, however many are asked for: making a million readable takes minutes."""


def make_table(*columns: tuple[str, JustifyMethod], title: str) -> Table:
    """Return an empty table with these columns; what does not fit is cut off."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title=title, title_justify="left", title_style="bold")
    for name, justify in columns:
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")
    return table


def time_text(ns: int | None) -> str:
    """Return a time as people read it."""
    return UNKNOWN if ns is None else duration(ns)
