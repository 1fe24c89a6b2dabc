"""How long it would take on other numbers of cores, for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.report.analysis import View
from headway.report.html.missing import no_result

if TYPE_CHECKING:
    from headway.analyses.overview import Overview
    from headway.analyses.scheduling.walltime import Walltime
    from headway.store import Recording


def walltime_view(recording: Recording, found: Overview) -> View:
    """Return the view's values, or why there are none."""
    predicted = found.walltime
    if predicted is None:
        return View("walltime", None, no_result(recording, found))
    return View("walltime", _values(predicted), None)


def _values(found: Walltime) -> dict[str, Any]:
    plain = ["recorded_cores", "runs", "measured_ns", "corrected_measured_ns", "critical_ns", "critical_low_ns"]
    parts = ["cores", "ns", "corrected_ns", "low_ns", "high_ns", "interval", "withheld"]
    return {
        **{name: getattr(found, name) for name in plain},
        "idle": None if found.idleness is None else found.idleness.sentence,
        "predictions": [
            {**{name: getattr(prediction, name) for name in parts}, "ideal_ns": ideal_ns}
            for prediction, ideal_ns in zip(found.predictions, found.ideal_ns, strict=True)
        ],
    }
