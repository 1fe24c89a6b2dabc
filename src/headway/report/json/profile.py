"""A profile as JSON: keys may be added, never changed (docs/reference/json.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.analyses.stacks.tree import flat_rows, heaviest
from headway.analyses.stacks.types import KINDS, FlatRow, Profile, ThreadWeight

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Frame

ROWS = 2000
NODES = 10_000
"""Rows and nodes unless all are asked for."""


def profile_json(found: Profile, *, with_tree: bool = False, whole: bool = False) -> dict[str, Any]:
    """Return the stable form of a profile."""
    rows = flat_rows(found.tree, found.frames)
    shown = rows if whole else rows[:ROWS]
    nodes = _nodes(found, whole) if with_tree else None
    return {
        "event": found.event,
        "unit": found.unit,
        "total": found.total,
        "samples": found.samples,
        "without_stack": found.unwalked,
        "without_sample": found.unsampled,
        "mode": found.mode,
        "from_ns": found.window_ns[0],
        "to_ns": found.window_ns[1],
        "threads": [_thread(row) for row in found.threads],
        "flat": [_row(row, found.total) for row in shown],
        "more_flat": len(rows) - len(shown),
        "tree": nodes,
        "more_tree": 0 if nodes is None else len(found.tree) - len(nodes),
        "warnings": [notice.as_json() for notice in found.notices],
    }


def _thread(row: ThreadWeight) -> dict[str, Any]:
    return {
        "thread": row.name,
        "thread_id": row.thread_id,
        "tid": row.tid,
        "kind": row.kind,
        "weight": row.weight,
        "samples": row.samples,
    }


def _frame(frame: Frame, kind: str) -> dict[str, Any]:
    return {"class_name": frame.class_name, "method": frame.method, "line": frame.line, "kind": kind}


def _row(row: FlatRow, total: int) -> dict[str, Any]:
    return {
        **_frame(row.frame, row.kind),
        "self": row.self_weight,
        "total": row.total_weight,
        "self_share": row.self_weight / total if total else 0.0,
        "total_share": row.total_weight / total if total else 0.0,
    }


def _nodes(found: Profile, whole: bool) -> list[dict[str, Any]]:
    """Return nodes depth first; `parent` is the place of the parent in this list, null for roots."""
    tree = found.tree
    kept = heaviest(tree, len(tree) if whole else NODES).tolist()
    place = {node: i for i, node in enumerate(kept)}
    return [
        {
            **_frame(found.frames[int(tree.frame[n])], KINDS[int(tree.kind[n])]),
            "parent": place.get(int(tree.parent[n])),
            "depth": int(tree.depth[n]),
            "self": int(tree.self_weight[n]),
            "total": int(tree.total_weight[n]),
        }
        for n in kept
    ]
