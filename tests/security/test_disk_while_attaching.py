"""JVMs that keep headway attaching for minutes, and switch all the time meanwhile, do not fill the disk to its last byte."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.errors import HeadwayError
from headway.record.agent import agents as agents_module
from headway.record.agent.agents import AttachedAgents
from headway.record.collect import capture as capture_module
from headway.record.collect.capture import Capture
from headway.record.target_process import processes
from headway.record.target_process.deadline import Interrupted

MIB = 1 << 20


def test_attaching_ends_when_the_disk_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = [1000 * MIB]
    asked: list[int] = []

    def never_answers(pid: int, *_: object, interrupted: Callable[[], bool], **__: object) -> None:
        asked.append(pid)
        free[0] -= 500 * MIB  # what is recorded meanwhile
        capture._next_room_ns = 0  # half a second has passed
        raise Interrupted if interrupted() else HeadwayError("HW024", pid=pid)

    monkeypatch.setattr("os.statvfs", lambda _path: SimpleNamespace(f_bavail=free[0] // 4096, f_frsize=4096))
    monkeypatch.setattr(agents_module, "attach", never_answers)
    monkeypatch.setattr(processes, "is_jvm", lambda _pid: True)
    capture = Capture(tmp_path, "agent", os.getpid())
    assert not capture.must_end()
    AttachedAgents.attach_to(1, [*range(9_000_000, 9_000_100)], tmp_path, False, None, interrupted=capture.must_end)
    assert asked == [9_000_000, 9_000_001], "no further one once there is no room"
    assert capture.disk_full, "and the recording ends with what there is"


def test_the_room_on_the_disk_is_not_looked_at_all_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    now_ns = [10_000_000_000]
    capture = Capture(tmp_path, "agent", os.getpid())

    def looked() -> bool:
        looks.append(1)
        return False

    monkeypatch.setattr(capture, "_room_is_short", looked)
    monkeypatch.setattr(capture_module, "time", SimpleNamespace(monotonic_ns=lambda: now_ns[0]))
    for _ in range(100):
        assert not capture.must_end()
        now_ns[0] += 20_000_000
    assert len(looks) == 4, "twice a second"
