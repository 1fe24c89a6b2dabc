"""A process whose number, rights or files become another's between two looks: nothing of the other is opened, shown or moved."""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.cli.live import process_descriptor
from headway.errors import HeadwayError
from headway.placement import place as place_module
from headway.placement.single_daemon import placing
from headway.record.agent.attach import attach
from headway.record.live.live_locks import live_locks
from headway.record.request.jvm_options import agent_library
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.heap_memory import look_at_heap
from headway.record.target_process.mapped_files import PinnedFile, mapped_spools, mapped_tables
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import Rights, rights_of
from support.drivers.hostile_jvm import fake_jvm
from support.drivers.ordinary_user import OrdinaryUser

pytestmark = pytest.mark.alone
AS_HEADWAY = Rights(0, 0, tuple(os.getgroups()), is_ours=True)
"""What a program with the set-user-id bit shows for a moment."""


def earlier(pid: int) -> Process:
    """A process that had this number before the one that has it now."""
    now = Process.of(pid)
    assert now is not None
    return replace(now, start_ticks=now.start_ticks - 1)


@pytest.mark.root
def test_files_of_a_process_that_was_as_good_as_headway_are_not_opened_with_the_rights_it_had(
    user: OrdinaryUser,
) -> None:
    with fake_jvm(user.argv([]), "a whole table") as process:
        soon = Deadline.after(60)
        for file in (*mapped_tables(process.pid, soon), *mapped_spools(process.pid, soon)):
            with pytest.raises(PermissionError, match="another user"):
                PinnedFile(file, AS_HEADWAY, soon)
            PinnedFile(file, rights_of(process.pid), soon).close()


@pytest.mark.root
def test_a_mapped_file_of_a_mount_that_headway_does_not_see_is_not_opened_as_its_own(tmp_path: Path) -> None:
    """Layers above a program that never answers (FUSE) are such a mount: who opens a file there may wait for ever."""
    place = tmp_path / "mount"
    place.mkdir()
    soon = Deadline.after(60)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], check=True)
    is_mounted = True
    try:
        path = place / "locks-1.table"
        path.write_bytes(bytes(4096))
        path.chmod(0o600)
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
            (found,) = [each for each in mapped_tables(os.getpid(), soon) if each.path == str(path)]
            rights = rights_of(os.getpid())
            with PinnedFile(found, rights, soon) as pinned:
                assert pinned.content(10, soon) == bytes(10)
            subprocess.run(["umount", "--lazy", str(place)], check=True)
            is_mounted = False
            (hidden,) = [each for each in mapped_tables(os.getpid(), soon) if each.inode == found.inode]
            with pytest.raises(PermissionError, match="another view of files"):
                PinnedFile(hidden, rights, soon)
    finally:
        if is_mounted:
            subprocess.run(["umount", str(place)], check=True)


@pytest.mark.root
@pytest.mark.parametrize("how", ["a whole table", "no records"])
def test_whoever_has_the_number_of_a_jvm_that_ended_is_neither_shown_nor_attached_to(how: str) -> None:
    """`locks --pid` and `dump`: a table that is there, and a JVM that would get the agent."""
    with fake_jvm([], how) as process:
        before = {*os.listdir("/tmp")}
        with pytest.raises(HeadwayError, match="HW004"), live_locks(earlier(process.pid)):
            pass
        assert {name for name in {*os.listdir("/tmp")} - before if name.startswith(".headway-")} == set()


@pytest.mark.root
def test_an_agent_is_loaded_into_the_process_that_is_meant_and_no_other(tmp_path: Path) -> None:
    with fake_jvm([], "no records") as process:
        meant = earlier(process.pid)
        with pytest.raises(HeadwayError, match="HW020"):
            attach(meant.pid, agent_library(), tmp_path, start_ticks=meant.start_ticks)
    assert [*tmp_path.iterdir()] == []


@pytest.fixture
def sleeper() -> Iterator[int]:
    """The number of a process that sleeps."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_the_end_of_another_process_is_not_waited_for(sleeper: int) -> None:
    """`numa-map --pid`, `locks --watch`, `counters --pid` and `place` would go on until that one ends."""
    now = Process.of(sleeper)
    assert now is not None
    for process, is_given in ((now, True), (earlier(sleeper), False)):
        with process_descriptor(process) as descriptor:
            assert (descriptor is not None) == is_given


def test_the_heap_of_another_process_is_not_shown(sleeper: int) -> None:
    now = Process.of(sleeper)
    assert now is not None
    with contextlib.suppress(PermissionError, NotImplementedError):
        assert look_at_heap(now, 0).pid == sleeper
    with pytest.raises(ProcessLookupError):
        look_at_heap(earlier(sleeper), 0)


def test_another_process_is_not_placed(sleeper: int) -> None:
    with pytest.raises(HeadwayError, match="HW004"), placing(earlier(sleeper)):
        pass
    nothing: Any = None
    with pytest.raises(HeadwayError, match="HW004"):
        place_module._place(earlier(sleeper), place_module.Request(), nothing, nothing, -1, nothing, nothing)
