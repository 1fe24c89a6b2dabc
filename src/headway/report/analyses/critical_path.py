"""`headway critical-path` as an analysis of the seam: what the program's end was waiting for, at each instant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import RegexType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.critical_path.types import CriticalPath
    from headway.store import Recording


class CriticalPathAnalysis(BaseAnalysis):
    """Follows the program backwards from its end: from who waited to who was waited for."""

    name = "critical-path"
    summary = summary_of(name)
    help = """Tell which threads, methods and locks the end of the program waited for.

    The path goes backwards from the end: where a thread ran, it is on it; where
    it waited, what the thread did that ended the wait. Its length is that of the
    window. Locks are named where the recording has them (--locks), methods where
    it has samples (--sample cpu). A wait for a file, a disk or the network (io)
    is shown as such: the path does not go on to who sends what arrives.
    """
    examples = (
        "headway critical-path app.headway",
        "headway critical-path app.headway --from 2s --to 50%",
        "headway critical-path app.headway --thread 'request-7$' --json",
    )

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --thread."""
        text = "End in a thread whose name it is found in."
        return (click.Option(["--thread"], type=RegexType(), metavar="REGEX", help=text),)

    def run(self, recording: Recording, window: Window, **options: Any) -> CriticalPath:
        """Return the path. Raises HeadwayError as `analyses.critical_path.analysis.critical_path`."""
        from headway.analyses.critical_path.analysis import critical_path

        return critical_path(recording, window=window, **options)

    def to_json(self, result: CriticalPath) -> dict[str, Any]:
        """Return the stable form of a path."""
        from headway.report.json.critical_path import critical_path_json

        return critical_path_json(result)

    def render(self, result: CriticalPath, console: Console, name: str) -> None:
        """Print what the path is made of."""
        from headway.report.terminal.critical_path import render

        render(result, console)


CRITICAL_PATH = CriticalPathAnalysis()
