"""Attaches the agent to a running JVM: HotSpot's attach protocol, in Python, into containers and other users' JVMs too.

The protocol (jdk.attach, sun.tools.attach.VirtualMachineImpl): a file /tmp/.attach_pid<PID> and a SIGQUIT make the JVM
listen on the socket /tmp/.java_pid<PID>; there, `load` loads an agent library. PID and /tmp are those of the JVM's own
namespaces. Without that file, or with the mechanism disabled, SIGQUIT makes a JVM print all its stacks, and a process that
does not handle it dies: so nothing is sent before `jvm_facts` has ruled that out.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import socket
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from headway.errors import HeadwayError
from headway.record import agent_file
from headway.record.causal_notes import notes_of
from headway.record.held import hold, release, silence_left_behind
from headway.record.jvm_facts import JvmFacts, find_jvm, start_ticks
from headway.record.jvm_options import LockOptions, agent_options
from headway.record.sampling import Sampler, files_of

__all__ = ["AttachResult", "JvmFacts", "attach", "find_jvm"]

T = TypeVar("T")


@dataclass(slots=True)
class AttachResult:
    """A JVM with our agent in it. Call `stop` or `detach`, then `collect`, then `close`.

    `directory` is where the agent writes, as seen from here. It is the directory that was asked for, or, where the JVM can't
    write there, a private one under the JVM's own /tmp; it is reached by a descriptor, so that it outlives the JVM.
    """

    facts: JvmFacts
    directory: Path
    wanted_directory: Path
    spool: Path
    """The agent's file in `directory`."""
    _agent_in_target: str
    _private: _PrivateDirectory | None = None
    _held: int | None = None

    def stop(self) -> None:
        """Ask the agent to fall silent, by the word it looks at before each record. Needs nothing of the JVM, works at once."""
        agent_file.write_word(self.spool, agent_file.STOP, 1, self.facts.uid)

    def detach(self, timeout_s: float = 20.0) -> None:
        """Stop, and have the agent turn its events off and let go of its file.

        The library itself stays in the JVM (a JVM can't unload it) and does nothing. A JVM that has ended is fine.
        """
        self.stop()
        try:
            _in_target(self.facts, lambda: _load(self.facts, self._agent_in_target, "stop=1", timeout_s))
        except ProcessLookupError:
            return

    def collect(self) -> Path:
        """Return the agent's file in the wanted directory, copied there if the agent wrote elsewhere."""
        if self._private is None:
            return self.spool
        wanted = self.wanted_directory / self.spool.name
        number = 2
        while wanted.exists():  # several containers have a process 1
            wanted = self.wanted_directory / f"agent-{self.facts.ns_pid}.{number}.spool"
            number += 1
        agent_file.copy(self.spool, wanted, self.facts.uid)
        table = table_of(self.spool)
        if table.exists():
            agent_file.copy(table, table_of(wanted), self.facts.uid)
        notes = notes_of(self.spool)
        if notes.exists():
            agent_file.copy(notes, notes_of(wanted), self.facts.uid)
        for file in files_of(self.spool):
            name = f"sample{wanted.stem.removeprefix('agent')}"
            to = wanted.with_name(name + file.name.removeprefix(f"sample{self.spool.stem.removeprefix('agent')}"))
            agent_file.copy(file, to, self.facts.uid)
        return wanted

    def close(self) -> None:
        """Remove what was put into the JVM's /tmp."""
        if self._private is not None:
            self._private.remove()
            self._private = None
        release(self._held)
        self._held = None


def table_of(spool: Path) -> Path:
    """Return where the agent that writes agent-NAME.spool keeps its sums of locks: locks-NAME.table beside it."""
    return spool.with_name(f"locks{spool.stem.removeprefix('agent')}.table")


def spool_of(table: Path) -> Path:
    """Return where the agent that keeps `table` writes its records."""
    return table.with_name(f"agent{table.stem.removeprefix('locks')}.spool")


