"""Every kind of blocking, each a number of times that the program knows: the object, the waker, and JFR's count."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import JAVA_17, headway, javas
from support.drivers.workloads import compile_java
from support.oracles.lock_oracle import LockRun, compare_with_jfr, length_ns, record_locks

pytestmark = pytest.mark.root
ROUNDS = 10


@dataclass
class Zoo:
    run: LockRun
    blocks: dict[int, list[dict[str, Any]]]
    """headway's parks and waits by java id, each with its blocker."""

    @property
    def stations(self) -> list[dict[str, Any]]:
        return list(self.run.said["stations"])


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def zoo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    folder = tmp_path_factory.mktemp("zoo")
    run = record_locks(folder, "JucZoo", ROUNDS, java=request.param, jfr=request.param == JAVA_17)
    cursor = run.recording.query(
        "SELECT block.*, b.class_name, b.identity_hash, waker.java_id AS kernel_waker FROM block "
        "LEFT JOIN blocker b USING (blocker_id) LEFT JOIN thread waker ON waker.thread_id = waker_thread_id "
        "ORDER BY start_ns"
    )
    names = [column[0] for column in cursor.description or ()]
    blocks: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in cursor.fetchall():
        block = dict(zip(names, row, strict=True))
        if block["kind"] != "monitor":  # no program's here: a thread may meet another one in the JDK's start-up code
            blocks[block["java_id"]].append(block)
    return Zoo(run, blocks)


def test_each_kind_of_blocking_is_seen_as_often_as_it_happens(zoo: Zoo) -> None:
    assert len(zoo.stations) >= 20
    found = {station["name"]: len(zoo.blocks[station["java_id"]]) for station in zoo.stations}
    assert found == {station["name"]: ROUNDS for station in zoo.stations}
    assert all(station["rounds"] == ROUNDS for station in zoo.stations)


def test_each_block_names_the_object_that_the_program_saw_its_thread_blocked_on(zoo: Zoo) -> None:
    for station in zoo.stations:
        blocks = zoo.blocks[station["java_id"]]
        kind = "wait" if station["name"].startswith("Object.wait") else "park"
        assert {block["kind"] for block in blocks} == {kind}
        if station["blocker_class"]:
            assert {block["class_name"] for block in blocks} == {station["blocker_class"]}
            assert sorted({block["identity_hash"] for block in blocks}) == station["identity_hashes"]
    without = [station for station in zoo.stations if station["name"] in ("park", "parkNanos")]
    assert len(without) == 2
    for station in without:
        assert {block["class_name"] or "" for block in zoo.blocks[station["java_id"]]} == {""}


def test_a_block_was_ended_by_whoever_released_it(zoo: Zoo) -> None:
    driver = zoo.run.said["driver_java_id"]
    for station in zoo.stations:
        if not station["released"] or station["name"] == "ForkJoinTask":  # its result comes from the pool's worker
            continue
        blocks = zoo.blocks[station["java_id"]]
        assert sum(block["waking_ns"] is not None for block in blocks) > ROUNDS / 2, station["name"]
        for block in blocks:
            assert not block["is_timed"]
            if block["waking_ns"] is None:
                assert not slept(zoo, block), station["name"]
                continue
            assert driver in (block["waker_java_id"], block["kernel_waker"]), station["name"]
            assert block["start_ns"] <= block["waking_ns"] <= block["start_ns"] + block["dur_ns"]


def slept(zoo: Zoo, block: dict[str, Any]) -> bool:
    """Whether the kernel saw its thread asleep; one that is notified on its way to sleep goes on, and nobody wakes it."""
    asleep = (
        "SELECT count(*), count(*) FILTER (blocked_ns > 0 AND start_ns - coalesce(runnable_ns, 0) > $2 "
        "AND start_ns - coalesce(runnable_ns, 0) - blocked_ns < $2 + $3) FROM slice WHERE thread_id = $1"
    )
    ((slices, inside),) = zoo.run.rows(asleep, (block["thread_id"], block["start_ns"], block["dur_ns"]))
    assert slices > ROUNDS
    return bool(inside)


def test_a_block_with_a_timeout_ends_by_itself(zoo: Zoo) -> None:
    timed = [station for station in zoo.stations if not station["released"]]
    assert len(timed) >= 4
    for station in timed:
        for block in zoo.blocks[station["java_id"]]:
            assert block["is_timed"], station["name"]
            assert block["waker_java_id"] is None
            assert not block["is_open"]


def test_the_sums_of_every_blocker_are_those_of_its_blocks(zoo: Zoo) -> None:
    rows = zoo.run.rows(
        "SELECT b.blocker_id, b.times_parked, b.thread_time_ns, b.real_time_ns, count(*), sum(dur_ns) "
        "FROM blocker b JOIN block USING (blocker_id) GROUP BY ALL"
    )
    assert rows
    for _, times_parked, thread_time_ns, real_time_ns, blocks, dur_ns in rows:
        assert times_parked == blocks
        assert thread_time_ns == dur_ns
        assert real_time_ns <= thread_time_ns


def test_the_stack_of_a_block_leads_into_the_program(zoo: Zoo) -> None:
    for station in zoo.stations:
        frames = zoo.run.rows(
            "SELECT f.class_name FROM block JOIN stack USING (stack_id) JOIN frame f USING (frame_id) WHERE java_id = $1",
            (station["java_id"],),
        )
        classes = {name for (name,) in frames}
        assert any(name.startswith("headway.workloads.") for name in classes), station["name"]
        assert not any("Headway" in name for name in classes)


