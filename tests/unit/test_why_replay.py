"""The order of causes: what would likely be gained without each, on recordings made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import synthetic
from headway.analyses import why_types as causes
from headway.analyses.units import percent
from headway.analyses.why import why
from headway.analyses.why_bounds import Ground
from headway.analyses.why_replay import saved_ns
from headway.analyses.why_types import Account, Why
from headway.store import open_recording
from made_locks import LOCK_CLASS, LOCK_FRAMES, Made, Wait
from synthetic import FakeThread

APP = ("org.example.Shop", "sell")
JOIN = (("java.lang.Object", "wait"), ("java.lang.Thread", "join"), ("org.example.Main", "main"))


def serial_then_locked(alone: int, locked: int) -> Made:
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
    return Made(threads, waits, wall=end + 1, kinds=kinds, classes=classes, stacks=[(*LOCK_FRAMES, APP), JOIN])


def account(made: Made, path: Path) -> Account:
    return why(open_recording(made.write(path))).account


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
        assert min(least, loss.bound_speedup) - 1e-9 <= (loss.likely_speedup or 0) <= loss.bound_speedup + 1e-9


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
    (told,) = (notice for notice in found.notices if notice.id == "HW499")
    assert f"without sleep and I/O ({percent(40 / 122)} of the core time) is not told" in told.message


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
        ("gc_pause", 2.0, 0, 50),  # nobody runs in it: the bound
        ("unknown", None, 0, 20),
        ("sleep", None, 70, 70),  # there nearly all the time
    ],
)
def test_what_is_gained_lies_between_the_lost_core_time_and_the_bound(
    cause: str, bound: float | None, replayed: int, saved: int
) -> None:
    assert saved_ns(cause, 40, bound, Ground(100, 2, work_ns=100), replayed) == pytest.approx(saved)
