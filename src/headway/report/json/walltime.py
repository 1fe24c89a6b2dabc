"""Wall times on other numbers of cores, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.scheduling.walltime import Walltime
    from headway.analyses.scheduling.work_growth import WorkGrowth


def walltime_json(result: Walltime) -> dict[str, Any]:
    """Return what was measured, and the predictions."""
    return {
        "recorded_cores": result.recorded_cores,
        "runs": result.runs,
        "measured_ns": result.measured_ns,
        "corrected_measured_ns": result.corrected_measured_ns,
        "critical_ns": result.critical_ns,
        "critical_low_ns": result.critical_low_ns,
        "predictions": [
            {
                "cores": each.cores,
                "ns": each.ns,
                "low_ns": each.low_ns,
                "high_ns": each.high_ns,
                "withheld": each.withheld,
                "corrected_ns": each.corrected_ns,
                "ideal_ns": ideal_ns,
                "interval": each.interval,
            }
            for each, ideal_ns in zip(result.predictions, result.ideal_ns, strict=True)
        ],
        **({} if result.growth is None else {"work": _work(result.growth)}),
        "outside_ns": None if result.idleness is None else result.idleness.outside_ns,
        "idle": None if result.idleness is None else result.idleness.sentence,
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _work(growth: WorkGrowth) -> dict[str, Any]:
    """Return how the work differs in the recording that was compared with."""
    ratios = {"instructions": growth.instructions, "cycles": growth.cycles, "cpi": growth.cpi}
    return {
        "against": str(growth.path),
        "cores": growth.other_cores,
        **{name: None if ratio is None else asdict(ratio) for name, ratio in ratios.items()},
    }
