"""Possible speedups on the terminal: the verdict, then tables over the numbers of threads that fit 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from headway.analyses.common.units import percent
from headway.analyses.speedups.types import AtThreads, Pair, Speedups
from headway.model.counter_ladder import CPI, STEPS, TOP_DOWN
from headway.report.terminal.printing.console import print_line
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import UNKNOWN
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console

LABELS: Mapping[str, str] = {
    "parallel_fraction": "sequential fraction",
    "instruction_overhead": "more instructions",
    "sequential_instruction_overhead": "more instructions, seq.",
    "parallel_instruction_overhead": "more instructions, par.",
    "cpi_overhead": "memory (CPI)",
    "sequential_cpi_overhead": "memory (CPI), seq.",
    "parallel_cpi_overhead": "memory (CPI), par.",
    "work_inflation": "work inflation",
    "load_balance": "load imbalance",
    "lock_contention": "lock contention",
    "scheduling": "waiting for a CPU",
    "gc": "GC pauses",
    "jit": "JIT compilers",
    "spinning": "busy waiting",
    "waiting": "other waiting",
    "frequency": "slower clock",
    "all": "all of these",
    "speedup": "speedup",
}
EFFICIENCY_LABELS = {
    "parallel_fraction": "parallel fraction",
    "load_balance": "load balance",
    "frequency": "clock speed",
}
"""Labels of efficiencies that are not named after what is lost."""
IMBALANCE_LABELS = {"instructions": "in instructions", "cpi": "in CPI"}
COLUMNS = 6
"""Numbers of threads in one table; more of them go into further tables."""
LABEL_WIDTH = 24
USELESS_WIDTH = 1.0
"""An interval of this part of the speedup itself tells nobody anything."""
MOST_PAIRS, LEAST_MORE = 5, 0.005
"""So many pairs of limits are shown, of those that give so much more speedup than the better one of the two alone."""


def render(result: Speedups, console: Console) -> None:
    """Print everything; raises BrokenPipeError when the reader has left."""
    verdict = result.verdict
    print_line(console, verdict.text, bullet="*")
    if verdict.place:
        print_line(console, f"where: {verdict.place}", bullet=" ")
    for sentence in verdict.evidence:
        print_line(console, sentence, bullet="-")
    print_line(console, verdict.next, bullet="->")
    print_line(console, _step_line(result), bullet=" ")
    if _says_nothing(result):
        print_line(
            console, "The intervals hold nearly everything, so no table is shown: --json has the figures.", bullet=" "
        )
        print_notices(console, result.notices)
        return
    for first in range(0, len(result.rows), COLUMNS):
        rows = result.rows[first : first + COLUMNS]
        about = "" if result.region is None else f", region {result.region}"
        _titled(console, f"Speedup by number of threads{about}", _speedups(rows, console.width))
        _titled(console, "Efficiencies", _by_limit(rows, lambda row: row.efficiencies, "{:.3f}".format, True))
        _titled(
            console, "Where the threads go (adds up to their number)", _by_limit(rows, lambda row: row.stack, _loss)
        )
        _titled(console, "POP efficiencies", _pop(rows))
    at_verdict = next((row for row in result.rows if row.threads == verdict.threads), None)
    if at_verdict is not None and (best := _best_pairs(at_verdict)):
        _titled(console, f"Without two limits at once, {verdict.threads} threads", _pairs(best))
    if result.region is None and len(result.regions) > 1:
        _titled(console, f"Regions by themselves, {verdict.threads} threads", _regions(result))
    print_notices(console, result.notices)


def _step_line(result: Speedups) -> str:
    """Say on which step of the ladder of counters the recordings stand, and what that makes of work inflation."""
    step = f"counted: {result.step} ({STEPS[result.step]})"
    if result.step in (CPI, TOP_DOWN) or result.counters:
        elsewhere = "" if result.step in (CPI, TOP_DOWN) else "; cycles and instructions are sampled or imported"
        return step + elsewhere
    return f"{step}; more instructions and slower ones are one limit, work inflation"


def _says_nothing(result: Speedups) -> bool:
    """Return whether the verdict is withheld and the speedups' intervals are as wide as the speedups themselves."""
    if result.verdict.withheld is None:
        return False
    row = next((each for each in result.rows if each.threads == result.verdict.threads), None)
    if row is None or row.low is None or row.high is None or not row.computed_speedup:
        return False
    return row.high - row.low >= USELESS_WIDTH * row.computed_speedup


def _titled(console: Console, title: str, table: Table) -> None:
    """Print a table under a title that may be wider than it."""
    console.print()
    console.print(printable(title), style="bold")
    console.print(table)


