"""Whom headway as root takes for its own, and what it does to a file that has not been checked: nothing."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.model import wire
from headway.record.agent.attach import _Placed
from headway.record.target_process import agent_file
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import TargetDirectory
from headway.record.target_process.jvm_facts import JvmFacts
from headway.record.target_process.rights import Rights, rights_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="it is about what root does")]
STRANGER = Rights(54321, 54322, (), False)
NS_PID = 7
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or "python3"
WAITS = "import os; print(flush=True); input()"
BELOW_ANOTHER_ROOT = "import os, sys; os.chroot(sys.argv[1]); print(flush=True); input()"
ROOTS = {
    "a process of root's": ([], WAITS, True),
    "one in a pid namespace": (["unshare", "--pid", "--fork"], WAITS, True),
    "one in a user namespace": (["unshare", "--user", "--map-root-user"], WAITS, False),
    "one in a mount namespace": (["unshare", "--mount"], WAITS, False),
    "one below another root directory": ([], BELOW_ANOTHER_ROOT, False),
}


@pytest.mark.parametrize("who", ROOTS)
def test_root_elsewhere_is_trusted_as_little_as_anybody(who: str, tmp_path: Path) -> None:
    before, program, is_ours = ROOTS[who]
    if before and subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"can't be made here: {' '.join(before)}")
    command = [*before, PYTHON, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        if "--fork" in before:
            (pid,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        else:
            pid = process.pid
        rights = rights_of(pid)
        process.communicate("\n")
    assert (rights.uid, rights.is_ours) == (0, is_ours)


@pytest.fixture
def placed() -> Iterator[_Placed]:
    """headway's directory below a /tmp of a stranger's, with the file of records in it."""
    with tempfile.TemporaryDirectory(prefix="trusted-", dir="/tmp") as tmp:
        os.chmod(tmp, 0o1777)
        soon = Deadline.after(60)
        private = TargetDirectory.create(os.open(tmp, os.O_PATH | os.O_DIRECTORY), STRANGER, soon)
        fd = private.create_file(f"agent-{NS_PID}.spool", soon)
        yield _Placed("agent.so", private.in_target, private.path, private, fd)
        private.remove(soon)


def header(pid: int, magic: bytes = wire.HW_SPOOL_MAGIC, source: int = wire.HW_SOURCE_AGENT) -> bytes:
    whole = bytearray(4096)
    whole[: len(magic)] = magic
    struct.pack_into("<I", whole, wire.HW_SPOOL_HEADER["source"].offset, source)
    struct.pack_into("<I", whole, agent_file.PID, pid)
    return bytes(whole)


def write(fd: int, content: bytes) -> None:
    with open(f"/proc/self/fd/{fd}", "r+b") as file:
        file.write(content)


FILES = {
    "nothing": b"",
    "three bytes": b"abc",
    "a file that is none": b"#!/bin/sh\n" * 1000,
    "another magic": header(NS_PID, magic=b"HWLOCKS\0"),
    "records of the kernel's": header(NS_PID, source=wire.HW_SOURCE_SCHED),
    "another's pid": header(NS_PID + 1),
}


@pytest.mark.parametrize("what", FILES)
def test_nothing_is_written_to_a_file_that_does_not_begin_as_the_jvms_records(placed: _Placed, what: str) -> None:
    assert placed.spool_fd is not None
    write(placed.spool_fd, FILES[what])
    facts = JvmFacts(os.getpid(), 1, NS_PID, STRANGER, False, None, None, None)
    with pytest.raises(HeadwayError, match="HW071"):
        placed.result(facts, Path("/nowhere"), Deadline.after(60))
    assert os.fstat(placed.spool_fd).st_size == len(FILES[what])
    with open(f"/proc/self/fd/{placed.spool_fd}", "rb") as file:
        assert file.read() == FILES[what]


def test_a_file_that_begins_as_the_jvms_records_is_told_which_process_it_is_of(placed: _Placed) -> None:
    assert placed.spool_fd is not None
    write(placed.spool_fd, header(NS_PID))
    facts = JvmFacts(os.getpid(), 1, NS_PID, STRANGER, False, None, None, None)
    placed.result(facts, Path("/nowhere"), Deadline.after(60))
    with open(f"/proc/self/fd/{placed.spool_fd}", "rb") as file:
        whole = bytearray(file.read())
    assert struct.unpack_from("<I", whole, agent_file.HOST_PID) == (os.getpid(),)
    struct.pack_into("<I", whole, agent_file.HOST_PID, 0)
    assert whole == header(NS_PID), "and nothing else"
