"""Joins of virtual threads: a carrier tells of their ends, but it is they who were waited for; and what a lock then gains."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits import pieces
from headway.analyses.waits.threads import mounted
from headway.store import open_recording
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread

THREADS = 4
APP = ("org.example.Shop", "sell")
SLEEP = "java.lang.Thread.sleep"
JOIN = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"),
    ("java.util.concurrent.CountDownLatch", "await"),
    ("java.lang.VirtualThread", "joinNanos"),
    ("org.example.Main", "main"),
)


def one_after_the_other() -> LockRecording:
    """Main joins virtual threads 31 to 34 on one carrier; each sleeps for 15 of its 18 with the one lock.

    Each lets the lock go one before it ends, and three pass until the next has a carrier, which is blocked while one sleeps.
    """
    waits = []
    for number in range(THREADS):
        me, before = -31 - number, 20 * number
        if number:
            waits.append(Wait(me, 0, 2, 2 + before, waker=me + 1, waking=before - 1, stack=0))
        waits.append(Wait(me, 1, 3 + before, 18 + before, is_timed=True, stack=1))
        waits.append(Wait(1, 2 + number, max(2, 1 + before), 21 + before, waker=2, waking=20 + before, stack=2))
    carrier = [step for _ in range(THREADS) for step in (("B", 15), ("R", 5))]
    end = 20 * THREADS + 2
    return LockRecording(
        [
            FakeThread("app", 0, [("B", end)], "java"),
            FakeThread("app", 0, [("R", 2), ("B", end - 3), ("R", 1)], "main"),
            FakeThread("carrier", 0, [("R", 3), *carrier], "ForkJoinPool-1-worker-1"),
        ],
        waits,
        wall=end,
        classes=[LOCK_CLASS, SLEEP, *["java.util.concurrent.CountDownLatch$Sync"] * THREADS],
        no_objects=[1],
        stacks=[(*LOCK_FRAMES, APP), (("java.lang.Thread", "sleep"), APP), JOIN],
    )


def joined(path: Path, lock_recording: LockRecording) -> list[str | None]:
    waits = pieces.load(open_recording(lock_recording.write(path)))
    return list(dict.fromkeys(waits.name(int(waits.target[row])) for row in (waits.thread == 1).nonzero()[0]))


def test_a_virtual_thread_that_its_carrier_says_has_ended_is_the_one_that_was_joined(tmp_path: Path) -> None:
    assert joined(tmp_path / "r", one_after_the_other()) == [f"virtual thread #{1031 + i}" for i in range(THREADS)]


def test_who_went_on_before_its_carrier_was_blocked_is_not_the_one_that_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mounted, "_SHORT_NS", 0)
    monkeypatch.setattr(mounted, "_AT_ONCE_NS", 0)
    lock_recording = one_after_the_other()
    # A virtual thread that never waited came after the second had ended unseen, and the carrier had been blocked.
    lock_recording.waits = [
        wait for wait in lock_recording.waits if (wait.thread, wait.start) not in {(-33, 43), (-33, 2)}
    ]
    names = [f"virtual thread #{number}" for number in (1031, 1032)]
    assert joined(tmp_path / "r", lock_recording) == [*names, "ForkJoinPool-1-worker-1", "virtual thread #1034"]


def test_a_lock_that_virtual_threads_sleep_with_gains_what_all_of_them_waited_and_comes_before_the_sleep(
    tmp_path: Path,
) -> None:
    found = why(open_recording(one_after_the_other().write(tmp_path / "r"))).account
    lock, asleep = found.lost[:2]
    assert (lock.cause, asleep.cause) == ("lock_contention", "sleep")
    assert lock.place.method == asleep.place.method == "org.example.Shop.sell"
    # The last one waits for the lock from 2 until it is woken at 59; four sleep for 15, one after the other.
    assert lock.likely_speedup == pytest.approx(82 / (82 - 57))
    assert asleep.likely_speedup == pytest.approx(82 / (82 - 4 * 15))
