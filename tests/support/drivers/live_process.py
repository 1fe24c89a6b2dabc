"""Reads /proc of a running process, leaving out threads and files that disappear meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_GONE = (
    FileNotFoundError,
    ProcessLookupError,
)  # no such entry any more; an entry that was opened before its task ended


def state(pid: int) -> str:
    """Return a process's state letter, or "gone"."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except _GONE:
        return "gone"


def lives(pid: int) -> bool:
    """Return whether a process is running or asleep: not stopped, ended or a zombie."""
    return state(pid) in ("R", "S", "D")


def sleeps(pid: int) -> bool:
    """Tell whether a process has become sleep(1). A shell that is about to swallows the terminal's SIGINT in its last moments,
    as dash does between fork and exec.
    """
    return thread_names(pid).get(pid) == "sleep" and state(pid) == "S"


def thread_names(pid: int) -> dict[int, str]:
    """Return the kernel's name of each thread of a process, which it cuts to 15 bytes."""
    names = {}
    with contextlib.suppress(*_GONE):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*_GONE):
                names[int(tid)] = Path(f"/proc/{pid}/task/{tid}/comm").read_text(errors="replace").removesuffix("\n")
    return names


def thread_cpu_ns(pid: int) -> dict[int, int]:
    """Return how long each thread of a process has run, by the kernel."""
    executed = {}
    with contextlib.suppress(*_GONE):
        for tid in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(*_GONE):
                executed[int(tid)] = int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text().split()[0])
    return executed


def open_files(pid: int) -> list[str]:
    """Return the targets of a process's file descriptors."""
    targets = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(*_GONE):
            targets.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return targets


def catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process handles a signal. A JVM that handles SIGQUIT has started up."""
    status = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    caught = next(line.split()[1] for line in status if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (number - 1) & 1)


def waits_in_read(pid: int) -> bool:
    """Return whether a process's first thread is blocked in read(2) on a pipe; one just woken up is not."""
    numbers = {"x86_64": "0", "aarch64": "63"}
    try:
        number, *arguments = Path(f"/proc/{pid}/syscall").read_text().split()
        if number != numbers[os.uname().machine]:
            return False
        return os.readlink(f"/proc/{pid}/fd/{int(arguments[0], 16)}").startswith("pipe:")
    except _GONE:
        return False


def blocked_times(pid: int, tid: int) -> int:
    """Return how many times a thread has blocked (voluntary context switches)."""
    status = Path(f"/proc/{pid}/task/{tid}/status").read_text(errors="replace").splitlines()
    return int(next(line.split()[1] for line in status if line.startswith("voluntary_ctxt_switches:")))
