"""`headway memory` as an analysis of the seam: how a program uses memory, beside published programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.analyses.common.units import duration, significant
from headway.report.analysis import BaseAnalysis, Section, Table, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import IterationsType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.memory.types import MemoryAnswer, MemoryFigure
    from headway.report.section import Cell
    from headway.store import Recording

DEFAULT_LAST = 10
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


class MemoryAnalysis(BaseAnalysis):
    """Tells how a program uses memory, beside the published programs."""

    name = "memory"
    summary = summary_of(name)
    help = """Tell how a program uses memory: what it allocates, executes and misses.

    For recordings made with --objects allocations, --counters, or both. Each
    figure stands beside those of 31 published programs (DaCapo and
    Renaissance on 8 cores). What is not recorded is named, with its reason
    and the recording that would have it. Where iterations are recorded,
    figures of counters are the mean of the last ones.
    """
    examples = (
        "headway record --objects allocations -o app.headway -- java -jar app.jar",
        "headway memory app.headway",
        "headway memory app.headway --iterations gc --last 5",
        "headway memory app.headway --json",
    )
    has_window = False
    section_needs = "allocation"

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --iterations and --last."""
        return (
            click.Option(
                ["--iterations"],
                type=IterationsType(),
                metavar="MARKS",
                help="What tells iterations apart, as in 'headway counters'. [as recorded; else all is one]",
            ),
            click.Option(
                ["--last"],
                type=click.IntRange(1, 1_000_000),
                default=DEFAULT_LAST,
                show_default=True,
                metavar="K",
                help="With iterations: the last K of them.",
            ),
        )

    def run(self, recording: Recording, window: Window, **options: Any) -> MemoryAnswer:
        """Return the figures. Raises HeadwayError as `memory` of analyses.memory.analysis."""
        from headway.analyses.memory.analysis import memory

        return memory(recording, options.get("iterations"), options.get("last", DEFAULT_LAST))

    def to_json(self, result: MemoryAnswer) -> dict[str, Any]:
        """Return the stable form of all figures."""
        from headway.report.json.memory import memory_json

        return memory_json(result)

    def section(self, result: MemoryAnswer) -> Section:
        """Return what is known as a table, and as sentences what is not, with its reason."""
        gaps = [f"{text}{f' Next: {remedy}' if remedy else ''}" for text, remedy in gap_texts(result)]
        return Section("Memory", (*head_sentences(result), *gaps), tables(result), result.notices)

    def render(self, result: MemoryAnswer, console: Console, name: str) -> None:
        """Print the known figures as a table, then what is not known."""
        from headway.report.terminal.memory import render_memory

        render_memory(result, console)


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


MEMORY = MemoryAnalysis()
