"""Makes a first file system for an emulated guest, as its kernel takes it (cpio, newc)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def initramfs(files: Mapping[str, bytes], folders: Iterable[str]) -> bytes:
    """Return an archive of executable files and of empty folders."""
    entries = [(name, 0o040755, b"") for name in folders] + [(name, 0o100755, data) for name, data in files.items()]
    return b"".join(_entry(*entry) for entry in [*entries, ("TRAILER!!!", 0, b"")])


def _entry(name: str, mode: int, data: bytes) -> bytes:
    named = name.encode() + b"\0"
    fields = (0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(named), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + named
    return _padded(head) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
