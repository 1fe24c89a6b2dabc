"""The files that an agent writes, as its recorder reads and changes them: a few words of the spool's header, and copies.

They lie in the recording, or, where the JVM is another user's or a container's, in a directory below that JVM's /tmp. There
the JVM's user may put anything in a file's place and anything into it. So a file is opened below a directory that is held
open, without following or waiting, with the rights of the JVM; it counts only if it is an ordinary file of the JVM's user;
and how much of it is believed comes from the format.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from headway.model import wire
from headway.record.target_process.beneath import open_beneath, require_plain_file

PID, HOST_PID, CREATED, STOP, END = (
    wire.HW_SPOOL_HEADER[name].offset for name in ("pid", "host_pid", "created_ns", "stop", "end")
)
"""Where these words of the header lie."""
END_AHEAD = wire.HW_CLOSE_PENDING
"""A value of the word END: the agent will say when it has let go of the file."""
_HEAD_BYTES = PID + 4
_SOURCE = wire.HW_SPOOL_HEADER["source"].offset

LONGEST_TABLE_BYTES = (
    wire.HW_HEADER_BYTES + wire.HW_LOCK_CLASSES * wire.HW_LOCK_CLASS_BYTES + (1 << 18) * wire.HW_LOCK_SLOT_BYTES
)
"""The agent's header, class names and slots (native/agent/locks/lock_table.h)."""
_LONGEST_BYTES = {
    "spool": 1 << 30,  # native/agent/core/chunk_file.h: kMapBytes
    "table": LONGEST_TABLE_BYTES,
    "jsonl": 1 << 30,
    "txt": 1 << 20,
    "jfr": 1 << 34,
    "part": 1 << 34,
}
"""By the end of its name: what a file can be long at most. Text of experiments and samples has no limit of its own."""
_KEPT_FREE_BYTES = 12 << 20
_PIECE_BYTES = 1 << 20
OWN_NAME = re.compile(r"(agent-\d+(\.\d+)?\.spool|locks-\S+\.table|causal-\S+\.jsonl|sample-\S+\.(txt|jfr|jfr\.part))")
"""What the files of an agent are called."""


@contextlib.contextmanager
def opened(path: Path, flags: int, owner: int) -> Iterator[int]:
    """Give a descriptor of the agent's file `path` of user `owner`. Raises OSError; EPERM for one that is not such a file."""
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fd = open_beneath(directory, path.name, flags)
    finally:
        os.close(directory)
    try:
        require_plain_file(fd, owner, str(path))
        yield fd
    finally:
        os.close(fd)


def agent_of(fd: int) -> int | None:
    """Return the pid, in its own namespace, of the agent that writes this spool; None for what is no spool of an agent."""
    raw = os.pread(fd, _HEAD_BYTES, 0)
    if len(raw) < _HEAD_BYTES or not raw.startswith(wire.HW_SPOOL_MAGIC):
        return None
    (source,), (pid,) = (struct.unpack_from("<I", raw, at) for at in (_SOURCE, PID))
    return int(pid) if source == wire.HW_SOURCE_AGENT else None


def put_word(fd: int, offset: int, value: int, path: Path) -> None:
    """Write one word of the header, which the agent has mapped. Raises OSError, EPERM for what is no spool of an agent."""
    if agent_of(fd) is None:
        raise OSError(errno.EPERM, "it is no file of the agent's own", str(path))
    os.pwrite(fd, struct.pack("<I", value), offset)


def write_word(path: Path, offset: int, value: int, owner: int) -> None:
    """Write one word of the header of the spool `path`. Raises OSError as `opened` and `put_word`."""
    with opened(path, os.O_RDWR, owner) as fd:
        put_word(fd, offset, value, path)


def read_word(path: Path, offset: int, owner: int) -> int:
    """Return one word of the header. Raises OSError, or struct.error for a cut-off header."""
    with opened(path, os.O_RDONLY, owner) as fd:
        return int(struct.unpack("<I", os.pread(fd, 4, offset))[0])


def created_ns(path: Path, owner: int) -> int:
    """Return when the agent made the file, by CLOCK_MONOTONIC. Raises OSError, or struct.error for a cut-off header."""
    with opened(path, os.O_RDONLY, owner) as fd:
        return int(struct.unpack("<q", os.pread(fd, 8, CREATED))[0])


def half_of_room(directory: Path) -> int:
    """Return how many bytes all copies into a directory together must leave free on its disk. Raises OSError."""
    return max(_KEPT_FREE_BYTES, free_bytes(directory) // 2)


def free_bytes(directory: Path) -> int:
    """Return how many bytes are free on the disk of a directory. Raises OSError."""
    room = os.statvfs(directory)
    return room.f_bavail * room.f_frsize


def copy(source: int, to: Path, kept_free: int | None = None) -> int:
    """Copy an open file of an agent's to the new file `to`; return how many bytes at its end were left out, 0 for none.

    Only what holds data is read, at most what the format allows, and `kept_free` bytes are left (by default half of the room
    that there is). Raises OSError; ENOSPC where that does not do: then there is no file `to`.
    """
    return copy_by(lambda copied, _: copied(source), to, kept_free)


def copy_by(run: Callable[[Callable[[int], int], int], int], to: Path, kept_free: int | None = None) -> int:
    """Copy as `copy` does: `run` calls what it is given with the open source, where that needs the descriptor it is given."""
    longest = _LONGEST_BYTES[to.name.rpartition(".")[2]]
    target = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        kept_free = half_of_room(to.parent) if kept_free is None else kept_free
        least = kept_free
        return run(lambda source: _copy_data(source, target, longest, least), target)
    except BaseException:
        os.ftruncate(target, 0)  # a process that is left behind may have it open: room on the disk it does not keep
        os.unlink(to)
        raise
    finally:
        os.close(target)


def _copy_data(source: int, target: int, longest: int, kept_free: int) -> int:
    size = os.fstat(source).st_size
    taken = min(size, longest)
    for start, end in _extents(source, taken):
        _copy_extent(source, target, start, end, kept_free)
    os.ftruncate(target, taken)
    return size - taken


def _extents(fd: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans below `end` that hold data; where a file system can't tell, all of it does."""
    at = 0
    while at < end:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
            at = min(end, os.lseek(fd, start, os.SEEK_HOLE))
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole from here on
                return
            start, at = at, end
        if start < at:
            yield start, at


def _copy_extent(source: int, target: int, start: int, end: int, kept_free: int) -> None:
    while start < end:
        room = os.fstatvfs(target)
        if room.f_bavail * room.f_frsize < kept_free:
            raise OSError(
                errno.ENOSPC, "it would take more than its share of half of the room that is left on the disk"
            )
        piece = os.pread(source, min(_PIECE_BYTES, end - start), start)
        if not piece:
            return  # cut off meanwhile
        start += os.pwrite(target, piece, start)
