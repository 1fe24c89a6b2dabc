"""`headway whatif` of changed locks: programs whose time arithmetic knows, names of locks, and what can't be asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from headway import _native
from headway.analyses.locks.analysis import locks
from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.ranking import ranking
from headway.analyses.whatif.types import Change, LockChange
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders import synthetic
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.replay_builder import NANOSLEEP, NO_CALL, LockAcquisition, Slice, acquired, plan, replayed, steps
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
PLACE, NAME = "com.acme.Cache.get:4", "ReentrantLock@1000"
CONTENDED = LockRecording(
    threads=[
        FakeThread(states=[("R", 200), ("B", 120), ("R", 200)]),
        FakeThread(states=[("R", 40), ("B", 120), ("R", 200), ("B", 120), ("R", 200)]),
    ],
    waits=[
        Wait(1, 0, 40, 160, owner=0, waker=0, waking=160, stack=0),
        Wait(0, 0, 200, 320, owner=1, waker=1, waking=320, stack=0),
        Wait(1, 0, 360, 480, owner=0, waker=0, waking=480, stack=0),
    ],
    holds=[LockHold(0, 0, 0, 160), LockHold(0, 1, 160, 320), LockHold(0, 0, 320, 480), LockHold(0, 1, 480, 640)],
    wall=680,
    stacks=[(*LOCK_FRAMES, ("com.acme.Cache", "get"))],
    wakers={0: [(1, 1)], 1: [(0, 1), (0, 1)]},
    facts={"recorded_cores": 2, "ended_by": "duration"},
)
"""Two threads compute 160 with the lock and 40 without, twice. The second one computes 40 before, and is done at 680."""


def change(lock: str = NAME, **what: Any) -> LockChange:
    return LockChange(lock, **what)


def wall_ns(recording: LockRecording, folder: Path, *locks: LockChange, cores: int = 2) -> int:
    """Return the predicted wall time."""
    found = whatif(open_recording(recording.write(folder / "a.headway")), [cores], Change(1, locks=locks))
    assert found.refused is None
    return found.predicted[0].wall_ns


def test_without_the_lock_each_thread_takes_what_it_computes(tmp_path: Path) -> None:
    assert wall_ns(CONTENDED, tmp_path, change(is_removed=True)) == 440
    assert wall_ns(CONTENDED, tmp_path / "one", change(is_removed=True), cores=1) == 840


def test_a_lock_released_after_half_of_the_work_lets_the_other_thread_go_on_earlier(tmp_path: Path) -> None:
    """Held 80 each: from 0, 80, 200 and 280 on; after 80 more with it, the last one computes 120."""
    assert wall_ns(CONTENDED, tmp_path, change(held_part=0.5)) == 480


def test_a_lock_that_becomes_several_is_waited_for_no_longer_than_before(tmp_path: Path) -> None:
    assert 440 <= wall_ns(CONTENDED, tmp_path, change(parts=100)) <= 680


def test_a_lock_that_stays_as_it_is_takes_as_long_as_it_took() -> None:
    held = [LockAcquisition(0, each.thread, each.start, each.start, each.end) for each in CONTENDED.holds]
    slices = [Slice(0, 0, 0, 0, 200), Slice(0, 200, 320, 320, 520, 1), Slice(1, 0, 0, 0, 40)]
    slices += [Slice(1, 40, 160, 160, 360, 0), Slice(1, 360, 480, 480, 680, 0)]
    run = steps(slices, 680, 2)
    waits = [held[0], held[1]._replace(asked=40), held[2]._replace(asked=200), held[3]._replace(asked=360)]
    assert replayed([run], 2, plans=[plan(run, acquired(waits), 1)]) == pytest.approx([680])


def test_how_late_a_thread_was_that_found_the_lock_taken_again_delays_nobody() -> None:
    """One thread has the lock until 100, and from 110 to 210 again, as the one that it woke runs at 180 and finds it taken."""
    slices = [
        Slice(0, 0, 0, 0, 220),
        Slice(1, 0, 0, 0, 40),
        Slice(1, 40, 100, 180, 180, 0),
        Slice(1, 180, 210, 210, 310, 0),
    ]
    run = steps(slices, 310, 2)
    locks = acquired(
        [LockAcquisition(0, 0, 0, 0, 100), LockAcquisition(0, 0, 110, 110, 210), LockAcquisition(0, 1, 40, 210, 310)]
    )
    for is_fair in (True, False):
        assert replayed([run], 2, has_stolen=True, plans=[plan(run, locks, 1, is_fair)]) == pytest.approx([310])


def test_a_sleep_with_the_lock_in_hand_goes_on_without_it() -> None:
    """One thread computes 10, gets the lock and sleeps 100; the other one comes at 20, waits until 110, and computes 50."""
    slices = [
        Slice(0, 0, 0, 0, 10), Slice(0, 10, 110, 110, 120, blocked_in=NANOSLEEP, irq=True),
        Slice(1, 0, 0, 0, 20), Slice(1, 20, 110, 110, 160, waker=0),
    ]  # fmt: skip
    run = steps(slices, 160, 2)
    locks = acquired([LockAcquisition(0, 0, 10, 10, 110), LockAcquisition(0, 1, 20, 110, 160)])
    assert replayed([run], 2, plans=[plan(run, locks, 1)]) == pytest.approx([160])
    sooner = [plan(run, locks, 1, part={0: 0.4})]
    assert replayed([run], 2, plans=sooner) == pytest.approx([120])
    assert replayed([run], 2, last=[1], plans=sooner) == pytest.approx([100])


MS = 1_000_000


class Blocked(NamedTuple):
    """A wait for the lock that a thread which had it ended at its end, in ms."""

    thread: int
    start: int
    end: int
    waker: int


def acquisitions(waits: Sequence[Blocked], holds: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Return (thread, asked, got, released) of one lock, in ms; `holds`: recorded thread, start, end."""

    def column(values: Iterable[int], kind: Any = np.int64) -> Any:
        return np.array(list(values), kind)

    none = column((0 for _ in waits), np.uint8)
    found = _native.LockAcquisitions(
        lock=column((0 for _ in waits), np.int32), thread=column((each.thread for each in waits), np.int32),
        waker=column((each.waker for each in waits), np.int32), owner=column((-1 for _ in waits), np.int32),
        start_ns=column(each.start * MS for each in waits), end_ns=column(each.end * MS for each in waits),
        waking_ns=column(each.end * MS for each in waits), is_repark=none, is_monitor_wait=none,
        hold_lock=column((0 for _ in holds), np.int32), hold_thread=column((each[0] for each in holds), np.int32),
        hold_start_ns=column(each[1] * MS for each in holds), hold_end_ns=column(each[2] * MS for each in holds),
    ).columns()  # fmt: skip
    rows = zip(*(found[name].tolist() for name in ("thread", "asked_ns", "got_ns", "released_ns")), strict=True)
    return [(thread, asked // MS, got // MS, released // MS) for thread, asked, got, released in rows]


def test_whoever_wakes_a_thread_that_waits_for_a_lock_had_it_as_long_as_others_have_it() -> None:
    """No hold of thread 0 is recorded: it wakes thread 1 at 10. Thread 1 has the lock for 2."""
    assert acquisitions([Blocked(1, 9, 10, 0)], [(1, 10, 12)]) == [(0, 8, 8, 10), (1, 9, 10, 12)]


def test_a_thread_that_got_a_lock_long_before_the_first_one_found_it_taken_has_had_it_twice() -> None:
    """Thread 1 gets it at 10, with nobody queued, and wakes thread 0 at 1000, which has waited for 1; recorded holds take 2."""
    waits = [Blocked(1, 9, 10, 0), Blocked(0, 999, 1000, 1)]
    assert acquisitions(waits, [(0, 1000, 1002)]) == [
        (0, 8, 8, 10),
        (1, 9, 10, 12),
        (1, 998, 998, 1000),
        (0, 999, 1000, 1002),
    ]


def test_a_thread_that_was_waited_for_since_soon_after_it_got_a_lock_has_had_it_all_the_time() -> None:
    """Thread 0 waits from 12 to 1000 for thread 1, which got it at 10."""
    waits = [Blocked(1, 9, 10, 0), Blocked(0, 12, 1000, 1)]
    assert (1, 9, 10, 1000) in acquisitions(waits, [(0, 1000, 1002)])


def test_a_thread_that_releases_a_lock_after_another_one_got_it_has_had_it_twice() -> None:
    """Thread 1 gets it at 10; thread 2, which has waited from 9 on, at 20; thread 1 wakes thread 0 at 30."""
    waits = [Blocked(1, 9, 10, 0), Blocked(2, 9, 20, -1), Blocked(0, 25, 30, 1)]
    found = acquisitions(waits, [])
    assert next(each for each in found if each[0] == 2)[2] == 20
    assert all(released <= 20 or got >= 20 for thread, _, got, released in found if thread == 1)


def test_no_interval_begins_below_zero_however_much_a_lock_cost(tmp_path: Path) -> None:
    """Sixteen threads compute 1,000 each, all of it with one lock: a tenth of what is gained is more than what is left."""
    threads = [
        FakeThread(states=[("R", 1000)] if i == 0 else [("R", 1), ("B", 1000 * i - 1), ("R", 1000)]) for i in range(16)
    ]
    recording = LockRecording(
        threads=threads,
        waits=[Wait(i, 0, 1, 1000 * i, owner=i - 1, waker=i - 1, waking=1000 * i, stack=0) for i in range(1, 16)],
        holds=[LockHold(0, i, 1000 * i, 1000 * i + 1000) for i in range(16)],
        wall=16_000,
        stacks=CONTENDED.stacks,
        wakers={i: [(i - 1, 1)] for i in range(1, 16)},
        facts={"recorded_cores": 16, "ended_by": "duration"},
    )
    changed = Change(1, locks=(change(is_removed=True),))
    (found,) = whatif(open_recording(recording.write(tmp_path / "a.headway")), [16], changed).predicted
    assert found.wall_ns == 1001
    assert 0 <= found.low_ns <= found.wall_ns <= found.high_ns


CIRCLE = LockRecording(
    threads=[
        FakeThread(states=[("R", 130)]),
        FakeThread(states=[("R", 10), ("B", 190), ("R", 10), ("B", 90), ("R", 20)]),
        FakeThread(states=[("R", 20), ("B", 80), ("R", 220)]),
    ],
    waits=[
        Wait(1, 0, 10, 200, owner=2, waker=2, waking=200, stack=0),
        Wait(2, 0, 20, 100, owner=0, waker=0, waking=100, stack=0),
        Wait(1, 1, 210, 300, waker=2, waking=300, stack=0),
    ],
    holds=[LockHold(0, 0, 0, 100), LockHold(0, 2, 100, 200), LockHold(0, 1, 200, 310)],
    wall=320,
    classes=["java.util.concurrent.locks.ReentrantLock$NonfairSync", "java.util.concurrent.CountDownLatch$Sync"],
    stacks=CONTENDED.stacks,
    wakers={1: [(2, 1), (2, 1)], 2: [(0, 1)]},
    facts={"recorded_cores": 3, "ended_by": "duration"},
)
"""Thread 1 comes before thread 2 and gets the lock after it. With the lock in hand it waits for what thread 2 does at 300."""


def test_changes_of_locks_are_refused_where_who_comes_first_would_wait_for_who_comes_next(tmp_path: Path) -> None:
    recording = open_recording(CIRCLE.write(tmp_path / "a.headway"))
    found = whatif(recording, [3], Change(1, locks=(change(is_removed=True),)))
    assert found.refused is not None
    assert found.refused.id == "HW839"
    assert found.predicted == ()
    ranked = ranking(recording)
    assert "HW837" in {each.id for each in ranked.notices}
    assert not any(each.change.locks for each in ranked.predicted)
    assert whatif(recording, [3], Change(1)).refused is None


FAULT = replace(
    CIRCLE,
    threads=[
        FakeThread(states=[("R", 130)]),
        FakeThread(states=[("R", 10), ("B", 190), ("R", 10), ("B", 5), ("R", 105)]),
        FakeThread(states=[("R", 20), ("B", 80), ("R", 200)]),
    ],
    waits=CIRCLE.waits[:2],
    holds=[LockHold(0, 0, 0, 100), LockHold(0, 2, 100, 200), LockHold(0, 1, 200, 225)],
    classes=CIRCLE.classes[:1],
    wakers={1: [(2, 1), (2, NO_CALL)], 2: [(0, 1)]},
)
"""As CIRCLE, and thread 1 waits for 5, in a page fault, for a lock of the kernel that thread 2 has until then."""


def test_a_lock_of_the_kernel_makes_no_circle_with_locks_of_the_program(tmp_path: Path) -> None:
    """Thread 1 gets the lock at 100, and waits as long as it did: until 115. So thread 2 gets it at 125, and is done at 325."""
    found = whatif(
        open_recording(FAULT.write(tmp_path / "a.headway")), [3], Change(1, locks=(change(is_removed=True),))
    )
    assert found.refused is None
    assert found.replays[0].replayed_ns == 325
    assert found.predicted[0].wall_ns == 220


def test_a_thread_that_the_jvm_sees_go_on_before_the_kernel_does_has_its_lock_then() -> None:
    """Thread 1 finds the lock taken again at 65, and is woken at 90: it has it at 95, and runs from 100 on by the kernel."""
    slices = [
        Slice(0, 0, 0, 0, 130),
        Slice(1, 0, 0, 0, 10),
        Slice(1, 10, 50, 65, 70, waker=0),
        Slice(1, 70, 90, 100, 200, waker=0),
    ]
    run = steps(slices, 200, 2)
    locks = acquired(
        [LockAcquisition(0, 0, 0, 0, 50), LockAcquisition(0, 0, 60, 60, 90), LockAcquisition(0, 1, 10, 95, 190)]
    )
    unchanged: dict[str, Any] = {"waking_factor": 0.0, "plans": [plan(run, locks, 1)]}
    assert replayed([run], 2, last=[1], **unchanged) == pytest.approx([50 + 5 + 100])
    assert replayed([run], 2, last=[0], **unchanged) == pytest.approx([145 + 70])
    assert replayed([run], 2, last=[1], plans=[plan(run, locks, 1, gone={0: 1})]) == pytest.approx([115])


# --- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [NAME, "1000", PLACE, "Cache.get:4", "Cache.get", "com.acme.Cache.get"])
def test_a_lock_goes_by_its_object_its_hash_and_its_place(tmp_path: Path, name: str) -> None:
    assert wall_ns(CONTENDED, tmp_path, change(name, is_removed=True)) == 440


def test_waits_in_the_order_of_the_recording_are_said_to_be_as_long_as_locks_has_them(tmp_path: Path) -> None:
    """The first wait of 120 is over after 100, and the thread runs 20 later: a replay decides the 100 alone."""
    threads = [
        CONTENDED.threads[0],
        FakeThread(states=[("R", 40), ("B", 100), ("W", 20), *CONTENDED.threads[1].states[2:]]),
    ]
    recording = open_recording(replace(CONTENDED, threads=threads).write(tmp_path / "a.headway"))
    said = {each.id: each.message for each in whatif(recording, [3], Change(1)).notices}
    assert "threads waited for locks for 360 ns in all" in said["HW825"]
    assert locks(recording).waited_for_ns == 360


MUTEX = ("org.other.Mutex$Sync",)
VIRTUAL = [replace(each, thread=-7) if each.thread == 1 else each for each in CONTENDED.waits]


def test_a_lock_of_a_library_that_a_ranking_leaves_out_is_named_with_how_long_it_was_waited_for(tmp_path: Path) -> None:
    """Waits of 120: nothing says whether one thread has a lock of that class at a time, and two are of a virtual thread."""
    recording = open_recording(replace(CONTENDED, classes=MUTEX, waits=VIRTUAL).write(tmp_path / "a.headway"))
    found = ranking(recording)
    (left_out,) = (each.message for each in found.notices if each.id == "HW873")
    assert f"for 360 ns in all threads waited for locks that are not among the changes shown: {PLACE}" in left_out
    assert not any(each.change.locks or each.change.waits for each in found.predicted)
    known = ranking(open_recording(CONTENDED.write(tmp_path / "b.headway")))
    assert "HW873" not in {each.id for each in known.notices}


POOL_FRAMES = (
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.LinkedBlockingDeque", "takeFirst"),
    ("com.acme.Pool", "borrow"),
)
POOLED = replace(
    CONTENDED,
    threads=[
        CONTENDED.threads[0],
        FakeThread(states=[("R", 10), ("B", 20), ("R", 10), *CONTENDED.threads[1].states[1:]]),
    ],
    waits=[Wait(1, 1, 10, 30, owner=0, waker=0, waking=30, stack=0), *CONTENDED.waits],
    holds=[LockHold(1, 0, 0, 30), *CONTENDED.holds],
    classes=["java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", LOCK_CLASS],
    stacks=[POOL_FRAMES],
    wakers={**CONTENDED.wakers, 1: [(0, 1), (0, 1), (0, 1)]},
)
"""Both threads wait for 360 at the line where a pool has nothing left, and the second one for 20 at its lock, once."""
POOL_PLACE = "com.acme.Pool.borrow:2"


def test_a_line_of_a_pool_whose_lock_was_waited_for_is_tried_with_enough_of_it_and_its_lock_is_not_called_so(
    tmp_path: Path,
) -> None:
    found = ranking(open_recording(POOLED.write(tmp_path / "a.headway")))
    assert "HW873" not in {each.id for each in found.notices}
    assert {wait.place for each in found.predicted for wait in each.change.waits} == {POOL_PLACE}
    assert {lock.lock for each in found.predicted for lock in each.change.locks} <= {"ReentrantLock@1001"}


def test_a_change_of_a_line_says_how_long_threads_waited_there_for_what_stays(tmp_path: Path) -> None:
    recording = open_recording(POOLED.write(tmp_path / "a.headway"))
    for name in (POOL_PLACE, "Pool.borrow:2"):
        found = whatif(recording, [2], Change(1, locks=(change(name, is_removed=True),)))
        (said,) = (each.message for each in found.notices if each.id == "HW892")
        assert f"at {name} threads also waited 360 ns" in said
    alone = whatif(recording, [2], Change(1, locks=(change("1001", is_removed=True),)))
    assert "HW892" not in {each.id for each in alone.notices}


SEMAPHORE = ("java.util.concurrent.Semaphore$NonfairSync",)


@pytest.mark.parametrize(
    ("facts", "locks", "reason"),
    [
        ({}, [change("Cache.gett:4", is_removed=True)], "HW830.*there are: com.acme.Cache.get:4, ReentrantLock@1000"),
        ({"classes": SEMAPHORE}, [change("Semaphore@1000", is_removed=True)], "HW831"),
        ({"classes": SEMAPHORE}, [change("Cache.get:4", is_removed=True)], "HW831"),
        ({"classes": SEMAPHORE}, [change("1000", is_removed=True)], "HW831"),
        ({"waits": VIRTUAL}, [change(is_removed=True)], "HW831"),
        ({}, [change(is_removed=True), change(PLACE, parts=2)], "HW832"),
        ({"facts": {**CONTENDED.facts, "locks": {"dropped": 3}}}, [change(is_removed=True)], "HW833"),
    ],
)
def test_a_change_that_cannot_be_asked_is_refused_by_name(
    tmp_path: Path, facts: Mapping[str, Any], locks: Sequence[LockChange], reason: str
) -> None:
    with pytest.raises(HeadwayError, match=reason):
        wall_ns(replace(CONTENDED, **facts), tmp_path, *locks)


def test_recordings_without_locks_say_how_to_record_them(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.headway", CONTENDED.threads, CONTENDED.wall, **CONTENDED.facts)
    with pytest.raises(HeadwayError, match="HW430") as caught:
        whatif(open_recording(path), [2], Change(1, locks=(change(is_removed=True),)))
    assert "headway record --locks" in caught.value.notice.remedy
    assert "HW836" in {each.id for each in ranking(open_recording(path)).notices}


@pytest.mark.parametrize(("part", "shown"), [(0.5, "50%"), (0.125, "12.5%"), (0.004, "0.4%"), (0.0, "0%")])
def test_a_shorter_hold_is_shown_as_it_was_asked(part: float, shown: str) -> None:
    assert change("Cache.get:4", held_part=part).text == f"Cache.get:4 held for {shown}"


# --- the best change ---------------------------------------------------------------------------------------------------


def test_without_options_the_best_single_change_comes_first_and_says_what_limits_next(run: Run, tmp_path: Path) -> None:
    path = CONTENDED.write(tmp_path / "a.headway")
    code, out, _ = run("whatif", path, "--json")
    answer = json.loads(out)
    first, second = answer["changes"]
    assert (code, first["wall_ns"], first["next"]["place"]) == (0, 440, None)
    assert first["change"]["locks"] == [{"lock": PLACE, "removed": True, "held_part": 1.0, "parts": 1}]
    assert first["low_ns"] <= 440 <= first["high_ns"]
    assert (second["change"]["cores"], second["wall_ns"]) == (4, 680)
    assert second["next"] == {"cause": "lock_contention", "place": PLACE}
    shown = run("whatif", path)[1]
    assert "without Cache.get:4" in shown
    assert "lock contention: threads waited for a lock that another one held: Cache.get:4" in " ".join(shown.split())


@pytest.mark.parametrize(
    "options",
    [
        ("--shorter-hold", "A"),
        ("--shorter-hold", "A=150%"),
        ("--shorter-hold", "=50%"),
        ("--shorter-hold", "A=nan"),
        ("--split-lock", "A=1"),
        ("--split-lock", "A=2.5"),
        ("--split-lock", "A=1e9"),
    ],
)
def test_a_change_of_a_lock_that_says_nothing_is_wrong_usage(
    run: Run, tmp_path: Path, options: tuple[str, str]
) -> None:
    assert run("whatif", CONTENDED.write(tmp_path / "a.headway"), *options)[0] == 2
