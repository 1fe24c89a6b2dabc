"""Which notices of a result are printed, and how: one that changes what to believe or do in full, the rest in one line.

A notice's level is the column `severity` of the table of messages (errors/message.py): warnings are always printed; what
belongs to the recording is printed in full by the command that made it, and by `headway notes`; notes are folded, except
where the command is about just them. JSON has every notice of a result, whatever its level.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from headway.errors.message import NOTE, ONCE
from headway.errors.plurals import counted
from headway.report.terminal.printing.console import print_line

if TYPE_CHECKING:
    from rich.console import Console

    from headway.errors import Notice

ALL = (NOTE, ONCE)
"""For a command that folds nothing."""


def print_notices(console: Console, notices: Sequence[Notice], *, also: Collection[str] = ()) -> None:
    """Print the warnings, each with the next command; then notes of the levels `also` in the same way, the others in one line.

    A message has the same heading whichever command prints it.
    """
    notices = tuple(dict.fromkeys(notices))
    if not notices:
        return
    console.print()
    _print_in_full(console, "Warnings", [notice for notice in notices if notice.level not in ALL])
    _print_in_full(console, "Notes", [notice for notice in notices if notice.level in ALL and notice.level in also])
    folded = [notice for notice in notices if notice.level in ALL and notice.level not in also]
    if folded:
        console.print(folded_line(folded))


def _print_in_full(console: Console, title: str, notices: Sequence[Notice]) -> None:
    if notices:
        console.print(f"{title} (headway explain ID says more)", style="bold")
    for notice in notices:
        print_line(console, notice.message, bullet=notice.id)
        if notice.remedy:
            print_line(console, notice.remedy, bullet="  ->  ")


def folded_line(notices: Sequence[Notice]) -> str:
    """Return the one line that stands for notices: how many, which, and the command that prints them in full."""
    ids = list(dict.fromkeys(notice.id for notice in notices))
    return f"{counted(len(ids), 'note')}: {', '.join(ids)}   (in full: headway notes NAME.headway)"


def render_notes(found: Sequence[Notice], console: Console) -> None:
    """Print all messages in full: warnings, then what is folded elsewhere."""
    if not found:
        console.print("Nothing weakens the figures of this recording.")
        return
    print_notices(console, found, also=ALL)
