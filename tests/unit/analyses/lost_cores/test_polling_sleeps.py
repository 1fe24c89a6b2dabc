"""A thread that sleeps in a loop until others are done waits for these: without sleep it gains what it overslept, no more."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.polling_sleeps import WatchedThreads, slept_too_long_ns
from headway.analyses.lost_cores.types import Loss
from headway.analyses.whatif.predicted_gains import PredictedGains
from headway.store import open_recording
from support.builders.lock_builder import LockRecording
from support.builders.synthetic import FakeThread

JAVA, MAIN, WORKER, HELPER = range(4)
FUTEX, NANOSLEEP = 1, 3
NAP, LOOK, WALL = 1000, 10, 100_000


def sleep_of_main(path: Path, naps: int, worked: int, look: int = LOOK) -> Loss:
    """Return the loss to the sleeps of main: `naps` of them, beside a worker that works for `worked` ns; then it computes."""
    rest = WALL - NAP - naps * (NAP + look) - 1000
    threads = [
        FakeThread("app", 0, [("B", WALL - 1000), ("R", 1000)], "java"),
        FakeThread("app", 0, [("R", NAP), *[("B", NAP), ("R", look)] * naps, ("R", rest)], "main"),
        FakeThread("app", NAP // 2, [("R", worked), ("B", WALL - NAP // 2 - worked - 500), ("R", 500)], "worker"),
    ]
    nobody = [(-1, NANOSLEEP)] * naps
    wakers = {JAVA: [(MAIN, FUTEX)], MAIN: nobody, WORKER: [(MAIN, FUTEX)]}
    recording = LockRecording(threads, [], wakers=wakers, wall=WALL, facts={"recorded_cores": 2})
    of = open_recording(recording.write(path))
    (loss,) = (loss for loss in why(of, cores=2, gains=PredictedGains(of)).account.lost if loss.cause == "sleep")
    return loss


def naps_until(worked: int) -> tuple[int, int]:
    """Return how often main sleeps until it sees that the worker is done, and how long it has slept too long then."""
    woken = accumulate([NAP * 2] + [NAP + LOOK] * 90)  # the first look comes when main has worked, and slept once
    stopped = NAP // 2 + worked
    return next((at + 1, ns - stopped) for at, ns in enumerate(woken) if ns >= stopped)


@pytest.mark.parametrize("worked", [20_300, 40_000, 60_900])
def test_who_sleeps_until_others_are_done_gains_what_it_overslept(tmp_path: Path, worked: int) -> None:
    naps, late_ns = naps_until(worked)
    assert naps > 10
    assert 0 < late_ns < NAP
    loss = sleep_of_main(tmp_path / "r", naps, worked)
    assert loss.figures is not None
    assert loss.figures["overslept_ns"] == late_ns
    assert loss.bound_speedup == pytest.approx(WALL / (WALL - late_ns))
    assert loss.bound_speedup is not None
    assert loss.likely_speedup is not None
    assert loss.likely_speedup <= loss.bound_speedup
    assert loss.evidence[0].startswith("It sleeps in a loop until other threads are done")


@pytest.mark.parametrize("worked", [10_000, 90_000], ids=["it sleeps on after that", "the other one works on"])
def test_sleeps_that_end_at_another_time_than_the_others_work_are_sleeps(tmp_path: Path, worked: int) -> None:
    loss = sleep_of_main(tmp_path / "r", 50, worked)
    assert "overslept_ns" not in (loss.figures or {})
    assert (loss.bound_speedup or 1.0) > 1.3


def test_who_works_between_its_sleeps_does_not_poll(tmp_path: Path) -> None:
    loss = sleep_of_main(tmp_path / "r", 40, 40 * (NAP + 300), look=300)
    assert "overslept_ns" not in (loss.figures or {})


@pytest.mark.parametrize("waker", [MAIN, WORKER], ids=["main", "worker"])
def test_who_wakes_another_thread_at_each_look_hands_out_work_and_does_not_wait(tmp_path: Path, waker: int) -> None:
    """A paced producer's tasks are mostly not done when it comes with the next: without its sleeps it would be much faster."""
    naps, late_ns = naps_until(20_300)
    tasks, every = naps - 5, NAP + LOOK
    threads = [
        FakeThread("app", 0, [("B", WALL - 1000), ("R", 1000)], "java"),
        FakeThread("app", 0, [("R", NAP), *[("B", NAP), ("R", LOOK)] * naps], "main"),
        FakeThread("app", NAP // 2, [("R", 20_300)], "worker"),
        FakeThread("app", NAP - 2, [("R", 300), *[("B", every - 300), ("R", 300)] * tasks], "helper"),
    ]
    wakers = {MAIN: [(-1, NANOSLEEP)] * naps, HELPER: [(waker, FUTEX)] * tasks}
    recording = open_recording(LockRecording(threads, [], wakers=wakers, wall=WALL).write(tmp_path / "r"))
    start = NAP + every * np.arange(naps)
    found = slept_too_long_ns(recording, WatchedThreads(recording), np.full(naps, MAIN), start, start + NAP)
    assert found == (None if waker == MAIN else late_ns)
