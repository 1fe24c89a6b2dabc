"""Builds agents' spools that are small and mean harm: what they name takes gigabytes once it is spelled out."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from support.builders.spool_builder import header, record

_FACT, _METHOD, _STACK = 33, 40, 41
_CHUNK_BYTES = 128 << 10
_CHUNK_HEAD_BYTES = 24
_FRAMES_OF_A_STACK = 8000
_LONGEST_NAME_BYTES = 65_000


def name_in_every_frame(frames: int, pid: int, now_ns: int) -> bytes:
    """Return a spool of eight bytes a frame: each is another line of one method, whose class has a name of 64 KiB."""
    records = [
        record(
            now_ns, _METHOD, pid, struct.pack("<IHH", 1, _LONGEST_NAME_BYTES, 3) + b"a" * _LONGEST_NAME_BYTES + b"run"
        ),
        record(now_ns, _FACT, pid, struct.pack("<HHI", 5, 0, 2) + b"locks" + b"on"),
    ]
    for first in range(0, frames, _FRAMES_OF_A_STACK):
        lines = range(first, min(frames, first + _FRAMES_OF_A_STACK))
        stack = struct.pack("<IHH", 1 + first, len(lines), 0) + b"".join(
            struct.pack("<Ii", 1, line + 1) for line in lines
        )
        records.append(record(now_ns, _STACK, pid, stack))
    chunks = [_chunk(each, now_ns, pid) for each in records]
    size = 4096 + sum(map(len, chunks))
    return header(3, 0, 0, pid, _CHUNK_BYTES, now_ns, next_chunk=size) + b"".join(chunks)


def agent_with_facts(facts: Iterable[tuple[bytes, bytes]], pid: int, now_ns: int) -> bytes:
    """Return an agent's spool in which it says these facts (key and value) of its JVM."""
    said = (
        record(now_ns, _FACT, pid, struct.pack("<HHI", len(key), 0, len(value)) + key + value) for key, value in facts
    )
    chunks = [_chunk(each, now_ns, pid) for each in said]
    size = 4096 + sum(map(len, chunks))
    return header(3, 0, 0, pid, _CHUNK_BYTES, now_ns, next_chunk=size) + b"".join(chunks)


def _chunk(content: bytes, now_ns: int, pid: int) -> bytes:
    head = struct.pack("<qHHIII", now_ns, 32, 0, pid, _CHUNK_HEAD_BYTES + len(content), 0)
    return (head + content).ljust(_CHUNK_BYTES, b"\0")
