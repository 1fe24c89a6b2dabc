"""How a program uses memory, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.memory.types import MemoryAnswer, MemoryFigure


def memory_json(found: MemoryAnswer) -> dict[str, Any]:
    """Return all figures by name; what is missing has value null, and the reason."""
    return {
        "wall_ns": found.wall_ns,
        "cpu_ns": found.cpu_ns,
        "steady_state": None if found.steady_state is None else asdict(found.steady_state),
        "memory_intensive": found.intensive,
        "figures": {each.name: _figure(each) for each in found.figures},
        "warnings": [notice.as_json() for notice in found.notices],
    }


def _figure(each: MemoryFigure) -> dict[str, Any]:
    placed = each.published
    known = None if placed is None else {key: value for key, value in asdict(placed).items() if key in _OF_PUBLISHED}
    return {
        "value": each.value,
        "low": each.low,
        "high": each.high,
        "is_least": each.is_least,
        "published": known,
        "reason": each.reason or None,
        "remedy": each.remedy or None,
    }


_OF_PUBLISHED = {"geometric_mean", "least", "most", "below", "programs"}
