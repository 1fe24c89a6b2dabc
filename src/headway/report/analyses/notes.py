"""`headway notes` as an analysis of the seam: everything that weakens a recording's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.report.analysis import BaseAnalysis, Window
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from headway.errors import Notice
    from headway.store import Recording


class NotesAnalysis(BaseAnalysis):
    """The analysis `notes`: all messages of a recording and of `why` about it, none of them folded."""

    name = "notes"
    summary = summary_of(name)
    help = """Tell everything that weakens a recording's figures, and what to do about it.

    Other commands print what changes the answer, and name the rest in one line.
    """
    examples = ("headway notes app.headway", "headway notes app.headway --json")
    has_window = False

    def run(self, recording: Recording, window: Window, **options: Any) -> tuple[Notice, ...]:
        """Return the messages, each once. Raises HeadwayError as `analyses.overview.overview`."""
        from headway.analyses.overview import overview

        return tuple(dict.fromkeys((*recording.notices, *overview(recording).notices)))

    def to_json(self, result: tuple[Notice, ...]) -> list[dict[str, str]]:
        """Return every message with its severity."""
        from headway.report.json.notes import notes_json

        return notes_json(result)

    def render(self, result: tuple[Notice, ...], console: Console, name: str) -> None:
        """Print the warnings, then notes."""
        from headway.report.terminal.printing.notices import render_notes

        render_notes(result, console)


NOTES = NotesAnalysis()
