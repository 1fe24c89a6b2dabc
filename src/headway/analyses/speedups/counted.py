"""How exactly counts are known that tell more instructions from slower ones, and on which step of the ladder a sweep stands.

Question   between what the efficiencies of equations 4, 5, 7 and 8, and the clock's frequency, lie for the counts of these runs.
Method     each count anywhere between its bounds (regions.exact_counts), independently of the others; means over the runs.
Assumes    nothing: where a count has no bounds (samples, imported counts), or spinning is estimated, there is no interval.
Against    intervals of the repeats (uncertainty): those say how much runs differ, these how exactly each was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.analyses.regions.primitives import RunPrimitives
from headway.analyses.speedups.equations import Number, ratio
from headway.analyses.speedups.model import Model
from headway.analyses.speedups.parts import ABSENT, RegionPart, Sums, value_or_zero
from headway.model.counter_ladder import NONE, STEPS

_BOUNDED = ("instructions", "cycles")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The least and the most that a count can be."""

    low: Number
    high: Number

    def __mul__(self, other: _Bounds) -> _Bounds:
        return _Bounds(self.low * other.low, self.high * other.high)

    def over(self, other: _Bounds) -> tuple[float, float] | None:
        """Return the ends of a ratio; None where what it is divided by can be nothing."""
        if not other.low > 0:
            return None
        return float(ratio(self.low, other.high)), float(ratio(self.high, other.low))


def step_of_runs(runs: Iterable[RunPrimitives]) -> str:
    """Return the lowest step of the ladder that any recording stands on; NONE without recordings."""
    order = list(STEPS)
    return max((run.step for run in runs), key=order.index, default=NONE)


def efficiency_intervals(model: Model) -> dict[str, tuple[float, float]]:
    """Return the ends of each efficiency that is made of counts whose bounds are known."""
    counted = [part for part in model.parts if part.is_counted]
    found: dict[str, tuple[float, float] | None] = {}
    for fraction, parts in (
        ("sequential", [part for part in counted if part.is_rest]),
        ("parallel", [part for part in counted if not part.is_rest]),
    ):
        bounds = _of_both(model, parts)
        if bounds is None:
            continue
        (i_s, cc_s), (i_p, cc_p) = bounds
        found[f"{fraction}_instruction_overhead"] = i_s.over(i_p)
        found[f"{fraction}_cpi_overhead"] = (cc_s * i_p).over(i_s * cc_p)
    bounds = _of_both(model, counted)
    if bounds is not None:
        (_, cc_s), (_, cc_p) = bounds
        cpu_s, cpu_p = (_exact(_cpu(program, counted)) for program in (model.sequential, model.parallel))
        found["frequency"] = (cpu_s * cc_p).over(cc_s * cpu_p)
    return {limit: ends for limit, ends in found.items() if ends is not None}


def _of_both(
    model: Model, parts: Sequence[RegionPart]
) -> tuple[tuple[_Bounds, _Bounds], tuple[_Bounds, _Bounds]] | None:
    """Return the bounds of instructions and cycles of the sequential and of the parallel program; None where one is not known."""
    sequential, parallel = _sum(model.sequential, parts), _sum(model.parallel, parts)
    return None if sequential is None or parallel is None else (sequential, parallel)


def _sum(program: Mapping[str, Sums], parts: Sequence[RegionPart]) -> tuple[_Bounds, _Bounds] | None:
    rows = [program.get(part.name, ABSENT) for part in parts]
    fields = [f"{count}_{end}" for count in _BOUNDED for end in ("low", "high")]
    if not rows or any(row["spin_ns"] for row in rows) or any(row[field] is None for row in rows for field in fields):
        return None
    ends = {field: sum(value_or_zero(row[field]) for row in rows) for field in fields}
    instructions, cycles = (_Bounds(ends[f"{count}_low"], ends[f"{count}_high"]) for count in _BOUNDED)
    return instructions, cycles


def _cpu(program: Mapping[str, Sums], parts: Sequence[RegionPart]) -> Number:
    return sum(value_or_zero(program.get(part.name, ABSENT)["cpu_ns"]) for part in parts)


def _exact(value: Number) -> _Bounds:
    return _Bounds(value, value)
