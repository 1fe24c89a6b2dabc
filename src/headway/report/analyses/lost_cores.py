"""`headway why` as an analysis of the seam: where the cores went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.model.machine_limits import MAX_CORES
from headway.report.analysis import BaseAnalysis, View, Window
from headway.report.commands import summary_of

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.lost_cores.types import Why
    from headway.analyses.overview import Overview
    from headway.store import Recording


class WhyAnalysis(BaseAnalysis):
    """Accounts for cores x wall time, by cause and place."""

    name = "why"
    summary = summary_of(name)
    help = """Tell where the cores went: cores x wall time, accounted for.

    What the application, GC, JIT, VM and headway used, the host stole, and other processes had; the rest is lost, and every lost
    core has a cause: one thread alone, a lock, imbalance, a slow queue, pauses, sleep, I/O, too few tasks, the scheduler, a
    quota ... with its place, and a bound of the speedup if it vanished. Causes that the recording can't tell are called so.
    """
    examples = (
        "headway why app.headway",
        "headway why app.headway --from 2s --to 50%",
        "headway why app.headway --phase 2 --json",
        "headway why app.headway --cores 16",
    )

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --cores and --phase."""
        cores = click.Option(
            ["--cores"],
            type=click.IntRange(1, MAX_CORES),
            metavar="N",
            help="Account for N cores instead of those that the program could use.",
        )
        phase = click.Option(["--phase"], type=click.IntRange(1), metavar="K", help="One of the phases by itself.")
        return cores, phase

    def run(self, recording: Recording, window: Window, **options: Any) -> Why:
        """Return the account. Raises HeadwayError as `analyses.lost_cores.analysis.why`."""
        from headway.analyses.lost_cores.analysis import why
        from headway.analyses.whatif.predicted_gains import PredictedGains

        return why(recording, window=window, gains=PredictedGains(recording), **options)

    def to_json(self, result: Why) -> dict[str, Any]:
        """Return the stable form of an account."""
        from headway.report.json.lost_cores import why_json

        return why_json(result)

    def render(self, result: Why, console: Console, name: str) -> None:
        """Print the sentence, the causes, their evidence and the phases."""
        from headway.report.terminal.lost_cores import render_why

        render_why(result, console, name)

    def view(self, recording: Recording, found: Overview) -> View:
        """Return the account, phases, bins over time, the bottle graph and the critical path."""
        from headway.report.html.lost_cores import why_view

        return why_view(recording, found)


WHY = WhyAnalysis()
