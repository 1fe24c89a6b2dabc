"""The answer of an analysis as people read it: sentences and tables, which the terminal and the HTML report show alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from headway.errors import Notice

Cell: TypeAlias = "str | int | float | None"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of an answer. Each row has as many cells as there are columns; None is shown as not known.

    Raises ValueError or TypeError for rows that can't be shown.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        """Look at every cell: a page and JSON have no word for some numbers."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"table {self.title!r}: a row of {len(row)} cells, with {len(self.columns)} columns")
            for cell in row:
                if isinstance(cell, bool) or not isinstance(cell, str | int | float | None):
                    raise TypeError(f"table {self.title!r}: {cell!r} is no text and no number")
                if isinstance(cell, float) and not math.isfinite(cell):
                    raise ValueError(f"table {self.title!r}: {cell} can't be shown; None is shown as not known")


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points of several figures each, any two of which the HTML report draws; the terminal has tables instead.

    `axes`: what the figures are. `points`: a name, and its figures in the order of `axes`, None where one is not known.
    `own`: the name of the point that is the reader's. Raises ValueError for points that can't be drawn.
    """

    title: str
    axes: tuple[str, ...]
    points: tuple[tuple[str, tuple[float | None, ...]], ...]
    own: str

    def __post_init__(self) -> None:
        """Look at every figure."""
        for name, figures in self.points:
            if len(figures) != len(self.axes):
                raise ValueError(
                    f"scatter {self.title!r}: {name!r} has {len(figures)} figures of {len(self.axes)} axes"
                )
            if not all(each is None or math.isfinite(each) for each in figures):
                raise ValueError(
                    f"scatter {self.title!r}: a figure of {name!r} is not finite; None is one that is not known"
                )


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A row of a heat map: counts of each kind, by column, and by group; `own`: the column that is marked, if any."""

    name: str
    cells: tuple[tuple[int, ...], ...]
    groups: tuple[tuple[int, ...], ...]
    own: int | None = None


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Counts of several kinds by row and column, which the HTML report colours by size; the terminal has tables instead.

    `kinds`: what is counted, one at a time or all together. `groups`: sums of each row of its own, such as of columns alike.
    `marks`: what a marked cell is. Raises ValueError for counts that can't be shown.
    """

    title: str
    kinds: tuple[str, ...]
    groups: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    marks: str

    def __post_init__(self) -> None:
        """Look at the shape, and at every count."""
        for row in self.rows:
            if len(row.cells) != len(self.columns) or len(row.groups) != len(self.groups):
                raise ValueError(f"heat map {self.title!r}: row {row.name!r} has not a cell for each column and group")
            if row.own is not None and not 0 <= row.own < len(self.columns):
                raise ValueError(f"heat map {self.title!r}: row {row.name!r} marks a column that there is not")
            for counts in (*row.cells, *row.groups):
                if len(counts) != len(self.kinds) or any(count < 0 for count in counts):
                    raise ValueError(f"heat map {self.title!r}: a cell of {row.name!r} has not a count of each kind")


@dataclass(frozen=True, slots=True)
class Section:
    """An answer as people read it, on the terminal and in the HTML report: the sentences that answer, then tables."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    notices: tuple[Notice, ...] = ()
    scatter: Scatter | None = None
    heat_map: HeatMap | None = None
