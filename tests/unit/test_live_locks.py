"""The agent's live table, read while it is written, cut off, or something else altogether."""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.live import live_rows
from headway.errors import HeadwayError
from headway.model.live_lock import LiveTable
from headway.record.live_locks import TableFile, open_file
from headway.report.lock_json import live_json
from headway.report.terminal.lock_text import live_text
from made_lock_spool import LockAgent
from made_spool import record

CLASSES = ["java.util.concurrent.locks.ReentrantLock$NonfairSync", "java.lang.Object"]
SLOT_BYTES = 128
FIRST_SLOT = 4096 + 4096 * 128


def slot(**values: Any) -> bytes:
    """struct hw_lock_slot of native/wire/records.h."""
    of = {
        "sequence": 0, "blocker_id": 1, "now": 0, "peak": 2, "times": 10, "measured": 10, "first_ns": 1_000,
        "last_ns": 9_000, "thread_ns": 5_000, "real_ns": 3_000, "hash": 0x1234, "class_index": 0, "kind": 1, "dead": 0,
        "first_java_id": 7, "first_stack": 0, "forgotten": 0, "holds": 4, "hold_ns": 400, **values,
    }  # fmt: skip
    return struct.pack("<IIIIQQqqQQiIHHIIIQQ24x", *of.values())


def header(slots: int, **values: Any) -> bytes:
    """struct hw_lock_header."""
    of = {
        "magic": b"HWLOCKS\0", "version": 2, "pid": 42, "created_ns": 500, "slot_bytes": SLOT_BYTES, "slots": slots,
        "classes": len(CLASSES), "forgotten": 0, "dropped": 3, "parked": 1, "capped_ns": 0, "updated_ns": 0, "below": 5,
        **values,
    }  # fmt: skip
    return struct.pack("<8sIIqIIIIQQqqQ", *of.values()).ljust(4096, b"\0")


def table(path: Path, *slots: bytes, **values: Any) -> Path:
    names = b"".join(name.encode().ljust(128, b"\0") for name in CLASSES).ljust(4096 * 128, b"\0")
    path.write_bytes(header(len(slots) + 1, **values) + names + b"\0" * SLOT_BYTES + b"".join(slots))
    return path


def read(path: Path) -> LiveTable:
    file = open_file(path)
    try:
        return file.read()
    finally:
        file.close()


def test_sizes_are_those_of_the_wire_format() -> None:
    assert len(slot()) == SLOT_BYTES


def test_a_table_gives_its_sums_and_what_follows_from_them(tmp_path: Path) -> None:
    found = read(table(tmp_path / "t", slot(), slot(blocker_id=2, class_index=1, kind=2, hash=-1, times=3, measured=3)))
    assert (found.pid, found.since_ns, found.dropped, found.below_threshold, found.missing) == (42, 500, 3, 5, 0)
    lock, monitor = live_rows(found)
    assert (lock.name, monitor.name) == ("ReentrantLock@1234", "Object@ffffffff")
    assert (lock.contention, lock.waiting, monitor.lock.kind) == (True, "lock contention", "monitor")
    assert lock.metrics.average_parking_time_ns == 500
    assert lock.metrics.average_hold_time_ns == 300
    assert lock.metrics.thread_life_time_util_pct == 100 * 5000 / 8000
    assert lock.mean_hold_ns == 100


def test_waits_that_go_on_count_up_to_now(tmp_path: Path) -> None:
    start = time.monotonic_ns() - 10**9
    found = read(table(tmp_path / "t", slot(now=3, first_ns=start, last_ns=start, thread_ns=0, real_ns=0)))
    sums = found.rows[0].sums
    going_on = found.now_ns - start
    assert (sums.thread_time_ns, sums.real_time_ns) == (3 * going_on, going_on)
    assert going_on >= 10**9


def test_free_slots_are_no_rows_and_parks_without_a_blocker_are_one(tmp_path: Path) -> None:
    found = read(table(tmp_path / "t", slot(kind=0, blocker_id=9), slot(blocker_id=0), slot(forgotten=4, hash=0)))
    assert {row.name for row in live_rows(found)} == {"ReentrantLock (together)", "(no blocker)"}


def test_a_snapshot_after_another_tells_how_it_went_in_between(tmp_path: Path) -> None:
    path = tmp_path / "t"
    first = read(table(path, slot(times=10, thread_ns=0)))
    second = read(table(path, slot(times=30, thread_ns=10**6)))
    (row,) = live_rows(second, first)
    seconds = (second.now_ns - first.now_ns) / 1e9
    assert row.parks_per_s == pytest.approx(20 / seconds)
    assert row.waiters == pytest.approx(10**6 / 1e9 / seconds)


def test_the_text_has_every_metric_of_the_paper(tmp_path: Path) -> None:
    found = read(table(tmp_path / "t", slot()))
    text = live_text(found, live_rows(found))
    names = (
        "class", "hash code", "first thread", "first stack", "times parked", "parked now", "peak parked", "parking thread-time",
        "parking real-time", "average parking time", "average hold time", "real-time utilisation",
        "thread-time utilisation", "real-life-time utilisation", "thread-life-time utilisation",
    )  # fmt: skip
    for name in names:
        assert f"  {name} " in text


