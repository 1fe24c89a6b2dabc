"""How many threads were active, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.scheduling.parallelism import Parallelism, ParallelismLevel


def parallelism_json(result: Parallelism) -> dict[str, Any]:
    """Return the averages and the levels, those of all threads and of each kind."""
    return {
        "wall_ns": result.wall_ns,
        "corrected_wall_ns": result.corrected_wall_ns,
        "from_ns": result.window_ns[0],
        "to_ns": result.window_ns[1],
        "mode": result.mode,
        "kinds": list(result.kinds),
        "mean_active": result.mean_active,
        "max_active": result.max_active,
        "mean_running": result.mean_running,
        "max_running": result.max_running,
        "idle_share": result.idle_share,
        "serial_share": result.serial_share,
        "percentiles": {str(p): threads for p, threads in result.percentiles.items()},
        "stolen_core_ns": result.stolen_core_ns,
        "running_core_ns": dict(result.running_core_ns),
        "levels": _rows(result.levels, "active"),
        "running_levels": _rows(result.running_levels, "running"),
        "by_kind": {kind: _rows(levels, "active") for kind, levels in result.by_kind.items()},
        "running_by_kind": {kind: _rows(levels, "running") for kind, levels in result.running_by_kind.items()},
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _rows(levels: Sequence[ParallelismLevel], key: str) -> list[dict[str, int | None]]:
    return [{key: level.threads, "ns": level.ns, "corrected_ns": level.corrected_ns} for level in levels]
