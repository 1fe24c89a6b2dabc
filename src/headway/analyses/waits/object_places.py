"""The line at which each lock object is waited for, and which objects share a line.

Question   a program makes a lock for each client, transaction or task: which of them does a person take for one?
Method     an object's place is the line (classification.sites.line_of) at which most of the time waited for it was waited; an
           object of which no single wait is left has that of its first one. Objects of one process, kind, class and place are
           one, if the same class locks them: what a virtual thread's Thread.sleep takes for itself is no lock of the line that
           sleeps. Classes nested in one of the JDK count as that one: who computes in a ConcurrentHashMap locks a Node of it, a
           TreeBin or a ReservationNode, as the table is just then.
Assumes    that what is waited for at one line in one class of object has one cause.
Wrong when a line takes different locks for different reasons (a helper method that locks what it is given): then a row stands
           for several causes; `headway locks --by lock` has a row for each object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct, numbered, numbered_pairs
from headway.analyses.waits.object_names import is_jdk, is_of_locks, is_proxy
from headway.analyses.waits.rules import Wait
from headway.analyses.waits.tables.blocks import KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False)
class ObjectPlaces:
    """Per object (row of LockData.blockers): its line, a place in `lines` (-1: not known), and who is one with it.

    A line is in `lines` once for each class of the JDK that locks for it, and once for itself.

    `alike` is the first row of those that are one: of one process, kind, class and place; the object itself where its place is
    not known.
    """

    line: Ints
    alike: Ints
    lines: list[str]

    def text(self, row: int) -> str | None:
        """Return an object's place as text; None where it is unknown."""
        number = int(self.line[row])
        return self.lines[number] if number >= 0 else None


def object_places(data: LockData, sites: Sites) -> ObjectPlaces:
    """Find the line at which each object is waited for."""
    kept = data.recording.kept.get(ObjectPlaces)
    if isinstance(kept, tuple) and kept[0] is sites.stack and isinstance(kept[1], ObjectPlaces):
        return kept[1]
    first = np.asarray(data.blockers.table["first_stack_id"])
    stacks = distinct(np.concatenate([distinct(sites.stack), distinct(first)]))
    place_of, lines = _places(data, stacks)
    line = _lines_of_blocks(data, sites, stacks, place_of)
    rest = np.flatnonzero((line < 0) & (first >= 0))
    line[rest] = place_of[np.searchsorted(stacks, first[rest])]
    line[data.blockers.is_of_places] = -1
    found = ObjectPlaces(line, _alike(data, line), lines)
    data.recording.kept[ObjectPlaces] = (sites.stack, found)
    return found


def _places(data: LockData, stacks: Ints) -> tuple[Ints, list[str]]:
    """Return the number of each stack's line and locking class, -1 where it is not known, and the line of each number."""
    number: dict[str, int] = {}
    locking = np.full(len(stacks), -1, dtype=np.int64)
    for at, stack in enumerate(stacks.tolist()):
        frames = data.frames(stack)
        if frames:
            locking[at] = number.setdefault(_locking_class(frames), len(number))
    found = np.full(len(stacks), -1, dtype=np.int64)
    known = np.flatnonzero(locking >= 0)
    line, _, found[known] = numbered_pairs(data.stacks.line_numbers(stacks[known]), locking[known])
    return found, [data.stacks.lines[each] for each in line.tolist()]


def _locking_class(frames: Sequence[tuple[str, str, int | None]]) -> str:
    """Return the class of the JDK whose code locks, '' where it is the program's own."""
    plain = [(name, method) for name, method, _ in frames if not is_proxy(name)]
    callers = Wait("", "", tuple(plain)).callers
    name = next((name for name, _ in plain[len(plain) - len(callers) :] if not is_of_locks(name)), "")
    return name if is_jdk(name) else ""


def _lines_of_blocks(data: LockData, sites: Sites, stacks: Ints, place_of: Ints) -> Ints:
    """Return for each object the line with most of the time waited for it, by its single blocks; -1 without any."""
    blocks, count = data.blocks, len(data.blockers)
    found = np.full(count, -1, dtype=np.int64)
    if not len(blocks):
        return found
    parts = []
    for low in range(0, len(blocks), _CHUNK):  # there may be tens of millions
        part = slice(low, low + _CHUNK)
        line = place_of[np.searchsorted(stacks, sites.stack[part])]
        known = np.flatnonzero(line >= 0)
        # An instant counts a little, so that an object with empty blocks alone has a place, too.
        length = (blocks.end[part] - blocks.start[part])[known].astype(np.float64) + 1e-3
        parts.append(_summed(blocks.blocker[part][known], line[known], length))
    objects, places, waited = _summed(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.lexsort((-places, waited))  # of several assignments to one place the last one stays: the largest
    found[objects[order]] = places[order]
    return found


def _summed(objects: Ints, places: Ints, waited: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the different pairs of object and place, and what was waited in each."""
    objects, places, pair = numbered_pairs(objects, places)
    sums: Floats = np.bincount(pair, weights=waited, minlength=len(objects)).astype(np.float64)
    return objects, places, sums


def _whole_class(name: str) -> str:
    """Return the outermost class that a class of the JDK is nested in; others as they are."""
    return name.partition("$")[0] if "$" in name and is_jdk(name) else name


def _alike(data: LockData, line: Ints) -> Ints:
    """Return for each object the first one of its process, kind, class and place."""
    blockers = data.blockers
    alike = np.arange(len(blockers), dtype=np.int64)
    known = np.flatnonzero((line >= 0) & (blockers.table["class_name"] != ""))
    if not len(known):
        return alike
    names: dict[str, int] = {}
    classes = map(_whole_class, blockers.table["class_name"][known].tolist())
    class_of = np.array([names.setdefault(name, len(names)) for name in classes])
    pids, pid_of = numbered(blockers.pid[known])
    kind = (class_of * len(pids) + pid_of) * len(KINDS) + blockers.kind[known]
    _, _, group = numbered_pairs(kind.astype(np.int64), line[known])
    first = np.full(int(group.max()) + 1, len(blockers), dtype=np.int64)
    np.minimum.at(first, group, known)
    alike[known] = first[group]
    return alike
