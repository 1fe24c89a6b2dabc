"""Attaches the agent to a running JVM, into containers and other users' JVMs too.

Where the JVM is as good as headway itself (same user, same view of files) its agent is loaded from headway's own place and
writes into the recording. Any other one gets a copy of the agent in a directory below its own /tmp, made with its own rights
(target_process/directory.py); headway makes the file of records there, holds it open, and never looks its name up again.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.record.agent import attach_protocol
from headway.record.agent.fetching import fetch
from headway.record.agent.left_behind import note_of
from headway.record.agent.orphans import lock_directory, silence_left_behind, unlock_directory
from headway.record.causal.notes import notes_of
from headway.record.request.jvm_options import LockOptions, agent_options, directory_for_jvm
from headway.record.request.objects import ObjectOptions
from headway.record.request.sampling import Sampler
from headway.record.target_process import agent_file
from headway.record.target_process.deadline import Deadline, Interrupted
from headway.record.target_process.directory import TargetDirectory, open_tmp
from headway.record.target_process.jvm_facts import JvmFacts, find_jvm
from headway.record.target_process.mapped_files import read_first
from headway.record.target_process.rights import act_as
from headway.record.target_process.served_files import ServedError
from headway.store.directory import safe_to_load

__all__ = ["AttachResult", "Interrupted", "JvmFacts", "attach", "find_jvm"]

_NOTES_LIMIT_S = 2.0
_STOP_LIMIT_S = 1.0
_FETCHING_LIMIT_S = 120.0


@dataclass(slots=True)
class AttachResult:
    """A JVM with our agent in it. Call `stop` or `detach`, then `collect`, then `close`.

    `directory` is where the agent writes, as seen from here. It is the directory that was asked for, or, where the JVM is
    another user's or a container's, one under the JVM's own /tmp; it is reached by a descriptor, so that it outlives the JVM.
    """

    facts: JvmFacts
    directory: Path
    wanted_directory: Path
    spool: Path
    """The agent's file in `directory`."""
    problems: list[str] = field(default_factory=list)
    """What could not be fetched, and why."""
    _agent_in_target: str = ""
    _private: TargetDirectory | None = None
    _spool_fd: int | None = None
    _lock_fd: int | None = None

    def stop(self, limit_s: float = _STOP_LIMIT_S) -> None:
        """Ask the agent to fall silent, by the word it looks at before each record. Needs nothing of the JVM, works at once.

        `limit_s`: so long its file may keep us waiting.

        Raises OSError.
        """
        if self._private is not None and self._spool_fd is not None:
            put = functools.partial(agent_file.put_word, offset=agent_file.STOP, value=1, path=self.spool)
            self._private.with_file(self._spool_fd, Deadline.after(limit_s), put, flags=os.O_RDWR)
        else:
            agent_file.write_word(self.spool, agent_file.STOP, 1, self.facts.uid)

    def detach(self, timeout_s: float = 20.0, interrupted: Callable[[], bool] | None = None) -> None:
        """Stop, and have the agent turn its events off and let go of its file.

        The library itself stays in the JVM (a JVM can't unload it) and does nothing. A JVM that has ended is fine.
        Raises HeadwayError as `attach_protocol.load`, OSError, Interrupted.
        """
        self.stop(min(_STOP_LIMIT_S, timeout_s))
        deadline = Deadline.after(timeout_s, interrupted or (lambda: False))
        try:
            attach_protocol.load(self.facts, self._agent_in_target, "stop=1", deadline)
        except ProcessLookupError:
            return

    def written_bytes(self, deadline: Deadline) -> int:
        """Return how much there is to fetch; 0 where the agent writes into the recording. Raises OSError, Interrupted."""
        return 0 if self._private is None else self._private.written_bytes(deadline)

    def collect(self, kept_free: int | None = None, deadline: Deadline | None = None) -> Path:
        """Return the agent's file in the wanted directory, copied there if the agent wrote elsewhere.

        `kept_free`: what all copies of a recording together must leave on its disk, bytes; None: half of what there is now.
        Raises OSError when it can't be copied; what else there is and can't be is one of the `problems`. Interrupted.
        """
        deadline = deadline or Deadline.after(_FETCHING_LIMIT_S)
        if self._private is None or self._spool_fd is None:
            return self.spool
        wanted, problems = fetch(
            self._private, self._spool_fd, self.spool.name, self.facts.pid, self.wanted_directory, deadline, kept_free
        )
        self.problems += problems
        return wanted

    def follow_notes(self, follow: Callable[[Path, Callable[[int, int], bytes]], None]) -> None:
        """Have the notes of experiments read that this agent writes outside the recording."""
        private, notes = self._private, notes_of(self.spool)
        if private is not None:

            def read(offset: int, most: int) -> bytes:
                return private.with_file(
                    notes.name, Deadline.after(_NOTES_LIMIT_S), lambda fd: os.pread(fd, most, offset)
                )

            follow(notes, read)

    def content(self, name: str, most: int, deadline: Deadline) -> bytes:
        """Return the first `most` bytes of one of the agent's files outside the recording, read with the JVM's rights.

        Raises OSError: FileNotFoundError where its files are in the recording, TimeoutError at the deadline; Interrupted.
        """
        if self._private is None:
            raise FileNotFoundError(errno.ENOENT, "its files are in the recording", name)
        return self._private.with_file(name, deadline, lambda fd: read_first(fd, most))

    def elsewhere(self) -> dict[str, Any] | None:
        """Return what the manifest keeps of the directory below the JVM's /tmp, for `left_behind`; None where there is none."""
        return None if self._private is None else note_of(self._private, self.facts)

    def close(self, limit_s: float = 10.0) -> None:
        """Remove what was put into the JVM's /tmp, in that time. Raises OSError."""
        private, self._private = self._private, None
        if self._spool_fd is not None:
            os.close(self._spool_fd)
            self._spool_fd = None
        unlock_directory(self._lock_fd)
        self._lock_fd = None
        if private is not None:
            private.remove(Deadline.after(limit_s))


