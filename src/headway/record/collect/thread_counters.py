"""The counters of a running process, thread by thread, from outside: each thread's groups are opened as it is first seen.

A thread takes a descriptor for each event, so that very many threads are not all counted; recordings read the counters of CPUs
at every switch instead, and need mode ebpf for it. Nothing is done in the process, and it need not be a JVM.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from headway.errors import HeadwayError
from headway.model.thread_counts import ProcessCounts, ThreadCounts, Totals
from headway.record.counters import groups as asked_groups
from headway.record.counters.descriptors import limit_below
from headway.record.counters.groups import CounterOptions
from headway.record.counters.usable import Group, Usable, native_events, usable, why_refused
from headway.record.finalise.threads.kinds_by_name import is_jvm_thread, kind_of_native
from headway.record.target_process.deadline import Interrupted
from headway.record.target_process.processes import no_process

_FOR_ALL_ELSE = 64
"""Descriptors that are left for everything but counters."""
_MOST_THREADS = 65_536
"""Between two readings, those that ended included: a program may start and end threads without end."""


def countable(options: CounterOptions) -> Usable:
    """Return the groups that this user may count of a thread, tried on this one.

    Raises HeadwayError HW104 or HW113.
    """
    found = countable_if_any(options)
    if not found.groups:
        events = "; ".join(f"{each.event}: {each.reason}" for each in found.absent)
        raise HeadwayError("HW113", events=events)
    return found


def countable_if_any(options: CounterOptions) -> Usable:
    """Return the groups that this user may count of a thread, maybe none.

    Where an ordinary user may count nothing of the kernel, the groups by default are those of user space alone. Raises
    HeadwayError HW104.
    """
    found = usable(options.groups, is_default=options.is_default)
    if not found.groups and options.is_default:
        names = [[f"{event.name}:u" for event in group] for group in options.groups]
        own = asked_groups.parse(";".join(",".join(group) for group in names))
        found = usable(own.groups, is_default=True)
    return found


@dataclass(slots=True)
class _Thread:
    """A thread by number and start. `base_ns`: what it had run before anybody looked, `first_ns`: when it was first seen."""

    key: tuple[int, int]
    name: str
    is_counted: bool
    base_ns: int
    first_ns: int

    def now(self, totals: Totals | None, ran_ns: int, in_jvm: bool) -> ThreadCounts:
        """Return what it has counted, `totals`, and run without being counted."""
        kind = kind_of_native(self.name, in_jvm)
        uncounted_ns = (self.first_ns if self.is_counted else max(self.first_ns, ran_ns)) - self.base_ns
        return ThreadCounts(self.name, kind.value, totals, uncounted_ns)


class ThreadWatch:
    """Counts the threads of a process from now on, and those that it starts from when they are first seen."""

    def __init__(
        self,
        pid: int,
        groups: Sequence[Group],
        is_interrupted: Callable[[], bool] = lambda: False,
        *,
        is_late: bool = False,
        reserved: Callable[[], int] = lambda: _FOR_ALL_ELSE,
    ) -> None:
        """Begin with the threads that are there. `is_interrupted`: asked while threads are gone through, which may take long.

        `is_late`: what they ran up to now should have been counted. `reserved`: so many descriptors are for everything else.
        Raises HeadwayError HW004 or HW114, and, as `look` and `read` do, Interrupted.
        """
        from headway import _native

        self.pid = pid
        self._proc = _ProcessFiles(pid)
        self._counters = _native.ThreadCounters(native_events(groups))
        self._groups = groups
        self._is_interrupted = is_interrupted
        self._reserved = reserved
        self._threads: dict[int, _Thread] = {}
        self._without_room = 0
        self._reason = 0
        try:
            self._add_all(self._proc.tids(), is_late=is_late)
            if not self._threads:
                raise HeadwayError("HW004", pid=pid, reason="it has ended")
            if not any(each.is_counted for each in self._threads.values()):
                raise HeadwayError("HW114", pid=pid, reason=self._why())
        except BaseException:
            self.close()
            raise

    @property
    def descriptors(self) -> int:
        """Return how many descriptors its counters take; none once all threads have ended and been read."""
        return len(self._threads) * sum(map(len, self._groups))

    @property
    def keys(self) -> list[tuple[int, int]]:
        """Return number and start of each thread that has not ended, as far as is known."""
        return [thread.key for thread in self._threads.values()]

    def look(self) -> None:
        """Count threads that were not there before."""
        self._without_room = 0
        self._add_all([tid for tid in self._proc.tids() if tid not in self._threads], is_late=True)

    def read(self) -> ProcessCounts:
        """Return what all have counted up to now. Those that ended are in it once, and then no more."""
        now_ns, first_ns = time.monotonic_ns(), self._proc.cpu_ns()
        running = {tid: named for tid in self._uninterrupted(self._proc.tids()) if (named := self._proc.named(tid))}
        in_jvm = any(is_jvm_thread(name) for name, _ in running.values())
        found: dict[tuple[int, int], ThreadCounts] = {}
        for tid in self._uninterrupted([*self._threads]):
            thread = self._threads[tid]
            name, start = running.get(tid, ("", -1))
            still_runs = start == thread.key[1]
            thread.name = name if still_runs else thread.name
            ran_ns = self._proc.ran_ns(tid) if still_runs and not thread.is_counted else thread.first_ns
            found[thread.key] = thread.now(self._totals(thread), ran_ns, in_jvm)
            if not still_runs:
                self._counters.remove(tid)
                del self._threads[tid]
        self.look()
        for thread in self._threads.values():
            if thread.key not in found:
                found[thread.key] = thread.now(self._totals(thread), thread.first_ns, in_jvm)
        last_ns = self._proc.cpu_ns()
        cpu_ns = None if first_ns is None or last_ns is None else (first_ns, last_ns)
        left_out = sum(not each.is_counted for each in self._threads.values()) + self._without_room
        return ProcessCounts(self.pid, now_ns, cpu_ns, found, left_out, self._why() if left_out else "")

    def close(self) -> None:
        """Give all counters back."""
        for tid in self._threads:
            self._counters.remove(tid)
        self._threads.clear()
        self._proc.close()

    def _uninterrupted(self, tids: list[int]) -> Iterator[int]:
        """Yield each, as long as nobody interrupts."""
        for number, tid in enumerate(tids):
            if number % 64 == 0 and self._is_interrupted():
                raise Interrupted
            yield tid

    def _add_all(self, tids: list[int], *, is_late: bool) -> None:
        room = _MOST_THREADS - len(self._threads)
        self._without_room += max(0, len(tids) - room)
        for tid in self._uninterrupted(tids[: max(0, room)]):
            self._add(tid, is_late=is_late)

    def _add(self, tid: int, *, is_late: bool) -> None:
        """Open the counters of a thread, unless it ends meanwhile; where that can't be done it is there without."""
        named = self._proc.named(tid)
        if named is None:
            return
        reason = self._counters.add(tid) if self._has_room() else errno.EMFILE
        if reason == errno.ESRCH:
            return
        if not self._proc.has(tid, named[1]):  # it ended, and its number may have become another process's thread's
            self._counters.remove(tid)
            return
        self._reason = reason or self._reason
        ran_ns = self._proc.ran_ns(tid)
        self._threads[tid] = _Thread((tid, named[1]), named[0], not reason, 0 if is_late else ran_ns, ran_ns)

    def _totals(self, thread: _Thread) -> Totals | None:
        if not thread.is_counted:
            return None
        totals = self._counters.read(thread.key[0])
        if totals is None:  # the kernel gave its counters away
            thread.is_counted, self._reason = False, errno.EIO
            return None
        return tuple(totals)

    def _has_room(self) -> bool:
        """Return whether there are descriptors for one more thread, the limit raised if need be."""
        events = sum(map(len, self._groups))
        needed = (len(self._threads) + 1) * events + self._reserved()
        return limit_below(needed, 2 * needed) is None

    def _why(self) -> str:
        """Return the reason, in words, why the kernel gave no counters for some threads of the process."""
        if self._without_room:
            return f"of threads that come and go, {_MOST_THREADS:,} between two tables are counted"
        if self._reason == errno.EMFILE:
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            return f"each takes {sum(map(len, self._groups))} descriptors, and ulimit -n allows {soft}"
        return why_refused(self._groups[0][0], self._reason)


