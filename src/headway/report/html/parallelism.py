"""How many threads were active, for the page: levels that are at most some hundred rows, and their course over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headway.analyses.scheduling.parallelism import KINDS, Parallelism, ParallelismLevel
from headway.report.analysis import View
from headway.report.html.missing import no_result

if TYPE_CHECKING:
    from headway.analyses.overview import Overview
    from headway.store import Recording

EXACT_LEVELS = 160


def parallelism_view(recording: Recording, found: Overview) -> View:
    """Return the view's values, or why there are none."""
    levels = found.parallelism
    if levels is None:
        return View("parallelism", None, no_result(recording, found))
    return View("parallelism", _values(levels), None)


def _values(found: Parallelism) -> dict[str, Any]:
    plain = [
        "wall_ns",
        "corrected_wall_ns",
        "mean_active",
        "mean_running",
        "max_active",
        "max_running",
        "idle_share",
        "serial_share",
        "stolen_core_ns",
    ]
    profile = found.profile
    return {
        **{name: getattr(found, name) for name in plain},
        "running_core_ns": {kind: found.running_core_ns.get(kind, 0) for kind in KINDS},
        "percentiles": [[p, j] for p, j in found.percentiles.items()],
        "levels": _levels(found),
        "profile": {
            "start_ns": list(profile.start_ns),
            "dur_ns": list(profile.dur_ns),
            "active": {kind: _short(profile.active.get(kind), len(profile.start_ns)) for kind in KINDS},
            "running": {kind: _short(profile.running.get(kind), len(profile.start_ns)) for kind in KINDS},
            "stolen": None if profile.stolen is None else _short(profile.stolen, len(profile.start_ns)),
        },
    }


def _short(values: Sequence[float] | None, size: int) -> list[float]:
    """Return means with as many digits as anyone can see."""
    return [round(value, 6) for value in values] if values is not None else [0.0] * size


def level_groups(top: int) -> list[tuple[int, int]]:
    """Return the levels 0..top as (from, to): each alone up to EXACT_LEVELS, then in ranges that double in length."""
    groups = [(j, j) for j in range(min(top, EXACT_LEVELS) + 1)]
    low, length = EXACT_LEVELS + 1, EXACT_LEVELS
    while low <= top:
        groups.append((low, min(top, low + length - 1)))
        low, length = low + length, length * 2
    return groups


def _levels(found: Parallelism) -> list[dict[str, Any]]:
    top = max(found.max_active, found.max_running, 1)
    return [
        {
            "from": low,
            "to": high,
            "active_ns": _sum(found.levels, low, high),
            "active_corrected_ns": _sum_corrected(found.levels, low, high),
            "running_ns": _sum(found.running_levels, low, high),
            "running_corrected_ns": _sum_corrected(found.running_levels, low, high),
            "by_kind": {kind: _sum(found.by_kind.get(kind, ()), low, high) for kind in KINDS},
        }
        for low, high in level_groups(top)
    ]


def _sum(levels: Sequence[ParallelismLevel], low: int, high: int) -> int:
    return sum(level.ns for level in levels if low <= level.threads <= high)


def _sum_corrected(levels: Sequence[ParallelismLevel], low: int, high: int) -> int | None:
    values = [level.corrected_ns for level in levels if low <= level.threads <= high]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) and _corrects(levels) else None


def _corrects(levels: Sequence[ParallelismLevel]) -> bool:
    return any(level.corrected_ns is not None for level in levels)
