"""Several parks that are one wait, virtual threads that sleep as holders, and coroutines; each small enough to count by hand."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.locks.analysis import locks
from headway.analyses.locks.answer import Locks
from headway.analyses.locks.types import Lock
from headway.analyses.waits import pieces
from headway.analyses.waits.classification.sites import line_of
from headway.analyses.waits.tables.acquisitions import waits_of
from headway.record.finalise.finalise import finalise
from headway.store import Recording, open_recording
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.lock_spool_builder import AGAIN, PARK, VIRTUAL, LockAgent, LockTable, Slot
from support.builders.spool_builder import Spool
from support.builders.synthetic import FakeThread

MS = 1_000_000
ROOT, T1 = 10, 11
LOCK = b"java.util.concurrent.locks.ReentrantLock$NonfairSync"
SLEEP = "java.lang.Thread.sleep"
SLEEP_FRAMES = (("java.lang.VirtualThread", "sleepNanos"), ("java.lang.Thread", "sleep"), ("app.Main", "hold"))


@pytest.fixture
def agent() -> LockAgent:
    agent = LockAgent(ROOT, created_ns=1 * MS)
    agent.thread(2 * MS, ROOT, 1, b"main")
    agent.thread(2 * MS, T1, 21, b"w1")
    agent.fact(b"locks", b"on")
    return agent


def finished(folder: Path, agent: LockAgent, table: LockTable | None = None) -> Recording:
    """Finalise a recording of [0, 100 ms] with what an agent and the kernel wrote."""
    directory = folder / "a.headway"
    (directory / "spool").mkdir(parents=True)
    cpu = Spool()
    cpu.snapshot(0, ROOT, "S", pid=ROOT)
    cpu.snapshot(0, T1, "S", start_ns=1, pid=ROOT)
    cpu.write(directory / "spool")
    agent.write(directory / "spool")
    if table is not None:
        table.write(directory / "spool")
    base = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": ROOT}
    window = {"start_ns": 0, "end_ns": 100 * MS}
    manifest = {**base, "attached": True, "ended_by": "exit", "window": window, "notices": []}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    finalise(directory)
    return open_recording(directory)


def rows(recording: Recording, table: str, *names: str) -> list[tuple[Any, ...]]:
    return recording.query(f"SELECT {', '.join(names)} FROM {table}").fetchall()


def answer(folder: Path, lock_recording: LockRecording, **options: object) -> Locks:
    return locks(open_recording(lock_recording.write(folder / "a.headway")), **options)  # type: ignore[arg-type]


def only(result: Locks) -> Lock:
    (row,) = result.rows
    return row


def threads(count: int = 3) -> list[FakeThread]:
    return [FakeThread("app", 0, [("R", 100)], f"t{i}") for i in range(count)]


REPARKED = (
    Wait(0, 0, 0, 10, waker=2, waking=9, stack=0),
    Wait(1, 0, 5, 12, waker=2, waking=11, stack=0),
    Wait(0, 0, 12, 30, waker=1, waking=29, stack=0, is_repark=True),
    Wait(0, 0, 31, 35, waker=2, waking=34, stack=0, is_repark=True),
    Wait(0, 0, 50, 51, waker=2, waking=51, stack=0),
)


def test_parks_of_one_acquisition_are_one_wait_in_every_figure(tmp_path: Path) -> None:
    row = only(answer(tmp_path, LockRecording(threads(), REPARKED, stacks=[LOCK_FRAMES])))
    assert (row.sums.times_parked, row.sums.thread_time_ns) == (3, 10 + 7 + 18 + 4 + 1)
    assert row.metrics.average_parking_time_ns == 40 / 3
    assert row.wait is not None
    assert (row.wait.count, row.wait.p50_ns, row.wait.max_ns) == (3, 7, 32)
    assert [(site.times, site.thread_time_ns) for site in row.sites] == [(3, 40)]
    assert [(waker.thread, waker.times) for waker in row.wakers] == [("t2", 3)]  # who woke it in vain ended no wait


def test_a_window_counts_the_waits_that_began_in_it_and_the_time_of_all(tmp_path: Path) -> None:
    row = only(answer(tmp_path, LockRecording(threads(), REPARKED, stacks=[LOCK_FRAMES]), window=(11, 60)))
    assert (row.sums.times_parked, row.sums.thread_time_ns) == (1, 1 + 18 + 4 + 1)
    assert row.wait is not None
    assert (row.wait.count, row.wait.max_ns) == (1, 1)


def test_no_wait_counts_as_missing_because_it_took_several_parks(tmp_path: Path) -> None:
    result = answer(tmp_path, LockRecording(threads(), REPARKED, stacks=[LOCK_FRAMES]))
    assert not [notice for notice in result.notices if notice.id == "HW431"]


def test_a_park_whose_first_one_is_not_on_record_is_no_part_of_another_wait() -> None:
    thread, blocker = np.array([1, 1, 2, 1]), np.array([4, 5, 4, 4])
    found = waits_of(thread, blocker, np.array([10, 20, 30, 40]), np.array([False, True, True, True]))
    assert found.begins.tolist() == [True, False, False, False]
    assert found.ends.tolist() == [True, True, True, True]
    assert found.ns.tolist() == [10, 20, 30, 40]


def test_the_agents_mark_goes_into_the_table_and_sums_from_single_blocks_count_waits(
    agent: LockAgent, tmp_path: Path
) -> None:
    agent.blocker(5 * MS, 2, PARK, LOCK, 0x1234, 21, b"w1")
    for start, flags in ((10, 0), (20, AGAIN), (40, 0)):
        agent.block(T1, 21, start * MS, (start + 5) * MS, 2, flags=flags)
    got = finished(tmp_path, agent)
    assert rows(got, "block", "start_ns", "is_repark") == [(10 * MS, False), (20 * MS, True), (40 * MS, False)]
    assert rows(got, "blocker", "times_parked", "times_measured", "thread_time_ns") == [(2, 2, 15 * MS)]


def test_the_agents_sums_and_its_single_blocks_agree(agent: LockAgent, tmp_path: Path) -> None:
    agent.blocker(5 * MS, 2, PARK, LOCK, 0x1234, 21, b"w1")
    for start, flags in ((10, VIRTUAL), (20, VIRTUAL | AGAIN)):
        agent.block(T1, 5000, start * MS, (start + 5) * MS, 2, flags=flags)
    slot = Slot(2, PARK, 1, 0x1234, 5000, first_ns=10 * MS, last_ns=25 * MS, times=1, measured=1, peak_parked=1)
    slot.thread_time_ns = slot.real_time_ns = 10 * MS
    result = locks(finished(tmp_path, agent, LockTable(ROOT, [b"", LOCK], [slot])))
    row = only(result)
    assert (row.sums.times_parked, row.sites[0].times, row.wait and row.wait.count) == (1, 1, 1)
    assert not [notice for notice in result.notices if notice.id == "HW431"]


def test_a_virtual_holder_that_sleeps_or_waits_elsewhere_is_known_by_its_own_blocks(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads(2),
        [
            Wait(0, 0, 0, 90, owner=-1, waker=-1, waking=90, stack=0),
            Wait(-1, 1, 10, 60, stack=1, is_timed=True),
            Wait(-1, 2, 70, 80, owner=1, waker=1, waking=80, stack=0),
        ],
        [LockHold(0, -1, 0, 90)],
        classes=[LOCK_CLASS, SLEEP, LOCK_CLASS],
        no_objects=[1],
        stacks=[LOCK_FRAMES, SLEEP_FRAMES],
    )
    result = answer(tmp_path, lock_recording, by="lock")
    row = next(row for row in result.rows if row.sums.thread_time_ns == 90)
    assert row.holding is not None
    assert {state: ns for state, ns in row.holding.items() if ns} == {"sleeping": 50, "blocked": 10, "unknown": 30}
    asleep = next(row for row in result.rows if row.class_name == SLEEP)
    assert (asleep.rule.id, asleep.contention) == ("sleep", False)


def test_who_sleeps_keeps_what_it_has_until_it_wakes_the_next_one(tmp_path: Path) -> None:
    """A semaphore's holder is known by its wakings alone; a sleep in between is no idle waiting."""
    semaphore = "java.util.concurrent.Semaphore$NonfairSync"
    lock_recording = LockRecording(
        threads(2),
        [
            Wait(-1, 0, 0, 5, waker=1, waking=5, stack=0),
            Wait(-1, 1, 10, 60, stack=1, is_timed=True),
            Wait(0, 0, 6, 70, waker=-1, waking=70, stack=0),
        ],
        classes=[semaphore, SLEEP],
        no_objects=[1],
        stacks=[((semaphore, "acquire"), ("app.Main", "work")), SLEEP_FRAMES],
    )
    row = next(row for row in answer(tmp_path, lock_recording, by="lock").rows if row.class_name == semaphore)
    assert row.holding is not None
    assert row.holding["sleeping"] == 50


