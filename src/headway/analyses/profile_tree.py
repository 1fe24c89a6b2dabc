"""Merges weighted stacks into one call tree, level by level from the roots: no loop over stacks, and sums stay exact.

A path is a stack with a weight, and perhaps a root of its own (its thread). All paths go down together: at each level those in
the same node that go on with the same frame share the next node. So the work is one sort per level, over the paths that
reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lock_arrays import numbered_pairs
from headway.analyses.profile_types import KINDS, CallTree, FlatRow, Frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Stacks:
    """Distinct stacks end to end: stack i is frames[begin[i]:begin[i + 1]], innermost first; `kind` is of each frame in it."""

    begin: Ints
    frames: Ints
    kind: Ints

    def __len__(self) -> int:
        """Return how many stacks there are."""
        return len(self.begin) - 1


@dataclass(eq=False)
class _Level:
    """The nodes of one depth; `parent` counts within the level above."""

    parent: Ints
    frame: Ints
    self_weight: Ints
    by_kind: Ints
    total: Ints


def build_tree(stacks: Stacks, stack: Ints, weight: Ints, root: Ints | None = None) -> CallTree:
    """Merge paths: `stack` is a row of `stacks`, `weight` its weight, `root` the frame of a node above it (kind thread)."""
    levels: list[_Level] = []
    node = np.zeros(len(stack), np.int64)
    begin, end = stacks.begin[stack], stacks.begin[stack + 1]
    if root is not None and len(stack):
        thread = np.full(len(root), KINDS.index("thread"))
        node = _descend(levels, node, root, thread, weight)
        _rest(levels, node, end == begin, weight)
    active = np.flatnonzero(end > begin)
    node, begin, end, weight = node[active], begin[active], end[active], weight[active]
    while len(node):
        end = end - 1  # outermost first
        node = _descend(levels, node, stacks.frames[end], stacks.kind[end], weight)
        done = end == begin
        _rest(levels, node, done, weight)
        node, begin, end, weight = node[~done], begin[~done], end[~done], weight[~done]
    return _depth_first(levels)


def _descend(levels: list[_Level], node: Ints, frame: Ints, kind: Ints, weight: Ints) -> Ints:
    """Add the level that the paths in `node` go on to, and return their nodes in it."""
    parent, frames, place = numbered_pairs(node, frame)
    by_kind = np.zeros((len(parent), len(KINDS)), np.int64)
    np.add.at(by_kind, (place, kind), weight)
    empty = np.zeros(len(parent), np.int64)
    levels.append(_Level(parent, frames, empty, by_kind, empty.copy()))
    return place


def _rest(levels: list[_Level], node: Ints, done: NDArray[np.bool_], weight: Ints) -> None:
    np.add.at(levels[-1].self_weight, node[done], weight[done])


def _depth_first(levels: list[_Level]) -> CallTree:
    """Lay the levels out depth first, heavier children before lighter ones."""
    sizes = [np.ones(len(level.parent), np.int64) for level in levels]
    for level in levels:
        level.total = level.self_weight.copy()
    for depth in range(len(levels) - 1, 0, -1):
        np.add.at(levels[depth - 1].total, levels[depth].parent, levels[depth].total)
        np.add.at(sizes[depth - 1], levels[depth].parent, sizes[depth])
    count = sum(map(len, sizes))
    parent, frame, own, total, kind, size, where = (np.zeros(count, np.int64) for _ in range(7))
    above = np.array([-1])
    for depth, level in enumerate(levels):
        mine = sizes[depth]
        order = np.lexsort((level.frame, -level.total, level.parent))
        before = np.cumsum(mine[order]) - mine[order]
        first = np.searchsorted(level.parent[order], level.parent[order])
        place = np.empty(len(order), np.int64)
        place[order] = above[level.parent[order]] + 1 + before - before[first]
        parent[place], frame[place] = above[level.parent], level.frame
        own[place], total[place] = level.self_weight, level.total
        kind[place], size[place], where[place] = level.by_kind.argmax(axis=1), mine, depth
        above = place
    return CallTree(parent, frame, own, total, kind, size, where)


def outermost(tree: CallTree) -> NDArray[np.bool_]:
    """Return which nodes have no node of the same frame above them: those whose totals make up the frame's total."""
    position = np.arange(len(tree))
    order = np.lexsort((position, tree.frame))
    group = tree.frame[order] * (len(tree) + 1)
    reach = np.maximum.accumulate(group + order + tree.size[order])
    found = np.ones(len(tree), dtype=bool)
    found[order[1:]] = (group + order)[1:] >= reach[:-1]
    return found


def flat(tree: CallTree, frames: Sequence[Frame]) -> list[FlatRow]:
    """Return every method with its own and its total weight, those with most of their own first. Threads are no methods."""
    count = len(frames)
    own, total = np.zeros(count, np.int64), np.zeros(count, np.int64)
    by_kind = np.zeros((count, len(KINDS)), np.int64)
    np.add.at(own, tree.frame, tree.self_weight)
    top = outermost(tree)
    np.add.at(total, tree.frame[top], tree.total_weight[top])
    np.add.at(by_kind, (tree.frame, tree.kind), tree.total_weight)
    kind = by_kind.argmax(axis=1) if count else np.zeros(0, np.int64)
    used = (total > 0) & (kind != KINDS.index("thread"))
    order = np.lexsort((np.arange(count), -total, -own))
    return [FlatRow(frames[i], KINDS[kind[i]], int(own[i]), int(total[i])) for i in order[used[order]].tolist()]


def heaviest(tree: CallTree, limit: int) -> Ints:
    """Return the rows of the `limit` nodes with most total weight, in the tree's order; a node never comes without its parent."""
    if len(tree) <= limit:
        return np.arange(len(tree))
    # Equal weights: the upper one first, so that no child takes the place of its parent.
    order = np.lexsort((np.arange(len(tree)), tree.depth, -tree.total_weight))
    return np.sort(order[:limit])


__all__ = ["CallTree", "Stacks", "build_tree", "flat", "heaviest", "outermost"]
