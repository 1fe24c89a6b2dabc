"""Starts `headway` by forking a process that has loaded it already, which saves half a second per start.

Each process of pytest keeps one such process, the keeper, and asks it to fork. What it forks has its own process id, standard
output, standard error and working directory, and ends as any other interpreter does. What the environment of a start does, only
a start can tell: whoever gives one, or has changed that of the tests, gets a start.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

MOST_BYTES = 100_000
LOADED = (
    "dateutil.relativedelta",
    "duckdb",
    "numpy.ma",
    "pyarrow.compute",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "headway._native",
    "headway.record.doctor.checks",
    "headway.record.finalise.finalise",
    "headway.record.session.session",
    "headway.record.session.attached",
)
"""What `headway record` loads while it works, besides the commands."""


class ForkServer:
    """The process that forks on request, seen from its parent."""

    def __init__(self) -> None:
        self.environment = _environment()
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, __file__, str(other.fileno())]
            # Pipes, as what is forked has: Python decides at its start how it buffers, and whether it can seek.
            self._process = subprocess.Popen(
                command, pass_fds=[other.fileno()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )

    def end(self) -> None:
        """End it; it also ends by itself when its parent has ended."""
        self._socket.close()
        self._process.communicate()

    def run(self, words: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
        """Run `headway WORDS` to its end. Raises subprocess.TimeoutExpired, as subprocess.run does, having killed it."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        streams = [os.pipe(), os.pipe()]
        given = [writer for _, writer in streams] + [its.fileno()]
        with self._lock:
            socket.send_fds(self._socket, [json.dumps([os.getcwd(), *words]).encode()], given)
        for writer in given[:2]:
            os.close(writer)
        its.close()
        texts = ["", ""]

        def collect(index: int) -> None:
            with open(streams[index][0], errors="replace") as stream:
                texts[index] = stream.read()

        readers = [threading.Thread(target=collect, args=(index,), daemon=True) for index in range(2)]
        for reader in readers:
            reader.start()
        with mine:
            pid = int(mine.recv(32))
            mine.settimeout(timeout)
            try:
                code = int(mine.recv(32))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(words), timeout) from None
        for reader in readers:
            reader.join(timeout)
        return subprocess.CompletedProcess(list(words), code, *texts)


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


_keepers: dict[int, ForkServer] = {}


def run(words: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str] | None:
    """Run `headway WORDS` to its end; return None without running where the environment differs from the loaded one."""
    if os.getpid() not in _keepers:
        _keepers[os.getpid()] = keeper = ForkServer()
        atexit.register(keeper.end)
    keeper = _keepers[os.getpid()]
    return keeper.run(words, timeout) if keeper.environment == _environment() else None


def _fork(control: socket.socket, message: bytes, fds: list[int]) -> int:
    """Fork what was asked for; only the parent returns, with the process id."""
    pid = os.fork()
    if pid:
        return pid
    control.close()
    for target, fd in zip((1, 2), fds[:2], strict=True):
        os.dup2(fd, target)
    for fd in fds:
        os.close(fd)
    directory, *words = json.loads(message)
    os.chdir(directory)
    sys.path[0] = directory  # as `python -m headway` has it
    sys.argv = [str(Path(sys.executable).with_name("headway")), *words]
    from headway.cli.main import main

    main()
    raise AssertionError("it exits")


def _keep(control: socket.socket) -> None:
    """Fork for each message, and tell its sender the process id and, once it has ended, the exit code."""
    running: dict[int, tuple[int, int]] = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in running:
                pid, reply = running.pop(ready)
                poll.unregister(ready)
                os.close(ready)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(BrokenPipeError):  # whoever had asked had no more time
                    os.write(reply, str(code).encode())
                os.close(reply)
                continue
            message, fds, _, _ = socket.recv_fds(control, MOST_BYTES, 3)
            if not message:
                return
            for fd in (*fds, *running, *(reply for _, reply in running.values())):
                os.set_inheritable(fd, False)
            pid = _fork(control, message, fds)
            os.write(fds[2], str(pid).encode())
            for fd in fds[:2]:
                os.close(fd)
            pidfd = os.pidfd_open(pid)
            running[pidfd] = pid, fds[2]
            poll.register(pidfd, select.POLLIN)


if __name__ == "__main__":
    from headway.cli.main import COMMANDS

    for name in LOADED:
        with contextlib.suppress(ImportError):  # what is forked says so, if it needs it
            importlib.import_module(name)
    for entry in COMMANDS:
        entry.command()
    _keep(socket.socket(fileno=int(sys.argv[1])))
