"""A server that would have gone on, with clients outside of the recording: what its waits would gain hangs on these."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.gains.outside_clients import UNKNOWN_GAIN
from headway.analyses.lost_cores.types import Loss
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread

APP = ("org.example.Shop", "sell")
ACCEPT = (("sun.nio.ch.Net", "accept"), ("org.example.Server", "listen"), ("java.lang.Thread", "run"))
ROUNDS, HELD_NS = 9, 10


def lock_of(path: Path, first: int, second: int, *, is_server: bool, is_attached: bool = True) -> Loss:
    """Two threads take turns at a lock, beside one that accepts connections, or sleeps."""
    threads = [
        FakeThread("app", 0, [("B", 99), ("R", 1)], "java"),
        FakeThread("app", 0, [("B", 99), ("R", 1)], "acceptor"),
        FakeThread("app", 0, [("R", 10), ("B", 10)] * 5, "worker-0"),
        FakeThread("app", 0, [("B", 10), ("R", 10)] * 5, "worker-1"),
        FakeThread("carrier", 0, [("B", 95), ("R", 5)], "ForkJoinPool-1-worker-1"),
    ]
    pairs = [(first, second) if i % 2 else (second, first) for i in range(ROUNDS)]
    waits = [
        Wait(thread, 0, i * HELD_NS, (i + 1) * HELD_NS, owner=owner, waker=owner, waking=(i + 1) * HELD_NS, stack=0)
        for i, (thread, owner) in enumerate(pairs)
    ]
    facts = {"attached": True, "ended_by": "interrupt"} if is_attached else {}
    seen = [(1, "native", 1)] if is_server else []
    lock_recording = LockRecording(threads, waits, stacks=[(*LOCK_FRAMES, APP), ACCEPT], facts=facts, standing=seen)
    (lock,) = (
        each for each in why(open_recording(lock_recording.write(path))).account.lost if each.cause == "lock_contention"
    )
    return lock


def test_without_a_lock_that_holds_up_requests_from_outside_the_gain_is_not_known_but_bounded(tmp_path: Path) -> None:
    lock = lock_of(tmp_path / "r", -1, -2, is_server=True)
    assert lock.likely_speedup is None
    assert lock.bound_speedup is not None
    assert UNKNOWN_GAIN in lock.evidence


@pytest.mark.parametrize(
    ("first", "second", "is_server", "is_attached"),
    [(-1, -2, False, True), (2, 3, True, True), (-1, -2, True, False)],
    ids=["no server", "threads that never wait for work", "a program that ended by itself"],
)
def test_other_locks_have_a_likely_gain(
    first: int, second: int, is_server: bool, is_attached: bool, tmp_path: Path
) -> None:
    lock = lock_of(tmp_path / "r", first, second, is_server=is_server, is_attached=is_attached)
    assert lock.likely_speedup is not None
    assert UNKNOWN_GAIN not in lock.evidence
