"""Places and evidence of causes on recordings made by hand: every figure follows from a few intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.evidence.seen_at import seen_at
from headway.analyses.lost_cores.evidence.sentences import Evidence
from headway.analyses.lost_cores.places import Places
from headway.analyses.lost_cores.types import Place
from headway.analyses.waits import pieces
from headway.analyses.waits.classification import pools
from headway.store import Recording, open_recording
from support.builders import sample_builder, synthetic
from support.builders.lock_builder import LOCK_CLASS, LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

WALL = 100
WINDOW = (0, WALL)
APP = "org.example.Shop"
LATCH = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.CountDownLatch", "await"),
    (APP, "total"),
)
BARRIER = (*LATCH[:2], ("java.util.concurrent.CyclicBarrier", "await"), (APP, "step"))
TAKE = (*LATCH[:2], ("java.util.concurrent.ArrayBlockingQueue", "take"), (APP, "consume"))
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"


def explained(recording: Recording) -> tuple[Places, Evidence]:
    places = Places(recording, pieces.load(recording))
    return places, Evidence(places)


def key_of(places: Places, cause: str) -> int:
    """Return the only key that is waited for because of a cause."""
    waits = places.waits
    (key,) = set(waits.key[waits.cause == list(CAUSES).index(cause)].tolist())
    return int(key)


def threads(*states: Sequence[tuple[str, int]]) -> list[FakeThread]:
    return [FakeThread("app", 0, each, f"t{i}") for i, each in enumerate(states)]


def test_a_lock_is_told_by_who_held_it_and_what_the_holder_did(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads([("R", 40), ("B", 40), ("W", 10), ("R", 10)], [("R", 10), ("B", 80), ("R", 10)]),
        [Wait(1, 0, 10, 90, stack=0)],
        [LockHold(0, 0, 0, 90)],
        WALL,
        stacks=[(*LOCK_FRAMES, (APP, "buy"))],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    key = key_of(places, "lock_contention")
    place = places.of("lock_contention", key, (0,), WINDOW)
    assert place == Place(f"{APP}.buy", len(LOCK_FRAMES), "ReentrantLock@1000", "t0", 100)
    sentences, figures = evidence.of("lock_contention", key, (0,), WINDOW)
    assert figures["waits"] == figures["threads"] == figures["holders"] == 1
    assert figures["wait_ns"] == 80
    assert figures["main_holder_share"] == 1.0
    shares = {name: figures[f"holder_{name}_share"] for name in ("running", "sleeping", "runnable")}
    assert shares == {
        "running": pytest.approx(30 / 80),
        "sleeping": pytest.approx(40 / 80),
        "runnable": pytest.approx(10 / 80),
    }
    assert sentences[0] == "Meanwhile held by, or handed over to, 't0' (100%)"
    assert (
        sentences[1]
        == "While others waited, its holder was asleep or in I/O 50%, running 38%, ready to run 12% of the time"
    )


def test_of_a_holder_that_mostly_slept_it_is_said_that_this_is_to_be_removed(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads([("R", 30), ("B", 60), ("R", 10)], [("R", 10), ("B", 80), ("R", 10)]),
        [Wait(1, 0, 10, 90, stack=0)],
        [LockHold(0, 0, 0, 90)],
        WALL,
        stacks=[(*LOCK_FRAMES, (APP, "buy"))],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    sentences, _ = evidence.of("lock_contention", key_of(places, "lock_contention"), (0,), WINDOW)
    assert sentences[1] == (
        "While others waited, its holder was asleep or in I/O 75%, running 25% of the time:"
        " what it waits for there is what to remove"
    )


def test_a_ring_of_locks_is_said_to_be_one(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads([("R", 10), ("B", 90)], [("R", 10), ("B", 90)]),
        [
            Wait(0, 0, 10, 100, owner=1, stack=0, is_open=True),
            Wait(1, 1, 10, 100, owner=0, stack=0, is_open=True),
        ],
        [LockHold(0, 1, 0, 100), LockHold(1, 0, 0, 100)],
        WALL,
        stacks=[LOCK_FRAMES],
        classes=[LOCK_CLASS, LOCK_CLASS],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    assert places.waits.is_cycle.all()
    keys = set(places.waits.key.tolist())  # locks of one line are one loss
    rings_ns = [evidence.of("lock_contention", int(key), (0,), WINDOW)[1]["ring_ns"] for key in keys]
    assert sum(int(ring_ns or 0) for ring_ns in rings_ns) == 90 + 90


@pytest.mark.parametrize("is_put_back", [True, False], ids=["one for one", "by a feeder"])
def test_a_queue_whose_takers_put_one_back_may_be_a_pool_or_tasks_that_each_add_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_put_back: bool
) -> None:
    monkeypatch.setattr(pools, "_AT_ONCE_NS", 3)  # times here are of ns, not of ms
    turns = 30
    states: list[list[tuple[str, int]]] = [[], [], [], [("R", 10 * turns)]]
    waits: list[Wait] = []
    for turn in range(turns):  # who has the one task adds the next one, and waits for two turns
        one = turn % 3
        if turn >= 3:
            waker = (turn - 1) % 3 if is_put_back else 3
            waits.append(Wait(one, 0, 10 * turn - 20, 10 * turn, waker=waker, waking=10 * turn, stack=0))
        states[one] += [("B", 10 * one if turn < 3 else 20), ("R", 10)]
    lock_recording = LockRecording(
        threads(*states),
        waits,
        wall=10 * turns,
        classes=[CONDITION],
        stacks=[(*TAKE[:3], (APP, "crawl"), (APP, "run"))],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    cause = "lock_contention" if is_put_back else "starved_consumer"
    sentences, _ = evidence.of(cause, key_of(places, cause), (0,), (0, 10 * turns))
    said = [
        sentence for sentence in sentences if sentence.startswith("Its takers put one back for each that they took")
    ]
    assert len(said) == is_put_back


def test_a_latch_is_told_by_the_last_one_and_what_it_ran_against_the_others(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads(
            [("R", 5), ("B", 75), ("R", 20)],
            [("R", 80), ("B", 20)],
            [("R", 20), ("B", 80)],
            [("R", 40), ("B", 60)],
        ),
        [Wait(0, 0, 5, 80, waker=1, waking=80, stack=0)],
        wall=WALL,
        classes=["java.util.concurrent.CountDownLatch$Sync"],
        stacks=[LATCH],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    key = key_of(places, "imbalance")
    assert places.of("imbalance", key, (1,), WINDOW).lock == "CountDownLatch@1000"
    assert places.of("imbalance", key, (1,), WINDOW).method == f"{APP}.total"  # nothing was sampled: where it is waited
    sentences, figures = evidence.of("imbalance", key, (1,), WINDOW)
    assert (figures["meetings"], figures["last_thread"], figures["last_times"]) == (1, "t1", 1)
    assert (figures["last_mean_run_ns"], figures["others_mean_run_ns"]) == (80, 30)
    assert sentences[0] == "The last to come was 't1' in 1 of 1 meeting"
    assert "ran 80.0 ns on average, the others 30.0 ns, 2.67 times as long" in sentences[1]


def test_a_barrier_is_told_by_its_trips_though_those_who_wake_pass_on_the_waking(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads(
            [("R", 40), ("B", 10), ("R", 50)], [("R", 10), ("B", 40), ("R", 50)], [("R", 20), ("B", 30), ("R", 50)]
        ),
        [
            Wait(1, 0, 10, 48, waker=2, waking=47, stack=0),  # woken by the one that was woken before
            Wait(2, 0, 20, 46, waker=0, waking=45, stack=0),
            Wait(0, 0, 50, 90, waker=1, waking=85, stack=0),
            Wait(2, 0, 60, 95, waker=0, waking=92, stack=0),
        ],
        wall=WALL,
        classes=[CONDITION],
        stacks=[BARRIER],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    waits = places.waits
    assert waits.is_directed.all()
    assert waits.target.tolist() == [0, 0, 1, 1]
    _, figures = evidence.of("imbalance", key_of(places, "imbalance"), (0,), WINDOW)
    assert (figures["meetings"], figures["last_times"]) == (2, 1)


def test_who_is_through_a_phaser_and_waits_again_before_the_others_are_woken_waits_for_the_next_trip(
    tmp_path: Path,
) -> None:
    lock_recording = LockRecording(
        threads([("R", 90)], [("R", 90)], [("R", 90)]),
        [
            Wait(1, 0, 0, 30, waker=0, waking=28, stack=0),
            Wait(2, 1, 5, 50, waker=0, waking=48, stack=0),
            Wait(
                1, 2, 35, 70, waker=2, waking=68, stack=0
            ),  # has begun before the second one of the first trip was woken
            Wait(0, 3, 52, 74, waker=1, waking=73, stack=0),  # by one that was let go itself
        ],
        wall=WALL,
        classes=["java.util.concurrent.Phaser$QNode"] * 4,
        stacks=[(*LATCH[:2], ("java.util.concurrent.Phaser", "arriveAndAwaitAdvance"), (APP, "step"))],
    )
    places, _ = explained(open_recording(lock_recording.write(tmp_path / "r")))
    assert places.waits.target.tolist() == [0, 0, 2, 2]


def test_a_consumer_starves_for_the_producer_even_where_another_consumer_woke_it(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        threads([("R", 90)], [("B", 30), ("R", 10)], [("B", 50), ("R", 10)]),
        [Wait(1, 0, 0, 30, waker=0, waking=29, stack=0), Wait(2, 0, 5, 50, waker=1, waking=45, stack=0)],
        wall=WALL,
        classes=[CONDITION],
        stacks=[TAKE],
    )
    places, evidence = explained(open_recording(lock_recording.write(tmp_path / "r")))
    assert places.waits.target.tolist() == [0, 0]
    assert not places.waits.is_directed.any()
    sentences, figures = evidence.of("starved_consumer", key_of(places, "starved_consumer"), (0,), WINDOW)
    assert (figures["slow_stage"], figures["slow_threads"], figures["waits"]) == ("producer", 1, 2)
    assert figures["slow_busy_share"] == pytest.approx(0.9)
    assert sentences[0].startswith(
        "The slow side is the producer: 't0' (100%) ended the waits; 't0' was running for 90%"
    )


def test_who_works_alone_is_named_with_the_code_it_was_in_then(tmp_path: Path) -> None:
    samples = [
        (0, 5, 1, (f"{APP}.main", f"{APP}.prepare")),
        (0, 15, 1, (f"{APP}.main", f"{APP}.prepare", "java.util.HashMap.put")),
        (0, 25, 1, (f"{APP}.main", f"{APP}.other")),
        *((0, 40 + i, 1, (f"{APP}.main", f"{APP}.beside")) for i in range(20)),
        (1, 45, 1, (f"{APP}.work",)),
    ]
    path = sample_builder.write(tmp_path / "r", threads([("R", 90)], [("B", 30), ("R", 50)]), WALL, {"cpu": samples})
    places, evidence = explained(open_recording(path))
    place = places.of("serial_section", -1, (0,), WINDOW)
    assert (place.method, place.thread, place.lock) == (f"{APP}.prepare", "t0", None)
    assert places.of("serial_section", -1, (0,), (24, 30)).method == f"{APP}.other"
    assert places.of("serial_section", -1, (1,), WINDOW).method is None  # never alone
    sentences, figures = evidence.of("serial_section", -1, (0,), WINDOW)
    assert figures["longest_alone_ns"] == 30
    assert figures["one_active_ns"] == 40
    assert f"67% of its samples then are in {APP}.prepare" in sentences
    assert figures["place_share"] == pytest.approx(2 / 3)


def test_who_starts_many_things_is_placed_where_all_of_them_are_started(tmp_path: Path) -> None:
    started = [f"{APP}.start{i}" for i in range(8)]
    samples = [
        *(
            (0, 2 + i, 1, (f"{APP}.main", f"{APP}.init", each, "java.lang.Class.forName"))
            for i, each in enumerate(started)
        ),
        (0, 20, 1, (f"{APP}.main", f"{APP}.init", f"{APP}.start0")),
        (0, 21, 3, (f"{APP}.main", f"{APP}.close")),
    ]
    path = sample_builder.write(tmp_path / "r", threads([("R", 90)]), WALL, {"cpu": samples})
    places, evidence = explained(open_recording(path))
    assert places.of("serial_section", -1, (0,), WINDOW).method == f"{APP}.init"
    sentences, figures = evidence.of("serial_section", -1, (0,), WINDOW)
    assert f"75% of its samples then are in {APP}.init and what it calls" in sentences
    assert figures["place_share"] == pytest.approx(9 / 12)


def test_threads_of_a_pool_are_placed_by_the_samples_of_all_of_them(tmp_path: Path) -> None:
    samples = [
        *((0, 2 + i, 1, (f"{APP}.serve", f"{APP}.parse")) for i in range(4)),
        *((1, 42 + i, 1, (f"{APP}.serve", f"{APP}.store")) for i in range(6)),
    ]
    path = sample_builder.write(tmp_path / "r", threads([("R", 20)], [("B", 40), ("R", 40)]), WALL, {"cpu": samples})
    places, evidence = explained(open_recording(path))
    assert places.of("serial_section", -1, (0,), WINDOW).method == f"{APP}.parse"
    assert places.of("serial_section", -1, (0, 1), WINDOW).method == f"{APP}.store"
    sentences, figures = evidence.of("serial_section", -1, (0, 1), WINDOW)
    assert f"60% of the 2 threads' samples then are in {APP}.store" in sentences
    assert figures["place_share"] == pytest.approx(0.6)


def test_code_that_has_nothing_in_common_has_no_place(tmp_path: Path) -> None:
    samples = [(0, 2 + i, 1, ("java.lang.Thread.run", f"{APP}.task{i}")) for i in range(3)]
    path = sample_builder.write(tmp_path / "r", threads([("R", 90)]), WALL, {"cpu": samples})
    places, evidence = explained(open_recording(path))
    place = places.of("serial_section", -1, (0,), WINDOW)
    assert (place.method, place.thread) == (None, "t0")
    assert "place_share" not in evidence.of("serial_section", -1, (0,), WINDOW)[1]


def test_the_code_of_a_laggard_is_that_of_its_samples_while_others_waited(tmp_path: Path) -> None:
    samples = [
        *((1, 3 + i, 1, (f"{APP}.main", f"{APP}.before")) for i in range(9)),
        *((1, 30 + i, 2, (f"{APP}.main", f"{APP}.slow", "java.util.Arrays.sort")) for i in range(4)),
        (1, 50, 3, (f"{APP}.main", f"{APP}.other")),
        *((0, 40 + i, 5, (f"{APP}.main", f"{APP}.elsewhere")) for i in range(9)),
        (1, 55, 99, None),
    ]
    path = sample_builder.write(tmp_path / "r", threads([("R", 90)], [("R", 90)]), WALL, {"cpu": samples})
    places, _ = explained(open_recording(path))
    begin, end = np.array([28, 45]), np.array([40, 60])
    assert places.code.running(1, begin, end)[0] == f"{APP}.slow"
    assert places.code.running(1, begin[1:], end[1:])[0] == f"{APP}.other"
    assert places.code.running(1, np.array([70]), np.array([80])) == (None, None)
    assert places.code.running(1, np.array([0, 29]), np.array([12, 31]))[0] == f"{APP}.before"


def test_active_threads_at_some_moments_are_those_of_counting_them(tmp_path: Path) -> None:
    lock_recording = threads(
        [("R", 20), ("B", 10), ("W", 10), ("R", 5)], [("B", 15), ("R", 50)], [("W", 3), ("R", 1), ("B", 9), ("R", 80)]
    )
    places, _ = explained(open_recording(synthetic.write(tmp_path / "r", lock_recording, WALL)))
    counted = [sum(thread.at(t) in ("R", "W") for thread in lock_recording) for t in range(WALL)]
    assert places.code.active(np.arange(WALL)).tolist() == counted
    first, last = WALL // 3, WALL // 2
    assert places.code.active(np.arange(first, last)).tolist() == counted[first:last]


def test_sleeps_and_io_are_counted_where_the_kernel_says_so_and_placed_by_wall_samples(tmp_path: Path) -> None:
    lock_recording = threads(
        [("R", 5), ("B", 30), ("R", 5), ("B", 10), ("R", 5), ("B", 20), ("R", 5), ("B", 15), ("R", 5)]
    )
    calls = iter([0, 2, 6, 3, 4])  # a timed futex, a socket, a nanosleep, a poll
    slices = [row | {"blocked_in": next(calls)} for row in synthetic.slices_of(0, lock_recording[0])]
    samples = [
        (0, 10, 1, (f"{APP}.main", f"{APP}.pause", "java.lang.Thread.sleep")),
        (0, 60, 1, (f"{APP}.main", f"{APP}.pause", "java.lang.Thread.sleep")),
    ]
    tables = {**sample_builder.tables({"wall": samples}), "slice": slices}
    places, evidence = explained(open_recording(synthetic.write(tmp_path / "r", lock_recording, WALL, tables=tables)))
    assert places.of("sleep", -1, (0,), WINDOW).method == f"{APP}.pause"
    assert evidence.of("sleep", -1, (0,), WINDOW)[1] == {"times": 2, "blocked_ns": 50, "mean_ns": 25}
    assert evidence.of("io", -1, (0,), WINDOW)[1] == {"times": 2, "blocked_ns": 25, "mean_ns": 12}
    assert evidence.of("io", -1, (0,), (42, WALL))[1] == {"times": 2, "blocked_ns": 23, "mean_ns": 12}
    assert evidence.of("sleep", -1, (0,), (0, 30))[0] == ("'t0' slept 1 time, 25.0 ns in all, 25.0 ns on average",)


def test_where_threads_slept_as_headway_attached_is_said_of_their_sleeps(tmp_path: Path) -> None:
    """An event loop that sleeps in a request: of a platform thread's sleep no stack is recorded later."""
    asleep = FakeThread("app", 0, [("B", 40), ("R", 2), ("B", 40), ("R", 2)], "loop-1")
    other = FakeThread("app", 0, [("B", 40), ("R", 2), ("B", 40), ("R", 2)], "loop-2")
    stack = (("java.lang.Thread", "sleep"), ("org.example.Shop", "slow"), ("org.example.Server", "dispatch"))
    parked = (("java.lang.Thread", "sleep"), ("org.example.Shop", "other"))
    program = LockRecording(
        [asleep, other], [], wall=WALL, stacks=[stack, parked], standing=[(0, "sleep", 0), (1, "native", 1)]
    )
    recording = open_recording(program.write(tmp_path / "a.headway"))
    assert seen_at(recording, [0, 1], "sleep") == [
        "when headway first looked, 1 thread of 1 that did so stood in org.example.Shop.slow:1"
    ]
    assert seen_at(recording, [1], "io") == [
        "when headway first looked, 1 thread of 1 that did so stood in org.example.Shop.other:1"
    ]
    assert seen_at(recording, [1], "sleep") == []


