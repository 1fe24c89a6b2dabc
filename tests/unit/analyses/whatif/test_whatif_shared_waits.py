"""`headway whatif --no-wait`: programs whose time without waiting for permits arithmetic knows, and what can't be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.ranking import ranking
from headway.analyses.whatif.types import Change, LockChange, WaitChange
from headway.errors import HeadwayError
from headway.store import Recording, open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.replay_builder import TIMED_FUTEX, Slice, write
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
PLACE, NAME = "com.acme.Store.borrow:3", "Semaphore@1000"
FUTEX = 1
PERMITS = LockRecording(
    threads=[
        FakeThread("app", 0, [("R", 200), ("B", 120), ("R", 200)], "client-0"),
        FakeThread("app", 0, [("R", 40), ("B", 120), ("R", 200), ("B", 120), ("R", 200)], "client-1"),
    ],
    waits=[
        Wait(1, 0, 40, 160, waker=0, waking=160, stack=0),
        Wait(0, 0, 200, 320, waker=1, waking=320, stack=0),
        Wait(1, 0, 360, 480, waker=0, waking=480, stack=0),
    ],
    wall=680,
    classes=["java.util.concurrent.Semaphore$NonfairSync"],
    stacks=[
        (
            ("jdk.internal.misc.Unsafe", "park"),
            ("java.util.concurrent.locks.LockSupport", "park"),
            ("java.util.concurrent.Semaphore", "acquire"),
            ("com.acme.Store", "borrow"),
        )
    ],
    wakers={0: [(1, FUTEX)], 1: [(0, FUTEX), (0, FUTEX)]},
    facts={"recorded_cores": 2, "ended_by": "duration"},
)
"""Two threads compute 160 with the one permit and 40 without, twice. The second one computes 40 before, and is done at 680."""


@pytest.fixture
def of(tmp_path: Path) -> Recording:
    """Return the recording of the two threads."""
    return open_recording(PERMITS.write(tmp_path / "a.headway"))


def wall_ns(of: Recording, *places: str, cores: int = 2) -> int:
    """Return the predicted wall time."""
    found = whatif(of, [cores], Change(1, waits=tuple(WaitChange(place) for place in places)))
    assert found.refused is None
    return found.predicted[0].wall_ns


@pytest.mark.parametrize("name", [PLACE, "Store.borrow:3", "Store.borrow", "com.acme.Store.borrow", NAME, "1000"])
def test_with_enough_permits_each_thread_takes_what_it_computes(of: Recording, name: str) -> None:
    assert wall_ns(of, name) == 440
    assert wall_ns(of, name, cores=1) == 840


def test_how_many_are_enough_goes_by_the_threads_that_waited(of: Recording) -> None:
    notices = whatif(of, [2], Change(1, waits=(WaitChange(PLACE),))).notices
    (said,) = (each.message for each in notices if each.id == "HW902")
    assert f"nobody wait at {PLACE}, where 2 threads waited; one for each of them is enough" in said


def test_the_ranking_has_it_first_and_leaves_no_such_place_out(of: Recording) -> None:
    found = ranking(of)
    assert found.predicted[0].change.waits == (WaitChange(PLACE),)
    assert found.predicted[0].wall_ns == 440
    assert "HW873" not in {each.id for each in found.notices}


def test_the_command_takes_a_place_prints_and_serialises_it(tmp_path: Path, run: Run) -> None:
    path = PERMITS.write(tmp_path / "a.headway")
    code, out, _ = run("whatif", path, "--no-wait", "Store.borrow:3", "--json")
    (change,) = json.loads(out)["changes"]
    assert (code, change["change"]["waits"], change["wall_ns"]) == (0, [{"place": "Store.borrow:3"}], 440)
    assert "no waiting at Store.borrow:3" in run("whatif", path, "--no-wait", PLACE)[1]


def test_of_a_lock_that_no_thread_is_known_to_have_alone_the_way_to_ask_is_said(of: Recording) -> None:
    with pytest.raises(HeadwayError, match="HW831") as caught:
        whatif(of, [2], Change(1, locks=(LockChange(PLACE, is_removed=True),)))
    assert f"--no-wait {PLACE} " in caught.value.notice.remedy
    assert wall_ns(of, PLACE) == 440


@pytest.mark.parametrize("name", ["Store.borow:3", "", "tore.borrow", "Store.borrow:4"])
def test_where_nobody_waited_for_such_a_thing_the_places_where_threads_did_are_listed(of: Recording, name: str) -> None:
    with pytest.raises(HeadwayError, match=f"HW900.*they did at: {PLACE}, {NAME}"):
        wall_ns(of, name)


def test_a_lock_that_one_thread_has_at_a_time_is_no_such_thing(tmp_path: Path) -> None:
    lock = replace(PERMITS, classes=["java.util.concurrent.locks.ReentrantLock$NonfairSync"])
    of = open_recording(lock.write(tmp_path / "a.headway"))
    with pytest.raises(HeadwayError, match=r"HW900.*they did nowhere"):
        wall_ns(of, PLACE)
    assert not [each for each in ranking(of).predicted if each.change.waits]


def test_what_virtual_threads_wait_for_is_refused_and_not_ranked(tmp_path: Path) -> None:
    waits = [replace(each, thread=-7) if each.thread == 1 else each for each in PERMITS.waits]
    of = open_recording(replace(PERMITS, waits=waits).write(tmp_path / "a.headway"))
    with pytest.raises(HeadwayError, match="HW901"):
        wall_ns(of, PLACE)
    assert not [each for each in ranking(of).predicted if each.change.waits]


def test_threads_whose_sleeps_have_no_place_are_tried_without_them_those_alike_together(tmp_path: Path) -> None:
    """Each computes 10 three times, and sleeps 500 and 200 in between; nothing was sampled."""
    slices = [
        each
        for thread in (0, 1)
        for each in (
            Slice(thread, 0, 0, 0, 10),
            Slice(thread, 10, 510, 510, 520, blocked_in=TIMED_FUTEX, irq=True),
            Slice(thread, 520, 720, 720, 730, blocked_in=TIMED_FUTEX, irq=True),
        )
    ]
    of = open_recording(write(tmp_path / "a.headway", slices, 730, 2))
    names = [name for (name,) in of.query("SELECT name FROM thread ORDER BY thread_id").fetchall()]
    first = ranking(of).predicted[0]
    (sleep,) = first.change.sleeps
    assert all(sleep.place.search(name) for name in names)
    assert first.wall_ns == 30_000
    assert sleep.text == f"0 s asleep at {names[0].rstrip('0')}*"
