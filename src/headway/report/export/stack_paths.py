"""What the exports of stacks share: the paths of a profile's tree that have weight of their own, and names as valid text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.analyses.stacks.types import CallTree


def weighted_paths(tree: CallTree) -> Iterator[tuple[list[int], int]]:
    """Yield (nodes from the root down, weight) for every node with weight of its own; the list is reused."""
    path: list[int] = []
    columns = zip(tree.depth.tolist(), tree.self_weight.tolist(), strict=True)
    for node, (depth, weight) in enumerate(columns):
        path[depth:] = [node]
        if weight:
            yield path, weight


def valid(text: str) -> str:
    """Return a name that has a UTF-8 form: a lone surrogate is spelled out as \\udcNN."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
