"""Reads what a program writes into pipes, passes it on as it is, and shows each line with the time at which it came.

A thread reads at once, so a line's time is that of its arrival: later than the program's writing it by what the reader needs to
get a CPU (tens of microseconds; milliseconds where all CPUs are busy). A program that buffers its output prints late; Java's
System.out.println does not buffer. Where nobody reads what is passed on any more, the program's pipe is closed as well: it
learns so by SIGPIPE, as it would without the reader.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence

LONGEST_LINE = 1 << 16
"""Of a line, so many last bytes are looked at."""
_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031
_LOOK_S = 0.05
_READS = _PIPE_BYTES // LONGEST_LINE + 1
"""In a row from one pipe: a process that writes without end, and outlives the program, is not waited for."""

Look = Callable[[list[bytes], int], bool]
"""Gets whole lines and when they came (CLOCK_MONOTONIC ns); returns whether it wants to see more."""


class LineReader(threading.Thread):
    """Thread that copies a pipe into each of some descriptors. `inputs`: what a program is to write to, in the same order."""

    def __init__(self, outputs: Sequence[int], look: Look, *, ends_with_disk: bool = False) -> None:
        """Make the pipes; the descriptors stay their owner's.

        `ends_with_disk`: where the disk is full, the program finds its pipe closed. Else it writes on, and that is lost.
        """
        super().__init__(name="headway-output", daemon=True)
        pipes = [os.pipe() for _ in outputs]
        for reading, _ in pipes:
            os.set_blocking(reading, False)
            _widen(reading)
        self.inputs = tuple(writing for _, writing in pipes)
        self._look = look
        self._is_looking = True
        self._ends_with_disk = ends_with_disk
        self.passed_bytes = 0
        """What has been passed on, or could not be."""
        self._outputs = {reading: output for (reading, _), output in zip(pipes, outputs, strict=True)}
        self._rests = dict.fromkeys(self._outputs, b"")
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def start_without_signals(self) -> None:
        """Start with all signals blocked: those that end headway belong to its main thread."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self, gives_up: Callable[[], bool] = lambda: False) -> None:
        """End the thread once the pipes are empty; a process that writes later finds them closed.

        `gives_up` is asked meanwhile: who is to read what is passed on may not, for ever. What is left is lost then, and the
        thread stays until headway ends.
        """
        os.eventfd_write(self._wake, 1)
        self.join(_LOOK_S)
        while self.is_alive():
            if gives_up():
                return
            self.join(_LOOK_S)
        for fd in (*self._outputs, *self.inputs, self._wake):
            os.close(fd)

    def run(self) -> None:
        """Read until stopped, then what is left."""
        poller = select.poll()
        for fd in (*self._outputs, self._wake):
            poller.register(fd, select.POLLIN)
        is_over = False
        while not is_over:
            is_over = any(fd == self._wake for fd, _ in poller.poll())
            for fd in [*self._outputs]:
                if not self._drain(fd):
                    poller.unregister(fd)
                    del self._outputs[fd]
                    os.close(fd)

    def _drain(self, fd: int) -> bool:
        """Pass on what is in a pipe, as much as fits into one at most; return False when nobody reads it any more."""
        for _ in range(_READS):
            try:
                data = os.read(fd, LONGEST_LINE)
            except BlockingIOError:
                return True
            now_ns = time.monotonic_ns()
            if not data:
                return True
            if self._is_looking:
                *lines, rest = (self._rests[fd] + data).split(b"\n")
                self._rests[fd] = rest[-LONGEST_LINE:]
                self._is_looking = self._look(lines, now_ns)
            try:
                _write_all(self._outputs[fd], data)
            except BrokenPipeError:
                return False
            except OSError:
                if self._ends_with_disk:
                    return False
            self.passed_bytes += len(data)
        return True


def _widen(fd: int) -> None:
    """Give the pipe more room, so that the program waits less for its reader."""
    with contextlib.suppress(OSError):  # /proc/sys/fs/pipe-max-size is lower
        fcntl.fcntl(fd, _F_SETPIPE_SZ, _PIPE_BYTES)


def _write_all(fd: int, data: bytes) -> None:
    """Write all. Raises OSError where it can't be written: the disk is full, or nobody reads it any more (BrokenPipeError)."""
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:  # a terminal that somebody else has told not to wait
            writable = select.poll()
            writable.register(fd, select.POLLOUT)
            writable.poll()
