"""Switches causal profiling off and on again in a warm program without changing its code.

An attach has the JVM throw compiled code out, and what it compiles instead is some percent faster or slower for as long as the
attach lasts: more than what is to be measured. So within one attach the timers that make samples are stopped and started
from outside (root can have their descriptors handed out: pidfd_getfd(2)), and the call sites at parks are switched by the
field that they look at (HookSwitch). Threads that begin while it is off have timers that run: they are looked for all the time,
with it on as well, so that who looks disturbs both alike. The agent's own threads go on; they are known by name, so their CPU
time can be told.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lib import driven, harness

PIDFD_GETFD = 438
ENABLE, DISABLE = 0x2400, 0x2401
"""PERF_EVENT_IOC_ENABLE and _DISABLE of linux/perf_event.h; what is so already stays as it is."""
TIMERS = "anon_inode:[perf_event]"
AGENT = "headway"
"""What the names of the agent's threads begin with."""
LOOK_S = 0.008
"""Between two looks for new timers."""
ORDER = (False, True, True, False)
"""Off and on in four runs: what drifts, drifts alike in both."""

_libc = ctypes.CDLL(None, use_errno=True)


def timers_of(pid: int) -> set[int]:
    """Return the numbers of a process's perf events, one per sampled thread. Raises OSError."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(entry) == TIMERS:
                found.add(int(entry.name))
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


@dataclass(frozen=True, slots=True)
class AgentThreads:
    """The agent's own threads in a JVM."""

    pid: int

    def cpu_ns(self) -> int:
        """Return their CPU time in ns."""
        return driven.threads_cpu_ns(self.pid, AGENT)


class Switch:
    """Stops and resumes the agent's work in a program's threads; it is on before and after."""

    def __init__(self, program: driven.Driven) -> None:
        """Take the switch as on."""
        self._program = program
        self._own = AgentThreads(program.pid)
        self._pidfd = os.pidfd_open(program.pid)
        self._is_on = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._turn(True)
        finally:
            os.close(self._pidfd)

    def _turn(self, on: bool) -> None:
        if on == self._is_on:
            return
        self._program.tell("causal on" if on else "causal off")
        self._all(ENABLE if on else DISABLE)
        self._is_on = on

    def _all(self, request: int) -> int:
        """Return how many timers there are, now stopped or started. Raises OSError if the kernel refuses."""
        count = 0
        for number in timers_of(self._program.pid):
            fd = _libc.syscall(PIDFD_GETFD, self._pidfd, number, 0)
            if fd < 0:
                if ctypes.get_errno() in (errno.EBADF, errno.ESRCH):
                    continue  # its thread has ended
                raise OSError(ctypes.get_errno(), f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            try:
                if os.readlink(f"/proc/self/fd/{fd}") == TIMERS:
                    fcntl.ioctl(fd, request, 0)
                    count += 1
            finally:
                os.close(fd)
        return count

    @contextmanager
    def _timers_kept_as_asked(self) -> Iterator[None]:
        """Keep all timers as they are to be while the body runs. Raises RuntimeError if there never was one, OSError."""
        ended, request = threading.Event(), ENABLE if self._is_on else DISABLE
        most, problems = [0], []

        def look() -> None:
            try:
                while not ended.wait(LOOK_S):
                    most[0] = max(most[0], self._all(request))
            except OSError as error:
                problems.append(error)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            yield
        finally:
            ended.set()
            looking.join()
        if problems:
            raise problems[0]
        if most[0] == 0:
            raise RuntimeError("no thread has a timer of perf: others can't be stopped from outside")

    def run(self, on: bool) -> dict[str, int]:
        """Return a run with it on or off: wall, CPU and JIT ns as in `driven.block`, without the agent's threads if off."""
        self._turn(on)
        with self._timers_kept_as_asked():
            run = self._program.run(self._own)
        (kept,) = driven.block([run], recorded=on)["runs"]
        own_ns = kept.pop("recorder_ns")
        return {**kept, "cpu_ns": kept["cpu_ns"] - (0 if on else own_ns), "agent_ns": own_ns}


Quad = dict[str, list[dict[str, int]]]


def switched(program: driven.Driven, count: int) -> list[Quad]:
    """Return `count` rounds of four runs in the order off, on, on, off."""
    quads: list[Quad] = []
    with Switch(program) as switch:
        for on in ORDER:  # what the compilers thought would never come is compiled again
            switch.run(on)
        for number in range(count):
            quad: Quad = {"off": [], "on": []}
            for on in ORDER:
                quad["on" if on else "off"].append(switch.run(on))
            quads.append(quad)
            if number % 5 == 4:
                harness.progress(f"  {number + 1} of {count}")
    return quads
