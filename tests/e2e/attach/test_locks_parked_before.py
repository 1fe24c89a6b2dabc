"""Threads that are parked before the agent comes, virtual or not: each is seen to wait, from then until it goes on.

The program says who is parked on what, and when each thread went on, by its own clock.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Set
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from headway.record.agent.attach import AttachResult, attach
from headway.record.request.jvm_options import LockOptions
from support.builders.lock_faults import JAVAS, Locks, command, fed, whole_lines
from support.drivers.recording_cli import attached, headway, manifest, notice_ids, start_headway, wait_for
from support.drivers.workloads import agent

pytestmark = pytest.mark.root
EACH = 4
LATCH = "java.util.concurrent.CountDownLatch$Sync"
INTERRUPTED = "headway.workloads.ParkedBefore$Interrupted"
VIRTUAL, PLATFORM = 0, 1


def parked(
    folder: Path, *arguments: object, java: str = "jdk25", jvm: tuple[str, ...] = ()
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    return fed(command(JAVAS[java], "ParkedBefore", *arguments, jvm=jvm), folder, lines=1)


def now_parked(pid: int) -> Set[tuple[str, int]]:
    """Return (class, how many wait for it now), as the JVM says."""
    looked = headway("locks", "--pid", pid, "--json")
    rows = json.loads(looked.stdout)["locks"] if looked.returncode == 0 else []
    return {(row["class_name"], row["parked_now"]) for row in rows}


def attached_to(pid: int, spool: Path) -> AttachResult:
    """Attach with locks, by the shortest way."""
    spool.mkdir()
    return attach(pid, agent(), spool, locks=LockOptions())


def recorded(
    folder: Path, each: int = EACH, more: int = 0, is_platform: int = 0, java: str = "jdk25"
) -> tuple[Locks, dict[str, Any]]:
    """Record the program from when all its threads are parked on; return the recording and what it said at the end."""
    path = folder / "a.headway"
    with parked(folder, each, more, is_platform, java=java) as program:
        recorder = start_headway("record", "--locks", "-o", path, "--pid", program.pid)
        wait_for(lambda: attached(path))
        wait_for(lambda: now_parked(program.pid) >= {INTERRUPTED: each, LATCH: 3 * each + more}.items())
        assert program.stdin is not None
        program.stdin.write(b"\n")
        program.stdin.flush()
        wait_for(lambda: len(whole_lines(folder / "out")) == 2)
        said = json.loads(whole_lines(folder / "out")[1])
        # Until the interrupted ones are known to have gone on: nobody woke them.
        wait_for(lambda: (INTERRUPTED, 0) in now_parked(program.pid))
        program.stdin.close()
        assert program.wait(timeout=100) == 0
        assert recorder.wait(timeout=100) == 0, recorder.communicate()
    assert (folder / "err").read_bytes() == b""
    locks = Locks(path)
    locks.assert_nothing_lost()
    return locks, said


def of_kind(said: dict[str, Any], kind: str) -> dict[int, int]:
    """Return when each thread of a kind went on (0: it didn't), by its java id."""
    at = said["kinds"].split().index(kind) * said["each"]
    every = dict(zip(said["java_ids"], said["went_on_ns"], strict=True))
    return {java_id: every[java_id] for java_id in said["java_ids"][at : at + said["each"]]}


@pytest.mark.parametrize(("java", "platform"), [("jdk25", VIRTUAL), ("jdk25", PLATFORM), ("jdk17", PLATFORM)])
def test_threads_that_are_parked_before_an_attach_are_seen_to_wait_until_they_go_on(
    tmp_path: Path, java: str, platform: int
) -> None:
    locks, said = recorded(tmp_path, is_platform=platform, java=java)
    blocks = locks.rows(
        "SELECT java_id, class_name, start_ns, start_ns + dur_ns, is_attached, is_open, is_virtual, is_end_guessed,"
        " identity_hash FROM block JOIN blocker USING (blocker_id) WHERE is_attached AND blocker.kind = 'park'"
    )
    blocks = [row for row in blocks if row[0] in said["java_ids"]]  # not the JDK's own threads
    assert {row[6] for row in blocks} == {platform == VIRTUAL}
    found = {row[0]: row for row in blocks}
    assert len(found) == len(blocks), "a thread waits once"
    classes = {"lock": None, "latch": LATCH, "pooled": LATCH, "timed": LATCH}
    for kind in classes:
        for java_id, went_on_ns in of_kind(said, kind).items():
            _, class_name, start_ns, end_ns, _, is_open, _, _, identity_hash = found[java_id]
            assert start_ns <= said["go_ns"] <= end_ns <= went_on_ns
            assert not is_open
            assert class_name == classes[kind] or (kind == "lock" and identity_hash == said["lock_hash"])
    for java_id in of_kind(said, "alone"):
        assert found[java_id][1] is None or found[java_id][1] == "", "parked on nothing"
    for java_id in of_kind(said, "interrupted"):
        _, _, start_ns, end_ns, _, is_open, _, is_guessed, identity_hash = found[java_id]
        assert identity_hash == said["interrupted_hash"]
        assert not is_open
        assert is_guessed
        assert start_ns <= said["go_ns"] <= end_ns
    assert not set(of_kind(said, "sleeping")) & set(found), "sleep is no park"
    assert set(found) == set(said["java_ids"]) - set(of_kind(said, "sleeping"))


def test_sums_and_the_owner_of_what_was_waited_for_before_an_attach_are_right(tmp_path: Path) -> None:
    locks, said = recorded(tmp_path)
    row = locks.blocker(said["lock_hash"])
    assert (row["times_parked"], row["peak_parked"], row["parked_now"]) == (EACH, EACH, 0)
    owners = locks.rows(
        "SELECT DISTINCT java_id FROM (SELECT owner_thread_id FROM block WHERE blocker_id = $1) "
        "JOIN thread ON thread_id = owner_thread_id",
        row["blocker_id"],
    )
    assert owners == [(said["main_id"],)]
    assert "HW218" not in notice_ids(locks.path)


def test_many_virtual_threads_that_are_parked_before_an_attach_are_all_seen(tmp_path: Path) -> None:
    locks, _ = recorded(tmp_path, more=10_000)
    ((waiting,),) = locks.rows(
        "SELECT count(DISTINCT java_id) FROM block JOIN blocker USING (blocker_id) WHERE is_attached AND class_name = $1",
        LATCH,
    )
    assert waiting == 10_000 + 3 * EACH


def test_workers_that_park_past_the_hooks_are_not_seen_to_wait_for_ever(tmp_path: Path) -> None:
    # JDK 25's ForkJoinPool, which carries the virtual threads: nobody would tell when such a worker goes on.
    locks, _ = recorded(tmp_path)
    assert locks.rows(
        "SELECT count(*) FROM block JOIN blocker USING (blocker_id)"
        " WHERE is_attached AND class_name = 'java.util.concurrent.ForkJoinPool'"
    ) == [(0,)]


def test_what_a_recording_that_ended_at_once_still_sees_is_not_left_to_the_next(tmp_path: Path) -> None:
    # Thousands, so that the agent's threads of the first recordings are still looking when the last one begins.
    with parked(tmp_path, 3000) as program:
        for number in range(2):
            attached_to(program.pid, tmp_path / str(number)).detach()
        session = attached_to(program.pid, tmp_path / "last")
        wait_for(lambda: INTERRUPTED in dict(now_parked(program.pid)))
        assert program.stdin is not None
        program.stdin.write(b"\n")
        program.stdin.flush()
        wait_for(lambda: len(whole_lines(tmp_path / "out")) == 2)
        wait_for(lambda: (INTERRUPTED, 0) in now_parked(program.pid), seconds=20)
        session.detach()
    assert (tmp_path / "err").read_bytes() == b""


def test_a_jvm_that_does_not_list_its_virtual_threads_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    with parked(tmp_path, EACH, jvm=("-Djdk.trackAllThreads=false",)) as program:
        recorder = start_headway("record", "--locks", "-o", path, "--pid", program.pid)
        # The agent's own thread looks, while the program runs on.
        wait_for(lambda: any(b"parked_before" in each.read_bytes() for each in (path / "spool").glob("agent-*.spool")))
        assert program.stdin is not None
        program.stdin.write(b"\n")
        program.stdin.close()
        assert program.wait(timeout=100) == 0
        assert recorder.wait(timeout=100) == 0, recorder.communicate()
    assert (tmp_path / "err").read_bytes() == b""
    (notice,) = [each for each in manifest(path)["notices"] if each["id"] == "HW218"]
    assert "-Djdk.trackAllThreads=false" in notice["message"]
