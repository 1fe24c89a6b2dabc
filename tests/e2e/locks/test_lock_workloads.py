"""The known-answer programs about locks keep their promises: an oracle must be right itself."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from support.drivers.workloads import JAVAS, Finished, run
from support.oracles.lock_oracle import OPEN_LOCKS, read_log

PATTERNS = {"LargeCriticalSection": ("large_critical_section", 3), "FrequentLock": ("frequent_lock", 2)}


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def alone(java: Path, program: str, *arguments: object, code: int = 0) -> Finished:
    done = run(java, program, *arguments, spool_dir=None, jvm=(OPEN_LOCKS,))
    assert (done.code, done.stderr) == (code, b"")
    return done


@pytest.mark.parametrize("kind", ["juc", "monitor"])
@pytest.mark.parametrize("program", PATTERNS)
def test_a_patterns_log_holds_every_acquisition_one_after_the_other(
    java: Path, program: str, kind: str, tmp_path: Path
) -> None:
    event, locks = PATTERNS[program]
    words = (kind, 1.0, *[1] * locks, 64, tmp_path / "log.csv")
    said = alone(java, program, *words).line(event)
    log = read_log(tmp_path / "log.csv")
    assert len(said["java_ids"]) == said["threads"] == 64
    assert len({lock["identity_hash"] for lock in said["locks"]}) == locks == len(log)
    for number, lock in enumerate(said["locks"]):
        held = log[lock["name"]]
        assert len(held) == lock["acquisitions"] >= said["sleeps"][number] > 0
        assert sum(each.held_ns for each in held) == lock["hold_ns"]
        assert sum(each.acquired_ns - each.asked_ns for each in held) == lock["wait_ns"]
        assert sum(each.queued for each in held) == lock["queued_acquisitions"]
        assert all(before.released_ns <= after.acquired_ns for before, after in pairwise(held))
        assert all(each.asked_ns <= each.acquired_ns <= each.released_ns for each in held)


def test_a_pattern_sleeps_as_long_as_its_factors_say(java: Path, tmp_path: Path) -> None:
    alone(java, "LargeCriticalSection", "juc", 0.5, 1, 1, 0.5, 8, tmp_path / "log.csv")
    shortest = {name: min(each.held_ns for each in held[:3]) for name, held in read_log(tmp_path / "log.csv").items()}
    assert shortest["lock-4ms"] >= 4_000_000
    assert shortest["lock-16ms"] >= 16_000_000
    assert shortest["lock-64ms"] >= 32_000_000


@pytest.mark.parametrize("kind", ["juc", "monitor"])
@pytest.mark.parametrize(
    ("program", "words"),
    [("HolderDescheduled", (3, 5)), ("HolderSleeps", (3, 10)), ("GcStretchesHold", (3, 16))],
)
def test_a_waiter_waits_longer_than_its_holder_measures(
    java: Path, program: str, words: tuple[int, ...], kind: str
) -> None:
    (said,) = alone(java, program, kind, *words).lines
    spans = list(zip(said["round_begin_ns"], said["round_end_ns"], strict=True))
    (lock,) = said["lock"]
    assert lock["acquisitions"] == 2 * len(spans) == 6
    assert 0 < sum(end - begin for begin, end in spans) <= min(lock["hold_ns"], lock["wait_ns"])
    # The CPU clock is read around the other one, and inside the hold.
    assert all(cpu >= 0 for cpu in said["round_cpu_ns"])
    assert sum(said["round_cpu_ns"]) <= lock["hold_ns"]


@pytest.mark.parametrize("kind", ["juc", "monitor"])
def test_the_chain_holds_both_locks_while_the_third_sleeps(java: Path, kind: str) -> None:
    said = alone(java, "HolderWaitsForSecondLock", kind, 3, 10).line("chain")
    measured = sum(end - begin for begin, end in zip(said["round_begin_ns"], said["round_end_ns"], strict=True))
    assert [lock["acquisitions"] for lock in said["locks"]] == [6, 6]
    assert all(lock["wait_ns"] >= measured >= 3 * 10_000_000 for lock in said["locks"])


@pytest.mark.parametrize("kind", ["juc", "monitor"])
def test_the_deadlock_ends_with_the_exit_code_asked_for(java: Path, kind: str) -> None:
    said = alone(java, "Deadlock", kind, 20, 5, code=5).line("deadlock")
    assert len(set(said["identity_hashes"])) == len(set(said["java_ids"])) == 2


def test_every_station_of_the_zoo_saw_its_thread_blocked(java: Path) -> None:
    stations = alone(java, "JucZoo", 3).line("zoo")["stations"]
    assert len({station["name"] for station in stations}) == len(stations) >= 20
    for station in stations:
        if station["released"] and station["name"] not in ("park", "Object.wait"):
            assert station["blocker_class"].startswith("java."), station
            assert 1 <= len(station["identity_hashes"]) <= 3


def test_the_server_answers_every_request(java: Path) -> None:
    for queue in ("array", "linked"):
        said = alone(java, "QueueServer", 8, 4, 100, 1000, queue).line("queue_server")
        assert said["requests"] == 800
        assert 0 < said["latency_p50_ns"] <= said["latency_p99_ns"] <= said["wall_ns"]


def test_a_storm_counts_its_parks_and_a_shared_lock_its_acquisitions(java: Path) -> None:
    said = alone(java, "ParkStorm", 2, 10_000, 0.2).line("park_storm")
    assert len(said["parks"]) == len(set(said["identity_hashes"])) == 2
    assert all(parks > 0 for parks in said["parks"])
    (lock,) = alone(java, "SharedLock", "juc", 64, 0.2).line("shared_lock")["locks"]
    assert lock["acquisitions"] >= lock["queued_acquisitions"] > 0


def test_idle_threads_and_virtual_ones_do_what_they_say(java: Path) -> None:
    idle = alone(java, "IdlePool", 3, 0.2).line("idle_pool")
    assert (idle["workers"], idle["done"]) == (3, 3)
    assert idle["ticks"] >= 1
    virtual = alone(java, "VirtualLock", 500).line("virtual_lock")
    assert virtual["supported"] == (java == JAVAS["jdk25"])
    assert not virtual["supported"] or virtual["held"] == virtual["threads"] == 500
