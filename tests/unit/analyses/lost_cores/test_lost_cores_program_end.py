"""Whose gain is the program's: threads that its end waits for, and threads that nobody waits for, counted by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.critical_path.path_threads import load_threads
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.gains import program_end
from headway.analyses.lost_cores.gains.program_end import ProgramEnd
from headway.analyses.lost_cores.gains.replay import Replay
from headway.analyses.lost_cores.types import Loss
from headway.analyses.waits import pieces
from headway.store import Recording, open_recording
from support.builders.lock_builder import LOCK_CLASS, LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

JAVA, MAIN, HOLDER, WAITER = range(4)
FUTEX, SOCKET = 1, 6
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
LAUNCHER = FakeThread("app", 0, [("B", 99), ("R", 1)], "java")
"""The first thread of a JVM, which waits for the main thread."""

Wakers = Mapping[int, Sequence[tuple[int, int]]]


def recording(path: Path, threads: Sequence[FakeThread], wait: Wait, wakers: Wakers) -> Recording:
    return open_recording(LockRecording([LAUNCHER, *threads], [wait], wakers=wakers).write(path))


def lock_of(of: Recording) -> Loss:
    """Return the loss to the lock."""
    (loss,) = (loss for loss in why(of).account.lost if loss.cause == "lock_contention")
    return loss


def gain(of: Recording) -> float:
    """Return how many times as fast the program would likely be without its lock."""
    loss = lock_of(of)
    assert loss.likely_speedup is not None
    return loss.likely_speedup


def background(path: Path) -> Recording:
    """Main works alone; two daemons have a lock, one of them waits for it, and runs when the program ends."""
    threads = [
        FakeThread("app", 0, [("R", 98)], "main"),
        FakeThread("app", 0, [("B", 100)], "daemon-1"),
        FakeThread("app", 0, [("R", 10), ("B", 80), ("R", 10)], "daemon-2"),
    ]
    wait = Wait(WAITER, 0, 10, 90, owner=HOLDER, waker=HOLDER, waking=90)
    return recording(path, threads, wait, {JAVA: [(MAIN, FUTEX)], WAITER: [(HOLDER, FUTEX)]})


def test_a_lock_of_threads_that_nobody_waits_for_is_no_gain(tmp_path: Path) -> None:
    assert gain(background(tmp_path / "r")) == 1.0


def test_where_main_only_waits_for_the_last_thread_the_end_of_that_one_counts(tmp_path: Path) -> None:
    # Two workers compute for 40 and 45 with one lock held; nothing is done after that but to end.
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 85), ("R", 3)], "main"),
        FakeThread("app", 10, [("R", 40)], "worker-0"),
        FakeThread("app", 10, [("B", 40), ("R", 45)], "worker-1"),
    ]
    wait = Wait(WAITER, 0, 10, 50, owner=HOLDER, waker=HOLDER, waking=50)
    wakers = {JAVA: [(MAIN, FUTEX)], MAIN: [(WAITER, FUTEX)], WAITER: [(HOLDER, FUTEX)]}
    assert gain(recording(tmp_path / "r", threads, wait, wakers)) == pytest.approx(100 / 60)


def test_a_thread_that_main_got_something_from_over_a_socket_is_one_that_the_end_hangs_on(tmp_path: Path) -> None:
    # No wait that the JVM tells of leads from main to the waiter: what it lost among the cores is what is known.
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 75), ("R", 13)], "main"),
        FakeThread("app", 0, [("R", 60), ("B", 40)], "server-1"),
        FakeThread("app", 0, [("B", 60), ("R", 25), ("B", 15)], "server-2"),
    ]
    wait = Wait(WAITER, 0, 0, 60, owner=HOLDER, waker=HOLDER, waking=60)
    wakers = {JAVA: [(MAIN, FUTEX)], MAIN: [(WAITER, SOCKET)], WAITER: [(HOLDER, FUTEX)]}
    assert gain(recording(tmp_path / "socket", threads, wait, wakers)) > 1.1
    alone = wakers | {MAIN: [(-1, SOCKET)]}
    assert gain(recording(tmp_path / "outside", threads, wait, alone)) == 1.0, "nobody of the program answered"
    client = alone | {WAITER: [(-1, SOCKET), (-1, SOCKET)]}
    assert gain(recording(tmp_path / "client", threads, wait, client)) > 1.1, "both talk with somebody outside"
    unknown = {JAVA: [(MAIN, 0)], MAIN: [(-1, 0)], WAITER: [(HOLDER, 0), (-1, 0)], HOLDER: [(-1, 0)]}
    assert gain(recording(tmp_path / "unknown", threads, wait, unknown)) > 1.1, "calls were not recorded"


SERVERS = (
    FakeThread("app", 0, [("R", 10), ("B", 75), ("R", 13)], "main"),
    FakeThread("app", 0, [("R", 60), ("B", 40)], "server-1"),
    FakeThread("app", 0, [("B", 60), ("R", 25), ("B", 15)], "server-2"),
    FakeThread("app", 0, [("R", 2), ("B", 98)], "helper"),
)
"""Main, the holder of a lock, who waits for it until 60, and a thread that has nothing to do with these."""
HELPER = 4
FOR_THE_LOCK = Wait(WAITER, 0, 0, 60, owner=HOLDER, waker=HOLDER, waking=60)


BY_HELPER = Wait(MAIN, 1, 10, 85, waker=HELPER, waking=85)
UNTIL_ITS_TIME = Wait(MAIN, 1, 10, 85, is_timed=True)


@pytest.mark.parametrize(
    ("others", "unknown_ns"),
    [
        ([Wait(MAIN, 1, 10, 85)], 75),
        ([Wait(MAIN, 1, 10, 14), Wait(MAIN, 1, 14, 85, waker=HELPER, waking=85)], 4),
        ([BY_HELPER], 0),
        ([UNTIL_ITS_TIME], 0),
        ([BY_HELPER, Wait(HELPER, 1, 2, 80)], 78),
        ([UNTIL_ITS_TIME, Wait(HELPER, 1, 2, 80)], 0),
    ],
    ids=["all", "a part", "none", "until its time", "of who ended it", "of somebody else"],
)
def test_a_lock_counts_for_as_long_as_nobody_knows_who_ended_the_waits_that_the_end_hangs_on(
    others: Sequence[Wait], unknown_ns: int, tmp_path: Path
) -> None:
    wakers = {JAVA: [(MAIN, FUTEX)], MAIN: [(-1, FUTEX)], WAITER: [(HOLDER, FUTEX)]}
    program = LockRecording(
        [LAUNCHER, *SERVERS], [FOR_THE_LOCK, *others], classes=(LOCK_CLASS, CONDITION), wakers=wakers
    )
    found = open_recording(program.write(tmp_path / "r"))
    lost_ns = lock_of(found).core_ns
    assert lost_ns >= 16
    # Two cores, and a replay in which main is no earlier: what is known of it is between nothing and all that was lost.
    assert gain(found) == pytest.approx(100 / (100 - min(lost_ns / 2, unknown_ns)))


class _OneMoreReader(LockRecording):
    """The same, with I/O of a thread that is not on record, which the waiter for the lock ended."""

    reader = 0

    def _slices(self) -> list[dict[str, Any]]:
        rows = super()._slices()
        read = {"thread_id": self.reader, "blocked_ns": 5, "blocked_in": SOCKET, "waker_id": WAITER}
        return [*rows, rows[-1] | read]


@pytest.mark.parametrize("number", [len(SERVERS) + 1, len(SERVERS) + 2, 5000])
def test_threads_that_are_not_on_record_are_somebody_outside(number: int, tmp_path: Path) -> None:
    wakers = {JAVA: [(MAIN, FUTEX)], MAIN: [(-1, SOCKET)], WAITER: [(HOLDER, FUTEX)]}
    program = _OneMoreReader([LAUNCHER, *SERVERS], [FOR_THE_LOCK], wakers=wakers)
    program.reader = number
    found = open_recording(program.write(tmp_path / "r"))
    assert gain(found) > 1.1, "main read what somebody outside wrote"
    replay = Replay(found, pieces.load(found, (0, 100)), (0, 100))
    known = replay.part_for_the_end(np.array([HELPER, WAITER]), np.array([30, 10]), (0, 100))
    assert known == 0.25
    assert replay.part_for_the_end(np.array([HELPER, number]), np.array([30, 10]), (0, 100)) == 0.25


def test_the_end_of_a_server_that_was_told_to_end_tells_of_no_thread(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 95, [("R", 3)], "SIGTERM handler"),
        FakeThread("app", 0, [("R", 60), ("B", 40)], "server-1"),
        FakeThread("app", 0, [("B", 60), ("R", 30), ("B", 10)], "server-2"),
    ]
    wait = Wait(WAITER, 0, 0, 60, owner=HOLDER, waker=HOLDER, waking=60)
    found = recording(tmp_path / "r", threads, wait, {JAVA: [(MAIN, FUTEX)], WAITER: [(HOLDER, FUTEX)]})
    assert gain(found) > 1.1


def test_a_part_ends_with_the_thread_that_the_path_is_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_end, "STEP_NS", 1)
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 60), ("R", 28)], "main"),
        FakeThread("app", 10, [("R", 60)], "worker"),
        FakeThread("app", 0, [("R", 100)], "daemon"),
    ]
    wait = Wait(MAIN, 0, 10, 70, waker=HOLDER, waking=70)
    found = recording(tmp_path / "r", threads, wait, {JAVA: [(MAIN, FUTEX)], MAIN: [(HOLDER, FUTEX)]})
    ends = ProgramEnd(found, load_threads(found), [MAIN, HOLDER, WAITER], np.array([0, ORIGIN + 70, 0, 0]))
    assert [ends.thread(ORIGIN + ns) for ns in (9, 11, 70, 72, 98, 100)] == [MAIN, HOLDER, HOLDER, MAIN, MAIN, MAIN]


@pytest.mark.parametrize("facts", [{"ended_by": "interrupt"}, {"mode": "proc"}, {"pid": 4711}])
def test_a_program_that_did_not_end_or_whose_end_is_not_known_waited_for_no_thread(
    facts: dict[str, object], tmp_path: Path
) -> None:
    threads = [LAUNCHER, FakeThread("app", 0, [("R", 98)], "main")]
    program = LockRecording(threads, [], wakers={JAVA: [(MAIN, FUTEX)]}, facts=facts).write(tmp_path / "r")
    found = open_recording(program)
    assert ProgramEnd(found, load_threads(found), [MAIN], np.zeros(2, np.int64)).thread(ORIGIN + 100) is None
