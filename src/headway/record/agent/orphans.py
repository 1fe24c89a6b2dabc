"""Detects orphaned agents: their recorder died, and they would record for ever.

Whoever has agents write into a directory has a shared lock (flock) on it for as long as it lives; the kernel releases it
however that process ends. So an agent that writes into a directory that nobody has locked has been left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import time
from pathlib import Path

from headway.record.target_process import agent_file
from headway.record.target_process.beneath import open_in_root
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import open_root
from headway.record.target_process.mapped_files import MappedFile, PinnedFile, mapped_spools
from headway.record.target_process.rights import Rights, act_as

# Agents look at the lock, too, once a second, and have it for microseconds then.
_LOOKS, _PAUSE_S = 3, 0.002
_TRIES = 250
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def lock_directory(directory: Path) -> int | None:
    """Lock a directory until the descriptor that is returned is closed; None where its file system has no such locks."""
    fd = None
    try:
        fd = os.open(directory, _DIRECTORY)
        _lock_shared(fd)
    except OSError:
        unlock_directory(fd)
        return None
    return fd


def _lock_shared(fd: int) -> None:
    """Take a shared lock; not waited for long, as whoever may read the directory can keep it locked. Raises OSError."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        time.sleep(_PAUSE_S)
    return fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)


def unlock_directory(fd: int | None) -> None:
    """Release the lock on a directory."""
    if fd is not None:
        os.close(fd)


def is_locked(fd: int) -> bool:
    """Return whether a recorder has locked the open directory `fd`."""
    return not any(_is_free(fd) for _ in range(_LOOKS))


def _is_free(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        time.sleep(_PAUSE_S)
        return False
    return True


def silence_left_behind(pid: int, rights: Rights, deadline: Deadline) -> bool:
    """Tell an agent in process `pid` whose recorder is gone to fall silent; return whether there was one.

    Only the very file that the process has mapped is written to, with its own rights. Raises TimeoutError, Interrupted.
    """
    try:
        spools = mapped_spools(pid, deadline)
    except TimeoutError:
        raise
    except OSError:
        return False
    left_behind = [spool for spool in spools if _silence(spool, rights, deadline)]
    return bool(left_behind)


def _silence(spool: MappedFile, rights: Rights, deadline: Deadline) -> bool:
    """Tell the agent of one spool; return whether it was left behind and could be told. Raises TimeoutError, Interrupted."""
    try:
        if _is_directory_locked(spool, rights, deadline):
            return False
        put = functools.partial(agent_file.put_word, offset=agent_file.STOP, value=1, path=Path(spool.path))
        with PinnedFile(spool, rights, deadline) as file:
            file.look(deadline, put, os.O_RDWR)
    except TimeoutError:
        raise
    except OSError:  # of a file that is gone, served, leased, another's ...
        return False
    return True


def _is_directory_locked(spool: MappedFile, rights: Rights, deadline: Deadline) -> bool:
    """Return whether a recorder has locked the directory of a mapped file, looked up as the process sees it.

    Where that can't be known, one may have. Nobody locks a directory that was removed.
    """
    root = open_root(spool.pid, deadline, rights)

    def look() -> bool:
        try:
            fd = open_in_root(root, spool.directory, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            return is_locked(fd)
        finally:
            os.close(fd)

    try:
        return act_as(rights, deadline, look, root)
    finally:
        os.close(root)
