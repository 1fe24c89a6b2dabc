"""Reads other tools' text files line by line in bounded memory: a hostile file may be one endless line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from headway.errors import HeadwayError

MOST_LINE = 1 << 22
"""Characters of a line: 4096 frames of the longest names that a JVM takes are less."""


def lines_of(path: Path, file: IO[str]) -> Iterator[str]:
    """Yield the lines of a text file. Raises HeadwayError HW314 for one that is longer than any tool writes."""
    number = 0
    while line := file.readline(MOST_LINE + 1):
        number += 1
        if len(line) > MOST_LINE:
            raise HeadwayError("HW314", path=path, line=number, reason=f"it is longer than {MOST_LINE:,} characters")
        yield line
