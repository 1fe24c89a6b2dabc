"""Tells an agent that somebody records with from one whose recorder was killed and that would go on for good.

Whoever has agents write into a directory holds a shared lock (flock) on it for as long as it lives; the kernel lets go of it
however that process ends. So an agent that writes into a directory that nobody holds has been left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from pathlib import Path

from headway.record import agent_file

_SPOOL = re.compile(rb"/agent-\d+(\.\d+)?\.spool\n")
# Agents look at the lock, too, once a second, and have it for microseconds then.
_LOOKS, _PAUSE_S = 3, 0.002
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def hold(directory: Path) -> int | None:
    """Hold a directory until the descriptor that is returned is closed; None where its file system has no such locks."""
    fd = None
    try:
        fd = os.open(directory, _DIRECTORY)
        fcntl.flock(fd, fcntl.LOCK_SH)
    except OSError:
        release(fd)
        return None
    return fd


def release(fd: int | None) -> None:
    """Let go of a directory."""
    if fd is not None:
        os.close(fd)


def is_held(directory: Path) -> bool:
    """Return whether somebody holds a directory; where that can't be told, somebody might."""
    try:
        fd = os.open(directory, _DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return True
    try:
        return not any(_is_free(fd) for _ in range(_LOOKS))
    finally:
        os.close(fd)


def _is_free(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        time.sleep(_PAUSE_S)
        return False
    return True


def silence_left_behind(pid: int, owner: int) -> bool:
    """Tell an agent in process `pid`, of user `owner`, whose recorder is gone to fall silent; return whether there was one."""
    found = False
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as maps:
        for inode, path in {_file(pid, line) for line in maps if _SPOOL.search(line)}:
            with contextlib.suppress(OSError):
                # The path is the JVM's own: only the very file that it has mapped is written to.
                if path.lstat().st_ino == inode and not is_held(path.parent):
                    agent_file.write_word(path, agent_file.STOP, 1, owner)
                    found = True
    return found


def _file(pid: int, line: bytes) -> tuple[int, Path]:
    words = line.split(None, 5)
    return int(words[4]), Path(f"/proc/{pid}/root{os.fsdecode(words[5].removesuffix(bytes([10])))}")
