"""`headway objects` as an analysis of the seam: who allocates what, and who reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.analyses.common.units import percent, size
from headway.analyses.objects.matrix import name_of_no_thread
from headway.model.object_owners import OWNER_RULES
from headway.report.analyses.object_heat import heat_map
from headway.report.analyses.object_lines import line_names, line_sentences, line_table
from headway.report.analyses.object_nodes import between_table, node_cells, node_columns, node_sentences
from headway.report.analyses.object_owners import matrix_table, owner_cells, owner_columns, owner_sentences, pair_table
from headway.report.analyses.object_windows import window_sentences, window_table
from headway.report.analysis import BaseAnalysis, Section, Shown, Table, Window
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.objects.types import (
        AccessAnswer,
        AccessGroup,
        Allocated,
        AllocationGroup,
        Grouping,
        ObjectsAnswer,
        Quantity,
    )
    from headway.report.section import Cell
    from headway.store import Recording

TOP = 30
"""Rows on the terminal and in the report unless all are asked for."""
_GROUPINGS = ("class", "thread", "site", "thread-class", "pair", "field", "node")
_ATTACHED = "HW802"
_WITH_SITES = "headway record --objects allocations,sites -o NAME.headway -- CMD"
_MEASURES = ("bytes", "objects", "array-length")


class ObjectsAnalysis(BaseAnalysis):
    """The analysis `objects`: who allocates what, and who reads and writes."""

    name = "objects"
    summary = summary_of(name)
    help = """Tell who allocates what: objects, bytes, arrays and their lengths, by class, thread or site; who reads and writes.

    For recordings made with --objects allocations or --objects accesses. Counted is what was really allocated: what the
    JIT compiler removed is not there. Counting every object slows down what
    allocates much: a sample does not. Figures from samples (--objects allocations=512k) have 95 %
    intervals. A site is the innermost Java method, and its line.
    Accesses are reads and writes of fields and array elements, by the class whose code makes them; with --objects
    accesses,owners also by the thread that allocated the object; record has more rules (--owner). With --objects
    accesses,lines also which fields and elements threads write in turn, and which only share a cache line (false sharing). With
    --objects accesses,nodes also which share of them goes to memory of another node (NUMA), by samples.
    """
    examples = (
        "headway record --objects allocations -o app.headway -- java -jar app.jar",
        "headway objects app.headway",
        "headway objects app.headway --by thread-class --sort objects",
        "headway objects app.headway --json",
        "headway record --objects accesses,owners -o app.headway -- java -jar app.jar",
        "headway objects app.headway --matrix",
        "headway record --objects accesses --owner last-writer -- java -jar app.jar",
        "headway record --objects accesses,lines -o app.headway -- java -jar app.jar",
        "headway objects app.headway --by field",
        "headway record --objects accesses,nodes -o app.headway -- java -jar app.jar",
        "headway objects app.headway --by node",
        "headway record --objects accesses --windows 300ms/60s -- java Main",
    )
    has_window = False
    section_needs = ("allocation", "access", "access_window")

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --by, --matrix, --owner, --sort and --all."""
        return (
            click.Option(
                ["--by"],
                type=click.Choice(_GROUPINGS),
                default="class",
                show_default=True,
                help="What rows are told apart by; thread-class: each class of each thread; pair: thread and owner; field: "
                "those that threads write in turn on one cache line; node: memory nodes.",
            ),
            click.Option(
                ["--matrix"],
                is_flag=True,
                help="Show which thread reads and writes whose objects; the same as --by pair.",
            ),
            click.Option(
                ["--owner"],
                type=click.Choice(OWNER_RULES),
                help="Whose an object is, of the rules that were recorded: the thread's that allocated it, or that wrote to it "
                "last. By default the first of these.",
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
        """Return what was allocated, read and written. Raises HeadwayError HW800, HW801, HW840."""
        from headway.analyses.objects.analysis import objects

        by: Grouping = "pair" if options.get("matrix") else options.get("by", "class")
        answer = objects(recording, by, options.get("sort", "bytes"), options.get("owner"))
        return Shown(answer, bool(options.get("show_all")))

    def to_json(self, result: Shown[ObjectsAnswer]) -> dict[str, Any]:
        """Return the stable form of all groups."""
        from headway.report.json.objects import objects_json
        from headway.report.json.text import Mapped

        return objects_json(result.answer, Mapped)

    def section(self, result: Shown[ObjectsAnswer]) -> Section:
        """Return totals as sentences, and a table each of the largest groups of allocations and of accesses."""
        found, top = result.answer, None if result.show_all else TOP
        tables = [_allocation_table(found, found.total, top)] if found.total is not None else []
        if found.accesses is not None and found.by == "pair":
            tables += [matrix_table(found.accesses, top), pair_table(found.accesses, top)]
        elif found.accesses is not None:
            tables.append(_access_table(found, found.accesses, top))
        if found.accesses is not None and found.by in ("class", "node"):
            tables.append(between_table(found.accesses))
        if found.lines is not None and found.by in ("class", "field"):
            tables.append(line_table(found.lines, top))
        if found.windows is not None and found.by in ("class", "thread", "thread-class"):
            tables.append(window_table(found.windows, found.by, top))
        shown = tuple(each for each in tables if each.rows)
        return Section("Objects", tuple(_sentences(found)), shown, found.notices, heat_map=heat_map(found.accesses))

    def render(self, result: Shown[ObjectsAnswer], console: Console, name: str) -> None:
        """Print the section, with names that are shortened to the width of the terminal."""
        from headway.report.terminal.objects import render_objects

        names = len(name_columns(result.answer))
        render_objects(self.section(result), lambda table: line_names(table) or names, console)


def _lacks_sites(found: ObjectsAnswer) -> bool:
    return found.by == "site" and not found.has_sites


def _allocation_table(found: ObjectsAnswer, total: Allocated, top: int | None) -> Table:
    """Return the largest groups; no rows by site where sites were not recorded."""
    head = (*name_columns(found), "objects", "size", "share", "arrays", "elements")
    shown = () if _lacks_sites(found) else found.groups[:top]
    rows = tuple(_row(found, total, group) for group in shown)
    return Table(f"Allocations by {_by(found)}{_more(len(found.groups), len(rows))}", head, rows)


def _access_table(found: ObjectsAnswer, accessed: AccessAnswer, top: int | None) -> Table:
    """Return the groups with the most accesses; there are none by site."""
    kinds = (
        "share",
        "field reads",
        "writes",
        "element reads",
        "writes",
        "static",
        *owner_columns(accessed),
        *node_columns(accessed),
    )
    rows = tuple(_access_row(found, accessed, group) for group in accessed.groups[:top])
    title = f"Reads and writes by {_by(found)}{_more(len(accessed.groups), len(rows))}"
    return Table(title, (*name_columns(found), *kinds), rows)


def _by(found: ObjectsAnswer) -> str:
    return found.by.replace("-", " and ")


def _more(groups: int, shown: int) -> str:
    return f" ({shown} of {groups}: --all)" if shown and groups > shown else ""


def _sentences(found: ObjectsAnswer) -> list[str]:
    sentences = [] if found.total is None else _allocation_sentences(found, found.total)
    sentences += window_sentences(found.windows)
    if found.accesses is None:
        return sentences
    total = found.accesses.total
    reads, writes = total.tuple_reads + total.array_reads, total.tuple_writes + total.array_writes
    statics = total.static_reads + total.static_writes
    sentences.append(
        f"The program's code read fields and array elements {reads:,} times and wrote them {writes:,} times; "
        f"static fields, which are no object's, {statics:,} times."
    )
    if found.accesses.is_all_local:
        sentences.append("The machine has one memory node: all of them are local.")
    sentences += node_sentences(found.accesses)
    sentences += owner_sentences(found.accesses)
    if found.by == "site":
        sentences.append("Accesses are recorded by thread and class, not by site: --by class")
    return sentences + line_sentences(found.lines)


def _allocation_sentences(found: ObjectsAnswer, total: Allocated) -> list[str]:
    is_late = any(notice.id == _ATTACHED for notice in found.notices)
    if is_late and not total.objects.high:
        return [
            "No allocation was seen. Of each thread the first megabyte or more after headway attached is not seen: whether the "
            "program allocated is not known."
        ]
    text = f"The program allocated {_text(total.objects)} objects of {_size(total.bytes)} in all"
    if is_late:
        text = f"Seen since headway attached are {_text(total.objects)} objects of {_size(total.bytes)}"
    if total.arrays.value:
        text += f"; {_text(total.arrays)} of them are arrays, of {_text(total.array_length)} elements"
    unknown = [f"{name} of {percent(share)}" for name, share in found.unknown.items() if share]
    sites = [f"Sites were not recorded. They are by: {_WITH_SITES}"] if _lacks_sites(found) else []
    return [f"{text}.", *([f"Not known: the {', the '.join(unknown)} of the objects."] if unknown else []), *sites]


def _text(quantity: Quantity) -> str:
    """Return a figure as people read it, with its interval where it has one."""
    if quantity.low == quantity.high:
        return f"{quantity.value:,}"
    if not quantity.value:
        return f"at most {quantity.high:,}"  # no sample is of any
    return f"about {quantity.value:,} ({quantity.low:,} to {quantity.high:,})"


def _size(quantity: Quantity) -> str:
    """Return a number of bytes as people read it, with its interval where it has one."""
    if quantity.low == quantity.high:
        return size(quantity.value)
    if not quantity.value:
        return f"at most {size(quantity.high)}"
    return f"about {size(quantity.value)} ({size(quantity.low)} to {size(quantity.high)})"


def name_columns(found: ObjectsAnswer) -> tuple[str, ...]:
    """Return the first columns of the tables, which are names."""
    of_accesses = () if found.accesses is None else found.accesses.groups
    in_windows = () if found.windows is None else found.windows.groups
    pids = {group.pid for group in found.groups} | {group.pid for group in of_accesses}
    pids |= {group.pid for group in in_windows}
    several = len(pids) > 1
    parts = {"class": ("class",), "thread": ("thread",), "site": ("site",), "thread-class": ("thread", "class")}
    parts["pair"] = ("thread",)
    parts["field"] = ("field",)
    parts["node"] = ("node",)
    return (*(("process",) if several else ()), *parts[found.by])


def _names(found: ObjectsAnswer, group: AllocationGroup | AccessGroup) -> tuple[Cell, ...]:
    names: dict[str, Cell] = {
        "process": str(group.pid),
        "thread": group.thread or name_of_no_thread(group.java_id),
        "class": group.class_name or "(many classes)",
        "site": getattr(group, "site", None) or "(unknown)",
    }
    return tuple(names[column] for column in name_columns(found))


def _row(found: ObjectsAnswer, total: Allocated, group: AllocationGroup) -> tuple[Cell, ...]:
    allocated = group.allocated
    share = allocated.bytes.value / total.bytes.value if total.bytes.value else None
    return (
        *_names(found, group),
        _cell(allocated.objects),
        _size_cell(allocated.bytes),
        None if share is None else percent(share),
        _cell(allocated.arrays),
        _cell(allocated.array_length),
    )


def _access_row(found: ObjectsAnswer, all_of: AccessAnswer, group: AccessGroup) -> tuple[Cell, ...]:
    accessed, total = group.accessed, all_of.total
    share = accessed.of_objects / total.of_objects if total.of_objects else None
    return (
        *_names(found, group),
        None if share is None else percent(share),
        accessed.tuple_reads,
        accessed.tuple_writes,
        accessed.array_reads,
        accessed.array_writes,
        accessed.static_reads + accessed.static_writes,
        *owner_cells(group),
        *node_cells(all_of, group),
    )


def _cell(quantity: Quantity) -> Cell:
    """Return a number for a table; with an interval, plus and minus the larger half of it."""
    if quantity.low == quantity.high:
        return quantity.value
    if not quantity.value:
        return _text(quantity)
    return f"{quantity.value} ±{max(quantity.high - quantity.value, quantity.value - quantity.low)}"


def _size_cell(quantity: Quantity) -> str:
    """Return bytes for a table, as `_cell` returns a number."""
    if quantity.low == quantity.high or not quantity.value:
        return _size(quantity)
    return f"{size(quantity.value)} ±{size(max(quantity.high - quantity.value, quantity.value - quantity.low))}"


OBJECTS = ObjectsAnalysis()
