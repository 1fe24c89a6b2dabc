"""Makes private temporary directories of headway, and removes those that killed headway processes left behind.

They lie below TMPDIR; for root, where no other user can exchange them.

Each is locked (flock) for as long as its process lives; the kernel lets go of it however that ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from headway.store.directory import safe_to_load

_LEAST_AGE_S = 60.0
"""A directory that is younger may be one that its process has not yet locked."""
_MOST_NAMES = 20_000
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Scratch:
    """A private temporary directory for what a query or an analysis can't keep in memory. Call `remove` at the end."""

    path: Path
    lock: int

    def remove(self) -> None:
        """Remove the directory and its content."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)


def scratch_place() -> str:
    """Return the directory in which temporary files are made: TMPDIR, or for root one in which nobody else can exchange files.

    TMPDIR may be another user's where root came by `su` or `sudo -E`. Raises OSError where there is no directory for root.
    """
    given = tempfile.gettempdir()
    if os.geteuid() != 0:
        return given
    for place in (given, "/tmp", "/var/tmp"):
        if os.path.isdir(place) and safe_to_load(Path(place)):
            return os.path.realpath(place)
    if not _is_hosts_root():  # there the files above belong to nobody, and this root can do no more than its user
        return given
    raise OSError(errno.EPERM, "others than root could exchange what lies there", given)


def _is_hosts_root() -> bool:
    """Return whether user 0 is that of the machine, and not one of a user namespace; the machine's where that is not known."""
    try:
        return Path("/proc/self/uid_map").read_text().split()[:2] == ["0", "0"]
    except OSError:
        return True


def make_scratch(kind: str) -> Scratch:
    """Create headway-KIND-... in `scratch_place`, and remove those of killed processes. Raises OSError."""
    prefix = f"headway-{kind}-"
    place = scratch_place()
    with contextlib.suppress(OSError):
        _remove_left_behind(place, prefix)
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    lock = os.open(path, _OPEN)
    with contextlib.suppress(OSError):  # a file system without such locks: it is never taken for a killed one's either
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return Scratch(Path(path), lock)


def _remove_left_behind(place: str, prefix: str) -> None:
    own_name = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}")
    above = os.open(place, _OPEN & ~os.O_NOFOLLOW)
    try:
        with os.scandir(above) as entries:
            names = [each.name for each, _ in zip(entries, range(_MOST_NAMES), strict=False)]
        for name in filter(own_name.fullmatch, names):
            with contextlib.suppress(OSError):
                _remove_if_left_behind(above, name)
    finally:
        os.close(above)


def _remove_if_left_behind(above: int, name: str) -> None:
    """Remove a directory that is this user's alone, and that nobody holds. Raises OSError."""
    fd = os.open(name, _OPEN, dir_fd=above)
    try:
        status = os.fstat(fd)
        is_own = status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700
        if is_own and time.time() - status.st_ctime >= _LEAST_AGE_S:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(name, ignore_errors=True, dir_fd=above)
    finally:
        os.close(fd)