def agent(directory: Path) -> LockAgent:
    """Return an agent whose file is to stand beside the table `locks-42.table`."""
    made = LockAgent(42)
    made.fact(b"java.version", b"21.0.4")
    made.thread(2, 11, 7, b"worker-7")
    made.method(1, b"java.util.concurrent.locks.ReentrantLock", b"lock")
    made.method(2, b"org.example.Store", b"put")
    made.stack(5, [(1, -2), (2, 42)])
    made.write(directory)
    return made


def test_names_and_stacks_of_first_waits_come_from_the_agents_records_beside_the_table(tmp_path: Path) -> None:
    made = agent(tmp_path)
    made.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1", 5)
    made.blocker(4, 2, 1, CLASSES[0].encode(), 0x1235, 7, b"", 0)
    made.blocker(5, 3, 1, CLASSES[0].encode(), 0x1236, 99, b"", 0)
    made.write(tmp_path)
    unnamed = (slot(blocker_id=3, first_java_id=99), slot(blocker_id=4, first_java_id=0))
    found = read(table(tmp_path / "locks-42.table", slot(first_stack=5), slot(blocker_id=2), *unnamed))
    rows = {row.lock.blocker_id: row for row in live_rows(found)}
    assert [rows[i].lock.first_thread for i in (1, 2, 3, 4)] == ["first-of-1", "worker-7", "virtual thread #99", None]
    assert rows[1].first_stack == ("java.util.concurrent.locks.ReentrantLock.lock", "org.example.Store.put:42")
    assert rows[1].first_line == "org.example.Store.put:42"
    assert (rows[2].first_stack, rows[2].first_line) == ((), None)
    text = live_text(found, list(rows.values()))
    assert "first thread                  first-of-1 (Java id 7)\n" in text
    assert "org.example.Store.put:42\n" in text
    told = live_json(found, list(rows.values()))["locks"][0]
    assert (told["first_thread"], told["first_stack"]) == ("first-of-1", rows[1].first_stack)


def test_records_that_come_while_somebody_looks_are_read_on(tmp_path: Path) -> None:
    made = agent(tmp_path)
    path = table(tmp_path / "locks-42.table", slot(first_stack=5))
    file = open_file(path)
    try:
        assert file.read().rows[0].first_thread == "worker-7"
        made.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1", 5)
        chunks = made.records
        made.records = [chunks[-1], *chunks[:-1]]  # the file has its last record first: what was there stays in place
        made.write(tmp_path)
        assert file.read().rows[0].first_thread == "first-of-1"
    finally:
        file.close()


class Reads:
    """The records of an open table; counts how often they are read, and calls `after` once the first time is over."""

    def __init__(self, file: TableFile, after: Callable[[], None] = lambda: None) -> None:
        firsts: Any = file._records
        self.count, self._after, self._of = 0, after, firsts._records
        firsts._records = self

    def read(self, fd: int, pid: int) -> bool:
        done: bool = self._of.read(fd, pid)
        self.count += 1
        if self.count == 1:
            self._after()
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)


def test_records_that_never_come_are_looked_for_a_few_times_and_again_beside_another_row(tmp_path: Path) -> None:
    made = agent(tmp_path)
    path = table(tmp_path / "locks-42.table", slot(first_java_id=99, first_stack=6))
    with contextlib.closing(open_file(path)) as file:
        reads = Reads(file)
        for _ in range(20):
            assert file.read().rows[0].first_stack == ()
        assert reads.count == 3
        made.blocker(3, 2, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-2", 5)
        made.records.insert(0, made.records.pop())
        made.write(tmp_path)
        table(path, slot(first_java_id=99, first_stack=6), slot(blocker_id=2, first_stack=5))
        assert [row.first_thread for row in file.read().rows] == [None, "first-of-2"]
        assert reads.count == 4


def test_a_method_whose_name_comes_after_the_stack_is_named_once_it_is_there(tmp_path: Path) -> None:
    made = agent(tmp_path)
    made.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1", 5)
    name = made.records.pop(2)
    made.records.insert(2, record(1, 99, 1, b"\0" * 48))  # one that says nothing, in its place
    made.write(tmp_path)
    with contextlib.closing(open_file(table(tmp_path / "locks-42.table", slot(first_stack=5)))) as file:
        assert file.read().rows[0].first_stack[0] == ("unknown", "unknown", None)
        put_into_its_chunk(made, 2, name, tmp_path)
        assert file.read().rows[0].first_stack[0] == ("java.util.concurrent.locks.ReentrantLock", "lock", None)


def test_a_thread_announced_in_front_of_what_has_been_read_is_no_virtual_one(tmp_path: Path) -> None:
    made = agent(tmp_path)
    made.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"", 0)
    announced = made.records.pop(1)
    made.records.insert(1, record(1, 99, 1, b"\0" * 48))
    made.write(tmp_path)
    with contextlib.closing(open_file(table(tmp_path / "locks-42.table", slot()))) as file:
        Reads(file, lambda: put_into_its_chunk(made, 1, announced, tmp_path))
        assert file.read().rows[0].first_thread == "worker-7"


