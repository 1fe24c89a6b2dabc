"""Likely gains of `headway why` that a replay of the run predicts: the same as those of `headway whatif`, or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.lost_cores import crowded
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.changes import AvoidedLoss, Gain
from headway.analyses.lost_cores.text import interval_text, refused_gain_text
from headway.analyses.lost_cores.types import Loss
from headway.analyses.overview import overview
from headway.analyses.whatif import predicted_gains, unchanged
from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.predicted_gains import PredictedGains
from headway.analyses.whatif.types import Change, LockChange
from headway.analyses.whatif.waiting_steps import waiting_steps
from headway.report.json.lost_cores import why_json
from headway.report.terminal.closing import closing
from headway.store import Recording, open_recording
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

JAVA, MAIN, HOLDER, WAITER = range(4)
FUTEX, NANOSLEEP = 1, 3
SEMAPHORE = "java.util.concurrent.Semaphore$NonfairSync"
ACQUIRE = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.Semaphore", "acquire"),
)
APP = ("com.acme.Cache", "get")
LAUNCHER = FakeThread("app", 0, [("B", 99_000), ("R", 1000)], "java")
THREADS = [
    LAUNCHER,
    FakeThread("app", 0, [("R", 10_000), ("B", 85_000), ("R", 4000)], "main"),
    FakeThread("app", 10_000, [("R", 40_000)], "worker-0"),
    FakeThread("app", 10_000, [("R", 1000), ("B", 39_000), ("R", 45_000)], "worker-1"),
]
"""Main waits for two workers that compute for 40 and 46 us, the second one after the first; then it computes 4 us."""
WAIT = Wait(WAITER, 0, 11_000, 50_000, owner=HOLDER, waker=HOLDER, waking=50_000, stack=0)
WAKERS = {JAVA: [(MAIN, FUTEX)], MAIN: [(WAITER, FUTEX)], WAITER: [(HOLDER, FUTEX)]}


def recording(
    path: Path, *, lock: str = LOCK_CLASS, stack: Sequence[tuple[str, str]] = LOCK_FRAMES, **facts: Any
) -> Recording:
    """Return the recording of a program in which one thread waits for another one's lock."""
    program = LockRecording(
        THREADS,
        [WAIT],
        [LockHold(0, HOLDER, 10_000, 50_000), LockHold(0, WAITER, 50_000, 95_000)],
        wall=100_000,
        classes=[lock],
        stacks=[(*stack, APP)],
        wakers=WAKERS,
        facts={"recorded_cores": 2, **facts},
    )
    return open_recording(program.write(path))


def lock_of(of: Recording, **options: Any) -> Loss:
    """Return the loss to the lock, with what is predicted of it."""
    lost = why(of, gains=PredictedGains(of), **options).account.lost
    (loss,) = (loss for loss in lost if loss.cause == "lock_contention")
    return loss


def test_the_gain_without_a_lock_is_what_whatif_predicts_without_it(tmp_path: Path) -> None:
    of = recording(tmp_path / "r")
    loss = lock_of(of)
    assert loss.place.lock is not None
    assert loss.likely_speedup is not None
    predicted = whatif(of, [2], Change(1, locks=(LockChange(loss.place.lock, is_removed=True),))).predicted[0]
    assert predicted.wall_ns == 61_000  # 10 of main, 46 of the longer worker, 4 of main, 1 of the launcher
    assert loss.likely_speedup == pytest.approx(100 / 61)
    assert loss.likely_speedup == pytest.approx(min(predicted.speedup, loss.bound_speedup or 0))
    low, high = loss.likely_interval or (0, 0)
    assert low == pytest.approx(predicted.speedup * predicted.wall_ns / predicted.high_ns)
    assert low <= loss.likely_speedup <= high <= (loss.bound_speedup or 0)
    assert (
        interval_text(loss) == f"Without it the run would be {low:.2f} to {high:.2f} times as fast, by a replay of it"
    )


def test_what_is_no_exclusive_lock_is_waits_that_take_no_time(tmp_path: Path) -> None:
    loss = lock_of(recording(tmp_path / "r", lock=SEMAPHORE, stack=ACQUIRE))
    assert loss.likely_interval is not None
    assert loss.likely_speedup == pytest.approx(100 / 61)


