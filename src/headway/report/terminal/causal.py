"""Causal results on the terminal: what to work on, curves beside the flat profile, what is not known yet."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.causal.text import HOT_PCT, looks_hot, percent_text, seconds_text
from headway.analyses.common.units import duration, significant
from headway.errors.plurals import counted
from headway.report.terminal.lost_cores import shortened
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import UNKNOWN, make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from headway.analyses.causal.types import Causal, CurvePoint, Line, ProgressPoint

LINES = 10
NAMES = 3
NAME_WIDTH = 26
CANDIDATES = 15
_LEVELS = "_.-=+*#"
"""Heights of a curve, from nothing to its maximum; plain characters, so that every terminal and log shows them."""
_SPARK = 10
_FAR = 200.0


def render_causal(result: Causal, console: Console, name: str = "NAME.headway") -> None:
    """Print the verdict, the lines with their curves, those that disappoint, and what weakens the figures."""
    print_line(console, f"{result.verdict}", bullet="*")
    for point in result.progress_points[:NAMES] if result.mode != "suggest" else ():
        print_line(console, point_text(point), bullet="*")
    if result.mode == "suggest":
        print_table(console, suggestions_table(result.progress_points))
    shown = [line for line in result.lines if line.curves][:LINES]
    if shown:
        print_table(console, lines_table(shown))
        console.print()
        for text in remarks(result.lines):
            print_line(console, text, bullet="-")
        if len(shown) == 1:
            print_table(console, points_table(shown[0]))
        _print_rest(result, console, name, len(shown))
    print_notices(console, result.notices)


def point_text(point: ProgressPoint) -> str:
    """Return what a progress point is, in a sentence."""
    if point.measure == "run":
        return f"Whole runs are compared: {point.hits} of them"
    rate = f"{point.name}: {point.hits} visits, {significant(point.hits_per_s)} per second"
    if point.measure == "latency":
        mean = "" if point.latency_ns is None else f", on average {duration(round(point.latency_ns))} from begin to end"
        return f"Latency {rate}{mean}"
    return f"Progress point {rate}"


def remarks(lines: Sequence[Line]) -> list[str]:
    """Return what the order of the table does not say by itself."""
    found = []
    hot = [line for line in lines if looks_hot(line)]
    if hot:
        found.append(
            f"Look hot, but give nothing: {_names(hot)} ({max(line.samples_pct for line in hot):.0f} % of the CPU time)"
        )
    slower = [line for line in lines if line.shape == "slower"]
    if slower:
        found.append(f"Make the program slower the faster they get (contention): {_names(slower)}")
    beyond = [line for line in lines if line.shape == "unknown" and line.is_beyond_delays]
    weak = [line for line in lines if line.shape == "unknown" and line not in beyond]
    if weak:
        needs = [line.curve.needs_s for line in weak if line.curve is not None and line.curve.needs_s is not None]
        longer = f"; the quickest needs {seconds_text(min(needs))} more" if needs else ""
        found.append(f"Not known well enough: {_names(weak)}{longer}")
    if beyond:
        most = percent_text(100 * max(line.slope_most or 0.0 for line in beyond))
        found.append(
            f"Seem to gain more than their delays allow ({most} at most): {_names(beyond)}; noise, or threads that go on"
            " faster once they stood still"
        )
    untested = [line for line in lines if line.shape == "untested" and line.samples_pct >= HOT_PCT]
    if untested:
        found.append(f"Hot, but not tried yet: {_names(untested)}")
    return found


def _names(lines: Sequence[Line]) -> str:
    more = f" and {len(lines) - NAMES} more" if len(lines) > NAMES else ""
    return ", ".join(printable(line.line) for line in lines[:NAMES]) + more


def _print_rest(result: Causal, console: Console, name: str, shown: int) -> None:
    more = sum(1 for line in result.lines if line.curves) - shown
    console.print()
    if more > 0:
        console.print(Text(f"{more} more: headway causal {shlex.quote(printable(name))} --json"), soft_wrap=True)
    lasted = (
        f"{counted(result.experiments, 'experiment')} in {duration(result.recorded_ns)}, {counted(result.runs, 'run')}"
    )
    console.print(
        Text(f"{lasted}. One line: headway causal {shlex.quote(printable(name))} --line FILE:LINE"), soft_wrap=True
    )


# --- tables ------------------------------------------------------------------------------------------------------------


def lines_table(lines: Sequence[Line]) -> Table:
    """Return the lines: their share of the flat profile, what the program gains, and the curve."""
    table = make_table(
        ("line", "left"),
        ("of CPU", "right"),
        ("gains", "right"),
        ("95 %", "right"),
        ("curve 0-100", "left"),
        ("", "left"),
        title="If the line were faster, the program would be",
    )
    table.padding = (0, 1, 0, 0)
    for line in lines:
        curve = line.curve
        assert curve is not None
        gain = UNKNOWN if curve.maximum_pct is None else percent_text(curve.maximum_pct)
        table.add_row(
            Text(shortened(printable(line.line), NAME_WIDTH)),
            _share(line),
            gain,
            _ends(curve.maximum_low_pct, curve.maximum_high_pct),
            sparkline(curve.points),
            _word(line),
        )
    return table


def _share(line: Line) -> str:
    """Return the share of the flat profile; sleeping lines have none, and show how much they sleep."""
    if line.samples_pct < 1 <= line.blocked_pct:
        return f"({line.blocked_pct:.0f} %)"
    return f"{line.samples_pct:.0f} %" if line.kind in ("line", "method") else UNKNOWN


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return UNKNOWN
    return f"{_end(low)} .. {_end(high)}"


def _end(value: float) -> str:
    """Return an end of an interval; far below all that matters it is no figure any more."""
    return f"{value:+.0f}" if value > -_FAR else f"<-{_FAR:.0f}"


def _word(line: Line) -> str:
    curve = line.curve
    if line.shape == "flattens" and curve is not None:
        return f"flat from {curve.flat_from_pct} %"
    if line.shape == "unknown" and line.is_beyond_delays:
        return "too much"
    return {"gain": "", "slower": "slower!", "none": "no effect", "unknown": "too few"}.get(line.shape, "")


def sparkline(points: Sequence[CurvePoint]) -> str:
    """Return a curve in ten characters, one per tenth of virtual speedup; blank where nothing was tried, v below zero."""
    cells: list[list[float]] = [[] for _ in range(_SPARK)]
    for point in points:
        cells[min((max(point.virtual_speedup_pct, 1) - 1) * _SPARK // 100, _SPARK - 1)].append(
            point.program_speedup_pct
        )
    means = [sum(cell) / len(cell) if cell else None for cell in cells]
    top = max((abs(mean) for mean in means if mean is not None), default=0.0)
    # Curves that hardly leave zero look flat: what is below 10 % is not blown up.
    return "".join(" " if mean is None else _level(mean / max(top, 10.0)) for mean in means)


def _level(height: float) -> str:
    if height < -1 / (2 * len(_LEVELS)):
        return "v"
    return _LEVELS[min(round(max(height, 0) * (len(_LEVELS) - 1)), len(_LEVELS) - 1)]


def points_table(line: Line) -> Table:
    """Return one line's curve in figures."""
    table = make_table(
        ("line faster by", "right"),
        ("program by", "right"),
        ("95 %", "right"),
        ("visits", "right"),
        ("experiments", "right"),
        title=f"{printable(line.line)} in {printable(line.class_name)}",
    )
    for point in line.points:
        table.add_row(
            f"{point.virtual_speedup_pct} %",
            percent_text(point.program_speedup_pct),
            _ends(point.low_pct, point.high_pct),
            str(point.visits),
            str(point.experiments),
        )
    return table


def suggestions_table(points: Sequence[ProgressPoint]) -> Table:
    """Return candidates for progress points."""
    table = make_table(("progress point", "left"), ("visits", "right"), ("per second", "right"), title="Methods to use")
    for point in sorted(points, key=lambda each: -each.hits)[:CANDIDATES]:
        table.add_row(Text(printable(point.where or point.name)), str(point.hits), significant(point.hits_per_s))
    return table
