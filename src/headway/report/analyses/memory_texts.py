"""The words of `headway memory`, on the terminal and in the report: labels of figures, rows of the table, what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, significant
from headway.analyses.numa.published import published, published_values
from headway.report.section import Scatter, Table

if TYPE_CHECKING:
    from headway.analyses.memory.types import MemoryAnswer, MemoryFigure
    from headway.report.section import Cell

LABELS = {
    "objects_k": "thousand objects",
    "mb": "MiB allocated",
    "objects_k_per_s": "thousand objects a second",
    "mb_per_s": "MiB allocated a second",
    "objects_k_per_cpu_s": "thousand objects a CPU second",
    "mb_per_cpu_s": "MiB allocated a CPU second",
    "average_object_bytes": "mean object, bytes",
    "array_rate_pct": "arrays, % of objects",
    "average_array_length": "mean array, elements",
    "imbalance_objects_pct": "workers' imbalance of objects, %",
    "imbalance_bytes_pct": "workers' imbalance of bytes, %",
    "accesses_m": "million accesses",
    "accesses_m_per_s": "million accesses a second",
    "reads_per_write": "reads for each write",
    "shared_reads_pct": "reads of others' objects, %",
    "shared_writes_pct": "writes of others' objects, %",
    "llc_accesses_per_k_object_ops": "LLC accesses per 1000 operations",
    "memory_accesses_per_k_object_ops": "memory accesses per 1000 operations",
    "memory_pct": "memory instructions, %",
    "l1d_reads_pct": "loads, % of instructions",
    "l1d_writes_pct": "stores, % of instructions",
    "arithmetic_pct": "arithmetic instructions, %",
    "branch_pct": "branches, % of instructions",
    "cpi": "cycles per instruction",
    "bpu_mpki": "branch misses, MPKI",
    "dtlb_mpki": "data TLB misses, MPKI",
    "l1_mpki": "L1D misses, MPKI",
    "l2_mpki": "L2 misses, MPKI",
    "llc_mpki": "LLC misses, MPKI",
    "dtlb_miss_pct": "data TLB misses, % of loads",
    "l1_miss_pct": "L1D misses, % of loads",
    "l2_miss_pct": "L2 misses, % of its loads",
    "llc_miss_pct": "LLC misses, % of its loads",
}
"""What people read for the names of the figures."""
TOTALS = ("objects_k", "mb", "accesses_m")
"""Published are those of an iteration: a recording's are not drawn beside them."""
THIS = "this program"


def scatter(result: MemoryAnswer) -> Scatter | None:
    """Return the figures that are known beside those of the published programs, to draw any two; None of fewer than two."""
    own = {each.name: each.value for each in result.figures if each.value is not None}
    axes = [name for name in LABELS if name in own and name not in TOTALS and published_values(name)]
    if len(axes) < 2:
        return None
    others = tuple((each.name, tuple(each.figures.get(axis) for axis in axes)) for each in published())
    own_row = (THIS, tuple(own[axis] for axis in axes))
    return Scatter(
        "This program beside the published ones", tuple(LABELS[axis] for axis in axes), (own_row, *others), THIS
    )


def tables(result: MemoryAnswer) -> tuple[Table, ...]:
    """Return the figures that are known as a table, with their intervals where any has one; none where nothing is known."""
    known = [each for each in result.figures if each.value is not None]
    intervals = [_interval(each) for each in known]
    has_intervals = any(intervals)
    head = ("figure", "value", *(("between",) if has_intervals else ()), "mean", "least", "most", "below it")
    rows = tuple(
        (LABELS[each.name], _value(each), *((interval,) if has_intervals else ()), *_published(each))
        for each, interval in zip(known, intervals, strict=True)
    )
    return (Table("Use of memory, beside the published programs", head, rows),) if rows else ()


def _published(each: MemoryFigure) -> tuple[Cell, ...]:
    """Return the published programs' mean, least and most, and how many are below."""
    placed = each.published
    if placed is None:
        return None, None, None, None
    below = f"{'at least ' if each.is_least else ''}{placed.below} of {placed.programs}"
    return placed.geometric_mean, placed.least, placed.most, below


def _value(each: MemoryFigure) -> Cell:
    """Return a figure; a count of a part is the least that there is."""
    return f">= {significant(each.value)}" if each.is_least and each.value is not None else each.value


def _interval(each: MemoryFigure) -> str | None:
    """Return the ends of a figure's interval; None where it is exact, a question mark where nothing is known of them."""
    if each.low is None and each.high is None:
        return "?"
    if each.low == each.high:
        return None
    low, high = ("?" if end is None else significant(end) for end in (each.low, each.high))
    return f"{low} to {high}"


def head_sentences(result: MemoryAnswer) -> list[str]:
    """Return what the figures are of."""
    cpu = "" if result.cpu_ns is None else f", {duration(result.cpu_ns)} of CPU time of the program's threads"
    found = [f"Recorded are {duration(result.wall_ns)}{cpu}."]
    if result.steady_state is not None:
        steady = result.steady_state
        last = "last iteration" if steady.iterations == 1 else f"mean of the last {steady.iterations} iterations"
        found.append(f"Figures of counters are the {last} ({steady.marks}).")
    if result.intensive is not None:
        kind, are = ("memory-intensive", "are") if result.intensive else ("not memory-intensive", "are not")
        found.append(
            f"It is {kind} by equation 5.1: its rates of objects and of accesses {are} both above the published mean."
        )
    return found


def gap_texts(result: MemoryAnswer) -> list[tuple[str, str]]:
    """Return what is not known and why, with the next command (empty: there is none); figures that lack the same together."""
    missing: dict[tuple[str, str], list[str]] = {}
    for each in result.figures:
        if each.value is None:
            missing.setdefault((each.reason, each.remedy), []).append(LABELS[each.name])
    return [(f"Not known ({reason}): {'; '.join(labels)}.", remedy) for (reason, remedy), labels in missing.items()]
