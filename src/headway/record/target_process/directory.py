"""A directory of headway's below the /tmp of a JVM of another user or container: its agent is loaded from and writes there.

It is made with the JVM's own rights, under a name that nobody can foresee, and held open: everything in it is reached by
that descriptor. Nobody but the JVM's user can write there, so nobody else can put a library or a record in place.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from headway.record.target_process.agent_file import OWN_NAME
from headway.record.target_process.beneath import open_beneath, require_plain_file
from headway.record.target_process.deadline import Deadline, within
from headway.record.target_process.rights import Rights, act_as, opened_as, rights_of
from headway.record.target_process.served_files import require_local

T = TypeVar("T")

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY
_NAME = re.compile(r"\.headway-[0-9a-f]{16}")
_LIBRARY = re.compile(r"lib[\w-]+\.so")
_MOST_NAMES = 20_000
"""So many entries of a /tmp are looked through; one that means harm may have millions."""


def open_tmp(pid: int, deadline: Deadline, rights: Rights) -> int:
    """Return a descriptor of the /tmp that process `pid` sees, to look names up in; ProcessLookupError when it is gone.

    A /tmp that is a symbolic link is refused: it may point anywhere. One that is a mount of its own is fine, as long as it is
    none that may never answer. Raises OSError, ServedError.
    """

    root = open_root(pid, deadline, rights)
    try:
        flags = os.O_PATH | os.O_DIRECTORY
        tmp = opened_as(rights, deadline, lambda: open_beneath(root, "tmp", flags, cross_mounts=True), root)
    finally:
        os.close(root)
    try:
        if not rights.is_ours:
            require_local(tmp, pid, "/tmp")
    except BaseException:
        os.close(tmp)
        raise
    return tmp


def open_root(pid: int, deadline: Deadline, rights: Rights) -> int:
    """Return a descriptor of the root directory that process `pid` sees: to look names up in, no more.

    It is the kernel's link to that directory, no name that the process could choose; and headway's own root directory where
    the process was found to be as good as headway: a program with the set-user-id bit is, for a moment, and then starts its
    user's shell, which may have any other root directory by now. So the process must have these rights still. Raises OSError,
    EPERM when it has others; ProcessLookupError.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    if rights.is_ours:
        return os.open("/", flags)
    try:
        root = within(deadline, lambda: os.open(f"/proc/{pid}/root", flags))
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    try:
        if pid != os.getpid() and within(deadline, lambda: rights_of(pid)) != rights:
            raise PermissionError(errno.EPERM, "it became another user's meanwhile")
    except BaseException:
        os.close(root)
        raise
    return root


