"""Checks that a table's file is an ordinary, whole Parquet file, and holds what it was written with.

Cheap checks come first: size and both ends when a recording is opened, the checksum before a table is first read.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from headway.store.damage import damaged, unreadable
from headway.store.files import checksum, open_ordinary
from headway.store.manifest import TableInfo

_PARQUET = b"PAR1"


def check_ends(path: Path, info: TableInfo, directory: Path) -> None:
    """Compare a Parquet file's size with the manifest and look at both ends: cheap, and finds every cut-off copy."""
    try:
        with open(open_ordinary(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(4)
            file.seek(max(size - 4, 0))
            tail = file.read(4)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise damaged(path, "it is a link", directory) from error
        raise unreadable(path, error, directory) from error
    if size != info.bytes:
        reason = f"it has {size} bytes, the manifest says {info.bytes}"
        raise damaged(path, reason, directory)
    if head != _PARQUET or tail != _PARQUET:
        raise damaged(path, "it is not a whole Parquet file", directory)


def check_sum(path: Path, to_open: Path, info: TableInfo, directory: Path) -> None:
    """Compare a file with the checksum that it was written with; those of before have none."""
    if info.crc32 is None:
        return
    try:
        with open(to_open, "rb") if to_open != path else open(open_ordinary(path), "rb") as file:
            found = checksum(file.fileno(), info.bytes)
    except OSError as error:
        raise unreadable(path, error, directory) from error
    if found != (info.bytes, info.crc32):
        raise damaged(path, "its checksum is not that of what it holds, so figures from it would be wrong", directory)
