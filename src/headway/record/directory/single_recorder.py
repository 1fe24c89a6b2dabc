"""One recorder per process: two would double the cost and each would record what the other causes.

The lock is a Unix socket in the kernel's abstract namespace, named after the process's identity (pid and start time).
It lives exactly as long as its recorder, so it can't be left behind: there is no stale lock to recognise, no file to
clean up and no run-time directory that a container may lack. Whoever meets it asks the kernel who holds it
(SO_PEERCRED).
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator

from headway.errors import HeadwayError
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import rights_of

_ANCESTORS_LIMIT_S = 5.0


@contextlib.contextmanager
def recording_of(process: Process) -> Iterator[None]:
    """Hold the right to record `process` while the context is open.

    Raises HeadwayError HW008 when another headway records it already.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
        try:
            lock.bind(_name(process))
        except OSError:
            holder = _holder(process)
            if holder is not None:
                raise HeadwayError("HW008", pid=process.pid, recorder=holder, part="") from None
        else:
            lock.listen(8)
        yield


def refuse_recorded_tree(process: Process) -> None:
    """Raise HeadwayError HW008 when another headway records the tree that `process` is part of.

    For attaching only. A command that is itself started under a headway (a build that records its tests) may start
    another. Ancestors that keep us waiting, by sockets that are full, count as not recorded once that took too long.
    """
    end_s = time.monotonic() + _ANCESTORS_LIMIT_S
    ancestor = process.parent()
    while ancestor is not None and time.monotonic() < end_s:
        holder = _holder(ancestor)
        if holder is not None:
            raise HeadwayError("HW008", pid=process.pid, recorder=holder, part=f", with the tree of {ancestor.pid}")
        ancestor = ancestor.parent()


def _name(process: Process) -> str:
    return f"\0headway-records-{process.pid}-{process.start_ticks}"


def _holder(process: Process) -> int | None:
    """Return the pid of the headway that records `process`, or None.

    A holder that is neither root nor the same user is not believed: anybody may bind any name, and so could keep others
    from recording their own processes. Nor is the root of a container that shares the network believed by root itself.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(1)
        try:
            caller.connect(_name(process))
        except OSError:
            return None
        pid, uid, _ = struct.unpack("=iII", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if uid != os.geteuid():
        return int(pid) if uid == 0 else None
    return int(pid) if uid != 0 or _is_as_good(int(pid)) else None


def _is_as_good(pid: int) -> bool:
    try:
        return rights_of(pid).is_ours
    except OSError:
        return False
