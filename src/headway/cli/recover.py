"""`headway recover`: make the tables of a recording whose recorder died."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.record import announce
from headway.cli.recording import Progress


@click.command(
    short_help="Finalise a recording whose recorder died.",
    epilog="""\b
Examples:
  headway recover app.headway
""",
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
def command(directory: Path) -> int:
    """Finalise a recording whose recorder died, or whose finalising was stopped."""
    from headway.record.finalise.recover import recover
    from headway.record.session.finish import explained_failures

    with explained_failures(directory):
        recover(directory, progress=Progress())
    announce(directory, "recovered")
    return 0
