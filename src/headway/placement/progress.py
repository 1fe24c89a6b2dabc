"""How much a running program has done: lines of a file that it writes, or an event that its threads count."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from headway.errors import HeadwayError
from headway.model.thread_counts import ThreadCounts
from headway.record.collect.thread_counters import ThreadWatch, countable_if_any
from headway.record.counters.groups import CounterOptions, parse
from headway.record.counters.usable import Group
from headway.record.target_process.processes import Process, read_stat
from headway.store.directory import is_untrusted_user, open_entry, untrusted_place, user_name

BY_CYCLES = "cycles,instructions"
"""What tells how fast a program is that has no other progress point, where the processor counts."""
_FOR_ALL_ELSE = 64
"""Descriptors that are left for everything but counters."""
_PART_BYTES = 1 << 20
_MOST_BYTES = 64 << 20
"""Of a file, between two readings: one that grows faster costs more to read than it tells."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a program did in all up to a moment: units of work, and the cycles that they took, None where they are not counted."""

    units: float
    cycles: float | None = None


class ProgramProgress(Protocol):
    """Tells how much the program has done."""

    name: str

    def done(self, processes: Iterable[Process]) -> Done | None:
        """Return what was done up to now, None where it can't be compared with what was before. Raises HeadwayError."""

    def close(self) -> None:
        """Let go of what it takes."""


class Lines:
    """Lines of a file that the program appends to, such as a log of requests. What was there before counts as done."""

    def __init__(self, path: Path, *, may_appear: bool = False) -> None:
        """Begin at the end of the file. `may_appear`: it need not be there yet. Raises HeadwayError HW724."""
        self.name = f"lines of {path}"
        self._path = path
        self._fd, self._lines, self._place = -1, 0, 0
        if not may_appear or self._exists():
            self._open()
            self._place = os.fstat(self._fd).st_size

    def done(self, processes: Iterable[Process]) -> Done | None:
        """Count the new lines. A file that was replaced or cut is begun anew, and None is returned. Raises HeadwayError HW724."""
        if self._fd < 0:
            if not self._exists():
                return None
            self._open()
        if self._is_another():
            self.close()
            self._open()
            self._place = os.fstat(self._fd).st_size
            return None
        first = self._place
        while part := os.pread(self._fd, _PART_BYTES, self._place):
            self._lines += part.count(b"\n")
            self._place += len(part)
            if self._place - first > _MOST_BYTES:
                raise self._error(f"it grew by more than {_MOST_BYTES >> 20} MiB between two readings")
        return Done(self._lines)

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        try:
            named = self._named()
            try:
                if not stat.S_ISREG(os.fstat(named).st_mode):
                    raise self._error("it is no ordinary file")
                flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
                self._fd = os.open(f"/proc/self/fd/{named}", flags)
            finally:
                os.close(named)
        except OSError as error:
            raise self._error(error.strerror or str(error)) from error

    def _named(self) -> int:
        """Return what has the file's name, not opened: to open a device may be an act. Raises OSError, or HeadwayError HW724.

        The program may replace its file at any time. So root follows no link of another user's, which may lead to whatever that
        user serves.
        """
        if os.geteuid() != 0:
            return os.open(self._path, os.O_PATH | os.O_CLOEXEC)
        try:
            return self._named_by_nobody_else()
        except HeadwayError as error:
            raise self._error(error.notice.message) from None

    def _named_by_nobody_else(self) -> int:
        with open_entry(self._path) as place:
            named = os.open(place.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent)
            status = os.fstat(named)
            if not stat.S_ISLNK(status.st_mode):
                return named
            target = os.readlink("", dir_fd=named)
            os.close(named)
            if is_untrusted_user(status.st_uid):
                raise untrusted_place(self._path, f"it is a link of user {user_name(status.st_uid)}'s")
        with open_entry(self._path.parent / target) as place:
            return os.open(place.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent)

    def _exists(self) -> bool:
        try:
            os.close(self._named())
        except OSError:
            return False
        return True

    def _is_another(self) -> bool:
        opened = os.fstat(self._fd)
        with contextlib.suppress(OSError):
            named = self._named()
            try:
                return not os.path.samestat(os.fstat(named), opened) or opened.st_size < self._place
            finally:
                os.close(named)
        return opened.st_size < self._place

    def _error(self, reason: str) -> HeadwayError:
        return HeadwayError("HW724", path=self._path, reason=reason)


