"""Times at which a run's output lines arrive, by kind: lines that differ only in numbers are alike (`iteration 7: 0.31 s`).

What comes after the same work in every run is a line of the program's own; no clock could tell that (docs/how-to/speedups.md).
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from headway.store.files import parse_json, read_bytes, write_text

LEAST = 12
"""Kinds with fewer lines are forgotten: too few to see a trend in them."""
_MOST_LINES = 20_000
"""After so many a program's lines are counted no more: it writes data, and reading it would cost more than it tells."""
_MOST_KINDS = 1000
_LINE_BYTES = 200
_FIGURES = re.compile(rb"\b(?:0x)?[0-9a-fA-F]{8,}\b|[-+]?\d+(?:[.,:]\d+)*(?:[eE][-+]?\d+)?")


class LineTimes:
    """The times (CLOCK_MONOTONIC ns) of each kind of line, in order of time."""

    def __init__(self) -> None:
        """Start without any lines."""
        self._times: dict[bytes, list[int]] = {}
        self._count = 0

    def add(self, lines: list[bytes], now_ns: int) -> None:
        """Add lines that have just arrived."""
        for line in lines:
            self._count += 1
            if self._count > _MOST_LINES:
                self._times.clear()
                return
            kind = _FIGURES.sub(b"#", line[:_LINE_BYTES]).strip()
            if kind in self._times or len(self._times) < _MOST_KINDS:
                self._times.setdefault(kind, []).append(now_ns)

    def write(self, path: Path, start_ns: int) -> None:
        """Write the kinds with at least LEAST lines as times since `start_ns`; write no file when there is none."""
        kept = {
            kind.decode("utf-8", "backslashreplace"): [ns - start_ns for ns in times]
            for kind, times in self._times.items()
            if len(times) >= LEAST
        }
        if kept:
            write_text(path.parent, path.name, json.dumps(kept))


def read_lines(path: Path) -> dict[str, list[int]]:
    """Read what `write` wrote; an empty result when the file is missing or another one."""
    try:
        data = parse_json(read_bytes(path))
        return {str(kind): [int(ns) for ns in times] for kind, times in data.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
