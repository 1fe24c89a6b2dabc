"""The only way from the command line to standard output and standard error: no text from outside gets there raw.

Names, paths, error texts of other processes and a foreign recording's own words may hold escape sequences that move the
cursor, set the clipboard or hide what stands beside them. `echo` spells them out, whoever put them there; the console of
report/terminal does the same. tests/security checks that nothing else in headway writes to a standard stream.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

import click

from headway.report.terminal.printing.text import printable_lines

if TYPE_CHECKING:
    from headway.errors import Notice
    from headway.store.manifest import StoredNotice

WIPE_LINE = "\r\x1b[K"
CLEAR_SCREEN = "\x1b[H\x1b[2J"
LINE_START = "\r"
_CONTROLS = (WIPE_LINE, CLEAR_SCREEN, LINE_START)


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Write a text; its line breaks are kept, all else that is not plainly visible is spelled out."""
    click.echo(printable_lines(str(text)), err=err, nl=nl)


def control(code: str, *, err: bool = False) -> None:
    """Write one of this module's own control sequences to a terminal."""
    assert code in _CONTROLS
    click.echo(code, err=err, nl=False)


def echo_notice(notice: Notice | StoredNotice, *, lead: str = "") -> None:
    """Write a message to standard error. Further lines (of DuckDB's reasons) are indented: none can pass for another message."""
    echo(f"{lead}{notice.id}: {notice.message.rstrip()}".replace("\n", "\n        "), err=True)


def show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print what Python would of an exception that nobody expected: its text may quote what another process wrote."""
    import traceback

    if sys.stderr is not None:
        echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)
