"""Computes what limits a parallel program's scaling, and its speedup if each limit were removed.

Question   efficiencies, computed and possible speedups of a sweep over the numbers of threads, and the verdict.
Method     Gomes 2021, chapter 3: see `speedup_model` (equations 3 to 11 and beyond), `speedup_stack`, `speedup_pop`,
           `speedup_uncertainty` (intervals from the repeats), `speedup_choice` (which limit is the largest), `speedup_advice`
           and `speedup_next` (figure 19) and `speedup_assumptions`.
           Every figure is that of the primitives' means over the recorded runs; the real speedup is the ratio of the plain
           runs' mean wall times.
           The verdict is about the largest number of threads that has a core for each.
Assumes    the runs of a program do the same work; the regions are the same work in both programs.
Wrong when what `speedup_assumptions` looks for is there: each is a notice of the result.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from headway.analyses.regions.primitives import PARALLEL, RunPrimitives
from headway.analyses.speedups.advice import advise
from headway.analyses.speedups.assumptions import check_against_real, check_programs, check_threads, is_in_parallel
from headway.analyses.speedups.counted import efficiency_intervals, step_of_runs
from headway.analyses.speedups.equations import Number
from headway.analyses.speedups.model import Model, make_model
from headway.analyses.speedups.parts import Sums, has_counters, pool
from headway.analyses.speedups.pop import pop
from headway.analyses.speedups.runs import SweepRuns, Window, read_runs
from headway.analyses.speedups.stack import stack
from headway.analyses.speedups.types import AtThreads, Pair, SpeedupMetrics, Speedups, Verdict
from headway.analyses.speedups.uncertainty import (
    COMPUTED,
    Resamples,
    intervals,
    ratio_interval,
    real_interval,
    resample,
)
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.store.sweep import Sweep

__all__ = ["answer", "speedups"]

FLAT_FRAMES = 12


def speedups(sweep: Sweep, *, region: str | None = None, window: Window | None = None) -> Speedups:
    """Return the limits and possible speedups of a sweep's parallel program, or of one region of it.

    Raises HeadwayError HW469 (no recorded run of one of the programs), HW470 (no such region), and as `open_recording`.
    """
    return answer(read_runs(sweep, window), region)


def answer(runs: SweepRuns, region: str | None = None) -> Speedups:
    """Compute figures and verdict from runs already read. Raises HeadwayError HW470 for an unknown region."""
    names = tuple(name for name in runs.regions if name != PARALLEL)
    if region is not None and region not in names:
        known = ", ".join(names) or "none"
        raise HeadwayError("HW470", path=runs.path, region=region, known=known)
    sequential = pool(runs.sequential)
    pooled = {n: pool(group) for n, group in sorted(runs.parallel.items())}
    counters = has_counters(sequential, *pooled.values())
    models = {n: make_model(sequential, parallel, n, counters) for n, parallel in pooled.items()}
    resamples = {n: resample(runs.sequential, runs.parallel[n], n, counters) for n in models}
    rows = {n: _whole(runs, resamples[n], model, region) for n, model in models.items()}
    asked = _verdict_threads(tuple(rows), runs.cores)
    model = models[asked] if region is None else models[asked].of_region(region)
    return Speedups(
        mode=runs.mode,
        counters=counters,
        regions=names,
        region=region,
        cores=runs.cores,
        sequential=_metrics(sequential, runs.recorded_sequential_ns, runs.plain_sequential_ns),
        rows=tuple(rows.values()),
        verdict=_without_regions(runs, model)
        or _nothing_matched(runs, model)
        or advise(rows[asked], model, runs.sequential, runs.parallel[asked], runs.commands, resamples[asked], region),
        notices=tuple(_notices(runs, models, rows)),
        warmup=runs.warmup,
        step=step_of_runs((*runs.sequential, *(run for group in runs.parallel.values() for run in group))),
    )


def _verdict_threads(threads: Sequence[int], cores: int | None) -> int:
    fitting = [n for n in threads if cores is None or n <= cores]
    return max(fitting) if fitting else min(threads)


def _without_regions(runs: SweepRuns, model: Model) -> Verdict | None:
    """Return a withheld verdict where no region was given and none was found."""
    if model.is_compared:
        return None
    return _withheld_verdict(runs, model, Notice.of("HW460", path=runs.path).message)


def _nothing_matched(runs: SweepRuns, model: Model) -> Verdict | None:
    """Return a withheld verdict where no region is in the parallel program: all of it would pass for sequential."""
    if not model.regions or any(is_in_parallel(model, part.name) for part in model.regions):
        return None
    names = ", ".join(part.name for part in model.regions)
    one = "region" if len(model.regions) == 1 else "regions"
    reason = f"{one} {names} match{'es' if one == 'region' else ''} nothing in the parallel program"
    return _withheld_verdict(runs, model, reason)


def _withheld_verdict(runs: SweepRuns, model: Model, reason: str) -> Verdict:
    command = f"headway sweep --resume {shlex.quote(runs.path)} --region NAME=REGEX"
    return Verdict(model.threads, None, None, None, (), command, reason, f"The verdict is withheld: {reason}.")


def _whole(runs: SweepRuns, resamples: Resamples, model: Model, region: str | None) -> AtThreads:
    """Return the row of the program (with its regions), or of one region."""
    if region is not None:
        return _row(runs, resamples, model.of_region(region), region, {})
    parts = {name: _row(runs, resamples, model.of_region(name), name, {}) for name in runs.regions if name != PARALLEL}
    return _row(runs, resamples, model, None, parts)


def _row(
    runs: SweepRuns, resamples: Resamples, model: Model, region: str | None, regions: Mapping[str, AtThreads]
) -> AtThreads:
    threads, parallel = model.threads, runs.parallel[model.threads]
    computed = _float(model.speedup()) or 0.0
    possible = {limit: _float(value) for limit, value in model.possible().items()}
    bounds = intervals(resamples, {COMPUTED: computed, **possible}, region)
    low, high = bounds.pop(COMPUTED, (None, None))
    has_real = region is None and not runs.is_part
    plain = (runs.plain_sequential_ns, runs.plain_ns.get(threads, ())) if has_real else ((), ())
    real_low, real_high = real_interval(*plain) or (None, None)
    ratio_low, ratio_high = ratio_interval(runs.blocks.get(threads, ()) if has_real else ()) or (None, None)
    balance = model.imbalance()
    return AtThreads(
        threads=threads,
        runs=len(parallel),
        plain_runs=len(plain[1]),
        real_speedup=fmean(plain[0]) / fmean(plain[1]) if all(plain) else None,
        real_low=real_low,
        real_high=real_high,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        computed_speedup=computed,
        low=low,
        high=high,
        efficiencies={limit: _float(value) for limit, value in model.efficiencies().items()},
        possible=possible,
        possible_intervals=bounds,
        pairs=tuple(Pair((a, b), float(value)) for a, b, value in model.pairs()),
        stack={limit: float(value) for limit, value in stack(model).items()},
        pop=pop(model, parallel if region is None else ()),
        metrics=_metrics(
            {part.name: model.parallel[part.name] for part in model.parts if part.name in model.parallel},
            runs.recorded_ns.get(threads, ()) if region is None else (),
            runs.plain_ns.get(threads, ()) if region is None else (),
        ),
        regions=regions,
        imbalance={"instructions": _float(balance[0]), "cpi": _float(balance[1])},
        flat={part.name: _flat(parallel, part.name) for part in model.parts},
        efficiency_intervals=efficiency_intervals(model) if model.is_compared else {},
    )


def _float(value: Number | None) -> float | None:
    return None if value is None else float(value)


def _metrics(program: Mapping[str, Sums], recorded: Sequence[int], plain: Sequence[int]) -> SpeedupMetrics:
    def total(field: str) -> float | None:
        values = [sums[field] for sums in program.values()]
        known = [float(value) for value in values if value is not None]
        return sum(known) if known and len(known) == len(values) else None

    cycles, instructions = total("cycles"), total("instructions")
    return SpeedupMetrics(
        recorded_wall_ns=fmean(recorded) if recorded else None,
        plain_wall_ns=fmean(plain) if plain else None,
        cpu_ns=total("cpu_ns"),
        instructions=instructions,
        cycles=cycles,
        cpi=cycles / instructions if cycles is not None and instructions else None,
        cache_misses=total("cache_misses"),
    )


def _flat(runs: Sequence[RunPrimitives], region: str) -> dict[str, float]:
    """Return mean CPU ns of the largest innermost frames of the busiest thread."""
    sums: dict[str, float] = {}
    for run in runs:
        for part in run.regions:
            if part.name == region:
                for frame, ns in part.busiest_frames.items():
                    sums[frame] = sums.get(frame, 0.0) + ns / len(runs)
    return dict(sorted(sums.items(), key=lambda item: -item[1])[:FLAT_FRAMES])


def _notices(runs: SweepRuns, models: Mapping[int, Model], rows: Mapping[int, AtThreads]) -> list[Notice]:
    found = [
        *runs.notices,
        *check_programs(tuple(models.values()), [run for group in runs.parallel.values() for run in group]),
    ]
    if not next(iter(models.values())).counters:
        found.append(Notice.of("HW466"))
    if PARALLEL in runs.regions:
        found.append(Notice.of("HW460", path=runs.path))
    overhead = None
    if runs.recorded_sequential_ns and runs.plain_sequential_ns:
        overhead = fmean(runs.recorded_sequential_ns) / fmean(runs.plain_sequential_ns) - 1
    for n, model in models.items():
        found += check_threads(model, runs.cores)
        found += check_against_real(rows[n], model, runs.cores, overhead)
    single = [n for n, row in rows.items() if row.low is None]
    if single:
        found.append(Notice.of("HW467", threads=_list(single)))
    if not runs.is_part:
        plainless = [n for n in models if not (runs.plain_ns.get(n) and runs.plain_sequential_ns)]
        if plainless:
            found.append(Notice.of("HW468", threads=_list(plainless), path=runs.path))
    return list(dict.fromkeys(found))


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