def attach(
    pid: int,
    agent_path: Path,
    spool_dir: Path,
    *,
    virtual_threads: bool = False,
    locks: LockOptions | None = None,
    sampler: Sampler | None = None,
    causal: str | None = None,
    timeout_s: float = 20.0,
) -> AttachResult:
    """Load the agent into JVM `pid`; it writes agent-<pid in its namespace>.spool into `spool_dir`, or near it.

    Raises HeadwayError: HW020 no such process, HW021 not permitted, HW022 no HotSpot JVM, HW023 it must not be attached to,
    HW024 no answer within `timeout_s`, HW025 it could not load the agent, HW026 the agent can't write, HW027 already recorded.
    """
    facts = _examine(pid)
    private: _PrivateDirectory | None = None
    held: int | None = None
    library, directory = str(agent_path.resolve()), str(spool_dir.resolve())
    try:
        libraries = [agent_path, *([sampler.library] if sampler is not None else [])]
        if not _reachable(facts, libraries, spool_dir):
            private = _PrivateDirectory.create(facts, libraries)
            library, directory = f"{private.in_target}/{agent_path.name}", private.in_target
            if sampler is not None:
                sampler = replace(sampler, library=Path(private.in_target, sampler.library.name))
        options = agent_options(
            Path(directory), virtual_threads=virtual_threads, locks=locks, sampler=sampler, causal=causal
        )
        here = private.path if private is not None else spool_dir
        held = hold(here)
        try:
            _in_target(facts, lambda: _load_once_live(facts, library, options, timeout_s))
        except HeadwayError as error:
            if error.notice.id != "HW027" or not silence_left_behind(pid, facts.uid):
                raise
            _in_target(facts, lambda: _load_once_live(facts, library, options, timeout_s))
        spool = _newest_spool(here, facts)
        agent_file.write_word(spool, agent_file.HOST_PID, facts.pid, facts.uid)
        return AttachResult(facts, here, spool_dir, spool, library, private, held)
    except BaseException as error:
        release(held)
        if private is not None:
            private.remove()
        if isinstance(error, ProcessLookupError):
            raise HeadwayError("HW020", pid=pid) from None
        if isinstance(error, PermissionError):
            raise denied(pid, error) from error
        if isinstance(error, OSError):
            raise HeadwayError("HW026", pid=pid, reason=error.strerror) from error
        raise


def denied(pid: int, error: OSError) -> HeadwayError:
    """Return what to say of a process that the system does not show: more rights help a user, but not root."""
    return HeadwayError("HW069" if os.geteuid() == 0 else "HW021", pid=pid, reason=error.strerror)


def _examine(pid: int) -> JvmFacts:
    try:
        facts = find_jvm(pid)
    except ProcessLookupError:
        raise HeadwayError("HW020", pid=pid) from None
    except PermissionError as error:
        raise denied(pid, error) from error
    if facts is None:
        raise HeadwayError("HW022", pid=pid)
    if os.geteuid() not in (0, facts.uid):
        raise HeadwayError("HW021", pid=pid, reason=f"it belongs to user {facts.uid}")
    if facts.refusal is not None:
        raise HeadwayError("HW023", pid=pid, reason=facts.refusal)
    return facts


# --- the protocol, run with the JVM's own user and group ------------------------------------------------------------


class _StillStartingError(Exception):
    """The JVM answers, but is not yet ready for agents."""


def _load_once_live(facts: JvmFacts, library: str, options: str, timeout_s: float) -> None:
    """Load, again and again while the JVM is still starting."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return _load(facts, library, options, deadline - time.monotonic())
        except _StillStartingError:
            if time.monotonic() > deadline:
                raise HeadwayError("HW024", pid=facts.pid) from None
            time.sleep(0.05)


def _load(facts: JvmFacts, library: str, options: str, timeout_s: float) -> None:
    """Have the JVM load `library` (a path in its file system) with `options`; raise HeadwayError unless it says it did."""
    deadline = time.monotonic() + timeout_s
    if start_ticks(facts.pid) != facts.start_ticks:
        raise ProcessLookupError(facts.pid)  # the process id belongs to another process by now
    tmp = _open_tmp(facts.pid)
    try:
        address = f"/proc/self/fd/{tmp}/.java_pid{facts.ns_pid}"
        if not _is_socket(address):
            _start_listener(facts, tmp, address, deadline)
        reply = _request(facts, address, ["load", library, "true", options], deadline)
    finally:
        os.close(tmp)
    code = re.search(r"return code: (-?\d+)", reply)
    if code is None:
        text = " ".join(reply.split("\n", 1)[-1].split()) or "no reason given"
        raise HeadwayError("HW025", pid=facts.pid, reason=text)
    match int(code[1]):
        case 0 | 104:  # 104: asked to stop, but it was not recording
            return
        case 101:
            raise HeadwayError("HW026", pid=facts.pid, reason="no permission there, or no space")
        case 103:
            raise HeadwayError("HW027", pid=facts.pid)
        case 105:
            raise _StillStartingError
        case other:
            raise HeadwayError("HW025", pid=facts.pid, reason=f"the agent returned {other}")


def _open_tmp(pid: int) -> int:
    """Return a descriptor of the JVM's /tmp. Symbolic links are refused: a container's may point anywhere in *our* files."""
    try:
        root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    try:
        return os.open("tmp", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    finally:
        os.close(root)


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _start_listener(facts: JvmFacts, tmp: int, address: str, deadline: float) -> None:
    """Make the JVM open its attach socket.

    On a timeout the trigger file stays: the signal is still pending, and a JVM that finds no file prints its stacks.
    """
    trigger = f".attach_pid{facts.ns_pid}"
    os.close(os.open(trigger, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660, dir_fd=tmp))
    os.kill(facts.pid, signal.SIGQUIT)
    pause_s = 0.01
    while not _is_socket(address):
        if _has_ended(facts.pid):
            _unlink_at(trigger, tmp)
            raise ProcessLookupError(facts.pid)
        if time.monotonic() > deadline:
            raise HeadwayError("HW024", pid=facts.pid)
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.2)
    _unlink_at(trigger, tmp)


def _has_ended(pid: int) -> bool:
    """Tell whether the process is gone, or a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _unlink_at(name: str, directory: int) -> None:
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return  # the JVM, or another attach, took it away