@dataclass(slots=True)
class TargetDirectory:
    """An open directory of the JVM's user, mode 0700. Call `remove` at the end; every call may raise OSError."""

    rights: Rights
    name: str
    tmp: int
    directory: int

    @classmethod
    def create(cls, tmp: int, rights: Rights, deadline: Deadline) -> TargetDirectory:
        """Make it below `tmp`, a descriptor that it takes over, and remove those that recorders left that were killed."""
        name = f".headway-{secrets.token_hex(8)}"

        def opened() -> int:
            with contextlib.suppress(OSError):
                remove_left_behind(tmp, rights.uid)
            os.mkdir(name, 0o700, dir_fd=tmp)
            fd = open_beneath(tmp, name, _DIRECTORY)
            try:
                _require_empty(fd, tmp, rights.uid)
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # says that its recorder lives: remove_left_behind
            except OSError:
                os.close(fd)
                raise
            return fd

        try:
            return cls(rights, name, tmp, opened_as(rights, deadline, opened, tmp))
        except BaseException:
            os.close(tmp)
            raise

    @property
    def path(self) -> Path:
        """Return the directory as this process reaches it: by its descriptor."""
        return Path(f"/proc/self/fd/{self.directory}")

    @property
    def in_target(self) -> str:
        """Return its path in the JVM's file system."""
        return f"/tmp/{self.name}"

    def place_libraries(self, libraries: Sequence[Path], deadline: Deadline) -> None:
        """Copy libraries into it, for its user alone to read and to load."""
        contents = [(library.name, library.read_bytes()) for library in libraries]

        def write() -> None:
            for name, content in contents:
                fd = open_beneath(self.directory, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o500)
                with open(fd, "wb") as file:
                    file.write(content)

        act_as(self.rights, deadline, write, self.directory)

    def create_file(self, name: str, deadline: Deadline) -> int:
        """Make a new, empty file for the agent to open, and return a descriptor that holds it, for `with_file`."""

        def opened() -> int:
            fd = self._opened(name, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            try:
                return os.open(f"/proc/self/fd/{fd}", os.O_PATH | os.O_CLOEXEC)
            finally:
                os.close(fd)

        return opened_as(self.rights, deadline, opened, self.directory)

    def with_file(
        self, file: int | str, deadline: Deadline, action: Callable[[int], T], *uses: int, flags: int = os.O_RDONLY
    ) -> T:
        """Run `action` on an open file, one that `create_file` made or one of that name, and return its result.

        With the JVM's rights and, as root, in a process of its own: reading, writing and closing may each take for ever.
        """

        def act() -> T:
            if isinstance(file, str):
                fd = self._opened(file, flags)
            else:
                fd = os.open(f"/proc/self/fd/{file}", flags | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                return action(fd)
            finally:
                os.close(fd)

        return act_as(self.rights, deadline, act, self.directory if isinstance(file, str) else file, *uses)

    def _opened(self, name: str, flags: int) -> int:
        """Open a file of this directory and compare it."""
        fd = open_beneath(self.directory, name, flags, 0o600 if flags & os.O_CREAT else 0)
        try:
            require_plain_file(fd, self.rights.uid, name)
        except OSError:
            os.close(fd)
            raise
        return fd

    def names(self, deadline: Deadline) -> list[str]:
        """Return what is in it, as far as it may be the agent's."""
        names = act_as(self.rights, deadline, lambda: _names(self.directory), self.directory)
        return [name for name in names if OWN_NAME.fullmatch(name)]

    def written_bytes(self, deadline: Deadline) -> int:
        """Return how much of the disk its files take."""
        return act_as(self.rights, deadline, lambda: _written_bytes(self.directory), self.directory)

    def remove(self, deadline: Deadline) -> None:
        """Take the directory away; works after the JVM has ended."""
        try:
            act_as(
                self.rights, deadline, lambda: _remove(self.tmp, self.name, self.directory), self.tmp, self.directory
            )
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Close it, and leave it where it is."""
        os.close(self.directory)
        os.close(self.tmp)


def is_own_name(name: object) -> bool:
    """Return whether such a directory could be called so."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def open_left_behind(tmp: int, name: str, owner: int) -> int:
    """Return a descriptor of such a directory below `tmp`. Raises OSError for one of another owner, or of a live recorder.

    Call it as that user.
    """
    fd = open_beneath(tmp, name, _DIRECTORY)
    if os.fstat(fd).st_uid != owner or not _is_free(fd):
        os.close(fd)
        raise OSError(errno.EBUSY, "its directory is another user's, or another headway's that is at work")
    return fd


def remove_left_behind(tmp: int, owner: int) -> int:
    """Remove the directories below `tmp` of user `owner` whose recorder was killed; return how many. Call it as that user."""
    removed = 0
    for name in filter(_NAME.fullmatch, _names(tmp)):
        with contextlib.suppress(OSError):
            fd = open_left_behind(tmp, name, owner)
            try:
                _remove(tmp, name, fd)
                removed += 1
            finally:
                os.close(fd)
    return removed


def _is_free(fd: int) -> bool:
    """Return whether no recorder holds this directory; the agent itself looks for a moment, once a second."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _names(directory: int) -> list[str]:
    fd = os.open(".", _DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        with os.scandir(fd) as entries:
            return [entry.name for entry, _ in zip(entries, range(_MOST_NAMES), strict=False)]
    finally:
        os.close(fd)


def _written_bytes(directory: int) -> int:
    sizes = (os.stat(name, dir_fd=directory, follow_symlinks=False).st_blocks for name in _names(directory))
    return sum(sizes) * 512


def _remove(tmp: int, name: str, directory: int) -> None:
    for each in _names(directory):
        if OWN_NAME.fullmatch(each) or _LIBRARY.fullmatch(each):
            os.unlink(each, dir_fd=directory)
    os.rmdir(name, dir_fd=tmp)


def _require_empty(fd: int, tmp: int, owner: int) -> None:
    """Raise OSError unless the directory is the one that was just made: of this user, private, empty, on the same device."""
    status = os.fstat(fd)
    is_new = status.st_uid == owner and stat.S_IMODE(status.st_mode) & 0o077 == 0 and not os.listdir(fd)
    if not is_new or status.st_dev != os.fstat(tmp).st_dev:
        raise OSError(errno.EPERM, "something else was put in the place of a directory of headway's")