def _table(rows: Sequence[AtThreads]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("threads", no_wrap=True, overflow="ellipsis", max_width=LABEL_WIDTH)
    for row in rows:
        table.add_column(str(row.threads), justify="right", no_wrap=True)
    return table


def _figure(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _loss(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def _speedups(rows: Sequence[AtThreads], width: int) -> Table:
    """Return the speedups; intervals of possible ones in a line each where `width` characters hold them."""
    table = _table(rows)
    table.add_row("real (not recorded)", *(_figure(row.real_speedup) for row in rows))
    _from_to(table, [row.real_low for row in rows], [row.real_high for row in rows])
    table.add_row("computed", *(_figure(row.computed_speedup) for row in rows))
    _from_to(table, [row.low for row in rows], [row.high for row in rows])
    table.add_row("without")
    shown = list(_worth_showing(rows))
    ranges = {limit: [_range(row.possible_intervals.get(limit)) for row in rows] for limit in shown}
    widths = [max(len(cells[i]) for cells in ranges.values()) for i in range(len(rows))] if ranges else []
    fit = LABEL_WIDTH + sum(2 + each for each in widths) <= width
    for limit in shown:
        table.add_row(f"  {LABELS.get(limit, limit)}", *(_figure(row.possible.get(limit)) for row in rows))
        if fit and any(ranges[limit]):
            table.add_row("    from-to", *ranges[limit])
    return table


def _from_to(table: Table, low: Sequence[float | None], high: Sequence[float | None]) -> None:
    for name, values in (("from", low), ("to", high)):
        table.add_row(f"  {name}", *map(_figure, values))


def _range(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f"{bounds[0]:.2f}-{bounds[1]:.2f}"


def _worth_showing(rows: Sequence[AtThreads]) -> Iterator[str]:
    """Yield groups instead of their members, and no limit that is unknown everywhere."""
    from headway.analyses.speedups.model import GROUPS

    members = {limit for group in GROUPS.values() for limit in group}
    for limit in LABELS:
        if limit not in members and any(row.possible.get(limit) is not None for row in rows):
            yield limit


def _by_limit(
    rows: Sequence[AtThreads],
    values: Callable[[AtThreads], Mapping[str, float | None]] | Callable[[AtThreads], Mapping[str, float]],
    write: Callable[[float], str],
    are_efficiencies: bool = False,
) -> Table:
    table = _table(rows)
    for limit in LABELS:
        cells = [values(row).get(limit) for row in rows]
        if any(cell is not None for cell in cells):
            label = EFFICIENCY_LABELS.get(limit, LABELS[limit]) if are_efficiencies else LABELS[limit]
            table.add_row(label, *(UNKNOWN if cell is None else write(cell) for cell in cells))
            if are_efficiencies:
                _counted_from_to(table, rows, limit)
            if are_efficiencies and limit == "load_balance":
                _imbalance(table, rows, write)
    return table


def _counted_from_to(table: Table, rows: Sequence[AtThreads], limit: str) -> None:
    """Add between what an efficiency lies, where its counts are not exact; of exact counts there is nothing to say."""
    bounds = [row.efficiency_intervals.get(limit) for row in rows]
    cells = ["" if ends is None or ends[0] == ends[1] else f"{ends[0]:.3f}-{ends[1]:.3f}" for ends in bounds]
    if any(cells):
        table.add_row("  from-to", *cells)


def _imbalance(table: Table, rows: Sequence[AtThreads], write: Callable[[float], str]) -> None:
    """Add what of the load balance is due to the number of instructions, and to their speed, where counters tell."""
    for part, label in IMBALANCE_LABELS.items():
        cells = [row.imbalance.get(part) for row in rows]
        if any(cell is not None for cell in cells):
            table.add_row(f"  {label}", *(UNKNOWN if cell is None else write(cell) for cell in cells))


def _pop(rows: Sequence[AtThreads]) -> Table:
    table = _table(rows)
    for name in (
        "overall",
        "parallel",
        "load_balance",
        "communication",
        "computation",
        "instructions",
        "ipc",
        "frequency",
    ):
        cells = [getattr(row.pop, name, None) for row in rows]
        if any(cell is not None for cell in cells):
            indent = "" if name == "overall" else "  " if name in ("parallel", "computation") else "    "
            shown = (UNKNOWN if cell is None else percent(cell) for cell in cells)
            table.add_row(f"{indent}{name.replace('_', ' ')}", *shown)
    return table


def _best_pairs(row: AtThreads) -> list[Pair]:
    """Return the pairs of limits that give most, the best first; groups instead of their members."""
    shown = set(_worth_showing([row]))

    def more(pair: Pair) -> float:
        return pair.speedup - max(row.possible.get(limit) or 0.0 for limit in pair.limits)

    found = (pair for pair in row.pairs if shown.issuperset(pair.limits) and more(pair) > LEAST_MORE)
    return sorted(found, key=lambda pair: -pair.speedup)[:MOST_PAIRS]


def _pairs(pairs: Sequence[Pair]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("limits", no_wrap=True, overflow="ellipsis", max_width=60)
    table.add_column("speedup", justify="right", no_wrap=True)
    for pair in pairs:
        table.add_row(" and ".join(LABELS.get(limit, limit) for limit in pair.limits), _figure(pair.speedup))
    return table


def _regions(result: Speedups) -> Table:
    """Return what limits each region most at the verdict's number of threads."""
    from headway.analyses.speedups.advice import ranked

    row = next(row for row in result.rows if row.threads == result.verdict.threads)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("region", "speedup", "largest limit", "without"):
        table.add_column(name, no_wrap=True, overflow="ellipsis", max_width=28)
    for name, part in row.regions.items():
        limit, gain = next(iter(ranked(part)), ("", 0.0))
        shown = LABELS.get(limit, limit) if gain >= 0.01 else "none"
        possible = part.possible.get(limit) if gain >= 0.01 else None
        table.add_row(Text(printable(name)), _figure(part.computed_speedup), shown, _figure(possible))
    return table
