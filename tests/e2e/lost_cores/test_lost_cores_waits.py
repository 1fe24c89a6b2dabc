"""Every kind of waiting becomes pieces with the right cause and the thread that was waited for, as the program knows them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from headway.analyses.common.causes import CAUSES
from headway.analyses.waits import pieces as why_waits
from headway.analyses.waits.pieces import Waits
from headway.analyses.waits.tables.blocks import KINDS
from support.drivers.recording_cli import javas
from support.oracles.lock_oracle import LockRun, record_locks

pytestmark = [pytest.mark.alone, pytest.mark.root]
FOR_OTHERS = {"imbalance", "too_few_tasks"}
"""At a join: for a laggard once others have finished, before that for want of tasks."""
CAUSE_OF_WAY = {
    "barrier": ({"imbalance"}, True),
    "phaser": ({"imbalance"}, True),
    "latch": (FOR_OTHERS, False),
    "join": (FOR_OTHERS, False),
    "future": (FOR_OTHERS, False),
    "termination": (FOR_OTHERS, False),
    "full queue": ({"full_producer"}, True),
    "empty queue": ({"starved_consumer"}, False),
}
CAUSE_OF_STATION = {
    "ReentrantLock": "lock_contention",
    "ReentrantReadWriteLock": "lock_contention",
    "StampedLock": "lock_contention",
    "Semaphore": "lock_contention",
    "Condition": "condition",
    "Object.wait": "condition",
    "park": "condition",
    "park(blocker)": "condition",
    "CountDownLatch": "imbalance",
    "CyclicBarrier": "imbalance",
    "Phaser": "imbalance",
    "Exchanger": "imbalance",
    "CompletableFuture": "imbalance",
    "ForkJoinTask": "imbalance",
    "SynchronousQueue": "starved_consumer",
    "LinkedTransferQueue": "starved_consumer",
    "ArrayBlockingQueue": "starved_consumer",
    "parkNanos": "sleep",
    "parkNanos(blocker)": "sleep",
    "parkUntil(blocker)": "sleep",
    "Object.wait(ms)": "sleep",
}


class Piece(NamedTuple):
    """One piece as people read it; times are those of the program's clock."""

    java_id: int | None
    start_ns: int
    end_ns: int
    cause: str
    place: str | None
    target: int | None
    is_directed: bool
    is_monitor: bool


@dataclass
class Waited:
    """A recorded run and its pieces."""

    run: LockRun
    waits: Waits
    pieces: list[Piece]

    def inside(self, java_id: int, begin_ns: int, end_ns: int, causes: set[str]) -> list[Piece]:
        """Return the pieces of a thread that overlap a span, of some causes."""
        return [
            piece
            for piece in self.pieces
            if piece.java_id == java_id
            and piece.cause in causes
            and piece.start_ns < end_ns
            and piece.end_ns > begin_ns
        ]


def waited(run: LockRun) -> Waited:
    waits = why_waits.load(run.recording)
    assert waits.data is not None
    java_ids, origin, names = waits.data.java_ids, run.recording.window_ns[0], list(CAUSES)
    pieces = [
        Piece(
            java_ids[waits.thread[i]],
            int(waits.start[i]) + origin,
            int(waits.end[i]) + origin,
            names[waits.cause[i]],
            waits.places[waits.key[i]].name if waits.key[i] >= 0 else None,
            java_ids[waits.target[i]] if waits.target[i] >= 0 else None,
            bool(waits.is_directed[i]),
            bool(waits.data.blocks.kind[waits.block[i]] == KINDS.index("monitor")),
        )
        for i in range(len(waits))
    ]
    return Waited(run, waits, pieces)


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Waited:
    return waited(record_locks(tmp_path_factory.mktemp("ways"), "WaitedFor", 8, java=request.param))


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Waited:
    return waited(record_locks(tmp_path_factory.mktemp("zoo"), "JucZoo", 5, java=request.param))


def _waits_of(ways: Waited) -> Iterator[tuple[str, int, int, int, int]]:
    for way in ways.run.said["ways"]:
        for row in zip(way["java_ids"], way["begin_ns"], way["end_ns"], way["targets"], strict=True):
            yield (way["name"], *row)


def test_each_wait_has_its_cause_and_the_thread_that_ended_it(ways: Waited) -> None:
    seen = []
    for name, java_id, begin_ns, end_ns, target in _waits_of(ways):
        cause, is_directed = CAUSE_OF_WAY[name]
        pieces = ways.inside(java_id, begin_ns, end_ns, cause)
        assert pieces, (name, java_id, begin_ns)
        assert {piece.target for piece in pieces} == {target}, name
        assert {piece.is_directed for piece in pieces} == {is_directed}, name
        seen.append(name)
    assert set(seen) == set(CAUSE_OF_WAY)


def test_a_barrier_is_one_thing_waited_for_and_futures_are_told_by_their_place(ways: Waited) -> None:
    for name in ("barrier", "full queue", "empty queue", "future", "join"):
        cause, _ = CAUSE_OF_WAY[name]
        spans = [row for row in _waits_of(ways) if row[0] == name]
        places = {
            piece.place
            for _, java_id, begin_ns, end_ns, _ in spans
            for piece in ways.inside(java_id, begin_ns, end_ns, cause)
        }
        assert len(places) == 1, (name, places)


