"""How alike the runs are whose counts were joined, and what one more run counted of all groups, on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.common.units import duration, percent
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.tables import UNKNOWN, make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from headway.analyses.counters.types import Alignment, ByRuns, Figure


def print_by_runs(
    found: ByRuns, joined: Mapping[str, Figure], by: str, console: Console, cell: Callable[[Figure], str]
) -> None:
    """Print what limits counts that were joined of several runs; `cell` shows a value to compare, `joined` are the totals."""
    print_line(console, _alike(found.alignment, by), bullet="*")
    if found.in_turn:
        turns = "in turn, and scaled" if found.took_turns else "at once: this CPU has counters for them"
        table = make_table(
            ("event", "left"),
            ("a run for each group", "right"),
            ("all in one run", "right"),
            ("difference", "right"),
            title=f"Against one run that counted all groups {turns}",
        )
        for event, figure in found.in_turn.items():
            more = found.differences[event]
            shown = UNKNOWN if more is None else f"{'+' if more >= 0 else '-'}{percent(abs(more))}"
            table.add_row(Text(printable(event)), cell(joined[event]), cell(figure), shown)
        print_table(console, table)
        compared = (*found.in_turn.values(), *(joined[event] for event in found.in_turn))
        if any(each.value is not None and each.high is None for each in compared):
            lacks = "the counters could not be read in some of the running time"
            print_line(console, f"compared is what was counted, and scaled (~); {lacks}", bullet="*")
    for path, reason in found.left_out:
        print_line(console, f"not joined: {path}: {reason}", bullet="!")


def _alike(each: Alignment, by: str) -> str:
    least, most = min(each.cpu_ns), max(each.cpu_ns)
    runs = len(each.cpu_ns)
    parts = [f"joined from {counted(runs, 'run')}; CPU time of a run: {duration(least)} to {duration(most)}"]
    if each.difference is not None:
        parts.append(
            f"rows (by {by}) that all runs have: {each.rows}; their CPU time differs by {percent(each.difference)}"
        )
    if each.unmatched:
        parts.append(f"rows that some runs lack: {each.unmatched} ({percent(each.unmatched_share)} of the CPU time)")
    for event, (low, high) in each.shared.items():
        apart = (high - low) / low if low else 0.0
        parts.append(f"{event}: mean of the runs, which differ by {percent(apart)}")
    return "; ".join(parts)
