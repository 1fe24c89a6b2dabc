"""Each of many JVMs in one recording has its share of memory, disk and time, and costs no other's records."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headway import _native
from headway.record.agent import agents as agents_module
from headway.record.agent.agents import AttachedAgents
from headway.record.target_process import agent_file
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import TargetDirectory
from headway.record.target_process.rights import Rights
from support.builders.spool_builder import Agent, record

NOW = 1_000_000_000
HOSTILE, HONEST = (1, 3), 2
"""The honest one's file is neither the first nor the last by its name."""
MANY = 2_000
ROOM_BYTES = 900_000
GC = 1


def threads(agent: Agent, number: int) -> None:
    agent.thread(NOW + number, 100 + number, 1 + number, b"t%d" % number)


def phases(agent: Agent, number: int) -> None:
    agent.phase(NOW + number, NOW + number + 1, GC, b"c%d" % number)


def objects(agent: Agent, number: int) -> None:
    block = struct.pack("<qqIIIIIIHHI", NOW, 0, 1 + number, 0, 1, 0, 0, 0, 1, 0, 1)
    agent.records.append(record(NOW + number, 44, 100, block))


def stacks(agent: Agent, number: int) -> None:
    agent.records.append(record(NOW, 41, 100, struct.pack("<IHHIi", 1 + number, 1, 0, 1, number)))


def kept(decoder: Any, number: int) -> int:
    agent, locks = decoder.agents()[number - 1], decoder.locks().files()[number - 1]
    return len(agent["threads"]) + len(agent["phases"]) + int(locks["blocks"]) + int(locks["stacks"])


@pytest.mark.parametrize("what", [threads, phases, objects, stacks])
def test_records_that_the_memory_does_not_hold_are_those_of_whom_they_are_too_many_of(
    tmp_path: Path, what: Callable[[Agent, int], None]
) -> None:
    for pid, count in ((HOSTILE[0], MANY), (HONEST, 50), (HOSTILE[1], MANY)):
        agent = Agent(pid, NOW)
        for number in range(count):
            what(agent, number)
        agent.write(tmp_path)
    limited, whole = _native.Decoder(str(tmp_path), ROOM_BYTES), _native.Decoder(str(tmp_path))
    assert kept(limited, HONEST) == kept(whole, HONEST) == 50
    assert [each["lost"] for each in whole.agents()] == [0, 0, 0]
    for pid in HOSTILE:
        assert kept(whole, pid) == MANY
        assert 0 < kept(limited, pid) < MANY
        assert kept(limited, pid) + limited.agents()[pid - 1]["lost"] == MANY, "what is lost is counted"
    assert kept(limited, HOSTILE[0]) == pytest.approx(kept(limited, HOSTILE[1]), abs=1), "they have equal shares"


def test_facts_without_number_are_kept_up_to_a_limit_and_the_rest_is_counted(tmp_path: Path) -> None:
    """Each takes a while to be looked through for secrets."""
    agent = Agent(1, NOW)
    for number in range(MANY):
        agent.fact(b"key%d" % number, b"value")
    agent.write(tmp_path)
    (found,) = _native.Decoder(str(tmp_path)).agents()
    assert len(found["facts"]) == 1024
    assert len(found["facts"]) + found["lost"] == MANY


class Disk:
    """A disk of so many free bytes, and JVMs whose agents wrote more or less."""

    def __init__(self, free_bytes: int, written: list[int]) -> None:
        self.free_bytes = free_bytes
        self.fetched: dict[int, int] = {}
        self.left_s: dict[int, float] = {}
        self.jvms = [self.jvm(pid, size) for pid, size in enumerate(written)]

    def jvm(self, pid: int, size: int) -> Any:
        def collect(kept_free: int, deadline: Deadline) -> None:
            self.left_s[pid] = deadline.left_s()
            taken = min(size, self.free_bytes - kept_free)
            self.free_bytes -= taken
            self.fetched[pid] = taken

        return SimpleNamespace(
            facts=SimpleNamespace(pid=pid),
            wanted_directory=Path("/"),
            problems=(),
            written_bytes=lambda _deadline: size,
            collect=collect,
            detach=lambda _limit_s, _interrupted: None,
            close=lambda _limit_s: None,
        )


def test_jvms_that_write_without_end_leave_others_their_room_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = 1 << 40
    disk = Disk(1_000_000, [endless, endless, 90_000, 10, endless])
    monkeypatch.setattr(agent_file, "_KEPT_FREE_BYTES", 0)
    monkeypatch.setattr(agent_file, "free_bytes", lambda _directory: disk.free_bytes)
    AttachedAgents(disk.jvms).leave()
    assert (disk.fetched[2], disk.fetched[3]) == (90_000, 10)
    assert sum(disk.fetched.values()) <= 500_000, "half of the room at most, all of them together"
    assert [disk.fetched[pid] for pid in (0, 1, 4)] == [pytest.approx((500_000 - 90_010) / 3, rel=0.01)] * 3


def test_jvms_whose_files_take_for_ever_leave_others_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    disk = Disk(1 << 40, [5, 5, 5, 1])
    given: list[float] = []

    def takes_all_it_may(kept_free: int, deadline: Deadline) -> None:
        given.append(deadline.left_s())
        now_s[0] += given[-1]
        raise TimeoutError("it took too long")

    for jvm in disk.jvms[:3]:
        jvm.collect = takes_all_it_may
    agents = AttachedAgents(disk.jvms)
    agents.leave()
    assert given == [pytest.approx(agents_module._FETCHING_LIMIT_S / 3)] * 3
    assert disk.left_s == {3: pytest.approx(agents_module._FETCHING_LIMIT_S / 4)}
    assert len(agents.notices) == 3


@pytest.mark.root
def test_what_an_agent_wrote_is_seen_with_the_rights_of_its_jvm() -> None:
    stranger, soon = Rights(65534, 65534, (), is_ours=False), Deadline.after(60)
    private = TargetDirectory.create(os.open("/tmp", os.O_PATH | os.O_DIRECTORY), stranger, soon)
    try:
        os.close(private.create_file("agent-1.spool", soon))
        assert private.written_bytes(soon) == 0
        private.with_file("agent-1.spool", soon, lambda fd: os.pwrite(fd, b"x" * 4096, 1 << 30), flags=os.O_RDWR)
        assert 4096 <= private.written_bytes(soon) < 1 << 20, "holes are not counted"
    finally:
        private.remove(soon)
