"""Processes as the kernel shows them in /proc: identity, ancestry, ownership.

A process id names nothing for long, so everything here goes by (pid, start time): see `Process`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass

from headway.errors import HeadwayError
from headway.record.target_process.deadline import Deadline, within

_LOOK_LIMIT_S = 2.0
"""How long a process may keep its memory map or its arguments, which lie in its memory, from being read."""
_LONGEST_ARGUMENTS_BYTES = 8 << 20
"""A process may say that its arguments are all of its memory; the kernel takes 6 MiB of an exec at most."""


_PF_EXITING, _PF_KTHREAD = 0x00000004, 0x00200000


@dataclass(frozen=True, slots=True)
class Process:
    """One process by its identity. `start_ticks` is field 22 of /proc/PID/stat: clock ticks since boot."""

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """Return the process that has this pid now, or None when there is none (a zombie counts as one)."""
        stat = read_stat(pid)
        return cls(pid, int(stat[19])) if stat else None

    @property
    def is_alive(self) -> bool:
        """Return whether the pid still belongs to the same process and it has not ended (a zombie has)."""
        stat = read_stat(self.pid)
        return stat is not None and int(stat[19]) == self.start_ticks and stat[0] not in ("Z", "X")

    def parent(self) -> Process | None:
        """Return the parent, or None for the first process or when this one is gone."""
        stat = read_stat(self.pid)
        return Process.of(int(stat[1])) if stat and int(stat[1]) > 0 else None


def read_stat(pid: int) -> list[str] | None:
    """Return /proc/PID/stat from the state on (state, ppid, pgrp, ... start time at index 19); None when gone, or hidden.

    /proc may be mounted so that it hides other users' processes (hidepid).
    The name before it may hold blanks, brackets and newlines, so everything up to the last bracket is skipped.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].decode().split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def is_kernel_thread(pid: int) -> bool:
    """Return whether the process is a thread of the kernel's own, which runs no program."""
    stat = read_stat(pid)
    return stat is not None and bool(int(stat[6]) & _PF_KTHREAD)


def no_process(pid: int, error: OSError) -> HeadwayError:
    """Return the error for what /proc no longer shows of a process: it has ended, or headway may open no more files."""
    has_ended = error.errno in (errno.ENOENT, errno.ESRCH)
    reason = "it has ended" if has_ended else f"it can't be looked at: {error.strerror or error}"
    return HeadwayError("HW004", pid=pid, reason=reason)


def runs_without_first_thread(pid: int) -> bool:
    """Return whether a process's first thread has ended while others run on; False where they, too, are ending."""
    first = read_stat(pid)
    if first is None or first[0] not in ("Z", "X"):
        return False
    try:
        others = (read_stat(int(entry)) for entry in os.listdir(f"/proc/{pid}/task") if int(entry) != pid)
        return any(stat is not None and stat[0] not in ("Z", "X") and not int(stat[6]) & _PF_EXITING for stat in others)
    except OSError:
        return False


def thread_group(tid: int) -> int | None:
    """Return the pid whose thread `tid` is (its own for a leader), or None when there is no such thread."""
    try:
        with open(f"/proc/{tid}/status", "rb") as status:
            return next((int(line[5:]) for line in status if line.startswith(b"Tgid:")), None)
    except (FileNotFoundError, ProcessLookupError):
        return None


def owner(pid: int) -> int | None:
    """Return the user id the process runs under, or None when it is gone."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree(pid: int) -> list[int]:
    """Return `pid` and every process below it, parents first, as of one look. Those that end meanwhile may be missing."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := read_stat(int(entry))):
            children.setdefault(int(stat[1]), []).append(int(entry))
    found = [pid]
    for parent in found:  # grows while we walk it
        found.extend(children.pop(parent, ()))  # once: pids that are used again meanwhile may make a circle
    return [*dict.fromkeys(found)]


def process_trees(roots: Iterable[Process]) -> list[Process]:
    """Return these processes and every process below them, as of one look; none that only has the number of one by now."""
    children: dict[int, list[Process]] = {}
    there: set[Process] = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (stat := read_stat(int(entry))):
            process = Process(int(entry), int(stat[19]))
            there.add(process)
            children.setdefault(int(stat[1]), []).append(process)
    found = [each for each in dict.fromkeys(roots) if each in there]
    for parent in found:  # grows while we walk it
        below = children.pop(parent.pid, ())
        if below and Process.of(parent.pid) == parent:  # else its number may have been another's when they were seen
            found.extend(below)
    return [*dict.fromkeys(found)]


def is_jvm(pid: int) -> bool:
    """Return whether the process has a HotSpot (or other) libjvm loaded. False when its maps can't be read.

    Raises TimeoutError when the process keeps them from being read.
    """

    def look() -> bool:
        with open(f"/proc/{pid}/maps", "rb") as maps:
            return any(line.rstrip().endswith(b"/libjvm.so") for line in maps)

    try:
        return within(Deadline.after(_LOOK_LIMIT_S), look)
    except TimeoutError:
        raise
    except OSError:
        return False


def command_line(pid: int) -> list[str]:
    """Return the arguments of a process, undecodable bytes escaped; empty for kernel threads and zombies.

    Empty, too, where the process keeps them from being read.
    """

    def look() -> bytes:
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            return cmdline.read(_LONGEST_ARGUMENTS_BYTES)

    try:
        raw = within(Deadline.after(_LOOK_LIMIT_S), look)
    except OSError:
        return []
    return [os.fsdecode(part) for part in raw.rstrip(b"\0").split(b"\0")] if raw else []