def attach(
    pid: int,
    agent_path: Path,
    spool_dir: Path,
    *,
    virtual_threads: bool = False,
    locks: LockOptions | None = None,
    sampler: Sampler | None = None,
    causal: str | None = None,
    objects: ObjectOptions | None = None,
    timeout_s: float = 20.0,
    interrupted: Callable[[], bool] | None = None,
    start_ticks: int | None = None,
) -> AttachResult:
    """Load the agent into JVM `pid`; it writes agent-<pid in its namespace>.spool into `spool_dir`, or near it.

    `timeout_s` bounds all of it, whatever the process does meanwhile; `interrupted` is asked a few times a second.
    `start_ticks`: when the process started that is meant, None: whoever has that number.

    Raises HeadwayError: HW020 no such process, HW021 not permitted, HW022 no HotSpot JVM, HW023 it must not be attached to,
    HW024 no answer within `timeout_s`, HW025 it could not load the agent, HW026 the agent can't write, HW027 already recorded,
    HW071 it says that it loaded the agent but did not. Interrupted.
    """
    deadline = Deadline.after(timeout_s, interrupted or (lambda: False))
    libraries = [agent_path, *([sampler.library] if sampler is not None else [])]
    with _as_messages(pid):
        facts = _examine(pid, deadline)
        if start_ticks not in (None, facts.start_ticks):
            raise ProcessLookupError(pid)
        placed = _place(facts, libraries, spool_dir, deadline)
        try:
            if placed.private is not None and sampler is not None:
                sampler = replace(sampler, library=Path(placed.in_target, sampler.library.name))
            options = agent_options(
                Path(placed.in_target),
                virtual_threads=virtual_threads,
                locks=locks,
                sampler=sampler,
                causal=causal,
                objects=objects,
                opens_existing=placed.spool_fd is not None,
            )
            _load(facts, placed.library, options, deadline)
            return placed.result(facts, spool_dir, deadline)
        except BaseException:
            placed.take_back()
            raise


@contextlib.contextmanager
def _as_messages(pid: int) -> Iterator[None]:
    """Turn what the system, or the process, says into a HeadwayError that names the process.

    One that ends meanwhile makes any error: what it showed is gone, or not to be looked at any more.
    """
    try:
        yield
    except ProcessLookupError:
        raise HeadwayError("HW020", pid=pid) from None
    except OSError as error:
        if attach_protocol.has_ended(pid):
            raise HeadwayError("HW020", pid=pid) from None
        raise _as_message(pid, error) from error
    except (ValueError, KeyError, IndexError, struct.error) as error:
        if attach_protocol.has_ended(pid):
            raise HeadwayError("HW020", pid=pid) from None
        raise HeadwayError("HW071", pid=pid, reason=f"what it shows of itself makes no sense ({error})") from error


def _as_message(pid: int, error: OSError) -> HeadwayError:
    if isinstance(error, PermissionError):
        return denied(pid, error)
    if isinstance(error, ServedError):
        return HeadwayError("HW074", pid=pid, path=error.path, kind=error.kind)
    if isinstance(error, TimeoutError):
        return HeadwayError("HW024", pid=pid)
    return HeadwayError("HW026", pid=pid, reason=error.strerror or str(error))


def denied(pid: int, error: OSError) -> HeadwayError:
    """Return what to say of a process that the system does not show: more rights help a user, but not root."""
    reason = error.strerror or str(error)
    return HeadwayError("HW069" if os.geteuid() == 0 else "HW021", pid=pid, reason=reason)