def _request(facts: JvmFacts, address: str, words: list[str], deadline: float) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            connection.connect(address)
            connection.sendall(b"\0".join([b"1", *map(os.fsencode, words)]) + b"\0")
            reply = b""
            while piece := connection.recv(65536):
                reply += piece
        except TimeoutError:
            raise HeadwayError("HW024", pid=facts.pid) from None
        except (ConnectionError, BrokenPipeError) as error:
            if _has_ended(facts.pid):
                raise ProcessLookupError(facts.pid) from None
            raise HeadwayError("HW025", pid=facts.pid, reason=f"its socket says: {error.strerror}") from error
    return reply.decode(errors="replace")


# --- other users, other file systems ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _PrivateDirectory:
    """A directory of the JVM's user under the JVM's /tmp, with a copy of the agent (and the sampler) in it."""

    path: Path
    in_target: str
    _tmp: int
    _own: int

    @classmethod
    def create(cls, facts: JvmFacts, libraries: Sequence[Path]) -> _PrivateDirectory:
        """Make it. Raises OSError when the JVM's /tmp can't be written."""
        tmp = _open_tmp(facts.pid)
        name = f".headway-{secrets.token_hex(8)}"
        os.mkdir(name, 0o700, dir_fd=tmp)
        own = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=tmp)
        path = Path(f"/proc/self/fd/{own}")
        made = cls(path, f"/tmp/{name}", tmp, own)
        try:
            for library in libraries:
                shutil.copyfile(library, path / library.name)
                (path / library.name).chmod(0o755)
            if os.geteuid() == 0:
                os.fchown(own, facts.uid, facts.gid)
        except OSError:
            made.remove()
            raise
        return made

    def remove(self) -> None:
        """Take the directory away; works after the JVM has ended."""
        for file in os.listdir(self._own):
            os.unlink(file, dir_fd=self._own)
        os.rmdir(Path(self.in_target).name, dir_fd=self._tmp)
        os.close(self._own)
        os.close(self._tmp)


def _reachable(facts: JvmFacts, libraries: Sequence[Path], spool_dir: Path) -> bool:
    """Tell whether the JVM itself can read the libraries, the agent first, and write into the spool directory."""
    if not facts.same_mounts or set("=") & set(str(libraries[0].resolve())):
        return False

    def check() -> bool:
        readable = all(os.access(library, os.R_OK, effective_ids=True) for library in libraries)
        return readable and os.access(spool_dir, os.W_OK | os.X_OK, effective_ids=True)

    return _in_target(facts, check)


def _in_target(facts: JvmFacts, action: Callable[[], T]) -> T:
    """Run `action` with the effective user and group of the JVM, which its socket and its trigger file must carry.

    Only root can and need do so. The change is made on a thread of its own by the bare system calls, which, unlike
    os.seteuid, leave this process's other threads alone.
    """
    if (os.geteuid(), os.getegid()) == (facts.uid, facts.gid) or os.geteuid() != 0:
        return action()
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            _become(facts.uid, facts.gid)
            outcome.append(action())
        except BaseException as error:  # handed on to the caller's thread
            failure.append(error)

    thread = threading.Thread(target=run, name="headway-attach")
    thread.start()
    thread.join()
    _stay_dumpable()
    if failure:
        raise failure[0]
    return outcome[0]


def _become(uid: int, gid: int) -> None:
    """Change the calling thread's effective ids only. Raises OSError."""
    import ctypes

    numbers = {"x86_64": (119, 117), "aarch64": (149, 147)}
    setresgid, setresuid = numbers[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    for number, value in ((setresgid, gid), (setresuid, uid)):
        if libc.syscall(ctypes.c_long(number), ctypes.c_long(-1), ctypes.c_long(value), ctypes.c_long(-1)) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _stay_dumpable() -> None:
    """Undo a side effect: a change of effective user makes the kernel close /proc/self to ourselves and to debuggers."""
    import ctypes

    pr_set_dumpable = 4
    ctypes.CDLL(None).prctl(pr_set_dumpable, 1, 0, 0, 0)


def _newest_spool(directory: Path, facts: JvmFacts) -> Path:
    files = [*directory.glob(f"agent-{facts.ns_pid}.spool"), *directory.glob(f"agent-{facts.ns_pid}.*.spool")]
    return max(files, key=lambda file: agent_file.created_ns(file, facts.uid))
