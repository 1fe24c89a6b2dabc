"""Waits with a time limit: who waits for a condition and looks at it now and then, and who waits for the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.common.causes import CAUSES
from headway.analyses.locks.analysis import locks
from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits import pieces
from headway.analyses.waits.classification import pools
from headway.analyses.waits.rules import Wait as RuleWait
from headway.analyses.waits.rules import classify
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

WAIT = (("java.lang.Object", "wait0"), ("java.lang.Object", "wait"))
PARK = (("jdk.internal.misc.Unsafe", "park"), ("java.util.concurrent.locks.LockSupport", "parkNanos"))
IN_A_CALL = (("org.index.Writer", "doWait"), ("org.index.Writer", "forceMerge"), ("org.index.Writer", "commit"))
FROM_MAIN = (*WAIT, *IN_A_CALL, ("org.example.Main", "index"), ("org.example.Main", "main"))
HOUSEKEEPER = (*WAIT, ("org.example.Cleaner", "run"), ("java.lang.Thread", "run"))
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
BACKOFF = (*PARK, *IN_A_CALL, ("org.example.Main", "index"), ("org.example.Main", "main"))


def locks_of(
    stack: tuple[tuple[str, str], ...], wakers: list[int | None], class_name: str = "org.index.Writer"
) -> LockRecording:
    """Return a thread that waits with a limit of 20, once for each waker (None: its time was over), beside one that works."""
    waits = [
        Wait(0, 0, 5 + 25 * at, 25 + 25 * at, waker=waker, waking=None if waker is None else 24 + 25 * at, stack=0, is_timed=True)
        for at, waker in enumerate(wakers)
    ]  # fmt: skip
    steps = [("R", 5), *(step for _ in wakers for step in (("B", 20), ("R", 5)))]
    length = 5 + 25 * len(wakers)
    return LockRecording(
        [FakeThread("app", 0, steps, "one"), FakeThread("app", 0, [("R", length)], "merger")],
        waits,
        wall=length,
        classes=[class_name],
        stacks=[stack],
    )


@pytest.mark.parametrize(
    ("stack", "wakers", "cause"),
    [
        (FROM_MAIN, [None, None, 1], "condition"),  # Lucene's IndexWriter.doWait: notified when the merge is done
        (FROM_MAIN, [None, None, None], "sleep"),  # nobody ever comes
        (HOUSEKEEPER, [None, None, None, 1], "sleep"),  # a round each time, and notified to stop
        (HOUSEKEEPER, [None, 1, None, 1], "condition"),
        (BACKOFF, [None, None, None], "sleep"),
        (BACKOFF, [None, 1, None, 1], "condition"),
    ],
)
def test_what_others_end_is_a_condition_and_what_only_time_ends_is_sleep(
    stack: tuple[tuple[str, str], ...], wakers: list[int | None], cause: str, tmp_path: Path
) -> None:
    recording = open_recording(locks_of(stack, wakers).write(tmp_path / "r"))
    waits = pieces.load(recording)
    mine = waits.thread == 0
    timed_out = [number for number, waker in enumerate(wakers) if waker is None]
    assert {list(CAUSES)[waits.cause[mine][number]] for number in timed_out} == {cause}
    if cause == "condition":
        assert set(waits.target[mine].tolist()) == {1}, "each of its waits is for the one that ends them"


def test_a_poll_is_one_loss_with_its_place_and_the_thread_that_was_waited_for(tmp_path: Path) -> None:
    recording = open_recording(locks_of(FROM_MAIN, [None, None, 1]).write(tmp_path / "r"))
    (loss,) = (each for each in why(recording).account.lost if each.cause in ("condition", "sleep"))
    assert (loss.cause, loss.place.method, loss.place.thread) == ("condition", "org.index.Writer.doWait", "merger")
    assert "3 waits of 1 thread, 60.0 ns in all, 20.0 ns on average" in loss.evidence


def test_an_idle_thread_of_a_pool_that_is_unparked_for_each_task_waits_for_nobody(tmp_path: Path) -> None:
    pool = (*PARK, ("org.pool.Executor$Node", "park"), ("org.pool.Executor$Body", "run"), ("java.lang.Thread", "run"))
    (row,) = locks(open_recording(locks_of(pool, [None, 1, 1, 1]).write(tmp_path / "r"))).rows
    assert (row.waiting, row.contention) == ("timer", False)
    jboss = (*PARK, ("org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode", "park"),
             ("org.jboss.threads.EnhancedQueueExecutor$ThreadBody", "run"), ("java.lang.Thread", "run"))  # fmt: skip
    (row,) = locks(open_recording(locks_of(jboss, [None, 1, 1, 1]).write(tmp_path / "j"))).rows
    assert (row.waiting, row.rule.id) == ("waiting for work", "library-worker")


def test_a_park_with_a_limit_that_others_end_is_no_timer_in_the_table_of_locks(tmp_path: Path) -> None:
    for waker, waiting in ((None, "timer"), (1, "waiting for a condition")):
        (row,) = locks(open_recording(locks_of(BACKOFF, [None, waker]).write(tmp_path / waiting))).rows
        assert row.waiting == waiting


@pytest.mark.parametrize(
    ("calls", "rule"),
    [
        (("MultiProducerSequencer.next", "RingBuffer.next", "Shop.order", "Shop.run"), "queue-full"),
        (("SingleProducerSequencer.next", "SingleProducerSequencer.next", "RingBuffer.publishEvent"), "queue-full"),
        (
            ("SleepingWaitStrategy.applyWaitMethod", "SleepingWaitStrategy.waitFor", "ProcessingSequenceBarrier.waitFor",
             "BatchEventProcessor.processEvents", "BatchEventProcessor.run"),
            "queue-consumer",
        ),
        (("BlockingWaitStrategy.waitFor", "BatchEventProcessor.processEvents", "BatchEventProcessor.run"), "queue-consumer"),
    ],
)  # fmt: skip
def test_the_ring_of_the_disruptor_is_a_queue(calls: tuple[str, ...], rule: str) -> None:
    frames = tuple((f"com.lmax.disruptor.{call.partition('.')[0]}", call.partition(".")[2]) for call in calls)
    assert classify(RuleWait("park", "", (*PARK, *frames), True)).id == rule


@pytest.mark.parametrize(
    ("calls", "rule"),
    [
        (("disruptor.BlockingWaitStrategy.waitFor", "disruptor.BatchEventProcessor.run"), "queue-consumer"),
        (("acme.ThingsQueue.take", "acme.User.run"), "put-back"),
    ],
)
def test_stages_of_a_ring_that_wake_each_other_in_turn_put_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: tuple[str, ...], rule: str
) -> None:
    """Two threads wait by turns, each of them woken by the other; of a queue that is what users of a pool do."""
    monkeypatch.setattr(pools, "_AT_ONCE_NS", 10)  # recordings are built ns by ns
    turn = 100
    stack = (*PARK, *((f"com.{call.rpartition('.')[0]}", call.rpartition(".")[2]) for call in calls))
    turns = [
        FakeThread(states=[("B", turn), ("R", turn)] * 10),
        FakeThread(states=[("R", turn), ("B", turn)] * 10),
    ]
    waits = [
        Wait(i % 2, 0, i * turn, (i + 1) * turn, waker=1 - i % 2, waking=(i + 1) * turn, stack=0) for i in range(20)
    ]
    recording = LockRecording(
        threads=turns, waits=waits, wall=20 * turn, classes=[CONDITION], stacks=[stack], facts={"recorded_cores": 2}
    )
    (row,) = locks(open_recording(recording.write(tmp_path / "a.headway"))).rows
    assert row.rule.id == rule


def test_run_blocking_of_kotlin_waits_for_a_result_and_not_for_a_condition() -> None:
    """As kotlinx.coroutines 1.8 does: with a time limit, as it may serve an event loop between its parks."""
    frames = (
        ("kotlinx.coroutines.BlockingCoroutine", "joinBlocking"),
        ("kotlinx.coroutines.BuildersKt__BuildersKt", "runBlocking"),
        ("org.example.Main", "main"),
    )
    for stack in ((*PARK, *frames), ()):
        found = classify(RuleWait("park", "kotlinx.coroutines.BlockingCoroutine", stack, True))
        assert found.id == "result"


@pytest.mark.parametrize(
    ("runner", "rule"),
    [
        (("java.util.concurrent.FutureTask", "run"), "resource-pool"),
        (("java.util.concurrent.ForkJoinTask", "doExec"), "resource-pool"),
        (("java.util.concurrent.CompletableFuture$UniApply", "tryFire"), "resource-pool"),
        (("java.util.concurrent.CompletableFuture", "uniApplyNow"), "resource-pool"),
        (("java.util.concurrent.CompletableFuture$BiAccept", "tryFire"), "resource-pool"),
        (("java.util.concurrent.FutureTask", "get"), "result"),
        (("java.util.concurrent.CompletableFuture", "waitingGet"), "result"),
        (("com.google.common.util.concurrent.AbstractFuture", "get"), "result"),
    ],
)
def test_a_task_waits_for_what_it_takes_and_not_for_the_result_that_it_is_to_give(
    runner: tuple[str, str], rule: str
) -> None:
    condition = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
    takes = (("java.util.concurrent.LinkedBlockingDeque", "takeFirst"), ("org.example.Connections", "borrow"))
    frames: tuple[tuple[str, str], ...] = (*PARK, (condition, "await"), *takes, ("org.example.Client", "ask"), runner)
    if rule == "result":
        frames = (*PARK, (runner[0], "awaitDone"), runner, ("org.example.Client", "ask"))
    assert classify(RuleWait("park", condition, frames, False)).id == rule


@pytest.mark.parametrize(
    ("class_name", "method"),
    [
        ("org.apache.ignite.internal.util.future.GridFutureAdapter", "get0"),
        ("io.grpc.stub.ClientCalls$ThreadlessExecutor", "waitAndDrain"),
        ("org.example.ReplyPromise", "await"),
        ("org.example.Deferred", "join"),
    ],
)
def test_a_future_of_a_library_that_parks_by_itself_is_waited_for_until_its_work_is_done(
    class_name: str, method: str
) -> None:
    frames = (*PARK, (class_name, method), ("org.example.Client", "ask"), ("org.example.Client", "main"))
    assert classify(RuleWait("park", class_name, frames, False)).id == "result"
    # Who waits there for a lock, or for room in a queue, waits for that.
    lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
    locking = (("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"), *frames[len(PARK) :])
    assert classify(RuleWait("park", lock, (*PARK, *locking), False)).id == "lock"
