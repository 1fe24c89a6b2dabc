"""One placing headway per program: two would move its threads to and fro, each judging what the other causes.

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
from headway.record.target_process.processes import Process, no_process, owner


@contextlib.contextmanager
def placing(process: Process) -> Iterator[int]:
    """Have the right to place a program, as a descriptor. Raises HeadwayError HW004, HW721 or HW722."""
    try:
        lock = os.open(f"/proc/{process.pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        raise HeadwayError("HW721", pid=process.pid) from None
    except OSError as error:
        raise no_process(process.pid, error) from error
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
    """Return who has the lock, in words. The program's own user can have it, too."""
    inode = f":{os.fstat(lock).st_ino}"
    with contextlib.suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if len(words) > 5 and words[1] == "FLOCK" and words[5].endswith(inode) and _has_open(words[4], lock):
                is_ours = owner(int(words[4])) in (0, os.geteuid())
                return f"{'headway with pid' if is_ours else 'process'} {words[4]}"
    return "another process"


def _has_open(pid: str, lock: int) -> bool:
    """Return whether a process has that file open: who took a lock may have ended, and left it and its number to others."""
    with contextlib.suppress(OSError):
        own_link = os.readlink(f"/proc/self/fd/{lock}")
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{name}") == own_link:
                    return True
    return False
