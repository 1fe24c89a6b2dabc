"""Captures the output of a sweep's programs in files of the run, and timestamps lines when a marker is looked for.

Without a marker the program writes straight into its files. With one its standard output and error are pipes that a thread
reads at once (record/program/line_reader.py).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType

from headway.record.program.line_reader import LineReader
from headway.record.series.sweep_lines import LineTimes
from headway.store.directory import remove_within
from headway.store.files import open_appended, open_ordinary


class Streams:
    """The standard streams of one run. Use as a context manager; `fds` are for the child process.

    `marker_ns` is, after the context, when the first line that matches came (CLOCK_MONOTONIC); None: it did not. `lines` notes
    when all lines came.
    """

    def __init__(self, stem: Path, stdin: str | None, marker: str | None, lines: LineTimes | None = None) -> None:
        """Name the files STEM.out and STEM.err; nothing is opened yet."""
        self._stem, self._stdin, self._lines = stem, stdin, lines
        self._pattern = re.compile(marker.encode()) if marker is not None else None
        self._reader: LineReader | None = None
        self._opened: list[int] = []
        self.fds = (0, 1, 2)
        self.marker_ns: int | None = None

    def __enter__(self) -> Streams:
        """Open everything. Raises OSError."""
        stdin = self._open(self._stdin or os.devnull, os.O_RDONLY)
        out, err = (self._create_appended(f"{self._stem.name}.{end}") for end in ("out", "err"))
        if self._pattern is None and self._lines is None:
            self.fds = (stdin, out, err)
            return self
        self._reader = LineReader([out, err], self._look)
        self.fds = (stdin, self._reader.inputs[0], self._reader.inputs[1])
        self._reader.start_without_signals()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Read what is left in the pipes, and close everything: the program has ended."""
        if self._reader is not None:
            self._reader.stop()
        for fd in self._opened:
            os.close(fd)

    def _look(self, lines: list[bytes], now_ns: int) -> bool:
        if self._lines is not None:
            self._lines.add(lines, now_ns)
        if self._pattern is not None and self.marker_ns is None and any(map(self._pattern.search, lines)):
            self.marker_ns = now_ns
        return self._lines is not None or self.marker_ns is None

    def _open(self, path: str, flags: int) -> int:
        fd = os.open(path, flags | os.O_CLOEXEC)
        self._opened.append(fd)
        return fd

    def _create_appended(self, name: str) -> int:
        remove_within(self._stem.parent, name)
        fd = open_appended(self._stem.parent, name)
        self._opened.append(fd)
        return fd


def last_lines(stem: Path, count: int = 5) -> list[str]:
    """Return the last lines of a run's standard error, or of its output where that is empty."""
    for end in ("err", "out"):
        path = stem.with_name(f"{stem.name}.{end}")
        try:
            with open(open_ordinary(path), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
                lines = file.read().decode(errors="backslashreplace").splitlines()
        except OSError:
            continue
        if lines:
            return lines[-count:]
    return []
