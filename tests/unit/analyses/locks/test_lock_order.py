"""Locks in order and in rows: by what they cost whatever they are, many of one place together, the place before the object."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.locks.analysis import Locks, locks
from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits.classification.roles import IS_IDLE
from headway.analyses.waits.rules import OTHER, RULES
from headway.report.terminal import make_console
from headway.report.terminal.locks import render_locks, verdict
from headway.store import open_recording
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
LATCH = "java.util.concurrent.CountDownLatch$Sync"
OBJECT = "java.lang.Object"
POOL = (
    ("jdk.internal.misc.Unsafe", "park"),
    (CONDITION, "await"),
    ("java.util.concurrent.ArrayBlockingQueue", "take"),
    ("org.example.Pool", "borrow"),
    ("org.example.Server", "handle"),
    ("java.lang.Thread", "run"),
)
TINY = (*LOCK_FRAMES, ("org.example.Stats", "add"), ("org.example.Server", "handle"), ("java.lang.Thread", "run"))
CLIENT = (*LOCK_FRAMES, ("org.example.Client", "send"), ("org.example.Server", "handle"), ("java.lang.Thread", "run"))
WORKER = (
    ("jdk.internal.misc.Unsafe", "park"),
    (CONDITION, "await"),
    ("java.util.concurrent.LinkedBlockingQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    ("java.lang.Thread", "run"),
)
AWAIT = (("java.util.concurrent.CountDownLatch", "await"), ("org.example.Start", "gun"), ("java.lang.Thread", "run"))
PUT = (
    ("jdk.internal.misc.Unsafe", "park"),
    (CONDITION, "await"),
    ("java.util.concurrent.ArrayBlockingQueue", "put"),
    ("org.example.Stage", "pass"),
    ("java.lang.Thread", "run"),
)
DELAY_QUEUE = "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue"
SLEEP = (*LOCK_FRAMES, (DELAY_QUEUE, "offer"), ("java.lang.Thread", "sleep"), *CLIENT[len(LOCK_FRAMES) :])
STACKS = (POOL, TINY, CLIENT, WORKER, AWAIT, PUT, SLEEP)
POOLED, TINIES, CLIENTS, WORKERS, AWAITS, PUTS, SLEEPS = range(7)
WALL = 1000


def idle(count: int) -> list[FakeThread]:
    return [FakeThread("app", 0, [("R", 1), ("B", WALL - 1)], f"t{number}") for number in range(count)]


def answer(folder: Path, waits: list[Wait], classes: list[str], **options: Any) -> Locks:
    threads = options.pop("threads", None) or idle(8)
    lock_recording = LockRecording(threads, waits, options.pop("holds", ()), wall=WALL, classes=classes, stacks=STACKS)
    return locks(open_recording(lock_recording.write(folder / "a.headway")), **options)


@pytest.fixture
def pooled(tmp_path: Path) -> Locks:
    """A pool that costs much, a lock of next to nothing, a worker without work for most of the time."""
    waits = [
        Wait(0, 0, 100, 104, stack=TINIES),
        *(Wait(thread, 1, 200, 200 + 100 * thread, stack=POOLED) for thread in range(1, 5)),
        Wait(5, 2, 10, 990, stack=WORKERS),
    ]
    return answer(tmp_path, waits, [LOCK_CLASS, CONDITION, CONDITION])


def shown(found: Locks, width: int) -> str:
    console = make_console(io.StringIO())
    console.width = width
    render_locks(found, console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_the_dearest_comes_first_whatever_kind_of_waiting_it_is_and_idle_waiting_comes_last(pooled: Locks) -> None:
    assert [row.place for row in pooled.rows] == [
        "org.example.Pool.borrow:3",
        "org.example.Stats.add:4",
        "java.util.concurrent.LinkedBlockingQueue.take:2",
    ]
    costs = [row.lost_core_ns or 0 for row in pooled.rows]
    assert costs[0] > 100 * costs[1] > 100 * costs[2] == 0
    assert [row.contention for row in pooled.rows] == [True, True, False]


def test_the_verdict_names_the_place_first_then_the_object(pooled: Locks) -> None:
    assert verdict(pooled)[0].startswith(
        "org.example.Pool.borrow:3 (Condition@1001) made threads wait for 1.00 us in all"
    )
    assert verdict(pooled)[-1] == "1 more place cost 4.00 ns of threads' time."


def test_of_equal_lost_core_time_the_longer_waits_come_first_and_the_headline_is_no_instant(tmp_path: Path) -> None:
    busy = [FakeThread("app", 0, [("R", WALL)], f"r{n}") for n in range(2)]  # both cores, all the time
    waits = [Wait(2, 0, 0, 2, stack=TINIES), Wait(3, 1, 0, 900, stack=POOLED)]
    found = answer(tmp_path, waits, [LOCK_CLASS, CONDITION], threads=[*busy, *idle(4)])
    first, second = found.rows
    assert (first.lost_core_ns, second.lost_core_ns) == (0, 0)
    assert (first.name, second.name) == ("Condition@1001", "ReentrantLock@1000")
    assert verdict(found)[0].startswith("org.example.Pool.borrow:3 ")


def test_objects_of_one_place_make_one_row_that_sums_them_up(tmp_path: Path) -> None:
    waits = [Wait(n, n, 100 * n, 100 * n + 30 + n, stack=CLIENTS) for n in range(6)]
    waits += [Wait(7, 6, 300, 400, stack=TINIES)]
    holds = [LockHold(n, 7, 100 * n, 100 * n + 20) for n in range(6)]
    found = answer(tmp_path, waits, [LOCK_CLASS] * 7, holds=holds)
    first, second = found.rows
    assert (first.place, first.objects, first.sums.times_parked) == ("org.example.Client.send:4", 6, 6)
    assert first.sums.thread_time_ns == sum(wait.end - wait.start for wait in waits[:6])
    assert first.name == "org.example.Client.send:4, 6 objects"
    assert (first.blocker_id, first.identity_hash, first.first_thread, first.chain) == (None, None, None, ())
    assert first.true_hold is not None
    assert (first.true_hold.count, first.true_hold.mean_ns) == (6, 20)
    assert first.holding is not None
    assert sum(first.holding.values()) == first.sums.thread_time_ns
    assert (second.place, second.objects, second.blocker_id) == ("org.example.Stats.add:4", 1, 6)
    assert verdict(found)[0].startswith("org.example.Client.send:4, 6 objects (ReentrantLock) made threads wait")
    alone = answer(tmp_path / "b", waits, [LOCK_CLASS] * 7, by="lock")
    assert sorted(row.blocker_id or 0 for row in alone.rows) == list(range(7))


def test_an_object_belongs_to_the_place_where_it_is_waited_for_longest_and_stays_whole(tmp_path: Path) -> None:
    waits = [
        Wait(0, 0, 0, 300, stack=CLIENTS),
        Wait(1, 0, 400, 420, stack=TINIES),
        Wait(2, 1, 500, 700, stack=CLIENTS),
        Wait(3, 2, 750, 780, stack=TINIES),
    ]
    found = answer(tmp_path, waits, [LOCK_CLASS] * 3)
    assert [(row.place, row.objects, row.sums.thread_time_ns) for row in found.rows] == [
        ("org.example.Client.send:4", 2, 520),
        ("org.example.Stats.add:4", 1, 30),
    ]


def test_objects_of_different_classes_at_one_place_and_those_without_a_place_stay_apart(tmp_path: Path) -> None:
    waits = [Wait(n, n, 100 * n, 100 * n + 50, stack=CLIENTS if n < 2 else None) for n in range(4)]
    found = answer(tmp_path, waits, [LOCK_CLASS, "java.util.concurrent.Semaphore$FairSync", LOCK_CLASS, LOCK_CLASS])
    assert sorted((row.place or "", row.objects) for row in found.rows) == [
        ("", 1),
        ("", 1),
        ("org.example.Client.send:4", 1),
        ("org.example.Client.send:4", 1),
    ]


def test_parts_of_one_class_of_the_jdk_that_a_line_locks_make_one_row(tmp_path: Path) -> None:
    """Who computes a value in a map locks the place in its table, which is what is there already."""
    compute = (("java.util.concurrent.ConcurrentHashMap", "compute"), *CLIENT[len(LOCK_FRAMES) :])
    parts = [f"java.util.concurrent.ConcurrentHashMap${each}" for each in ("Node", "ReservationNode", "TreeBin")]
    waits = [Wait(n, n, 100 * n, 100 * n + 30, stack=0) for n in range(4)]
    recording = LockRecording(
        idle(8), waits, wall=WALL, classes=[*parts, OBJECT], kinds=["monitor"] * 4, stacks=[compute]
    )
    found = locks(open_recording(recording.write(tmp_path / "a.headway")))
    assert sorted((row.objects, row.sums.thread_time_ns) for row in found.rows) == [(1, 30), (3, 90)]


@pytest.mark.parametrize("name", ["org.example.Store", "org.example.Store$Part", "int[]"])
def test_an_object_that_stands_for_a_class_has_the_name_that_programs_write(tmp_path: Path, name: str) -> None:
    waits = [Wait(n, 0, 100 * n, 100 * n + 30, stack=CLIENTS) for n in range(2)]
    (row,) = answer(tmp_path, waits, [f"{name}.class"]).rows
    assert row.name == f"{name.rpartition('.')[2]}.class"


def test_a_lock_that_the_jdk_takes_for_itself_at_a_line_is_not_one_with_the_lock_of_that_line(tmp_path: Path) -> None:
    waits = [Wait(0, 0, 0, 300, stack=CLIENTS), Wait(1, 1, 400, 420, stack=CLIENTS), Wait(2, 2, 500, 510, stack=SLEEPS)]
    found = answer(tmp_path, waits, [LOCK_CLASS] * 3)
    assert [
        (row.place.rpartition(":")[0], row.objects, row.sums.thread_time_ns) for row in found.rows if row.place
    ] == [
        ("org.example.Client.send", 2, 320),
        ("org.example.Client.send", 1, 10),
    ]


def test_a_latch_that_several_threads_wait_for_together_is_a_gate_among_the_contended(tmp_path: Path) -> None:
    together = [Wait(n, 0, 100 + n, 600, stack=AWAITS) for n in range(4)]
    alone = [Wait(4, 1, 0, 200, stack=AWAITS), Wait(5, 1, 200, 400, stack=AWAITS)]
    never = [Wait(n, 2, 700, WALL, stack=AWAITS, is_open=True) for n in (6, 7)]
    found = answer(tmp_path, [*together, *alone, *never], [LATCH] * 3, by="lock")
    rules = {row.blocker_id: (row.rule.id, row.contention) for row in found.rows}
    assert rules == {0: ("gate", True), 1: ("latch", False), 2: ("latch", False)}
    assert (found.rows[0].blocker_id, (found.rows[0].lost_core_ns or 0) > 0) == (0, True)
    assert found.rows[0].rule is not OTHER


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_table_keeps_method_and_line_at_any_width_and_uses_what_there_is(pooled: Locks, width: int) -> None:
    text = shown(pooled, width)
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= width
    (row,) = (
        line for line in lines if line.startswith(("Pool.borrow:3", "org.example.Pool.borrow:3")) and " 1.00 us" in line
    )
    if width == 80:
        assert lines[lines.index(row) + 1] == "  Condition@1001"
    else:
        assert row.split()[:2] == ["org.example.Pool.borrow:3", "Condition@1001"]


def test_a_long_place_loses_its_package_then_the_begin_of_its_class_but_never_method_and_line() -> None:
    from headway.report.terminal.lock_names import short_place

    place = "com.zaxxer.hikari.util.VeryConcurrentBagOfConnections.borrow:151"
    assert short_place(place, 80) == place
    assert short_place(place, 50) == "VeryConcurrentBagOfConnections.borrow:151"
    assert short_place(place, 24) == "…fConnections.borrow:151"


def test_a_cycle_in_the_sums_is_told_without_reading_as_a_deadlock(tmp_path: Path) -> None:
    waits = [
        Wait(0, 0, 100, 400, owner=1, waker=1, waking=400, stack=CLIENTS),
        Wait(1, 1, 100, 400, owner=0, waker=0, waking=400, stack=TINIES),
    ]
    found = answer(tmp_path, waits, [LOCK_CLASS] * 2, holds=[LockHold(0, 1, 0, 400), LockHold(1, 0, 0, 400)])
    assert found.rows[0].chain_is_cycle
    assert found.deadlocks == ()
    (chain,) = (line for line in verdict(found) if line.startswith("Chain: "))
    assert chain.endswith("At other times it was the other way round; this is no deadlock.")


def test_a_lock_for_each_client_is_one_loss_of_why_and_a_queue_for_each_stage_is_not(tmp_path: Path) -> None:
    waits = [
        *(Wait(n, n, 100, 500, owner=6, waker=6, waking=500, stack=CLIENTS) for n in range(4)),
        Wait(4, 4, 100, 700, owner=6, waker=6, waking=700, stack=TINIES),
        *(Wait(n, n, 750, 950, waker=6, waking=950, stack=PUTS) for n in (5, 7)),
    ]
    classes = [LOCK_CLASS] * 5 + [CONDITION] * 3
    holds = [LockHold(n, 6, 50, wait.end) for n, wait in enumerate(waits[:5])]
    lock_recording = LockRecording(idle(8), waits, holds, wall=WALL, classes=classes, stacks=STACKS)
    lost = why(open_recording(lock_recording.write(tmp_path / "a.headway"))).account.lost
    of_locks = {each.place.lock: each for each in lost if each.cause == "lock_contention"}
    assert set(of_locks) == {"4 objects (ReentrantLock)", "ReentrantLock@1004"}
    together, alone = of_locks["4 objects (ReentrantLock)"], of_locks["ReentrantLock@1004"]
    assert (together.place.method, together.place.line) == ("org.example.Client.send", 4)
    assert together.core_ns > alone.core_ns
    assert {each.place.lock for each in lost if each.cause == "full_producer"} == {"Condition@1005", "Condition@1007"}


def test_who_waits_for_work_is_idle_for_locks_as_it_is_for_why() -> None:
    assert not [rule.id for rule, idle in zip(RULES, IS_IDLE.tolist(), strict=True) if idle and rule.contention]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("class initialisation for net.sf.saxon.value.DateTimeValue", "class initialisation for DateTimeValue"),
        ("2 objects (class initialisation for net.sf.saxon.DateTimeValue)", "2 objects (class initialisation for DateTimeValue)"),
        ("org.example.Outer$Inner.take:3", "Outer$Inner.take:3"),
        ("some.thing.lower:3", "some.thing.lower:3"),
    ],
)  # fmt: skip
def test_only_the_package_goes_where_a_name_stands_among_words(text: str, short: str) -> None:
    from headway.report.terminal.lock_names import without_package

    assert without_package(text) == short
