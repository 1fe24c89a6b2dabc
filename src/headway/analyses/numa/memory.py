"""How a program uses memory: the columns of tables 5.5 to 5.12, those made of others computed, beside the published programs.

Method     Papadakis, PhD thesis, Manchester 2022, chapter 5: rates by the time of an iteration, arithmetic instructions by
           equation 5.2, miss rates of a level by the misses of the level above, accesses per thousand object operations
           (allocations and accesses), and equation 5.1: both rates above the geometric mean of the suite.
Units      A MB of the tables is 2^20 bytes: sizes of objects come out so.
Checked    tests/golden/test_numa_memory.py: each derived column against the printed one, within what rounding leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from headway.analyses.numa.published import placed
from headway.analyses.numa.tables import ProgramFigures
from headway.analyses.numa.types import Placed

Figures = Mapping[str, float]
_MB = 1 << 20


def _seconds(of: Figures) -> float:
    return of["objects_k"] / of["objects_k_per_s"]


def _operations_k(of: Figures) -> float:
    return of["objects_k"] + of["accesses_m"] * 1e3


def _of_accesses(misses: str) -> Callable[[Figures], float]:
    """Return the rate of misses of what every memory instruction asks: the first level and the TLB."""
    return lambda of: 100 * of[misses] / (10 * of["memory_pct"])


DERIVED: dict[str, tuple[tuple[str, ...], Callable[[Figures], float]]] = {
    "mb_per_s": (("mb", "objects_k", "objects_k_per_s"), lambda of: of["mb"] / _seconds(of)),
    "accesses_m_per_s": (("accesses_m", "objects_k", "objects_k_per_s"), lambda of: of["accesses_m"] / _seconds(of)),
    "average_object_bytes": (("mb", "objects_k"), lambda of: of["mb"] * _MB / (of["objects_k"] * 1e3)),
    "arithmetic_pct": (("memory_pct", "branch_pct"), lambda of: 100 - of["memory_pct"] - of["branch_pct"]),
    "dtlb_miss_pct": (("dtlb_mpki", "memory_pct"), _of_accesses("dtlb_mpki")),
    "l1_miss_pct": (("l1_mpki", "memory_pct"), _of_accesses("l1_mpki")),
    "l2_miss_pct": (("l2_mpki", "l1_mpki"), lambda of: 100 * of["l2_mpki"] / of["l1_mpki"]),
    "llc_miss_pct": (("llc_mpki", "l2_mpki"), lambda of: 100 * of["llc_mpki"] / of["l2_mpki"]),
    "llc_accesses_per_k_object_ops": (
        ("l2_mpki", "instructions", "objects_k", "accesses_m"),
        lambda of: of["l2_mpki"] * of["instructions"] / 1e3 / _operations_k(of),
    ),
    "memory_accesses_per_k_object_ops": (
        ("llc_mpki", "instructions", "objects_k", "accesses_m"),
        lambda of: of["llc_mpki"] * of["instructions"] / 1e3 / _operations_k(of),
    ),
}
"""Columns made of others: of which, and how."""
SHOWN = (
    "objects_k_per_s", "mb_per_s", "average_object_bytes", "array_rate_pct", "average_array_length", "accesses_m_per_s",
    "reads_per_write", "shared_reads_pct", "shared_writes_pct", "memory_pct", "arithmetic_pct", "branch_pct", "cpi", "bpu_mpki",
    "dtlb_mpki", "l1_mpki", "l2_mpki", "llc_mpki", "dtlb_miss_pct", "l1_miss_pct", "l2_miss_pct", "llc_miss_pct",
    "llc_accesses_per_k_object_ops", "memory_accesses_per_k_object_ops",
)  # fmt: skip
"""What is told of a program, in the order of the tables; totals depend on how long an iteration is."""
RATES = ("objects_k_per_s", "accesses_m_per_s")


def derive(figures: Figures) -> dict[str, float]:
    """Return each column of the thesis's tables that can be calculated from a program's other figures, also of those it has."""
    found = {}
    for column, (needed, formula) in DERIVED.items():
        if all(name in figures for name in needed):
            try:
                found[column] = formula(figures)
            except ZeroDivisionError:  # nothing to divide by: nothing is known
                continue
    return {column: value for column, value in found.items() if 0 <= value < math.inf}


def memory_of(program: ProgramFigures) -> dict[str, Placed]:
    """Return the figures of a program's memory, those of the tables before those made of others, beside the published ones."""
    figures = {column: value for column in program.values if (value := program.number(column)) is not None}
    computed = derive(figures)
    found = {}
    for column in SHOWN:
        value = figures.get(column, computed.get(column))
        beside = None if value is None else placed(column, value, program.suite, derived=column not in figures)
        if beside is not None:
            found[column] = beside
    return found


def is_memory_intensive(memory: Mapping[str, Placed]) -> bool | None:
    """Return equation 5.1: both rates above the geometric mean of the suite's published programs; None where one is missing."""
    if any(rate not in memory for rate in RATES):
        return None
    means = [memory[rate].geometric_mean for rate in RATES]
    return all(mean is not None and memory[rate].value > mean for rate, mean in zip(RATES, means, strict=True))
