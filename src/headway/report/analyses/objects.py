"""`headway objects` as an analysis of the seam: who allocates what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.analyses.common.units import percent
from headway.report.analysis import BaseAnalysis, Section, Shown, Table, Window
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from headway.analyses.objects.types import AllocationGroup, ObjectsAnswer, Quantity
    from headway.report.section import Cell
    from headway.store import Recording

TOP = 30
"""Rows on the terminal and in the report unless all are asked for."""
_GROUPINGS = ("class", "thread", "site", "thread-class")
_MEASURES = ("bytes", "objects", "array-length")


class ObjectsAnalysis(BaseAnalysis):
    """Tells who allocates what."""

    name = "objects"
    summary = summary_of(name)
    help = """Tell who allocates what: objects, bytes, arrays and their lengths, by class, thread or site.

    For recordings made with --objects allocations. Counted is what was really allocated: what the
    JIT compiler removed is not there. Figures from samples (--objects allocations=512k) have 95 %
    intervals. A site is the innermost Java method, and its line.
    """
    examples = (
        "headway record --objects allocations -o app.headway -- java -jar app.jar",
        "headway objects app.headway",
        "headway objects app.headway --by thread-class --sort objects",
        "headway objects app.headway --json",
    )
    has_window = False
    section_needs = "allocation"

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --by, --sort and --all."""
        return (
            click.Option(
                ["--by"],
                type=click.Choice(_GROUPINGS),
                default="class",
                show_default=True,
                help="What rows are told apart by; thread-class: each class of each thread.",
            ),
            click.Option(
                ["--sort"],
                type=click.Choice(_MEASURES),
                default="bytes",
                show_default=True,
                help="The largest of what comes first.",
            ),
            click.Option(["--all", "show_all"], is_flag=True, help=f"List all rows, not only the first {TOP}."),
        )

    def run(self, recording: Recording, window: Window, **options: Any) -> Shown[ObjectsAnswer]:
        """Return what was allocated. Raises HeadwayError HW800, HW801."""
        from headway.analyses.objects.analysis import objects

        answer = objects(recording, options.get("by", "class"), options.get("sort", "bytes"))
        return Shown(answer, bool(options.get("show_all")))

    def to_json(self, result: Shown[ObjectsAnswer]) -> dict[str, Any]:
        """Return the stable form of all groups."""
        from headway.report.json.objects import objects_json

        return objects_json(result.answer)

    def section(self, result: Shown[ObjectsAnswer]) -> Section:
        """Return the totals as sentences and the largest groups as a table."""
        found = result.answer
        shown = found.groups if result.show_all else found.groups[:TOP]
        head = (*_columns(found), "objects", "bytes", "share", "arrays", "array length")
        rows = tuple(_row(found, group) for group in shown)
        left = len(found.groups) - len(shown)
        more = f" ({len(shown)} of {len(found.groups)}: --all)" if left else ""
        table = Table(f"Allocations by {found.by.replace('-', ' and ')}{more}", head, rows)
        return Section("Objects", tuple(_sentences(found)), (table,) if rows else (), found.notices)


def _sentences(found: ObjectsAnswer) -> list[str]:
    total = found.total
    text = f"The program allocated {_text(total.objects)} objects of {_text(total.bytes)} bytes in all"
    if total.arrays.value:
        text += f"; {_text(total.arrays)} of them are arrays, of {_text(total.array_length)} elements"
    unknown = [f"{name} of {percent(share)}" for name, share in found.unknown.items() if share]
    return [f"{text}.", *([f"Not known: the {', the '.join(unknown)} of the objects."] if unknown else [])]


def _text(quantity: Quantity) -> str:
    """Return a figure as people read it, with its interval where it has one."""
    if quantity.low == quantity.high:
        return f"{quantity.value:,}"
    if not quantity.value:
        return f"at most {quantity.high:,}"  # no sample is of any
    return f"about {quantity.value:,} ({quantity.low:,} to {quantity.high:,})"


def _columns(found: ObjectsAnswer) -> tuple[str, ...]:
    several = len({group.pid for group in found.groups}) > 1
    parts = {"class": ("class",), "thread": ("thread",), "site": ("site",), "thread-class": ("thread", "class")}
    return (*(("process",) if several else ()), *parts[found.by])


def _row(found: ObjectsAnswer, group: AllocationGroup) -> tuple[Cell, ...]:
    names: dict[str, Cell] = {
        "process": str(group.pid),
        "thread": group.thread or ("(many threads)" if group.java_id == -1 else "(unknown)"),
        "class": group.class_name or "(many classes)",
        "site": group.site or "(unknown)",
    }
    allocated = group.allocated
    share = allocated.bytes.value / found.total.bytes.value if found.total.bytes.value else None
    return (
        *(names[column] for column in _columns(found)),
        _cell(allocated.objects),
        _cell(allocated.bytes),
        None if share is None else percent(share),
        _cell(allocated.arrays),
        _cell(allocated.array_length),
    )


def _cell(quantity: Quantity) -> Cell:
    """Return a figure for a table; with an interval, plus and minus the larger half of it."""
    if quantity.low == quantity.high:
        return quantity.value
    if not quantity.value:
        return _text(quantity)
    return f"{quantity.value} ±{max(quantity.high - quantity.value, quantity.value - quantity.low)}"


OBJECTS = ObjectsAnalysis()
