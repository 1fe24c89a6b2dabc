"""Merges weighted stacks into one call tree, level by level from the roots, vectorised and with exact sums.

A path is a stack with a weight, and perhaps a root of its own (its thread). All paths go down together: at each level those in
the same node that go on with the same frame share the next node. So the work is one sort per level, over the paths that
reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.columns import numbered_pairs
from headway.analyses.stacks.types import KINDS, CallTree, FlatRow, Frame, ProfileDiff

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StackColumns:
    """Distinct stacks end to end: stack i is frames[begin[i]:begin[i + 1]], innermost first; `kind` has a value per frame."""

    begin: Ints
    frames: NDArray[np.int32]
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        """Return how many stacks there are."""
        return len(self.begin) - 1


@dataclass(frozen=True, eq=False)
class TreeLevel:
    """The nodes of one depth of a call tree; `parent` indexes the level above."""

    parent: Ints
    frame: Ints

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.parent)


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """The depth-first position of each level's nodes (`place`), and the tree columns that follow from it."""

    place: list[Ints]
    parent: Ints
    frame: Ints
    size: Ints
    depth: Ints

    def column(self, levels: Sequence[NDArray[np.integer[Any]]]) -> Ints:
        """Return a depth-first column from values given level by level."""
        found = np.zeros(len(self.parent), np.int64)
        for place, values in zip(self.place, levels, strict=True):
            found[place] = values
        return found


class TooManyNodes(Exception):  # noqa: N818 - never reaches a person
    """Is raised where a call tree would have more nodes than its caller has memory for."""


def build_tree(
    stacks: StackColumns, stack: Ints, weight: Ints, root: Ints | None = None, most: int | None = None
) -> CallTree:
    """Merge weighted paths: `stack` is a row of `stacks`, `root` the frame of an extra node above it (of kind thread).

    Raises TooManyNodes where there are more than `most`, before there is much of the tree.
    """
    levels: list[TreeLevel] = []
    own: list[Ints] = []
    kinds: list[NDArray[np.int8]] = []

    def descend(node: Ints, frame: NDArray[Any], kind: NDArray[Any]) -> Ints:
        """Add the level that the paths in `node` go on to, and return their nodes in it."""
        parent, frames, place = numbered_pairs(node, frame)
        levels.append(TreeLevel(parent, frames))
        if most is not None and sum(map(len, levels)) > most:
            raise TooManyNodes
        kinds.append(heaviest_kind(len(parent), place, kind, weight))
        done = end == begin
        own.append(sums_at(len(parent), place[done], weight[done]))
        return place

    begin, end = stacks.begin[stack], stacks.begin[stack + 1]
    node = np.zeros(len(stack), np.int64)
    if root is not None and len(stack):
        node = descend(node, root, np.full(len(root), KINDS.index("thread")))
    while (active := end > begin).any():
        node, begin, end, weight = node[active], begin[active], end[active] - 1, weight[active]  # outermost first
        node = descend(node, stacks.frames[end], stacks.kind[end])
    total = totals(levels, own)
    layout = lay_out(levels, total)
    return CallTree(
        parent=layout.parent,
        frame=layout.frame,
        self_weight=layout.column(own),
        total_weight=layout.column(total),
        kind=layout.column(kinds),
        size=layout.size,
        depth=layout.depth,
    )


def sums_at(count: int, place: Ints, values: Ints) -> Ints:
    """Return an array of zeros with values added at given indexes."""
    found = np.zeros(count, np.int64)
    np.add.at(found, place, values)
    return found


def heaviest_kind(count: int, place: Ints, kind: NDArray[Any], weight: Ints) -> NDArray[np.int8]:
    """Return for each of `count` groups the frame kind with most weight."""
    found, most = np.zeros(count, np.int8), np.zeros(count, np.int64)
    for each in np.flatnonzero(np.bincount(kind, minlength=len(KINDS))).tolist():
        here = kind == each
        weights = sums_at(count, place[here], weight[here])
        found[weights > most] = each
        most = np.maximum(most, weights)
    return found


def totals(levels: Sequence[TreeLevel], own: Sequence[Ints]) -> list[Ints]:
    """Return per level each node's own value plus that of all nodes below it."""
    found = [each.copy() for each in own]
    for depth in range(len(levels) - 1, 0, -1):
        np.add.at(found[depth - 1], levels[depth].parent, found[depth])
    return found


def lay_out(levels: Sequence[TreeLevel], weight: Sequence[Ints]) -> TreeLayout:
    """Order nodes depth first: heavier children before lighter ones, equal ones by their frame."""
    sizes = totals(levels, [np.ones(len(level), np.int64) for level in levels])
    count = sum(map(len, levels))
    parent, frame, size, depth = (np.zeros(count, np.int64) for _ in range(4))
    places = []
    above = np.array([-1])
    for at, level in enumerate(levels):
        order = np.lexsort((level.frame, -weight[at], level.parent))
        before = np.cumsum(sizes[at][order]) - sizes[at][order]
        first = np.searchsorted(level.parent[order], level.parent[order])
        place = np.empty(len(order), np.int64)
        place[order] = above[level.parent[order]] + 1 + before - before[first]
        parent[place], frame[place], size[place], depth[place] = above[level.parent], level.frame, sizes[at], at
        places.append(place)
        above = place
    return TreeLayout(places, parent, frame, size, depth)


def outermost(tree: CallTree) -> NDArray[np.bool_]:
    """Return which nodes have no ancestor with the same frame: their totals sum to the frame's total."""
    position = np.arange(len(tree))
    order = np.lexsort((position, tree.frame))
    group = tree.frame[order] * (len(tree) + 1)
    reach = np.maximum.accumulate(group + order + tree.size[order])
    found = np.ones(len(tree), dtype=bool)
    found[order[1:]] = (group + order)[1:] >= reach[:-1]
    return found


def flat_rows(tree: CallTree, frames: Sequence[Frame]) -> list[FlatRow]:
    """Return every method with its own and its total weight, largest own weight first; thread nodes are left out."""
    count = len(frames)
    own, total = np.zeros(count, np.int64), np.zeros(count, np.int64)
    np.add.at(own, tree.frame, tree.self_weight)
    top = outermost(tree)
    np.add.at(total, tree.frame[top], tree.total_weight[top])
    kind = heaviest_kind(count, tree.frame, tree.kind, tree.total_weight)
    used = (total > 0) & (kind != KINDS.index("thread"))
    order = np.lexsort((np.arange(count), -total, -own))
    return [FlatRow(frames[i], KINDS[kind[i]], int(own[i]), int(total[i])) for i in order[used[order]].tolist()]


def heaviest(tree: CallTree | ProfileDiff, limit: int) -> Ints:
    """Return the `limit` nodes with most total weight, in tree order; a node never comes without its parent.

    Of a difference, the total is the sum of both.
    """
    if len(tree.parent) <= limit:
        return np.arange(len(tree.parent))
    weight = tree.total_weight if isinstance(tree, CallTree) else tree.before_total + tree.after_total
    # Equal weights: the upper one first, so that no child takes the place of its parent.
    order = np.lexsort((np.arange(len(weight)), tree.depth, -weight))
    return np.sort(order[:limit])
