"""What each thread spent its time on, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.scheduling.threads import ThreadRow, Threads

_KEYS = (
    *("pid", "tid", "name", "kind", "start_ns", "end_ns", "running_ns", "runnable_ns", "blocked_ns", "switches"),
    *("exec_ns", "stolen_ns", "share", "mean_parallelism", "bottle_height_ns", "bottle_width", "from_snapshot"),
    "collecting_ns",
)


def threads_json(found: Threads) -> list[dict[str, Any]]:
    """Return every thread, those that ran longest first."""
    return [_thread(row) for row in found.rows]


def _thread(row: ThreadRow) -> dict[str, Any]:
    return {key: getattr(row, key) for key in _KEYS}
