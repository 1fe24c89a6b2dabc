"""What a program did in an interval, for a policy to decide by: units of work, CPU time by thread, workers and their balance.

Method     CPU time of each thread by the kernel's schedstat; threads of the JVM's own (collectors, compilers) are no workers. How
           fast the program is: seconds for each unit of work; for the published policies cycles for each instruction, or CPU time
           for each unit where cycles are not counted.
Wrong when the unit of work is not the same all the time, or comes from outside at a fixed rate (then no placement is faster).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from headway.analyses.counters.metrics import imbalance
from headway.analyses.placement.types import Observation, Placement
from headway.analyses.scheduling.thread_work import WORKER_SHARE
from headway.model import Kind
from headway.placement.affinities import threads_of
from headway.placement.progress import Done, ProgramProgress
from headway.record.finalise.threads.kinds_by_name import is_jvm_thread, kind_of_native
from headway.record.target_process.processes import Process, process_trees

FEWEST_UNITS = 10.0
"""Of a reading: with fewer, when exactly one is done decides how many there are."""
MOST_OF_A_CPU = 0.0004
"""What looking for processes may take, which is done for all of the machine."""
_FAMILY_S = 2.0

ANOTHER_SHARE = 0.2
"""By so much the share of the busiest threads has to change to tell another phase: readings of the same work wander."""

_Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MeasuredInterval:
    """What was measured in one interval. `busiest`: the CPU-time share of the threads that were busiest at first, by name."""

    seconds: float
    units: float
    cpu_ns: int
    cycles: float | None
    main_pct: float
    workers: int
    active: float
    imbalance_pct: float
    busiest: float

    def as_json(self) -> dict[str, Any]:
        """Return it by name."""
        return {
            "seconds": self.seconds,
            "units": self.units,
            "seconds_per_unit": self.seconds / self.units,
            "cpu_ns": self.cpu_ns,
            "cycles": self.cycles,
            "main_pct": self.main_pct,
            "workers": self.workers,
            "imbalance_pct": self.imbalance_pct,
        }

    def by_time(self, placement: Placement) -> Observation:
        """Return what headway's policy decides by: time for each unit. Of many equal threads each is a worker."""
        workers = max(float(self.workers), self.active)
        return Observation(
            placement,
            self.seconds,
            self.seconds / self.units,
            self.main_pct,
            workers,
            self.imbalance_pct,
            self.busiest,
        )

    def by_cycles(self, placement: Placement) -> Observation:
        """Return what the published policies decide by: cycles for each instruction, or else CPU time for each unit."""
        spent = self.cycles if self.cycles is not None else float(self.cpu_ns)
        return Observation(
            placement,
            self.seconds,
            max(spent, 1.0) / self.units,
            self.main_pct,
            self.workers,
            self.imbalance_pct,
            self.busiest,
        )


@dataclass(slots=True)
class _ThreadTime:
    """A thread that is followed: the process's number, its name, and how long it has run."""

    pid: int
    name: str
    ran_ns: int