class _ProcessFiles:
    """What /proc says of a process: of this one alone, whichever has its number later. What has ended has nothing there."""

    def __init__(self, pid: int) -> None:
        """Open the process's directory, which stays that of this process. Raises HeadwayError HW004."""
        self._pid = pid
        try:
            self._fd = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise no_process(pid, error) from error

    def close(self) -> None:
        """Close the directory."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def tids(self) -> list[int]:
        """Return the threads of the process, none when it has ended."""
        try:
            return [int(name) for name in os.listdir(f"/proc/self/fd/{self._fd}/task")]
        except OSError:
            return []

    def named(self, tid: int) -> tuple[str, int] | None:
        """Return a thread's name and start (clock ticks since boot), None when it has ended."""
        head, _, rest = self._read(f"task/{tid}/stat").rpartition(b")")
        fields = rest.split()
        if len(fields) < 20 or fields[0] in (b"Z", b"X"):
            return None
        return head.partition(b"(")[2].decode(errors="backslashreplace"), int(fields[19])

    def has(self, tid: int, start: int) -> bool:
        """Return whether the thread that started then is there."""
        named = self.named(tid)
        return named is not None and named[1] == start

    def ran_ns(self, tid: int) -> int:
        """Return for how long a thread has run, 0 where the kernel does not say."""
        try:
            return int(self._read(f"task/{tid}/schedstat").split()[0])
        except (ValueError, IndexError):
            return 0

    def cpu_ns(self) -> int | None:
        """Return what the process has used of the CPUs, its ended threads included; None when it has ended.

        The clock of another process has its number, inverted, above three bits that say which of its clocks (CPUCLOCK_SCHED).
        """
        try:
            used_ns = time.clock_gettime_ns((~self._pid << 3) | 2)
        except OSError:
            return None
        return used_ns if self._read("stat") else None  # else it may be that of a later one

    def _read(self, name: str) -> bytes:
        """Return what a file there has, nothing where it can't be read."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._fd)
        except OSError:
            return b""
        try:
            return os.read(fd, 4096)
        except OSError:
            return b""
        finally:
            os.close(fd)


@contextlib.contextmanager
def thread_watch(
    pid: int, groups: Sequence[Group], is_interrupted: Callable[[], bool] = lambda: False
) -> Iterator[ThreadWatch]:
    """Count the threads of a process for as long as the block lasts. Raises HeadwayError HW004 or HW114, and Interrupted."""
    watch = ThreadWatch(pid, groups, is_interrupted)
    try:
        yield watch
    finally:
        watch.close()
