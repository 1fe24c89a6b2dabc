"""Tells a signal that was sent to headway alone from one that its whole process group got.

The program is in headway's process group. What somebody sends to the group (a shell that hangs up, a script's `kill 0`, a CI
system that ends a job, a service manager that ends all of a service) the program has had already; passed on, it would come
twice. The signal itself does not tell: siginfo names the sender, not whom it was meant for. So a bystander is in the group, a
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
"""The kernel gives a group's signal to one process after the other: the bystander may get it after headway."""
_ANSWER_S = 1.0


class Bystander:
    """A child process in this process's group. It ends with its creator, however that ends."""

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        """Fork it. The signals must be blocked already. Raises OSError when fork fails."""
        question, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _stand_by(question, answer, set(signals))
        os.close(question)
        os.close(answer)

    def saw(self) -> set[int]:
        """Return the signals that came to the group since the last call; called soon after one came to us."""
        time.sleep(_WAIT_S)
        with contextlib.suppress(BrokenPipeError):
            os.write(self._ask, b"?")
            if select.select([self._answer], [], [], _ANSWER_S)[0]:
                return set(os.read(self._answer, 64)) - {0}
        return set()

    def dismiss(self) -> None:
        """Let it end."""
        os.close(self._ask)
        os.close(self._answer)
        os.waitpid(self._pid, 0)


def _stand_by(question: int, answer: int, signals: set[signal.Signals]) -> None:
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
