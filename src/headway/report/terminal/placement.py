"""`headway place --simulate` and `--show` on the terminal: programs under each policy, and what was recorded of placing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.placement.analysis import assumptions
from headway.analyses.placement.machine import Machine
from headway.analyses.placement.types import ONE
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.tables import UNKNOWN, make_table, time_text
from headway.report.terminal.printing.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from headway.analyses.placement.records import PlacedProgram
    from headway.analyses.placement.types import Simulation

MOST_SPELLS = 100
"""Of a program, and as many notes on it."""
MOST_PROGRAMS = 20
"""A file may have a hundred thousand of them, which would take minutes as tables."""


def render_placement(found: Sequence[Simulation], seeds: int, console: Console) -> None:
    """Print what each policy comes to, then its programs, then what the model assumes."""
    programs = counted(len(found[0].programs), "program")
    console.print(
        f"{programs} on a simulated machine of two nodes, {counted(seeds, 'run')} each; speeds over all nodes always"
    )
    for each in found:
        text = (
            f"{each.policy}: {each.geometric_mean:.3f}x in the geometric mean (best fixed placement {each.best_fixed:.3f}x), "
            f"worst {each.worst:.3f}x, in the median {each.median_of_best:.3f} of the best fixed placement"
        )
        print_line(console, text, bullet="*")
    heads = [head for each in found for head in (each.policy, "moves")]
    table = make_table(("program", "left"), ("best", "right"), title="Speed and moves by policy")
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for rows in zip(*(each.programs for each in found), strict=True):
        cells = [cell for row in rows for cell in (f"{row.speedup:.2f}x", f"{row.migrations:.0f}")]
        table.add_row(printable(rows[0].application), f"{rows[0].best_fixed:.2f}x", *cells)
    print_table(console, table)
    console.print()
    console.print("What the model assumes", style="bold")
    for text in assumptions(Machine()):
        print_line(console, text, bullet="*")


def render_placed(found: Sequence[PlacedProgram], console: Console) -> None:
    """Print each program that was placed, of many the last ones: when it was where, why, and what came of it."""
    if len(found) > MOST_PROGRAMS:
        earlier = counted(len(found) - MOST_PROGRAMS, "program")
        console.print(f"the last {MOST_PROGRAMS} programs of {len(found)}; {earlier} before them: --json")
    for each in found[-MOST_PROGRAMS:]:
        _render_program(each, console)


def _render_program(each: PlacedProgram, console: Console) -> None:
    ended = "its records stop" if each.ended is None else printable(each.ended)
    share = each.on_one_share
    on_one = "" if share is None else f", {100 * share:.0f} % of the time on node {each.home}"
    length = time_text(each.end_ns - each.start_ns)
    text = f"process {each.pid}, placed for {length}: {counted(each.moves, 'move')}{on_one}; end: {ended}"
    console.print(text)
    table = make_table(
        ("at", "right"), ("placement", "left"), ("why", "left"), ("threads", "right"), ("speed", "right"),
        title="Placements; speeds are relative to the time before",
    )  # fmt: skip
    for spell in each.spells[:MOST_SPELLS]:
        where = f"node {each.home}" if spell.placement == ONE else "all nodes"
        speed = UNKNOWN if spell.speed is None else f"{spell.speed:.3f}x"
        at = time_text(spell.start_ns - each.start_ns)
        table.add_row(at, where, printable(spell.why), str(spell.threads_moved), speed)
    print_table(console, table)
    if len(each.spells) > MOST_SPELLS:
        console.print(f"{len(each.spells) - MOST_SPELLS} more: --json")
    for at_ns, text in each.notes[:MOST_SPELLS]:
        print_line(console, f"{time_text(at_ns - each.start_ns)}: {printable(text)}", bullet="*")
    if len(each.notes) > MOST_SPELLS:
        console.print(f"{counted(len(each.notes) - MOST_SPELLS, 'note')} more: --json")
