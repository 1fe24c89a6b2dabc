"""What a row of locks is called on the terminal: the place of the waiting first, then the object.

`Condition@1554d8d3` says nothing to a person, and the hash is another one in the next run; `ConnPool.borrow:15` is where to look.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from headway.analyses.waits.object_names import TOGETHER, display
from headway.errors.plurals import counted
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from headway.analyses.locks.live import LiveRow
    from headway.analyses.locks.types import Lock

_PACKAGE = re.compile(r"(?<![\w.$])(?:[\w$]+\.)+?(?=[A-Z])")

LEAST_NAME = 24
"""Columns that a name gets, however narrow the terminal is."""


def place_and_object(row: Lock) -> tuple[str, str]:
    """Return where a row is waited for, and what of the object there is to say; '' for nothing."""
    many = "" if row.objects == 1 else counted(row.objects, "object")
    if row.site is not None:
        return row.name, many
    if row.place is None:
        return row.name, "" if many in row.name else many
    if row.objects == 1:
        return row.place, row.name
    return row.place, f"{many} ({display(row.class_name, 0).removesuffix(TOGETHER)})"


def live_place_and_object(row: LiveRow) -> tuple[str, str]:
    """Return where a row of a running JVM was first waited for, and its object."""
    return (row.name, "") if row.first_line is None else (row.first_line, row.name)


def title(row: Lock) -> str:
    """Return the name of a row within a sentence: `Pool.borrow:15 (Condition@1554d8d3)`."""
    place, name = place_and_object(row)
    if not name:
        return place
    return f"{place} ({name})" if row.objects == 1 else f"{place}, {name}"


def short_place(place: str, width: int) -> str:
    """Shorten a place: its package goes first, then the begin of the class, never the method and the line."""
    if cell_len(place) <= width:
        return place
    bare = without_package(place)
    return bare if cell_len(bare) <= width else "…" + bare[1 - width :]


def without_package(text: str) -> str:
    """Return org.example.Store.put:4 as Store.put:4, also after other words; what is no such name stays."""
    return _PACKAGE.sub("", text)


def add_names(table: Table, rows: Iterable[tuple[str, str]], figures: Sequence[Sequence[str]], width: int) -> None:
    """Fill a table whose first column is for names: place and object beside each other where there is room, else one below
    the other. The other columns have `figures`, a list for each row.
    """
    named = [(printable(place), printable(name)) for place, name in rows]
    gap = table.padding[1] if isinstance(table.padding, tuple) else 1
    headers = [str(column.header) for column in table.columns[1:]]
    taken = sum(max(map(cell_len, (header, *cells))) + gap for header, *cells in zip(headers, *figures, strict=True))
    room = max(width - taken - gap, LEAST_NAME)
    places = [short_place(place, room) for place, _ in named]
    longest = max(map(cell_len, places), default=0)
    objects = max((cell_len(name) for _, name in named), default=0)
    beside = longest + 1 + objects <= room
    table.columns[0].max_width = room
    table.columns[0].overflow = "fold"
    for place, (_, name), cells in zip(places, named, figures, strict=True):
        if not name:
            text = place
        elif beside:
            text = f"{place}{' ' * (longest + 1 - cell_len(place))}{name}"
        else:
            text = f"{place}\n  {short_place(name, room - 2)}"
        table.add_row(Text(text), *cells)
