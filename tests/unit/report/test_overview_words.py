"""The overview's words for what threads waited for: a lock has a holder, a latch does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.overview import ENDERS, HOLDERS, overview
from headway.analyses.waits.threads.thread_states import DOING
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread

CALLER = (("org.example.Server", "handle"), ("java.lang.Thread", "run"))
LATCH_FRAMES = (("java.util.concurrent.CountDownLatch", "await"),)
WALL_NS = 1000


@pytest.mark.parametrize(
    ("sync", "frames", "has_holder"),
    [
        ("java.util.concurrent.locks.ReentrantLock$NonfairSync", LOCK_FRAMES, True),
        ("java.util.concurrent.CountDownLatch$Sync", LATCH_FRAMES, False),
    ],
)
def test_a_lock_has_a_holder_and_a_latch_has_a_thread_that_ended_the_wait(
    tmp_path: Path, sync: str, frames: tuple[tuple[str, str], ...], has_holder: bool
) -> None:
    waits = [
        Wait(waiting, 0, WALL_NS // 10, WALL_NS * 9 // 10, owner=3 if has_holder else None, waker=3, stack=0)
        for waiting in range(3)
    ]
    threads = [FakeThread() for _ in range(4)]
    built = LockRecording(threads, waits, wall=WALL_NS, stacks=[(*frames, *CALLER)], classes=[sync])
    recording = open_recording(built.write(tmp_path / "x.headway"))
    text = next(each.text for each in overview(recording).findings if each.id == "locks")
    assert ("holder" in text) is has_holder, text
    assert ("the thread that ended the wait" in text) is not has_holder, text


def test_every_state_of_a_thread_has_words_in_both_lists() -> None:
    assert set(HOLDERS) == set(ENDERS) == set(DOING)
