"""Rows that are made when somebody looks at them: there may be a million."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from headway.analyses.lock_types import Lock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_row_figures import Figures
    from headway.analyses.lock_rows import Rows

    Ints = NDArray[np.int64]


class MadeRows(Sequence[Lock]):
    """The rows of some groups, each made when it is asked for; the first ones are kept, which are asked for again."""

    _KEPT = 256

    def __init__(self, rows: Rows, groups: Ints) -> None:
        """Take where rows come from, and the groups in their order."""
        self.maker = rows
        self._groups = groups
        self._made: dict[int, Lock] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._groups)

    def __iter__(self) -> Iterator[Lock]:
        """Give all of them."""
        return self.maker.made(self._groups)

    def figures(self) -> Iterator[Figures]:
        """Give what all of them are made of."""
        return self.maker.figures(self._groups)

    @overload
    def __getitem__(self, index: int) -> Lock: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Lock]: ...

    def __getitem__(self, index: int | slice) -> Lock | Sequence[Lock]:
        """Return a row, or some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        made = self._made.get(place)
        if made is None:
            made = self.maker.row(int(self._groups[place]))
            if place < self._KEPT:
                self._made[place] = made
        return made
