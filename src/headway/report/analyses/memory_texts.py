"""The words of `headway memory`, on the terminal and in the report: labels of figures, rows of the table, what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, significant
from headway.report.section import Table

if TYPE_CHECKING:
    from headway.analyses.memory.types import MemoryAnswer, MemoryFigure
    from headway.report.section import Cell

LABELS = {
    "objects_k_per_s": "thousand objects a second",
    "mb_per_s": "MiB allocated a second",
    "objects_k_per_cpu_s": "thousand objects a CPU second",
    "mb_per_cpu_s": "MiB allocated a CPU second",
    "average_object_bytes": "mean object, bytes",
    "array_rate_pct": "arrays, % of objects",
    "average_array_length": "mean array, elements",
    "imbalance_objects_pct": "workers' imbalance of objects, %",
    "imbalance_bytes_pct": "workers' imbalance of bytes, %",
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


def tables(result: MemoryAnswer) -> tuple[Table, ...]:
    """Return the figures that are known as a table; none where nothing is."""
    rows = tuple(_row(each) for each in result.figures if each.value is not None)
    head = ("figure", "value", "published mean", "least", "most", "below it")
    return (Table("Use of memory, beside the published programs", head, rows),) if rows else ()


def _row(each: MemoryFigure) -> tuple[Cell, ...]:
    placed = each.published
    if placed is None:
        return LABELS[each.name], _value(each), None, None, None, None
    below = f"{'at least ' if each.is_least else ''}{placed.below} of {placed.programs}"
    return LABELS[each.name], _value(each), placed.geometric_mean, placed.least, placed.most, below


def _value(each: MemoryFigure) -> Cell:
    """Return a figure, with its interval where it has one; a count of a part is the least that there is."""
    value, low, high = each.value, each.low, each.high
    if value is None or low is None or high is None or low == high:
        return f">= {significant(value)}" if each.is_least and value is not None else value
    return f"{'>= ' if each.is_least else ''}{significant(value)} ({significant(low)} to {significant(high)})"


def head_sentences(result: MemoryAnswer) -> list[str]:
    """Return what the figures are of."""
    cpu = "" if result.cpu_ns is None else f", {duration(result.cpu_ns)} of CPU time of the program's threads"
    found = [f"Recorded are {duration(result.wall_ns)}{cpu}."]
    if result.steady_state is not None:
        steady = result.steady_state
        last = "last iteration" if steady.iterations == 1 else f"mean of the last {steady.iterations} iterations"
        found.append(f"Figures of counters are the {last} ({steady.marks}).")
    return found


def gap_texts(result: MemoryAnswer) -> list[tuple[str, str]]:
    """Return what is not known and why, with the next command (empty: there is none); figures that lack the same together."""
    missing: dict[tuple[str, str], list[str]] = {}
    for each in result.figures:
        if each.value is None:
            missing.setdefault((each.reason, each.remedy), []).append(LABELS[each.name])
    return [(f"Not known ({reason}): {'; '.join(labels)}.", remedy) for (reason, remedy), labels in missing.items()]
