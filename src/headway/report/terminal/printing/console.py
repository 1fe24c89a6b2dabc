"""The console of the terminal report, and how its lines and tables are printed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING

from headway.errors.plurals import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from headway.analyses.scheduling.walltime import Prediction


def make_console(file: IO[str] | None = None) -> Console:
    """Return a console for reports: colour only on a terminal, 80 columns when the output is no terminal.

    Markup is off, because names of the recorded program are printed as they are; whatever of them got here with controls in
    it is spelled out (who lays out a table does so before, so that its columns fit). Printing raises BrokenPipeError when the
    reader has left.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from headway.report.terminal.printing.text import printable_lines

    class PlainConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            # Styles and moves of the cursor are not in the text of a segment: rich adds them later.
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else printable_lines(segment.text)
                yield segment if text == segment.text else Segment(text, segment.style, segment.control)

        def on_broken_pipe(self) -> None:
            # Rich's own gives standard output away and exits with 1, in the midst of what the caller has yet to do.
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    return PlainConsole(file=file, markup=False, highlight=False, emoji=False, soft_wrap=False)


def print_table(console: Console, table: Table) -> None:
    """Print a table with a line before it."""
    from headway.report.terminal.printing.fitted import fit

    console.print()
    fit(table, console)
    console.print(table, crop=False)


def print_line(console: Console, text: str, bullet: str) -> None:
    """Print a paragraph with a hanging bullet, wrapped at the console's width."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from headway.report.terminal.printing.text import printable

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row(Text(bullet), Text(printable(text)))
    console.print(Padding(grid, (0, 0, 0, 0)))


def print_withholding_reasons(console: Console, predictions: Sequence[Prediction]) -> None:
    """Print, for each number of cores whose wall time is not predicted, why not."""
    for each in predictions:
        if each.withheld:
            print_line(console, f"{counted(each.cores, 'core')}: withheld, because {each.withheld}.", bullet="!")
