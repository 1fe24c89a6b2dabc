"""`headway doctor`: which recording mode this machine gives, what is lost in it, and the command that would lift it."""

from __future__ import annotations

import click

from headway.cli import out
from headway.cli.options import json_option, print_json


@click.command(
    epilog="""\b
Examples:
  headway doctor
  headway doctor --json
"""
)
@json_option
def command(as_json: bool) -> None:
    """Try what recording needs, say what this machine allows and how to allow more.

    Nothing is changed. The exit code is 0 in a lesser mode too.
    """
    from headway.record.counters.usable import events_here
    from headway.record.doctor.capabilities import choose_mode, mode_notices, probe, upgrade_command

    capabilities = probe()
    mode = choose_mode(capabilities)
    findings = {
        "mode": mode,
        "checks": [check.as_json() for check in capabilities.checks],
        "lost": [notice.as_json() for notice in mode_notices(mode, capabilities)],
        "way_up": upgrade_command(capabilities),
        "counters": events_here() if capabilities.check("native").ok else {},
    }
    if as_json:
        print_json(findings)
        return
    from headway.report.terminal.doctor import render

    out.echo(render(findings))
