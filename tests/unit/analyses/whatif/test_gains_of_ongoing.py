"""Likely gains of programs that would have gone on, by a replay: how much more their threads do together in the same time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.common import causes
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.changes import AvoidedLoss
from headway.analyses.lost_cores.types import Loss
from headway.analyses.whatif import queues
from headway.analyses.whatif.predicted_gains import PredictedGains
from headway.analyses.whatif.queues import polling_for_room
from headway.analyses.whatif.threads_together import ThreadsTogether
from headway.store import open_recording
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

APP = ("org.example.Shop", "sell")
FUTEX, NANOSLEEP = 1, 3
JAVA = FakeThread("app", 0, [("B", 99_000), ("R", 1000)], "java")
ATTACHED: dict[str, Any] = {"attached": True, "ended_by": "interrupt"}
SLEEPS = [(-1, NANOSLEEP)]
LAUNCHED: dict[str, Any] = {"ended_by": "duration"}
ROUNDS, NS = 20, 5000
TURNS = [
    FakeThread("app", 0, [("R", NS), ("B", NS)] * (ROUNDS // 2), "worker-0"),
    FakeThread("app", 0, [("B", NS), ("R", NS)] * (ROUNDS // 2), "worker-1"),
]
"""Two threads take turns at a lock: one of them has it at any time."""
SOLOS = [FakeThread("app", 0, [("R", 100_000)], f"solo-{i}") for i in range(3)]


def lock_of(path: Path, cores: int, facts: dict[str, Any], solos: int) -> Loss:
    """Return the loss to the lock of the threads that take turns, beside some that compute all the time."""
    waits, holds = [], []
    for i in range(ROUNDS):
        waiter, holder = (1, 2) if i % 2 else (2, 1)
        end = i * NS + NS
        waits.append(Wait(waiter, 0, i * NS, end, owner=holder, waker=holder, waking=end, stack=0))
        holds.append(LockHold(0, holder, i * NS, end))
    made = LockRecording(
        [JAVA, *TURNS, *SOLOS[:solos]],
        waits,
        holds,
        wall=100_000,
        stacks=[(*LOCK_FRAMES, APP)],
        wakers={0: SLEEPS, 1: [(2, FUTEX)] * (ROUNDS // 2), 2: [(1, FUTEX)] * (ROUNDS // 2)},
        facts=facts | {"recorded_cores": cores, "affinity": [*range(cores)]},
    )
    of = open_recording(made.write(path))
    (loss,) = (each for each in why(of, gains=PredictedGains(of)).account.lost if each.cause == "lock_contention")
    return loss


@pytest.mark.parametrize("facts", [ATTACHED, LAUNCHED], ids=["attached", "for a duration"])
@pytest.mark.parametrize(
    ("cores", "solos", "more"),
    [
        (8, 0, 2),  # each of both does in half of the time what it did
        (8, 3, 5 / 4),  # both do twice as much as the 1 that they did together, three others the 3 that they did
    ],
    ids=["two threads", "and three others"],
)
def test_what_threads_do_more_together_without_a_lock_is_the_gain(
    cores: int, solos: int, more: float, facts: dict[str, Any], tmp_path: Path
) -> None:
    loss = lock_of(tmp_path / "r", cores, facts, solos)
    assert loss.likely_interval is not None, loss.unknown_gain
    assert loss.likely_speedup is not None
    assert loss.likely_speedup == pytest.approx(min(more, loss.bound_speedup or 0), rel=0.06)
    low, high = loss.likely_interval
    assert low <= loss.likely_speedup <= high


class _Times:
    """A replay in which threads come to their ends at given times."""

    def __init__(self, ends: list[int]) -> None:
        self._ends = ends

    def times(self, thread: Any, ns: Any) -> Any:
        return np.array(self._ends)


def of_two(running: tuple[int, int], ends: tuple[int, int]) -> ThreadsTogether:
    return ThreadsTogether(np.array([1, 2], np.int32), np.array(running, float), 0, np.array(ends), 100, 30.0)


def test_one_that_was_seldom_let_in_does_much_more_and_the_other_nothing() -> None:
    """One ran 40 in the second half and needs as long as before; the other ran 5, and needs a fifth."""
    times: Any = _Times([100, 20])
    assert of_two((40, 5), (100, 100)).replayed_ns(times, 2, is_of_each=False) == pytest.approx(100 * 45 / (40 + 25))
    assert of_two((40, 5), (100, 100)).replayed_ns(times, 2, is_of_each=True) == pytest.approx(100 * (40 + 1) / 45)


def test_sleeps_that_are_hardly_there_gain_nothing_though_a_quiet_machine_is_faster_for_some(tmp_path: Path) -> None:
    """One thread waits for a core for 60 % of the time: alone on the machine it needs 40 % of it, the others all of it."""
    threads = [
        JAVA,
        FakeThread("app", 0, [("W", 600), ("R", 400)] * 100, "late"),
        SOLOS[0],
        FakeThread("app", 0, [("B", 1000), ("R", 1000)] * 50, "sleeper"),
    ]
    made = LockRecording(
        threads,
        [],
        wall=100_000,
        wakers={0: SLEEPS, 3: SLEEPS * 50},
        facts=ATTACHED | {"recorded_cores": 4, "affinity": [*range(4)]},
    )
    gains = PredictedGains(open_recording(made.write(tmp_path / "r")))
    one, none = np.array([3]), np.array([0])
    for cause in (causes.SLEEP, causes.IO, causes.LOCK):
        (gain,) = gains.without([AvoidedLoss(cause, "", "", one, none, none + 10)])  # of the 1000 ns of its first wait
        assert gain is not None
        assert gain.speedup == pytest.approx(1, rel=1e-4)
        assert gain.low <= 1 <= gain.high


def test_all_together_do_no_more_than_the_cores_can() -> None:
    times: Any = _Times([1, 1])
    assert of_two((1, 1), (100, 100)).replayed_ns(times, 2, is_of_each=False) == 30 / 2


def test_of_threads_that_end_with_their_tasks_nothing_is_known(tmp_path: Path) -> None:
    threads, waits, wakers = [JAVA, SOLOS[0]], [], {0: SLEEPS}
    for i in range(10):
        holder = len(threads)
        threads.append(FakeThread("app", 10_000 * i, [("R", 5000)], f"request-{i}a"))
        threads.append(FakeThread("app", 10_000 * i, [("B", 5000), ("R", 5000)], f"request-{i}b"))
        ends = 10_000 * i + 5000
        waits.append(Wait(holder + 1, 0, 10_000 * i, ends, owner=holder, waker=holder, waking=ends, stack=0))
        wakers[holder + 1] = [(holder, FUTEX)]
    made = LockRecording(
        threads,
        waits,
        wall=100_000,
        stacks=[(*LOCK_FRAMES, APP)],
        wakers=wakers,
        facts=ATTACHED | {"recorded_cores": 4, "affinity": [*range(4)]},
    )
    of = open_recording(made.write(tmp_path / "r"))
    (loss,) = (each for each in why(of, gains=PredictedGains(of)).account.lost if each.cause == "lock_contention")
    assert loss.unknown_gain is not None
    assert (loss.unknown_gain.id, loss.likely_speedup) == ("HW455", None)
    assert loss.bound_speedup is not None


CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
AWAITS = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
)


def test_of_threads_that_wait_for_what_others_hand_over_nothing_is_known(tmp_path: Path) -> None:
    waits = [
        replace(each, stack=0, owner=None)
        for i in range(ROUNDS)
        for each in [Wait(1 if i % 2 else 2, 0, i * NS, i * NS + NS, waker=2 if i % 2 else 1, waking=i * NS + NS)]
    ]
    made = LockRecording(
        [JAVA, *TURNS],
        waits,
        wall=100_000,
        classes=[CONDITION],
        stacks=[(*AWAITS, APP)],
        wakers={0: SLEEPS, 1: [(2, FUTEX)] * (ROUNDS // 2), 2: [(1, FUTEX)] * (ROUNDS // 2)},
        facts=ATTACHED | {"recorded_cores": 4, "affinity": [*range(4)]},
    )
    of = open_recording(made.write(tmp_path / "r"))
    (loss,) = (each for each in why(of, gains=PredictedGains(of)).account.lost if each.cause == "condition")
    assert loss.unknown_gain is not None
    assert (loss.unknown_gain.id, loss.likely_speedup) == ("HW454", None)


def test_where_nobody_who_stayed_ran_in_the_second_half_that_is_the_reason(tmp_path: Path) -> None:
    threads = [JAVA, FakeThread("app", 0, [("R", 1000), ("B", 1000)] * 20 + [("B", 60_000)], "idle")]
    threads.append(replace(threads[1], name="idle-2"))
    made = LockRecording(
        threads,
        [],
        wall=100_000,
        wakers={0: SLEEPS, 1: SLEEPS * 21, 2: SLEEPS * 21},
        facts=ATTACHED | {"recorded_cores": 4, "affinity": [*range(4)]},
    )
    of = open_recording(made.write(tmp_path / "r"))
    reasons = [
        each.unknown_gain.message
        for each in why(of, gains=PredictedGains(of)).account.lost
        if each.unknown_gain is not None
    ]
    assert reasons
    assert all("no thread that was there for most of the time ran in the second half" in each for each in reasons)


OFFERS = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "parkNanos"),
    ("com.lmax.disruptor.MultiProducerSequencer", "next"),
)


@pytest.mark.parametrize(
    ("waker", "part", "look_ns", "is_said"),
    [(None, 50, 5000, True), (2, 50, 5000, False), (None, 5, 5000, False), (None, 50, 4999, False)],
    ids=["looks", "room was made for it", "hardly ever", "gives up"],
)
def test_gains_are_unknown_only_where_threads_look_for_room_for_long(
    waker: int | None, part: int, look_ns: int, is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A producer waits ten times, `part` percent of the time in all; `waker`: who ended the waits, if anybody did.

    `look_ns`: how long a wait may last that is a look.
    """
    monkeypatch.setattr(queues, "LONGEST_LOOK_NS", look_ns)
    ns = 100 * part
    starts = range(10_000 - ns, 100_000, 10_000)
    recorded = LockRecording(
        [
            JAVA,
            FakeThread("app", 0, [("R", 10_000 - ns), ("B", ns)] * 10, "producer"),
            FakeThread("app", 0, [("R", 100_000)], "consumer"),
        ],
        [Wait(1, 0, at, at + ns, waker=waker, waking=waker and at + ns, stack=0, is_timed=True) for at in starts],
        wall=100_000,
        classes=[""],
        stacks=[(*OFFERS, APP)],
        wakers={0: SLEEPS, 1: [(-1 if waker is None else waker, FUTEX)] * 10},
        facts={"recorded_cores": 4, "affinity": [*range(4)]},
    )
    of = open_recording(recorded.write(tmp_path / "r"))
    notice = polling_for_room(of)
    assert polling_for_room(of, (0, 2000)) is None  # before the first wait
    assert (notice is not None) == is_said
    if notice is not None:
        assert (notice.id, "by looking 10 times" in notice.message) == ("HW903", True)
