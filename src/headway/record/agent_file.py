"""The agent's spool file as its recorder touches it: a few words of its header (native/wire/records.h), and its copy.

The directory may belong to the JVM's user, who can put anything in the file's place, while the recorder may be root. So
nothing is followed and nothing waited for: what is opened is an ordinary file, of that user or ours, with one name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

PID, HOST_PID, CREATED, STOP, END = 24, 28, 32, 48, 80
"""Offsets in struct hw_spool_header."""
END_AHEAD = 1
"""enum hw_file_end: the agent will say when it has let go of the file."""


@contextlib.contextmanager
def opened(path: Path, flags: int, owner: int) -> Iterator[int]:
    """Give a descriptor of the agent's file `path`, which user `owner` or this one made. Raises OSError."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(fd)
        is_plain = stat.S_ISREG(status.st_mode) and status.st_nlink <= 1
        if not is_plain or status.st_uid not in (owner, os.geteuid()):
            raise OSError(errno.EPERM, "it is no file of the agent's own", str(path))
        yield fd
    finally:
        os.close(fd)


def write_word(path: Path, offset: int, value: int, owner: int) -> None:
    """Write one word of the header, which the agent has mapped. Raises OSError."""
    with opened(path, os.O_WRONLY, owner) as fd:
        os.pwrite(fd, struct.pack("<I", value), offset)


def read_word(path: Path, offset: int, owner: int) -> int:
    """Return one word of the header. Raises OSError, or struct.error for a cut-off header."""
    with opened(path, os.O_RDONLY, owner) as fd:
        return int(struct.unpack("<I", os.pread(fd, 4, offset))[0])


def created_ns(path: Path, owner: int) -> int:
    """Return when the agent made the file, by CLOCK_MONOTONIC. Raises OSError, or struct.error for a cut-off header."""
    with opened(path, os.O_RDONLY, owner) as fd:
        return int(struct.unpack("<q", os.pread(fd, 8, CREATED))[0])


def copy(path: Path, to: Path, owner: int) -> None:
    """Copy the file; `to` must not be there yet. Raises OSError."""
    with opened(path, os.O_RDONLY, owner) as fd, open(fd, "rb", closefd=False) as source, open(to, "xb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
