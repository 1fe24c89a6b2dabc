"""Unpacks compressed JFR files to a scratch file, because their chunks are read out of order."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

from headway.errors import HeadwayError, Notice
from headway.store.files import open_named

_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -d"),
    b"\xfd7zXZ\x00": ("xz", "xz -dk"),
    b"PK\x03\x04": ("zip", "unzip"),
    b"\x04\x22\x4d\x18": ("lz4", "lz4 -d"),
    b"BZh": ("bzip2", "bzip2 -dk"),
}
"""What others begin with: their names, and what unpacks them and leaves the file."""
_TEST = "gzip -t"
_PIECE = 1 << 20
_MOST_RATIO, _SMALL = 200, 1 << 28
"""A JFR file is a tenth of its size when it is compressed: beyond this ratio, and this many bytes, it is none."""
_JFR = b"FLR\0"
_SPARE = 1 << 28
"""Bytes that stay free on the disk: a small file may unpack to terabytes."""


def is_gzip(path: Path) -> bool:
    """Return whether a file is compressed with gzip. Raises HeadwayError HW312 for another compression, and OSError."""
    with open(open_named(path), "rb") as file:
        head = file.read(6)
    for magic, (name, command) in _OTHERS.items():
        if head.startswith(magic):
            reason = f"it is compressed with {name}, which headway does not unpack"
            raise HeadwayError("HW312", path=path, reason=reason, command=command)
    return head.startswith(_GZIP)


def unpack(path: Path, scratch: Path) -> Notice | None:
    """Decompress a gzip file to `scratch`. Return a notice when it is cut off: the part before that is used.

    Raises HeadwayError HW312 when nothing comes out of it, far too much does, or the disk has no room; HW310 for no JFR file.
    """
    written, problem = 0, ""
    with open(open_named(path), "rb") as file, open(scratch, "xb") as out:
        decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not problem and (piece := decoder.unconsumed_tail or _next(file.read(_PIECE), decoder)):
            if decoder.eof:  # a further member: several gzip files put together are one
                decoder = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                data = decoder.decompress(piece, _PIECE)
            except zlib.error as error:
                problem = str(error)
                break
            out.write(data)
            written += len(data)
            _check_content(path, data if written == len(data) else _JFR, written)
            room = os.statvfs(scratch.parent)
            if room.f_bavail * room.f_frsize < _SPARE:
                reason = f"the disk has no room for more than {written} bytes of it"
                raise HeadwayError("HW312", path=path, reason=reason, command=f"df -h {scratch.parent}; ls -l")
        if not decoder.eof:
            problem = problem or "it ends in the middle"
    if not written:
        raise HeadwayError("HW312", path=path, reason=problem or "it holds nothing", command=_TEST)
    return Notice.of("HW220", path=path, count=1, first=f"compressed data: {problem}") if problem else None


def _check_content(path: Path, begin: bytes, written: int) -> None:
    """Stop early where what comes out is no JFR file: a small file may unpack to terabytes."""
    if begin and not begin.startswith(_JFR[: len(begin)]):
        raise HeadwayError("HW310", path=path, reason="what it holds does not begin with FLR")
    if written > _SMALL and written > _MOST_RATIO * os.stat(path).st_size:
        reason = f"it unpacks to more than {_MOST_RATIO} times its size, which no JFR file does"
        raise HeadwayError("HW312", path=path, reason=reason, command=_TEST)


def _next(read: bytes, decoder: zlib._Decompress) -> bytes:
    return decoder.unused_data + read if decoder.eof else read
