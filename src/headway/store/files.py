"""Safe file access in recordings: new files appear complete or not at all; only ordinary files are read, never links or pipes.

Every file that headway writes into a recording, a sweep or an import goes through `NewFile`; every file that it reads of one
and that is not a table's through `read_bytes`. A file that a user names (to import, a table of programs) is opened by
`open_named`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import secrets
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from headway.store import directory as directories

MOST_JSON_BYTES = 64 << 20
"""A manifest has some tens of kilobytes; what has more than this is not one."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BLOCK = 1 << 20
_PART = 256 << 10
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{12}\.new", re.DOTALL)
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


class NewFile:
    """A file that replaces DIRECTORY/NAME when `keep` is called, and is deleted otherwise.

    `fd` is for reading and writing. Use as a context manager, or call `keep` or `drop`. Raises OSError.
    """

    def __init__(self, directory: Path | str, name: str, mode: int | None = None) -> None:
        """Create the file under a random name; its mode is from its first moment `mode`, or that of a recording's files."""
        self.path = Path(directory) / name
        self._scratch = f".{name[:200]}.{secrets.token_hex(6)}.new"
        with directories.opened_for_writing(directory) as parent:
            self._parent = os.dup(parent)
        try:
            self.fd = os.open(
                self._scratch, _NEW, directories.file_mode() if mode is None else mode, dir_fd=self._parent
            )
        except OSError as error:
            os.close(self._parent)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self._is_open = True

    def stream(self) -> IO[bytes]:
        """Return a Python file object for writing, over a descriptor of its own."""
        return open(os.dup(self.fd), "wb")

    def checksum(self) -> tuple[int, int]:
        """Return the number of bytes so far, and their CRC-32."""
        return checksum(self.fd)

    def keep(self, is_synced: bool = False) -> None:
        """Rename the file to its final name; `is_synced`: only after it is on disk."""
        if is_synced:
            os.fsync(self.fd)
        os.replace(self._scratch, self.path.name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        self._close()

    def drop(self) -> None:
        """Delete the file, unless it was kept."""
        if self._is_open:
            with contextlib.suppress(OSError):
                os.unlink(self._scratch, dir_fd=self._parent)
            self._close()

    def _close(self) -> None:
        self._is_open = False
        os.close(self.fd)
        os.close(self._parent)

    def __enter__(self) -> NewFile:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the file, unless it was kept."""
        self.drop()


def remove_unfinished(directory: Path | str) -> None:
    """Delete the unfinished files of a killed process. Nobody else may write in the directory meanwhile."""
    with contextlib.suppress(OSError), directories.opened_for_writing(directory) as parent:
        for name in filter(_UNFINISHED.fullmatch, os.listdir(parent)):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=parent)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Context manager: name the file in errors of writing it (a full disk ...), whose descriptor has no name."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno) if error.errno else str(error), str(path)) from error


def write_text(directory: Path | str, name: str, text: str, is_synced: bool = False) -> None:
    """Write DIRECTORY/NAME atomically: readers, or a crash, see the old or the new content. Raises OSError."""
    with naming(Path(directory) / name), NewFile(directory, name) as file:
        with file.stream() as out:
            out.write(text.encode("utf-8", "backslashreplace"))
        file.keep(is_synced)


def open_new(directory: Path | str, name: str) -> int:
    """Create DIRECTORY/NAME, which must not exist, and return a descriptor for reading and writing. Raises OSError."""
    with directories.opened_for_writing(directory) as parent:
        try:
            return os.open(name, _NEW, directories.file_mode(), dir_fd=parent)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(Path(directory) / name)) from None


def open_appended(directory: Path | str, name: str) -> int:
    """Open DIRECTORY/NAME for appending, creating it if needed, and return the descriptor. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with directories.opened_for_writing(directory) as parent:
        fd = os.open(name, flags, directories.file_mode(), dir_fd=parent)
    try:
        return _checked(fd, Path(directory) / name)
    except BaseException:
        os.close(fd)
        raise


def open_ordinary(path: Path | str) -> int:
    """Open an ordinary file for reading (no link, pipe or device) and return the descriptor. Raises OSError."""
    return _opened(directories.pinned(path), path, os.O_NOFOLLOW)


def open_named(path: Path | str) -> int:
    """Open an ordinary file that a user names for reading, and return the descriptor: links are followed. Raises OSError."""
    return _opened(path, path, 0)


def open_in_directory(place: directories.DirectoryEntry) -> int:
    """Open the ordinary file that has a name in an open directory, and return the descriptor. Raises OSError."""
    return _opened(place.name, place.path, os.O_NOFOLLOW, place.parent)


def _opened(name: Path | str, path: Path | str, follow: int, directory: int | None = None) -> int:
    """Open a file once it is known to be an ordinary one: to open a device may be an act. Errors name it `path`."""
    try:
        named = os.open(name, os.O_PATH | os.O_CLOEXEC | follow, dir_fd=directory)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        _checked(named, path)
        return os.open(f"/proc/self/fd/{named}", _READ)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(named)


def _checked(fd: int, path: Path | str) -> int:
    """Return an open file that is an ordinary one. Raises OSError for any other."""
    status = os.fstat(fd)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, "it is a link", str(path))
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "not a file")
        raise OSError(errno.EINVAL, f"it is {kind}, not an ordinary file", str(path))
    return fd


def read_bytes(path: Path | str, most: int = MOST_JSON_BYTES) -> bytes:
    """Return the content of an ordinary file of at most `most` bytes. Raises OSError."""
    return _content(open_ordinary(path), path, most)


def read_named(path: Path | str, most: int) -> bytes:
    """Return the content of an ordinary file of at most `most` bytes that a user names. Raises OSError."""
    return _content(open_named(path), path, most)


def _content(fd: int, path: Path | str, most: int) -> bytes:
    """Read a file and close it. Raises OSError EFBIG for one that has more than `most` bytes."""
    too_long = OSError(errno.EFBIG, f"it has more than {_size_text(most)}", str(path))
    with open(fd, "rb", buffering=0) as file:
        if os.fstat(fd).st_size > most:
            raise too_long
        parts, size = [], 0
        while part := file.read(_PART):  # it may grow meanwhile, and so much memory is taken at once
            parts.append(part)
            size += len(part)
            if size > most:
                raise too_long
    return b"".join(parts)


def _size_text(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def parse_json(data: bytes) -> Any:
    """Parse JSON text.

    Raises ValueError for what is none, is nested too deeply, or has a number beyond 64 bits, infinite or none at all (NaN).
    """
    try:
        return json.loads(data.decode("utf-8"), parse_int=_integer, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else 1 << 64
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"the number {digits[:20]}{'...' if len(digits) > 20 else ''} is out of range")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:20]} is out of range")
    return value


def checksum(fd: int, most: int | None = None) -> tuple[int, int]:
    """Return an open file's size in bytes and its CRC-32, reading block by block. Raises OSError.

    `most`: of a longer file, which may grow without end, no more than so much and a block is read.
    """
    size = value = 0
    while (most is None or size <= most) and (block := os.pread(fd, _BLOCK, size)):
        value = zlib.crc32(block, value)
        size += len(block)
    return size, value
