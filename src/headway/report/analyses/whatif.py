"""`headway whatif` as an analysis of the seam: how long it would take after a change, by replaying the recording."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.report.analysis import BaseAnalysis, Window
from headway.report.commands import summary_of
from headway.report.parameter_types import CoresType, FactorType

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.whatif.types import WhatIf
    from headway.store import Recording

_CORES = (1, 2, 4, 8, 16)


class WhatIfAnalysis(BaseAnalysis):
    """Replays a recording on other cores, beside another one, or with something faster."""

    name = "whatif"
    summary = summary_of(name)
    help = """Replay a recording as if something were different, and predict the wall time.

    The unchanged run is replayed first; if that differs from the run by more than 5 %, nothing is predicted. Predictions are
    for a machine that runs nothing else. Changes given together are made together."""
    examples = (
        "headway whatif app.headway --cores 1,2,4,8",
        "headway whatif app.headway --no-gc --clock 0.8",
        "headway whatif a.headway --together b.headway --cores 4 --json",
    )
    has_window = False

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return the changes that can be made."""
        cores = "Numbers of cores, such as 1,2,4,8; the recorded one where another change is asked for."
        return (
            click.Option(["--cores"], type=CoresType(), metavar="LIST", help=cores),
            click.Option(
                ["--together"],
                type=click.Path(path_type=Path),
                metavar="OTHER.headway",
                help="Both programs at once, each with threads as it had them: alone and together.",
            ),
            click.Option(
                ["--clock"], type=FactorType(), default=1.0, metavar="FACTOR", help="CPUs FACTOR times as fast."
            ),
            click.Option(
                ["--faster-io"], type=FactorType(), default=1.0, metavar="FACTOR", help="I/O FACTOR times as fast."
            ),
            click.Option(["--no-gc"], is_flag=True, help="As if nothing had to be collected."),
        )

    def run(self, recording: Recording, window: Window, **options: Any) -> WhatIf:
        """Return the predictions. Raises HeadwayError as `whatif` of analyses.whatif.analysis, and `open_recording`."""
        from headway.analyses.whatif.analysis import whatif
        from headway.analyses.whatif.types import Change
        from headway.store import open_recording

        change = Change(1, clock=options["clock"], io=options["faster_io"], has_gc=not options["no_gc"])
        recorded = recording.manifest.recorded_cores or 1
        cores = options["cores"] or (_CORES if change == Change(1) else (recorded,))
        if options["together"] is None:
            return whatif(recording, cores, change)
        with contextlib.closing(open_recording(options["together"])) as beside:
            return whatif(recording, options["cores"] or (recorded,), change, beside)

    def to_json(self, result: WhatIf) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.whatif import whatif_json

        return whatif_json(result)

    def render(self, result: WhatIf, console: Console, name: str) -> None:
        """Print how well the unchanged run was replayed, and the predictions."""
        from headway.report.terminal.whatif import render_whatif

        render_whatif(result, console)


WHATIF = WhatIfAnalysis()
