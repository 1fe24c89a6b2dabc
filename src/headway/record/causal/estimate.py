"""Estimates lines' effects while experiments run, to show progress and decide when results are precise enough.

By the estimator of the answer itself (model/causal), on the experiments that there are. What analyses/causal does beyond, to
name findings, is left to it: warm-up, phases of the program, the cost of stops, limits, and how many lines were tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.model.causal import curves, noise
from headway.model.causal.comparisons import Measured, compare
from headway.model.causal.latency import in_flight
from headway.model.causal.lines import fit_line, with_spread
from headway.record.causal.notes import Notes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.model.causal.comparisons import Floats

    Ints = NDArray[np.int64]

_RESAMPLES = 200
"""Enough for an interval's width, while the program runs beside."""
_MOST_LINES = 200
"""So many lines, those with most experiments, are estimated meanwhile: each takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated effect of a line taking no time: `gain` 0.2 means a fifth less time per visit (for a pair: in flight).

    `half_width` of its 95 % interval.
    """

    name: str
    point: str
    experiments: int
    gain: float
    half_width: float | None


@dataclass(frozen=True, slots=True)
class _Experiments:
    """The whole experiments of one JVM, in order of time; `notes` are theirs."""

    notes: list[dict[str, Any]]
    line: Ints
    speedup_pct: Ints
    dur_ns: Floats
    effective_ns: Floats


def estimates(all_notes: Iterable[Notes], names: Collection[str]) -> list[Estimate]:
    """Return estimates of each tried line for each progress point and latency pair with these names."""
    found: list[Estimate] = []
    for notes in all_notes:
        whole = _whole_experiments(notes)
        if len(whole.notes):
            for measured in _measured(notes, whole, names):
                found += _of_lines(notes, whole, measured)
    return found


def _whole_experiments(notes: Notes) -> _Experiments:
    """Return the experiments that count: no controls, none that was cut off or was nothing but delays."""
    import numpy as np

    whole = [
        each
        for each in notes.experiments
        if not each["control"] and each["complete"] and each["dur_ns"] > each["delay_ns"]
    ]
    tried = Counter(each["target"] for each in whole)
    if len(tried) > _MOST_LINES:
        most_tried = {line for line, _ in tried.most_common(_MOST_LINES)}
        whole = [each for each in whole if each["target"] in most_tried]
    dur_ns = np.array([each["dur_ns"] for each in whole], dtype=float)
    return _Experiments(
        whole,
        line=np.array([each["target"] for each in whole], dtype=np.int64),
        speedup_pct=np.array([each["speedup_pct"] for each in whole], dtype=np.int64),
        dur_ns=dur_ns,
        effective_ns=dur_ns - np.array([each["delay_ns"] for each in whole], dtype=float),
    )


def _measured(notes: Notes, whole: _Experiments, names: Collection[str]) -> Iterator[Measured]:
    """Yield what experiments measured of the points and pairs of these names."""
    for name in names:
        of_name = [each for each in notes.points.values() if each["name"] == name]
        if ids := {each["id"] for each in of_name if each["latency"] < 0}:
            yield _visited(name, whole, ids)
        for pair in sorted({each["latency"] for each in of_name if each["latency"] >= 0}):
            yield _in_flight(name, whole, pair)


def _visited(name: str, whole: _Experiments, points: Collection[int]) -> Measured:
    import numpy as np

    visits = [sum(count for point, count in each["visits"] if point in points) for each in whole.notes]
    return Measured(name, "throughput", np.array(visits, dtype=float), whole.effective_ns)


def _in_flight(name: str, whole: _Experiments, pair: int) -> Measured:
    import numpy as np

    rows = [next((row for row in each["latency"] if row[0] == pair), (pair, 0, 0, 0, 0)) for each in whole.notes]
    begun, ended, flying, in_flight_ns = np.array(rows, dtype=np.int64).T[1:5]
    found = in_flight(begun, ended, flying, in_flight_ns, whole.effective_ns)
    return Measured(name, "latency", found.visits, found.time_ns)


def _of_lines(notes: Notes, whole: _Experiments, measured: Measured) -> Iterator[Estimate]:
    """Yield the estimate of each line, as analyses.causal.analysis computes a slope."""
    import numpy as np

    rows, groups = np.arange(len(whole.notes)), np.zeros(len(whole.notes), dtype=np.int64)
    compared, known = compare(rows, whole.speedup_pct == 0, groups)
    longer = whole.dur_ns / whole.effective_ns
    measured = with_spread(
        measured, compared, known, groups=groups, line=whole.line, speedup_pct=whole.speedup_pct, longer=longer
    )
    rates = noise.local_rates(measured, compared, known, groups)
    quiet = noise.residuals(known, measured, rates, 1.0)
    for line, experiments in Counter(whole.line.tolist()).items():
        fit = fit_line(
            measured,
            compared.of(whole.line[compared.treated] == line),
            rates=rates,
            quiet=quiet,
            speedup_pct=whole.speedup_pct,
            seed=line,
            resamples=_RESAMPLES,
        )
        slope = curves.slope(fit)
        if slope is not None:
            half_width = None if slope.low is None or slope.high is None else (slope.high - slope.low) / 2
            yield Estimate(_name(notes.lines.get(line)), measured.name, experiments, slope.value, half_width)


def _name(line: dict[str, Any] | None) -> str:
    if line is None:
        return "?"
    if line["kind"] == "gc":
        return "GC pauses"
    if line["kind"] == "lock":
        return f"lock {line['class']}:{line['line']}" if line["line"] > 0 else f"lock {line['class']}"
    return (
        f"{line['file']}:{line['line']}" if line["line"] > 0 and line["file"] else f"{line['class']}.{line['method']}"
    )
