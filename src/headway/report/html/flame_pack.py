"""Call trees as the page draws them: packed, and of a bounded size whatever was sampled.

What does not fit is merged, smallest subtrees first, into one node per caller that carries their exact sum and their number, so
every sum in the page is that of the profile. payloads/flame.py describes the form.
"""

from __future__ import annotations

import base64
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.stacks.types import KINDS
from headway.report.html.text import cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.stacks.types import Frame

    Ints = NDArray[np.int64]

NAME_CHARS = 160
ROOT, MERGED = 0, 1
"""Frames that every page has: the root of all, and what was merged."""
_ALL, _SMALLER = len(KINDS), len(KINDS) + 1
_PACKED_NODE_BYTES = 10
"""About what a node takes; only the first guess depends on it."""


@dataclass(frozen=True, eq=False)
class PackedColumns:
    """A call tree depth first, without a root of its own. `other_*`: the same nodes in the profile it is compared with."""

    depth: Ints
    frame: Ints
    kind: Ints
    self_weight: Ints
    total_weight: Ints
    other_self: Ints | None = None
    other_total: Ints | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """One flame graph: what it shows, in words and units, and its trees over the same `frames`."""

    event: str
    label: str
    unit: str
    frames: Sequence[Frame]
    merged: PackedColumns
    by_thread: PackedColumns | None = None
    by_thread_frames: Sequence[Frame] = ()
    versus: str | None = None
    notes: tuple[str, ...] = ()


