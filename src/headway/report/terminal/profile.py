"""Profiles on the terminal: what there is in all, then methods by their own weight, then the call tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from headway.analyses.common.units import duration, percent, significant
from headway.analyses.stacks.tree import flat_rows, heaviest
from headway.analyses.stacks.types import BYTES, NANOSECONDS, FlatRow, Profile
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.tables import make_table
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

TOP = 25
"""Rows of a table unless all are asked for."""
SMALLEST = 0.01
"""Share of the total below which a node of the tree is left out, unless all are asked for."""
TREE_ROWS = 60
_DEEPEST = 24
_LEAST_WIDTH = 80
_FIGURES_WIDTH = 30
"""What the figures of a method take, and their gaps."""
_SHARES_WIDTH = 14
"""What the shares of a call take, and their gaps."""


def render_top(found: Profile, console: Console, show_tree: bool = False, show_all: bool = False) -> None:
    """Print the totals, the flat profile, the call tree if asked for, and what weakens the figures."""
    print_line(console, summary(found), bullet="*")
    rows = flat_rows(found.tree, found.frames)
    shown = rows if show_all else rows[:TOP]
    print_table(console, flat_table(shown, found, console.width))
    if len(shown) < len(rows):
        console.print(f"{len(rows) - len(shown)} more methods: --all")
    if show_tree:
        nodes, left = tree_rows(found, show_all, console.width)
        print_table(console, tree_table(nodes))
        if left:
            console.print(f"{left} more calls: --all")
    print_notices(console, found.notices)


def summary(found: Profile) -> str:
    """Return what the profile holds in all, in one sentence."""
    what = "interval" if found.event in ("lock", "off-cpu") else "sample"
    threads = counted(len(found.threads), "thread")
    first = found.threads[0]
    text = f"{found.event}: {weight(found.total, found.unit)} in {counted(found.samples, what)} of {threads}"
    if len(found.threads) > 1:
        text += f", most in {first.name} ({_share(first.weight, found)})"
    else:
        text += f" ({first.name})"
    if found.unwalked:
        text += f"; {_share(found.unwalked, found)} of it has no stack"
    if found.unsampled:
        text += f"; {_share(found.unsampled, found)} of it has no sample"
    return f"{text}."


def _share(value: int, found: Profile) -> str:
    """Return a weight as a part of all: samples of threads that ran for less than the clock tells weigh nothing."""
    return percent(value / found.total if found.total else 0.0)


def weight(value: int, unit: str) -> str:
    """Return a weight for people."""
    if unit == NANOSECONDS:
        return duration(value)
    sizes = ("B", "kB", "MB", "GB", "TB") if unit == BYTES else ("", "k", "M", "G", "T")
    number = float(value)
    for size in sizes:
        if float(f"{number:.3g}") < 1000 or size == sizes[-1]:
            return f"{significant(number)} {size}".rstrip()
        number /= 1000
    raise AssertionError("the last unit fits all")


def flat_table(rows: list[FlatRow], found: Profile, width: int = 80) -> Table:
    """Methods with their own weight and that of all they call; their names take what of `width` the figures leave."""
    room = max(width, _LEAST_WIDTH) - _FIGURES_WIDTH
    table = make_table(
        *(("self", "right"), ("", "right"), ("total", "right"), ("", "right"), ("method", "left")),
        title="Methods",
    )
    table.padding = (0, 1, 0, 0)
    for row in rows:
        table.add_row(
            weight(row.self_weight, found.unit),
            _share(row.self_weight, found),
            weight(row.total_weight, found.unit),
            _share(row.total_weight, found),
            Text(short(printable(row.frame.text), room)),
        )
    return table


def short(name: str, width: int) -> str:
    """Keep the end of a long name, where class and method stand; of words in brackets, which name no method, the begin."""
    if len(name) <= width:
        return name
    return f"{name[: width - 2]}…)" if name.startswith("(") else "…" + name[1 - width :]


def tree_rows(found: Profile, show_all: bool, width: int = 80) -> tuple[list[tuple[str, str, str]], int]:
    """Return (total, self, indented frame) per call, and how many calls are left out.

    Calls are indented only where their caller has another call in the list: stacks of Java are too deep for each level
    to have a column of its own.
    """
    tree = found.tree
    least = 0 if show_all else found.total * SMALLEST
    largest = heaviest(tree, len(tree) if show_all else TREE_ROWS)
    shown = largest[tree.total_weight[largest] >= least].tolist()
    rows = []
    for n, indent in _indents(found, shown):
        total, own = int(tree.total_weight[n]), int(tree.self_weight[n])
        room = max(width, _LEAST_WIDTH) - _SHARES_WIDTH - min(indent, _DEEPEST)
        name = short(printable(found.frames[int(tree.frame[n])].text), room)
        rows.append((_share(total, found), _share(own, found), " " * min(indent, _DEEPEST) + name))
    return rows, len(tree) - len(shown)


def _indents(found: Profile, shown: list[int]) -> Iterator[tuple[int, int]]:
    siblings: dict[int, int] = {}
    for n in shown:
        parent = int(found.tree.parent[n])
        siblings[parent] = siblings.get(parent, 0) + 1
    indent = {-1: 0}
    for n in shown:
        parent = int(found.tree.parent[n])
        indent[n] = indent[parent] + (siblings[parent] > 1 and parent >= 0)
        yield n, indent[n]


def tree_table(rows: list[tuple[str, str, str]]) -> Table:
    """The call tree."""
    table = make_table(("total", "right"), ("self", "right"), ("called", "left"), title="Call tree")
    table.padding = (0, 1, 0, 0)
    for total, own, name in rows:
        table.add_row(total, own, Text(name))
    return table
