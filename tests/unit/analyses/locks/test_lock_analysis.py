"""Locks: who waits for what, who holds it, doing what; each case small enough to be counted by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headway.analyses.locks import rows as lock_rows
from headway.analyses.locks.analysis import locks
from headway.analyses.locks.answer import Locks
from headway.analyses.locks.patterns import held_share, patterns
from headway.analyses.locks.types import Distribution, Lock
from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits.threads.thread_states import DOING
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders.edited_manifest import take_tables_as_they_are
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread, write

CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
GET_TASK = (
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
    ("java.util.concurrent.LinkedBlockingQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    ("java.lang.Thread", "run"),
)


def answer(folder: Path, lock_recording: LockRecording, **options: Any) -> Locks:
    return locks(open_recording(lock_recording.write(folder / "a.headway")), **options)


def only(result: Locks) -> Lock:
    (row,) = result.rows
    return row


def running(name: str = "t") -> FakeThread:
    return FakeThread("app", 0, [("R", 100)], name)


def test_a_holder_that_runs_is_descheduled_and_sleeps_is_told_so(tmp_path: Path) -> None:
    holder = FakeThread("app", 0, [("R", 10), ("B", 20), ("W", 30), ("R", 40)], "holder")
    row = only(answer(tmp_path, LockRecording([running(), holder], [Wait(0, 0, 5, 90, owner=1, waker=1, waking=80)])))
    (who,) = row.holders
    assert (who.thread, who.seen_by, who.wait_ns) == ("holder", ("owner",), 75)
    assert {state: ns for state, ns in who.doing.items() if ns} == {"running": 25, "sleeping": 20, "runnable": 30}
    assert row.holding is not None
    assert row.holding["handoff"] == 10  # woken at 80, went on at 90


def test_a_gc_pause_comes_before_what_the_kernel_says(tmp_path: Path) -> None:
    holder = FakeThread("app", 0, [("B", 100)], "holder")
    lock_recording = LockRecording([running(), holder], [Wait(0, 0, 0, 100, owner=1)], pauses=[(10, 40)])
    row = only(answer(tmp_path, lock_recording))
    assert row.holding is not None
    assert {state: ns for state, ns in row.holding.items() if ns} == {"sleeping": 70, "gc_pause": 30}


@pytest.mark.parametrize("by", ["lock", "class"])
def test_a_lock_of_a_class_is_called_by_the_class_and_not_by_its_object(tmp_path: Path, by: str) -> None:
    name = "class initialisation for com.acme.CountDownLatch$Sync"  # which is no latch
    waits = FakeThread("app", 0, [("R", 10), ("B", 40), ("R", 50)], "t0")
    lock_recording = LockRecording(
        [waits, running()], [Wait(0, 0, 10, 50, waker=1, waking=50)], classes=[name], kinds=["monitor"]
    )
    row = only(answer(tmp_path, lock_recording, by=by))
    assert (row.name, row.class_name, row.rule.id, row.contention) == (name, name, "class-initialisation", True)
    (lost,) = why(open_recording(tmp_path / "a.headway")).account.lost
    assert (lost.cause, lost.place.lock) == ("lock_contention", name)


def test_two_waiters_count_twice(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [running(), running(), FakeThread("app", 0, [("B", 100)], "holder")],
        [Wait(0, 0, 0, 50, owner=2), Wait(1, 0, 20, 50, owner=2)],
    )
    assert only(answer(tmp_path, lock_recording)).holders[0].wait_ns == 80


def test_a_chain_leads_over_the_holder_to_the_lock_that_it_waits_for(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [running("first"), FakeThread("app", 0, [("B", 100)], "second"), FakeThread("app", 0, [("B", 100)], "third")],
        [Wait(0, 0, 10, 90, owner=1, waker=1, waking=90), Wait(1, 1, 5, 85, owner=2, waker=2, waking=85)],
    )
    outer, inner = sorted(answer(tmp_path, lock_recording).rows, key=lambda row: row.blocker_id or 0)
    assert [(link.blocker_id, link.thread) for link in outer.chain] == [(0, "second"), (1, "third")]
    assert not outer.chain_is_cycle
    (second,) = outer.holders
    assert second.doing["blocked"] == 75
    assert [(other.blocker_id, other.wait_ns) for other in second.blocked_on] == [(1, 75)]
    assert inner.holders[0].doing["sleeping"] == 80


def test_threads_that_wait_for_each_other_at_the_end_are_a_deadlock(tmp_path: Path) -> None:
    asleep = [FakeThread("app", 0, [("B", 100)], f"t{i}") for i in range(3)]
    waits = [
        Wait(0, 0, 10, 100, owner=1, is_open=True),
        Wait(1, 1, 12, 100, owner=0, is_open=True),
        Wait(2, 0, 20, 100, owner=1, is_open=True),
    ]
    result = answer(tmp_path, LockRecording(asleep, waits))
    (ring,) = result.deadlocks
    assert sorted((link.blocker_id, link.thread) for link in ring.links) == [(0, "t1"), (1, "t0")]
    assert all(row.chain_is_cycle for row in result.rows)


def test_a_wait_with_a_time_limit_is_no_deadlock(tmp_path: Path) -> None:
    asleep = [FakeThread("app", 0, [("B", 100)], f"t{i}") for i in range(2)]
    waits = [
        Wait(0, 0, 10, 100, owner=1, is_open=True),
        Wait(1, 1, 12, 100, owner=0, is_open=True, is_timed=True),
    ]
    assert answer(tmp_path, LockRecording(asleep, waits)).deadlocks == ()


def test_who_got_a_monitor_just_before_the_end_is_no_deadlock_with_itself(tmp_path: Path) -> None:
    asleep = [FakeThread("app", 0, [("B", 100)], f"t{i}") for i in range(2)]
    waits = [Wait(0, 0, 10, 100, owner=0, is_open=True), Wait(1, 0, 12, 100, owner=0, is_open=True)]
    assert answer(tmp_path, LockRecording(asleep, waits)).deadlocks == ()


def test_a_waker_that_waits_for_the_lock_itself_does_not_hold_it_yet(tmp_path: Path) -> None:
    # Thread 2 gives the lock to 1 at 40, which holds it without having been seen to, and gives it to 0 at 80.
    lock_recording = LockRecording(
        [running(), FakeThread("app", 0, [("B", 50), ("R", 50)], "t1"), FakeThread("app", 0, [("R", 100)], "t2")],
        [Wait(0, 0, 0, 80, waker=1, waking=80), Wait(1, 0, 10, 50, waker=2, waking=40)],
    )
    row = only(answer(tmp_path, lock_recording))
    doing = {holder.thread: holder.doing for holder in row.holders}
    assert doing["t2"]["running"] == 40 + 30
    assert doing["t1"]["running"] == 30
    assert row.holding is not None
    assert row.holding["handoff"] == 10 + 10


def test_idle_workers_cost_no_cores_and_are_not_contention(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [FakeThread("app", 0, [("B", 100)])], [Wait(0, 0, 0, 100, stack=0)], classes=[CONDITION], stacks=[GET_TASK]
    )
    result = answer(tmp_path, lock_recording)
    row = only(result)
    assert (row.contention, row.rule.id, row.waiting) == (False, "pool-worker", "waiting for work")
    assert (row.lost_core_ns, row.holders, row.speedup_bound) == (0, (), None)
    assert (result.contended_ns, result.idle_ns) == (0, 100)


def test_who_was_idle_before_it_let_the_lock_go_did_not_hold_it_then(tmp_path: Path) -> None:
    # Waits from 0 to 80; the pool's worker has no work until 50. Who had the lock until then nobody saw.
    worker = FakeThread("app", 0, [("B", 50), ("R", 50)], "worker")
    waits = [Wait(0, 0, 0, 80, waker=1, waking=70, stack=1), Wait(1, 1, 0, 50, stack=0)]
    lock_recording = LockRecording([FakeThread("app", 0, [("B", 80), ("R", 20)], "waiter"), worker], waits,
                classes=[LOCK_CLASS, CONDITION], stacks=[GET_TASK, LOCK_FRAMES])  # fmt: skip
    (row,) = (each for each in answer(tmp_path, lock_recording).rows if each.contention)
    assert row.holding is not None
    assert {state: ns for state, ns in row.holding.items() if ns} == {"unknown": 50, "running": 20, "handoff": 10}
    account = why(open_recording(tmp_path / "a.headway")).account
    (lost,) = [each for each in account.lost if each.cause == "lock_contention"]
    assert lost.figures is not None
    assert lost.figures["holder_running_share"] == 20 / 80


def test_cores_that_other_processes_had_meanwhile_were_not_lost_to_a_lock(tmp_path: Path) -> None:
    # One of two waits from 10 to 50; others have the second CPU from 10 to 40, and half of what it is free after that.
    waits = FakeThread("app", 0, [("R", 10), ("B", 40), ("R", 50)], "t0")
    lock_recording = LockRecording([waits, running()], [Wait(0, 0, 10, 50, waker=1, waking=50, stack=0)], classes=[LOCK_CLASS],
                stacks=[LOCK_FRAMES], gaps=[(10, 30, 30), (40, 10, 5)])  # fmt: skip
    assert only(answer(tmp_path, lock_recording)).lost_core_ns == 5
    (row,) = why(open_recording(tmp_path / "a.headway")).account.lost
    assert row.core_ns == 5


def test_contention_is_ranked_before_idle_waiting_however_long_that_is(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [FakeThread("app", 0, [("B", 100)]), FakeThread("app", 0, [("B", 100)])],
        [Wait(0, 0, 0, 100, stack=0), Wait(1, 1, 10, 12, stack=1)],
        classes=[CONDITION, LOCK_CLASS],
        stacks=[GET_TASK, LOCK_FRAMES],
    )
    result = answer(tmp_path, lock_recording)
    assert [row.blocker_id for row in result.rows] == [1, 0]
    assert [row.blocker_id for row in answer(tmp_path, lock_recording, sort="thread-time").rows] == [0, 1]


def test_sites_show_their_shares_and_on_how_many_stacks_they_rest(tmp_path: Path) -> None:
    stacks = [(*LOCK_FRAMES, ("org.example.A", "put")), (*LOCK_FRAMES, ("org.example.B", "get"))]
    waits = [Wait(0, 0, 0, 30, stack=0), Wait(0, 0, 40, 70), Wait(1, 0, 0, 20, stack=1)]
    result = answer(tmp_path, LockRecording([running(), running()], waits, stacks=stacks))
    sites = only(result).sites
    assert [(site.line, site.share, site.times, site.stacks_taken) for site in sites] == [
        ("org.example.A.put:4", 0.75, 2, 1),
        ("org.example.B.get:4", 0.25, 1, 1),
    ]
    by_site = answer(tmp_path, LockRecording([running(), running()], waits, stacks=stacks), by="site").rows
    assert [(row.name, row.sums.thread_time_ns) for row in by_site] == [
        ("org.example.A.put:4", 60),
        ("org.example.B.get:4", 20),
    ]


def test_wakers_are_told_with_the_places_that_they_wake_from_and_how_often(tmp_path: Path) -> None:
    stacks = [(*LOCK_FRAMES, ("org.example.A", "put")), (*LOCK_FRAMES, ("org.example.B", "get"))]
    waits = [
        Wait(0, 0, 0, 5, waker=1, waking=5, waker_stack=0),
        Wait(0, 0, 10, 15, waker=1, waking=15),  # of this one no stack was taken: as the one before it
        Wait(0, 0, 20, 25, waker=1, waking=25, waker_stack=1),
        Wait(0, 0, 30, 35, waker=2, waking=35),  # nor of any of this thread
        Wait(0, 0, 40, 45),  # by itself
        Wait(0, 1, 50, 55, waker=1, waking=55),
    ]
    threads = [running("t"), running("one"), running("two")]
    first, second = answer(tmp_path, LockRecording(threads, waits, stacks=stacks)).rows
    assert [(each.thread, each.line, each.share, each.times) for each in first.wakers] == [
        ("one", "org.example.A.put:4", 0.5, 2),
        ("one", "org.example.B.get:4", 0.25, 1),
        ("two", None, 0.25, 1),
    ]
    assert [(each.thread, each.line) for each in second.wakers] == [("one", None)]
    assert (first.more_wakers, second.more_wakers) == (0, 0)
    by_class = only(answer(tmp_path, LockRecording(threads, waits, stacks=stacks), by="class"))
    assert [(each.line, each.times) for each in by_class.wakers] == [
        ("org.example.A.put:4", 2),
        (None, 1),
        ("org.example.B.get:4", 1),
        (None, 1),
    ]


def test_a_park_that_was_ended_without_an_unpark_is_shown_at_no_place_of_an_unpark(tmp_path: Path) -> None:
    stacks = [(*LOCK_FRAMES, ("org.example.A", "put"))]
    waits = [
        Wait(0, 0, 0, 5, waker=1, waking=5, waker_stack=0, is_kernel_waking=False),
        Wait(0, 0, 10, 15, waker=1, waking=15, is_kernel_waking=True),  # interrupted
        Wait(0, 0, 20, 25, waker=1, waking=25, is_kernel_waking=False),  # an unpark of which no stack was taken
        Wait(0, 0, 30, 35, waker=1, waking=35, is_kernel_waking=True),
        Wait(0, 0, 40, 45, waker=1, waking=45, is_kernel_waking=True),
    ]
    lock_recording = LockRecording([running("t"), running("one")], waits, stacks=stacks)
    rows = [*answer(tmp_path, lock_recording).rows, *answer(tmp_path, lock_recording, by="class").rows]
    assert [[(each.thread, each.line, each.share, each.times) for each in row.wakers] for row in rows] == [
        [("one", None, 0.6, 3), ("one", "org.example.A.put:4", 0.4, 2)]
    ] * 2


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ("1.8.0_392", "thread #1005"),
        ("17.0.12", "thread #1005"),
        ("20.0.2", "thread #1005"),
        ("21", "virtual thread #1005"),
        ("25-ea", "virtual thread #1005"),
        (None, "thread #1005"),
    ],
)
def test_who_is_known_by_the_id_alone_is_virtual_only_where_its_jvm_can_have_such(
    tmp_path: Path, version: str | None, name: str
) -> None:
    jvms = [{"pid": 100, "version": version}, {"pid": 101, "version": "25.0.1"}]
    lock_recording = LockRecording(
        [running()], [Wait(0, 0, 5, 50, owner=-5, waker=-5, waking=40)], facts={"jvms": jvms}
    )
    row = only(answer(tmp_path, lock_recording))
    named = [[(each.thread, each.java_id) for each in found] for found in (row.holders, row.wakers)]
    assert named == [[(name, 1005)], [(name, 1005)]]


def test_who_blocked_as_a_virtual_thread_is_one_also_where_nothing_is_known_of_its_jvm(tmp_path: Path) -> None:
    waits = [Wait(-5, 0, 5, 30), Wait(0, 0, 5, 50, waker=-5, waking=40), Wait(0, 0, 60, 80, waker=-6, waking=80)]
    row = only(answer(tmp_path, LockRecording([running()], waits)))
    assert {each.thread for each in row.wakers} == {"virtual thread #1005", "thread #1006"}


def test_wakers_that_are_left_out_are_counted(tmp_path: Path) -> None:
    threads = [running(f"t{i}") for i in range(30)]
    waits = [Wait(0, 0, 3 * i, 3 * i + 2, waker=i, waking=3 * i + 2) for i in range(1, 30)]
    row = only(answer(tmp_path, LockRecording(threads, waits)))
    assert (len(row.wakers), row.more_wakers) == (20, 9)


def test_true_hold_times_are_those_of_the_holds(tmp_path: Path) -> None:
    holds = [LockHold(0, 1, 0, 10), LockHold(0, 0, 20, 50), LockHold(0, 1, 60, 80)]
    row = only(
        answer(tmp_path, LockRecording([running(), running()], [Wait(0, 0, 2, 20, owner=1, waker=1, waking=10)], holds))
    )
    assert row.true_hold is not None
    found = row.true_hold
    assert (found.count, found.mean_ns, found.p50_ns, found.max_ns, found.source) == (3, 20.0, 20, 30, "owner")
    assert row.wait is not None
    assert (row.wait.count, row.wait.p50_ns, row.wait.p99_ns, row.wait.max_ns) == (1, 18, 18, 18)


@pytest.mark.parametrize(("seen_ns", "is_typical"), [(20, False), (30, True)])
def test_holds_that_are_seen_dont_stand_for_one_that_nobody_saw_begin(
    tmp_path: Path, seen_ns: int, is_typical: bool
) -> None:
    # Thread 1 has the monitor all the time that thread 0 waits; of that, no hold tells.
    waits, holds = [Wait(0, 0, 0, 100, waker=1, waking=100)], [LockHold(0, 0, 100, 100 + seen_ns)]
    row = only(answer(tmp_path, LockRecording([running(), running()], waits, holds)))
    assert row.holding is not None
    assert row.holding["running"] == 100
    assert (row.true_hold is not None) == is_typical


def test_a_core_that_is_idle_beside_a_ready_thread_is_lost_to_no_lock(tmp_path: Path) -> None:
    waiter = FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)])
    ready = FakeThread("app", 0, [("R", 20), ("W", 30), ("R", 50)])
    lock_recording = LockRecording([waiter, ready], [Wait(0, 0, 20, 80, owner=1, waker=1, waking=80)])
    # From 20 to 50 of two idle cores one is for the thread that is ready; from 50 to 80 the other one is idle.
    assert only(answer(tmp_path / "two", lock_recording)).lost_core_ns == 60
    others = LockRecording([waiter, ready], lock_recording.waits, facts={"other_ns": {"0": 100}})
    # Other processes have one of the two all the time: only the ready thread wants what is left of them at first.
    assert only(answer(tmp_path / "busy", others)).lost_core_ns == 0


def test_a_program_that_waits_all_the_time_has_no_bound(tmp_path: Path) -> None:
    lock_recording = LockRecording([FakeThread("app", 0, [("B", 100)])], [Wait(0, 0, 0, 100)])
    row = only(answer(tmp_path, lock_recording))
    assert row.speedup_bound is None
    assert row.lost_core_ns == 100


def test_threads_that_come_back_together_and_wait_for_cores_widen_the_bound(tmp_path: Path) -> None:
    # Held up until 10, two threads then take both cores for 20 ns, and a third one, which needs 20 ns, has to wait for
    # them. Had they run from 0 on, it would have been done at 30 instead of 50: a gain of 20, though R is only 10.
    late = FakeThread("app", 10, [("W", 20), ("R", 20)])
    held_up = [FakeThread("app", 0, [("B", 10), ("R", 20)]) for _ in range(2)]
    lock_recording = LockRecording([*held_up, late], [Wait(0, 0, 0, 10), Wait(1, 0, 0, 10)], wall=50)
    bound = only(answer(tmp_path, lock_recording)).speedup_bound
    assert bound == pytest.approx(50 / 30)


PHASER = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.Phaser", "awaitAdvance"),
    ("org.example.Main", "main"),
)


def test_who_waits_at_a_phaser_without_taking_part_is_no_barrier_of_two(tmp_path: Path) -> None:
    # Four arrive, and go on to end: one after 80, three after 2 each. Main waits for them. Evenly shared it would take 21.5.
    workers = [FakeThread("app", 0, [("R", ns)], f"worker-{ns}") for ns in (80, 2, 2, 2)]
    main = FakeThread("app", 0, [("B", 80), ("R", 1)], "main")
    lock_recording = LockRecording([main, *workers], [Wait(0, 0, 0, 80, waker=1, waking=80, stack=0)], wall=81, stacks=[PHASER],
                classes=["java.util.concurrent.Phaser$QNode"], facts={"affinity": [0, 1, 2, 3], "recorded_cores": 4})  # fmt: skip
    of_locks = only(answer(tmp_path, lock_recording)).speedup_bound
    account = why(open_recording(tmp_path / "a.headway")).account
    (row,) = [each for each in account.lost if each.cause == "imbalance"]
    gain = 81 / (86 / 4 + 1)
    assert of_locks is not None
    assert of_locks >= gain
    assert row.bound_speedup is not None
    assert row.bound_speedup >= gain


def test_the_bound_is_that_of_why(tmp_path: Path) -> None:
    # One waits twice, for 30 in all, while the other works: 100 of 200 core-ns of work.
    waits = FakeThread("app", 0, [("R", 10), ("B", 20), ("R", 20), ("B", 10), ("R", 40)], "t0")
    lock_recording = LockRecording([waits, running()], [Wait(0, 0, 10, 30, stack=0, waker=1), Wait(0, 0, 50, 60, waker=1)],
                classes=[LOCK_CLASS], stacks=[LOCK_FRAMES])  # fmt: skip
    of_locks = only(answer(tmp_path, lock_recording)).speedup_bound
    account = why(open_recording(tmp_path / "a.headway")).account
    (row,) = [each for each in account.lost if each.cause == "lock_contention"]
    assert row.bound_speedup == of_locks == pytest.approx(100 / 85), (
        "its work of 70 and the other's of 100 take 85 at least"
    )


def test_without_scheduling_records_states_and_costs_are_unknown_and_said_so(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [running(), running()], [Wait(0, 0, 0, 50, owner=1), Wait(1, 1, 10, 30)], facts={"mode": "agent"}
    )
    result = answer(tmp_path, lock_recording)
    row = next(row for row in result.rows if row.blocker_id == 0)
    assert (row.lost_core_ns, row.speedup_bound) == (None, None)
    assert row.holding is not None
    assert {state: ns for state, ns in row.holding.items() if ns} == {"blocked": 20, "unknown": 30}
    assert "HW432" in [notice.id for notice in result.notices]


def test_waits_that_are_only_summed_up_keep_their_row_and_are_counted_out(tmp_path: Path) -> None:
    lock_recording = LockRecording([running(), running()], [Wait(0, 0, 0, 50), Wait(1, 1, 10, 30)])
    path = lock_recording.write(tmp_path / "a.headway")
    import duckdb

    # As if the agent's file had been full before the second wait.
    block = tmp_path / "a.headway" / "block.parquet"
    short = tmp_path / "short.parquet"
    duckdb.sql(f"COPY (SELECT * FROM '{block}' WHERE blocker_id = 0) TO '{short}' (FORMAT parquet)")
    short.replace(block)
    take_tables_as_they_are(path)
    result = locks(open_recording(path))
    row = next(row for row in result.rows if row.blocker_id == 1)
    assert (row.sums.thread_time_ns, row.wait, row.rule.id) == (20, None, "lock")
    (notice,) = [notice for notice in result.notices if notice.id == "HW431"]
    assert "1 of 2" in notice.message


@pytest.mark.parametrize("facts", [{"attached": True}, {"ended_by": "duration"}])
def test_waits_outside_of_a_part_of_a_run_are_not_in_its_sums(tmp_path: Path, facts: dict[str, Any]) -> None:
    # The agent comes before the recording begins, and goes after it ends: its own sums are of more than that.
    waits = [Wait(0, 0, -30, -10), Wait(0, 0, -5, 50), Wait(0, 0, 60, 120, is_open=True), Wait(0, 0, 130, 140)]
    result = answer(tmp_path, LockRecording([running(), running()], waits, facts=facts))
    sums = only(result).sums
    assert (sums.times_parked, sums.thread_time_ns, sums.real_time_ns, sums.parked_now) == (2, 90, 90, 1)
    assert not [notice for notice in result.notices if notice.id in ("HW431", "HW433")]


def test_rows_can_be_left_out_by_number_of_parks(tmp_path: Path) -> None:
    lock_recording = LockRecording([running(), running()], [Wait(0, 0, 0, 10), Wait(0, 0, 20, 30), Wait(1, 1, 10, 30)])
    result = answer(tmp_path, lock_recording, min_parks=2)
    assert ([row.blocker_id for row in result.rows], result.hidden) == ([0], 1)


@pytest.mark.parametrize(("by", "count"), [("lock", 5), ("class", 1), ("site", 2)])
def test_rows_are_the_same_one_by_one_and_some_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, count: int
) -> None:
    stacks = [(*LOCK_FRAMES, ("org.example.Server", "handle")), GET_TASK]
    waits = [Wait(i % 3, i % 5, 10 * i, 10 * i + 7, owner=3, waker=3, stack=i % 2) for i in range(9)]
    lock_recording = LockRecording(
        [running() for _ in range(4)], waits, [LockHold(1, 3, 10, 17), LockHold(1, 3, 60, 67)], stacks=stacks
    )
    rows = answer(tmp_path, lock_recording, by=by).rows
    alone = [rows[place] for place in range(len(rows))]
    monkeypatch.setattr(lock_rows, "AT_ONCE", 2)
    assert list(rows) == alone
    assert len({row.name for row in alone}) == len(alone) == count


def test_a_recording_without_locks_is_an_error_that_says_how_to_record_them(tmp_path: Path) -> None:
    write(tmp_path / "a.headway", [running()], 100)
    with pytest.raises(HeadwayError) as caught:
        locks(open_recording(tmp_path / "a.headway"))
    assert caught.value.notice.id == "HW430"
    assert "--locks" in caught.value.notice.remedy


def test_a_recording_in_which_nobody_waited_has_no_rows(tmp_path: Path) -> None:
    assert len(answer(tmp_path, LockRecording([running()], [])).rows) == 0


def figures(**changes: Any) -> dict[str, Any]:
    return {
        "waits": 100, "wait_p50_ns": 1000, "hold_p50_ns": 10, "held_share": 0.1, "holds": 100, "wakings": 100,
        "wake_to_run_p50_ns": 50, "crowded_ns": 9000, "real_time_ns": 10_000, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["convoy", "handoff"]),
        ({"hold_p50_ns": 90}, ["convoy"]),  # a hold is longer than a waking
        ({"hold_p50_ns": 200, "wake_to_run_p50_ns": 300}, ["handoff"]),  # not short against the waits
        ({"crowded_ns": 4000}, ["handoff"]),  # seldom more than one waits
        ({"held_share": 0.6}, []),  # saturated: it is held most of the time
        ({"wakings": 80}, ["handoff"]),  # others barge in
        ({"held_share": None}, []),  # nobody knows what the holders did
        ({"waits": 5}, []),
        ({"holds": 0, "hold_p50_ns": None}, []),
        ({"wake_to_run_p50_ns": None}, []),
    ],
)
def test_convoys_and_handoffs_are_named_by_their_figures(changes: dict[str, Any], names: list[str]) -> None:
    found = patterns(**figures(**changes))
    assert [pattern.name for pattern in found] == names
    assert all(pattern.text.startswith(pattern.name) for pattern in found)
    assert all("the median hold takes" in pattern.text for pattern in found)  # the table has the mean


def test_a_lock_is_held_unless_the_next_one_wakes_up_however_few_holds_were_timed() -> None:
    holding = dict.fromkeys(DOING, 0) | {"runnable": 59, "handoff": 22, "sleeping": 17, "running": 2}
    few = Distribution(count=4, mean_ns=10.0, p50_ns=10, p99_ns=10, max_ns=10)  # 40 of 100 ns: not all were timed
    share = held_share(holding, few, 100)
    assert share == pytest.approx(0.78)
    assert patterns(**figures(held_share=share)) == ()
    assert held_share(dict.fromkeys(DOING, 0) | {"unknown": 90, "handoff": 10}, few, 100) == pytest.approx(0.9)
    assert held_share(None, few, 100) is None


@pytest.mark.parametrize(
    "name", ["Semaphore$FairSync", "locks.ReentrantReadWriteLock$NonfairSync", "locks.StampedLock"]
)
def test_the_time_between_releases_of_what_several_have_at_once_is_no_hold(tmp_path: Path, name: str) -> None:
    # Two permits, each had for 20: one is let go every 10 while two wait.
    waits = [Wait(thread, 0, 0, 10 * thread, waker=3, waking=10 * thread) for thread in (1, 2)]
    threads = [running() for _ in range(4)]
    several = only(answer(tmp_path / "s", LockRecording(threads, waits, classes=[f"java.util.concurrent.{name}"])))
    assert several.metrics.average_hold_time_ns is None
    assert several.metrics.average_parking_time_ns == 15
    one = only(answer(tmp_path / "o", LockRecording(threads, waits)))
    assert one.metrics.average_hold_time_ns == 10