def test_an_unpark_is_told_with_its_thread_and_its_place_in_the_program(zoo: Zoo) -> None:
    driver = zoo.run.said["driver_java_id"]
    rows = {row["identity_hash"]: row for row in zoo.run.locks if row["kind"] == "park"}
    unparked = [each for each in zoo.stations if each["released"] and not each["name"].startswith("Object.wait")]
    assert len(unparked) > 10
    for station in unparked:
        if (
            station["name"] == "ForkJoinTask" or not station["blocker_class"]
        ):  # the pool's worker; one row for all threads
            continue
        wakers = [waker for hash_ in station["identity_hashes"] for waker in rows[hash_]["wakers"]]
        lines = {waker["line"] for waker in wakers if waker["java_id"] == driver} - {None}
        assert lines, station["name"]
        assert all(line.startswith("headway.workloads.") for line in lines), station["name"]


def test_jfr_counts_the_same_and_as_much_time(zoo: Zoo) -> None:
    if not zoo.run.jfr:
        pytest.skip("this JDK has no JFR")
    compare_with_jfr(zoo.run, {station["java_id"] for station in zoo.stations})


def test_threads_with_nothing_to_do_are_not_called_contended(tmp_path: Path) -> None:
    run = record_locks(tmp_path, "IdlePool", 8, 2)
    span = run.said["begin_ns"], run.said["end_ns"]
    # Eight workers, a scheduled pool's thread, a timer and a consumer did little else than wait: all their sleep is that.
    assert len(run.said["java_ids"]) == 11
    least_ns = 0.9 * sum(length_ns(run.asleep(java_id, span)) for java_id in run.said["java_ids"])
    assert least_ns > 0
    assert sum(row["parking_thread_time_ns"] for row in run.locks if not row["contention"]) >= least_ns
    contended = [row for row in run.locks if row["contention"]]
    assert {row["waiting"] for row in contended} <= {"lock contention"}
    # While they come into being, the workers meet at the lock of their queue; from then on there is nothing to meet at.
    blocks = run.rows("SELECT start_ns, start_ns + dur_ns, blocker_id FROM block")
    of_contended = {row["blocker_id"] for row in contended}
    inside_ns = length_ns(((start, end) for start, end, blocker in blocks if blocker in of_contended), span)
    assert inside_ns < 0.01 * least_ns
    shown = headway("locks", run.path)
    assert shown.returncode == 0
    assert "Idle waiting" in shown.stdout


def test_ten_thousand_virtual_threads_wait_for_one_lock(tmp_path: Path) -> None:
    threads = 10_000
    run = record_locks(tmp_path, "VirtualLock", threads, java=javas()[1])
    said = run.said
    assert (said["threads"], said["held"]) == (threads, threads)
    (row,) = (row for row in run.locks if row["identity_hash"] == said["identity_hash"])
    assert row["peak_parked"] == threads
    assert row["times_parked"] >= threads
    assert row["parked_now"] == 0
    all_parked_ns = said["all_parked_end_ns"] - said["all_parked_begin_ns"]
    assert row["parking_thread_time_ns"] >= threads * all_parked_ns
    assert row["contention"]
    ((blocks, virtual, waiters, woken),) = run.rows(
        "SELECT count(*), count(*) FILTER (is_virtual), count(DISTINCT java_id), count(waker_java_id) FROM block "
        "WHERE blocker_id = $1",
        (row["blocker_id"],),
    )
    assert blocks == virtual == row["times_parked"]
    assert waiters == threads
    assert woken == blocks


def test_parks_of_virtual_threads_are_known_as_timed_and_pinned_and_by_their_threads(tmp_path: Path) -> None:
    compile_java(tmp_path, Path(__file__).parents[2] / "programs" / "VirtualParks.java")
    recording = tmp_path / "r.headway"
    done = headway("record", "--locks", "-o", recording, "--", javas()[1], "-cp", tmp_path, "VirtualParks")
    assert done.returncode == 0, done.stderr
    said = {way: (int(java_id), int(hash_)) for way, java_id, hash_ in map(str.split, done.stdout.splitlines())}
    assert len(said) == 8
    run = LockRun(recording, {}, {}, [])
    columns = "kind, is_virtual, is_timed, is_pinned, is_open, coalesce(identity_hash, 0), coalesce(class_name, '')"
    for way, (java_id, identity_hash) in said.items():
        rows = run.rows(
            f"SELECT block.{columns} FROM block LEFT JOIN blocker USING (blocker_id) WHERE java_id = $1 "
            "AND block.kind = 'park'",  # beside others, it may wait for a monitor of the JDK, too
            (java_id,),
        )
        kind = ("park", True, "parkNanos" in way or way == "parkUntil", way.startswith("pinned"), False)
        assert rows == [(*kind, identity_hash, "VirtualParks$Place" if identity_hash else "")], way
    first_threads = {row["identity_hash"]: row["first_thread"] for row in run.locks if row["identity_hash"]}
    names = {way: first_threads[identity_hash] for way, (_, identity_hash) in said.items() if identity_hash}
    assert names == {way: "a-name" if way == "named" else f"virtual thread #{said[way][0]}" for way in names}
