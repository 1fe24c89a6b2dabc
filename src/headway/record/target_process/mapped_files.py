"""Opens the files of an agent that a process has mapped: those very files, whatever their names lead to by now.

The agent keeps its records and its sums in files that it has mapped, which is how a JVM's agent is found from outside. The
names in /proc/PID/maps are the process's own; root opens the kernel's link to what is mapped instead (/proc/PID/map_files),
then the file by it with the rights of the process.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from headway.record.target_process.beneath import open_in_root, require_plain_file
from headway.record.target_process.deadline import Deadline, within
from headway.record.target_process.directory import open_root
from headway.record.target_process.rights import Rights, act_as, acts_here, rights_of
from headway.record.target_process.served_files import require_local, require_own_mount

T = TypeVar("T")

_SPOOL = re.compile(rb"/agent-\d+(\.\d+)?\.spool( \(deleted\))?\n")
_TABLE = re.compile(rb"/locks-\d+(\.\d+)?\.table( \(deleted\))?\n")
_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file in the memory map of a process: the span where it begins, its inode, its path as that process sees it."""

    pid: int
    span: str
    inode: int
    path: str

    @property
    def directory(self) -> str:
        """Return the path of its directory, as that process sees it."""
        return os.path.dirname(self.path)


def mapped_spools(pid: int, deadline: Deadline) -> list[MappedFile]:
    """Return the agents' spools that process `pid` has mapped. Raises OSError."""
    return within(deadline, lambda: [*_mapped(pid, _SPOOL)])


def mapped_tables(pid: int, deadline: Deadline) -> list[MappedFile]:
    """Return the agents' tables of locks that process `pid` has mapped, the last one first. Raises OSError."""
    return within(deadline, lambda: [*_mapped(pid, _TABLE)])[::-1]


def _mapped(pid: int, pattern: re.Pattern[bytes]) -> Iterator[MappedFile]:
    seen: set[int] = set()
    with open(f"/proc/{pid}/maps", "rb") as maps:
        for line in maps:
            if not pattern.search(line):
                continue
            span, _, _, _, inode, path = line.split(None, 5)
            if int(inode) in seen or len(seen) >= _MOST_FILES:
                continue
            seen.add(int(inode))
            name = os.fsdecode(path.removesuffix(b"\n").removesuffix(b" (deleted)"))
            yield MappedFile(pid, os.fsdecode(span), int(inode), name)


class PinnedFile:
    """A mapped file, held by a link to it that opens nothing. Whatever its names lead to by then, it stays this very file.

    It is opened anew for each look, with the rights of its process and, as root, in a process of its own: opening, reading,
    writing and closing may each take for ever, even where the kernel itself serves the file, if whoever else has it open means
    harm.
    """

    def __init__(self, file: MappedFile, rights: Rights, deadline: Deadline) -> None:
        """Find what is mapped. Raises OSError, EPERM when its process has other rights by now; ServedError for root, where it may
        never answer.
        """
        self.file = file
        self.rights = rights
        self._link = _link_to(file, rights, deadline)

    def close(self) -> None:
        """Let go of it."""
        os.close(self._link)

    def __enter__(self) -> PinnedFile:
        """Return self."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self.close()

    def opened(self, deadline: Deadline) -> int:
        """Return a descriptor for reading of a file whose process is as good as headway. Raises as `look`."""
        assert acts_here(self.rights)
        return within(deadline, lambda: self._opened(os.O_RDONLY))

    def look(self, deadline: Deadline, action: Callable[[int], T], flags: int = os.O_RDONLY) -> T:
        """Run `action`, whose result must be data, on the open file.

        Raises what `action` raises, OSError; EPERM unless it is an ordinary file of the process's user with no name but one,
        which nobody else may write, TimeoutError, Interrupted.
        """

        def act() -> T:
            fd = self._opened(flags)
            try:
                return action(fd)
            finally:
                os.close(fd)

        return act_as(self.rights, deadline, act, self._link)

    def content(self, most: int, deadline: Deadline) -> bytes:
        """Return its first `most` bytes. Raises as `look`."""
        return self.look(deadline, lambda fd: read_first(fd, most))

    def _opened(self, flags: int) -> int:
        fd = os.open(f"/proc/self/fd/{self._link}", flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            status = require_plain_file(fd, self.rights.uid, self.file.path)
            if status.st_mode & 0o022:  # its directory need not keep others from it, as those of headway do
                raise PermissionError(errno.EPERM, "others may write it", self.file.path)
            if status.st_ino != self.file.inode:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.file.path)
        except BaseException:
            os.close(fd)
            raise
        return fd


def read_first(fd: int, most: int) -> bytes:
    """Return the first `most` bytes of an open file."""
    with open(os.dup(fd), "rb") as file:
        return file.read(most)


def _link_to(file: MappedFile, rights: Rights, deadline: Deadline) -> int:
    flags = os.O_PATH | os.O_CLOEXEC
    if (
        os.geteuid() != 0
    ):  # the kernel keeps those links for root: an ordinary user has only the name, and can harm only itself
        root = open_root(file.pid, deadline, rights)
        try:
            return within(deadline, lambda: open_in_root(root, file.path, flags))
        finally:
            os.close(root)
    link = within(deadline, lambda: os.open(f"/proc/{file.pid}/map_files/{file.span}", flags))
    try:
        # A program with the set-user-id bit is as good as headway for a moment, and then starts its user's shell.
        if within(deadline, lambda: rights_of(file.pid)) != rights:
            raise PermissionError(errno.EPERM, "it became another user's meanwhile", file.path)
        if rights.is_ours:
            require_own_mount(link, file.path)
        else:
            require_local(link, file.pid, file.path, through_layers=True)
    except BaseException:
        os.close(link)
        raise
    return link
