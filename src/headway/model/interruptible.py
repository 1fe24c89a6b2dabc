"""Runs calls into native code so that Ctrl-C ends them: on a thread of their own, while the caller's listens.

Python hears signals between its own instructions on the main thread only: a native pass over all events of a recording, or a sort
of them, would keep a Ctrl-C waiting until it returns. A call that is left behind goes on until it returns, or until the process
ends, for which `end_process` is: such a thread that comes back while Python takes itself apart would abort the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_LOOK_S = 1.0
_left: set[threading.Thread] = set()
"""Threads whose calls were interrupted."""


def interruptible(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what `call` returns, or raise what it raises: for native code that lets other threads run Python meanwhile.

    Raises KeyboardInterrupt at once: then nothing that the call changes may be used any more.
    """
    if threading.current_thread() is not threading.main_thread():
        return call(*args, **kwargs)
    outcome: list[T] = []
    failure: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            outcome.append(call(*args, **kwargs))
        except BaseException as error:  # handed on to the caller's thread
            failure.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, name="headway-pass", daemon=True)
    try:
        try:
            thread.start()
        except RuntimeError:  # there may be no more threads
            return call(*args, **kwargs)
        while not done.wait(_LOOK_S):
            pass
    except BaseException:
        _left.add(thread)
        raise
    if failure:
        raise failure[0]
    return outcome[0]


def end_process(code: int) -> None:
    """End the process with `code` where an interrupted call is still under way; return where there is none."""
    if not any(thread.is_alive() for thread in _left):
        return
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # as where nobody reads any more
            stream.flush()
    os._exit(code)