def test_a_sleep_is_predicted_without_a_record_of_locks(tmp_path: Path) -> None:
    """Main sleeps for 40 of its 99 us, while another thread computes 20."""
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("R", 30_000), ("B", 40_000), ("R", 29_000)], "main"),
        FakeThread("app", 0, [("R", 20_000)], "other"),
    ]
    program = LockRecording(threads, [], wall=100_000, wakers={JAVA: [(MAIN, FUTEX)], MAIN: [(-1, NANOSLEEP)]})
    of = open_recording(program.write(tmp_path / "r"))
    (loss,) = (loss for loss in why(of, gains=PredictedGains(of)).account.lost if loss.cause == "sleep")
    assert loss.likely_interval is not None
    assert loss.likely_speedup == pytest.approx(100 / 60)


def test_a_recording_that_can_not_be_replayed_says_why(tmp_path: Path) -> None:
    loss = lock_of(recording(tmp_path / "r", mode="perf-switch"))
    assert (loss.likely_speedup, loss.likely_interval) == (None, None)
    assert loss.unknown_gain is not None
    assert loss.unknown_gain.id == "HW820"


def test_a_run_with_too_many_waits_is_estimated_before_anything_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicted_gains, "MOST_SLICES", 200)
    waits = [Wait(WAITER, 0, at, at + 500, owner=HOLDER, waker=HOLDER, stack=0) for at in range(11_000, 49_000, 950)]
    of = open_recording(LockRecording(THREADS, waits, wall=100_000, stacks=[(*LOCK_FRAMES, APP)]).write(tmp_path / "r"))
    assert of.manifest.tables["slice"].rows < 20 < 40 == of.manifest.tables["block"].rows
    monkeypatch.setattr(predicted_gains, "loaded", lambda _: pytest.fail("it was loaded"))
    assert PredictedGains(of).without([_loss()]) == [None]


def _loss() -> AvoidedLoss:
    none = np.zeros(0, np.int64)
    return AvoidedLoss("lock_contention", "", "", none, none, none)


@pytest.mark.parametrize("gain", [1.0, 1.5])
def test_a_gain_is_in_doubt_by_what_is_predicted_of_it(
    gain: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crowded, "kept_share", lambda _: 1.0)  # others had the cores
    loss = lock_of(recording(tmp_path / "r"))
    assert loss.doubts == (crowded.CROWDED,)
    of = recording(tmp_path / "again")
    (found,) = (each for each in why(of, gains=_Gains(Gain(gain, gain, gain))).account.lost if each.cause == loss.cause)
    assert found.doubts == ((crowded.CROWDED,) if gain > 1 else ())


@pytest.mark.parametrize(
    ("options", "gain"),
    [
        ({"window": (0, 90_000)}, 90 / 51),  # the waiter came to where it was at 90 us after 39 us less
        ({"window": (30_000, 90_000)}, 60 / 40),  # and after the 20 us less that are left of its wait
        ({"window": (0, 40_000)}, 1.0),  # what the waiter would do sooner ends nothing before 40 us
        ({"phase": 1}, 100 / 61),  # the only one
    ],
    ids=str,
)
def test_the_gain_in_a_part_is_that_of_the_thread_which_the_critical_path_is_on_at_its_end(
    options: dict[str, Any], gain: float, tmp_path: Path
) -> None:
    loss = lock_of(recording(tmp_path / "r"), **options)
    assert loss.likely_interval is not None
    assert loss.likely_speedup == pytest.approx(gain)
    assert loss.likely_interval[0] <= gain <= loss.likely_interval[1] + 1e-9


def test_a_sleep_that_a_parts_end_cuts_is_a_loss_of_the_part(tmp_path: Path) -> None:
    """Main runs 30 us and then sleeps for 30, up to the end of the part; other threads have ended."""
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("R", 30_000), ("B", 40_000), ("R", 29_000)], "main"),
        FakeThread("app", 0, [("R", 20_000)], "other"),
    ]
    program = LockRecording(threads, [], wall=100_000, wakers={JAVA: [(MAIN, FUTEX)], MAIN: [(-1, NANOSLEEP)]})
    of = open_recording(program.write(tmp_path / "r"))
    lost = why(of, window=(0, 60_000), gains=PredictedGains(of)).account.lost
    (loss,) = (loss for loss in lost if loss.cause == "sleep")
    assert loss.likely_interval is not None
    assert loss.likely_speedup == pytest.approx(2.0)


