"""The agent's live table, read while it is written, cut off, or something else altogether."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import struct
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from headway.analyses.locks.live import by_place, live_rows
from headway.errors import HeadwayError
from headway.model.live_lock import LiveTable
from headway.record.live import live_locks
from headway.record.live.table_file import TableFile, open_file
from headway.report.json.live_locks import live_locks_text
from headway.report.terminal import make_console
from headway.report.terminal.live_locks import live_tables
from headway.report.terminal.lock_text import live_text
from support.builders.lock_spool_builder import LockAgent
from support.builders.spool_builder import record

CLASSES = [
    "java.util.concurrent.locks.ReentrantLock$NonfairSync", "java.lang.Object", "java.util.concurrent.Semaphore$FairSync",
]  # fmt: skip
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


def test_of_permits_the_time_between_releases_is_no_hold(tmp_path: Path) -> None:
    found = read(table(tmp_path / "t", slot(class_index=2, holds=0, hold_ns=0)))
    (row,) = live_rows(found)
    assert (row.rule, row.several_holders) == ("semaphore", True)
    assert (row.mean_hold_ns, row.metrics.average_hold_time_ns) == (None, None)
    assert re.search(r"average hold time +- \(several may hold it at once\)", live_text(found, [row]))


def test_waits_that_go_on_count_up_to_now(tmp_path: Path) -> None:
    start = time.monotonic_ns() - 10**9
    found = read(table(tmp_path / "t", slot(now=3, first_ns=start, last_ns=start, thread_ns=0, real_ns=0)))
    sums = found.rows[0].sums
    going_on = found.now_ns - start
    assert (sums.thread_time_ns, sums.real_time_ns) == (3 * going_on, going_on)
    assert going_on >= 10**9


def test_free_slots_are_no_rows_and_parks_without_a_blocker_are_one(tmp_path: Path) -> None:
    found = read(table(tmp_path / "t", slot(kind=0, blocker_id=9), slot(blocker_id=0), slot(forgotten=4, hash=0)))
    assert {row.name for row in live_rows(found)} == {"ReentrantLock (together)", "LockSupport.park"}


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
    agent_records = LockAgent(42)
    agent_records.fact(b"java.version", b"21.0.4")
    agent_records.thread(2, 11, 7, b"worker-7")
    agent_records.method(1, b"java.util.concurrent.locks.ReentrantLock", b"lock")
    agent_records.method(2, b"org.example.Store", b"put")
    agent_records.stack(5, [(1, -2), (2, 42)])
    agent_records.write(directory)
    return agent_records


def test_names_and_stacks_of_first_waits_come_from_the_agents_records_beside_the_table(tmp_path: Path) -> None:
    agent_records = agent(tmp_path)
    agent_records.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1", 5)
    agent_records.blocker(4, 2, 1, CLASSES[0].encode(), 0x1235, 7, b"", 0)
    agent_records.blocker(5, 3, 1, CLASSES[0].encode(), 0x1236, 99, b"", 0)
    agent_records.write(tmp_path)
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
    lock = json.loads(live_locks_text(found, list(rows.values())))["locks"][0]
    assert (lock["first_thread"], lock["first_stack"]) == ("first-of-1", list(rows[1].first_stack))


def test_objects_of_one_place_that_are_waited_for_for_two_reasons_are_two_rows(tmp_path: Path) -> None:
    agent_records = LockAgent(42)
    agent_records.method(1, b"java.util.concurrent.LinkedBlockingQueue", b"take")
    for number, method in ((2, b"next"), (3, b"run"), (4, b"one"), (5, b"two"), (6, b"three")):
        agent_records.method(number, b"org.example.Worker", method)
    agent_records.stack(5, [(1, 9), (2, 42), (3, 7)])
    agent_records.stack(6, [(1, 9), (2, 42), (4, 7), (5, 7), (6, 7)])
    agent_records.write(tmp_path)
    conditions = [slot(blocker_id=i, class_index=1, kind=1, hash=i, first_stack=i) for i in (5, 6)]
    found = read(table(tmp_path / "locks-42.table", *conditions))
    rows = by_place(found, live_rows(found))
    assert {(row.first_line, row.contention, row.rule) for row in rows} == {
        ("org.example.Worker.next:42", True, "queue-in-a-call"),
        ("org.example.Worker.next:42", False, "queue-consumer"),
    }


def test_objects_of_one_place_are_one_row_and_idle_waiting_is_apart(tmp_path: Path) -> None:
    agent_records = LockAgent(42)
    agent_records.thread(2, 11, 7, b"worker-7")
    frames = [
        (b"java.util.concurrent.locks.LockSupport", b"park"),
        (b"java.util.concurrent.LinkedBlockingQueue", b"take"),
    ]
    for number, (name, method) in enumerate(
        [*frames, (b"org.example.Worker", b"run"), (b"org.example.Store", b"put")], 1
    ):
        agent_records.method(number, name, method)
    agent_records.stack(5, [(1, -2), (2, 9), (3, 42)])
    agent_records.stack(6, [(4, 7)])
    agent_records.write(tmp_path)
    condition = {"class_index": 1, "kind": 1, "first_stack": 5}
    monitors = [
        slot(
            blocker_id=i,
            kind=2,
            class_index=1,
            hash=i,
            first_stack=6,
            times=i,
            now=1,
            peak=i,
            thread_ns=1000 * i,
            real_ns=100 * i,
        )
        for i in (2, 3, 4)
    ]
    found = read(table(tmp_path / "locks-42.table", slot(**condition), *monitors))
    rows = by_place(found, live_rows(found))
    assert [(row.objects, row.contention, row.rule) for row in rows] == [
        (3, True, "monitor"),
        (1, False, "queue-consumer"),
    ]
    sums = rows[0].lock.sums
    assert (sums.times_parked, sums.parked_now, sums.peak_parked) == (9, 3, 4)
    assert sums.thread_time_ns >= 9000
    assert rows[0].name == "3 objects (Object)"
    assert rows[0].mean_hold_ns == 100
    out = io.StringIO()
    console = make_console(out)
    console.width = 120
    for each in live_tables(found, rows, width=120):
        console.print(each)
    contention, idle = out.getvalue().split("Idle waiting (no contention)")
    assert "org.example.Store.put:7 3 objects (Object)" in contention
    assert ">=4" in contention
    assert "org.example.Worker.run:42" in idle
    assert "queue-consumer" in idle
    assert "Store" not in idle


def test_without_contention_a_sentence_says_so(tmp_path: Path) -> None:
    found = read(table(tmp_path / "locks-42.table", slot(hash=1, blocker_id=1)))
    idle = [dataclasses.replace(row, contention=False) for row in live_rows(found)]
    for rows, is_said in (([], True), (idle, True), (live_rows(found), False)):
        out = io.StringIO()
        for each in live_tables(found, rows):
            make_console(out).print(each)
        assert ("No thread waited for a lock or a condition." in out.getvalue()) is is_said
        assert ("waits/s" in out.getvalue()) is not is_said


def test_both_tables_say_how_many_rows_they_leave_out(tmp_path: Path) -> None:
    found = read(table(tmp_path / "locks-42.table", *(slot(hash=i, blocker_id=i) for i in range(1, 34))))
    rows = [dataclasses.replace(row, contention=i % 3 > 0) for i, row in enumerate(live_rows(found))]
    said: dict[int | None, str] = {}
    for limit in (None, 20, 22):
        out = io.StringIO()
        console = make_console(out)
        console.width = 120
        for each in live_tables(found, rows, limit, width=120):
            console.print(each)
        said[limit] = out.getvalue()
    assert "more" not in said[None] + said[22]
    contention, idle = said[20].split("Idle waiting (no contention)")
    assert "2 more: --all" in contention
    assert "1 more: --all" in idle


def test_a_jvm_that_ends_before_its_agent_has_a_table_is_told_so() -> None:
    facts = types.SimpleNamespace(pid=os.getpid(), rights=None)  # a process that is no JVM, as one that has ended
    with pytest.raises(HeadwayError) as error:
        live_locks._wait_for_table(cast("Any", types.SimpleNamespace(facts=facts)), None)
    assert error.value.notice.id == "HW073"
    assert f"process {os.getpid()}" in error.value.notice.message


def test_records_that_come_while_somebody_looks_are_read_on(tmp_path: Path) -> None:
    agent_records = agent(tmp_path)
    path = table(tmp_path / "locks-42.table", slot(first_stack=5))
    file = open_file(path)
    try:
        assert file.read().rows[0].first_thread == "worker-7"
        agent_records.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1", 5)
        chunks = agent_records.records
        agent_records.records = [
            chunks[-1],
            *chunks[:-1],
        ]  # the file has its last record first: what was there stays in place
        agent_records.write(tmp_path)
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
    agent_records = agent(tmp_path)
    path = table(tmp_path / "locks-42.table", slot(first_java_id=99, first_stack=6))
    with contextlib.closing(open_file(path)) as file:
        reads = Reads(file)
        for _ in range(20):
            assert file.read().rows[0].first_stack == ()
        assert reads.count == 3
        agent_records.blocker(3, 2, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-2", 5)
        agent_records.records.insert(0, agent_records.records.pop())
        agent_records.write(tmp_path)
        table(path, slot(first_java_id=99, first_stack=6), slot(blocker_id=2, first_stack=5))
        assert [row.first_thread for row in file.read().rows] == [None, "first-of-2"]
        assert reads.count == 4


def test_a_method_whose_name_comes_after_the_stack_is_named_once_it_is_there(tmp_path: Path) -> None:
    agent_records = agent(tmp_path)
    agent_records.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1", 5)
    name = agent_records.records.pop(2)
    agent_records.records.insert(2, record(1, 99, 1, b"\0" * 48))  # one that says nothing, in its place
    agent_records.write(tmp_path)
    with contextlib.closing(open_file(table(tmp_path / "locks-42.table", slot(first_stack=5)))) as file:
        assert file.read().rows[0].first_stack[0] == ("unknown", "unknown", None)
        put_into_its_chunk(agent_records, 2, name, tmp_path)
        assert file.read().rows[0].first_stack[0] == ("java.util.concurrent.locks.ReentrantLock", "lock", None)


def test_a_thread_announced_in_front_of_what_has_been_read_is_no_virtual_one(tmp_path: Path) -> None:
    agent_records = agent(tmp_path)
    agent_records.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"", 0)
    announced = agent_records.records.pop(1)
    agent_records.records.insert(1, record(1, 99, 1, b"\0" * 48))
    agent_records.write(tmp_path)
    with contextlib.closing(open_file(table(tmp_path / "locks-42.table", slot()))) as file:
        Reads(file, lambda: put_into_its_chunk(agent_records, 1, announced, tmp_path))
        assert file.read().rows[0].first_thread == "worker-7"


def put_into_its_chunk(agent_records: LockAgent, number: int, late: bytes, directory: Path) -> None:
    """Write the file with a record behind that of this number, in its chunk."""
    agent_records.records[number] += late
    agent_records.write(directory)


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
    agent_records = LockAgent(42)
    agent_records.fact(b"java.version", version.encode())
    agent_records.blocker(5, 1, 1, CLASSES[0].encode(), 0x1236, 99, b"", 0)
    agent_records.write(tmp_path)
    (row,) = read(table(tmp_path / "locks-42.table", slot(first_java_id=99))).rows
    assert row.first_thread == name


@pytest.mark.parametrize("damage", ["missing", "another", "cut off", "random"])
def test_without_the_agents_records_nobody_is_named(tmp_path: Path, damage: str) -> None:
    agent_records = LockAgent(41 if damage == "another" else 42)
    agent_records.blocker(3, 1, 1, CLASSES[0].encode(), 0x1234, 7, b"first-of-1")
    agent_records.write(tmp_path)
    spool = tmp_path / f"agent-{agent_records.pid}.spool"
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
