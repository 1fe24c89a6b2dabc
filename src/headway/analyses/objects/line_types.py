"""What the analysis of cache lines that threads write in turn answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.model.line_distances import Distance


@dataclass(frozen=True, slots=True)
class Meeting:
    """How often one thread wrote where, or near where, another one had written since; names None: no thread that is known."""

    thread: str | None
    java_id: int
    thread_id: int | None
    field: str
    other_thread: str | None
    other_java_id: int
    other_thread_id: int | None
    other_field: str
    distance: Distance
    writes: int


@dataclass(frozen=True, slots=True)
class SharedPlaces:
    """Two fields, or one twice, on one cache line to which threads wrote in turn.

    `fields`: both names, alike for one field, or for elements of arrays that one method writes. `offsets`: where they are in
    their object, bytes; None: elements, or unknown. `same_object`: false: in neighbouring objects. `same`, `line`, `pair`: writes
    after another thread's to the same place, to the same 64 bytes, to the same 128 bytes; `writes`: all to both fields.
    """

    pid: int
    fields: tuple[str, str]
    offsets: tuple[int | None, int | None]
    same_object: bool
    same: int
    line: int
    pair: int
    writes: int
    meetings: tuple[Meeting, ...]

    @property
    def together(self) -> int:
        """Return the writes of all three sorts."""
        return self.same + self.line + self.pair

    @property
    def bytes_apart(self) -> int | None:
        """Return how far the two fields of one object are from each other; None: it is not one object, or not known."""
        first, second = self.offsets
        if not self.same_object or first is None or second is None or first == second:
            return None
        return abs(first - second)


@dataclass(frozen=True, slots=True)
class LineAnswer:
    """All writes that were watched, and the fields that threads write in turn, false sharing first; `left_out`: more of them.

    `same`, `line`, `pair`: the writes of each sort, those of rows that are left out, too.
    """

    writes: int
    rows: tuple[SharedPlaces, ...]
    left_out: int = 0
    same: int = 0
    line: int = 0
    pair: int = 0
