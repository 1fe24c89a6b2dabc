"""Of equal tasks one takes much longer: what is said of it, on recordings made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

WALL = 1000
POOL = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.LinkedBlockingQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
)
AWAIT = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquireSharedInterruptibly"),
    ("scala.concurrent.impl.Promise$DefaultPromise", "tryAwait0"),
    ("scala.concurrent.Await$", "result"),
    ("org.example.Job", "main"),
)
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
LATCH = "scala.concurrent.impl.Promise$CompletionLatch"


def stage(path: Path, lengths: list[int]) -> LockRecording:
    """Write a main thread that awaits a result, and workers whose tasks begin at 100 and take so long."""
    workers = [
        FakeThread("app", 0, [("B", 100), ("R", length), ("B", WALL - 100 - length)], f"worker-{i}")
        for i, length in enumerate(lengths)
    ]
    main = FakeThread("app", 0, [("R", 100), ("B", max(lengths)), ("R", WALL - 100 - max(lengths))], "main")
    waits = [
        Wait(0, 0, 100, 100 + max(lengths), stack=1, waker=1 + lengths.index(max(lengths)), waking=99 + max(lengths))
    ]
    for i, length in enumerate(lengths, 1):
        waits += [
            Wait(i, 1, 0, 100, stack=0, waker=0, waking=99),
            Wait(i, 1, 100 + length, WALL, stack=0, is_open=True),
        ]
    return LockRecording(
        [main, *workers],
        waits,
        wall=WALL,
        classes=[LATCH, CONDITION],
        stacks=[POOL, AWAIT],
        facts={"recorded_cores": 4},
    )


def test_the_straggler_comes_first_with_its_task_the_next_one_and_who_waits_for_it(tmp_path: Path) -> None:
    found = why(open_recording(stage(tmp_path, [150, 800, 160, 140]).write(tmp_path / "a.headway")), cores=4)
    first = found.account.lost[0]
    assert first.cause in ("imbalance", "serial_section")
    assert first.place.thread == "worker-1"
    assert first.figures is not None
    assert (first.figures["straggler_ns"], first.figures["next_ns"]) == (800, 160)
    assert first.figures["equal_threads"] == 4
    assert first.figures["waits_for_it"] == "main"
    assert "worker-*" in " ".join(first.evidence)
    assert "lock_contention" not in {loss.cause for loss in found.account.lost}


@pytest.mark.parametrize("lengths", [[500, 520, 490, 510], [800, 150]], ids=["even", "two"])
def test_tasks_of_one_length_or_of_two_threads_have_no_straggler(tmp_path: Path, lengths: list[int]) -> None:
    found = why(open_recording(stage(tmp_path, lengths).write(tmp_path / "a.headway")), cores=4)
    assert not [loss for loss in found.account.lost if loss.figures and "straggler_ns" in loss.figures]