def test_each_station_of_the_zoo_waits_for_its_cause(zoo: Waited) -> None:
    driver = zoo.run.said["driver_java_id"]
    for station in zoo.run.said["stations"]:
        # No station has a monitor; a thread may meet another one at those of the JDK's start-up code.
        own = [piece for piece in zoo.pieces if piece.java_id == station["java_id"] and not piece.is_monitor]
        cause = CAUSE_OF_STATION[station["name"]]
        joins = cause == "imbalance" and not any(piece.is_directed for piece in own)
        assert own, station["name"]
        assert {piece.cause for piece in own} <= (FOR_OTHERS if joins else {cause}), station["name"]
        if station["released"] and station["name"] != "ForkJoinTask":  # its result comes from the pool's worker
            assert {piece.target for piece in own} - {None} == {driver}, station["name"]
        if not station["released"]:
            assert {piece.target for piece in own} == {None}, station["name"]
    assert {station["name"] for station in zoo.run.said["stations"]} == set(CAUSE_OF_STATION)


def test_who_waits_for_a_lock_whose_holder_waits_for_another_waits_for_the_other(tmp_path: Path) -> None:
    ran = waited(record_locks(tmp_path, "HolderWaitsForSecondLock", "juc", 3, 10))
    said = ran.run.said
    first, second, third = said["java_ids"]
    place = "2 objects (ReentrantLock)"  # the program waits for both of its locks at one line
    for begin_ns, end_ns in zip(said["round_begin_ns"], said["round_end_ns"], strict=True):
        for waiter in (first, second):
            pieces = ran.inside(waiter, begin_ns, end_ns, {"lock_contention"})
            covered = sum(min(each.end_ns, end_ns) - max(each.start_ns, begin_ns) for each in pieces)
            assert covered == end_ns - begin_ns
            assert {(each.place, each.target) for each in pieces} == {(place, third)}
    assert not ran.waits.is_cycle.any()


def test_a_ring_of_locks_stays_with_the_lock_that_each_thread_waits_for(tmp_path: Path) -> None:
    from support.drivers.recording_cli import headway

    words = ["record", "--locks", "-o", tmp_path / "r.headway", "--", *_deadlock()]
    done = headway(*words)
    assert done.returncode == 5, done.stderr
    from headway.store import open_recording

    waits = why_waits.load(open_recording(tmp_path / "r.headway"))
    last = [i for i in range(len(waits)) if waits.end[i] == waits.end.max()]
    assert len(last) == 2
    assert all(waits.is_cycle[i] for i in last)
    assert {int(waits.thread[i]) for i in last} == {int(waits.target[i]) for i in last}
    assert waits.data is not None
    assert len({int(waits.data.blocks.blocker[waits.block[i]]) for i in last}) == 2


def _deadlock() -> list[Any]:
    from support.drivers.workloads import workloads_jar
    from support.oracles.lock_oracle import OPEN_LOCKS

    return [javas()[0], OPEN_LOCKS, "-cp", workloads_jar(), "headway.workloads.Deadlock", "juc", 20, 5]


def test_threads_that_wait_for_work_or_for_their_time_are_known_to_be_idle(tmp_path: Path) -> None:
    ran = waited(record_locks(tmp_path, "IdlePool", 4, 0.3))
    said = ran.run.said
    workers = said["java_ids"]
    for java_id in workers:
        own = [each for each in ran.pieces if each.java_id == java_id and each.start_ns < said["end_ns"]]
        inside = [each for each in own if each.end_ns > said["begin_ns"]]
        idle = [each for each in inside if not each.is_directed]
        assert {each.cause for each in idle} <= {"too_few_tasks", "starved_consumer", "idle"}
        waited_ns, idle_ns = (sum(each.end_ns - each.start_ns for each in some) for some in (inside, idle))
        # At the lock of its queue a timer may meet who gives it work.
        assert {each.cause for each in inside} <= {"too_few_tasks", "starved_consumer", "idle", "lock_contention"}
        assert idle_ns > 0.95 * waited_ns > 0


def test_virtual_threads_wait_for_a_lock_though_the_kernel_sees_nothing(tmp_path: Path) -> None:
    threads = 200
    run = record_locks(tmp_path, "VirtualLock", threads, java=javas()[1])
    ran = waited(run)
    waits, said = ran.waits, run.said
    virtual = waits.thread >= waits.platform_threads
    span = said["all_parked_begin_ns"], said["all_parked_end_ns"]
    waiting = [
        each
        for each, is_virtual in zip(ran.pieces, virtual.tolist(), strict=True)
        if is_virtual and each.start_ns < span[1] and each.end_ns > span[0]
    ]
    assert len({each.java_id for each in waiting}) == threads
    assert {each.cause for each in waiting} == {"lock_contention"}
    waited_ns = sum(min(each.end_ns, span[1]) - max(each.start_ns, span[0]) for each in waiting)
    assert waited_ns == threads * (span[1] - span[0])
    ((main,),) = run.rows("SELECT java_id FROM thread WHERE name = 'main' AND kind = 'app'")
    assert {each.target for each in waiting} == {main}
