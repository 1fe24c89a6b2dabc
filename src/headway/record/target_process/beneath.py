"""Opens files below a directory that is held open, in a tree that somebody else may rearrange meanwhile.

By openat2(2), Linux 5.6: a name can't lead out of the directory, over a symbolic link or a mount point. Nothing is waited
for: a FIFO or a device opens at once, and is then refused by who compares what was opened.
"""

from __future__ import annotations

import errno
import functools
import os
import stat

_OPENAT2 = 437  # on every architecture
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH, _IN_ROOT = 0x01, 0x02, 0x04, 0x08, 0x10
_ALWAYS = os.O_CLOEXEC | os.O_NOFOLLOW
_OPENING = os.O_NONBLOCK | os.O_NOCTTY
"""A terminal must not become that of a headway that has none: who has its other end could end headway by it."""
_TRIES = 16
"""EAGAIN says that something was renamed while the kernel looked, or that the file's owner holds a lease: not for ever."""


def open_beneath(directory: int, name: str, flags: int, mode: int = 0, *, cross_mounts: bool = False) -> int:
    """Return a descriptor of `name` below `directory`; no link is followed, and no mount entered unless `cross_mounts`.

    Raises OSError; ELOOP, EXDEV or ENOTDIR for a name that leads elsewhere.
    """
    flags |= _ALWAYS | (0 if flags & os.O_PATH else _OPENING)
    if _has_openat2():
        resolve = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS | (0 if cross_mounts else _NO_XDEV)
        return _openat2(directory, name, flags, mode, resolve)
    if "/" in name or name in ("", ".", ".."):
        raise OSError(errno.EINVAL, "only a single name can be opened safely on this kernel", name)
    fd = os.open(name, flags, mode, dir_fd=directory)
    if not cross_mounts and os.fstat(fd).st_dev != os.fstat(directory).st_dev:
        os.close(fd)
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    return fd


def open_in_root(root: int, path: str, flags: int) -> int:
    """Return a descriptor of `path` as a process sees it whose root directory is `root`: links stay inside that root.

    Raises OSError; ENOSYS before Linux 5.6.
    """
    if not _has_openat2():
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    flags |= os.O_CLOEXEC | (0 if flags & os.O_PATH else _OPENING)
    return _openat2(root, path, flags, 0, _IN_ROOT | _NO_MAGICLINKS)


def require_plain_file(fd: int, owner: int, path: str) -> os.stat_result:
    """Return the status of an open file. Raises OSError EPERM unless it is an ordinary one of user `owner`, with one name.

    A file that was deleted has none, and is fine.
    """
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_uid != owner:
        raise OSError(errno.EPERM, "it is no file of the agent's own", path)
    return status


@functools.cache
def _has_openat2() -> bool:
    """Tell whether the kernel, and the filter of system calls that we may be under, let us call openat2."""
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.close(_openat2(here, "proc", os.O_PATH | os.O_CLOEXEC, 0, _NO_SYMLINKS))
    except OSError as error:
        return error.errno not in (errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP)
    finally:
        os.close(here)
    return True


def _openat2(directory: int, name: str, flags: int, mode: int, resolve: int) -> int:
    import ctypes

    how = (ctypes.c_uint64 * 3)(flags, mode, resolve)
    libc = ctypes.CDLL(None, use_errno=True)
    number = 0
    for _ in range(_TRIES):
        fd: int = libc.syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_long(directory), os.fsencode(name), how, ctypes.c_size_t(24)
        )
        if fd >= 0:
            return fd
        number = ctypes.get_errno()
        if number not in (errno.EINTR, errno.EAGAIN):
            break
    raise OSError(number, os.strerror(number), name)
