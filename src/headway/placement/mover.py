"""The process that moves the program's threads and memory, and puts them back when headway ends, however it ends.

headway asks it over a socket. When the other end closes, by an end of headway's that nobody could catch (kill -9), it undoes what
it did and ends. It has left headway's session, and ignores what ends others, so that a signal for headway or its whole group does
not end it. As root it acts with the ids of the program's user: whatever thread has a number by now, it can't be another user's.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import time
from collections.abc import Iterable
from dataclasses import astuple, replace
from typing import Any, NoReturn, cast

from headway.placement.affinities import Affinities, Moved
from headway.placement.moved_memory import UNDO_S, MemoryMoved, MovedMemory
from headway.record.target_process.processes import Process
from headway.record.target_process.rights import Rights, acts_here, take

HOME, BASE, LOOK, UNDO = b"h", b"b", b"l", b"u"
MEMORY_HOME, MEMORY_BACK = b"m", b"w"
_ANSWER_S = 30.0
"""So long it may neither answer nor run: of a program with many threads, on a busy machine, moving takes as long as it takes."""
_LEAST_SHARE = 0.05
"""Of a CPU, in all that it takes to answer: the program's user may stop it or leave it hardly any time, as it has those ids."""
_LOOK_S = 2.0
_ENDING_S = 10.0
_FILES = 64
"""So many it may open, unless headway itself may open fewer."""
_IGNORED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class MoverEnded(Exception):  # noqa: N818  (it is no error of headway's: somebody ended the process)
    """The process that moves threads does not answer any more."""


class Mover:
    """The process that moves the threads of one program, and its memory where that is asked for."""

    def __init__(self, affinities: Affinities, rights: Rights, keep: Iterable[int] = (), home: int = -1) -> None:
        """Start it. `keep`: descriptors that stay open in it; `home`: the node to move memory to.

        Raises OSError when there can't be another process.
        """
        self._affinities, self._rights, self._keep = affinities, rights, tuple(keep)
        self._moved_memory = MovedMemory(home, lambda: affinities.processes)
        self.used_s = 0.0
        """CPU time of the last thing that it was asked."""
        self.memory: MemoryMoved | None = None
        """What came of moving memory, when it was last asked for."""
        self._own: list[list[int]] = []
        self._processes: list[list[int]] = []
        self._start()

    def ask(self, what: bytes) -> Moved:
        """Let it move threads, and return what came of it. Raises MoverEnded."""
        return Moved(*self._answer_to(what)["moved"])

    def ask_memory(self, what: bytes) -> MemoryMoved:
        """Let it move memory for a short time, and return what came of it. Raises MoverEnded."""
        found = MemoryMoved(*self._answer_to(what)["memory"])
        self.memory = found
        return found

    def _answer_to(self, what: bytes) -> dict[str, Any]:
        """Ask it something, and return its answer. Raises MoverEnded."""
        try:
            self._socket.settimeout(_LOOK_S)
            self._socket.sendall(what)
            answer = json.loads(self._line())
            while answer["to"] != what.decode():  # what was asked before, and not waited for
                answer = json.loads(self._line())
        except (OSError, ValueError) as error:
            raise MoverEnded(self.pid) from error
        root = self._affinities.root
        if answer["is_blind"]:
            raise MoverEnded(self.pid)  # it may open fewer files than headway, and may have seen a part of the program
        if [root.pid, root.start_ticks] not in answer["processes"] and root.is_alive:
            raise MoverEnded(self.pid)  # the program's user lets it open no files, so that it sees no thread
        self._own, self._processes, self.used_s = answer["own"], answer["processes"], answer["used_s"]
        return cast("dict[str, Any]", answer)

    def undo(self) -> Moved:
        """Put all threads back, and memory that was moved, and end the process. If it has ended, another one does that.

        What came of memory is `memory`. The process that moved it alone knows where it was: without it none is put back.
        Raises MoverEnded.
        """
        try:
            answer = self._answer_to(UNDO)
            moved = Moved(*answer["moved"])
            if self.memory is not None:
                self.memory = MemoryMoved(*answer["memory"])
        except MoverEnded:
            self._end()
            affinities = self._affinities
            affinities.own = {(tid, start) for tid, start in self._own}
            affinities.processes = {Process(pid, start) for pid, start in self._processes}
            affinities.seen, affinities.is_home = {}, True
            try:
                self._start()
            except OSError as error:  # the program may have as many processes as its user may have
                raise MoverEnded(self.pid) from error
            moved = self.ask(UNDO)
            if self.memory is not None:
                self.memory = replace(self.memory, moved_bytes=0, refused_bytes=0)
        self._end()
        return moved

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self.pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            raise
        if self.pid == 0:
            self._affinities.excluded = frozenset({os.getpid(), os.getppid()})
            _serve(theirs, self._affinities, self._moved_memory, self._rights, self._keep)
        theirs.close()
        self._socket = ours
        self._rest = b""

    def _line(self) -> bytes:
        ran_ns, since_s = -1, time.monotonic()
        first_ns, began_s = self._ran_ns(), since_s
        while b"\n" not in self._rest:
            try:
                part = self._socket.recv(1 << 16)
            except TimeoutError:
                if (now_ns := self._ran_ns()) != ran_ns:
                    ran_ns, since_s = now_ns, time.monotonic()
                now_s, most_s = time.monotonic(), _ANSWER_S + (now_ns - first_ns) / 1e9 / _LEAST_SHARE
                if now_s - since_s < _ANSWER_S and now_s - began_s < most_s:
                    continue
                raise
            if not part:
                raise OSError("no answer")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _ran_ns(self) -> int:
        """Return the CPU time of the process; its clock has its number, inverted, above three bits (CPUCLOCK_SCHED)."""
        return time.clock_gettime_ns((~self.pid << 3) | 2)

    def _end(self) -> None:
        """Close the socket, on which it undoes and ends, and wait for that; one that does not end is killed."""
        self._socket.close()
        end_s = time.monotonic() + _ENDING_S
        while time.monotonic() < end_s:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _most_files() -> int:
    return min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], _FILES)


