"""From what agents write about locks to tables: who waited, who woke, who held, and what is told where something is missing."""

from __future__ import annotations

import csv
import json
import os
import resource
import zipfile
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.locks.analysis import locks
from headway.record.finalise.finalise import finalise
from headway.report.export import export_csv
from headway.store import Recording, open_recording
from support.builders.edited_manifest import take_tables_as_they_are
from support.builders.lock_spool_builder import (
    AGAIN,
    MONITOR,
    OPEN,
    PARK,
    PINNED,
    TIMED,
    VIRTUAL,
    WAIT,
    LockAgent,
    LockTable,
    Slot,
)
from support.builders.spool_builder import DEAD, PERF, Spool

MS = 1_000_000
ROOT, T1, T2, T3, VM, CARE = 10, 11, 12, 13, 14, 15
LOCK, QUEUE = b"java.util.concurrent.locks.ReentrantLock$NonfairSync", b"java.lang.Object"
KERNEL = ("waker_thread_id", "waker_java_id", "waking_ns", "is_kernel_waking")


@pytest.fixture
def agent() -> LockAgent:
    """A JVM with the threads 1 to 5: main and three workers, and headway's own."""
    agent = LockAgent(ROOT, created_ns=1 * MS)
    for tid, java_id, name in ((ROOT, 1, b"main"), (T1, 21, b"w1"), (T2, 22, b"w2"), (T3, 23, b"w3")):
        agent.thread(2 * MS, tid, java_id, name)
    agent.thread(2 * MS, CARE, 40, b"headway care", b"system")
    agent.fact(b"locks", b"on")
    return agent


class Cpu:
    """A spool in which threads sleep and are woken on one CPU; each runs for 10 us once it is woken."""

    def __init__(self) -> None:
        self.spool = Spool()
        self.spool.snapshot(0, ROOT, "S", pid=ROOT)
        for i, tid in enumerate((T1, T2, T3, VM, CARE)):
            self.spool.snapshot(0, tid, "S", start_ns=i + 1, pid=ROOT)

    def wake(self, ns: int, tid: int, by: int | None = None, irq: bool = False) -> None:
        """Wake a sleeping thread, which runs 1 us later, for 10 us."""
        self.spool.waking(ns, 0, tid, by=by, irq=irq)
        self.spool.switch(ns + 1000, 0, None, tid)
        self.spool.switch(ns + 11_000, 0, tid, None)


@pytest.fixture
def cpu() -> Cpu:
    return Cpu()


def finished(
    tmp_path: Path,
    agents: LockAgent | list[LockAgent],
    cpu: Cpu | None = None,
    tables: LockTable | list[LockTable] | None = None,
    **draft: Any,
) -> Recording:
    """Finalise a recording of [0, 100 ms] with these files in its spool."""
    directory = tmp_path / "a.headway"
    spool = directory / "spool"
    spool.mkdir(parents=True)
    (cpu or Cpu()).spool.write(spool)
    for agent in [agents] if isinstance(agents, LockAgent) else agents:
        agent.write(spool)
    for table in [tables] if isinstance(tables, LockTable) else tables or []:
        table.write(spool)
    base = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": ROOT}
    window = {"start_ns": 0, "end_ns": 100 * MS}
    manifest = {**base, "attached": True, "ended_by": "exit", "window": window, "notices": [], **draft}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    finalise(directory)
    return open_recording(directory)


def rows(recording: Recording, table: str, *names: str) -> list[tuple[Any, ...]]:
    return recording.query(f"SELECT {', '.join(names)} FROM {table}").fetchall()


def thread_ids(recording: Recording) -> dict[int, int]:
    return dict(recording.query("SELECT tid, thread_id FROM thread").fetchall())


