"""Figures of allocations (tables 5.5 and 5.9): rates, sizes, arrays, and how unevenly the workers allocate.

Method     sums of the whole recording (objects.analysis) by its wall time, and by the CPU time of the program's threads. The
           imbalance is equation 6.1 over the workers (scheduling.thread_work).
Assumes    the JVM ran as long as the recording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.counters.metrics import imbalance
from headway.analyses.memory.types import MemoryFigure
from headway.analyses.numa.published import placed
from headway.analyses.objects.analysis import objects, objects_of_threads
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.scheduling.thread_work import program_work
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headway.analyses.objects.types import Allocated, ObjectsAnswer, Quantity
    from headway.analyses.scheduling.thread_work import ProgramWork
    from headway.errors import Notice
    from headway.store import Recording

MB = 1 << 20
"""Bytes, as the published tables have it."""
TOTALS = ("objects_k", "mb")
PER_SECOND = ("objects_k_per_s", "mb_per_s")
PER_CPU_SECOND = ("objects_k_per_cpu_s", "mb_per_cpu_s")
LAYOUT = ("average_object_bytes", "array_rate_pct", "average_array_length")
IMBALANCES = ("imbalance_objects_pct", "imbalance_bytes_pct")
NAMES = (*TOTALS, *PER_SECOND, *PER_CPU_SECOND, *LAYOUT, *IMBALANCES)
REMEDY = "headway record --objects allocations -o NAME.headway -- CMD"
WITH_TIMES = "headway record --mode ebpf --objects allocations -o NAME.headway -- CMD"
_ATTACHED = "HW802"
_IN_PART = frozenset((_ATTACHED, "HW804", "HW808"))
"""Notices that some allocations are not counted: the first ones, or the last."""
_NONE_SEEN = "no allocation was seen; the first megabyte or more of each thread after headway attached never is"
_MOST_UNASSIGNED = 0.01
"""So much may be allocated by threads that are not known when the answer says how evenly workers allocate."""


def allocation_figures(
    recording: Recording, work: ProgramWork | None, at_speed: Recording | None = None
) -> tuple[list[MemoryFigure], tuple[Notice, ...], Allocated | None]:
    """Return the figures, what weakens them, and the sums that they are made of; None: allocations are not recorded.

    `at_speed`: another run of the program, whose times are taken, as this one is slowed down.
    """
    try:
        answer = objects(recording, by="thread")
    except HeadwayError as error:
        reason = "allocations were not recorded" if error.notice.id == "HW800" else error.notice.message
        return [MemoryFigure(name, reason=reason, remedy=REMEDY) for name in NAMES], (), None
    total, wall_s = answer.total, (at_speed or recording).wall_ns / 1e9
    if total is None:
        return [MemoryFigure(name, reason="allocations were not recorded", remedy=REMEDY) for name in NAMES], (), None
    ids = {notice.id for notice in answer.notices}
    is_late, is_least = _ATTACHED in ids, not ids.isdisjoint(_IN_PART)
    if is_late and not total.objects.high:
        return [MemoryFigure(name, reason=_NONE_SEEN, remedy=REMEDY) for name in NAMES], answer.notices, None
    at_work = work if at_speed is None else _work(at_speed)
    cpu_s = 0.0 if at_work is None else at_work.cpu_ns / 1e9
    found = [*_totals(total, is_least=is_least)]
    found += [*_rates(PER_SECOND, total, wall_s, "the recording has no length", "", is_least=is_least)]
    no_time = "which threads ran is not recorded" if at_work is None else "no thread of the program ran"
    found += _rates(PER_CPU_SECOND, total, cpu_s, no_time, WITH_TIMES if at_work is None else "", is_least=is_least)
    found += _layout(total, is_least=is_least)
    found += _imbalances(recording, answer, total, work, is_late=is_late)
    return found, answer.notices, total


def _work(recording: Recording) -> ProgramWork | None:
    return program_work(recording) if has_scheduling(recording) else None


def _totals(total: Allocated, *, is_least: bool) -> Iterator[MemoryFigure]:
    """Yield all objects and bytes; published are those of an iteration, which these are not put beside."""
    for name, quantity, unit in zip(TOTALS, (total.objects, total.bytes), (1e3, MB), strict=True):
        value, low, high = (each / unit for each in _ends(quantity))
        yield MemoryFigure(name, value, low, None if is_least else high, is_least=is_least)


def _rates(
    names: tuple[str, str], total: Allocated, seconds: float, reason: str, remedy: str, *, is_least: bool
) -> Iterator[MemoryFigure]:
    """Yield objects and bytes by a time, or why there is none. `is_least`: some are not counted."""
    for name, quantity, unit in zip(names, (total.objects, total.bytes), (1e3, MB), strict=True):
        if seconds:
            yield figure(name, *(each / unit / seconds for each in _ends(quantity)), is_least=is_least)
        else:
            yield MemoryFigure(name, reason=reason, remedy=remedy)


def _ends(quantity: Quantity) -> tuple[int, int, int]:
    return quantity.value, quantity.low, quantity.high


def _layout(total: Allocated, *, is_least: bool) -> Iterator[MemoryFigure]:
    """Yield mean sizes; of a sample the ends of the ratio are those that opposite ends of its parts give.

    `is_least`: some allocations are not counted, so that what was not seen may have been allocated all the same.
    """
    parts = (
        (total.bytes, total.objects, 1.0),
        (total.arrays, total.objects, 100.0),
        (total.array_length, total.arrays, 1.0),
    )
    for name, (above, below, factor) in zip(LAYOUT, parts, strict=True):
        if not below.value:
            what = "array" if name == "average_array_length" and total.objects.value else "object"
            reason = (
                f"no {what} was seen, and not all were counted" if is_least else f"the program allocated no {what}s"
            )
            yield MemoryFigure(name, reason=reason)
            continue
        high = factor * above.high / below.low if below.low else None
        if name == "array_rate_pct" and high is not None:
            high = min(high, 100.0)
        yield figure(name, factor * above.value / below.value, factor * above.low / below.high, high)


def _imbalances(
    recording: Recording, answer: ObjectsAnswer, total: Allocated, work: ProgramWork | None, *, is_late: bool
) -> Iterator[MemoryFigure]:
    workers = [] if work is None else [each.thread_id for each in work.workers]
    by_thread = objects_of_threads(recording, workers)
    unknown = by_thread.get(None, (0, 0))[0]
    reason, remedy = _why_no_imbalance(answer, total, work, unknown, is_late=is_late)
    for place, (name, what) in enumerate(zip(IMBALANCES, ("objects", "bytes"), strict=True)):
        if reason or work is None:
            yield MemoryFigure(name, reason=reason, remedy=remedy)
            continue
        value = imbalance([by_thread.get(each, (0, 0))[place] for each in workers])
        if value is None:
            yield MemoryFigure(name, reason=f"the workers allocated no {what}")
        else:
            yield figure(name, 100 * value, 100 * value, 100 * value)


def _why_no_imbalance(
    answer: ObjectsAnswer, total: Allocated, work: ProgramWork | None, unknown: int, *, is_late: bool
) -> tuple[str, str]:
    """Return why nothing can say how evenly workers allocate, and the recording that would; empty where it can be said.

    `unknown`: objects of threads that are not known.
    """
    if work is None:
        return "which threads work is not recorded", WITH_TIMES
    if len(work.workers) < 2:
        return "the program has fewer than two workers, threads beside main with more than 4 % of the work", ""
    if is_late:
        return "the first megabyte or more of each worker after headway attached is not seen", WITH_TIMES
    if answer.interval_bytes != 0:
        return "of a sample: chance alone makes threads differ", REMEDY
    if unknown > _MOST_UNASSIGNED * total.objects.value:
        return "virtual threads, or ones that are not known, allocated more than 1 % of the objects", ""
    return "", ""


def figure(name: str, value: float, low: float | None, high: float | None, *, is_least: bool = False) -> MemoryFigure:
    """Return a figure beside the published ones of its name, where there are any."""
    return MemoryFigure(name, value, low, high, placed(name, value, None, derived=False), is_least)
