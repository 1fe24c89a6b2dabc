"""What a sweep's programs write: into files of the run, and, when a marker is looked for, when it came.

Without a marker the program writes straight into its files. With one its standard output and error are pipes that a thread
here reads at once, so a line's time is that of its arrival: later than the program's writing it by what the reader needs to
get a CPU (tens of microseconds; milliseconds where all CPUs are busy). A program that buffers its output prints late; Java's
System.out.println does not buffer.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import threading
import time
from pathlib import Path
from types import TracebackType

from headway.record.sweep_lines import LineTimes

_PIPE_BYTES = 1 << 20
_LONGEST_LINE = 1 << 16
_F_SETPIPE_SZ = 1031


class Streams:
    """The standard streams of one run. Use as a context manager; `fds` are for the child.

    `marker_ns` is, after the context, when the first line that matches came (CLOCK_MONOTONIC); None: it did not. `lines` notes
    when all lines came.
    """

    def __init__(self, stem: Path, stdin: str | None, marker: str | None, lines: LineTimes | None = None) -> None:
        """Name the files STEM.out and STEM.err; nothing is opened yet."""
        self._stem, self._stdin, self._lines = stem, stdin, lines
        self._pattern = re.compile(marker.encode()) if marker is not None else None
        self._reader: _Reader | None = None
        self._opened: list[int] = []
        self.fds = (0, 1, 2)
        self.marker_ns: int | None = None

    def __enter__(self) -> Streams:
        """Open everything. Raises OSError."""
        stdin = self._open(self._stdin or os.devnull, os.O_RDONLY)
        out, err = (self._open(f"{self._stem}.{end}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for end in ("out", "err"))
        if self._pattern is None and self._lines is None:
            self.fds = (stdin, out, err)
            return self
        self._reader = _Reader(self._pattern, self._lines, [out, err])
        self.fds = (stdin, self._reader.inputs[0], self._reader.inputs[1])
        self._reader.start_without_signals()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take what is still in the pipes, and close everything: the program has ended."""
        if self._reader is not None:
            self._reader.stop()
            self.marker_ns = self._reader.marker_ns
        for fd in self._opened:
            os.close(fd)

    def _open(self, path: str, flags: int) -> int:
        fd = os.open(path, flags | os.O_CLOEXEC, 0o666)
        self._opened.append(fd)
        return fd


class _Reader(threading.Thread):
    """Copies two pipes into two files and notes when the first line with the marker was complete, or when each was."""

    def __init__(self, pattern: re.Pattern[bytes] | None, lines: LineTimes | None, files: list[int]) -> None:
        super().__init__(name="headway-output", daemon=True)
        pipes = [os.pipe() for _ in files]
        for reading, _ in pipes:
            os.set_blocking(reading, False)
            _widen(reading)
        self.inputs = tuple(writing for _, writing in pipes)
        self.marker_ns: int | None = None
        self._pattern, self._lines = pattern, lines
        self._files = {reading: file for (reading, _), file in zip(pipes, files, strict=True)}
        self._rests = dict.fromkeys(self._files, b"")
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def start_without_signals(self) -> None:
        """Start with every signal held back: those that end headway are for its main thread."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self) -> None:
        """End it once the pipes are empty; a process that lives on and writes later finds them closed."""
        os.eventfd_write(self._wake, 1)
        self.join()
        for fd in (*self._files, *self.inputs, self._wake):
            os.close(fd)

    def run(self) -> None:
        """Read until stopped, then what is left."""
        poller = select.poll()
        for fd in (*self._files, self._wake):
            poller.register(fd, select.POLLIN)
        stopping = False
        while not stopping:
            stopping = any(fd == self._wake for fd, _ in poller.poll())
            for fd in self._files:
                self._drain(fd)

    def _drain(self, fd: int) -> None:
        while True:
            try:
                data = os.read(fd, _LONGEST_LINE)
            except BlockingIOError:
                return
            now_ns = time.monotonic_ns()
            if not data:
                return
            if self._lines is not None or self.marker_ns is None:
                self._look(fd, data, now_ns)
            _write_all(self._files[fd], data)

    def _look(self, fd: int, data: bytes, now_ns: int) -> None:
        *lines, rest = (self._rests[fd] + data).split(b"\n")
        self._rests[fd] = rest[-_LONGEST_LINE:]
        if self._lines is not None:
            self._lines.add(lines, now_ns)
        if self._pattern is not None and self.marker_ns is None and any(map(self._pattern.search, lines)):
            self.marker_ns = now_ns


def _widen(fd: int) -> None:
    """Give the pipe more room, so that the program waits less for its reader."""
    with contextlib.suppress(OSError):  # /proc/sys/fs/pipe-max-size is lower
        fcntl.fcntl(fd, _F_SETPIPE_SZ, _PIPE_BYTES)


def _write_all(fd: int, data: bytes) -> None:
    """Write, or give up: a full disk must not keep the program from writing on."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(fd, data) :]


def last_lines(stem: Path, count: int = 5) -> list[str]:
    """Return the last lines of a run's standard error, or of its output where that is empty."""
    for end in ("err", "out"):
        path = stem.with_name(f"{stem.name}.{end}")
        try:
            with open(path, "rb") as file:
                file.seek(max(0, path.stat().st_size - 8192))
                lines = file.read().decode(errors="backslashreplace").splitlines()
        except OSError:
            continue
        if lines:
            return lines[-count:]
    return []
