"""One placing headway per program: two would move its threads to and fro, each by what the other causes.

The lock is flock(2) on the program's own /proc/PID/environ, which only its user and root can open: it is the same in every view
of the network, can't be taken by strangers, and ends with whoever has it. The process that undoes has it, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from headway.errors import HeadwayError
from headway.record.target_process.processes import Process


@contextlib.contextmanager
def placing(process: Process) -> Iterator[int]:
    """Have the right to place a program, as a descriptor. Raises HeadwayError HW004, HW005 or HW722."""
    try:
        lock = os.open(f"/proc/{process.pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        raise HeadwayError("HW721", pid=process.pid) from None
    except OSError as error:
        raise HeadwayError("HW004", pid=process.pid, reason="it has ended") from error
    try:
        if not process.is_alive:
            raise HeadwayError("HW004", pid=process.pid, reason="it has ended")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HeadwayError("HW722", pid=process.pid, other=_holder(lock)) from None
        yield lock
    finally:
        os.close(lock)


def _holder(lock: int) -> str:
    """Return who has the lock, in words."""
    inode = f":{os.fstat(lock).st_ino}"
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[5].endswith(inode) and int(words[4]) > 0:
                return f"headway with pid {words[4]}"
    return "another headway"