def pack(graphs: Sequence[Graph], limit_bytes: int) -> dict[str, Any]:
    """Return graphs as the page takes them, in at most `limit_bytes` of JSON (if need be each is its root alone)."""
    trees = sum(1 + (graph.by_thread is not None) for graph in graphs)
    most = max((len(tree.depth) for graph in graphs for tree in _trees(graph)), default=0)
    keep = min(most, limit_bytes // (_PACKED_NODE_BYTES * max(1, trees)))
    while True:
        packed = _packed(graphs, keep)
        size = json_bytes(packed)
        if size <= limit_bytes or keep == 0:
            return packed
        keep = min(keep * 9 // 10, int(keep * 0.95 * limit_bytes / size))


def json_bytes(payload: Any) -> int:
    """Return the bytes of a payload in the page, where each of `<`, `>` and `&` takes six."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode("utf-8", "backslashreplace")) + 5 * sum(map(text.count, "<>&\u2028\u2029"))


def visible(text: str) -> str:
    r"""Return a name without characters that are not seen or that turn the text around: they are written as \u202e."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c) in _UNSEEN else c for c in text)


_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(eq=False)
class _Names:
    """The frames that the packed trees use, numbered as they come."""

    names: list[str] = field(default_factory=lambda: ["all", "(smaller)"])
    kinds: list[int] = field(default_factory=lambda: [_ALL, _SMALLER])
    number: dict[tuple[str, int], int] = field(default_factory=dict)

    def of(self, frames: Sequence[Frame], frame: Ints, kind: Ints) -> Ints:
        """Return the page's numbers for pairs of a frame and what kind it is there."""
        pairs, place = np.unique(frame * len(KINDS) + kind, return_inverse=True)
        found = [self._one(frames[pair // len(KINDS)], pair % len(KINDS)) for pair in pairs.tolist()]
        return np.array(found, np.int64)[place] if found else np.zeros(0, np.int64)

    def _one(self, frame: Frame, kind: int) -> int:
        key = (cut(visible(frame.text), NAME_CHARS), kind)
        if key not in self.number:
            self.number[key] = len(self.names)
            self.names.append(key[0])
            self.kinds.append(kind)
        return self.number[key]


def _trees(graph: Graph) -> list[PackedColumns]:
    return [graph.merged] if graph.by_thread is None else [graph.merged, graph.by_thread]


def _packed(graphs: Sequence[Graph], keep: int) -> dict[str, Any]:
    names = _Names()
    packed = [_graph(graph, names, keep) for graph in graphs]
    return {
        "frames": {"names": names.names, "kinds": "".join(chr(ord("a") + kind) for kind in names.kinds)},
        "graphs": packed,
    }


def _graph(graph: Graph, names: _Names, keep: int) -> dict[str, Any]:
    total = _sum(graph.merged.self_weight)
    other = graph.merged.other_self
    versus = None if graph.versus is None or other is None else {"name": graph.versus, "total": _sum(other)}
    merged, left = _tree(graph.merged, graph.frames, names, keep)
    by_thread = None
    if graph.by_thread is not None:
        by_thread, left_by_thread = _tree(graph.by_thread, graph.by_thread_frames or graph.frames, names, keep)
        left = max(left, left_by_thread)
    notes = list(graph.notes)
    if left:
        notes.append(
            f"Up to {keep:,} frames of a graph are in this file: {left:,} smaller ones are merged into “(N smaller)”, "
            "with their exact sums."
        )
    return {
        "event": graph.event,
        "label": graph.label,
        "unit": graph.unit,
        "total": total,
        "versus": versus,
        "merged": merged,
        "by_thread": by_thread,
        "notes": notes,
    }


def _sum(values: Ints) -> int:
    return int(values.sum()) if len(values) else 0


def _tree(tree: PackedColumns, frames: Sequence[Frame], names: _Names, keep: int) -> tuple[dict[str, Any], int]:
    """Return a tree of at most `keep` frames and their merged siblings below one root, and how many were merged."""
    kept = _heaviest(tree, keep)
    small, where, count = _merge(tree, kept)
    depth = np.concatenate([tree.depth[kept], small.depth])
    frame = np.concatenate([names.of(frames, tree.frame[kept], tree.kind[kept]), small.frame])
    # Merged ones come behind their siblings: after the last node below their caller, the deepest first.
    order = np.lexsort((-depth, np.repeat([0, 1], [len(kept), len(where)]), np.concatenate([kept, where])))
    own = np.concatenate([tree.self_weight[kept], small.self_weight])[order]
    other = None
    if tree.other_self is not None and small.other_self is not None:
        other = np.concatenate([tree.other_self[kept], small.other_self])[order]
    below = np.concatenate([[0], depth[order] + 1])
    ups = np.concatenate([[0], below[:-1] - below[1:] + 1])
    packed = {
        "nodes": len(below),
        "ups": _base64(ups),
        "frames": _base64(np.concatenate([[ROOT], frame[order]])),
        "self": _base64(np.concatenate([[0], own])),
        "other": None if other is None else _base64(np.concatenate([[0], other])),
        "merged": _base64(np.concatenate([np.zeros(len(kept), np.int64), count])[order][frame[order] == MERGED]),
    }
    return packed, len(tree.depth) - len(kept)


def _heaviest(tree: PackedColumns, keep: int) -> Ints:
    """Return the rows of the heaviest nodes, in order. Of equal ones the upper comes first: none without its caller."""
    if len(tree.depth) <= keep:
        return np.arange(len(tree.depth))
    weight = tree.total_weight if tree.other_total is None else tree.total_weight + tree.other_total
    least = np.partition(weight, -keep)[-keep]  # sorting all takes seconds, which hear no Ctrl-C
    heavier, equal = np.flatnonzero(weight > least), np.flatnonzero(weight == least)
    upper = equal[np.argsort(tree.depth[equal], kind="stable")]
    return np.sort(np.concatenate([heavier, upper[: keep - len(heavier)]]))


def _merge(tree: PackedColumns, kept: Ints) -> tuple[PackedColumns, Ints, Ints]:
    """Return one node below each caller that lost some, the row after which it comes, and how many it stands for."""
    size = len(tree.depth)
    is_kept = np.zeros(size, bool)
    is_kept[kept] = True
    lost = np.flatnonzero(~is_kept)
    if len(lost) == 0:
        none = np.zeros(0, np.int64)
        return _none(tree), none, none
    caller, end = _callers(tree.depth, is_kept)
    callers, place = np.unique(caller[lost], return_inverse=True)

    def summed(values: Ints) -> Ints:
        sums = np.zeros(len(callers), np.int64)
        np.add.at(sums, place, values[lost])
        return sums

    own = summed(tree.self_weight)
    other = None if tree.other_self is None else summed(tree.other_self)
    depth = np.where(callers >= 0, tree.depth[callers] + 1, 0)
    frame = np.full(len(callers), MERGED)
    where = np.where(callers >= 0, end[callers] - 1, size)
    return PackedColumns(depth, frame, frame, own, own, other, other), where, summed(np.ones(size, np.int64))


def _none(tree: PackedColumns) -> PackedColumns:
    none = np.zeros(0, np.int64)
    other = None if tree.other_self is None else none
    return PackedColumns(none, none, none, none, none, other, other)


def _callers(depth: Ints, is_kept: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Return for each node its nearest caller that is kept (-1: none), and the row behind its subtree."""
    size = len(depth)
    caller = np.full(size, -1)
    end = np.full(size, size)
    above: list[int] = []
    nearest: list[int] = []
    for row, (level, kept) in enumerate(zip(depth.tolist(), is_kept.tolist(), strict=True)):
        while len(above) > level:
            end[above.pop()] = row
            nearest.pop()
        caller[row] = nearest[-1] if nearest else -1
        above.append(row)
        nearest.append(row if kept else caller[row])
    return caller, end


def _base64(values: Ints) -> str:
    return base64.b64encode(leb128(values)).decode("ascii")


def leb128(values: Ints) -> bytes:
    """Return non-negative numbers as unsigned LEB128, one after another."""
    rest = values.astype(np.uint64)
    length = np.ones(len(rest), np.int64)
    for bits in range(7, 64, 7):
        length += (rest >> np.uint64(bits)) > 0
    out = np.zeros(int(length.sum()), np.uint8)
    first = np.cumsum(length) - length
    for i in range(int(length.max(initial=0))):
        has = length > i
        more = (length[has] > i + 1).astype(np.uint64) << np.uint64(7)
        out[first[has] + i] = ((rest[has] >> np.uint64(7 * i)) & np.uint64(127)) | more
    return out.tobytes()


__all__ = ["Graph", "PackedColumns", "json_bytes", "leb128", "pack", "visible"]
