"""Whether a join waits for a laggard or for the only one that has work, on recordings made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from headway.analyses.common.causes import CAUSES
from headway.analyses.waits import pieces
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

LATCH = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.CountDownLatch", "await"),
    ("org.example.Shop", "total"),
)
TAKE = (*LATCH[:2], ("java.util.concurrent.LinkedBlockingQueue", "take"), *(
    ("java.util.concurrent.ThreadPoolExecutor", method) for method in ("getTask", "runWorker")
))  # fmt: skip
SYNC = "java.util.concurrent.CountDownLatch$Sync"
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
WALL = 1000


def joined(path: Path, others: Sequence[FakeThread], waits: Sequence[Wait] = ()) -> list[tuple[str, int, int]]:
    """Return (cause, start, end) of what the main thread waits for, from 100 on until thread 1 lets it go at 900."""
    main = FakeThread("app", 0, [("R", 100), ("B", 800), ("R", 100)], "main")
    wait = Wait(0, 0, 100, 900, waker=1, waking=890, stack=0)
    lock_recording = LockRecording(
        [main, *others], [wait, *waits], wall=WALL, classes=[SYNC, CONDITION], stacks=[LATCH, TAKE]
    )
    found = pieces.load(open_recording(lock_recording.write(path / "r")))
    mine = found.thread == 0
    rows = zip(found.cause[mine], found.start[mine], found.end[mine], strict=True)
    return [(list(CAUSES)[cause], int(start), int(end)) for cause, start, end in rows]


def works(name: str, begin: int, end: int) -> FakeThread:
    return FakeThread("app", begin, [("R", end - begin)], name)


def test_a_join_with_the_only_thread_at_work_is_for_lack_of_tasks(tmp_path: Path) -> None:
    assert joined(tmp_path, [works("worker", 90, 900)]) == [("too_few_tasks", 100, 900)]


def test_from_when_another_one_has_finished_a_join_is_for_the_laggard(tmp_path: Path) -> None:
    found = joined(tmp_path, [works("slow", 90, 900), works("fast", 90, 400)])
    assert found == [("too_few_tasks", 100, 400), ("imbalance", 400, 900)]


def test_a_pool_s_worker_that_waits_for_work_again_has_finished(tmp_path: Path) -> None:
    pooled = FakeThread("app", 0, [("R", 300), ("B", 700)], "pooled")
    found = joined(tmp_path, [works("slow", 90, 900), pooled], [Wait(2, 1, 300, 1000, stack=1, is_open=True)])
    assert found == [("too_few_tasks", 100, 300), ("imbalance", 300, 900)]


@pytest.mark.parametrize("end", [91, 130, 169])
def test_who_hands_over_as_the_other_one_begins_has_shared_nothing(tmp_path: Path, end: int) -> None:
    found = joined(tmp_path, [works("worker", 90, 900), works("before", 10, end)])
    assert found == [("too_few_tasks", 100, 900)]


def test_work_from_before_the_window_counts_as_shared(tmp_path: Path) -> None:
    assert joined(tmp_path, [works("worker", 0, 900)]) == [("imbalance", 100, 900)]


def test_many_stops_are_searched_for_the_first_long_one(tmp_path: Path) -> None:
    brief = [works(f"brief-{i}", 200 + i, 230 + i) for i in range(37)]
    found = joined(tmp_path, [works("slow", 90, 900), *brief, works("fast", 90, 555), works("later", 90, 700)])
    assert found == [("too_few_tasks", 100, 555), ("imbalance", 555, 900)]


def test_a_worker_that_goes_on_with_the_next_task_at_once_has_ended_the_one_before(tmp_path: Path) -> None:
    main = FakeThread("app", 0, [("R", 100), ("B", 200), ("R", 10), ("B", 590), ("R", 100)], "main")
    slow = works("slow", 10, 900)
    fast = FakeThread("app", 10, [("R", 50), ("B", 250), ("R", 70), ("B", 620)], "fast")
    waits = [
        Wait(0, 0, 100, 300, waker=1, waking=290, stack=0),
        Wait(0, 0, 310, 900, waker=1, waking=890, stack=0),
        Wait(2, 1, 60, 310, stack=1),
        Wait(2, 1, 380, 1000, stack=1, is_open=True),
    ]
    lock_recording = LockRecording(
        [main, slow, fast], waits, wall=WALL, classes=[SYNC, CONDITION], stacks=[LATCH, TAKE]
    )
    found = pieces.load(open_recording(lock_recording.write(tmp_path / "r")))
    second = (found.thread == 0) & (found.start >= 310)
    rows = zip(found.cause[second], found.start[second], found.end[second], strict=True)
    # Counted from when it was born, a tenth of its work would be more than the 70 of the other one.
    assert [(list(CAUSES)[cause], int(start), int(end)) for cause, start, end in rows] == [
        ("too_few_tasks", 310, 380),
        ("imbalance", 380, 900),
    ]


@pytest.mark.parametrize("again", ["another", "after a pause", "at once"])
def test_who_waits_for_the_same_worker_again_had_more_for_it_than_it_could_do(tmp_path: Path, again: str) -> None:
    """Main has taken long to hand over (its classes were cold); then it waits for one task of the worker, and for the next."""
    main = FakeThread("app", 0, [("R", 200), ("B", 200), ("R", 10), ("B", 490), ("R", 100)], "main")
    runs = [("R", 310), ("B", 10), ("R", 490)] if again == "after a pause" else [("R", 810)]
    worker = FakeThread("app", 90, runs, "worker")
    waits = [
        Wait(0, 0, 200, 400, waker=1, waking=390, stack=0),
        Wait(0, 0, 410, 900, waker=2 if again == "another" else 1, waking=890, stack=0),
        *([Wait(1, 1, 400, 410, stack=1)] if again == "after a pause" else []),
    ]
    others = [works("other", 380, 900)] if again == "another" else []
    lock_recording = LockRecording(
        [main, worker, *others], waits, wall=WALL, classes=[SYNC, CONDITION], stacks=[LATCH, TAKE]
    )
    found = pieces.load(open_recording(lock_recording.write(tmp_path / "r")))
    first = (found.thread == 0) & (found.start < 400)
    cause = "too_few_tasks" if again == "at once" else "imbalance"
    rows = zip(found.cause[first], found.start[first], found.end[first], strict=True)
    assert [(list(CAUSES)[code], int(start), int(end)) for code, start, end in rows] == [(cause, 200, 400)]