def test_a_park_tells_who_waited_for_what_who_held_it_and_who_woke_it(agent: LockAgent, tmp_path: Path) -> None:
    agent.method(3, b"java.util.concurrent.locks.LockSupport", b"park")
    agent.method(7, b"app.Main", b"work")
    agent.stack(4, [(3, -1), (7, 42)])
    agent.stack(9, [(7, -2)], is_cut=True)
    agent.blocker(5 * MS, 2, PARK, LOCK, 0x1234, 21, b"w1", 4)
    agent.block(
        T1, 21, 5 * MS, 9 * MS, 2, PARK, TIMED, 8 * MS, waker=22, owner=22, stack_id=4, waker_stack_id=9, weight=3
    )
    got = finished(tmp_path, agent)
    ids = thread_ids(got)
    block = got.query(
        "SELECT * EXCLUDE (is_virtual, is_pinned, is_open, is_attached, is_end_guessed, is_repark, owns_monitor) FROM block"
    )
    assert dict(zip([each[0] for each in block.description], block.fetchall()[0], strict=True)) == {
        "pid": ROOT, "thread_id": ids[T1], "java_id": 21, "blocker_id": 0, "kind": "park", "is_timed": True,
        "start_ns": 5 * MS, "dur_ns": 4 * MS, "stack_id": 0, "weight": 3, "waker_thread_id": ids[T2], "waker_java_id": 22,
        "waker_stack_id": 1, "waking_ns": 8 * MS, "is_kernel_waking": False, "owner_thread_id": ids[T2], "owner_java_id": 22,
    }  # fmt: skip
    assert rows(
        got, "stack JOIN frame USING (frame_id)", "stack_id", "depth", "class_name", "method", "line", "kind"
    ) == [
        (0, 0, "java.util.concurrent.locks.LockSupport", "park", None, "native"),
        (0, 1, "app.Main", "work", 42, "java"),
        (1, 0, "app.Main", "work", None, "java"),
    ]
    assert rows(got, "stack", "stack_id", "is_cut") == [(0, False), (0, False), (1, True)]
    names = ("pid", "kind", "class_name", "identity_hash", "first_thread", "first_stack_id", "first_ns", "died_ns")
    assert rows(got, "blocker", *names) == [(ROOT, "park", LOCK.decode(), 0x1234, "w1", 0, 5 * MS, None)]


def test_who_ended_a_wait_for_a_monitor_is_who_woke_the_waiter_last(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, MONITOR)
    cpu.wake(5 * MS, T1, by=T3)
    cpu.wake(20 * MS, T1, by=T3)
    cpu.wake(39 * MS, T1, by=T2)
    cpu.wake(50 * MS, T1, by=T3)
    got = finished(tmp_path, agent, cpu)
    assert rows(got, "block", *KERNEL) == [(thread_ids(got)[T2], 22, 39 * MS, True)]


def test_a_waking_from_an_interrupt_has_a_time_but_no_waker(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, WAIT, TIMED)
    cpu.wake(39 * MS, T1, by=T2, irq=True)
    got = finished(tmp_path, agent, cpu)
    assert rows(got, "block", *KERNEL) == [(None, None, 39 * MS, True)]


def test_the_end_of_a_safepoint_is_not_taken_for_the_waking(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    """Woken by the releaser, the waiter runs into a safepoint, at whose end the VM's own thread wakes it once more."""
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, MONITOR)
    cpu.wake(20 * MS, T1, by=T2)
    cpu.wake(39 * MS, T1, by=VM)
    got = finished(tmp_path, agent, cpu)
    assert rows(got, "block", *KERNEL) == [(thread_ids(got)[T2], 22, 20 * MS, True)]


def test_a_thread_of_the_vm_is_the_waker_where_no_other_is(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, WAIT)
    cpu.wake(39 * MS, T1, by=VM)
    got = finished(tmp_path, agent, cpu)
    assert rows(got, "block", *KERNEL) == [(thread_ids(got)[VM], None, 39 * MS, True)]


def test_an_unpark_that_was_seen_is_believed_rather_than_the_kernel(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, PARK, waking_ns=38 * MS, waker=23)
    cpu.wake(39 * MS, T1, by=T2)
    got = finished(tmp_path, agent, cpu)
    assert rows(got, "block", *KERNEL) == [(thread_ids(got)[T3], 23, 38 * MS, False)]


