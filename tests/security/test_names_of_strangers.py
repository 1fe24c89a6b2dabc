"""Names of processes, mounts and cgroups with characters that end lines elsewhere: they add nothing to what the kernel says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.record.directory import single_recorder
from headway.record.machine import host
from headway.record.target_process.processes import Process, read_stat, tree
from headway.record.target_process.rights import read_status, rights_of

ENDS = ["\x0b", "\x0c", "\r", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
NAMED = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)
print(1, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_the_name_of_a_process_adds_nothing_to_its_status(end: str) -> None:
    with subprocess.Popen([sys.executable, "-c", NAMED, f"x{end}Fake:\t7"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert "Fake" not in read_status(process.pid)
            assert rights_of(process.pid).uid == os.geteuid()
        finally:
            process.kill()


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_names_of_mounts_and_cgroups_cost_no_limit(tmp_path: Path, end: str) -> None:
    """Anybody may mount a file system of their own (FUSE), or have a tree of cgroups."""
    mount = tmp_path / "cgroup"
    group = mount / f"user{end}x"
    group.mkdir(parents=True)
    (group / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_bytes(f"0::/user{end}x\n".encode())
    (tmp_path / "self").mkdir()
    lines = [
        f"30 20 0:50 / /home/a{end}b rw,nosuid - fuse.x x{end}y rw,user_id=1000",
        f"31 20 0:26 / {mount} rw - cgroup2 cgroup2 rw",
    ]
    (tmp_path / "self" / "mountinfo").write_bytes("".join(f"{line}\n" for line in lines).encode())
    groups = [*host.cgroups(7, "cpu", tmp_path)]
    assert groups == [group, mount]
    assert host.limited(groups) == [group]


def test_processes_that_proc_hides_are_as_good_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """/proc mounted with hidepid=1 lists the processes of others, and keeps everything of them."""
    real = open

    def opened(path: object, *arguments: object, **options: object) -> object:
        if str(path) == "/proc/1/stat":
            raise PermissionError(1, "Operation not permitted", str(path))
        return real(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", opened)
    assert read_stat(1) is None
    assert os.getpid() in tree(os.getppid())


def test_sockets_of_ancestors_that_are_full_are_not_waited_for_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ancestor may belong to somebody who binds the name by which its recorder would be known, and accepts nobody."""
    ours = Process.of(os.getpid())
    assert ours is not None
    monkeypatch.setattr(Process, "parent", lambda _self: ours)  # ancestors without end
    monkeypatch.setattr(single_recorder, "_ANCESTORS_LIMIT_S", 0.5)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        bound.bind(single_recorder._name(ours))
        bound.listen(0)
        waiting = []
        for _ in range(3):
            caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            caller.setblocking(False)
            caller.connect_ex(single_recorder._name(ours))
            waiting.append(caller)
        begun = time.monotonic()
        single_recorder.refuse_recorded_tree(ours)
        assert time.monotonic() - begun < 20
        for caller in waiting:
            caller.close()
