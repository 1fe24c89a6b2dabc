"""Starts `headway` by forking a process that has loaded it already, which saves half a second per start.

Each process of pytest keeps one such process, the keeper, and asks it to fork. What it forks has its own process id, standard
output, standard error and working directory, and ends as any other interpreter does, but that it leaves its modules and objects
to the kernel. What the environment of a start does, only a start can tell: whoever gives one, or has changed that of the tests,
gets a start.

For shells, `command_in` makes a program `headway` that asks the keeper likewise, through a socket with a name.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

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


CLIENT = """#!{python} -IS
import json, os, signal, socket, sys

environment = {{name: value for name, value in os.environ.items() if name not in {varying!r}}}
if environment != {environment!r}:
    os.execv({start!r}, [{start!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as keeper:
    keeper.connect({address!r})
    asked = {{"directory": os.getcwd(), "environment": dict(os.environ), "words": sys.argv[1:]}}
    socket.send_fds(keeper, [json.dumps(asked).encode()], [0, 1, 2])
    pid = int(keeper.recv(32))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    code = int(keeper.recv(32))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""
"""The program for shells. Started in another environment than it was made for, it starts headway itself."""
_MOST_LOADING_S = 120
_OF_SHELLS = ("PWD", "OLDPWD", "SHLVL", "_")


class ForkServer:
    """The process that forks on request, seen from its parent. `address`: where programs for shells reach it."""

    def __init__(self) -> None:
        self.environment = _environment()
        self._folder = tempfile.TemporaryDirectory(prefix="headway-keeper-")
        self.address = str(Path(self._folder.name) / "socket")
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, __file__, str(other.fileno()), self.address]
            # Pipes, as what is forked has: Python decides at its start how it buffers, and whether it can seek.
            self._process = subprocess.Popen(
                command, pass_fds=[other.fileno()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )

    def await_address(self) -> None:
        """Wait until programs for shells can reach it: it listens once it has loaded everything."""
        until_s = time.monotonic() + _MOST_LOADING_S
        while not os.path.exists(self.address):
            assert self._process.poll() is None, "the process that forks headway has ended"
            assert time.monotonic() < until_s, "the process that forks headway does not listen"
            time.sleep(0.02)

    def end(self) -> None:
        """End it; it also ends by itself when its parent has ended."""
        self._socket.close()
        self._process.communicate()
        self._folder.cleanup()

    def run(self, words: Sequence[str], timeout: float, cwd: str) -> subprocess.CompletedProcess[str]:
        """Run `headway WORDS` to its end. Raises subprocess.TimeoutExpired, as subprocess.run does, having killed it."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        streams = [os.pipe(), os.pipe()]
        given = [writer for _, writer in streams] + [its.fileno()]
        with self._lock:
            socket.send_fds(self._socket, [json.dumps({"directory": cwd, "words": words}).encode()], given)
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


def _keeper() -> ForkServer:
    """Return the keeper of this process, started if there is none."""
    if os.getpid() not in _keepers:
        _keepers[os.getpid()] = keeper = ForkServer()
        atexit.register(keeper.end)
    return _keepers[os.getpid()]


def run(words: Sequence[str], timeout: float, cwd: Path | None = None) -> subprocess.CompletedProcess[str] | None:
    """Run `headway WORDS` to its end; return None without running where the environment differs from the loaded one."""
    keeper = _keeper()
    return keeper.run(words, timeout, os.fspath(cwd or os.getcwd())) if keeper.environment == _environment() else None


def command_in(folder: Path, start: Path, environment: Mapping[str, str]) -> None:
    """Make FOLDER/headway, for shells that are started with an environment; `start` is what it starts in another one.

    Of the environment only what programs that headway starts read may differ from that of the tests. `headway` gets its standard
    streams, working directory and signals. It has a session of its own, and is killed when FOLDER/headway is.
    """
    known = {name: value for name, value in environment.items() if name not in _OF_SHELLS}
    program = folder / "headway"
    _keeper().await_address()
    program.write_text(
        CLIENT.format(
            python=sys.executable,
            varying=_OF_SHELLS,
            environment=known,
            start=str(start),
            address=_keeper().address,
        )
    )
    program.chmod(0o755)


def _fork(closed: Sequence[socket.socket], message: bytes, streams: Mapping[int, int], has_session: bool) -> int:
    """Fork what was asked for; only the parent returns, with the process id. `streams`: descriptors of standard ones."""
    pid = os.fork()
    if pid:
        return pid
    for each in closed:
        each.close()
    for target, fd in streams.items():
        os.dup2(fd, target)
    for fd in streams.values():
        os.close(fd)
    if has_session:
        os.setsid()
    asked = json.loads(message)
    if "environment" in asked:
        os.environ.clear()
        os.environ.update(asked["environment"])
    os.chdir(asked["directory"])
    sys.path[0] = asked["directory"]  # as `python -m headway` has it
    sys.argv = [str(Path(sys.executable).with_name("headway")), *asked["words"]]
    from headway.cli.main import main

    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    _end(code)


def _end(code: int) -> NoReturn:
    """End the process as an interpreter does that takes none of the loaded modules apart, which takes half of a short command."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError, ValueError):
            stream.flush()
    os._exit(code)


@dataclass(frozen=True)
class _Running:
    """A forked headway: its process id, its pidfd, where its exit code goes, and whether it has a session of its own."""

    pid: int
    pidfd: int
    reply: int
    has_session: bool


class Keeper:
    """The process that forks: for each message, it tells the sender the process id and, once that has ended, the exit code."""

    def __init__(self, control: socket.socket, address: str) -> None:
        """Listen at `address`, too."""
        self._control = control
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(address)
        self._listening.listen(64)
        self._running: dict[int, _Running] = {}  # by pidfd, and by reply where whoever asked may go
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(self._listening, select.POLLIN)

    def keep(self) -> None:
        """Fork until the parent ends."""
        while True:
            for ready, _ in self._poll.poll():
                if ready in self._running:
                    self._ended_or_left(ready)
                elif ready == self._listening.fileno():
                    asked, _ = self._listening.accept()
                    message, fds, _, _ = socket.recv_fds(asked, MOST_BYTES, 3)
                    reply = asked.detach()
                    if len(fds) == 3:
                        self._begin(message, dict(enumerate(fds)), reply, has_session=True)
                elif ready == self._control.fileno():
                    message, fds, _, _ = socket.recv_fds(self._control, MOST_BYTES, 3)
                    if not message:
                        return
                    self._begin(message, {1: fds[0], 2: fds[1]}, fds[2], has_session=False)

    def _begin(self, message: bytes, streams: Mapping[int, int], reply: int, *, has_session: bool) -> None:
        others = {fd for each in self._running.values() for fd in (each.pidfd, each.reply)}
        for fd in (*streams.values(), reply, *others):
            os.set_inheritable(fd, False)
        pid = _fork((self._control, self._listening), message, streams, has_session)
        os.write(reply, str(pid).encode())
        for fd in streams.values():
            os.close(fd)
        its = _Running(pid, os.pidfd_open(pid), reply, has_session)
        self._running[its.pidfd] = its
        self._poll.register(its.pidfd, select.POLLIN)
        if has_session:
            self._running[reply] = its
            self._poll.register(reply, 0)  # reports that the other end is closed

    def _ended_or_left(self, ready: int) -> None:
        its = self._running.pop(ready)
        self._poll.unregister(ready)
        if ready == its.reply:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(its.pid, signal.SIGKILL)
            return
        code = os.waitstatus_to_exitcode(os.waitpid(its.pid, 0)[1])
        if self._running.pop(its.reply, None) is not None:
            self._poll.unregister(its.reply)
        with contextlib.suppress(BrokenPipeError):  # whoever had asked had no more time
            os.write(its.reply, str(code).encode())
        os.close(its.reply)
        os.close(its.pidfd)


if __name__ == "__main__":
    from headway.cli.main import COMMANDS

    for name in LOADED:
        with contextlib.suppress(ImportError):  # what is forked says so, if it needs it
            importlib.import_module(name)
    for entry in COMMANDS:
        entry.command()
    gc.collect()
    gc.freeze()  # what is forked need not look through what is loaded, nor copy its pages
    Keeper(socket.socket(fileno=int(sys.argv[1])), sys.argv[2]).keep()