def test_a_sleep_that_a_sample_interrupted_is_one_sleep_with_the_code_of_the_sample(tmp_path: Path) -> None:
    ms = 1_000_000
    lock_recording = threads(
        [("R", ms), ("B", 20 * ms), ("R", 5000), ("B", 10 * ms), ("R", ms), ("B", 7 * ms), ("R", ms)], [("R", ms)]
    )
    lock_recording[1].kind = "headway"
    rows = synthetic.slices_of(0, lock_recording[0])
    for row, waker in zip(rows, (-1, 1, -1, -1), strict=True):
        row |= {"blocked_in": 2 if row["blocked_ns"] else 0, "waker_id": waker}
    samples = [(0, 21 * ms + 2000, 1, (f"{APP}.main", f"{APP}.pause", "java.lang.Thread.sleep"))]
    zeros = {f"{what}_{kind}": 0 for what in ("active", "running") for kind in synthetic.KINDS}
    activity = [{"bin_start_ns": ORIGIN, "dur_ns": 50 * ms, "stolen_ns": 0} | zeros]
    tables = {**sample_builder.tables({"wall": samples}), "slice": rows}
    path = synthetic.write(tmp_path / "r", lock_recording, 50 * ms, activity=activity, tables=tables)
    places, evidence = explained(open_recording(path))
    assert places.of("sleep", -1, (0,), (0, 50 * ms)).method == f"{APP}.pause"
    figures = evidence.of("sleep", -1, (0,), (0, 50 * ms))[1]
    assert figures == {"times": 2, "blocked_ns": 37 * ms + 5000, "mean_ns": round((37 * ms + 5000) / 2)}


