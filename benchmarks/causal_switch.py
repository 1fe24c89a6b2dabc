"""Causal profiling in a warm program, switched off and on again with all of its code as it is.

An attach has the JVM throw compiled code out, and what it compiles instead is some percent faster or slower for as long as the
attach lasts: more than what is to be measured. So within one attach the timers that make samples are stopped and started
from outside (root can have their descriptors handed out: pidfd_getfd(2)), and the call sites at locks are switched by the
field that they look at (HookSwitch). The agent's own threads go on; they are known by name, so their CPU time can be told.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
from pathlib import Path

import driven
import harness

PIDFD_GETFD = 438
ENABLE, DISABLE = 0x2400, 0x2401
"""PERF_EVENT_IOC_ENABLE and _DISABLE of linux/perf_event.h."""
TIMERS = "anon_inode:[perf_event]"
AGENT = "headway"
"""What the names of the agent's threads begin with."""

_libc = ctypes.CDLL(None, use_errno=True)


def timers_of(pid: int) -> set[int]:
    """Return the numbers that a process has for its perf events: one of each sampled thread. Raises OSError."""
    found = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if os.readlink(entry) == TIMERS:
                found.add(int(entry.name))
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def agent_cpu_ns(pid: int) -> int:
    """Return the CPU time of the agent's own threads in a JVM, ns."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().startswith(AGENT):
                total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # a thread that ended meanwhile
    return total


class Switch:
    """Stops and starts what the agent does in a program's threads. `on_cpu_ns`: the JVM's CPU time with it on."""

    def __init__(self, program: driven.Driven) -> None:
        """Take it as it is: on."""
        self._program = program
        self._pidfd = os.pidfd_open(program.pid)
        self._on_since_ns: int | None = driven.process_cpu_ns(program.pid)
        self._stopped: set[int] = set()
        self.on_cpu_ns = 0
        self.late_timers = 0
        """Of threads that began while it was off, which were sampled all the same: the most at a time."""

    def close(self) -> None:
        """Leave the program with it on."""
        self.turn(True)
        self.on_cpu_ns += driven.process_cpu_ns(self._program.pid) - (self._on_since_ns or 0)
        os.close(self._pidfd)

    def turn(self, on: bool) -> None:
        """Switch it. Raises RuntimeError if there is no timer to be stopped, OSError if the kernel refuses."""
        if on == (self._on_since_ns is not None):
            return
        now_ns = driven.process_cpu_ns(self._program.pid)
        self._program.tell("causal on" if on else "causal off")
        if on:
            self.late_timers = max(self.late_timers, len(timers_of(self._program.pid) - self._stopped))
            self._all(self._stopped, ENABLE)
            self._on_since_ns = now_ns
            return
        self._stopped = timers_of(self._program.pid)
        if not self._stopped:
            raise RuntimeError(
                "the program has no timers of perf: is causal profiling on, and may it use perf_event_open?"
            )
        self._all(self._stopped, DISABLE)
        self.on_cpu_ns += now_ns - (self._on_since_ns or 0)
        self._on_since_ns = None

    def _all(self, timers: set[int], request: int) -> None:
        for number in timers & timers_of(self._program.pid):
            fd = _libc.syscall(PIDFD_GETFD, self._pidfd, number, 0)
            if fd < 0:
                continue  # its thread has ended
            try:
                fcntl.ioctl(fd, request, 0)
            finally:
                os.close(fd)

    def run(self, on: bool) -> dict[str, int]:
        """Return a run with it on or off: wall, CPU and JIT ns as `driven.block` has them, without the agent's threads if off."""
        self.turn(on)
        before_ns = agent_cpu_ns(self._program.pid)
        run = self._program.run()
        (kept,) = driven.block([run], recorded=on)["runs"]
        own_ns = agent_cpu_ns(self._program.pid) - before_ns
        return {**kept, "cpu_ns": kept["cpu_ns"] - (0 if on else own_ns), "agent_ns": own_ns}


def switched(program: driven.Driven, count: int) -> tuple[Switch, list[dict[str, int]], list[dict[str, int]]]:
    """Return `count` runs with it on and those around each with it off, and the switch, left on."""
    switch = Switch(program)
    for on in (False, True):  # what the compilers thought would never come is compiled again
        switch.run(on)
    off, on_runs = [switch.run(False)], []
    for number in range(count):
        on_runs.append(switch.run(True))
        off.append(switch.run(False))
        if number % 10 == 9:
            harness.progress(f"  {number + 1} of {count}")
    switch.close()
    return switch, off, on_runs
