"""Distinguishes signals sent to this process from signals sent to its whole process group.

The program is in headway's process group. What somebody sends to the group (a shell that hangs up, a script's `kill 0`, a CI
system that ends a job, a service manager that ends all of a service) the program has had already; passed on, it would come
twice. The signal itself does not tell: siginfo names the sender, not whom it was meant for. So a probe is in the group, a
child of headway that does nothing but hold all such signals back; what came to it came to all.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable

_WAIT_S = 0.02
"""The kernel gives a group's signal to one process after the other: the probe may get it after headway."""
_ANSWER_S = 1.0


class GroupSignalProbe:
    """A child process in the same process group that reports the signals it gets. It ends with its creator."""

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        """Fork the child. The signals must be blocked already. Raises OSError when fork fails."""
        question, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _report_signals(question, answer, set(signals))
        os.close(question)
        os.close(answer)

    def poll(self) -> set[int]:
        """Return the signals that the group got since the last call; call this soon after this process got one."""
        time.sleep(_WAIT_S)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._ask, b"?")
            if select.select([self._answer], [], [], _ANSWER_S)[0]:
                return set(os.read(self._answer, 64)) - {0}
        return set()

    def close(self) -> None:
        """End the child process."""
        os.close(self._ask)
        os.close(self._answer)
        os.kill(self._pid, signal.SIGKILL)  # somebody may have stopped it, as the whole group
        os.waitpid(self._pid, 0)


def _report_signals(question: int, answer: int, signals: set[signal.Signals]) -> None:
    """In the child: hold none of our files open (a pipe's reader waits for its last writer), answer until nobody asks."""
    try:
        os.dup2(question, 0)
        os.dup2(answer, 1)
        os.closerange(2, os.sysconf("SC_OPEN_MAX"))
        while os.read(0, 1):
            seen = []
            while (info := signal.sigtimedwait(signals, 0)) is not None:
                seen.append(info.si_signo)
            os.write(1, bytes([0, *seen]))
    finally:
        os._exit(0)
