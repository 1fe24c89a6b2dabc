"""Any number of processes that mean harm costs an attach no more than its limits: of time, of open files, of messages."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.record.agent import agents as agents_module
from headway.record.agent.agents import AttachedAgents
from headway.record.agent.attach import AttachResult
from headway.record.agent.orphans import lock_directory
from headway.record.directory import single_recorder
from headway.record.live import table_file
from headway.record.target_process import processes
from headway.record.target_process.deadline import Deadline, Interrupted, within
from headway.record.target_process.directory import open_root
from headway.record.target_process.rights import Rights, rights_of

SLEEP = shutil.which("sleep") or "sleep"


def attached_to(pids: list[int], spool: Path) -> AttachedAgents:
    return AttachedAgents.attach_to(pids[0], pids, spool, False, None)


class ClockOfAttaching:
    """The clock that attaching goes by: it goes on only by what the JVMs of a test take, however busy the machine is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1000.0
        monkeypatch.setattr(agents_module, "time", SimpleNamespace(monotonic=lambda: self.now_s))


def test_jvms_that_never_answer_take_a_limited_time_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, tried = ClockOfAttaching(monkeypatch), []

    def waits_in_vain(pid: int, *_: object, timeout_s: float, **__: object) -> AttachResult:
        tried.append(pid)
        clock.now_s += timeout_s
        raise HeadwayError("HW024", pid=pid)

    monkeypatch.setattr(agents_module, "attach", waits_in_vain)
    monkeypatch.setattr(processes, "is_jvm", lambda _pid: True)
    agents = attached_to([*range(1000, 11_000)], tmp_path)
    assert len(tried) == agents_module._WAITING_LIMIT_S // agents_module._ATTACH_LIMIT_S + 1
    assert len(agents.notices) == len(tried) + 1
    assert f"{10_000 - len(tried) - 1} more processes" in agents.notices[-1].message


def test_jvms_that_answer_just_in_time_take_a_limited_time_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ClockOfAttaching(monkeypatch)

    def answers(*_: object, **__: object) -> int:
        clock.now_s += agents_module._PROMPT_S
        return 0

    monkeypatch.setattr(agents_module, "attach", answers)
    monkeypatch.setattr(processes, "is_jvm", lambda _pid: True)
    agents = attached_to([*range(1000, 11_000)], tmp_path)
    assert len(agents.results) == agents_module._ATTACHING_LIMIT_S // agents_module._PROMPT_S + 1
    (notice,) = agents.notices
    assert "attaching to" in notice.message
    assert f"{10_000 - len(agents.results) - 1} more processes" in notice.message


def test_jvms_that_refuse_at_once_make_a_limited_number_of_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(pid: int, *_: object, **__: object) -> AttachResult:
        raise HeadwayError("HW023", pid=pid, reason="it is stopped")

    monkeypatch.setattr(agents_module, "attach", refuses)
    monkeypatch.setattr(processes, "is_jvm", lambda _pid: True)
    agents = attached_to([*range(1000, 11_000)], tmp_path)
    assert len(agents.notices) == agents_module._MOST_NOTICES + 1


def test_agents_leave_the_recording_enough_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def succeeds(*_: object, **__: object) -> int:
        opened.extend(os.open(tmp_path, os.O_RDONLY) for _ in range(3))
        return 0

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(agents_module, "attach", succeeds)
    monkeypatch.setattr(processes, "is_jvm", lambda _pid: True)
    in_use = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + agents_module._SPARE_DESCRIPTORS + 30, before[1]))
    try:
        agents = attached_to([*range(1000, 2000)], tmp_path)
        assert 9 <= len(agents.results) <= 12
        assert "ulimit -n" in agents.notices[0].message
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for fd in opened:
            os.close(fd)


