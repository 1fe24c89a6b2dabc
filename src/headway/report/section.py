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
class Section:
    """An answer as people read it, on the terminal and in the HTML report: the sentences that answer, then tables."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    notices: tuple[Notice, ...] = ()
    scatter: Scatter | None = None
