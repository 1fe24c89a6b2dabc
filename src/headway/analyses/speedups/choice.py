"""Chooses the largest limit, and decides whether the runs can tell it apart from the others.

Question   what would each limit's removal gain, without what the machine itself took, and which of them may be the largest.
Method     gain of a limit: possible over computed speedup, less 1. Time without a CPU is the machine's doing, and no limit of the
           program, where there is a core for each thread and either others had more than 5 % of the CPUs' time while it was
           measured, or the sequential program was without a CPU for as long, or others had half as long as the threads waited.
           Gains are then those of programs that never wait for a CPU, and the balance that of the threads without these waits.
           Two gains are told apart if the 95 % interval of the difference of their logarithms, from the same resamples of the
           runs, leaves out 0 (stretched as in `speedup_uncertainty`). One run has no interval: there gains must differ by 5 %
           and half the share that others had, about what two runs of one program do.
Assumes    as `speedup_uncertainty`.
Wrong when one run differs from the next by more than that: CPUs that share a core with others' slow down without a trace.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.analyses.regions.primitives import RunPrimitives
from headway.analyses.speedups.model import GROUPS, Model
from headway.analyses.speedups.uncertainty import Resamples, reach_below, repeats_for

NO_LIMIT = 0.01
DISTURBED = 0.05
SINGLE = 0.05
"""What gains of one run must differ by."""
FEW_REPEATS = 5
"""What is proposed after one run."""
_EXPLAINS = 0.5


@dataclass(frozen=True, slots=True)
class Choice:
    """Limits by gain, largest first; `rivals` can't be told apart from the first, `repeats` runs would be enough to."""

    order: tuple[tuple[str, float], ...]
    rivals: tuple[str, ...]
    repeats: int | None
    is_disturbed: bool

    def is_calm(self, limit: str) -> bool:
        """Return whether the gain of `limit` is that of programs that never wait for a CPU."""
        return self.is_disturbed and limit != "scheduling"


def others_share(model: Model, runs: Sequence[RunPrimitives]) -> float:
    """Return how much others had of the machine: the larger of their share of the CPUs' time in `runs`, and the share of its
    time that the sequential program, which needs one CPU, had none.
    """
    taken = sum(float(part.sequential_scheduling) for part in model.parts)
    return max(_used(runs), taken / float(model.sequential_time) if model.sequential_time else 0.0)


def _used(runs: Sequence[RunPrimitives]) -> float:
    shares = [run.others_share for run in runs if run.others_share is not None]
    return sum(shares) / len(shares) if shares else 0.0


def is_disturbed(model: Model, runs: Sequence[RunPrimitives]) -> bool:
    """Return whether threads waited for CPUs because of other programs on the machine."""
    if others_share(model, runs) > DISTURBED:
        return True
    cores = runs[0].cores
    if cores is None or model.threads > cores:
        return False
    waited = sum(float(part.scheduling) for part in model.parts)
    had = _used(runs) * cores * sum(run.wall_ns for run in runs) / len(runs)
    return 0 < waited * _EXPLAINS <= had


def gains(model: Model, limits: Sequence[str], cores: int | None, *, disturbed: bool) -> dict[str, float]:
    """Return the gain of each known limit of `limits`; on a disturbed machine, of programs that never wait for a CPU."""
    always = ("scheduling",) if disturbed else ()
    base, known = model.speedup(always), model.possible()
    found: dict[str, float] = {}
    for limit in limits:
        if limit == "scheduling" and disturbed and (cores is None or model.threads <= cores):
            continue
        start = model.speedup() if limit == "scheduling" else base
        if known.get(limit) is None or not start:
            continue
        without = model.speedup((*GROUPS.get(limit, (limit,)), *always))
        if without:
            found[limit] = float(without / start) - 1
    return found


def choose(
    model: Model,
    sequential: Sequence[RunPrimitives],
    parallel: Sequence[RunPrimitives],
    limits: Sequence[str],
    resamples: Resamples,
    region: str | None = None,
) -> Choice:
    """Rank `limits` by their gains, with their rivals."""
    cores = parallel[0].cores
    disturbed = is_disturbed(model, parallel) and model.possible().get("scheduling") is not None
    found = gains(model, limits, cores, disturbed=disturbed)
    order = tuple(sorted(found.items(), key=lambda each: -each[1]))
    runs = min(len(sequential), len(parallel))
    if len(order) < 2:
        return Choice(order, (), None, disturbed)
    if runs < 2:
        least = math.log1p(SINGLE + others_share(model, parallel) / 2)
        near = [limit for limit, gain in order[1:] if gain >= NO_LIMIT and _apart(found, order[0][0], limit) < least]
        return Choice(order, tuple(near), FEW_REPEATS if near else None, disturbed)
    drawn = resamples.figures(
        lambda each: gains(each if region is None else each.of_region(region), tuple(found), cores, disturbed=disturbed)
    )
    rivals = _rivals(order, drawn, runs)
    repeats = max(rivals.values()) if rivals and 0 not in rivals.values() else None
    return Choice(order, tuple(rivals), repeats, disturbed)


def _rivals(order: Sequence[tuple[str, float]], drawn: Sequence[Mapping[str, float]], runs: int) -> dict[str, int]:
    """Return the limits that the first one is not told apart from, each with the repeats that would tell (0: too many).

    Those that gain nothing worth while in any resample are none.
    """
    found = dict(order)
    best = order[0][0]
    rivals: dict[str, int] = {}
    for limit, _ in order[1:]:
        both = [each for each in drawn if best in each and limit in each]
        if max((each[limit] for each in both), default=0.0) < NO_LIMIT:
            continue
        apart = _apart(found, best, limit)
        below = reach_below(apart, [_apart(each, best, limit) for each in both], runs)
        if below >= apart:
            rivals[limit] = repeats_for(below, apart, runs) or 0
    return rivals


def _apart(found: Mapping[str, float], best: str, other: str) -> float:
    """Return the difference of the logarithms of what two limits' removal multiplies the speedup by."""
    return math.log1p(found[best]) - math.log1p(found[other])
