"""Real stacks of every kind of waiting on JDK 17 and 25 (waiting_stacks/Stacks.java printed them), and of a Tomcat, a Kafka
broker, a Spark driver, a Hazelcast member and a Dropwizard (servers.txt, as headway recorded them): each finds its rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.waits.classification.roles import NATIVE, native_rule
from headway.analyses.waits.rules import CONTENTION, IO, RULES, WORK, Wait, classify

HERE = Path(__file__).resolve().parent / "waiting_stacks"


def decided(wait: Wait) -> str | None:
    """Return the id of the rule that fits; of waits that the kernel alone tells of that of the native call."""
    if wait.kind != "native":
        return classify(wait).id
    rule = native_rule(wait)
    return rule.id if rule is not None else None


def stacks(name: str) -> list[tuple[str, Wait]]:
    found = []
    for part in (HERE / name).read_text().split("== ")[1:]:
        head, *lines = part.splitlines()
        rule, kind, class_name, timed = (word.strip() for word in head.split("|"))
        frames = [(line.rpartition(".")[0], line.rpartition(".")[2]) for line in lines]
        found.append((rule, Wait(kind, class_name, frames, timed == "true")))
    return found


@pytest.mark.parametrize("name", ["jdk17.txt", "jdk25.txt", "servers.txt"])
def test_every_stack_finds_the_rule_that_was_decided_by_hand(name: str) -> None:
    wrong = {(rule, decided(wait), wait.calls) for rule, wait in stacks(name) if decided(wait) != rule}
    assert not wrong


@pytest.mark.parametrize("name", ["jdk17.txt", "jdk25.txt"])
def test_the_stacks_try_nearly_every_rule(name: str) -> None:
    tried = {rule for rule, _ in stacks(name)}
    untried = {rule.id for rule in RULES} - tried
    # The lock of a class is told by what the agent calls it, not by a stack (tests/e2e/locks/test_class_locks.py).
    # Who puts back what it took is told by whom it wakes (tests/unit/analyses/waits/test_wait_pools.py).
    # A gate is told by how many threads wait there (locks.barrier_latches).
    # Who waits only for its time is told by what threads did (waits.classification.periodic_threads, polls).
    told_otherwise = {"class-initialisation", "gate", "put-back", "periodic", "timed-wait"}
    assert untried <= {"sleep", "library-worker", "jdk-thread", "network", *told_otherwise}


def test_a_worker_that_waits_for_its_queue_s_lock_is_contention_and_no_idle_worker() -> None:
    frames = [
        ("jdk.internal.misc.Unsafe", "park"),
        ("java.util.concurrent.locks.LockSupport", "park"),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquireInterruptibly"),
        ("java.util.concurrent.locks.ReentrantLock", "lockInterruptibly"),
        ("java.util.concurrent.LinkedBlockingQueue", "take"),
        ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
        ("java.util.concurrent.ThreadPoolExecutor", "runWorker"),
        ("java.lang.Thread", "run"),
    ]
    found = classify(Wait("park", "java.util.concurrent.locks.ReentrantLock$NonfairSync", frames))
    assert (found.id, found.waiting) == ("lock", CONTENTION)


def test_taking_the_lock_again_after_await_is_contention() -> None:
    frames = [
        ("java.util.concurrent.locks.LockSupport", "park"),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
        ("java.util.concurrent.LinkedBlockingQueue", "take"),
        ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    ]
    assert classify(Wait("park", "java.util.concurrent.locks.ReentrantLock$NonfairSync", frames)).id == "lock"


def test_a_copy_of_a_pool_in_another_package_is_a_pool() -> None:
    frames = [
        ("java.util.concurrent.locks.LockSupport", "park"),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", "await"),
        ("org.apache.tomcat.util.threads.TaskQueue", "take"),
        ("org.apache.tomcat.util.threads.ThreadPoolExecutor", "getTask"),
        ("java.lang.Thread", "run"),
    ]
    wait = Wait("park", "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject", frames)
    assert classify(wait).waiting == WORK


def test_a_virtual_thread_that_reads_from_a_socket_waits_for_io_whatever_its_caller_is_called() -> None:
    """With and without a time limit. A class of the program's own that is called Poller is no poller of the JVM's."""

    def waiting(poller: str, caller: tuple[str, str], *, timed: bool) -> str:
        frames = [
            ("java.lang.VirtualThread", "park"),
            ("java.lang.System$1", "parkVirtualThread"),
            ("java.util.concurrent.locks.LockSupport", "park"),
            (poller, "poll"),
            ("sun.nio.ch.NioSocketImpl", "park"),
            caller,
            ("org.example.Task", "run"),
            ("java.lang.VirtualThread", "run"),
        ]
        return classify(Wait("park", "", frames, timed)).waiting

    for timed in (False, True):
        for caller in (("org.example.Pool", "borrow"), ("org.example.Cache", "get"), ("org.example.Server", "poll")):
            assert waiting("sun.nio.ch.Poller", caller, timed=timed) == IO
        assert waiting("org.example.Poller", ("org.example.Cache", "get"), timed=timed) != IO


def test_names_of_threads_play_no_part_and_a_class_alone_is_enough_for_locks() -> None:
    assert classify(Wait("park", "java.util.concurrent.locks.ReentrantLock$FairSync")).id == "lock"
    assert classify(Wait("monitor", "org.example.Account")).id == "monitor"
    assert classify(Wait("park", "java.util.concurrent.FutureTask")).id == "result"


def test_the_threads_of_servers_try_every_rule_of_native_calls_that_they_have() -> None:
    tried = {rule for rule, wait in stacks("servers.txt") if wait.kind == "native"}
    assert tried == {"selector", "accept", "stream"}
    assert tried < {rule.id for rule in NATIVE}
