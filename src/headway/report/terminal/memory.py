"""Prints the answer of `headway memory`: figures beside the published ones, then what is not known, and what would tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.report.analyses.memory_texts import gap_texts, head_sentences, tables
from headway.report.terminal.printing.console import print_line, print_table
from headway.report.terminal.printing.notices import print_notices
from headway.report.terminal.printing.sections import rich_table

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.memory.types import MemoryAnswer


def render_memory(result: MemoryAnswer, console: Console) -> None:
    """Print all figures; a command that several gaps have in common once."""
    for sentence in head_sentences(result):
        print_line(console, sentence, bullet="*")
    for table in tables(result):
        print_table(console, rich_table(table))
    console.print()
    last = ""
    gaps = gap_texts(result)
    for number, (text, remedy) in enumerate(gaps):
        print_line(console, text, bullet="?")
        last = remedy
        if last and (number + 1 == len(gaps) or gaps[number + 1][1] != last):
            console.print(f"  -> {last}", soft_wrap=True)
    print_notices(console, result.notices)
