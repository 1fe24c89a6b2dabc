"""The seam for importers: what reads another tool's file and writes a recording of it.

`headway import` asks every importer in the order of `bring_in.IMPORTERS` whether it takes the file, by its name and its first
bytes. The first that does writes the recording's tables and its manifest into an empty directory, which bring_in.py makes, and
keeps or removes. A new one is a module here with a class that has these members, and an entry in IMPORTERS.

A recording of a file says in its manifest `"mode": "import"` and under `import` what it was made of: `file`, `source` (what
wrote it, for people), `clock` and `window` (None where the file has no times). Files may be hostile: memory is bounded whatever
they hold, values are checked before they reach a table, what can't be read makes the recording `partial` with a notice, and
what is no such file at all is refused (HW313, with a reason).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What is known of a file before it is read: its first bytes, and whether it was compressed with gzip."""

    path: Path
    head: bytes
    is_gzip: bool


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the user says of a file. `event` and `interval_ns` are what collapsed stacks count, and what a count stands for.

    What looks like a secret is masked unless `keep_arguments`. `progress` is told the share that is done, 0 to 1.
    """

    event: str = "samples"
    interval_ns: int | None = None
    keep_arguments: bool = False
    progress: Callable[[float], None] = lambda share: None


class Importer(Protocol):
    """A kind of file that becomes a recording."""

    @property
    def name(self) -> str:
        """Return a word for it."""

    @property
    def file_type(self) -> str:
        """Return what such a file is, and how it is known, for people."""

    def takes(self, file: SourceFile) -> bool:
        """Return whether a file is of this kind, without reading more of it."""

    def write(self, source: Path, directory: Path, options: ImportOptions) -> None:
        """Write the recording of a file into a directory.

        Raises HeadwayError HW310 to HW315 for what can't be read, and OSError when a table can't be written.
        """
