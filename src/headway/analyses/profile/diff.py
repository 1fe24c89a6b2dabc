"""Compares two profiles of one event: both weights at every node of one merged tree.

Question   which calls got heavier, and which lighter, from one recording to another?
Method     the two trees are merged level by level, nodes that have the same path are one. Nothing is scaled: weights of both are
           kept, with both totals, so that a reader may compare time with time, or share with share.
Assumes    methods keep their names. Lambdas and other classes that the JVM makes are numbered differently in every run; the
           recording leaves the number out.
Wrong when the two ran for different lengths of time, or did different amounts of work, and weights (not shares) are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered_pairs
from headway.analyses.stacks.tree import TreeLevel, lay_out, sums_at
from headway.analyses.stacks.types import CallTree, Frame, Profile, ProfileDiff
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(eq=False)
class _Side:
    """One of the two profiles while merging: the merged node and frame of each of its nodes."""

    tree: CallTree
    frame: Ints
    node: Ints
    own: list[Ints] = field(default_factory=list)
    total: list[Ints] = field(default_factory=list)

    def at(self, depth: int) -> tuple[Ints, Ints, Ints]:
        """Return the nodes of a depth, their joint parents, and their joint frames."""
        rows = np.flatnonzero(self.tree.depth == depth)
        parent = self.node[self.tree.parent[rows]] if depth else np.zeros(len(rows), np.int64)
        return rows, parent, self.frame[self.tree.frame[rows]]

    def join(self, rows: Ints, place: Ints, count: int) -> None:
        """Note that nodes are the joint nodes `place` of a level with `count` of them."""
        self.node[rows] = place
        self.own.append(sums_at(count, place, self.tree.self_weight[rows]))
        self.total.append(sums_at(count, place, self.tree.total_weight[rows]))


def diff(before: Profile, after: Profile) -> ProfileDiff:
    """Merge two profiles into one tree. Raises HeadwayError HW446 when they are of different events."""
    if before.event != after.event:
        raise HeadwayError("HW446", before=before.event, after=after.event)
    frames: dict[Frame, int] = {}
    first, second = (_side(frames, profile) for profile in (before, after))
    levels: list[TreeLevel] = []
    kinds: list[Ints] = []
    for depth in range(max(int(side.tree.depth.max(initial=-1)) for side in (first, second)) + 1):
        (rows, *mine), (others, *theirs) = first.at(depth), second.at(depth)
        parent, frame, place = numbered_pairs(*(np.concatenate(pair) for pair in zip(mine, theirs, strict=True)))
        levels.append(TreeLevel(parent, frame))
        kind = np.zeros(len(parent), np.int64)
        for side, nodes, joint in ((first, rows, place[: len(rows)]), (second, others, place[len(rows) :])):
            side.join(nodes, joint, len(parent))
            kind[joint] = side.tree.kind[nodes]
        kinds.append(kind)
    layout = lay_out(levels, [np.maximum(*both) for both in zip(first.total, second.total, strict=True)])
    return ProfileDiff(
        event=before.event,
        unit=before.unit,
        total_before=before.total,
        total_after=after.total,
        frames=tuple(frames),
        parent=layout.parent,
        frame=layout.frame,
        kind=layout.column(kinds),
        size=layout.size,
        depth=layout.depth,
        before_self=layout.column(first.own),
        before_total=layout.column(first.total),
        after_self=layout.column(second.own),
        after_total=layout.column(second.total),
        notices=tuple(dict.fromkeys((*before.notices, *after.notices))),
    )


def _side(known: dict[Frame, int], profile: Profile) -> _Side:
    """Number the frames of a profile among those known, which grow."""
    numbers = np.array([known.setdefault(frame, len(known)) for frame in profile.frames], dtype=np.int64)
    return _Side(profile.tree, numbers, np.zeros(len(profile.tree), np.int64))
