"""Predicts the program's wall time on another number of cores, from its parallelism levels (Peternier et al., ICPE 2013).

Question   the wall time E(k) on k cores of the same kind, for a program recorded on k1 of them.
Method     Peternier et al., ICPE 2013, section 3: the general model, all three cases (`walltime_model`), on the levels T_j
           of the recording. With several recordings (`record --repeat`), every figure is the mean over them.
           `corrected_ns` is the model on levels without stolen time: what a host would give that takes nothing.
Interval   low_ns to high_ns is made of two parts, and `interval` says which of them it covers:
           - how much runs differ: a 95 % bootstrap interval of the mean over the recordings (`uncertainty`). From one
             recording this is unknown and stays so (HW418): resampling its parts would measure how uneven the program's
             phases are, not how the next run differs.
           - each precondition of the model that does not hold moves the ends by the figure of an alternative
             (`preconditions`); where that cannot be bounded, the figure is withheld with its reason.
           With neither, low_ns and high_ns are None: unknown. Neither part covers that the model may not fit: the paper
           found 4.1 % mean absolute error for two cores and 6.4 % for four, from one core.
Assumes    the same threads doing the same work on any number of cores (`work_growth`: what two recordings counted of it); cores
           that do not slow each other down; j active threads keep min(j, k) cores busy; waiting (T_0) stays as it is.
Wrong when cores contend for memory, caches or locks; threads spin; the scheduler can't balance few long threads (3 threads
           of equal length on 2 cores take 2 rounds only without time slicing); what the preconditions check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.common.idleness import Idleness
from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.uncertainty import interval_of_mean
from headway.analyses.scheduling import activity as activities
from headway.analyses.scheduling import walltime_model as model
from headway.analyses.scheduling.parallelism import levels_of
from headway.analyses.scheduling.precondition_types import Case, PreconditionFinding
from headway.analyses.scheduling.preconditions import check, distance
from headway.analyses.scheduling.published_levels import read_levels
from headway.analyses.scheduling.work_growth import WorkGrowth, finding
from headway.errors import HeadwayError, Notice
from headway.model.machine_limits import MAX_CORES

if TYPE_CHECKING:
    from headway.store import Recording

__all__ = ["Prediction", "Walltime", "walltime", "walltime_of_levels"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted time E(cores) in ns. When it is withheld `ns` is None and `withheld` gives the reason in one line.

    `corrected_ns` is the figure without stolen time, None where unknown. `low_ns` and `high_ns` are None when the
    uncertainty is unknown; `interval` says what they cover (one line, for people).
    """

    cores: int
    ns: int | None
    corrected_ns: int | None
    low_ns: int | None
    high_ns: int | None
    interval: str
    withheld: str | None


@dataclass(frozen=True, slots=True)
class Walltime:
    """Predictions from a recording on `recorded_cores` (k1), in the order asked for.

    `measured_ns` is the wall time (mean over `runs` recordings), `corrected_measured_ns` the same without stolen time.
    `critical_ns` is T_0 + T_1, below which by the model no number of cores gets: as measured, so with the waiting for CPUs that
    were not free. `critical_low_ns` is what it may be with all that the intervals cover, at most their lower ends; None
    where they are unknown. `ideal_ns` is, per prediction, T_0 plus the work spread evenly on the cores: what a program
    without serial parts would take.
    """

    recorded_cores: int
    runs: int
    measured_ns: int
    corrected_measured_ns: int | None
    critical_ns: int
    critical_low_ns: int | None
    predictions: tuple[Prediction, ...]
    ideal_ns: tuple[int, ...]
    notices: tuple[Notice, ...]
    growth: WorkGrowth | None = None
    """How the work differs in a recording on another number of cores; None: no other was given, or that was not counted."""
    idleness: Idleness | None = None
    """How long the program waited for work from outside, which cores do not shorten; None: hardly ever, or not known."""


@dataclass(frozen=True, slots=True)
class _RunLevels:
    """One recording's levels, raw and without stolen time (None: unknown), in ns."""

    levels: tuple[int, ...]
    corrected: tuple[int, ...] | None


