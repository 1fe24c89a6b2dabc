"""Figures that counters give (tables 5.7, 5.8, 5.11 and 5.12): the mix of instructions, CPI, misses by thousand instructions.

Method     metrics of `headway counters` over all threads, JVM's included; where iterations are recorded the mean of the last
           ones, the steady state, as published. Recordings without eBPF have totals of whole threads, and no iterations.
Wrong when loads alone are counted: the published misses are of loads and stores. Such figures are marked as the least that there
           is, and miss rates of loads are not compared at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.layout import BY_THREAD, BY_THREADS_WHOLE, layout
from headway.analyses.counters.metrics import METRICS
from headway.analyses.counters.totals.thread_totals import has_thread_totals, thread_totals
from headway.analyses.memory.allocated import figure
from headway.analyses.memory.types import MemoryFigure, SteadyState
from headway.analyses.regions.counted import counters_by_iteration
from headway.errors import HeadwayError, Notice
from headway.model.counter_ladder import plain_name

if TYPE_CHECKING:
    from headway.analyses.counters.types import Counters, Figure
    from headway.model.iterations import IterationMarks
    from headway.store import Recording


class _Source(NamedTuple):
    """The metric of `headway counters` that a published column comes from. `is_of_loads`: of loads alone."""

    metric: str
    factor: float = 1.0
    is_of_loads: bool = False
    is_compared: bool = True


COLUMNS: Mapping[str, _Source] = {
    "memory_pct": _Source("memory instructions", 100),
    "l1d_reads_pct": _Source("load instructions", 100),
    "l1d_writes_pct": _Source("store instructions", 100),
    "arithmetic_pct": _Source("arithmetic instructions", 100),
    "branch_pct": _Source("branch instructions", 100),
    "cpi": _Source("CPI"),
    "bpu_mpki": _Source("branch MPKI"),
    "dtlb_mpki": _Source("data TLB MPKI", is_of_loads=True),
    "l1_mpki": _Source("L1D MPKI", is_of_loads=True),
    "l2_mpki": _Source("L2 MPKI", is_of_loads=True),
    "llc_mpki": _Source("LLC MPKI", is_of_loads=True),
    "dtlb_miss_pct": _Source("data TLB miss rate", 100, is_of_loads=True, is_compared=False),
    "l1_miss_pct": _Source("L1D miss rate", 100, is_of_loads=True, is_compared=False),
    "l2_miss_pct": _Source("L2 miss rate", 100, is_of_loads=True, is_compared=False),
    "llc_miss_pct": _Source("LLC miss rate", 100, is_of_loads=True, is_compared=False),
}
"""By the column of the published tables."""
GROUPS = (
    "cycles,instructions,branches,branch-misses;instructions,branches,L1-dcache-loads,L1-dcache-stores;"
    "instructions,L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses;instructions,dTLB-loads,dTLB-load-misses"
)
"""What `--counters` is given to have them all."""
REMEDY = f"headway record --counters '{GROUPS}' -o NAME.headway -- CMD"


class CountedMemory(NamedTuple):
    """Figures of counters, the iterations that they are the mean of, and what weakens them."""

    figures: list[MemoryFigure]
    steady_state: SteadyState | None
    notices: tuple[Notice, ...]


def counted_figures(recording: Recording, marks: IterationMarks | None, last: int) -> CountedMemory:
    """Return the figures of a recording; of the `last` iterations where they are recorded, or `marks` tells them apart."""
    try:
        layout(recording, BY_THREADS_WHOLE if has_thread_totals(recording) else BY_THREAD)
    except HeadwayError:  # HW109: nothing was counted
        was_asked = any(recording.manifest.extra.get(key) is not None for key in (BY_THREAD, BY_THREADS_WHOLE))
        reason = "no event could be counted (headway doctor says why)" if was_asked else "nothing was counted"
        return CountedMemory([MemoryFigure(name, reason=reason, remedy=REMEDY) for name in COLUMNS], None, ())
    found, steady_state, notices = _asked(recording, marks, last)
    metrics = (
        found.total.metrics if found.over is None else {name: each.mean for name, each in found.over.metrics.items()}
    )
    figures = [_figure(name, source, metrics, found) for name, source in COLUMNS.items()]
    return CountedMemory(figures, steady_state, (*found.notices, *notices))


def counted_in_all(recording: Recording, event: str) -> float | None:
    """Return how often an event was counted in a whole recording, in all threads; None where it was not, or not known."""
    try:
        found = thread_totals(recording, "kind") if has_thread_totals(recording) else counters(recording, by="kind")
    except HeadwayError:  # HW109: nothing was counted
        return None
    names = {plain_name(name): name for group in found.groups for name in group.events}
    count = found.total.counts.get(names.get(event, ""))
    return None if count is None else count.value


def _asked(
    recording: Recording, marks: IterationMarks | None, last: int
) -> tuple[Counters, SteadyState | None, tuple[Notice, ...]]:
    """Return what was counted: by iteration where there are any, else in all; iterations that can't be told are a notice."""
    has_iterations = isinstance(recording.manifest.extra.get("iterations"), Mapping)
    if has_thread_totals(recording):
        without = HeadwayError("HW123", path=recording.path, why="not by iteration")
        if marks is not None:
            raise without
        return thread_totals(recording, "kind"), None, (without.notice,) if has_iterations else ()
    if marks is None and not has_iterations:
        return counters(recording, by="kind"), None, ()
    try:
        found = counters_by_iteration(recording, marks, None, last)
    except HeadwayError as error:
        if marks is not None:
            raise
        return counters(recording, by="kind"), None, (error.notice,)
    return found, SteadyState(found.marks, len(found.rows)), ()


def _figure(name: str, source: _Source, metrics: Mapping[str, Figure], found: Counters) -> MemoryFigure:
    metric = metrics.get(source.metric)
    if metric is None:
        return _missing(name, source.metric, found)
    if metric.value is None:
        return MemoryFigure(name, reason=metric.withheld or "nothing of it was counted")
    value, low, high = (
        None if each is None else source.factor * each for each in (metric.value, metric.low, metric.high)
    )
    assert value is not None  # else it is withheld
    if not source.is_compared:
        return MemoryFigure(name, value, low, high)
    return figure(name, value, low, high, is_least=source.is_of_loads)


def _missing(name: str, metric: str, found: Counters) -> MemoryFigure:
    """Return why a recording with counters lacks a metric: which of its events were not counted, and why."""
    events = next(each.events for each in METRICS if each.name == metric)
    there = {plain_name(event) for group in found.groups for event in group.events}
    missing = list(dict.fromkeys(event for event in events if event not in there))
    if not missing:
        reason = f"{', '.join(dict.fromkeys(events))} were not counted in one group"
        return MemoryFigure(name, reason=reason, remedy=REMEDY)
    reasons = {plain_name(event): reason for event, reason in found.absent}
    known = next((reasons[event] for event in (*missing, "cycles") if event in reasons), None)
    if (
        known is not None
    ):  # no other recording on that machine would have it; without cycles nothing of the processor counts
        return MemoryFigure(name, reason=f"not counted there: {known}", remedy="headway doctor")
    return MemoryFigure(name, reason=f"not counted: {', '.join(missing)}", remedy=REMEDY)
