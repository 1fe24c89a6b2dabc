"""Signal handling while a program is recorded: signals that headway gets are caught and passed on.

The program shares headway's process group, so what the terminal sends (Ctrl-C, Ctrl-\\, a hang-up) or somebody sends to
the group reaches both at once: headway takes note and waits for the program to end. What somebody sends to headway's pid
alone (`kill PID`) is passed on, since whoever sends it means the program; group_signals.py tells the two apart. Job control
needs nothing: both stop, both go on.

Linux tells the terminal's signals by siginfo's si_code, which Python's handlers do not see; a signalfd shows it, and can be
polled together with the program's pidfd, so nothing is lost between two system calls.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
from dataclasses import dataclass
from types import TracebackType

# Signals that end or disturb a process by default and that people send to it. The job-control signals, SIGWINCH and
# SIGCHLD keep their default: they do not end us.
_TAKEN = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
# Asks headway to end; the other two are only passed on (a JVM prints a thread dump at SIGQUIT and lives).
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})

_SIGINFO = struct.Struct("=IiiI112x")  # struct signalfd_siginfo: ssi_signo, ssi_errno, ssi_code, ssi_pid, ...
_SI_KERNEL = 0x80  # the terminal driver's signals


@dataclass(frozen=True, slots=True)
class Arrival:
    """A signal that headway got. `from_terminal`: the program got it as well."""

    number: signal.Signals
    from_terminal: bool
    sender_pid: int


class SignalGate:
    """Blocks the signals above while open and returns them by `take`. Use as a context manager.

    They are held back in the threads that libraries start meanwhile too, and such threads outlive the work they were started
    for; so the gate stays shut until all is done, the tables too. One that is opened in between leaves threads behind that
    get a later Ctrl-C in its stead.

    Signals that were ignored when headway began (nohup, a background job of a script) stay ignored, for the program as
    well. `restore_in_child` gives a forked child the dispositions and the mask that headway itself was started with.
    Where there is no such program, `attached`, SIGINT ends headway even so: a script that starts a recorder in the background
    has no other use for `kill -INT`. (A blocked signal that is ignored still arrives.)
    """

    def __init__(self, *, attached: bool = False) -> None:
        """Choose the signals; nothing is blocked before `__enter__`."""
        chosen = {number for number in _TAKEN if signal.getsignal(number) is not signal.SIG_IGN}
        self.taken = frozenset(chosen | {signal.SIGINT} if attached else chosen)
        self._old_mask: set[signal.Signals] = set()
        self._fd = -1
        self._has_request = False

    def __enter__(self) -> SignalGate:
        """Block the signals in this thread and in those it starts."""
        self._old_mask = {signal.Signals(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, self.taken)}
        self._fd = _signalfd(self.taken)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restore the previous state."""
        os.close(self._fd)
        self._fd = -1
        signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)

    def fileno(self) -> int:
        """Return a descriptor that is readable when a signal is pending."""
        return self._fd

    def take(self) -> list[Arrival]:
        """Return the signals that arrived since the last call, without blocking."""
        arrivals = []
        with contextlib.suppress(BlockingIOError):
            while raw := os.read(self._fd, _SIGINFO.size):
                number, _, code, sender = _SIGINFO.unpack(raw)
                arrivals.append(Arrival(signal.Signals(number), code == _SI_KERNEL, sender))
        return arrivals

    def wants_end(self) -> bool:
        """Return whether SIGINT or SIGTERM arrived since the last `take`, or a request was kept; other signals are dropped.

        For the time after the program's end. A hang-up is nothing then: the terminal that goes away sends several, and there
        is a recording to finish.
        """
        kept, self._has_request = self._has_request, False
        return any(arrival.number in (signal.SIGINT, signal.SIGTERM) for arrival in self.take()) or kept

    def keep_request(self) -> None:
        """Let the next `wants_end` return True: who took a request to end has not ended for it."""
        self._has_request = True

    def restore_in_child(self) -> None:
        """Undo in a forked child what Python and this gate changed, so that exec passes on the original state."""
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these at start-up
            signal.signal(number, signal.SIG_DFL)
        for number in self.taken:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._old_mask)


def _signalfd(numbers: frozenset[signal.Signals]) -> int:
    """Return a non-blocking, close-on-exec signalfd; Python has no call for it.

    sigset_t is 1024 bits in glibc and musl, signal n at bit n-1 of little-endian words.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    mask = sum(1 << (number - 1) for number in numbers).to_bytes(128, "little")
    fd: int = libc.signalfd(-1, mask, os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    return fd
