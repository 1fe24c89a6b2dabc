"""Possible speedups as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.model.counter_ladder import NONE

if TYPE_CHECKING:
    from headway.analyses.speedups.types import AtThreads, Speedups, Verdict


def speedups_json(result: Speedups) -> dict[str, Any]:
    """Return the whole answer."""
    return {
        "mode": result.mode,
        "counters": result.counters,
        **({} if result.step == NONE else {"step": result.step}),
        "cores": result.cores,
        "regions": list(result.regions),
        "region": result.region,
        "warmup": None if result.warmup is None else dict(result.warmup),
        "sequential": asdict(result.sequential),
        "threads": [_row(row) for row in result.rows],
        "verdict": _verdict(result.verdict),
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _row(row: AtThreads) -> dict[str, Any]:
    return {
        "threads": row.threads,
        "runs": row.runs,
        "plain_runs": row.plain_runs,
        "real_speedup": row.real_speedup,
        "real_low": row.real_low,
        "real_high": row.real_high,
        "ratio_low": row.ratio_low,
        "ratio_high": row.ratio_high,
        "computed_speedup": row.computed_speedup,
        "low": row.low,
        "high": row.high,
        "efficiencies": dict(row.efficiencies),
        **_if_any("efficiency_intervals", row.efficiency_intervals),
        "imbalance": dict(row.imbalance),
        "possible": dict(row.possible),
        "possible_intervals": {limit: list(bounds) for limit, bounds in row.possible_intervals.items()},
        "pairs": [{"limits": list(pair.limits), "speedup": pair.speedup} for pair in row.pairs],
        "stack": dict(row.stack),
        "pop": None if row.pop is None else asdict(row.pop),
        "metrics": asdict(row.metrics),
        "flat": {region: dict(frames) for region, frames in row.flat.items()},
        "regions": {name: _row(part) for name, part in row.regions.items()},
    }


def _if_any(key: str, bounds: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return intervals under a key that recordings without counters do not have."""
    return {key: {limit: list(ends) for limit, ends in bounds.items()}} if bounds else {}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "threads": verdict.threads,
        "limit": verdict.limit,
        "gain": verdict.gain,
        "place": verdict.place,
        "evidence": list(verdict.evidence),
        "next": verdict.next,
        "withheld": verdict.withheld,
        "undecided": list(verdict.undecided),
        "text": verdict.text,
    }
