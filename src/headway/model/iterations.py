"""What tells the iterations of a program apart: explicit collections, calls of a method, or lines that it prints."""

from __future__ import annotations

import re
from dataclasses import dataclass

GC, METHOD, MARKER = "gc", "method", "marker"
FORMS = "gc, method=REGEX or marker=TEXT"
LONGEST = 1000
"""Of a pattern or of a text, in characters."""


@dataclass(frozen=True, slots=True)
class IterationMarks:
    """By what iterations are told apart. `text`: the pattern of a method, or what a line holds; empty for collections."""

    by: str
    text: str = ""

    def __str__(self) -> str:
        """Return it as it is given on the command line."""
        return f"{self.by}={self.text}" if self.text else self.by


def parse_marks(text: str) -> IterationMarks:
    """Return what `--iterations TEXT` asks for. Raises ValueError with what is wrong."""
    by, equals, rest = text.partition("=")
    if by == GC and not equals:
        return IterationMarks(GC)
    if by not in (METHOD, MARKER) or not rest.strip():
        raise ValueError(f"{text[:60]!r} is none of {FORMS}")
    if len(rest) > LONGEST:
        raise ValueError(f"{by}= has {len(rest)} characters, where {LONGEST} are the most")
    if by == METHOD:
        try:
            re.compile(rest)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{rest[:60]!r} is no regular expression: {error}") from None
    return IterationMarks(by, rest)
