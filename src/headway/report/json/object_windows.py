"""Accesses that were counted in windows, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.objects.window_types import WindowAnswer, WindowFigures


def windows_json(found: WindowAnswer | None) -> dict[str, Any] | None:
    """Return how often objects were accessed, estimated from windows, in all and by group; None: not counted in windows."""
    if found is None:
        return None
    return {
        "window_ms": found.window_ms,
        "period_ms": found.period_ms,
        "windows": found.windows,
        "unknown_share": found.unknown_share,
        "unknown_because": [{"why": why, "share": share} for why, share in found.unknown_because],
        "slower_in_windows": found.slower_in_windows,
        "overhead": found.overhead,
        **_figures(found.total),
        "groups": [
            {
                "pid": each.pid,
                "thread": each.thread,
                "java_id": each.java_id,
                "thread_id": each.thread_id,
                "class": each.class_name,
                "is_known": each.is_known,
                "why_unknown": each.why_unknown,
                **_figures(each.figures),
            }
            for each in found.groups
        ],
    }


def _figures(figures: WindowFigures) -> dict[str, Any]:
    return {
        "tuple": {"read": asdict(figures.tuple_reads), "write": asdict(figures.tuple_writes)},
        "array": {"read": asdict(figures.array_reads), "write": asdict(figures.array_writes)},
        "static": {"read": asdict(figures.static_reads), "write": asdict(figures.static_writes)},
        "of_objects": asdict(figures.of_objects),
    }
