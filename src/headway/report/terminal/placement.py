"""`headway place --simulate` on the terminal: each program under each policy, beside the best fixed placement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.placement.analysis import assumptions
from headway.analyses.placement.machine import Machine
from headway.errors.plurals import counted
from headway.report.terminal.console import print_line, print_table
from headway.report.terminal.tables import make_table
from headway.report.terminal.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from headway.analyses.placement.types import Simulation


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
