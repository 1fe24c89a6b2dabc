"""The seam for exporters: what a format of another tool must give so that `headway export --format NAME` writes it.

Those of headway are in formats.py; a package of anybody else's adds its own by an entry point of the group
`headway.exporters` (docs/how-to/add-an-analysis.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile
    from headway.store import Recording

Needs: TypeAlias = Literal["recording", "profile", "experiments", "tables"]
"""What a format is made of: what the kernel and the JVM did; stacks of one event (--event, --thread, --region, --from and --to
select them); a causal recording's experiments; the tables of any recording."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is exported. `profile(by_thread=..., by_line=...)` gives the stacks that were selected, merged as asked.

    `table` and `raw_text` are the options of csv.
    """

    recording: Recording
    profile: Callable[..., Profile]
    table: str | None = None
    raw_text: bool = False


class Exporter(Protocol):
    """A format that a recording can be written in."""

    @property
    def name(self) -> str:
        """Return what --format calls it: lower case."""

    @property
    def suffix(self) -> str:
        """Return what the name of its files ends in, with the dot."""

    @property
    def summary(self) -> str:
        """Return a phrase that says what is written, and for which tool."""

    @property
    def needs(self) -> Needs:
        """Return what it is made of."""

    def write(self, source: Source, path: Path | str, *, overwrite: bool = False) -> Path:
        """Write the file and return its path; use `headway.report.output.new_file`, so that it appears whole or not at all.

        Raises HeadwayError HW500 (it exists, unless `overwrite`), HW501 (it can't be written), and what the recording lacks.
        """
