"""What is waited for, numbered: locks, queues and barriers by object; latches, joins and futures, which serve once, by place.

A program makes a future for each request: by object nobody would see where it waits. So what serves once is put together by the
place of the wait and the class, and so are the objects beyond the thousand of each cause that are waited for longest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lock_arrays import numbered, numbered_pairs
from headway.analyses.lock_rules import RULES, TOGETHER, display
from headway.analyses.lock_sites import line_of
from headway.analyses.why_types import CAUSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData
    from headway.analyses.lock_sites import Sites

    Ints = NDArray[np.int64]

MOST_OBJECTS = 1000
_ONCE = ("latch", "result")
_MADE_PER_WAIT = ("Phaser$QNode", "CompletableFuture$Signaller", "DualNode", "TransferNode")


@dataclass(frozen=True, slots=True)
class Waited:
    """Something waited for: `name` as `locks` shows it, `row` of the object in LockData.blockers, -1 where it is several."""

    cause: str
    name: str
    row: int
    class_name: str
    pid: int


def of_phaser(class_name: str) -> bool:
    """Return whether threads that wait on objects of a class wait at a phaser: others may arrive there and not wait."""
    return class_name.endswith("Phaser$QNode")


def keys_of(data: LockData, sites: Sites, cause: Ints, waited: Ints) -> tuple[Ints, tuple[Waited, ...]]:
    """Number what the blocks wait for, and describe it; `waited` is how long each does."""
    blocks, blockers = data.blocks, data.blockers
    if not len(blocks):
        return np.zeros(0, np.int64), ()
    names, class_of = np.unique(np.array(blockers.table["class_name"], dtype=object).astype(str), return_inverse=True)
    alone = _by_object(data, sites, cause, waited, [str(name) for name in names], class_of)
    stacks, at = numbered(sites.stack)
    lines: dict[str, int] = {}
    line = np.array([lines.setdefault(line_of(data, int(stack)), len(lines)) for stack in stacks])[at]
    pids, pid_of = numbered(blockers.pid)
    kind = (class_of * len(pids) + pid_of)[blocks.blocker]
    group = len(blockers) + line * (len(names) * len(pids)) + kind
    causes, _, key = numbered_pairs(cause, np.where(alone, blocks.blocker, group))
    first = np.zeros(len(causes), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    several = _several(data, key, alone)
    return key, tuple(_described(data, int(cause[i]), int(i), several) for i in first)


def _by_object(
    data: LockData, sites: Sites, cause: Ints, waited: Ints, names: list[str], class_of: Ints
) -> NDArray[np.bool_]:
    """Return which blocks are told by their object."""
    blocks, blockers = data.blocks, data.blockers
    once = np.isin(sites.rule, [number for number, rule in enumerate(RULES) if rule.id in _ONCE])
    per_wait = np.array([name.endswith(_MADE_PER_WAIT) for name in names])[class_of]
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


def _several(data: LockData, key: Ints, alone: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return per block whether its key stands for more than one object."""
    keys, _, _ = numbered_pairs(key, data.blocks.blocker)
    return np.asarray((np.bincount(keys, minlength=int(key.max()) + 1) > 1)[key] & ~alone)


def _described(data: LockData, cause: int, block: int, several: NDArray[np.bool_]) -> Waited:
    row = int(data.blocks.blocker[block])
    blockers = data.blockers
    class_name = blockers.class_name(row)
    is_one = not several[block]
    name = blockers.name(row) if is_one else display(class_name, 0).removesuffix(TOGETHER)
    cause_name = list(CAUSES)[cause]
    return Waited(
        cause_name, name, row if is_one and blockers.is_object[row] else -1, class_name, int(blockers.pid[row])
    )
