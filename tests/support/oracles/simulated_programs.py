"""Simulates small programs of threads on cores with SimPy, in exact fractions of a nanosecond: an oracle for replays.

A thread is a list of operations: ("run", ns), ("sleep", ns), ("post", n) and ("wait", n), each n posted once and waited for once
at most, ("lock", n) and ("unlock", n), where who waits longest gets the lock next, and ("mark", n), which takes no time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import simpy

Operation = tuple[str, int | Fraction]
Program = Sequence[Sequence[Operation]]
Steps = Generator[simpy.Event, Any, None]


class SharedCores:
    """Cores that are shared evenly by the threads that are ready, by whatever part of a core each has.

    `per_core` logical CPUs are one core, which does `throughput` times as much with all of them busy as with one.
    """

    def __init__(self, env: simpy.Environment, cores: int, per_core: int = 1, throughput: Fraction | int = 1) -> None:
        self.ready_ns: dict[int, Fraction] = defaultdict(Fraction)
        """For how long so many threads were ready to run."""
        self._env, self._cores = env, cores
        self._per_core, self._throughput = per_core, Fraction(throughput)
        self._left: dict[simpy.Event, Fraction] = {}
        self._since, self._turn = Fraction(0), 0

    def run(self, ns: int | Fraction) -> simpy.Event:
        """Return what happens when a thread has computed for so long."""
        done = self._env.event()
        self._settle()
        self._left[done] = Fraction(ns)
        self._plan()
        return done

    def _speed(self) -> Fraction:
        ready = len(self._left)
        whole = Fraction(self._cores, self._per_core)
        if ready <= whole:
            return Fraction(1)
        sharing = min(ready, self._cores) - whole
        more = (self._throughput - 1) / (self._per_core - 1) if self._per_core > 1 else Fraction(0)
        return (whole + sharing * more) / ready

    def _settle(self) -> None:
        passed = Fraction(self._env.now) - self._since
        self._since += passed
        if passed:
            self.ready_ns[len(self._left)] += passed
        if self._left:
            speed = self._speed()
            self._left = {done: left - passed * speed for done, left in self._left.items()}

    def _plan(self) -> None:
        self._turn += 1
        if self._left:
            self._env.process(self._finish(self._turn))

    def _finish(self, turn: int) -> Steps:
        ns: Any = min(self._left.values()) / self._speed()  # SimPy's types know no fractions
        yield self._env.timeout(ns)
        if turn != self._turn:
            return
        self._settle()
        for done in [done for done, left in self._left.items() if left == 0]:
            del self._left[done]
            done.succeed()
        self._plan()


@dataclass
class Simulated:
    """When threads ended, by number, and marks were come to; for how long so many threads were ready; waiting by lock."""

    ends: dict[int, Fraction] = field(default_factory=dict)
    marks: dict[int | Fraction, Fraction] = field(default_factory=dict)
    ready_ns: dict[int, Fraction] = field(default_factory=dict)
    lock_waits_ns: dict[int | Fraction, Fraction] = field(default_factory=lambda: defaultdict(Fraction))

    @property
    def end(self) -> Fraction:
        """Return when the last thread ended."""
        return max(self.ends.values())


class WaitObjects:
    """What threads wait for: locks in order of arrival, and numbers that are posted once."""

    def __init__(self, env: simpy.Environment) -> None:
        self.locks: dict[int | Fraction, simpy.Resource] = defaultdict(lambda: simpy.Resource(env))
        self.posted: dict[int | Fraction, simpy.Event] = defaultdict(env.event)
        self.released_by: dict[int | Fraction, int] = {}


def simulate(program: Program, cores: int, per_core: int = 1, throughput: Fraction | int = 1) -> Simulated:
    """Run a program on so many cores that are shared evenly. Threads that never end have no end."""
    begin_ns: Any = Fraction(0)  # SimPy's types know no fractions
    env: Any = simpy.Environment(initial_time=begin_ns)
    shared, wait_objects, found = SharedCores(env, cores, per_core, throughput), WaitObjects(env), Simulated()

    def thread(number: int, operations: Sequence[Operation]) -> Steps:
        held: dict[int | Fraction, Any] = {}
        for what, value in operations:
            if what == "run":
                yield shared.run(value)
            elif what == "sleep":
                yield env.timeout(value)
            elif what == "post":
                wait_objects.posted[value].succeed()
            elif what == "wait":
                yield wait_objects.posted[value]
            elif what == "lock":
                since = env.now
                held[value] = wait_objects.locks[value].request()
                yield held[value]
                found.lock_waits_ns[value] += env.now - since
            elif what == "unlock":
                wait_objects.locks[value].release(held.pop(value))
            else:
                found.marks[value] = env.now
        found.ends[number] = env.now

    for number, operations in enumerate(program):
        env.process(thread(number, operations))
    env.run()
    found.ready_ns = dict(shared.ready_ns)
    return found


@dataclass(frozen=True)
class RecordedSlice:
    """A slice of a thread: blocked from `begin`, woken by `waker` (-1: it slept), running from `start` to `end`."""

    thread: int
    begin: int
    woken: int
    start: int
    end: int
    waker: int
    is_sleep: bool


@dataclass
class RecordedProgram:
    """What a recording has of a program's run. `waited`: numbers that threads waited for; `marks`: when and by which thread.

    `held`: (lock, thread, asked, got, released).
    """

    slices: list[RecordedSlice] = field(default_factory=list)
    waited: set[int | Fraction] = field(default_factory=set)
    held: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    marks: dict[int | Fraction, tuple[int, int]] = field(default_factory=dict)

    @property
    def wall(self) -> int:
        """Return when the last thread ended."""
        return max(each.end for each in self.slices)


class _RecordedThread:
    """A thread that keeps its core until it waits, and then asks for one again: cores are given in order of asking."""

    def __init__(
        self,
        number: int,
        env: simpy.Environment,
        cores: simpy.Resource,
        wait_objects: WaitObjects,
        into: RecordedProgram,
    ) -> None:
        self.number, self._env, self._cores, self._wait_objects, self._into = number, env, cores, wait_objects, into
        self._begin = self._woken = self._start = 0
        self._waker, self._is_sleep = -1, False
        self._core: Any = None
        self._held: dict[int | Fraction, tuple[Any, int, int]] = {}

    def _now(self) -> int:
        return int(self._env.now)

    def run(self, operations: Sequence[Operation]) -> Steps:
        """Do one operation after the other."""
        yield from self._get_core()
        for what, value in operations:
            yield from self._do(what, value)
        self._leave_core()

    def _do(self, what: str, value: int | Fraction) -> Steps:
        wait_objects, now = self._wait_objects, self._now()
        if what == "run":
            yield self._env.timeout(int(value))
        elif what == "sleep":
            yield from self._wait_for(self._env.timeout(int(value)))
            self._waker, self._is_sleep = -1, True
        elif what == "post":
            wait_objects.posted[value].succeed(self.number)
        elif what == "wait" and not wait_objects.posted[value].triggered:
            self._into.waited.add(value)
            yield from self._wait_for(wait_objects.posted[value])
            self._waker = wait_objects.posted[value].value  # type: ignore[assignment]
        elif what == "lock":
            request = wait_objects.locks[value].request()
            if not request.triggered:
                yield from self._wait_for(request)
                self._waker = wait_objects.released_by[value]
            self._held[value] = (request, now, self._now())
        elif what == "unlock":
            request, asked, got = self._held.pop(value)
            self._into.held.append((int(value), self.number, asked, got, now))
            wait_objects.released_by[value] = self.number
            wait_objects.locks[value].release(request)
        elif what == "mark":
            self._into.marks[value] = (now, self.number)

    def _wait_for(self, event: simpy.Event) -> Steps:
        self._leave_core()
        self._begin, self._is_sleep = self._now(), False
        yield event
        self._woken = self._now()
        yield from self._get_core()

    def _get_core(self) -> Steps:
        self._core = self._cores.request()
        yield self._core
        self._start = self._now()

    def _leave_core(self) -> None:
        times = (self._begin, self._woken, self._start, self._now())
        self._into.slices.append(RecordedSlice(self.number, *times, self._waker, self._is_sleep))
        self._cores.release(self._core)


def record(program: Program, cores: int) -> RecordedProgram:
    """Run a program on so many cores, each thread until it waits, first come first served."""
    env: Any = simpy.Environment(initial_time=0)
    taken, wait_objects, found = simpy.Resource(env, cores), WaitObjects(env), RecordedProgram()
    for number, operations in enumerate(program):
        env.process(_RecordedThread(number, env, taken, wait_objects, found).run(operations))
    env.run()
    return found