@dataclass(slots=True)
class Readings:
    """Measures a program from one moment to the next. `processes`: gives those that it consists of."""

    root: Process
    progress: ProgramProgress
    excluded: frozenset[int] = frozenset()
    clock_s: Callable[[], float] = time.monotonic
    _processes: list[Process] = field(default_factory=list)
    _next_family_s: float = 0.0
    _threads: dict[_Key, _ThreadTime] = field(default_factory=dict)
    _known: dict[int, tuple[_Key, _ThreadTime]] = field(default_factory=dict)
    _since_s: float = 0.0
    _done: Done | None = None
    _busiest: str = ""
    _share: float = -1.0

    def begin(self) -> None:
        """Measure from now on. Raises HeadwayError where the progress can't be told."""
        self._threads = self._times()
        self._done = self.progress.done(self._family())
        self._since_s = self.clock_s()

    def read(self) -> MeasuredInterval | None:
        """Return what was measured since `begin` or the last one, and begin anew; None, and no beginning, where too little was.

        Raises HeadwayError where the progress can't be told.
        """
        done = self.progress.done(self._family())
        if done is None or self._done is None:
            self.begin()
            return None
        units = done.units - self._done.units
        if units < FEWEST_UNITS:
            return None
        now_s, times = self.clock_s(), self._times()
        ran = {
            key: max(0, each.ran_ns - (self._threads[key].ran_ns if key in self._threads else 0))
            for key, each in times.items()
        }
        cycles = None if done.cycles is None or self._done.cycles is None else done.cycles - self._done.cycles
        measured = self._measured(now_s - self._since_s, units, cycles, times, ran)
        self._threads, self._done, self._since_s = times, done, now_s
        return measured

    def _measured(
        self, seconds: float, units: float, cycles: float | None, times: dict[_Key, _ThreadTime], ran: dict[_Key, int]
    ) -> MeasuredInterval:
        jvms = {each.pid for each in times.values() if is_jvm_thread(each.name)}
        work = {key: ran[key] for key, each in times.items() if kind_of_native(each.name, each.pid in jvms) is Kind.APP}
        total = sum(work.values())
        main = _main_thread(self.root.pid, times, is_jvm=self.root.pid in jvms)
        workers = [ns for ns in work.values() if ns > WORKER_SHARE * total]
        groups = Counter[str]()
        for key, ns in work.items():
            groups[_group(times[key].name)] += ns
        if not self._busiest and total:
            self._busiest = max(groups, key=lambda name: groups[name])
        return MeasuredInterval(
            seconds=seconds,
            units=units,
            cpu_ns=sum(ran.values()),
            cycles=cycles,
            main_pct=100 * work.get(main, 0) / total if main is not None and total else 0.0,
            workers=len(workers),
            active=total**2 / sum(ns**2 for ns in work.values()) if total else 0.0,
            imbalance_pct=100 * (imbalance(workers) or 0.0),
            busiest=self._steady(groups[self._busiest] / total) if total else self._share,
        )

    def _steady(self, share: float) -> float:
        """Return the share of the busiest threads that was first seen of this phase, until it is another one."""
        if abs(share - self._share) > ANOTHER_SHARE:
            self._share = share
        return self._share

    def _family(self) -> Iterable[Process]:
        """Return the processes of the program, looked for now and then: it takes long where there are many on the machine."""
        now_s = self.clock_s()
        if now_s >= self._next_family_s:
            began_s = time.thread_time()
            self._processes = [each for each in process_trees([self.root]) if each.pid not in self.excluded]
            self._known.clear()  # names change
            self._next_family_s = now_s + max(_FAMILY_S, (time.thread_time() - began_s) / MOST_OF_A_CPU)
        return self._processes

    def _times(self) -> dict[_Key, _ThreadTime]:
        """Return every thread of the program that is there, by number and start."""
        found: dict[_Key, _ThreadTime] = {}
        known: dict[int, tuple[_Key, _ThreadTime]] = {}
        for process in self._family():
            for tid in threads_of(process.pid):
                each = self._thread(process.pid, tid)
                if each is not None:
                    known[tid] = each
                    found[each[0]] = each[1]
        self._known = known
        return found

    def _thread(self, pid: int, tid: int) -> tuple[_Key, _ThreadTime] | None:
        """Return a thread by number and start. Only of new ones is looked up who they are: one that ran less before is new."""
        ran_ns = _ran_ns(pid, tid)
        if ran_ns is None:
            return None
        known = self._known.get(tid)
        if known is not None and known[1].pid == pid and known[1].ran_ns <= ran_ns:
            return known[0], replace(known[1], ran_ns=ran_ns)
        named = _named(pid, tid)
        return None if named is None else ((tid, named[1]), _ThreadTime(pid, named[0], ran_ns))


def _ran_ns(pid: int, tid: int) -> int | None:
    """Return for how long a thread has run; None when it has ended."""
    try:
        with open(f"/proc/{pid}/task/{tid}/schedstat", "rb", buffering=0) as schedstat:
            return int(schedstat.read(128).split()[0])
    except (OSError, IndexError, ValueError):
        return None


def _named(pid: int, tid: int) -> tuple[str, int] | None:
    """Return a thread's name, and its start in clock ticks since boot; None when it has ended."""
    try:
        with open(f"/proc/{pid}/task/{tid}/stat", "rb", buffering=0) as stat:
            head, _, rest = stat.read(4096).rpartition(b")")
        return head.partition(b"(")[2].decode(errors="backslashreplace"), int(rest.split()[19])
    except (OSError, IndexError, ValueError):
        return None


def _main_thread(pid: int, times: dict[_Key, _ThreadTime], *, is_jvm: bool) -> _Key | None:
    """Return the main thread: a process's first one; of a JVM the next of its name, as the first one waits for it."""
    of_process = sorted(
        (key for key, each in times.items() if each.pid == pid), key=lambda key: (key[0] != pid, key[::-1])
    )
    if not of_process or not is_jvm:
        return of_process[0] if of_process else None
    launcher = times[of_process[0]].name
    return next((key for key in of_process[1:] if times[key].name == launcher), of_process[0])


def _group(name: str) -> str:
    """Return a thread's name without its numbers: threads of one pool differ by these."""
    return "".join(char for char in name if not char.isdigit())
