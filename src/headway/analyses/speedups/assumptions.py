"""Checks whether the speedup model holds for a sweep's runs, and names broken assumptions where it misses the real speedup.

Question   what marks the figures of a sweep: preconditions that do not hold, and the assumption behind a wrong computed speedup.
Method     each assumption of the model leaves a trace in the primitives; it is looked for in every sweep (notices), and again
           where computed and real speedup differ by 2 % or more and the interval of their ratio leaves out 1 (or, where it is not
           known, by more than both intervals, or 5 %).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headway.analyses.common.units import percent
from headway.analyses.regions.primitives import PARALLEL, REST, RunPrimitives
from headway.analyses.speedups.choice import DISTURBED, others_share
from headway.analyses.speedups.model import Model
from headway.analyses.speedups.parts import ABSENT, BUSY, RegionPart, value_or_zero
from headway.analyses.speedups.types import AtThreads
from headway.analyses.speedups.uncertainty import half_width
from headway.errors import Notice

NOTABLE = 0.02
UNKNOWN_SPREAD = 0.05


def check_programs(models: Sequence[Model], runs: Sequence[RunPrimitives]) -> Iterator[Notice]:
    """Yield notices about programs and regions; `models` are those of all thread counts, `runs` the parallel runs."""
    first = models[0]
    others = others_share(first, runs)
    if others > DISTURBED:
        yield Notice.of("HW475", share=percent(others))
    ratio = _threads_in_sequential(first)
    if ratio > 1.1:
        yield Notice.of("HW463", ratio=ratio)
    for part in (part for part in first.regions if part.name != PARALLEL):
        if not _in_sequential(first, part):
            yield Notice.of("HW464", region=part.name, program="sequential")
        if not any(is_in_parallel(model, part.name) for model in models):
            yield Notice.of("HW464", region=part.name, program="parallel")
    for program, sums in (("sequential", first.sequential), ("parallel", models[-1].parallel)):
        work = {name: float(value_or_zero(row["cpu_ns"])) for name, row in sums.items()}
        if first.regions and sum(work.values()) and work.get(REST, 0.0) < 0.005 * sum(work.values()):
            yield Notice.of("HW465", program=program)


def _in_sequential(model: Model, part: RegionPart) -> bool:
    return bool(part.sequential_wall or part.sequential_work)


def is_in_parallel(model: Model, name: str) -> bool:
    """Return whether a region takes any time in the parallel program."""
    row = model.parallel.get(name, ABSENT)
    return bool(row["wall_ns"] or row["cpu_ns"])


def _threads_in_sequential(model: Model) -> float:
    """Return how many threads of the sequential program were busy at a time, on average."""
    wall = float(model.sequential_time)
    busy = sum(float(value_or_zero(row[field])) for row in model.sequential.values() for field in BUSY)
    return busy / wall if wall else 0.0


def check_threads(model: Model, cores: int | None) -> Iterator[Notice]:
    """Yield notices about the runs with one number of threads."""
    if cores is not None and model.threads > cores:
        yield Notice.of("HW462", threads=model.threads, cores=cores)
    many = [part for part in model.regions if part.balance > 1.1]
    if many:
        worst = max(many, key=lambda part: part.balance)
        busy = float(worst.balance) * model.threads
        yield Notice.of("HW472", threads=model.threads, region=worst.name, busy=busy)


def check_against_real(
    row: AtThreads, model: Model, cores: int | None, sequential_overhead: float | None
) -> Iterator[Notice]:
    """Yield HW461 where computed and real speedup differ, with the assumptions that broke.

    `sequential_overhead` is recorded over plain wall time of the sequential program, less 1.
    """
    if not row.real_speedup or not row.computed_speedup:
        return
    difference = row.computed_speedup / row.real_speedup - 1
    if not _differ(row, difference):
        return
    reasons = "; ".join(_reasons(row, model, cores, sequential_overhead)) or (
        "none of the assumptions that can be checked is broken; does the program do the same work in every run?"
    )
    yield Notice.of(
        "HW461", threads=row.threads, computed=row.computed_speedup, real=row.real_speedup,
        difference=percent(abs(difference)), reasons=reasons,
    )  # fmt: skip


def _differ(row: AtThreads, difference: float) -> bool:
    if row.ratio_low is None or row.ratio_high is None:
        return abs(difference) > _tolerance(row)
    return abs(difference) >= NOTABLE and not row.ratio_low <= 1 <= row.ratio_high


def _tolerance(row: AtThreads) -> float:
    pairs = ((row.low, row.high), (row.real_low, row.real_high))
    widths = [half_width((low, high)) for low, high in pairs if low is not None and high is not None]
    return math.hypot(*widths) if len(widths) == 2 else UNKNOWN_SPREAD


def _reasons(row: AtThreads, model: Model, cores: int | None, sequential_overhead: float | None) -> Iterator[str]:
    if cores is not None and model.threads > cores:
        yield f"{model.threads} threads share {cores} cores"
    overhead = _overhead(row.metrics.recorded_wall_ns, row.metrics.plain_wall_ns)
    if overhead is not None and sequential_overhead is not None and abs(overhead - sequential_overhead) > NOTABLE:
        slower = f"recording slows the parallel program by {_signed(overhead)}"
        yield f"{slower} and the sequential one by {_signed(sequential_overhead)}"
    stolen = [_stolen(model, sequential=each) for each in (True, False)]
    if max(stolen) > NOTABLE:
        yield f"the host took {percent(stolen[0])} of the sequential CPU time and {percent(stolen[1])} of the parallel one"
    frequency = row.efficiencies.get("frequency")
    if frequency is not None and abs(frequency - 1) > NOTABLE:
        yield f"the clock's frequency was not the same (a ratio of {frequency:.2f})"
    if _threads_in_sequential(model) > 1.1:
        yield "the sequential program runs several threads"
    lost = [part.name for part in model.regions if bool(part.sequential_work) != bool(part.work)]
    if lost and model.is_compared:
        yield f"region {', '.join(lost)} is in one of the programs only"
    time, wall = model.time(), sum(value_or_zero(sums["wall_ns"]) for sums in model.parallel.values())
    if time and wall and time > wall * (1 + NOTABLE):
        yield "threads are busy in a region for longer than it lasts: a region matches what is outside of it"


def _overhead(recorded: float | None, plain: float | None) -> float | None:
    return recorded / plain - 1 if recorded and plain else None


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}%"


def _stolen(model: Model, *, sequential: bool) -> float:
    rows = (model.sequential if sequential else model.parallel).values()
    steal = sum(float(value_or_zero(row["steal_ns"])) for row in rows)
    cpu = sum(float(value_or_zero(row["cpu_ns"])) for row in rows)
    return steal / (steal + cpu) if steal + cpu else 0.0
