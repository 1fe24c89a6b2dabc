"""A limit on how long headway waits for something that another process controls."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_LOOK_S = 0.05


class Interrupted(Exception):  # noqa: N818 - a wish of the user's, no error
    """Somebody asked headway to end while it waited for another process."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock, seconds, and a question that is asked meanwhile: did somebody interrupt?"""

    end_s: float
    interrupted: Callable[[], bool] = _never

    @classmethod
    def after(cls, limit_s: float, interrupted: Callable[[], bool] = _never) -> Deadline:
        """Return the deadline `limit_s` seconds from now."""
        return cls(time.monotonic() + limit_s, interrupted)

    def left_s(self) -> float:
        """Return the seconds until the deadline. Raises TimeoutError once it has passed."""
        left = self.end_s - time.monotonic()
        if left <= 0:
            raise TimeoutError("it took too long")
        return left

    def pause(self, wait_s: float) -> None:
        """Sleep, but not past the end. Raises TimeoutError when the end has come."""
        time.sleep(min(wait_s, self.left_s()))


def within(deadline: Deadline, action: Callable[[], T]) -> T:
    """Run `action` on a thread of its own and return its result; one that hangs in the kernel is left to itself.

    A read from /proc, or of a file, may never return. The abandoned thread is a daemon: it does not keep headway from ending
    as long as it can be killed, which is not so where a program serves the file. What may touch such a file goes into a
    process of its own (apart.py).

    Raises what `action` raises, TimeoutError at the deadline, Interrupted when somebody interrupted.
    """
    deadline.left_s()  # what can't be waited for is not begun
    outcome: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.append(action())
        except BaseException as error:  # handed on to the caller's thread
            failure.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run, name="headway-target", daemon=True).start()
    except RuntimeError as error:  # somebody has taken all the processes there may be
        raise OSError(errno.EAGAIN, str(error)) from None
    while not done.wait(min(_LOOK_S, deadline.left_s())):
        if deadline.interrupted():
            raise Interrupted
    if failure:
        raise failure[0]
    return outcome[0]
