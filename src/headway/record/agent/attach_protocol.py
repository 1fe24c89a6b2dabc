"""HotSpot's attach protocol, spoken to a JVM that may not be one, or may mean harm.

The protocol (jdk.attach, sun.tools.attach.VirtualMachineImpl): a file /tmp/.attach_pid<PID> and a SIGQUIT make the JVM
listen on the socket /tmp/.java_pid<PID>; there, `load` loads an agent library. PID and /tmp are those of the JVM's own
namespaces. Without that file, or with the mechanism disabled, SIGQUIT makes a JVM print all its stacks, and a process that
does not handle it dies: so nothing is sent before `jvm_facts` has ruled that out.

Everything happens with the JVM's own rights and before one deadline; the signal goes to a process that can't have been
exchanged (pidfd), the request to nobody but that process (SO_PEERCRED), and no more of a reply is taken than one can be long.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import socket
import stat
import struct
from pathlib import Path

from headway.errors import HeadwayError
from headway.record.target_process.beneath import open_beneath
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.directory import open_tmp
from headway.record.target_process.jvm_facts import JvmFacts, start_ticks
from headway.record.target_process.rights import act_as

LONGEST_REPLY_BYTES = 64 << 10
_STARTING_PAUSE_S = 0.05
_REASON_CHARACTERS = 300


class _StillStartingError(Exception):
    """The JVM answers, but is not yet ready for agents."""


def load(facts: JvmFacts, library: str, options: str, deadline: Deadline) -> None:
    """Have the JVM load `library`, a path in its file system, with `options`; again and again while it is still starting.

    Raises HeadwayError HW024 (no answer in time), HW025 (it could not load the agent), HW026 (the agent can't write) or
    HW027 (already recorded), ProcessLookupError when the JVM has ended, OSError, Interrupted.
    """
    while True:
        try:
            reply = _conversation(facts, ["load", library, "true", options], deadline)
            _require_success(facts, reply)
            return
        except _StillStartingError:
            deadline.pause(_STARTING_PAUSE_S)


def _conversation(facts: JvmFacts, words: list[str], deadline: Deadline) -> bytes:
    tmp = open_tmp(facts.pid, deadline, facts.rights)
    try:
        return act_as(facts.rights, deadline, lambda: _exchange(facts, tmp, words, deadline), tmp)
    finally:
        os.close(tmp)


def _exchange(facts: JvmFacts, tmp: int, words: list[str], deadline: Deadline) -> bytes:
    pidfd = os.pidfd_open(facts.pid)
    try:
        if start_ticks(facts.pid) != facts.start_ticks:
            raise ProcessLookupError(facts.pid)  # the process id belongs to another process by now
        if not _listens(facts, tmp):
            _start_listener(facts, tmp, pidfd, deadline)
        return _request(facts, tmp, words, deadline)
    finally:
        os.close(pidfd)


def _require_success(facts: JvmFacts, reply: bytes) -> None:
    text = reply.decode(errors="replace")
    code = re.search(r"return code: (-?\d{1,9})\b", text)
    if code is None:
        reason = " ".join(text.split("\n", 1)[-1].split())[:_REASON_CHARACTERS] or "no reason given"
        raise HeadwayError("HW025", pid=facts.pid, reason=reason)
    match int(code[1]):  # enum AttachCode, native/agent/entry/entry.cpp
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


def _socket_name(facts: JvmFacts) -> str:
    return f".java_pid{facts.ns_pid}"


def _listens(facts: JvmFacts, tmp: int) -> bool:
    """Return whether the JVM's socket is there. Raises HeadwayError HW025 where somebody else has taken its name."""
    name = _socket_name(facts)
    try:
        status = os.stat(name, dir_fd=tmp, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISSOCK(status.st_mode):
        raise HeadwayError("HW025", pid=facts.pid, reason=f"/tmp/{name} is there and is no socket")
    if status.st_uid != facts.uid:
        reason = f"/tmp/{name} belongs to user {status.st_uid}, the JVM to user {facts.uid}"
        raise HeadwayError("HW025", pid=facts.pid, reason=reason)
    return True


def _start_listener(facts: JvmFacts, tmp: int, pidfd: int, deadline: Deadline) -> None:
    """Make the JVM open its attach socket.

    On a timeout the trigger file stays: the signal is still pending, and a JVM that finds no file prints its stacks.
    """
    trigger = f".attach_pid{facts.ns_pid}"
    _make_trigger(facts, tmp, trigger)
    signal.pidfd_send_signal(pidfd, signal.SIGQUIT)
    pause_s = 0.01
    while not _listens(facts, tmp):
        if has_ended(facts.pid):
            _unlink_at(trigger, tmp)
            raise ProcessLookupError(facts.pid)
        deadline.pause(pause_s)
        pause_s = min(pause_s * 1.5, 0.2)
    _unlink_at(trigger, tmp)


def _make_trigger(facts: JvmFacts, tmp: int, name: str) -> None:
    """Make the file that the JVM looks for when the signal comes; it wants one of its own user's.

    One that is there already was left by an attach that timed out, which serves, or put there by somebody else.
    """
    with contextlib.suppress(FileExistsError):
        os.close(open_beneath(tmp, name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o660))
        return
    status = os.stat(name, dir_fd=tmp, follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != facts.uid:
        raise HeadwayError("HW025", pid=facts.pid, reason=f"/tmp/{name} is there and is not the JVM's own")


def has_ended(pid: int) -> bool:
    """Return whether the process has ended, or is a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _unlink_at(name: str, directory: int) -> None:
    with contextlib.suppress(FileNotFoundError):  # the JVM, or another attach, took it away
        os.unlink(name, dir_fd=directory)


def _request(facts: JvmFacts, tmp: int, words: list[str], deadline: Deadline) -> bytes:
    """Send a request and return the reply. Raises HeadwayError HW024 or HW025, ProcessLookupError."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.settimeout(deadline.left_s())
            connection.connect(f"/proc/self/fd/{tmp}/{_socket_name(facts)}")
            _require_peer(facts, connection)
            connection.settimeout(deadline.left_s())
            connection.sendall(b"\0".join([b"1", *map(os.fsencode, words)]) + b"\0")
            return _reply(facts, connection, deadline)
        except TimeoutError:
            raise HeadwayError("HW024", pid=facts.pid) from None
        except OSError as error:
            if has_ended(facts.pid):
                raise ProcessLookupError(facts.pid) from None
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise HeadwayError("HW025", pid=facts.pid, reason=f"its socket says: {reason}") from error


def _require_peer(facts: JvmFacts, connection: socket.socket) -> None:
    """Raise HeadwayError HW025 unless the process at the other end is the JVM itself."""
    pid, uid, _ = struct.unpack("=iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if (pid, uid) != (facts.pid, facts.uid):
        reason = f"process {pid} of user {uid} listens on /tmp/{_socket_name(facts)}"
        raise HeadwayError("HW025", pid=facts.pid, reason=reason)


def _reply(facts: JvmFacts, connection: socket.socket, deadline: Deadline) -> bytes:
    reply = b""
    while True:
        connection.settimeout(deadline.left_s())
        try:
            piece = connection.recv(LONGEST_REPLY_BYTES)
        except OSError as error:
            if error.errno == errno.ECONNRESET and reply:
                return reply
            raise
        reply += piece
        if not piece:
            return reply
        if len(reply) > LONGEST_REPLY_BYTES:
            raise HeadwayError(
                "HW025", pid=facts.pid, reason=f"it replied with more than {LONGEST_REPLY_BYTES >> 10} KiB"
            )
