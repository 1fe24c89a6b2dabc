"""`headway numa-map` as root, of processes of another user: with that user's rights, and bounded."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from headway.record.collect.heap_nodes import HeapAsker
from headway.record.target_process.heap_memory import MOST_PAGES
from headway.record.target_process.move_pages import PAGE
from headway.record.target_process.processes import Process
from support.drivers.ordinary_user import OrdinaryUser
from support.drivers.recording_cli import headway

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
WAITS = "; print('ready', flush=True); import sys; sys.stdin.read()"
UNDUMPABLE = "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)"
TERABYTE = "import mmap; a = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)"
SCATTERED = (
    "import mmap; a = mmap.mmap(-1, 30000 * 4096); b = memoryview(a); "
    "import ctypes; at = ctypes.addressof(ctypes.c_char.from_buffer(a)); c = ctypes.CDLL(None); "
    "[c.mprotect(ctypes.c_void_p(at + 8192 * n), 4096, 1) for n in range(15000)]"
)


@contextmanager
def waiting(user: OrdinaryUser, text: str) -> Iterator[int]:
    """Run Python of an ordinary user, and give its process's number."""
    command = user.argv([user.python, "-c", text + WAITS])
    with subprocess.Popen(command, env=user.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_process_of_another_user_is_looked_at(user: OrdinaryUser) -> None:
    with waiting(user, "pass") as pid:
        done = headway("numa-map", "--pid", pid, "--duration", "1ms", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[0])
    assert [each["id"] for each in found["warnings"]] == ["HW734"]
    assert sum(each["bytes"] for each in found["looks"][0]["nodes"]) > 1 << 20


def test_what_its_user_may_not_ask_of_it_root_does_not_either(user: OrdinaryUser) -> None:
    with waiting(user, UNDUMPABLE) as pid:
        done = headway("numa-map", "--pid", pid, "--duration", "1ms")
    assert done.returncode == 1
    assert "HW732" in done.stderr
    assert "Permission denied" in done.stderr


@pytest.mark.parametrize("text", [TERABYTE, SCATTERED], ids=["a terabyte", "30,000 mappings"])
def test_a_process_with_very_much_memory_takes_a_bounded_look(user: OrdinaryUser, text: str) -> None:
    with waiting(user, text) as pid:
        process = Process.of(pid)
        assert process is not None
        look = HeapAsker(process).look()
    assert look is not None
    assert look.asked_pages == min(MOST_PAGES, look.memory_pages)
    assert look.memory_pages * PAGE > 50 << 20
    assert look.cpu_ns < 5_000_000_000


def test_an_ordinary_user_asks_for_no_process_of_another(user: OrdinaryUser) -> None:
    done = user.headway("numa-map", "--pid", str(os.getpid()), "--duration", "1ms")
    assert (done.returncode, "HW005" in done.stderr) == (1, True)
