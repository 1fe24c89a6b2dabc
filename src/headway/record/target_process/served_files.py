"""Tells whether a file may keep who touches it waiting for ever, because a program or another machine serves it.

Nothing of the file is asked for that: the kernel itself knows by which mount a descriptor was opened, and the mount table of
the process (/proc/PID/mountinfo) says what kind of file system that is. A descriptor that is open keeps its mount, so what
was judged once stays as it is.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re

_OF_OTHERS = frozenset(
    (
        *("9p", "afs", "autofs", "ceph", "cifs", "coda", "cvmfs", "davfs", "fuse", "fuseblk", "gfs2", "glusterfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "vboxsf"),
    )
)
_LAYERED = frozenset(("overlay", "aufs", "ecryptfs", "unionfs"))
_MOST_BYTES = 64 << 20
"""A mount table is longer than that in nobody's use."""
_NS_GET_USERNS = 0xB701


class ServedError(OSError):
    """A file lies where its owner, or a network, decides when it answers."""

    def __init__(self, path: str, kind: str) -> None:
        """Name the place, as its process sees it, and the kind of file system."""
        self.path, self.kind = path, kind
        super().__init__(
            errno.EOPNOTSUPP, f"{path} is on a file system of the kind {kind}, which may never answer", path
        )


def require_local(fd: int, pid: int, path: str, *, through_layers: bool = False) -> None:
    """Raise ServedError where the open file `fd`, which process `pid` calls `path`, may never answer.

    Root alone is careful: anybody else can only look at processes of their own. `through_layers`: of a layered file system only
    what its mounter's user namespace can't have put there counts, as layers may be served, too. Raises OSError, ValueError.
    """
    if os.geteuid() != 0:
        return
    kind = _kind_of(mount_of(fd), pid)
    if kind is None:
        raise ServedError(path, "unknown")
    if kind.partition(".")[0] in _OF_OTHERS or (through_layers and kind in _LAYERED and not _mounts_are_ours(pid)):
        raise ServedError(path, kind)


def require_own_mount(fd: int, path: str) -> None:
    """Raise PermissionError where the open file `fd` is on no mount that headway itself sees: others decide when that answers."""
    if _kind_of(mount_of(fd), os.getpid()) is None:
        raise PermissionError(errno.EPERM, "it is on a mount of another view of files", path)


def mount_of(fd: int) -> int:
    """Return the number of the mount by which a descriptor was opened."""
    with open(f"/proc/self/fdinfo/{fd}", "rb") as info:
        return next(int(line[7:]) for line in info if line.startswith(b"mnt_id:"))


def _kind_of(mount: int, pid: int) -> str | None:
    """Return the type of a mount that process `pid` sees, None where it has no such."""
    with open(f"/proc/{pid}/mountinfo", "rb") as table:
        read = 0
        for line in table:
            read += len(line)
            if line.startswith(b"%d " % mount):
                found = re.search(rb" - (\S+) ", line)
                return found[1].decode(errors="replace") if found else None
            if read > _MOST_BYTES:
                break
    return None


def _mounts_are_ours(pid: int) -> bool:
    """Tell whether nobody in another user namespace could mount what process `pid` sees."""
    namespace = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    try:
        owner = fcntl.ioctl(namespace, _NS_GET_USERNS)
    except PermissionError:  # it is above ours: we are in a container ourselves
        return False
    finally:
        os.close(namespace)
    try:
        theirs, ours = os.fstat(owner), os.stat("/proc/self/ns/user")
        return (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino)
    finally:
        os.close(owner)