def test_a_number_that_became_another_processs_while_others_were_attached_to_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever keeps headway waiting, and starts processes meanwhile, chooses whose the number of one that has ended becomes."""
    ticks = {77: 5, 78: 6, 79: 7}
    asked: list[int] = []

    def answers(pid: int, *_: object, **__: object) -> Any:
        asked.append(pid)
        ticks[78] = 1000
        return SimpleNamespace(facts=SimpleNamespace(pid=pid))

    monkeypatch.setattr(agents_module, "attach", answers)
    monkeypatch.setattr(processes, "is_jvm", lambda _pid: True)
    monkeypatch.setattr(processes, "read_stat", lambda pid: ["S", *["0"] * 18, str(ticks[pid])])
    agents = attached_to([77, 78, 79], tmp_path)
    assert asked == [77, 79]
    assert agents.notices == []


def test_a_process_that_keeps_its_memory_from_being_read_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A FIFO stands for /proc/PID/maps and cmdline of a process whose memory a file system of its own serves."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    real, served = open, ("/proc/77/maps", "/proc/77/cmdline")
    monkeypatch.setattr("builtins.open", lambda path, *a, **k: real(fifo if str(path) in served else path, *a, **k))
    monkeypatch.setattr(processes, "_LOOK_LIMIT_S", 0.1)
    with pytest.raises(TimeoutError):
        processes.is_jvm(77)
    assert processes.command_line(77) == []
    agents = attached_to([77], tmp_path)
    assert "HW024" in agents.notices[0].message


def test_processes_that_seem_to_be_each_others_parents_end_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = {10: 20, 20: 10, 30: 20}
    monkeypatch.setattr(os, "listdir", lambda _path: [*map(str, parents), "self"])
    monkeypatch.setattr(processes, "read_stat", lambda pid: ["S", str(parents[pid])])
    assert processes.tree(10) == [10, 20, 30]


@pytest.fixture
def locker(tmp_path: Path) -> Iterator[Path]:
    """A directory that another process keeps locked: whoever may read it can."""
    flock = shutil.which("flock")
    if flock is None:
        pytest.skip("needs flock (util-linux)")
    holder = subprocess.Popen([flock, "--exclusive", str(tmp_path), SLEEP, "1000"], start_new_session=True)
    try:
        probe = os.open(tmp_path, os.O_RDONLY)
        for _ in range(1000):
            try:
                fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
                fcntl.flock(probe, fcntl.LOCK_UN)
                time.sleep(0.01)
            except BlockingIOError:
                break
        os.close(probe)
        yield tmp_path
    finally:
        os.killpg(holder.pid, 9)
        holder.wait()


def test_a_recording_that_somebody_keeps_locked_is_not_waited_for(locker: Path) -> None:
    begun = time.monotonic()
    assert lock_directory(locker) is None
    assert time.monotonic() - begun < 60


def test_what_can_no_longer_be_waited_for_is_not_begun() -> None:
    begun: list[int] = []
    with pytest.raises(TimeoutError):
        within(Deadline.after(-1), lambda: begun.append(1))
    assert begun == []
    with pytest.raises(Interrupted):
        within(Deadline.after(10, lambda: True), lambda: time.sleep(0.2))


def test_agents_that_never_let_go_take_a_limited_time_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents_module, "_LEAVE_ALL_LIMIT_S", 0.3)
    monkeypatch.setattr(agents_module, "_LEAVE_LIMIT_S", 0.1)
    asked, collected = [], []

    class Silent:
        facts = SimpleNamespace(pid=1)
        problems: tuple[str, ...] = ()
        wanted_directory = Path("/tmp")

        def detach(self, timeout_s: float, interrupted: object) -> None:
            asked.append(timeout_s)
            time.sleep(max(0.0, timeout_s))
            raise TimeoutError

        def written_bytes(self, deadline: Deadline) -> int:
            return 0

        def collect(self, kept_free: int, deadline: Deadline) -> None:
            collected.append(kept_free)
            with contextlib.suppress(TimeoutError):
                fetching.append(deadline.left_s())
                time.sleep(fetching[-1])

        def close(self, limit_s: float) -> None:
            removing.append(limit_s)
            time.sleep(max(0.0, min(0.05, limit_s)))

    fetching: list[float] = []
    removing: list[float] = []
    monkeypatch.setattr(agents_module, "_FETCHING_LIMIT_S", 0.3)
    monkeypatch.setattr(agents_module, "_REMOVING_ALL_LIMIT_S", 0.3)
    agents = AttachedAgents()
    agents.results += [Silent()] * 1000  # type: ignore[list-item]
    agents.leave()
    assert len(collected) == 1000, "what they wrote is fetched all the same"
    assert sum(fetching) < 0.45, "but not for ever"
    assert sum(min(0.05, each) for each in removing if each > 0) < 0.45
    assert sum(each for each in asked if each > 0) < 0.45


def test_agents_whose_files_never_answer_are_silenced_in_a_limited_time_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agents_module, "_SILENCING_ALL_LIMIT_S", 1.0)
    waited: list[float] = []

    class Stuck:
        def stop(self, limit_s: float) -> None:
            waited.append(limit_s)
            time.sleep(limit_s)
            raise TimeoutError

    agents = AttachedAgents()
    agents.results += [Stuck()] * 10_000  # type: ignore[list-item]
    agents.silence()
    assert sum(waited) <= 1.0
    assert 4 <= len(waited) < 100, "each of them leaves a process behind"


@pytest.mark.root
def test_a_process_that_was_as_good_as_headway_leads_it_into_no_other_root(tmp_path: Path) -> None:
    """A program with the set-user-id bit is root for a moment; the shell that it becomes has root directories of its own."""
    child = os.fork()
    if child == 0:
        os.chroot(tmp_path)
        signal.pause()
    try:
        end_s = time.monotonic() + 30
        while os.stat(f"/proc/{child}/root").st_ino != tmp_path.stat().st_ino:
            assert time.monotonic() < end_s
            time.sleep(0.01)
        for is_ours, expected in ((True, Path("/")), (False, tmp_path)):
            root = open_root(child, Deadline.after(5), Rights(0, 0, (), is_ours))
            assert os.path.samestat(os.fstat(root), expected.stat())
            os.close(root)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_table_of_slots_that_are_never_whole_is_read_in_a_moment(tmp_path: Path) -> None:
    path = tmp_path / "locks-1.table"
    slots = 1 << 15
    head = struct.pack("<8sIIqIIIIQQqqQ", b"HWLOCKS\0", 2, 1, 0, 128, slots, 0, 0, 0, 0, 0, 0, 0)
    slot = struct.pack("<I", 1).ljust(48 + 16, b"\0") + struct.pack("<iIHH", 0, 0, 1, 0)
    with path.open("wb") as file:
        file.write(head.ljust(4096 + 4096 * 128, b"\0"))
        file.write(slot.ljust(128, b"\0") * slots)
    with contextlib.closing(table_file.open_file(path)) as table:
        begun = time.process_time()
        rows = table.read().rows
        assert time.process_time() - begun < 20, "not read again and again, slot by slot"
    assert sum(each.is_torn for each in rows) == len(rows) == slots


@pytest.mark.root
def test_a_process_that_became_another_users_is_not_looked_into_with_the_rights_it_had() -> None:
    with subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"]) as process:
        try:
            wait_until = time.monotonic() + 20
            # One id after the other: as another user it has root's groups for a moment.
            while (now := rights_of(process.pid)) != Rights(65534, 65534, (), is_ours=False):
                assert time.monotonic() < wait_until
                time.sleep(0.01)
            os.close(open_root(process.pid, Deadline.after(5), now))
            before = Rights(0, 0, (), is_ours=False)
            with pytest.raises(PermissionError, match="another user"):
                open_root(process.pid, Deadline.after(5), before)
        finally:
            process.kill()


LISTENS = """
import socket, sys, time
with socket.socket(socket.AF_UNIX) as lock:
    lock.bind(chr(0) + sys.argv[1])
    lock.listen(8)
    print("listens", flush=True)
    time.sleep(60)
"""


@pytest.mark.root
@pytest.mark.parametrize("prefix", [[], ["unshare", "--mount"]], ids=["root", "root-of-a-container"])
def test_who_says_that_it_records_is_believed_if_it_is_as_good_as_headway(prefix: list[str]) -> None:
    """A container's root that shares the network could keep any process from being recorded."""
    process = processes.Process.of(os.getpid())
    assert process is not None
    command = [*prefix, sys.executable, "-c", LISTENS, single_recorder._name(process)[1:]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listener:
        try:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listens\n"
            refused = contextlib.nullcontext() if prefix else pytest.raises(HeadwayError, match="HW008")
            with refused, single_recorder.recording_of(process):
                pass
        finally:
            listener.kill()
