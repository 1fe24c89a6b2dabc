"""A sequence of rows of `locks` that are built on demand, as there may be a million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from headway.analyses.locks.types import Lock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.locks.row_figures import RowFigures
    from headway.analyses.locks.rows import Rows

    Ints = NDArray[np.int64]


class LazyRows(Sequence[Lock]):
    """The rows of some groups, built on demand; the first ones are cached."""

    _KEPT = 256

    def __init__(self, rows: Rows, groups: Ints) -> None:
        """Take the source of rows, and the groups in their order."""
        self.source = rows
        self._groups = groups
        self._built: dict[int, Lock] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._groups)

    def __iter__(self) -> Iterator[Lock]:
        """Give all of them."""
        return self.source.rows_of(self._groups)

    def figures(self) -> Iterator[RowFigures]:
        """Yield the figures behind all rows."""
        return self.source.figures(self._groups)

    @overload
    def __getitem__(self, index: int) -> Lock: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Lock]: ...

    def __getitem__(self, index: int | slice) -> Lock | Sequence[Lock]:
        """Return a row, or some."""
        if isinstance(index, slice):
            groups = self._groups[index]
            if len(groups) > self._KEPT:
                return list(self.source.rows_of(groups))
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        built = self._built.get(place)
        if built is None:
            built = self.source.row(int(self._groups[place]))
            if place < self._KEPT:
                self._built[place] = built
        return built