@pytest.mark.parametrize("cores", [2, 4])
def test_the_gain_on_other_cores_is_between_two_runs_on_these(cores: int, tmp_path: Path) -> None:
    """Three threads compute at once without the lock: on two cores they need more than on four."""
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("R", 10_000), ("B", 85_000), ("R", 4000)], "main"),
        FakeThread("app", 10_000, [("R", 40_000)], "worker-0"),
        FakeThread("app", 10_000, [("R", 1000), ("B", 39_000), ("R", 45_000)], "worker-1"),
        FakeThread("app", 10_000, [("B", 40_000), ("R", 40_000)], "worker-2"),
    ]
    wakers = {**WAKERS, 4: [(HOLDER, FUTEX)]}
    program = LockRecording(
        threads,
        [WAIT],
        [LockHold(0, HOLDER, 10_000, 50_000), LockHold(0, WAITER, 50_000, 95_000)],
        wall=100_000,
        stacks=[(*LOCK_FRAMES, APP)],
        wakers=wakers,
        facts={"recorded_cores": 2},
    )
    of = open_recording(program.write(tmp_path / "r"))
    loss = lock_of(of, cores=cores)
    asked = LockChange(loss.place.lock or "", is_removed=True)
    without = whatif(of, [cores], Change(1, locks=(asked,))).predicted[0].wall_ns
    with_it = whatif(of, [cores], Change(1)).predicted[0].wall_ns
    assert with_it == 100_000
    assert loss.likely_interval is not None
    assert loss.likely_speedup == pytest.approx(min(with_it / without, loss.bound_speedup or 0))


def test_a_run_of_too_many_slices_is_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicted_gains, "MOST_SLICES", 20)
    loss = lock_of(recording(tmp_path / "r"))
    assert loss.likely_interval is None
    assert loss.likely_speedup is not None


def test_where_the_replay_is_refused_the_gain_is_unknown_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unchanged, "MOST_ERROR", -1.0)  # no replay is good enough
    of = recording(tmp_path / "r")
    loss = lock_of(of)
    assert loss.likely_speedup is None
    assert loss.likely_interval is None
    assert loss.evidence[0] == refused_gain_text("HW822")
    (said,) = (each for each in why_json(why(of, gains=PredictedGains(of)))["lost"] if each["cause"] == loss.cause)
    assert (said["likely_speedup"], said["likely_low"], said["likely_high"]) == (None, None, None)
    assert said["likely_refused"] == "HW822"
    of_run = closing(overview(of), "a.headway")[1]
    assert of_run.endswith("how much faster it would be without it is not known (HW822).")
    assert " lock contention at com.acme.Cache.get:" in of_run


class _Gains:
    """Answers one gain for the first loss, and keeps what was asked."""

    def __init__(self, gain: Gain) -> None:
        self.gain = gain
        self.asked: list[AvoidedLoss] = []

    def of_part(self, window: tuple[int, int] | None, cores: int | None) -> _Gains:
        return self

    def without(self, losses: Sequence[AvoidedLoss]) -> list[Gain | None]:
        self.asked += losses
        return [self.gain, *[None] * (len(losses) - 1)][: len(losses)]


def test_a_prediction_is_no_more_than_the_bound_and_no_less_than_nothing(tmp_path: Path) -> None:
    of = recording(tmp_path / "r")
    gains = _Gains(Gain(50.0, 0.5, 99.0))
    (loss,) = (each for each in why(of, gains=gains).account.lost if each.cause == "lock_contention")
    assert loss.likely_speedup == loss.bound_speedup
    assert loss.likely_interval == (1.0, loss.bound_speedup)
    (asked,) = (each for each in gains.asked if each.cause == "lock_contention")
    assert asked.thread.tolist() == [WAITER]
    assert (asked.start.tolist(), asked.end.tolist()) == ([11_000], [50_000])


Waits = list[tuple[int, int, int]]
WAITS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 12)), max_size=8)


def apart(waits: Waits) -> Waits:
    """Return those waits of each thread that do not overlap one before them, as (thread, start, end)."""
    found: Waits = []
    for thread, start, length in sorted(waits):
        if all(one != thread or end <= start for one, _, end in found):
            found.append((thread, start, start + length))
    return found


@given(steps=WAITS, waits=WAITS)
def test_the_steps_that_wait_are_those_whose_middle_is_in_a_wait_of_their_thread(steps: Waits, waits: Waits) -> None:
    mine, waits_apart = apart(steps), apart(waits)
    columns = {
        name: np.array([each[at] for each in mine], np.int64)
        for at, name in enumerate(("thread", "begin_ns", "woken_ns"))
    }
    thread, start, end = (np.array([each[at] for each in waits_apart], np.int64) for at in range(3))
    expected = {
        row
        for row, (one, begin, woken) in enumerate(mine)
        if woken > begin
        and (before := [each for each in waits_apart if each[0] == one and each[1] <= (begin + woken) // 2])
        and before[-1][2] >= (begin + woken) // 2
    }
    assert set(waiting_steps(columns, thread, start, end).tolist()) == expected
