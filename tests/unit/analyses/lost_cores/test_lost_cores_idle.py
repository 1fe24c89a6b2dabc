"""Threads that wait for work from outside lose nothing by waiting: on recordings made by hand, whose account can be read off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.lost_cores.account.idle import standing
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.idleness import idleness
from headway.analyses.lost_cores.text import idle_sentence, sentence
from headway.analyses.overview import overview
from headway.analyses.scheduling.walltime import default_cores, walltime
from headway.analyses.waits import pieces
from headway.analyses.waits.classification.roles import native_rule
from headway.analyses.waits.rules import Wait as Waiting
from headway.report.analyses.walltime import WALLTIME
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

WALL = 1000
NO_OPTIONS = {"cores": None, "levels": None, "column": None, "recorded_cores": None, "against": None}
FUTEX, TIMED, SLEEP, POLL, FILE, SOCKET, CHILD = 1, 2, 3, 4, 5, 6, 7
SELECT = (("sun.nio.ch.EPoll", "wait"), ("sun.nio.ch.SelectorImpl", "select"), ("org.example.Poller", "run"))
ACCEPT = (("sun.nio.ch.Net", "accept"), ("java.net.ServerSocket", "implAccept"), ("org.example.Acceptor", "run"))
READ = (("sun.nio.ch.NioSocketImpl", "tryRead"), ("sun.nio.ch.NioSocketImpl", "implRead"), ("org.example.Link", "run"))
ASK_AT_ONCE = (
    *READ[:2],
    ("java.net.Socket$SocketInputStream", "read"),
    ("sun.net.www.http.HttpClient", "parseHTTPHeader"),
    ("sun.net.www.protocol.http.HttpURLConnection", "getInputStream0"),
    ("org.example.Client", "run"),
    ("java.lang.Thread", "run"),
)
ASK = (*READ[:2], *((f"org.example.Client{i}", "ask") for i in range(4)), ("org.example.Work", "run"))
TIMER = (("java.lang.Object", "wait"), ("java.util.TimerThread", "mainLoop"), ("java.util.TimerThread", "run"))
STDIN = (("java.io.FileInputStream", "readBytes"), ("org.example.Console", "loop"), ("java.lang.Thread", "run"))
MAIN_READS = (("java.io.FileInputStream", "readBytes"), ("org.example.App", "main"))
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
LOCK = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
POOL = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.LinkedBlockingQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
)


def recorded(
    path: Path,
    threads: Sequence[FakeThread],
    calls: Mapping[int, tuple[int, int]],
    stands: Mapping[int, tuple[str, Sequence[tuple[str, str]]]] = {},
    waits: Sequence[Wait] = (),
    waited_for: str = CONDITION,
    facts: Mapping[str, Any] = {},
    **tables: Any,
) -> Recording:
    """Write threads; by number of each in which call it blocks and who ends that, and in which state and stack it was seen."""
    rows = [
        row
        | dict(zip(("blocked_in", "waker_id"), calls.get(i, (0, -1)) if row["blocked_ns"] else (0, -1), strict=True))
        for i, thread in enumerate(threads)
        for row in synthetic.slices_of(i, thread)
    ]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    lock_recording = LockRecording(
        threads, waits, wall=WALL, classes=[waited_for], stacks=[POOL, *(stack for _, stack in stands.values())]
    )
    seen = [
        {"pid": 100, "thread_id": thread, "ns": ORIGIN + 10, "state": state, "stack_id": number}
        for number, (thread, (state, _)) in enumerate(stands.items(), 1)
    ]
    found = {"block": [lock_recording._block(each) for each in waits], "hold": [], **lock_recording._stacks()}
    found["blocker"] = [row for lock in range(lock_recording.locks) if (row := lock_recording._blocker(lock))]
    all_tables = {"slice": rows, "waiting_stack": seen, **found, **tables}
    return open_recording(synthetic.write(path / "a.headway", threads, WALL, tables=all_tables, **facts))


def server(work: int = 0) -> list[FakeThread]:
    """Threads of a server: an event loop, an accept loop, and one that computes so long for a request."""
    poller = FakeThread("app", 0, [("R", 1), ("B", WALL - 2), ("R", 1)], "poller")
    busy = [("B", 400), ("R", work), ("B", WALL - 400 - work)] if work else [("B", WALL)]
    return [poller, FakeThread("app", 0, [("B", WALL)], "acceptor"), FakeThread("app", 0, busy, "exec-1")]


OF_SERVER = {0: ("native", SELECT), 1: ("native", ACCEPT)}
IN_CALLS = {0: (POLL, -1), 1: (SOCKET, -1), 2: (FUTEX, -1)}


def test_while_a_server_waits_for_requests_its_cores_are_idle_and_nothing_is_lost(tmp_path: Path) -> None:
    account = why(recorded(tmp_path, server(), IN_CALLS, OF_SERVER, [Wait(2, 0, 0, WALL, stack=0)])).account
    assert account.idle_ns == 2 * (WALL - 2)
    assert account.outside_ns == WALL - 2
    assert account.lost_ns == 2  # beside the event loop, for the moments in which it runs
    assert account.invariant_error == 0
    assert {(each.role, each.name) for each in account.idle} == {("event loop", "poller"), ("accept loop", "acceptor")}
    assert idle_sentence(account).startswith("The program waited for work from outside for 100% of the time: ")
    assert "2.00 us (100%) idle" in sentence(account)


def test_predictions_know_as_long_as_the_account_that_a_server_waited_for_requests(tmp_path: Path) -> None:
    recording = recorded(tmp_path, server(), IN_CALLS, OF_SERVER, [Wait(2, 0, 0, WALL, stack=0)])
    account = why(recording).account
    found = idleness(recording)
    assert found is not None
    assert (found.outside_ns, found.sentence) == (WALL - 2, idle_sentence(account))
    assert WALLTIME.to_json(WALLTIME.run(recording, None, **NO_OPTIONS))["idle"] == found.sentence
    assert overview(recording).walltime == walltime(recording, default_cores(2), idleness=found)


def test_predictions_say_nothing_of_idleness_where_a_program_computes_all_the_time(tmp_path: Path) -> None:
    busy = recorded(tmp_path, [FakeThread("app", 0, [("R", WALL)])], {})
    assert idleness(busy) is None
    assert WALLTIME.to_json(WALLTIME.run(busy, None, **NO_OPTIONS))["idle"] is None


def test_who_waits_alone_keeps_the_numbers_of_its_name_and_several_share_a_name_without(tmp_path: Path) -> None:
    asleep = [("B", WALL)]
    names = ["selector-1", "selector-2", "acceptor tcp://127.0.0.1:61616"]
    threads = [
        FakeThread("app", 0, [("R", 1), ("B", WALL - 2), ("R", 1)] if i == 0 else asleep, name)
        for i, name in enumerate(names)
    ]
    stands = {0: ("native", SELECT), 1: ("native", SELECT), 2: ("native", ACCEPT)}
    account = why(recorded(tmp_path, threads, {0: (POLL, -1), 1: (POLL, -1), 2: (SOCKET, -1)}, stands, [])).account
    found = {(each.role, each.name, each.threads) for each in account.idle}
    assert found == {("event loop", "selector-*", 2), ("accept loop", "acceptor tcp://127.0.0.1:61616", 1)}


def test_what_is_lost_beside_a_request_is_what_it_was_before(tmp_path: Path) -> None:
    waits = [Wait(2, 0, 0, 400, stack=0), Wait(2, 0, 700, WALL, stack=0)]
    account = why(recorded(tmp_path, server(300), IN_CALLS, OF_SERVER, waits)).account
    assert account.outside_ns == WALL - 300 - 2
    first = account.lost[0]
    assert (first.cause, first.core_ns, first.place.thread) == ("serial_section", 300, "exec-1")
    assert account.lost_ns == 302


def test_that_a_program_was_idle_is_the_first_thing_said_of_it(tmp_path: Path) -> None:
    found = overview(recorded(tmp_path, server(), IN_CALLS, OF_SERVER))
    assert [each.id for each in found.findings][:2] == ["idle", "cores"]
    assert found.findings[0].figures["outside_share"] == pytest.approx(1, abs=0.01)


def test_who_waits_for_a_lock_meanwhile_is_no_idle_program(tmp_path: Path) -> None:
    waits_for_the_lock = [Wait(2, 0, 0, WALL, owner=0)]
    account = why(recorded(tmp_path, server(), IN_CALLS, OF_SERVER, waits_for_the_lock, LOCK)).account
    assert account.outside_ns == 0
    assert "lock_contention" in {loss.cause for loss in account.lost}


def test_a_timer_that_waited_before_headway_came_is_idle(tmp_path: Path) -> None:
    timer = [FakeThread("app", 0, [("B", WALL)], "Timer-0")]
    account = why(recorded(tmp_path, timer, {0: (0, -1)}, {0: ("wait", TIMER)})).account
    assert (account.outside_ns, account.lost_ns) == (WALL, 0)


@pytest.mark.parametrize(("is_in_call", "serves"), [(True, True), (True, False), (False, False)])
def test_who_sleeps_while_it_serves_is_no_idle_server_however_seldom_it_runs(
    tmp_path: Path, is_in_call: bool, serves: bool
) -> None:
    """As an event loop that pauses in a request; a thread that never waits for work, or pauses in its run(), keeps time."""
    call = [(f"org.example.Handler{i}", "read") for i in range(4 if is_in_call else 0)]
    pause = (("java.lang.Thread", "sleep"), *call, ("org.example.Loop", "run"), ("java.lang.Thread", "run"))
    waits = [Wait(2, 0, 0, 1, stack=0)] if serves else []
    stands = {**OF_SERVER, 2: ("sleep", pause)}
    facts = {"attached": True, "ended_by": "duration"}
    account = why(recorded(tmp_path, server(), {**IN_CALLS, 2: (TIMED, -1)}, stands, waits, facts=facts)).account
    assert account.outside_ns == (0 if serves else WALL - 2)
    slept = [loss.core_ns for loss in account.lost if loss.cause == "sleep"]
    assert slept == ([2 * WALL - 3] if serves else [])  # all but what the event loop ran, and the wait for work


def test_without_stacks_nothing_is_said_to_be_idle(tmp_path: Path) -> None:
    account = why(recorded(tmp_path, server(), IN_CALLS)).account
    assert account.idle_ns == account.outside_ns == 0
    assert account.lost[0].cause == "io"


@pytest.mark.parametrize(
    ("stack", "role"),
    [
        *((SELECT, "event loop"), (ACCEPT, "accept loop"), (READ, "connection"), (STDIN, "reader of a stream")),
        *((ASK, None), (MAIN_READS, None), (ASK_AT_ONCE, None)),
    ],
    ids=["select", "accept", "read", "stdin", "ask", "main", "ask at once"],
)
def test_a_native_call_has_the_role_that_its_stack_tells(stack: Sequence[tuple[str, str]], role: str | None) -> None:
    rule = native_rule(Waiting("native", "", stack))
    assert (rule.role if rule is not None else None) == role


@pytest.mark.parametrize("accepts", [True, False])
def test_a_socket_is_read_for_a_request_only_where_connections_are_accepted(tmp_path: Path, accepts: bool) -> None:
    stands = {0: ("native", READ), **({1: ("native", ACCEPT)} if accepts else {})}
    recording = recorded(tmp_path, server(), {0: (SOCKET, -1), 1: (SOCKET, -1)}, stands)
    found = standing(recording, pieces.load(recording))
    assert {each.role for each in found} == ({"connection", "accept loop"} if accepts else set())


def test_who_waits_for_a_recorded_child_waits_for_its_threads(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 890), ("R", 10)], "launcher"),
        FakeThread("app", 100, [("R", 800)], "child"),
    ]
    rows = [synthetic.thread_row(i, each, WALL) for i, each in enumerate(threads)]
    rows[1] |= {"pid": 101, "tid": 101, "parent_tid": rows[0]["tid"]}
    account = why(recorded(tmp_path, threads, {0: (CHILD, 1)}, thread=rows)).account
    alone = {loss.place.thread: loss.core_ns for loss in account.lost if loss.cause == "serial_section"}
    assert alone == {"launcher": 110, "child": 800}
    assert "io" not in {loss.cause for loss in account.lost}
