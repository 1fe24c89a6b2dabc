"""The table and the sentences of accesses that were counted in windows, for `headway objects` and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import percent
from headway.analyses.objects.matrix import name_of_no_thread
from headway.analyses.objects.window_types import WHY_UNKNOWN
from headway.report.analysis import Table

if TYPE_CHECKING:
    from headway.analyses.objects.types import Grouping
    from headway.analyses.objects.window_types import WindowAnswer, WindowFigure, WindowGroup
    from headway.report.section import Cell

_NAMES = {"class": ("class",), "thread": ("thread",), "thread-class": ("thread", "class")}
_HEAD = ("counted in windows", "field reads", "writes", "element reads", "writes", "static")
_DIGITS = 4
"""Of a figure with an interval: what lies behind them is not known."""


def window_names(found: WindowAnswer, by: Grouping) -> tuple[str, ...]:
    """Return the first columns of the table, which are names."""
    several = len({group.pid for group in found.groups}) > 1
    return (*(("process",) if several else ()), *_NAMES.get(by, ()))


def window_sentences(found: WindowAnswer | None) -> list[str]:
    """Return how often the program read and wrote, as far as it is known, and what windows cost."""
    if found is None:
        return []
    total = found.total
    sentences = [
        "The program's code accessed fields of objects and array elements "
        f"{_text(total.of_objects)} times: estimated from {found.windows} windows, which counted "
        f"{total.of_objects.counted:,}."
        if total.of_objects.value is not None
        else f"In {found.windows} windows the program's code accessed fields of objects and array elements "
        f"{total.of_objects.counted:,} times; how often in all is not known."
    ]
    if found.unknown_share:
        sentences.append(
            f"Threads with {percent(found.unknown_share)} of the CPU time are not in the estimates: of them only what windows "
            "counted is known."
        )
    if found.slower_in_windows is not None and found.overhead is not None:
        sentences.append(
            f"In windows threads took {found.slower_in_windows:.1f} times as much CPU time for their work; over the whole run "
            f"that is {found.overhead:.2f} times, and what it takes to compile the program again comes on top."
        )
    return sentences


def window_table(found: WindowAnswer, by: Grouping, top: int | None) -> Table:
    """Return the groups with the most accesses."""
    shown = found.groups[:top]
    why = by != "class" and any(group.why_unknown for group in shown)
    rows = tuple((*_row(found, group, by), *((_why(group),) if why else ())) for group in shown)
    more = f" ({len(rows)} of {len(found.groups)}: --all)" if rows and len(found.groups) > len(rows) else ""
    how = "counted in windows" if found.unknown_share == 1 else "estimated"
    return Table(
        f"Reads and writes by {by.replace('-', ' and ')}, {how}{more}",
        (*window_names(found, by), *_HEAD, *(("not known because of",) if why else ())),
        rows,
    )


def _row(found: WindowAnswer, group: WindowGroup, by: Grouping) -> tuple[Cell, ...]:
    names: dict[str, Cell] = {
        "process": str(group.pid),
        "thread": group.thread or name_of_no_thread(group.java_id),
        "class": group.class_name or "(many classes)",
    }
    figures = group.figures
    kinds = (figures.tuple_reads, figures.tuple_writes, figures.array_reads, figures.array_writes)
    statics = figures.static_reads.counted + figures.static_writes.counted
    return (
        *(names[column] for column in window_names(found, by)),
        figures.of_objects.counted,
        *(_text(each) for each in kinds),
        f"{statics:,} counted" if statics else "-",
    )


def _why(group: WindowGroup) -> str:
    return "-" if group.why_unknown is None else WHY_UNKNOWN[group.why_unknown]


def _text(figure: WindowFigure) -> str:
    """Return a figure as people read it, with its interval; what is not known is said to be at least what was counted."""
    if figure.value is None or figure.low is None or figure.high is None:
        return f"{figure.counted:,} or more" if figure.counted else "-"
    if figure.low == figure.high:
        return f"{figure.value:,}"
    return f"{_short(figure.value)} ({_short(figure.low)} to {_short(figure.high)})"


def _short(count: int) -> str:
    """Return a number with as many digits as are known of it."""
    lost = max(0, len(str(count)) - _DIGITS)
    return f"{round(count, -lost):,}"
