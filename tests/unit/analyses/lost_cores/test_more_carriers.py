"""What more carriers, or no lock, would gain: virtual threads in a simulated schedule, whose truth another simulation tells."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from headway.analyses.common import causes
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.types import Loss
from headway.analyses.waits.carriers import _last_left
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

MONITOR, NAP, JOINED = 0, 1, 2
ROUNDS, PINNED_NS, AWAY_NS = 20, 5, 1
JOIN = (("java.lang.Object", "wait"), ("java.lang.Thread", "join"), ("org.example.Main", "main"))
ENTER = (("org.example.Shop", "sell"),)
SLEEP = (("java.lang.Thread", "sleep"), ("org.example.Shop", "sell"))


@dataclass
class Simulated:
    """Virtual threads that sleep for 5 pinned, with a monitor or not, and for 1 without a carrier, in 20 rounds each."""

    carriers: int
    is_shared: bool
    threads: int = 6
    waits: list[Wait] = field(default_factory=list)
    end: int = 0

    def __post_init__(self) -> None:
        ready = [(0, -1 - i) for i in range(self.threads)]  # since when, and who
        left = dict.fromkeys((who for _, who in ready), ROUNDS)
        queue: list[tuple[int, int]] = []
        holder, free, now = 0, self.carriers, 0
        sleeping: list[tuple[int, int, bool]] = []  # until when, who, and whether it has a carrier

        def enter(who: int, asked: int, owner: int) -> None:
            if asked < now:
                self.waits.append(
                    Wait(who, MONITOR, asked, now, owner=owner, waker=owner, waking=now, stack=1, is_pinned=True)
                )
            self.waits.append(Wait(who, NAP, now, now + PINNED_NS, stack=2, is_pinned=True, owns_monitor=True))
            sleeping.append((now + PINNED_NS, who, True))

        while any(left.values()):
            while free and ready:
                since, who = ready.pop(0)
                free -= 1
                if left[who] < ROUNDS:
                    self.waits.append(Wait(who, NAP, since - AWAY_NS, now, waking=since, stack=2))
                if self.is_shared and holder:
                    queue.append((now, who))
                else:
                    holder = who
                    enter(who, now, 0)
            sleeping.sort()
            now, who, has_carrier = sleeping.pop(0)
            if not has_carrier:
                ready.append((now, who))
                continue
            free, left[who], holder = free + 1, left[who] - 1, 0
            if left[who]:
                sleeping.append((now + AWAY_NS, who, False))
            if queue:
                asked, holder = queue.pop(0)
                enter(holder, asked, who)
            self.end, last = now, who
        self.waits.append(Wait(1, JOINED, 0, self.end, waker=last, waking=self.end, stack=0))

    def lost(self, path: Path) -> dict[str, Loss]:
        threads = [FakeThread("app", 0, [("B", self.end), ("R", 1)], name) for name in ("java", "main")]
        threads += [
            FakeThread("carrier", 0, [("R", 1), ("B", self.end - 1), ("R", 1)], f"ForkJoinPool-1-worker-{i + 1}")
            for i in range(self.carriers)
        ]
        lock_recording = LockRecording(
            threads,
            self.waits,
            wall=self.end + 1,
            kinds=["monitor", "park", "wait"],
            classes=["java.lang.Object", "java.lang.Thread.sleep", "java.lang.Thread"],
            no_objects=(NAP,),
            stacks=[JOIN, ENTER, SLEEP],
        )
        return {loss.cause: loss for loss in why(open_recording(lock_recording.write(path))).account.lost}


def test_the_simulation_is_that_of_the_program() -> None:
    """A shared monitor lets one sleep at a time, however many carriers there are; six own ones need six carriers."""
    assert Simulated(2, True).end == Simulated(8, True).end == 6 * ROUNDS * PINNED_NS
    assert Simulated(8, False).end == ROUNDS * (PINNED_NS + AWAY_NS) - AWAY_NS
    assert Simulated(2, False).end == pytest.approx(6 * ROUNDS * PINNED_NS / 2, rel=0.02)


def test_more_carriers_gain_nothing_where_all_would_wait_for_one_monitor_and_that_one_what_it_keeps(
    tmp_path: Path,
) -> None:
    found = Simulated(2, True).lost(tmp_path / "r")
    carriers, lock = found[causes.CARRIERS], found[causes.LOCK]
    assert carriers.likely_speedup == pytest.approx(1.0, abs=0.05)
    truth = Simulated(2, True).end / Simulated(2, False).end
    assert lock.likely_speedup == pytest.approx(truth, rel=0.15)
    assert list(found).index(causes.LOCK) < list(found).index(causes.CARRIERS)


def test_more_carriers_gain_what_the_program_gains_with_as_many_as_it_has_threads(tmp_path: Path) -> None:
    (carriers,) = (each for cause, each in Simulated(2, False).lost(tmp_path / "r").items() if cause == causes.CARRIERS)
    assert carriers.likely_speedup == pytest.approx(Simulated(2, False).end / Simulated(8, False).end, rel=0.1)


@pytest.mark.parametrize("is_shared", [True, False])
def test_of_a_single_carrier_that_is_kept_with_a_monitor_nothing_is_said(is_shared: bool, tmp_path: Path) -> None:
    """Nobody can wait for the monitor then: whether it is one or many the recording does not tell."""
    carriers = Simulated(1, is_shared).lost(tmp_path / "r")[causes.CARRIERS]
    assert carriers.likely_speedup is None
    assert carriers.bound_speedup is not None


def test_each_carrier_that_was_left_went_to_one_thread_that_waited_then() -> None:
    left, start, end = (np.array(each, np.int64) for each in ([5, 8, 20], [1, 2, 9, 9], [6, 10, 12, 30]))
    assert _last_left(left, start, end) == [0, 1, -1, 2]
