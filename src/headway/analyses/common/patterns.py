"""Looks for a pattern in names within a limit of time: few patterns are linear in a name's length, and names may be anybody's.

`(a+)+$` doubles its time with every letter, and `a.*b` takes the square of a name's length; patterns of a sweep are its maker's.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

from headway.errors import HeadwayError

MOST_CPU_S = 10.0
"""Of this process: a million frames take about a second."""


class _TooLong(Exception):  # noqa: N818 - becomes a message
    """Raised in the midst of a match."""


@contextlib.contextmanager
def in_time(pattern: str, path: Path) -> Iterator[None]:
    """Let a block look for a pattern in names of the recording `path`, for some seconds of CPU time.

    Raises HeadwayError HW327. Outside of the main thread, which gets the signals, there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_CPU_S)
    try:
        yield
    except _TooLong:
        raise HeadwayError("HW327", pattern=pattern, path=path, seconds=MOST_CPU_S) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