@pytest.mark.parametrize(
    ("worker", "jar", "expected"),
    [
        (b"DefaultDispatcher-worker-1", b"kotlinx-coroutines-core-jvm-1.10.2.jar", ["HW230"]),
        (b"pool-1-thread-1", b"kotlinx-coroutines-core-jvm-1.10.2.jar", ["HW231"]),
        (b"DefaultDispatcher-worker-1", b"", ["HW230"]),
        (b"pool-1-thread-1", b"", []),
    ],
)
def test_coroutines_are_said_to_be_unseen_where_they_ran_or_could_have_run(
    worker: bytes, jar: bytes, expected: list[str], tmp_path: Path
) -> None:
    agent = LockAgent(ROOT, created_ns=1 * MS)
    agent.thread(2 * MS, ROOT, 1, b"main")
    agent.thread(2 * MS, T1, 21, worker)
    agent.fact(b"locks", b"on")
    if jar:
        agent.fact(b"coroutines", jar)
    notices = finished(tmp_path, agent).manifest.notices
    assert [notice.id for notice in notices if notice.id in ("HW230", "HW231")] == expected


PAUSES = (*(("java.lang.VirtualThread", name) for name in ("parkNanos", "sleepNanos")), ("java.lang.Thread", "sleep"))


def placed(folder: Path, waits: Sequence[Wait], **facts: Any) -> list[str]:
    """Return what is waited for, as `why` names it, and the line of each wait."""
    names = ("a.A", "b.B")
    stacks = [(*PAUSES, (name, "m")) for name in names] + [(*LOCK_FRAMES, (name, "m")) for name in names]
    threads = [FakeThread("app", 0, [("B", 90), ("R", 10)], "main")]
    recording = open_recording(LockRecording(threads, waits, stacks=stacks, **facts).write(folder))
    found = pieces.load(recording)
    assert found.data is not None
    assert found.sites is not None
    lines = [line_of(found.data, stack).partition(":")[0] for stack in found.sites.stack.tolist()]
    return [*sorted(waited.name for waited in found.places), *lines]


