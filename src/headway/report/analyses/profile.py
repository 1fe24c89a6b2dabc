"""`headway top` as an analysis of the seam: the methods where an event happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Shown, View, Window
from headway.report.commands import summary_of
from headway.report.selection import selected, selection_parameters

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.overview import Overview
    from headway.analyses.stacks.types import Profile
    from headway.store import Recording


class TopAnalysis(BaseAnalysis):
    """Weighs methods by themselves and with all that they call, of samples, waits or blocked time."""

    name = "top"
    summary = summary_of(name)
    help = """Tell which methods an event happens in: by themselves (self), and with all that they call (total).

    cpu, wall, alloc and hardware events are samples. lock and off-cpu are no samples
    but every contended wait, and every blocked interval, by the kernel's record.
    """
    examples = (
        "headway top app.headway",
        "headway top app.headway --event off-cpu --thread 'worker-.*' --tree",
        "headway top app.headway --busiest-thread --from 20% --to 80%",
        "headway top app.headway --region 'KMeans\\.(assign|tally)' --json",
    )

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return what selects stacks, and how rows are made."""
        busiest = "Only the thread that used most CPU time."
        return (
            *selection_parameters(),
            click.Option(["--busiest-thread", "busiest"], is_flag=True, help=busiest),
            click.Option(["--tree", "show_tree"], is_flag=True, help="The call tree, too."),
            click.Option(["--lines", "by_line"], is_flag=True, help="By source line instead of by method."),
            click.Option(["--all", "show_all"], is_flag=True, help="All rows."),
        )

    def run(self, recording: Recording, window: Window, **options: Any) -> Shown[Profile]:
        """Return the profile. Raises click.BadParameter for a pattern, HeadwayError as `analyses.profile.analysis.profile`."""
        show_all, show_tree = options.pop("show_all"), options.pop("show_tree")
        return Shown(selected(recording, window, **options), show_all, show_tree)

    def to_json(self, result: Shown[Profile]) -> dict[str, Any]:
        """Return the stable form of a profile."""
        from headway.report.json.profile import profile_json

        return profile_json(result.answer, with_tree=result.show_tree, whole=result.show_all)

    def render(self, result: Shown[Profile], console: Console, name: str) -> None:
        """Print the totals, the flat profile, and the call tree if asked for."""
        from headway.report.terminal.profile import render_top

        render_top(result.answer, console, result.show_tree, result.show_all)

    def view(self, recording: Recording, found: Overview) -> View:
        """Return flame graphs of all events that have stacks."""
        from headway.report.html.profile import flame_view

        return flame_view(recording)


TOP = TopAnalysis()
