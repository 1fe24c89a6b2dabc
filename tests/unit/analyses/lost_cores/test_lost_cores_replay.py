"""The order of causes: what would likely be gained without each, on recordings made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses.common import causes
from headway.analyses.common.units import percent
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.gains.bounds import BoundInputs
from headway.analyses.lost_cores.gains.replay import saved_ns
from headway.analyses.lost_cores.grouping import LossRow
from headway.analyses.lost_cores.ranking import ranked
from headway.analyses.lost_cores.types import Account, Loss, Place, Why
from headway.report.terminal import lost_cores
from headway.store import open_recording
from support.builders import synthetic
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockRecording, Wait
from support.builders.synthetic import FakeThread

APP = ("org.example.Shop", "sell")
CONDITION_WAIT = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
    APP,
)
JOIN = (("java.lang.Object", "wait"), ("java.lang.Thread", "join"), ("org.example.Main", "main"))


def serial_then_locked(alone: int, locked: int) -> LockRecording:
    """Main works alone; then two threads work for `locked` each with one lock held, 2 without it, and are joined."""
    end = alone + 2 * locked + 2
    threads = [
        FakeThread("app", 0, [("R", alone), ("B", end - alone), ("R", 1)], "main"),
        FakeThread("app", alone, [("R", locked + 2)], "worker-0"),
        FakeThread("app", alone, [("B", locked), ("R", locked + 2)], "worker-1"),
    ]
    waits = [
        Wait(2, 0, alone, alone + locked, owner=1, waker=1, waking=alone + locked, stack=0),
        Wait(0, 1, alone, alone + locked + 2, waker=1, waking=alone + locked + 2, stack=1),
        Wait(0, 2, alone + locked + 2, end, waker=2, waking=end, stack=1),
    ]
    kinds = ["park", "wait", "wait"]
    classes = [LOCK_CLASS, "java.lang.Thread", "java.lang.Thread"]
    return LockRecording(threads, waits, wall=end + 1, kinds=kinds, classes=classes, stacks=[(*LOCK_FRAMES, APP), JOIN])


def account(lock_recording: LockRecording, path: Path) -> Account:
    return why(open_recording(lock_recording.write(path))).account


def test_a_lock_that_gives_more_than_it_lost_comes_before_a_serial_section_that_lost_more(tmp_path: Path) -> None:
    # 48 of the lock's 2 x 40 are lost to it or to the join that it delays; the lock is worth 40, the serial section 25.
    found = account(serial_then_locked(50, 40), tmp_path / "r")
    lost = {cause: sum(loss.core_ns for loss in found.lost if loss.cause == cause) for cause in causes.CAUSES}
    assert lost["serial_section"] > lost["lock_contention"]
    order = [loss.cause for loss in found.lost]
    assert order[:2] == ["lock_contention", "serial_section"]
    lock, serial = found.lost[:2]
    assert lock.likely_speedup == pytest.approx(133 / (133 - 40))
    assert serial.likely_speedup == pytest.approx(133 / (133 - 25), rel=0.02)


def test_a_moment_at_a_lock_of_a_thread_that_is_late_does_not_undo_what_is_gained_before_it(tmp_path: Path) -> None:
    # worker-1 waits for 60 for worker-0's condition, then for 2 for a lock that the other worker has: without the condition it
    # comes by there 60 earlier. It ends last, at 100; without the condition at 40, and worker-0 at 66.
    threads = [
        FakeThread("app", 0, [("B", 99), ("R", 1)], "java"),
        FakeThread("app", 0, [("R", 66), ("B", 34)], "worker-0"),
        FakeThread("app", 0, [("B", 60), ("R", 4), ("B", 2), ("R", 34)], "worker-1"),
    ]
    waits = [
        Wait(2, 0, 0, 60, waker=1, waking=60, stack=0),
        Wait(2, 1, 64, 66, owner=1, waker=1, waking=66, stack=1),
    ]
    classes = ["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", LOCK_CLASS]
    lock_recording = LockRecording(threads, waits, classes=classes, stacks=[CONDITION_WAIT, (*LOCK_FRAMES, APP)])
    found = account(lock_recording, tmp_path / "r")
    (condition,) = (loss for loss in found.lost if loss.cause == "condition")
    assert condition.likely_speedup == pytest.approx(min(100 / 40, condition.bound_speedup or 0), rel=0.1)


def test_a_longer_serial_section_comes_first(tmp_path: Path) -> None:
    assert [loss.cause for loss in account(serial_then_locked(90, 40), tmp_path / "r").lost][:2] == [
        "serial_section",
        "lock_contention",
    ]


def test_nothing_is_likelier_than_its_bound_or_less_than_its_core_time_among_the_cores(tmp_path: Path) -> None:
    found = account(serial_then_locked(50, 40), tmp_path / "r")
    for loss in found.lost:
        if loss.bound_speedup is None:
            assert loss.likely_speedup is None
            continue
        least = found.wall_ns / (found.wall_ns - loss.core_ns / found.cores)
        assert min(least, loss.bound_speedup) - 1e-9 <= (loss.likely_speedup or 0) <= loss.bound_speedup


def test_workers_that_sleep_are_one_loss_and_gain_what_they_all_sleep(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 5), ("B", 40), ("R", 5)], "worker-0"),
        FakeThread("app", 0, [("R", 5), ("B", 40), ("R", 5)], "worker-1"),
        FakeThread("app", 0, [("B", 40), ("R", 10)], "other"),
    ]
    rows = [
        row | {"blocked_in": 3 if row["blocked_ns"] else 0}
        for i, thread in enumerate(threads)
        for row in synthetic.slices_of(i, thread)
    ]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    found = why(open_recording(synthetic.write(tmp_path / "r", threads, 50, tables={"slice": rows}))).account
    names = {loss.place.thread for loss in found.lost if loss.cause == "sleep"}
    assert names == {"worker-*", "other"}
    (workers,) = (loss for loss in found.lost if loss.place.thread == "worker-*")
    assert workers.evidence[0].startswith("'worker-*' slept 2 times, 80.0 ns in all")


def slept(path: Path, **tables: list[dict[str, int]]) -> Why:
    """Main sleeps for 40 of 61 ns while another one works, and ends last."""
    threads = [
        FakeThread("app", 0, [("R", 55)], "other"),
        FakeThread("app", 0, [("R", 10), ("B", 40), ("R", 11)], "main"),
    ]
    rows = [
        row | {"blocked_in": 3 if row["blocked_ns"] else 0}
        for i, thread in enumerate(threads)
        for row in synthetic.slices_of(i, thread)
    ]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    return why(open_recording(synthetic.write(path, threads, 61, tables={"slice": rows, **tables})))


def test_without_a_record_of_locks_a_sleep_has_a_bound_and_no_likely_gain_and_that_is_said(tmp_path: Path) -> None:
    found = slept(tmp_path / "r")
    (loss,) = (loss for loss in found.account.lost if loss.cause == "sleep")
    assert loss.bound_speedup == pytest.approx(61 / 38)
    assert loss.likely_speedup is None
    (unknown_gain,) = (notice for notice in found.notices if notice.id == "HW499")
    assert f"without sleep and I/O ({percent(40 / 122)} of the core time) is not known" in unknown_gain.message


def test_where_locks_were_recorded_and_nobody_waited_for_one_a_sleep_is_replayed(tmp_path: Path) -> None:
    # Without the sleep main would end 40 ns sooner, but 76 ns of work take 38 on two cores. Lost was a core for 40.
    found = slept(tmp_path / "r", block=[], blocker=[])
    (loss,) = (loss for loss in found.account.lost if loss.cause == "sleep")
    assert loss.likely_speedup == pytest.approx(61 / 38)
    assert "HW499" not in {notice.id for notice in found.notices}


@pytest.mark.parametrize(
    ("cause", "bound", "replayed", "saved"),
    [
        ("lock_contention", 2.0, 30, 30),  # the replay
        ("lock_contention", 2.0, 10, 20),  # no less than the lost core time among the cores
        ("lock_contention", 1.25, 90, 20),  # no more than the bound
        ("serial_section", 2.0, 0, 20),  # spread
        ("safepoint", 2.0, 30, 30),  # what the program would have done with the cores that it had in it
        ("jvm_start", 2.0, 0, 20),  # what is computed there remains
        ("jvm_end", 1.1, 0, 100 / 11),
        ("cpu_quota", 2.0, 0, 50),  # the bound
        ("gc_pause", 2.0, 30, 30),  # its pauses and what it took from the program, whatever it did on idle cores
        ("unknown", None, 0, 20),
        ("sleep", None, 70, 70),  # there nearly all the time
    ],
)
def test_what_is_gained_lies_between_the_lost_core_time_and_the_bound(
    cause: str, bound: float | None, replayed: int, saved: int
) -> None:
    assert saved_ns(cause, 40, bound, BoundInputs(100, 2, work_ns=100), replayed) == pytest.approx(saved)


def test_the_jvms_own_start_never_comes_before_what_would_gain_much() -> None:
    def saves(cause: str, saved: float) -> tuple[float, LossRow, Loss]:
        return saved, LossRow(0, -1, -1, 1), Loss(cause, 1, 0.1, Place(), 1.5)

    found = [saves("jvm_start", 40), saves("io", 3), saves("lock_contention", 20), saves("sleep", 5)]
    assert [loss.cause for _, _, loss in ranked(found, 100)] == ["lock_contention", "sleep", "jvm_start", "io"]
    assert [loss.cause for _, _, loss in ranked(found[:2], 100)] == ["jvm_start", "io"]  # nothing else to speak of


LOCK, ASLEEP, BETWEEN = 7, 8, 9


def saves(key: int, cause: str, saved: float, lost: int) -> tuple[float, LossRow, Loss]:
    return saved, LossRow(0, key, -1, lost), Loss(cause, lost, 0.1, Place(), 1.5)


@pytest.mark.parametrize(
    ("lock_saves", "lock_lost", "is_holder", "first"),
    [
        (46, 30, True, "lock_contention"),
        (44, 30, True, "sleep"),
        (46, 5, True, "sleep"),
        (46, 30, False, "sleep"),
    ],
    ids=["nearly as much", "less", "lost less", "somebody else's sleep"],
)
def test_a_lock_comes_before_the_sleep_of_its_holders_that_would_gain_hardly_more(
    lock_saves: int, lock_lost: int, is_holder: bool, first: str
) -> None:
    found = [
        saves(ASLEEP, "sleep", 50, 10),
        saves(BETWEEN, "serial_section", 48, 10),
        saves(LOCK, "lock_contention", lock_saves, lock_lost),
    ]

    def is_by_holder(lock: LossRow, asleep: LossRow) -> bool:
        return is_holder and (lock.key, asleep.key) == (LOCK, ASLEEP)

    assert ranked(found, 100, is_by_holder)[0][2].cause == first


@pytest.mark.parametrize(("most", "first"), [(1.7, "lock_contention"), (1.5, "sleep")], ids=["overlap", "apart"])
def test_a_lock_comes_before_the_sleep_of_its_holders_where_predictions_do_not_tell_which_gains_more(
    most: float, first: str
) -> None:
    """The sleep gains 1.6 to 2.5 times, likely 2; the lock 1.2 to `most`, likely 1.4."""
    asleep, lock = saves(ASLEEP, "sleep", 50, 10), saves(LOCK, "lock_contention", 29, 30)
    found = [
        (*asleep[:2], replace(asleep[2], likely_interval=(1.6, 2.5))),
        (*lock[:2], replace(lock[2], likely_interval=(1.2, most))),
    ]
    assert ranked(found, 100, lambda _lock, _asleep: True)[0][2].cause == first


@pytest.mark.parametrize("cause", ["lock_contention", "condition"])
def test_the_exception_from_the_order_is_said_of_whatever_comes_before_a_sleep_that_would_gain_more(cause: str) -> None:
    lock, asleep = (
        Loss(of, 1, 0.1, Place(), 2.0, likely_speedup=likely) for of, likely in ((cause, 1.4), ("sleep", 1.6))
    )
    assert "; a lock comes before the sleep of its holders" in lost_cores._but_for_locks([lock, asleep])
    assert lost_cores._but_for_locks([asleep, lock]) == ""
