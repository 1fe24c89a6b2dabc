"""The agent's records read while they are written: in pieces they give what they give at once, and damage ends no reader."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from support.builders.lock_spool_builder import PARK, LockAgent
from support.builders.spool_builder import header

PID, CHUNK, HEADER, HEAD = 7, 512, 4096, 24
IDS = range(1, 9)


def records() -> list[bytes]:
    """Return what an agent writes of eight objects: threads, methods, stacks of three frames, and the objects."""
    agent = LockAgent(PID)
    for i in IDS:
        agent.thread(1, i, i, b"thread-%d" % i)
        agent.method(i, b"app.C%d" % i, b"m%d" % i)
        agent.stack(i, [(1 + (i + j) % 8, 10 * i + j) for j in range(3)])
        agent.blocker(2, i, PARK, b"app.Lock", i, i, b"first-%d" % i if i % 2 else b"", i)
    return agent.records


def chunks_of(order: list[int]) -> list[list[bytes]]:
    """Return the records in chunks, each as long as it fits, in an order."""
    all_records, chunks = records(), [[]]  # type: list[bytes], list[list[bytes]]
    for i in order:
        if HEAD + sum(map(len, chunks[-1])) + len(all_records[i]) > CHUNK:
            chunks.append([])
        chunks[-1].append(all_records[i])
    return chunks


def content(chunks: list[list[bytes]], written: list[int], next_chunk: int | None = None) -> bytes:
    """Return the file when of each chunk so many records are there; `next_chunk` is its end if not given."""
    end = HEADER + CHUNK * len(chunks) if next_chunk is None else next_chunk
    parts = [header(3, 0, 0, PID, CHUNK, next_chunk=end)]
    for chunk, count in zip(chunks, written, strict=True):
        used = HEAD + sum(map(len, chunk[:count]))
        head = struct.pack("<qHHIII", 0, 32 if count else 0, 0, 1, used if count else 0, 0)
        parts.append((head + b"".join(chunk[:count])).ljust(CHUNK, b"\0"))
    return b"".join(parts)


def rows_read(reader: Any) -> list[Any]:
    return [(reader.knows(i, i), reader.first_thread(i, i), reader.frames(i)) for i in (*IDS, 0, 99, 2**32 - 1)]


@contextmanager
def opened() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def write(fd: int, data: bytes) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)


@settings(max_examples=80)
@given(data=st.data())
def test_records_read_in_pieces_give_what_they_give_at_once(data: st.DataObject) -> None:
    chunks = chunks_of(data.draw(st.permutations(range(len(records())))))
    whole = [len(chunk) for chunk in chunks]
    with opened() as fd:
        write(fd, content(chunks, whole))
        at_once = _native.LiveRecords()
        assert at_once.read(fd, PID)
    expected = rows_read(at_once)
    assert [each[0] for each in expected] == [True] * len(IDS) + [False] * 3
    assert [each[1] for each in expected[:8]] == [b"first-%d" % i if i % 2 else b"thread-%d" % i for i in IDS]
    frames = [[(b"app.C%d" % (k := 1 + (i + j) % 8), b"m%d" % k, 10 * i + j) for j in range(3)] for i in IDS]
    assert [each[2] for each in expected[:8]] == frames
    pieces, written = _native.LiveRecords(), [0] * len(chunks)
    with opened() as fd:
        for _ in range(data.draw(st.integers(0, 4))):
            written = [data.draw(st.integers(low, high)) for low, high in zip(written, whole, strict=True)]
            write(fd, content(chunks, written))
            assert pieces.read(fd, PID)
        # Two threads may write the figure one after the other, the lower one last: chunks in use are read all the same.
        write(fd, content(chunks, whole, data.draw(st.integers(0, 2**63))))
        assert pieces.read(fd, PID)
    assert rows_read(pieces) == expected


def block(stack_id: int) -> bytes:
    agent = LockAgent(PID)
    agent.block(1, 1, 1, 2, 1, stack_id=stack_id)
    return agent.records[0]


def bytes_read(reader: Any, fd: int) -> int:
    """Return what the kernel counts as read by one call, what it takes to ask included."""
    rows_read = Path("/proc/thread-self/io")
    before = rows_read.read_text()
    assert reader.read(fd, PID)
    return int(rows_read.read_text().split()[1]) - int(before.split()[1])


def test_what_has_been_read_is_not_read_again_nor_what_is_not_written_yet() -> None:
    full = [[block(i) for i in range((CHUNK - HEAD) // len(block(0)))]] * 20_000
    chunks = [*full, *chunks_of(list(range(len(records()))))]
    whole = [len(chunk) for chunk in chunks]
    reader = _native.LiveRecords()
    with opened() as fd:
        data = content(chunks, [*whole[:-1], 0])
        write(fd, data)
        os.ftruncate(fd, len(data) + (32 << 20))  # the agent gets its space ahead of need
        assert bytes_read(reader, fd) < len(data) + 20_000
        reader.read(fd, PID)
        write(fd, content(chunks, whole))
        os.ftruncate(fd, len(data) + (32 << 20))
        assert bytes_read(reader, fd) < 150_000  # the heads of the last 4096 chunks
    assert all(each[0] for each in rows_read(reader)[:8])


def test_a_stack_is_known_once_the_names_of_its_methods_are() -> None:
    agent = LockAgent(PID)
    agent.method(1, b"app.C", b"m")
    agent.blocker(2, 1, PARK, b"app.Lock", 1, 1, b"first", 5)
    agent.stack(5, [(1, 10), (2, 20)])
    early = len(agent.records)
    agent.method(2, b"app.D", b"n")
    reader = _native.LiveRecords()
    with opened() as fd:
        write(fd, content([agent.records], [early]))
        assert reader.read(fd, PID)
        assert (reader.knows(1, 0), reader.knows(1, 5), reader.knows_stack(5)) == (True, False, False)
        write(fd, content([agent.records], [len(agent.records)]))
        assert reader.read(fd, PID)
    assert (reader.knows(1, 5), reader.knows_stack(5), reader.knows_stack(6)) == (True, True, False)
    assert reader.frames(5) == [(b"app.C", b"m", 10), (b"app.D", b"n", 20)]


@settings(max_examples=200)
@given(
    cut=st.integers(0, HEADER + 4 * CHUNK),
    changes=st.lists(st.tuples(st.integers(0, HEADER + 4 * CHUNK), st.integers(0, 255)), max_size=12),
)
def test_a_damaged_file_ends_no_reader(cut: int, changes: list[tuple[int, int]]) -> None:
    chunks = chunks_of(list(range(len(records()))))
    damaged = bytearray(content(chunks, [len(chunk) for chunk in chunks]))
    for at, value in changes:
        damaged[at % len(damaged)] = value
    reader = _native.LiveRecords()
    with opened() as fd:
        for data in (bytes(damaged[:cut]), bytes(damaged)):
            write(fd, data)
            reader.read(fd, PID)
            rows_read(reader)