def test_pauses_are_counted_with_their_causes_and_the_longest(tmp_path: Path) -> None:
    phases = [
        {"pid": 100, "start_ns": ORIGIN + at, "dur_ns": ns, "kind": "gc_pause", "cause": why}
        for at, ns, why in ((10, 5, "small"), (30, 20, "full"), (95, 20, "small"))
    ]
    path = synthetic.write(tmp_path / "r", threads([("R", WALL)]), WALL, tables={"jvm_phase": phases})
    _, evidence = explained(open_recording(path))
    sentences, figures = evidence.of("gc_pause", -1, (-1,), WINDOW)
    assert figures == {"pauses": 3, "pause_ns": 30, "longest_ns": 20, "main_cause": "full"}
    assert sentences == ("3 pauses, 30.0 ns in all, the longest 20.0 ns", "Causes: full (20.0 ns), small (10.0 ns)")


def test_waits_for_a_core_are_summed_and_long_ones_counted(tmp_path: Path) -> None:
    wall = 50_000_000
    lock_recording = threads([("W", 12_000_000), ("R", 1000)], [("R", 500), ("B", 500), ("W", 3_000_000), ("R", 10)])
    lock_recording = [
        *lock_recording,
        FakeThread("jit", 0, [("W", 2_000_000), ("R", 10)], "C2 CompilerThre"),
    ]  # is held up as well
    activity = [{"bin_start_ns": ORIGIN, "dur_ns": wall, "stolen_ns": 0}]
    zeros = {f"{what}_{kind}": 0 for what in ("active", "running") for kind in synthetic.KINDS}
    path = synthetic.write(tmp_path / "r", lock_recording, wall, activity=[activity[0] | zeros])
    _, evidence = explained(open_recording(path))
    _, figures = evidence.of("scheduler", -1, (-1,), (0, wall))
    assert figures == {"ready_ns": 17_000_000, "long_waits": 1, "longest_ns": 12_000_000, "migrations": 0}


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_can_be_asked_for_where_nothing_is_known(cause: str, tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r", threads([("R", WALL)]), WALL)
    places, evidence = explained(open_recording(path))
    assert places.of(cause, -1, (-1,), WINDOW) == Place()
    sentences, _ = evidence.of(cause, -1, (-1,), WINDOW)
    assert all(sentence and not sentence.endswith(".") for sentence in sentences)