def test_a_park_ended_by_no_unpark_was_ended_by_whom_the_kernel_names_and_says_so(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, PARK)
    cpu.wake(39 * MS, T1, by=T2)
    got = finished(tmp_path, agent, cpu)
    assert rows(got, "block", *KERNEL) == [(thread_ids(got)[T2], 22, 39 * MS, True)]


def test_recordings_of_before_say_of_no_waking_whether_it_was_the_kernels(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    import pyarrow.parquet as pq

    agent.block(T1, 21, 10 * MS, 40 * MS, 1, PARK)
    cpu.wake(39 * MS, T1, by=T2)
    path = finished(tmp_path, agent, cpu).path
    file = path / "block.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["is_kernel_waking"]), file)
    take_tables_as_they_are(path)
    got = open_recording(path)
    assert rows(got, "block", *KERNEL) == [(thread_ids(got)[T2], 22, 39 * MS, None)]
    (row,) = locks(got).rows
    assert [(each.thread, each.times) for each in row.wakers] == [("w2", 1)]


def test_without_wakings_on_record_wakers_stay_unknown(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    cpu.spool.producer = PERF
    cpu.spool.switch(39 * MS, 0, None, T1)
    cpu.spool.switch(41 * MS, 0, T1, None)
    agent.block(T1, 21, 10 * MS, 40 * MS, 1, MONITOR)
    got = finished(tmp_path, agent, cpu, mode="perf-switch")
    assert rows(got, "block", *KERNEL) == [(None, None, None, None)]


def test_threads_that_stand_still_have_a_stack_and_a_state_in_order_of_time(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.method(1, b"sun.nio.ch.EPoll", b"wait")
    agent.stack(7, [(1, -1)])
    agent.standing(30 * MS, 22, 7, 2)
    agent.standing(20 * MS, 21, 7, 1)
    agent.standing(40 * MS, 21, 99, 1)  # a stack that nobody wrote
    agent.standing(40 * MS, 4711, 7, 1)  # a thread that nobody knows
    agent.standing(40 * MS, 22, 7, 9)  # a state that there is not
    got = finished(tmp_path, agent, cpu)
    ids = thread_ids(got)
    (stack,) = {row[0] for row in rows(got, "stack", "stack_id")}
    assert rows(got, "waiting_stack", "thread_id", "ns", "state", "stack_id") == [
        (ids[T1], 20 * MS, "native", stack),
        (ids[T2], 30 * MS, "sleep", stack),
    ]


# --- holds -----------------------------------------------------------------------------------------------------------


def holds(recording: Recording) -> list[tuple[Any, ...]]:
    return rows(recording, "hold", "thread_id", "java_id", "start_ns", "dur_ns", "source")


def test_a_hold_of_a_monitor_lasts_from_the_acquisition_to_the_waking_of_the_next(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.blocker(5 * MS, 1, MONITOR, QUEUE, 77)
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T2, 22, 12 * MS, 30 * MS, 1, MONITOR)
    cpu.wake(20 * MS - 50_000, T1, by=T3)  # T3 came without contention: its hold is not seen
    cpu.wake(29 * MS, T2, by=T1)
    cpu.wake(35 * MS, T3, by=T2)  # T3 waits for nothing of this monitor
    got = finished(tmp_path, agent, cpu)
    assert holds(got) == [(thread_ids(got)[T1], 21, 20 * MS, 9 * MS, "waking")]
    assert rows(got, "blocker", "holds", "hold_ns") == [(1, 9 * MS)]


def test_a_thread_that_barges_in_ends_its_hold_with_the_first_waking(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    """T1 lets go and gets the monitor back before T2 runs: T2 sleeps on, inside one block, until it is woken again."""
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T2, 22, 12 * MS, 40 * MS, 1, MONITOR)
    cpu.wake(25 * MS, T2, by=T1)
    cpu.wake(39 * MS, T2, by=T1)
    got = finished(tmp_path, agent, cpu)
    assert holds(got) == [(thread_ids(got)[T1], 21, 20 * MS, 5 * MS, "waking")]
    assert rows(got, "block", *KERNEL)[1] == (thread_ids(got)[T1], 21, 39 * MS, True)


def test_a_hold_whose_end_woke_nobody_is_given_up_when_another_gets_the_monitor(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T2, 22, 12 * MS, 30 * MS, 1, MONITOR)  # no waking: it was on its way already
    agent.block(T3, 23, 12 * MS, 50 * MS, 1, MONITOR)
    cpu.wake(45 * MS, T3, by=T1)  # T1 has got it again meanwhile, without contention
    cpu.wake(49 * MS, T3, by=T2)
    assert holds(finished(tmp_path, agent, cpu)) == []


def test_a_hold_whose_end_woke_nobody_is_given_up_when_its_holder_comes_back(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T1, 21, 25 * MS, 30 * MS, 1, MONITOR)
    agent.block(T2, 22, 16 * MS, 50 * MS, 1, MONITOR)
    cpu.wake(45 * MS, T2, by=T1)
    got = finished(tmp_path, agent, cpu)
    assert holds(got) == [(thread_ids(got)[T1], 21, 30 * MS, 15 * MS, "waking")]


def test_a_hold_that_nobody_was_queued_for_when_it_began_is_none(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    """Its end wakes nobody; the waking is the end of a later hold, which was got without contention."""
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T2, 22, 35 * MS, 50 * MS, 1, MONITOR)
    cpu.wake(49 * MS, T2, by=T1)
    assert holds(finished(tmp_path, agent, cpu)) == []


def test_who_waits_on_an_object_is_woken_by_the_release_of_its_monitor(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.blocker(5 * MS, 1, MONITOR, QUEUE, 77)
    agent.blocker(5 * MS, 2, WAIT, QUEUE, 77)
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T2, 22, 12 * MS, 40 * MS, 2, WAIT)
    agent.block(T3, 23, 12 * MS, 60 * MS, 1, MONITOR)  # queued, but the notified one is woken
    cpu.wake(30 * MS, T2, by=T1)
    got = finished(tmp_path, agent, cpu)
    assert holds(got) == [(thread_ids(got)[T1], 21, 20 * MS, 10 * MS, "waking")]


def test_holds_seen_at_the_synchroniser_stand_among_those_from_wakings_in_order_of_time(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, MONITOR)
    agent.block(T2, 22, 12 * MS, 30 * MS, 1, MONITOR)
    cpu.wake(29 * MS, T2, by=T1)
    for start in (15, 25):
        agent.blocker(15 * MS, 5, PARK, LOCK, 5)
        agent.hold(T3, 23, start * MS, (start + 2) * MS, 5)
    got = finished(tmp_path, agent, cpu)
    ids = thread_ids(got)
    assert holds(got) == [
        (ids[T3], 23, 15 * MS, 2 * MS, "owner"),
        (ids[T1], 21, 20 * MS, 9 * MS, "waking"),
        (ids[T3], 23, 25 * MS, 2 * MS, "owner"),
    ]


# --- sums ------------------------------------------------------------------------------------------------------------

SUMS = (
    "times_parked",
    "times_measured",
    "thread_time_ns",
    "real_time_ns",
    "peak_parked",
    "parked_now",
    "holds",
    "hold_ns",
)


def test_sums_are_those_of_the_table_even_where_single_blocks_are_missing(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9, 21, b"w1")
    agent.block(T1, 21, 5 * MS, 6 * MS, 1)
    agent.capped(7 * MS)
    slot = Slot(1, PARK, 0, 9, 21, 0, 3, 1000, 998, 5 * MS, 90 * MS, 50 * MS, 40 * MS, 12, 6 * MS)
    got = finished(tmp_path, agent, tables=LockTable(ROOT, [LOCK], [slot], capped_ns=7 * MS))
    assert rows(got, "blocker", *SUMS) == [(1000, 998, 50 * MS, 40 * MS, 3, 0, 12, 6 * MS)]
    assert rows(got, "blocker", "last_ns") == [(90 * MS,)]
    assert got.manifest.extra["locks"]["capped_ns"] == 7 * MS
    assert [each.id for each in got.notices] == ["HW206"]


def test_a_blocker_without_a_slot_gets_its_sums_from_its_blocks_and_holds(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9)
    for tid, java_id, start, end in ((T1, 21, 10, 20), (T2, 22, 15, 30), (T3, 23, 19, 21), (T1, 21, 40, 45)):
        agent.block(tid, java_id, start * MS, end * MS, 1)
    agent.hold(T1, 21, 20 * MS, 22 * MS, 1)
    got = finished(tmp_path, agent)
    assert rows(got, "blocker", *SUMS) == [(4, 4, 32 * MS, 25 * MS, 3, 0, 1, 2 * MS)]


def test_what_waited_in_a_killed_jvm_is_summed_up_to_its_end(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    cpu.spool.exit(80 * MS, ROOT)
    slot = Slot(1, PARK, 0, 9, 21, 2, 2, 7, 7, 5 * MS, 60 * MS, 10 * MS, 8 * MS)
    got = finished(tmp_path, agent, cpu, LockTable(ROOT, [LOCK], [slot]))
    assert rows(got, "blocker", *SUMS) == [(7, 7, 10 * MS + 2 * 20 * MS, 8 * MS + 20 * MS, 2, 2, 0, 0)]
    assert rows(got, "blocker", "class_name", "first_thread") == [(LOCK.decode(), "w1")]


def test_sums_of_a_forgotten_blocker_are_not_counted_twice(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9)
    agent.blocker(5 * MS, 2, PARK, LOCK, 0)
    agent.block(T1, 21, 10 * MS, 20 * MS, 1)
    agent.dead(30 * MS, 1)
    agent.dead(40 * MS, 1, folded_into=2)
    rest = Slot(2, PARK, 0, 0, 0, 0, 4, 101, 101, 5 * MS, 50 * MS, 12 * MS, 11 * MS, 3, 3 * MS)
    got = finished(tmp_path, agent, tables=LockTable(ROOT, [LOCK], [rest]))
    assert rows(got, "blocker", "identity_hash", "died_ns", *SUMS[:4]) == [
        (9, 30 * MS, 1, 1, 10 * MS, 10 * MS),
        (0, None, 100, 100, 2 * MS, 1 * MS),
    ]


def test_parks_without_a_blocker_have_one_row_in_common(agent: LockAgent, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 20 * MS, 0)
    agent.block(T2, 22, 30 * MS, 35 * MS, 0)
    slot = Slot(0, PARK, 0, 0, 21, 0, 1, 9, 9, 10 * MS, 90 * MS, 50 * MS, 50 * MS)
    got = finished(tmp_path, agent, tables=LockTable(ROOT, [LOCK], [slot]))
    assert rows(got, "blocker", "class_name", "identity_hash", "times_parked") == [("", 0, 9)]
    assert rows(got, "block", "blocker_id") == [(0,), (0,)]


def test_when_every_park_had_a_blocker_there_is_no_row_for_those_without(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9)
    got = finished(tmp_path, agent, tables=LockTable(ROOT, [LOCK], [Slot(0, PARK)]))
    assert rows(got, "blocker", "class_name") == [(LOCK.decode(),)]


def test_a_blocker_whose_death_was_no_longer_written_is_dead_all_the_same(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9)
    slot = Slot(1, PARK, 0, 9, times=1, measured=1, first_ns=5 * MS, last_ns=40 * MS, is_dead=True)
    got = finished(tmp_path, agent, tables=LockTable(ROOT, [LOCK], [slot]))
    assert rows(got, "blocker", "died_ns") == [(40 * MS,)]


class CutTable(LockTable):
    """A table whose last slots the disk had no room for."""

    def write(self, directory: Path) -> Path:
        path = super().write(directory)
        path.write_bytes(path.read_bytes()[:-50])
        return path


def test_a_damaged_table_is_told_and_its_sums_come_from_the_blocks(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9)
    agent.block(T1, 21, 10 * MS, 20 * MS, 1)
    got = finished(tmp_path, agent, tables=CutTable(ROOT, [LOCK], [Slot(1, PARK, times=5)]))
    assert rows(got, "blocker", "times_parked", "thread_time_ns") == [(1, 10 * MS)]
    assert [each.id for each in got.notices] == ["HW229"]


# --- windows, threads, JVMs ------------------------------------------------------------------------------------------


def test_open_blocks_are_closed_at_the_end_and_later_ones_cut_off(agent: LockAgent, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 99 * MS, 1, flags=OPEN)
    agent.block(T2, 22, 20 * MS, 130 * MS, 1)
    agent.block(T3, 23, 110 * MS, 120 * MS, 1)
    got = finished(tmp_path, agent)
    names = ("java_id", "start_ns", "dur_ns", "is_open")
    assert rows(got, "block", *names) == [(21, 10 * MS, 90 * MS, True), (22, 20 * MS, 80 * MS, True)]
    assert rows(got, "blocker", "parked_now", "peak_parked") == [(2, 2)]


def test_a_virtual_thread_has_no_thread_and_only_when_pinned_a_waker_by_the_kernel(
    agent: LockAgent, cpu: Cpu, tmp_path: Path
) -> None:
    agent.block(T1, 90, 10 * MS, 20 * MS, 1, MONITOR, VIRTUAL)
    agent.block(T1, 91, 30 * MS, 40 * MS, 1, MONITOR, VIRTUAL | PINNED)
    cpu.wake(19 * MS, T1, by=T2)
    cpu.wake(39 * MS, T1, by=T3)
    got = finished(tmp_path, agent, cpu)
    names = ("thread_id", "java_id", "is_virtual", "is_pinned", "waker_java_id")
    assert rows(got, "block", *names) == [(None, 90, True, False, None), (None, 91, True, True, 23)]


def test_the_main_thread_after_main_is_still_the_main_thread(agent: LockAgent, tmp_path: Path) -> None:
    agent.thread(50 * MS, ROOT, 33, b"DestroyJavaVM")
    agent.block(ROOT, 33, 60 * MS, 70 * MS, 1)
    agent.block(T1, 21, 61 * MS, 70 * MS, 1, owner=33, waking_ns=65 * MS, waker=1)
    got = finished(tmp_path, agent)
    main = thread_ids(got)[ROOT]
    assert rows(got, "block", "thread_id", "owner_thread_id", "waker_thread_id") == [
        (main, None, None),
        (main + 1, main, main),
    ]


def test_a_thread_is_found_by_its_tid_when_its_java_id_is_unknown(agent: LockAgent, tmp_path: Path) -> None:
    agent.block(T2, 0, 60 * MS, 70 * MS, 1)
    got = finished(tmp_path, agent)
    assert rows(got, "block", "thread_id", "java_id") == [(thread_ids(got)[T2], 0)]


def test_headways_own_threads_and_what_only_they_wait_for_are_left_out(agent: LockAgent, tmp_path: Path) -> None:
    agent.block(CARE, 40, 5 * MS, 9 * MS, 1)
    agent.block(CARE, 40, 10 * MS, 19 * MS, 2)
    agent.block(T1, 21, 11 * MS, 19 * MS, 2)
    got = finished(tmp_path, agent)
    assert rows(got, "block", "java_id", "blocker_id") == [(21, 0)]
    assert len(rows(got, "blocker", "blocker_id")) == 1


def test_ids_of_two_jvms_do_not_mix(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    other = LockAgent(50, created_ns=1 * MS)
    for tid in (50, 51):
        cpu.spool.snapshot(0, tid, "S", start_ns=tid, pid=50)
    other.thread(2 * MS, 51, 21, b"theirs")
    for each, class_name, line in ((agent, LOCK, 5), (other, QUEUE, 6)):
        each.method(1, b"app.Main", b"run")
        each.stack(1, [(1, line), (1, 7)])
        each.blocker(line * MS, 1, PARK, class_name, 9, 21, b"t", 1)
    agent.block(T1, 21, 10 * MS, 20 * MS, 1, stack_id=1)
    other.block(51, 21, 5 * MS, 9 * MS, 1, stack_id=1)
    got = finished(tmp_path, [agent, other], cpu)
    assert rows(got, "block", "pid", "blocker_id", "stack_id") == [(50, 1, 1), (ROOT, 0, 0)]
    assert rows(got, "blocker", "blocker_id", "pid", "class_name") == [
        (0, ROOT, LOCK.decode()),
        (1, 50, QUEUE.decode()),
    ]
    assert rows(got, "frame", "line") == [(5,), (7,), (6,)]
    names = dict(got.query("SELECT b.pid, t.name FROM block b JOIN thread t USING (thread_id)").fetchall())
    assert names == {ROOT: "w1", 50: "theirs"}


def test_a_blocker_whose_record_was_lost_is_there_by_its_blocks(agent: LockAgent, tmp_path: Path) -> None:
    agent.block(T1, 21, 10 * MS, 20 * MS, 4_000_000_000, MONITOR)
    got = finished(tmp_path, agent)
    assert rows(got, "blocker", "class_name", "kind", "first_ns", "times_parked") == [
        ("unknown", "monitor", 10 * MS, 1)
    ]


# --- what is told ----------------------------------------------------------------------------------------------------


def test_without_locks_there_are_no_tables_of_locks(tmp_path: Path) -> None:
    agent = LockAgent(ROOT, created_ns=1 * MS)
    agent.thread(2 * MS, ROOT, 1, b"main")
    got = finished(tmp_path, agent)
    assert not {"block", "blocker", "hold", "stack", "frame"} & set(got.manifest.tables)
    assert got.manifest.extra["locks"]["on"] is False
    assert got.notices == ()


def test_locks_on_and_nobody_waited_gives_empty_tables(agent: LockAgent, tmp_path: Path) -> None:
    got = finished(tmp_path, agent, locks={"threshold": 3})
    assert {
        name: got.manifest.tables[name].rows for name in ("block", "blocker", "hold", "stack", "frame")
    } == dict.fromkeys(("block", "blocker", "hold", "stack", "frame"), 0)
    assert (got.manifest.extra["locks"]["on"], got.manifest.extra["locks"]["threshold"]) == (True, 3)


@pytest.mark.parametrize(("threshold", "counted", "messages"), [(3, 7, ["HW217"]), (3, 0, []), (None, 0, [])])
def test_waits_that_were_only_counted_are_told(
    agent: LockAgent, tmp_path: Path, threshold: int | None, counted: int, messages: list[str]
) -> None:
    got = finished(tmp_path, agent, tables=LockTable(ROOT, below_threshold=counted), locks={"threshold": threshold})
    assert [each.id for each in got.notices] == messages
    assert all("the first 3 waits were only counted, 7 in all" in each.message for each in got.notices)
    assert got.manifest.extra["locks"]["below_threshold"] == counted


@pytest.mark.parametrize(("version", "name"), [("21.0.4", "virtual thread #77"), ("17.0.12", ""), ("", "")])
def test_a_first_thread_that_is_known_by_its_id_alone_is_virtual_where_the_jvm_can_have_such(
    agent: LockAgent, tmp_path: Path, version: str, name: str
) -> None:
    if version:
        agent.fact(b"java.version", version.encode())
    for blocker_id, java_id in ((1, 21), (2, 77), (3, 0)):
        agent.blocker(10 * MS, blocker_id, PARK, LOCK, blocker_id, java_id)
    got = finished(tmp_path, agent)
    assert rows(got, "blocker", "first_thread") == [("w1",), (name,), ("",)]


def test_what_kept_locks_from_being_recorded_whole_is_told(agent: LockAgent, tmp_path: Path) -> None:
    other = LockAgent(50, created_ns=1 * MS)
    other.fact(b"locks_problem", b"the class could not be changed")
    agent.fact(b"parked_before", b"there are too many")
    agent.fact(b"locks_gap", f"{10 * MS} {20 * MS}".encode())
    agent.fact(b"locks_lost", f"{50 * MS} {60 * MS}".encode())
    got = finished(tmp_path, [agent, other], tables=LockTable(ROOT, dropped=5))
    assert [each.id for each in got.notices] == ["HW207", "HW208", "HW218", "HW209", "HW210"]
    facts = got.manifest.extra["locks"]
    assert (facts["dropped"], facts["problem"]) == (5, "the class could not be changed")


def test_tables_of_locks_are_exported_as_csv(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 1, PARK, LOCK, 9)
    agent.block(T1, 21, 10 * MS, 20 * MS, 1)
    got = finished(tmp_path, agent)
    lines = list(csv.DictReader(export_csv(got, tmp_path / "b.csv", table="block").read_text().splitlines()))
    assert [(each["java_id"], each["dur_ns"], each["waker_thread_id"]) for each in lines] == [("21", str(10 * MS), "")]
    names = zipfile.ZipFile(export_csv(got, tmp_path / "all.zip", table="all")).namelist()
    assert {"block.csv", "blocker.csv"} <= set(names)


def test_threads_that_end_and_begin_under_one_tid_are_told_apart(agent: LockAgent, cpu: Cpu, tmp_path: Path) -> None:
    cpu.spool.exit(40 * MS, T3)
    cpu.spool.switch(40 * MS, 0, T3, None, DEAD)
    cpu.spool.fork(60 * MS, T3, pid=ROOT)
    agent.block(T3, 0, 10 * MS, 20 * MS, 1)
    agent.block(T3, 0, 70 * MS, 80 * MS, 1)
    got = finished(tmp_path, agent, cpu)
    births = [row[0] for row in got.query("SELECT t.start_ns FROM block b JOIN thread t USING (thread_id)").fetchall()]
    assert births == [0, 60 * MS]


def test_waits_of_more_jvms_than_a_process_may_have_files_open_are_all_there(tmp_path: Path) -> None:
    """The waits of those whose files could not be opened were left out, and nothing told of it."""
    jvms = 60
    agents = []
    for number in range(jvms):
        agent = LockAgent(1000 + number, created_ns=1 * MS)
        agent.fact(b"locks", b"on")
        agent.blocker(5 * MS, 2, PARK, LOCK, 0x1234, 21, b"w1")
        agent.block(T1, 21, 5 * MS, 9 * MS, 2)
        agent.hold(T1, 21, 9 * MS, 10 * MS, 2)
        agents.append(agent)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 40, hard))
    try:
        recording = finished(tmp_path, agents)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert recording.query("SELECT count(*), sum(dur_ns) FROM block").fetchall() == [(jvms, jvms * 4 * MS)]
    assert recording.query("SELECT count(*), sum(dur_ns) FROM hold").fetchall() == [(jvms, jvms * MS)]


def test_a_wait_that_began_before_the_recording_is_one_though_its_first_park_is_not_in_it(
    agent: LockAgent, tmp_path: Path
) -> None:
    agent.blocker(5 * MS, 2, PARK, LOCK, 0x1234, 21, b"w1")
    agent.block(T1, 21, 1 * MS, 3 * MS, 2)
    agent.block(T1, 21, 12 * MS, 14 * MS, 2, flags=AGAIN)
    agent.block(T1, 21, 15 * MS, 18 * MS, 2, flags=AGAIN)
    recording = finished(tmp_path, agent, window={"start_ns": 10 * MS, "end_ns": 100 * MS})
    sums = ("times_parked", "times_measured", "peak_parked", "thread_time_ns")
    assert rows(recording, "blocker", *sums) == [(1, 1, 1, 5 * MS)]
