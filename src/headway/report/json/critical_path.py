"""The critical path as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.critical_path.types import CriticalPath, PathThread


def critical_path_json(result: CriticalPath) -> dict[str, Any]:
    """Return the path and its sums."""
    wall = result.wall_ns
    return {
        "wall_ns": wall,
        "from_ns": result.window_ns[0],
        "to_ns": result.window_ns[1],
        "mode": result.mode,
        "thread": _thread(result.thread, wall),
        "chosen": result.chosen,
        "followed": result.followed,
        "pieces": result.pieces,
        "has_samples": result.has_samples,
        "by_state": [{"state": state, "ns": ns, "share": ns / wall} for state, ns in result.by_state],
        "by_thread": [_thread(row, wall) for row in result.by_thread],
        "by_lock": [{**asdict(row), "share": row.ns / wall} for row in result.by_lock],
        "by_method": [{**asdict(row), "share": row.ns / wall} for row in result.by_method],
        "segments": [asdict(segment) for segment in result.segments],
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _thread(row: PathThread, wall_ns: int) -> dict[str, Any]:
    return {
        "thread_id": row.thread_id,
        "tid": row.tid,
        "name": row.name,
        "kind": row.kind,
        "ns": row.ns,
        "share": row.ns / wall_ns,
        "by_state": dict(row.by_state),
    }
