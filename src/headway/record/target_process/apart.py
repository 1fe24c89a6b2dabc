"""Runs what may hang for ever in a child process, which is left behind then: headway itself can always end.

Whoever serves a file decides when it answers: the program behind a FUSE mount, a network. The kernel lets nobody kill a
thread that waits for such an answer, nor its process end before it. A user needs no privilege to put such files before root: a
FUSE mount in a user namespace of its own, below an overlay there, does. (/proc/PID/cmdline and its like show no memory that lies
in a file, since Linux 4.17.)
"""

from __future__ import annotations

import array
import contextlib
import errno
import gc
import os
import pickle
import select
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from headway.record.target_process.deadline import Deadline, Interrupted

T = TypeVar("T")

_LOOK_S = 0.05
_LONGEST_ANSWER_BYTES = 256 << 20
_REAPING_S = 0.02
_left: set[int] = set()
"""Children that have not ended when they were asked to: waited for when the next one is made."""


def apart(deadline: Deadline, action: Callable[[], T], uses: Iterable[int] = ()) -> T:
    """Run `action` in a child process and return its result, which must be data; `uses`: the descriptors that it needs.

    What it changes in memory is lost, and all other descriptors are closed there. Raises what `action` raises, TimeoutError
    at the deadline, Interrupted when somebody interrupted, OSError where there can't be another process.
    """
    result, descriptors = _run(deadline, lambda: (action(), None), uses)
    assert not descriptors
    return result  # type: ignore[no-any-return]


def opened_apart(deadline: Deadline, action: Callable[[], int], uses: Iterable[int] = ()) -> int:
    """Run `action`, which opens a file, in a child process and return the descriptor, handed over. Raises as `apart`."""

    def opens() -> tuple[None, int]:
        return None, action()

    _, descriptors = _run(deadline, opens, uses)
    (fd,) = descriptors
    return fd


def _run(
    deadline: Deadline, action: Callable[[], tuple[Any, int | None]], uses: Iterable[int]
) -> tuple[Any, list[int]]:
    deadline.left_s()  # what can't be waited for is not begun
    _reap()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours:
        with theirs, warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of a fork beside threads: the child takes none of their locks
            pid = _forked()
            if pid == 0:
                _answer(theirs, action, {theirs.fileno(), *uses})
        descriptors: list[int] = []
        try:
            raw = _heard(ours, deadline, descriptors)
        except BaseException:
            _end(pid)
            _close_all(descriptors)
            raise
    _end(pid)
    try:
        is_well, result = pickle.loads(raw)
    except (EOFError, pickle.UnpicklingError):
        _close_all(descriptors)
        raise OSError(errno.ECHILD, "the process that was to look at it was ended") from None
    if not is_well:
        _close_all(descriptors)
        raise result
    return result, descriptors


def _forked() -> int:
    """Fork without a collection of garbage in the child: what it ends of libraries may wait for threads that are not there."""
    is_collecting = gc.isenabled()
    gc.disable()
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid and is_collecting:
            gc.enable()
    return pid


def _heard(ours: socket.socket, deadline: Deadline, descriptors: list[int]) -> bytes:
    """Return all that the child says, and add the descriptors that it hands over."""
    poller = select.poll()
    poller.register(ours, select.POLLIN)
    raw = bytearray()
    while True:
        if not poller.poll(max(1, round(1000 * min(_LOOK_S, deadline.left_s())))):
            if deadline.interrupted():
                raise Interrupted
            continue
        piece, passed, _, _ = ours.recvmsg(1 << 20, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        for _, kind, data in passed:
            if kind == socket.SCM_RIGHTS:
                descriptors.extend(array.array("i", data[: len(data) // 4 * 4]))
        if not piece:
            return bytes(raw)
        raw += piece
        if len(raw) > _LONGEST_ANSWER_BYTES:
            raise OSError(errno.EMSGSIZE, "it is more than such a thing can be")


def _answer(theirs: socket.socket, action: Callable[[], tuple[Any, int | None]], keeps: set[int]) -> NoReturn:
    """In the child: act, say what came of it, and end, whatever happens."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # a Ctrl-C is the parent's
        _close_all_but(keeps)
        fd: int | None = None
        try:
            result, fd = action()
            raw = pickle.dumps((True, result))
        except BaseException as error:  # handed on to the parent
            raw = _as_raw(error)
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        sent = theirs.sendmsg([raw], passed)
        theirs.sendall(raw[sent:])
    finally:
        os._exit(0)


def _as_raw(error: BaseException) -> bytes:
    try:
        raw = pickle.dumps((False, error))
        pickle.loads(raw)
    except Exception:
        return pickle.dumps((False, OSError(errno.EIO, f"{type(error).__name__}: {error}")))
    return raw


def _close_all_but(keeps: set[int]) -> None:
    """Close what the parent has open: pipes whose readers wait for their last writer, locks, files that may never close."""
    first = 0
    for fd in sorted(keeps):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _close_all(descriptors: Iterable[int]) -> None:
    for fd in descriptors:
        os.close(fd)


def _end(pid: int) -> None:
    """Kill a child, and wait for a moment: what waits for a file's server ends when that answers, or never."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _left.add(pid)
    end_s = time.monotonic() + _REAPING_S
    while pid in _left and time.monotonic() < end_s:
        _reap()
        if pid in _left:
            time.sleep(0.0005)


def _reap() -> None:
    for pid in [*_left]:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                continue
        _left.discard(pid)