class Events:
    """Events that the threads of all processes of the program count: the last one of a group is the unit of work."""

    def __init__(self, groups: Sequence[Group]) -> None:
        """Count the events of the first group."""
        (self._group,) = groups
        self.name = f"the event {self._group[-1].name}"
        self._watches: dict[Process, ThreadWatch] = {}
        self._refused: set[Process] = set()
        self._last: dict[Process, dict[tuple[int, int], list[float]]] = {}
        self._sums = [0.0] * len(self._group)

    def done(self, processes: Iterable[Process]) -> Done | None:
        """Count up to now; new processes and threads are counted from when they are first seen. Raises HeadwayError HW725."""
        there = [*processes]
        self._refused &= {*there}
        for process in there:
            if process not in self._watches and process not in self._refused:
                self._add(process)
        if not self._watches:
            raise HeadwayError("HW725", reason="the kernel refuses its counters for every process of the program")
        for process, watch in [*self._watches.items()]:
            before = self._last.get(process, {})
            found = {key: self._count(thread, before.get(key)) for key, thread in watch.read().threads.items()}
            # Threads that have ended are read once more and then no more: a program may start them without end.
            self._last[process] = {key: found[key] for key in watch.keys}
            if not watch.descriptors:
                watch.close()
                del self._watches[process], self._last[process]
        return Done(self._sums[-1], self._sums[0] if len(self._group) > 1 else None)

    def close(self) -> None:
        """Give the counters back."""
        for watch in self._watches.values():
            watch.close()
        self._watches.clear()

    def _add(self, process: Process) -> None:
        try:
            self._watches[process] = ThreadWatch(process.pid, (self._group,), reserved=lambda: self._reserved(process))
        except HeadwayError:  # it has ended, or is not ours to count
            self._refused.add(process)

    def _reserved(self, process: Process) -> int:
        """Return how many descriptors all else takes: each other process that is counted has one beside its threads'."""
        return _FOR_ALL_ELSE + sum(1 + watch.descriptors for each, watch in self._watches.items() if each != process)

    def _count(self, thread: ThreadCounts, before: list[float] | None) -> list[float]:
        """Add what a thread has counted since it was read before, and return what it has counted in all."""
        old = before or [0.0] * len(self._group)
        if thread.totals is None:
            return old
        now = [value * enabled / running if running else 0.0 for value, enabled, running in thread.totals]
        self._sums = [total + max(0.0, new - last) for total, new, last in zip(self._sums, now, old, strict=True)]
        return now


class CpuTime:
    """No progress: the CPU time of a program, by which its readings end. Nothing tells how fast it is."""

    name = "its workers and the nodes of its memory: nothing tells how fast it is"

    def __init__(self) -> None:
        """Begin without any."""
        self._done_ms = 0.0
        self._last_ms: dict[Process, float] = {}

    def done(self, processes: Iterable[Process]) -> Done | None:
        """Return the CPU time of the processes up to now, in milliseconds, with that of those which have ended meanwhile."""
        now_ms = {each: 1e3 * cpu_s for each in processes if (cpu_s := _cpu_s(each.pid)) is not None}
        self._done_ms += sum(max(0.0, ms - self._last_ms.get(each, 0.0)) for each, ms in now_ms.items())
        self._last_ms = now_ms
        return Done(self._done_ms)

    def close(self) -> None:
        """There is nothing to let go of."""


def _cpu_s(pid: int) -> float | None:
    """Return how long a process has run; None when it has ended."""
    stat = read_stat(pid)
    return None if stat is None else (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def progress_of(file: Path | None, event: str | None, *, may_appear: bool = False) -> ProgramProgress:
    """Return what tells how much the program does: a file's lines, an event, or its instructions. `may_appear`: so may the file.

    Raises HeadwayError HW103 to HW106 (the event), HW723 (nothing tells), HW724 (the file) or HW725 (the event does not count).
    """
    if file is not None:
        return Lines(file, may_appear=may_appear)
    if event is not None:
        options = parse(event, option="--progress-event")
        if len(options.groups) != 1 or len(options.groups[0]) != 1:
            raise HeadwayError(
                "HW105", option="--progress-event", text=event, reason="one event tells how much the program does"
            )
        return _events(options, "HW725")
    return _events(parse(BY_CYCLES), "HW723")


def _events(options: CounterOptions, refusal: str) -> Events:
    asked = options.groups[0]
    found = countable_if_any(options)
    if not found.groups or found.groups[0][-1].name != asked[-1].name:
        raise HeadwayError(refusal, reason=next((each.reason for each in found.absent), "it does not count"))
    return Events(found.groups)