def _examine(pid: int, deadline: Deadline) -> JvmFacts:
    facts = find_jvm(pid, deadline)
    if facts is None:
        raise HeadwayError("HW022", pid=pid)
    if os.geteuid() not in (0, facts.uid):
        raise HeadwayError("HW021", pid=pid, reason=f"it belongs to user {facts.uid}")
    if facts.refusal is not None:
        raise HeadwayError("HW023", pid=pid, reason=facts.refusal)
    return facts


def _load(facts: JvmFacts, library: str, options: str, deadline: Deadline) -> None:
    try:
        attach_protocol.load(facts, library, options, deadline)
    except HeadwayError as error:
        if error.notice.id != "HW027" or not silence_left_behind(facts.pid, facts.rights, deadline):
            raise
        attach_protocol.load(facts, library, options, deadline)


def _place(facts: JvmFacts, libraries: list[Path], spool_dir: Path, deadline: Deadline) -> _Placed:
    try:
        return _Placed.of(facts, libraries, spool_dir, deadline)
    except PermissionError as error:
        raise HeadwayError("HW026", pid=facts.pid, reason=error.strerror or str(error)) from error


@dataclass(slots=True)
class _Placed:
    """Where the agent is for the JVM, and where it will write."""

    library: str
    in_target: str
    here: Path
    private: TargetDirectory | None = None
    spool_fd: int | None = None
    lock_fd: int | None = None

    @classmethod
    def of(cls, facts: JvmFacts, libraries: list[Path], spool_dir: Path, deadline: Deadline) -> _Placed:
        """Choose the place; make one where the JVM needs its own. Raises OSError."""
        if _is_reachable(facts, libraries, spool_dir, deadline):
            in_target = str(directory_for_jvm(spool_dir))
            return cls(str(libraries[0].resolve()), in_target, spool_dir, lock_fd=lock_directory(spool_dir))
        tmp = open_tmp(facts.pid, deadline, facts.rights)
        private = TargetDirectory.create(tmp, facts.rights, deadline)
        placed = cls(f"{private.in_target}/{libraries[0].name}", private.in_target, private.path, private)
        try:
            private.place_libraries(libraries, deadline)
            placed.spool_fd = private.create_file(f"agent-{facts.ns_pid}.spool", deadline)
        except BaseException:
            placed.take_back()
            raise
        return placed

    def result(self, facts: JvmFacts, wanted: Path, deadline: Deadline) -> AttachResult:
        """Return the attached JVM, once its agent has begun a file. Raises HeadwayError HW071, OSError."""
        if self.spool_fd is None or self.private is None:
            spool = _newest_spool(self.here, facts)
            agent_file.write_word(spool, agent_file.HOST_PID, facts.pid, facts.uid)
        else:
            spool = self.here / f"agent-{facts.ns_pid}.spool"

            def begin(fd: int) -> bool:
                is_its_own = agent_file.agent_of(fd) == facts.ns_pid
                if is_its_own:
                    agent_file.put_word(fd, agent_file.HOST_PID, facts.pid, spool)
                return is_its_own

            if not self.private.with_file(self.spool_fd, deadline, begin, flags=os.O_RDWR):
                raise HeadwayError("HW071", pid=facts.pid, reason="the file for its records does not begin as one")
        return AttachResult(
            facts,
            self.here,
            wanted,
            spool,
            _agent_in_target=self.library,
            _private=self.private,
            _spool_fd=self.spool_fd,
            _lock_fd=self.lock_fd,
        )

    def take_back(self) -> None:
        """Remove what was made, as far as the process lets us."""
        unlock_directory(self.lock_fd)
        if self.spool_fd is not None:
            os.close(self.spool_fd)
        if self.private is not None:
            with contextlib.suppress(OSError):
                self.private.remove(Deadline.after(2))


def _newest_spool(directory: Path, facts: JvmFacts) -> Path:
    files = [*directory.glob(f"agent-{facts.ns_pid}.spool"), *directory.glob(f"agent-{facts.ns_pid}.*.spool")]
    if not files:
        raise HeadwayError("HW071", pid=facts.pid, reason="there is no file of its records")
    return max(files, key=lambda file: agent_file.created_ns(file, facts.uid))


def _is_reachable(facts: JvmFacts, libraries: list[Path], spool_dir: Path, deadline: Deadline) -> bool:
    """Tell whether the JVM itself may use headway's own libraries and write into the recording: it is as good as headway."""
    if not facts.rights.is_ours or set("=") & set(str(libraries[0].resolve())):
        return False

    def check() -> bool:
        readable = all(os.access(library, os.R_OK, effective_ids=True) for library in libraries)
        return readable and os.access(spool_dir, os.W_OK | os.X_OK, effective_ids=True)

    return all(map(safe_to_load, libraries)) and act_as(facts.rights, deadline, check)
