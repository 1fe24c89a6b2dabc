"""The report's section "What if": wall times over cores and the best changes, as sentences and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent
from headway.errors.plurals import counted
from headway.report.section import Section, Table
from headway.report.terminal.lock_names import without_package
from headway.report.terminal.whatif_account import change_text, limit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headway.analyses.whatif.grid import Grid
    from headway.analyses.whatif.types import Predicted, UnchangedRun
    from headway.report.section import Cell

TITLE = "What if"


def whatif_section(found: Grid | None) -> Section | None:
    """Return the section; None where nothing is to be said."""
    if found is None:
        return None
    sentences = [] if found.idleness is None else [found.idleness.sentence]
    sentences += [] if found.unchanged is None else [_replayed(found.unchanged)]
    if found.reason is not None:
        reason = f"Nothing is predicted: {found.reason.message} ({found.reason.id}). Next: {found.reason.remedy}"
        return Section(TITLE, (*sentences, reason))
    changes = [change_text(each, each.cores) for each in found.changes]
    if changes:
        sentences.append(
            f"The best of {counted(found.tried, 'change')} and pairs that were tried: {'; '.join(changes)}."
        )
    else:
        sentences.append(
            f"None of {counted(found.tried, 'change')} that were tried shortens the run on the recorded cores."
        )
    sentences.append(
        "Each time is the prediction, and in brackets the interval that it lies in. It replays who waited for whom, on a machine "
        "that runs nothing else; 'Wall time on other numbers of cores' goes by how many threads were active at a time alone: the "
        "two predict the same run in two ways, with different intervals."
    )
    columns = ("change", *(counted(cores, "core") for cores, _ in found.rows))
    tables = (
        Table("Wall time on a machine that runs nothing else", columns, _rows(found, changes, _time)),
        Table("What limits the run next", columns, _rows(found, changes, _limit)),
    )
    return Section(TITLE, tuple(sentences), tables)


def _rows(found: Grid, changes: Sequence[str], text: Callable[[Predicted], Cell]) -> tuple[tuple[Cell, ...], ...]:
    """Return a row for the unchanged run and for each change, with a cell for each number of cores."""
    names = ("unchanged", *changes)
    return tuple((name, *(text(cells[i]) for _, cells in found.rows)) for i, name in enumerate(names))


def _replayed(each: UnchangedRun) -> str:
    measured = f"The run took {duration(each.measured_ns)} on {counted(each.recorded_cores, 'core')}"
    if each.replayed_ns is None or each.error is None:
        return f"{measured}; its replay comes to no end."
    return f"{measured}; its replay takes {duration(each.replayed_ns)}, {percent(abs(each.error))} off."


def _time(each: Predicted) -> str:
    return f"{duration(each.wall_ns)} ({duration(each.low_ns)} to {duration(each.high_ns)})"


def _limit(each: Predicted) -> str:
    place = f": {without_package(each.next_place)}" if each.next_place else ""
    return f"{limit_of(each)}{place}"