def _serve(
    theirs: socket.socket, affinities: Affinities, memory: MovedMemory, rights: Rights, keep: tuple[int, ...]
) -> NoReturn:
    """In the child: leave everything that is headway's alone but the socket, then answer until nobody asks any more."""
    files = _most_files()
    try:
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        _close_all_but(theirs.fileno(), *keep)
        if not acts_here(rights):
            take(rights)
        if not affinities.is_home:
            affinities.begin()
        with contextlib.suppress(OSError):
            while what := theirs.recv(1):
                theirs.sendall(_answer(affinities, memory, what, files))
                if what == UNDO:
                    os._exit(0)
        affinities.undo()
        memory.back(UNDO_S)
    finally:
        os._exit(0)


def _answer(affinities: Affinities, memory: MovedMemory, what: bytes, files: int) -> bytes:
    moves = {HOME: affinities.to_home, BASE: affinities.to_base, LOOK: affinities.look, UNDO: affinities.undo}
    memory_moves = {MEMORY_HOME: memory.to_home, MEMORY_BACK: memory.back, UNDO: lambda: memory.back(UNDO_S)}
    began_s = time.thread_time()
    is_blind = _most_files() < files
    moved = moves[what]() if what in moves else None
    of_memory = memory_moves[what]() if what in memory_moves else None
    answer: dict[str, Any] = {
        "to": what.decode(),
        "is_blind": is_blind or _most_files() < files,
        "used_s": time.thread_time() - began_s,
        "moved": None if moved is None else astuple(moved),
        "memory": None if of_memory is None else astuple(of_memory),
        "own": sorted(affinities.own),
        "processes": [[each.pid, each.start_ticks] for each in affinities.processes],
    }
    return json.dumps(answer).encode() + b"\n"


def _close_all_but(*kept: int) -> None:
    """Close all descriptors but these; the standard streams become /dev/null, as their readers wait for headway alone."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    first = 3
    for number in sorted(kept):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))