def default_cores(recorded: int) -> tuple[int, ...]:
    """Return the numbers of cores to predict for where none are asked for: one, half, as recorded, twice and four times."""
    asked = {1, max(1, recorded // 2), recorded, 2 * recorded, 4 * recorded}
    return tuple(sorted(each for each in asked if each <= MAX_CORES))


def walltime(
    recording: Recording,
    cores: Sequence[int],
    growth: WorkGrowth | None = None,
    idleness: Idleness | None = None,
) -> Walltime:
    """Predict the wall time of a recorded program on each of `cores` cores.

    `growth`: how its work grows with them; `idleness`: how long it waited for work from outside, if the caller knows.

    Raises HeadwayError HW400 (the mode recorded no scheduling), HW402 (no recorded span) or HW424 (k1 unknown);
    ValueError for a core count below 1.
    """
    k1 = recording.manifest.recorded_cores
    if not k1:
        raise HeadwayError("HW424", path=recording.path)
    activity = activities.load(recording)
    others, left_out = _repeats(recording)
    runs = [_run(activity), *map(_run_of, others)]
    case = Case(recording, activity, k1, tuple(k for k in cores if k != k1))
    grown = None if growth is None else finding(case, growth)
    findings = (*check(case), *([grown] if grown is not None else []))
    single = (Notice.of("HW418"),) if len(runs) == 1 else ()
    notices = (*recorded_notices(recording), *left_out, *(each.notice for each in findings), *single)
    return replace(_result(runs, k1, cores, findings, notices), growth=growth, idleness=idleness)


def walltime_of_levels(path: Path | str, column: str, recorded_cores: int, cores: Sequence[int]) -> Walltime:
    """Predict from a column of a CSV file of levels (see `published_levels`) measured on `recorded_cores` cores.

    Raises HeadwayError HW407 when the file can't be used; ValueError for a core count below 1.
    """
    table = read_levels(path, column)
    top = max(j for j, time in enumerate(table.levels_ns) if time)
    far = distance(
        recorded_cores, cores, float(top), lambda k: float(model.predict(table.levels_ns, recorded_cores, k))
    )
    findings = (far,) if far else ()
    notices = (*table.notices, *(each.notice for each in findings), Notice.of("HW419"))
    return _result([_RunLevels(table.levels_ns, None)], recorded_cores, cores, findings, notices)


def _run(activity: activities.Activity) -> _RunLevels:
    levels = levels_of(activity, activities.sum_columns(activity.active))
    corrected = None if activity.stolen_ns is None else tuple(level.corrected_ns or 0 for level in levels)
    return _RunLevels(tuple(level.ns for level in levels), corrected)


def _run_of(recording: Recording) -> _RunLevels:
    """Return the levels of a recording, and close it: there may be a thousand repeats, and fewer open files."""
    try:
        return _run(activities.load(recording))
    finally:
        recording.close()


def _repeats(recording: Recording) -> tuple[list[Recording], tuple[Notice, ...]]:
    """Return the further recordings of the same command that are alike, and a notice for each that is not."""
    first = recording.manifest
    alike, left_out = [], []
    for other in recording.repeats()[1:]:
        each = other.manifest
        reasons = {
            "another mode": each.mode != first.mode,
            "another command": each.command != first.command,
            "another number of cores": each.recorded_cores != first.recorded_cores,
            "not complete": each.state != "complete" or each.ended_by != first.ended_by,
            "another exit code": each.exit_code != first.exit_code,
        }
        reason = next((text for text, holds in reasons.items() if holds), None)
        if reason is None:
            alike.append(other)
        else:
            left_out.append(Notice.of("HW423", path=other.path, reason=reason))
    return alike, tuple(left_out)


def _result(
    runs: list[_RunLevels],
    k1: int,
    cores: Sequence[int],
    findings: tuple[PreconditionFinding, ...],
    notices: tuple[Notice, ...],
) -> Walltime:
    known = all(run.corrected is not None for run in runs)
    predictions = tuple(_prediction(runs, k1, k, findings, known) for k in cores)
    return Walltime(
        recorded_cores=k1,
        runs=len(runs),
        measured_ns=_mean(runs, sum),
        corrected_measured_ns=_mean(runs, sum, corrected=True) if known else None,
        critical_ns=_mean(runs, model.critical),
        critical_low_ns=_floor_low(runs, findings, predictions),
        predictions=predictions,
        ideal_ns=tuple(_mean(runs, lambda levels, k=k: model.ideal(levels, k1, k)) for k in cores),  # type: ignore[misc]
        notices=notices,
    )


def _floor_low(
    runs: list[_RunLevels], findings: tuple[PreconditionFinding, ...], predictions: Sequence[Prediction]
) -> int | None:
    """Return the lower end of the floor, which is as doubtful as the predictions are; None where nothing is known of that."""
    between = interval_of_mean([float(model.critical(run.levels)) for run in runs])
    lows = [each.low_ns for each in predictions if each.low_ns is not None]
    if between is None and not lows and all(each.floor == 1 for each in findings):
        return None
    low = between[0] if between is not None else float(_mean(runs, model.critical))
    low *= math.prod(each.floor for each in findings)
    return max(0, min(_mean(runs, model.critical), round(low), *lows))


def _mean(runs: list[_RunLevels], figure: Callable[[tuple[int, ...]], Fraction | int], corrected: bool = False) -> int:
    """Return the mean over the runs of a figure of their levels, in whole ns."""
    total = sum((Fraction(figure((run.corrected or ()) if corrected else run.levels)) for run in runs), Fraction(0))
    return round(total / len(runs))


def _prediction(
    runs: list[_RunLevels], k1: int, k: int, findings: tuple[PreconditionFinding, ...], known: bool
) -> Prediction:
    withheld = next((each.withheld[k] for each in findings if k in each.withheld), None)
    if withheld is not None:
        return Prediction(k, None, None, None, None, "withheld", withheld)

    def figure(levels: tuple[int, ...]) -> Fraction:
        return model.predict(levels, k1, k)

    ns = _mean(runs, figure)
    corrected = _mean(runs, figure, corrected=True) if known else None
    moved = [each for each in findings if k != k1 and (each.below.get(k, 0) > 0 or each.above.get(k, 0) > 0)]
    between = interval_of_mean([float(figure(run.levels)) for run in runs])
    covers = [*([f"how much {len(runs)} runs differ (95 %)"] if between else []), *(each.covers for each in moved)]
    if not covers:
        return Prediction(k, ns, corrected, None, None, "unknown: one run, or levels from a file", None)
    low, high = between or (float(ns), float(ns))
    # As shares: a program that got a fifth of its CPUs and would be 16 % off is off by 16 % of that fifth.
    low *= math.prod(max(0.0, 1 - each.below.get(k, 0.0) / ns) for each in moved if ns)
    high *= math.prod(1 + each.above.get(k, 0.0) / ns for each in moved if ns)
    lacks = "" if between else "; not how much runs differ"
    # Rounding and the alternatives' floats must not put the figure outside its own interval.
    low_ns, high_ns = max(0, min(round(low), ns)), max(round(high), ns)
    return Prediction(k, ns, corrected, low_ns, high_ns, ", ".join(covers) + lacks, None)
