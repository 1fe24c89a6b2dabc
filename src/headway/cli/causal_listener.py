"""Output of `headway causal`: warnings and progress while experiments run, then their results."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headway.cli import options
from headway.cli.recording import Progress, say, tell
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.causal.progress_points import Suggestion
    from headway.record.collect.listener import Listener
    from headway.store import Recording

SHOWN_SUGGESTIONS = 15
SHOWN_SAME = 3


class CausalListener:
    """Listener of a causal recording: prints each message once, progress on terminals, and the results at the end."""

    def __init__(self, as_json: bool) -> None:
        """Take `as_json`: whether results go to standard output as JSON."""
        self._as_json = as_json
        self._reported: set[str] = set()
        self._is_terminal = sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
        self.code = 0
        """What the exit code is if the program's is 0: 1 when there are no results."""

    @property
    def callbacks(self) -> Listener:
        """Return the callbacks in the form that recordings take."""
        from headway.record.collect.listener import Listener

        return Listener(
            say=self._say,
            failed=self._say,
            complete=self._complete,
            progress=Progress(),
            status=self._status,
            tell=lambda text: tell(f"headway: {text}"),
        )

    def _say(self, notice: Notice) -> None:
        from headway.record.causal.messages import key

        if key(notice) not in self._reported:
            self._reported.add(key(notice))
            say(notice)

    def _status(self, text: str) -> None:
        if self._is_terminal:
            tell(f"headway: {text}")

    def _complete(self, directory: Path) -> None:
        """Show the results. Errors are printed, not raised: the recording is complete."""
        from headway.store import open_recording

        try:
            with contextlib.closing(open_recording(directory)) as recording:
                for each in recording.notices:
                    self._say(each)
                if recording.manifest.tables["causal_run"].rows:
                    with contextlib.suppress(BrokenPipeError):
                        show_results(recording, as_json=self._as_json, on_error=not self._as_json)
        except HeadwayError as error:
            self.code = 1
            self._say(error.notice)
        except Exception as error:
            self.code = 1
            say(Notice.of("HW508", path=directory, reason=f"{type(error).__name__}: {error}"))
        tell(f"headway: recording {directory}   (results: headway causal {directory}; headway report {directory})")


def show_results(recording: Recording, *, line: str | None = None, as_json: bool, on_error: bool = False) -> None:
    """Print the results of a causal recording, on standard error if `on_error`.

    Raises HeadwayError as analyses.causal does.
    """
    from headway.report.terminal import make_console

    asked = recording.manifest.extra.get("causal") or {}
    console = make_console(sys.stderr if on_error else None)
    if asked.get("mode") == "suggest":
        _show_suggestions(recording, console, as_json)
        return
    from headway.analyses.causal.analysis import causal

    result = causal(recording, line=line)
    if as_json:
        from headway.report.json.causal import causal_json

        options.print_json(causal_json(result))
    else:
        from headway.report.terminal.causal import render_causal

        render_causal(result, console, str(recording.path))


def _show_suggestions(recording: Recording, console: Console, as_json: bool) -> None:
    from headway.analyses.causal.progress_points import nothing_to_suggest, suggestions

    found = suggestions(recording)
    if as_json:
        options.print_json({"suggestions": [each.as_json() for each in found]})
    elif not found:
        say(nothing_to_suggest(()))
    else:
        _print_suggestions(found, console, recording.path)


def _print_suggestions(found: list[Suggestion], console: Console, path: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    from headway.analyses.causal.progress_points import STEADY, equally_frequent
    from headway.report.terminal.printing.text import printable

    console.print("Methods that may be progress points: take one that is called once per unit of work.")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("calls/s", "calls", "varies"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    table.add_column(Text("method"), overflow="fold")
    for each in found[:SHOWN_SUGGESTIONS]:
        varies = "?" if each.variation is None else f"{each.variation * 100:.0f} %"
        cells = (f"{each.hits_per_s:,.1f}", f"{each.hits:,}", varies, printable(each.where))
        table.add_row(*map(Text, cells))
    console.print(table)
    if len(found) > SHOWN_SUGGESTIONS:
        console.print(
            f"{len(found) - SHOWN_SUGGESTIONS} more: headway causal {shlex.quote(str(path))} --json", soft_wrap=True
        )
    if same := equally_frequent(found):
        names = ", ".join(printable(each.where) for each in same[:SHOWN_SAME]) + (
            ", ..." if len(same) > SHOWN_SAME else ""
        )
        console.print(
            f"Called as often as {printable(found[0].where)}: {names}. Each of them counts the same units; one is enough.",
            soft_wrap=True,
        )
    best = found[0].variation
    if best is None:
        console.print(
            "The program ran too short to tell which of them are steady: a progress point has to be.", soft_wrap=True
        )
        console.print(
            "next: headway causal --suggest -- CMD   (a longer run), or headway causal --end-to-end -- CMD",
            soft_wrap=True,
        )
        return
    if best > STEADY:
        text = (
            f"None is steady: the first varies by {best * 100:.0f} % from second to second, so experiments need longer."
        )
        console.print(text, soft_wrap=True)
    console.print(f"next: headway causal {found[0].option} ...", soft_wrap=True)
