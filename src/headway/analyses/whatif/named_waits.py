"""Finds recorded waits by what users call the place or the object that was waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct, numbered_pairs
from headway.analyses.waits.classification.sites import lines_of, sites_of
from headway.analyses.waits.object_places import object_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class NamedWaits:
    """Some waits of a recording: `rows` in LockData.blocks; `names` as users may write them, first the line that waits.

    Waits at one place for one object go by the same names: `number` of each wait in `names`.
    """

    data: LockData
    rows: Ints
    names: tuple[tuple[str, ...], ...]
    number: Ints

    def called(self, text: str) -> Ints:
        """Return the rows of the waits that go by a name."""
        wanted = text.strip()
        keep = [bool(wanted) and any(goes_by(wanted, name) for name in names) for names in self.names]
        return np.asarray(self.rows[np.array(keep, bool)[self.number]], np.int64)


def goes_by(wanted: str, name: str) -> bool:
    """Return whether the text `wanted` that a user wrote names the line or object that is called `name`.

    A user may write all of it, what is after its @, leave out the package, and the number of a line: that is the method.
    """
    texts = [text for text in (name, name.rpartition(":")[0]) if text]
    return any(wanted == text or text.endswith(f".{wanted}") for text in texts) or wanted == name.rpartition("@")[2]


def named_waits(data: LockData, rows: Ints) -> NamedWaits:
    """Return waits with their names: the line, that at which its object is waited for most, and the object.

    `rows`: of the waits, in LockData.blocks.
    """
    sites = sites_of(data)
    places = object_places(data, sites)
    blocker, stack, number = numbered_pairs(data.blocks.blocker[rows], sites.stack[rows].astype(np.int64) + 1)
    stack = stack - 1  # -1: none
    line = lines_of(data, stack[stack >= 0])
    names = {
        each: tuple(filter(None, (places.text(each), data.blockers.name(each)))) for each in distinct(blocker).tolist()
    }
    pairs = zip(blocker.tolist(), stack.tolist(), strict=True)
    every = [tuple(dict.fromkeys((*filter(None, (line.get(at),)), *names[each]))) for each, at in pairs]
    return NamedWaits(data, rows, tuple(every), number)
