"""Files that nobody can change, rename or delete without a capability (`chattr +i`), where the file system can do that.

ext4, XFS, Btrfs and, since Linux 6.6, tmpfs can. Only root with CAP_LINUX_IMMUTABLE may set the flag or take it away.
"""

from __future__ import annotations

import errno
import fcntl
import struct

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS
_IMMUTABLE = 0x10
_INT = struct.Struct("=i")


def set_immutable(fd: int, wanted: bool = True) -> bool:
    """Make an open file or directory immutable, or an ordinary one again; return whether it was not. Raises OSError."""
    (flags,) = _INT.unpack(fcntl.ioctl(fd, _GET_FLAGS, _INT.pack(0)))
    changed = flags | _IMMUTABLE if wanted else flags & ~_IMMUTABLE
    if changed != flags:
        fcntl.ioctl(fd, _SET_FLAGS, _INT.pack(changed))
    return bool(changed != flags)


def is_open_for_writing(fd: int) -> bool:
    """Return whether anybody has a file open for writing, or mapped: a flag keeps no such writer out.

    By a lease (fcntl(2)), which the kernel gives only where there is none. False where it gives none at all.
    """
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False
