"""Causal profiling in a warm program, switched off and on again with all of its code as it is.

An attach has the JVM throw compiled code out, and what it compiles instead is some percent faster or slower for as long as the
attach lasts: more than what is to be measured. So within one attach the timers that make samples are stopped and started
from outside (root can have their descriptors handed out: pidfd_getfd(2)), and the call sites at locks are switched by the
field that they look at (HookSwitch). Threads that begin while it is off have timers that run: they are looked for all the time,
and stopped within milliseconds. The agent's own threads go on; they are known by name, so their CPU time can be told.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import driven
import harness

PIDFD_GETFD = 438
ENABLE, DISABLE = 0x2400, 0x2401
"""PERF_EVENT_IOC_ENABLE and _DISABLE of linux/perf_event.h."""
TIMERS = "anon_inode:[perf_event]"
LOOK_FIRST_S, LOOK_S = 0.003, 0.03
"""Between two looks for new timers: at the begin of a run, when a program starts its threads, and later."""
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
        self._is_on = True
        self._on_since_ns = driven.process_cpu_ns(program.pid)
        self.on_cpu_ns = 0

    def close(self) -> None:
        """Leave the program with it on."""
        self.turn(True)
        self.on_cpu_ns += driven.process_cpu_ns(self._program.pid) - self._on_since_ns
        os.close(self._pidfd)

    def turn(self, on: bool) -> None:
        """Switch it, between runs. Raises OSError if the kernel refuses."""
        if on == self._is_on:
            return
        now_ns = driven.process_cpu_ns(self._program.pid)
        self._program.tell("causal on" if on else "causal off")
        if on:
            self._all(ENABLE)
            self._on_since_ns = now_ns
        else:
            self._all(DISABLE)
            self.on_cpu_ns += now_ns - self._on_since_ns
        self._is_on = on

    def _all(self, request: int) -> None:
        for number in timers_of(self._program.pid):
            fd = _libc.syscall(PIDFD_GETFD, self._pidfd, number, 0)
            if fd < 0:
                if ctypes.get_errno() in (errno.EBADF, errno.ESRCH):
                    continue  # its thread has ended
                raise OSError(ctypes.get_errno(), f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            try:
                if os.readlink(f"/proc/self/fd/{fd}") == TIMERS:
                    fcntl.ioctl(fd, request, 0)
            finally:
                os.close(fd)

    @contextmanager
    def _new_ones_stopped(self) -> Iterator[None]:
        """Stop timers that begin while the body runs."""
        ended = threading.Event()

        def look() -> None:
            wait_s = LOOK_FIRST_S
            while not ended.wait(wait_s):
                self._all(DISABLE)  # also what is stopped: a new timer may have the number of one that ended since
                wait_s = min(LOOK_S, wait_s * 1.2)

        looking = threading.Thread(target=look)
        looking.start()
        try:
            yield
        finally:
            ended.set()
            looking.join()

    def run(self, on: bool) -> dict[str, int]:
        """Return a run with it on or off: wall, CPU and JIT ns as `driven.block` has them, without the agent's threads if off."""
        self.turn(on)
        before_ns = agent_cpu_ns(self._program.pid)
        with nullcontext() if on else self._new_ones_stopped():
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
