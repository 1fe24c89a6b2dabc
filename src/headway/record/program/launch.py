"""Starts the program so that its first instruction is recorded and it inherits nothing of headway's.

    fork -> the child waits on a pipe -> the collector learns its pid and starts -> release -> exec

The child stays in headway's process group, with the terminal, the standard streams, the working directory, the signal
dispositions and the mask that headway was given. Only --cpus changes something: its CPU affinity. It does not die with
headway (no PR_SET_PDEATHSIG): killing the recorder must not kill the program.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from headway.errors import HeadwayError
from headway.record.program.signals import SignalGate
from headway.store.files import open_named

_ERRNO = struct.Struct("=i")
_DYING_NS = 250_000_000
"""Processes that were killed together are dead within this time of each other, on a busy machine too."""


def given_environment() -> dict[str, str]:
    """Return the environment that headway itself was started with.

    In the C locale Python sets LC_CTYPE in its own environment (PEP 538): a program, whose JVM takes its character set
    from there, would see another one than without headway. What execve(2) gave us is still in /proc.
    """
    given = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as block:
            first = dict(part.partition(b"=")[::2] for part in block.read().split(b"\0") if b"=" in part)
    except OSError:
        return given
    given.pop("LC_CTYPE", None)
    if b"LC_CTYPE" in first:
        given["LC_CTYPE"] = os.fsdecode(first[b"LC_CTYPE"])
    return given


def find_program(name: str, env: Mapping[str, str]) -> str:
    """Return the file that `name` starts, searched for as a shell does.

    Raises HeadwayError HW001 (no such program) or HW002 (there, but not executable for us).
    """
    if "/" in name:
        candidates = [name]
    else:
        candidates = [os.path.join(place or ".", name) for place in env.get("PATH", os.defpath).split(os.pathsep)]
    found = [path for path in candidates if os.path.exists(path)]
    for path in found:
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    if found:
        why = "it is a directory" if os.path.isdir(found[0]) else "its permissions do not allow it"
        raise HeadwayError("HW002", path=found[0], reason=why)
    where = "there is no such file" if "/" in name else "no directory of PATH holds it"
    raise HeadwayError("HW001", command=name, reason=where)


@dataclass(frozen=True, slots=True)
class Ending:
    """The program's end: `status` as from wait(2), and getrusage's CPU time of it and of processes it waited for."""

    status: int
    user_ns: int
    system_ns: int

    @property
    def signal(self) -> int | None:
        """Return the signal that killed the program, or None."""
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else None

    @property
    def exit_code(self) -> int:
        """Return the exit code a shell would show: 128 + n for a program killed by signal n."""
        return os.WEXITSTATUS(self.status) if self.signal is None else 128 + self.signal


@dataclass(slots=True)
class Child:
    """A started program that waits for `release`, or runs. `pidfd` becomes readable when it ends."""

    pid: int
    pidfd: int
    _go: int
    _failure: int
    _ending: Ending | None = None

    def release(self) -> int:
        """Let the child exec. Return 0 once it runs the program, else the errno of its exec.

        A child that is killed before it execs (Ctrl-C at start-up) gives 0 as well: its ending tells.
        """
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, b"1")
        os.close(self._go)
        with open(self._failure, "rb") as failure:
            raw = failure.read()  # ends when exec closes the child's end
        self._go = self._failure = -1
        return int(_ERRNO.unpack(raw)[0]) if raw else 0

    def abandon(self) -> None:
        """Close the pipe: a child that is still waiting then ends without executing the program."""
        for fd in (self._go, self._failure):
            if fd >= 0:
                os.close(fd)
        self._go = self._failure = -1
        self.reap()

    def reap(self) -> Ending:
        """Wait for the program's end and return it; repeated calls return the same."""
        if self._ending is None:
            _, status, usage = os.wait4(self.pid, 0)
            os.close(self.pidfd)
            self._ending = Ending(status, round(usage.ru_utime * 1e9), round(usage.ru_stime * 1e9))
        return self._ending

    def await_dying_group(self) -> None:
        """Wait until those have died that were killed with the program, for a quarter of a second at most.

        `timeout -s KILL 5 java ...` kills its own process group: it is dead before the JVM is, on a busy machine by far.
        """
        if self.reap().signal != signal.SIGKILL:
            return
        until_ns = time.monotonic_ns() + _DYING_NS
        with contextlib.suppress(ProcessLookupError, PermissionError):
            while time.monotonic_ns() < until_ns:
                os.killpg(self.pid, 0)  # fails once the group has nobody left; it is there where the program led one
                time.sleep(0.002)


def fork_child(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cpus: Sequence[int] | None,
    gate: SignalGate,
    streams: Sequence[int] | None = None,
) -> Child:
    """Fork a child that execs `program` with `argv` and `env` on `cpus` once released; `streams` become its 0, 1, 2.

    Raises OSError when fork fails (too many processes).
    """
    go_read, go_write = os.pipe()  # close-on-exec, as everything Python opens
    failure_read, failure_write = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for fd in (go_read, go_write, failure_read, failure_write):
            os.close(fd)
        raise
    if pid == 0:
        os.close(go_write)  # else our own copy would hide that headway died
        _become(program, argv, env, cpus, gate, streams, go_read, failure_write)
    os.close(go_read)
    os.close(failure_write)
    return Child(pid, os.pidfd_open(pid), go_write, failure_read)


def _become(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cpus: Sequence[int] | None,
    gate: SignalGate,
    streams: Sequence[int] | None,
    go: int,
    failure: int,
) -> NoReturn:
    """In the child: wait for the word, then exec. Never returns into the parent's code."""
    try:
        gate.restore_in_child()
        if cpus is not None:
            os.sched_setaffinity(0, cpus)
        for number, stream in enumerate(streams or ()):
            os.dup2(stream, number)
        if os.read(go, 1):
            _exec(program, argv, env)
    except OSError as error:
        os.write(failure, _ERRNO.pack(error.errno or errno.EINVAL))
    finally:
        os._exit(127)


def _exec(program: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Exec the program; a text file without a #! line is given to the shell, as execvp(3) and every shell do."""
    try:
        os.execve(program, list(argv), env)
    except OSError as error:
        if error.errno != errno.ENOEXEC or not _looks_like_text(program):
            raise
        os.execve("/bin/sh", ["sh", program, *argv[1:]], env)


def _looks_like_text(path: str) -> bool:
    with open(open_named(path), "rb") as file:
        head = file.read(256)
    return bool(head) and b"\0" not in head


def exec_failure(program: str, number: int) -> HeadwayError:
    """Return the error for an exec that failed with `number` as errno."""
    reason = os.strerror(number)
    if number == errno.ENOENT:  # the file is there (find_program saw it), so something it needs is not
        interpreter = _interpreter(program)
        reason = f"its interpreter {interpreter} does not exist" if interpreter else "its loader does not exist"
    elif number == errno.ENOEXEC:
        reason = "it is neither a program for this machine nor a script"
    return HeadwayError("HW003", path=program, reason=reason)


def _interpreter(path: str) -> str | None:
    """Return what a script's #! line names, or None."""
    try:
        with open(open_named(path), "rb") as file:
            line = file.readline(512)
    except OSError:
        return None
    words = line[2:].split() if line.startswith(b"#!") else []
    return os.fsdecode(words[0]) if words else None
