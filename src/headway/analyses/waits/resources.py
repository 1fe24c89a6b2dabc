"""Numbers what is waited for: locks, queues and barriers by object; latches, joins and futures, used once, by place.

Locks and conditions of one class that are waited for mostly at one line (one for each client, task or transaction) are one, as in
`locks` (waits.object_places). Queues and barriers are not: the stages of a pipeline share their code, and one of them is the
slow one.

A program makes a future for each request: by object nobody would see where it waits. So what serves once is put together by the
place of the wait and the class, and so are the objects beyond the thousand of each cause that are waited for longest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from headway.analyses.common.causes import CAUSES, CONDITION, LOCK
from headway.analyses.common.columns import numbered, numbered_pairs
from headway.analyses.waits.object_names import SLEEP, TOGETHER, display
from headway.analyses.waits.object_places import object_places
from headway.analyses.waits.rules import RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]

MOST_OBJECTS = 1000
_ONCE = ("latch", "result")
_NEW_FOR_EACH_WAIT = ("Phaser$QNode", "CompletableFuture$Signaller", "DualNode", "TransferNode")


@dataclass(frozen=True, slots=True)
class Waited:
    """Something that is waited for: `name` as `locks` shows it, `row` in LockData.blockers, -1 for several objects."""

    cause: str
    name: str
    row: int
    class_name: str
    pid: int


def of_phaser(class_name: str) -> bool:
    """Return whether waits on a class are at a phaser, at which other threads may arrive without waiting."""
    return class_name.endswith("Phaser$QNode")


def keys_of(data: LockData, sites: Sites, cause: Ints, waited: Ints) -> tuple[Ints, Sequence[Waited]]:
    """Number and describe what the blocks wait for; `waited` is the length of each."""
    blocks, blockers = data.blocks, data.blockers
    if not len(blocks):
        return np.zeros(0, np.int64), ()
    names, class_of = blockers.classes
    alone = _by_object(data, sites, cause, waited, names, class_of)
    line = data.stacks.line_numbers(sites.stack)
    pids, pid_of = numbered(blockers.pid)
    kind = (class_of * len(pids) + pid_of)[blocks.blocker]
    group = len(blockers) + line * (len(names) * len(pids)) + kind
    one = np.where(_is_alike(cause), object_places(data, sites).alike[blocks.blocker], blocks.blocker)
    causes, _, key = numbered_pairs(cause, np.where(alone, one, group))
    first = np.zeros(len(causes), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return key, WaitedFor(data, cause[first], first, _objects(data, key), alone[first], sites.stack[first])


def _is_alike(cause: Ints) -> NDArray[np.bool_]:
    """Return which causes are those of a lock or a condition."""
    return np.isin(cause, [number for number, name in enumerate(CAUSES) if name in (LOCK, CONDITION)])


def _by_object(
    data: LockData, sites: Sites, cause: Ints, waited: Ints, names: list[str], class_of: Ints
) -> NDArray[np.bool_]:
    """Return which blocks are told by their object."""
    blocks, blockers = data.blocks, data.blockers
    once = np.isin(sites.rule, [number for number, rule in enumerate(RULES) if rule.id in _ONCE])
    per_wait = np.array([name.endswith(_NEW_FOR_EACH_WAIT) for name in names])[class_of]
    alone = blockers.is_object[blocks.blocker] & ~per_wait[blocks.blocker] & ~once
    rows = np.flatnonzero(alone)
    causes, objects, at = numbered_pairs(cause[rows], blocks.blocker[rows])
    if len(objects) > MOST_OBJECTS:
        total = np.bincount(at, weights=waited[rows], minlength=len(objects))
        order = np.lexsort((-total, causes))
        rank = np.arange(len(order)) - np.searchsorted(causes[order], causes[order])
        kept = np.zeros(len(order), dtype=bool)
        kept[order] = rank < MOST_OBJECTS
        alone[rows] = kept[at]
    return np.asarray(alone)


def _objects(data: LockData, key: Ints) -> Ints:
    """Return for how many objects each key stands."""
    keys, _, _ = numbered_pairs(key, data.blocks.blocker)
    return np.bincount(keys, minlength=int(key.max()) + 1)


class WaitedFor(Sequence[Waited]):
    """What is waited for by its number, described on demand, as there may be a million."""

    def __init__(
        self, data: LockData, cause: Ints, block: Ints, objects: Ints, is_alone: NDArray[np.bool_], stack: Ints
    ) -> None:
        """Take of each its cause, one of its blocks with its stack, its number of objects, and whether these are told apart."""
        self._data = data
        self._cause, self._block, self._objects, self._is_alone, self._stack = cause, block, objects, is_alone, stack

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._block)

    @overload
    def __getitem__(self, index: int) -> Waited: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Waited]: ...

    def __getitem__(self, index: int | slice) -> Waited | Sequence[Waited]:
        """Return one, or some."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        blockers = self._data.blockers
        row = int(self._data.blocks.blocker[self._block[place]])
        class_name, objects = blockers.class_name(row), int(self._objects[place])
        is_one = objects == 1
        name = blockers.name(row) if is_one else display(class_name, 0).removesuffix(TOGETHER)
        if self._is_alone[place] and not is_one:
            name = f"{objects} objects ({name})"
        if class_name == SLEEP and not self._data.frames(int(self._stack[place])):
            name = f"{name} (place not known)"
        cause_name = list(CAUSES)[int(self._cause[place])]
        is_object = is_one and blockers.is_object[row]
        return Waited(cause_name, name, row if is_object else -1, class_name, int(blockers.pid[row]))
