"""Somebody debugs the JVM that headway attaches to: what a tracer stops costs that attach, and no more."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.record.agent.attach import AttachResult, attach
from headway.record.collect.thread_counters import ThreadWatch, countable
from headway.record.counters.groups import parse
from headway.record.program.group_signals import GroupSignalProbe
from headway.record.request.jvm_options import LockOptions, agent_library
from support.drivers.live_process import state, thread_names
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, java_command

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="traces a process and counts the kernel's events: needs root")
SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
ALL_KINDS = 0x40000000  # __WALL: of threads, too


@pytest.fixture(scope="module")
def java() -> Iterator[subprocess.Popen[str]]:
    command = java_command(JAVAS["jdk17"], "Sleeper", 600, 2, 20)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert "ready" in process.stdout.readline()
        yield process
        process.kill()


def ptrace(request: int, tid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    null = ctypes.c_void_p()
    if libc.ptrace(ctypes.c_long(request), ctypes.c_int(tid), null, null) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextlib.contextmanager
def stopped(*tids: int) -> Iterator[None]:
    """Keep threads in a tracer's stop: of signals that come meanwhile their process learns nothing through them.

    Those that have ended since they were listed are left out. A thread that ends while it is traced has to be waited for: its
    process can't end before.
    """
    traced = []
    try:
        for tid in tids:
            with contextlib.suppress(ProcessLookupError):
                ptrace(SEIZE, tid)
                traced.append(tid)
                with contextlib.suppress(ProcessLookupError):
                    ptrace(INTERRUPT, tid)
                os.waitpid(tid, ALL_KINDS)
        yield
    finally:
        for tid in traced:
            with contextlib.suppress(ProcessLookupError):
                ptrace(DETACH, tid)


def threads_called(pid: int, name: str) -> list[int]:
    return [tid for tid, each in thread_names(pid).items() if each.startswith(name)]


def attached_at_last(pid: int, spool: Path) -> AttachResult:
    """Attach once the agent that was asked for in vain has come, and has found that nobody records with it."""
    end_s = time.monotonic() + 60
    while True:
        try:
            return attach(pid, agent_library(), spool)
        except HeadwayError as error:
            if error.notice.id not in ("HW024", "HW027") or time.monotonic() > end_s:
                raise
            time.sleep(0.1)


def test_a_jvm_that_a_tracer_has_stopped_gets_no_signal(java: subprocess.Popen[str], spool: Path) -> None:
    """It would find it pending when it goes on, and print the stacks of all its threads if it is not ready for it then."""
    with stopped(java.pid), pytest.raises(HeadwayError, match=r"HW023.*it is stopped"):
        attach(java.pid, agent_library(), spool)
    pending = Path(f"/proc/{java.pid}/status").read_text().partition("\nShdPnd:")[2].split()[0]
    assert int(pending, 16) == 0


def test_a_jvm_whose_own_thread_is_stopped_costs_the_attach_its_deadline(
    java: subprocess.Popen[str], spool: Path, tmp_path: Path
) -> None:
    """Its hooks need the VM Thread. What was asked for in vain is done when it goes on: it harms nothing then."""
    with stopped(*threads_called(java.pid, "VM Thread")), pytest.raises(HeadwayError, match="HW024"):
        attach(java.pid, agent_library(), spool, locks=LockOptions(), timeout_s=2.0)
    later = tmp_path / "later"
    later.mkdir(mode=0o700)
    wait_for(lambda: threads_called(java.pid, "Attach Listener"))
    result = attached_at_last(java.pid, later)
    assert result.spool.exists()
    result.detach()
    result.close()
    assert state(java.pid) in ("S", "R")


def test_threads_that_are_stopped_are_counted_as_they_are(java: subprocess.Popen[str]) -> None:
    """They run nothing, so nothing is waited for. First the one that starts others: then there are no more of them."""
    starters = threads_called(java.pid, "java")
    with stopped(*starters), stopped(*({*thread_names(java.pid)} - {*starters})):
        watch = ThreadWatch(java.pid, countable(parse("page-faults")).groups)
        before, after = watch.read(), watch.read()
        watch.close()
    assert len(before.threads) >= 10
    assert after.threads == before.threads


def test_a_stopped_child_of_headways_keeps_it_from_nothing() -> None:
    """A program can stop its process group, in which headway has a child that tells whom signals were meant for."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        probe = GroupSignalProbe([signal.SIGUSR1])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    child = probe._pid
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: state(child) == "T")
    probe.close()
    assert state(child) == "gone"
