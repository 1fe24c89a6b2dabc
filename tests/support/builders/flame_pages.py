"""Builds call trees for tests of flame graphs, and unpacks packed ones independently of headway's code."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.analyses.stacks.types import KINDS, CallTree, Frame, Profile, ProfileDiff

Path = tuple[str, ...]
Stacks = dict[Path, int]


def frame(name: str) -> Frame:
    """Return a Java frame of this name."""
    cls, _, method = name.rpartition("::")
    return Frame(cls, method)


def call_tree(
    weights: Mapping[Path, Sequence[int]], kinds: Mapping[str, str], profiles: int = 1
) -> tuple[tuple[Frame, ...], Any]:
    """Return frames and tree columns; `weights` are per whole stack, outermost frame first, one value per profile."""
    totals: dict[Path, list[int]] = {}
    selves: dict[Path, list[int]] = {}
    for path, own in weights.items():
        selves[path] = [a + b for a, b in zip(selves.get(path, [0] * len(own)), own, strict=True)]
        for depth in range(1, len(path) + 1):
            before = totals.get(path[:depth], [0] * len(own))
            totals[path[:depth]] = [a + b for a, b in zip(before, own, strict=True)]
    order = _depth_first(totals)
    row = {path: i for i, path in enumerate(order)}
    names = {name: i for i, name in enumerate(sorted({path[-1] for path in order}))}
    sizes = dict.fromkeys(order, 1)
    for path in reversed(order):
        if len(path) > 1:
            sizes[path[:-1]] += sizes[path]
    columns = {
        "parent": [row.get(path[:-1], -1) for path in order],
        "frame": [names[path[-1]] for path in order],
        "kind": [KINDS.index(kinds.get(path[-1], "java")) for path in order],
        "size": [sizes[path] for path in order],
        "depth": [len(path) - 1 for path in order],
        "self": [selves.get(path, [0] * len(totals[path])) for path in order],
        "total": [totals[path] for path in order],
    }
    arrays = {key: np.array(value, np.int64) for key, value in columns.items()}
    arrays |= {key: arrays[key].reshape(len(order), profiles) for key in ("self", "total")}
    return tuple(map(frame, names)), arrays


def _depth_first(totals: Mapping[Path, Sequence[int]]) -> list[Path]:
    below: dict[Path, list[Path]] = {}
    for path in totals:
        below.setdefault(path[:-1], []).append(path)
    found: list[Path] = []
    todo: list[Path] = [()]
    while todo:
        path = todo.pop()
        found += [path] if path else []
        todo += sorted(below.get(path, []), key=lambda each: (sum(totals[each]), each))
    return found


def profile_of(
    weights: Mapping[Path, int], kinds: Mapping[str, str] | None = None, event: str = "cpu", unit: str = "ns"
) -> Profile:
    """Return a profile of these stacks and weights."""
    frames, tree = call_tree({path: [value] for path, value in weights.items()}, kinds or {})
    columns = CallTree(
        tree["parent"],
        tree["frame"],
        tree["self"][:, 0],
        tree["total"][:, 0],
        tree["kind"],
        tree["size"],
        tree["depth"],
    )
    total = sum(weights.values())
    return Profile(event, unit, total, len(weights), 0, "ebpf", (0, 10**9), frames, columns, (), ())


def diff_of(before: Mapping[Path, int], after: Mapping[Path, int]) -> ProfileDiff:
    """Return the difference of two profiles of these stacks and weights."""
    both = {path: [before.get(path, 0), after.get(path, 0)] for path in [*before, *after]}
    frames, t = call_tree(both, {}, profiles=2)
    plain = (t["parent"], t["frame"], t["kind"], t["size"], t["depth"])
    weights = (t["self"][:, 0], t["total"][:, 0], t["self"][:, 1], t["total"][:, 1])
    return ProfileDiff("cpu", "ns", sum(before.values()), sum(after.values()), frames, *plain, *weights, ())


@dataclass(frozen=True)
class Node:
    """A node as the page reads it: the names from the root to it."""

    path: Path
    self_weight: int
    other: int
    merged: int


def unpacked(flames: Mapping[str, Any], tree: Mapping[str, Any]) -> list[Node]:
    """Read a packed tree number by number."""
    names = flames["frames"]["names"]
    ups, frames, own = (_numbers(tree[key]) for key in ("ups", "frames", "self"))
    other = _numbers(tree["other"]) if tree["other"] is not None else [0] * len(own)
    merged = iter(_numbers(tree["merged"]))
    assert tree["nodes"] == len(ups) == len(frames) == len(own) == len(other)
    path: list[str] = []
    nodes = []
    for i, number in enumerate(frames):
        path = [*path[: len(path) - ups[i]], names[number]]
        nodes.append(Node(tuple(path), own[i], other[i], next(merged) if number == 1 else 0))
    assert next(merged, None) is None
    return nodes


def _numbers(text: str) -> list[int]:
    found, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value, shift = 0, 0
    assert shift == 0
    return found


def wide_profile(stacks: int = 100_000) -> Profile:
    """Return a profile of so many stacks of eight frames, of which the innermost three are unique."""
    random = np.random.default_rng(7)
    shared = 100  # stacks with the same five outermost frames
    groups = stacks // shared
    depth = np.concatenate([np.arange(5), np.tile([5, 6, 7], shared)])
    names = [Frame("org.example.Service", f"step{i}") for i in range(2000)]
    rows = len(depth) * groups
    own = np.zeros((groups, len(depth)), np.int64)
    own[:, 7::3] = (random.pareto(1.2, (groups, shared)) * 1e5).astype(np.int64) + 1
    total = own.copy()
    for back in (1, 2):
        total[:, 7 - back :: 3] = own[:, 7::3]
    total[:, :5] = own.sum(axis=1, keepdims=True)
    parent = np.arange(-1, len(depth) - 1) + np.zeros((groups, 1), np.int64)
    parent[:, 5::3] = 4
    parent += np.where(parent >= 0, np.arange(groups)[:, None] * len(depth), 0)
    size = np.where(depth < 5, len(depth) - depth, 8 - depth)
    columns = (parent.ravel(), random.integers(0, len(names), rows), own.ravel(), total.ravel())
    kind = random.integers(0, 7, rows)
    tree = CallTree(*columns, kind, np.tile(size, groups), np.tile(depth, groups))
    return Profile("cpu", "ns", int(own.sum()), rows, 0, "ebpf", (0, 10**9), tuple(names), tree, (), ())
