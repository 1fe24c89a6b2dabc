"""Names the locks, queues and futures that threads wait for on the critical path; those of one class and line have one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.object_names import TOGETHER, display
from headway.analyses.waits.object_places import object_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.waits.tables.blocks import LockData


class LockNames:
    """The names of the objects of a recording, by their rows in `LockData.blockers`."""

    def __init__(self, data: LockData) -> None:
        """Find the place of each object."""
        self._blockers = data.blockers
        self._places = object_places(data, sites_of(data))

    def alike(self, blocker: int) -> int:
        """Return the first of the objects that are one with this one, as they have the same class and place."""
        return int(self._places.alike[blocker])

    def place(self, blocker: int) -> str | None:
        """Return the line at which an object is waited for; None where it is not known."""
        return self._places.text(blocker)

    def name(self, blockers: Sequence[int]) -> str:
        """Return the name of an object, or of several that are one: `12 objects (Semaphore)`."""
        if len(blockers) == 1:
            return self._blockers.name(blockers[0])
        return f"{len(blockers)} objects ({display(self._blockers.class_name(blockers[0]), 0).removesuffix(TOGETHER)})"
