"""What `headway run` prints about a recording: the account of the cores, findings, tables, then what weakens the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.errors.message import ONCE
from headway.report.terminal.printing.console import print_line
from headway.report.terminal.printing.notices import print_notices

if TYPE_CHECKING:
    from rich.console import Console

    from headway.analyses.overview import Overview
    from headway.store import Recording

IN_THE_ACCOUNT = ("cores", "lost_most", "serial", "locks")
"""Findings that the account of the cores says better."""


def render_overview(recording: Recording, console: Console, found: Overview | None = None) -> Overview:
    """Print what `headway run` shows when the program has ended, and return the findings that it shows.

    `found`: its overview, by those who have made it already. Raises HeadwayError as `analyses.overview.overview` does.
    """
    from headway.analyses.overview import overview
    from headway.report.registry import analysis, own_analyses

    found = overview(recording) if found is None else found
    if found.why is not None:
        from headway.report.terminal.lost_cores import render_account

        render_account(found.why.account, console)
        console.print()
    for finding in found.findings:
        if found.why is None or finding.id not in IN_THE_ACCOUNT:
            print_line(console, finding.text, bullet="*")
    for plugin in own_analyses():
        analysis(plugin).print_in_overview(found, console)
    print_notices(console, found.notices, also=(ONCE,))
    return found