def put_into_its_chunk(made: LockAgent, number: int, late: bytes, directory: Path) -> None:
    """Write the file with a record behind that of this number, in its chunk."""
    made.records[number] += late
    made.write(directory)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("17.0.12", None),
        ("1.8.0_392", None),
        ("20.0.2", None),
        ("21", "virtual thread #99"),
        ("25-ea", "virtual thread #99"),
    ],
)
def test_a_thread_without_a_name_is_virtual_only_where_the_jvm_can_have_such(
    tmp_path: Path, version: str, name: str | None
) -> None:
    made = LockAgent(42)
    made.fact(b"java.version", version.encode())
    made.blocker(5, 1, 1, CLASSES[0].encode(), 0x1236, 99, b"", 0)
    made.write(tmp_path)
    (row,) = read(table(tmp_path / "locks-42.table", slot(first_java_id=99))).rows
    assert row.first_thread == name


@pytest.mark.parametrize("damage", ["missing", "another", "cut off", "random"])
def test_without_the_agents_records_nobody_is_named(tmp_path: Path, damage: str) -> None:
    made = LockAgent(41 if damage == "another" else 42)
    made.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1")
    made.write(tmp_path)
    spool = tmp_path / f"agent-{made.pid}.spool"
    content = spool.read_bytes()
    spool.unlink()
    if damage == "another":
        (tmp_path / "agent-42.spool").write_bytes(content)
    if damage == "cut off":
        spool.write_bytes(content[:4000])
    if damage == "random":
        spool.write_bytes(content[:4096] + bytes(range(256)) * 64)
    (lock,) = read(table(tmp_path / "locks-42.table", slot())).rows
    assert (lock.first_thread, lock.first_stack) == (None, ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cut off"),
        (b"HWLOCKS\0", "cut off"),
        (b"\x7fELF".ljust(8192, b"\0"), "does not begin"),
        (header(2, version=1), "version 1"),
        (header(2, version=3), "version 3"),
        (header(2, slot_bytes=12), "sizes"),
        (header(1 << 31), "sizes"),
        (header(2, classes=1 << 20), "sizes"),
    ],
)
def test_what_is_no_table_is_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(HeadwayError) as caught:
        read(tmp_path / "t")
    assert caught.value.notice.id == "HW065"
    assert reason in caught.value.notice.message


def test_a_missing_file_and_one_that_is_no_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "pipe", "."):
        with pytest.raises(HeadwayError) as caught:
            open_file(tmp_path / name)
        assert caught.value.notice.id == "HW065"


@pytest.mark.parametrize("size", [4096, 5000, FIRST_SLOT, FIRST_SLOT + 200, FIRST_SLOT + 300])
def test_a_cut_off_table_gives_the_rows_that_are_there_and_counts_the_others(tmp_path: Path, size: int) -> None:
    path = table(tmp_path / "t", slot(), slot(blocker_id=2))
    os.truncate(path, size)
    found = read(path)
    whole = max(0, size - FIRST_SLOT) // SLOT_BYTES
    assert found.missing == 3 - whole
    assert len(found.rows) == max(0, whole - 1)


def test_a_slot_that_a_dead_writer_left_half_written_is_shown_and_marked(tmp_path: Path) -> None:
    found = read(table(tmp_path / "t", slot(sequence=7), slot(sequence=8)))
    assert [row.is_torn for row in found.rows] == [True, False]


def test_rows_are_never_torn_however_fast_they_are_written(tmp_path: Path) -> None:
    """A writer keeps all figures of a slot equal and changes them as fast as it can, under the sequence."""
    path = table(tmp_path / "t", *(slot() for _ in range(3)))
    over = threading.Event()

    def write() -> None:
        with open(path, "r+b", buffering=0) as file:
            n = 0
            while not over.is_set():
                n += 1
                for i in (1, 2, 3):
                    at = FIRST_SLOT + i * SLOT_BYTES
                    values = {"times": n, "measured": n, "thread_ns": n, "real_ns": n, "holds": n, "hold_ns": n}
                    os.pwrite(file.fileno(), struct.pack("<I", 2 * n + 1), at)
                    os.pwrite(file.fileno(), slot(**values)[4:64], at + 4)
                    os.pwrite(file.fileno(), slot(**values)[64:], at + 64)
                    os.pwrite(file.fileno(), struct.pack("<I", 2 * n + 2), at)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = set()
        for _ in range(300):
            for row in read(path).rows:
                sums = row.sums
                if not row.is_torn and sums.times_parked != 10:
                    figures = {sums.times_parked, sums.times_measured, sums.thread_time_ns, row.holds, row.hold_ns}
                    assert len(figures) == 1
                    seen |= figures
        assert len(seen) > 1, "the writer wrote meanwhile"
    finally:
        over.set()
        writer.join()