def test_waits_without_a_stack_are_at_the_place_of_all_others_that_wait_so_for_the_object(tmp_path: Path) -> None:
    asleep: dict[str, Any] = {"classes": [SLEEP], "no_objects": [0]}
    sleeps = [Wait(-number, 0, 0, 10 * number, is_timed=True) for number in range(1, 5)]
    at_a = dataclasses.replace(sleeps[0], stack=0)
    at_b = dataclasses.replace(sleeps[1], stack=1)
    assert placed(tmp_path / "one", [at_a, *sleeps[1:]], **asleep) == ["Thread.sleep", *["a.A.m"] * 4]
    unknown = "(stack not known)"
    names = ["Thread.sleep", "Thread.sleep", "Thread.sleep (place not known)"]
    assert placed(tmp_path / "two", [at_a, at_b, *sleeps[2:]], **asleep) == [*names, "a.A.m", "b.B.m", unknown, unknown]
    untimed = [dataclasses.replace(each, is_timed=False) for each in sleeps[1:]]
    assert placed(tmp_path / "other", [at_a, *untimed], **asleep)[-3:] == [unknown] * 3, (
        "waits of another way tell nothing"
    )
    locks = [Wait(-number, 0, 0, 10 * number, stack=2 if number == 4 else None) for number in range(1, 5)]
    assert placed(tmp_path / "lock", locks)[1:] == ["a.A.m"] * 4
