"""Causal results as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.causal.types import Causal, Curve, Line


def causal_json(result: Causal) -> dict[str, Any]:
    """Return the whole answer."""
    return {
        "mode": result.mode,
        "runs": result.runs,
        "recorded_ns": result.recorded_ns,
        "delay_ns": result.delay_ns,
        "experiments": result.experiments,
        "warm_up_experiments": result.warm_up_experiments,
        "gc_experiments": result.gc_experiments,
        "progress_points": [asdict(point) for point in result.progress_points],
        "lines": [_line(line) for line in result.lines],
        "verdict": result.verdict,
        "next": result.next,
        "health": dict(result.health),
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _line(line: Line) -> dict[str, Any]:
    """Return a line; what stands beside `line` is of its first curve, `curves` holds one per progress point."""
    head: dict[str, Any] = {
        "line": line.line,
        "kind": line.kind,
        "class": line.class_name,
        "method": line.method,
        "source_file": line.source_file,
        "line_number": line.line_number,
        "samples_pct": line.samples_pct,
        "blocked_pct": line.blocked_pct,
        "samples": line.samples,
        "phase_share": line.phase_share,
        "experiments": line.experiments,
        "shape": line.shape,
        "significant": line.significant,
        "slope": line.slope,
        "points": [],
        "curves": [_curve(curve) for curve in line.curves],
    }
    return head if line.curve is None else {**head, **_curve(line.curve)}


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        **asdict(curve),
        "is_beyond_delays": curve.is_beyond_delays,
        "points": [asdict(point) for point in curve.points],
    }
