"""What can be seen of a running JVM from outside, without touching it: /proc and the JVM's own performance-data file."""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import re
import signal
import stat
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from headway.record.target_process.beneath import open_beneath, open_in_root
from headway.record.target_process.deadline import Deadline, within
from headway.record.target_process.directory import open_root, open_tmp
from headway.record.target_process.rights import Rights, act_as, read_status, rights_of, sees_our_files
from headway.record.target_process.served_files import ServedError

T = TypeVar("T")

_PERF_PROLOGUE = struct.Struct(
    "<4sBBBBiiqii"
)  # jdk.internal.perf: magic, byte order, version, ..., entry offset, entries
_PERF_ENTRY = struct.Struct("<iiibbbbi")
_PERF_MAGIC = b"\xca\xfe\xc0\xc0"
_LITTLE_ENDIAN = 1
_NUMBER_BYTES = 8
_ACCESSIBLE_AT = 7
"""Where the prologue says whether the JVM has written all entries."""
_LONGEST_PERF_BYTES = 8 << 20  # -XX:PerfDataMemorySize is 32 KiB by default
_MOST_DIRECTORIES = 20_000
_LONGEST_TEXT_BYTES = 4 << 20
_MOST_ARGUMENT_FILES = 64
_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class JvmFacts:
    """A running HotSpot JVM. `ns_pid` is its pid in its own pid namespace; `refusal` says why not to attach to it.

    `version`, `command` and `refusal` are the JVM's word.
    """

    pid: int
    start_ticks: int
    ns_pid: int
    rights: Rights
    same_mounts: bool
    version: str | None
    command: str | None
    refusal: str | None

    @property
    def uid(self) -> int:
        """Return the user it acts as."""
        return self.rights.uid

    @property
    def gid(self) -> int:
        """Return the group it acts as."""
        return self.rights.gid


def find_jvm(pid: int, deadline: Deadline | None = None) -> JvmFacts | None:
    """Return the facts of process `pid` if it runs a HotSpot JVM, else None.

    Raises ProcessLookupError when there is no such process, PermissionError when this user may not look into it,
    TimeoutError when it keeps its memory or its files from being read, Interrupted.
    """
    deadline = deadline or Deadline.after(_LIMIT_S)
    try:
        return _facts_of(pid, deadline)
    except FileNotFoundError:  # it ended while we read
        raise ProcessLookupError(pid) from None


def _facts_of(pid: int, deadline: Deadline) -> JvmFacts | None:
    started = start_ticks(pid)
    status = read_status(pid)
    if status["State"].startswith("Z"):
        raise ProcessLookupError(pid)
    if not within(deadline, lambda: _has_hotspot(pid)):
        return None
    ns_pid = int(status.get("NSpid", str(pid)).split()[-1])
    rights = within(deadline, lambda: rights_of(pid))
    counters = _performance_data(pid, ns_pid, rights, deadline, parse_performance_data)
    return JvmFacts(
        pid=pid,
        start_ticks=started,
        ns_pid=ns_pid,
        rights=rights,
        same_mounts=within(deadline, lambda: sees_our_files(pid)),
        version=counters.get("java.property.java.vm.version"),
        command=counters.get("sun.rt.javaCommand"),
        refusal=_refusal(pid, status, counters.get("java.rt.vmArgs"), rights, deadline),
    )


def _has_hotspot(pid: int) -> bool:
    found = False
    with open(f"/proc/{pid}/maps", "rb") as maps:
        for line in maps:
            if b"/libj9vm" in line:
                return False
            found = found or line.rstrip().removesuffix(b" (deleted)").endswith(b"/libjvm.so")
    return found


def start_ticks(pid: int) -> int:
    """Return when process `pid` started, in clock ticks since boot: with the pid, its identity. Raises ProcessLookupError."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None


def _refusal(pid: int, status: dict[str, str], vm_args: str | None, rights: Rights, deadline: Deadline) -> str | None:
    """Return why SIGQUIT must not be sent, or None. A JVM that does not expect it dies of it, or prints all its stacks."""
    if status["State"][0] in "Tt":
        return "it is stopped"
    if not int(status["SigCgt"], 16) >> (signal.SIGQUIT - 1) & 1:
        return "it does not handle SIGQUIT: it is still starting, or runs with -Xrs"
    arguments = vm_args if vm_args is not None else "\n".join(_launch_texts(pid, rights, deadline))
    if re.search(r"-XX:\+DisableAttachMechanism\b", arguments):
        return "it runs with -XX:+DisableAttachMechanism"
    if re.search(r"(?<!\S)-Xrs(?!\S)|-XX:\+ReduceSignalUsage\b", arguments):
        return "it runs with -Xrs"
    if re.search(r"-XX:-EnableDynamicAgentLoading\b", arguments):
        return "it runs with -XX:-EnableDynamicAgentLoading"
    return None


def _launch_texts(pid: int, rights: Rights, deadline: Deadline) -> Iterator[str]:
    """Yield everything JVM options may have come from, for a JVM without performance data (-XX:-UsePerfData)."""
    command = within(deadline, lambda: _text_of(f"/proc/{pid}/cmdline")).split("\0")
    yield "\n".join(command)
    for entry in within(deadline, lambda: _text_of(f"/proc/{pid}/environ")).split("\0"):
        name, _, value = entry.partition("=")
        if name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"):
            yield value
    named = (each[1:] if each.startswith("@") else each.partition("-XX:VMOptionsFile=")[2] for each in command)
    files = [each for each in named if each][:_MOST_ARGUMENT_FILES]
    if not files:
        return
    cwd = os.readlink(f"/proc/{pid}/cwd")
    root = open_root(pid, deadline, rights)
    try:
        for file in files:
            with contextlib.suppress(OSError):
                path = os.path.join(cwd, file)
                yield act_as(rights, deadline, functools.partial(_argument_file, root, path), root)
    finally:
        os.close(root)


def _text_of(path: str) -> str:
    with open(path, "rb") as file:
        return file.read(_LONGEST_TEXT_BYTES).decode(errors="replace")


def _argument_file(root: int, path: str) -> str:
    """Return the text of the file `path` as a process with root directory `root` sees it. Raises OSError.

    Only an ordinary file is read: a pipe would keep us waiting, or lose what it holds.
    """
    link = open_in_root(root, path, os.O_PATH)  # what it is comes first: to open a device may be an act
    try:
        if not stat.S_ISREG(os.fstat(link).st_mode):
            return ""
        fd = os.open(f"/proc/self/fd/{link}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    finally:
        os.close(link)
    with open(fd, "rb") as file:
        return file.read(_LONGEST_TEXT_BYTES).decode(errors="replace")


def performance_numbers(pid: int, rights: Rights, deadline: Deadline) -> dict[str, int]:
    """Return the numbers in a JVM's performance data by name, {} where it has none: they are the JVM's word.

    Raises ProcessLookupError, TimeoutError, ServedError.
    """
    ns_pid = int(read_status(pid).get("NSpid", str(pid)).split()[-1])
    return _performance_data(pid, ns_pid, rights, deadline, parse_performance_numbers)


def _performance_data(
    pid: int, ns_pid: int, rights: Rights, deadline: Deadline, parse: Callable[[bytes], dict[str, T]]
) -> dict[str, T]:
    """Return entries of /tmp/hsperfdata_USER/PID in the JVM's own file system; {} where it has none."""
    try:
        tmp = open_tmp(pid, deadline, rights)
    except (ProcessLookupError, TimeoutError, ServedError):
        raise
    except OSError:
        return {}
    try:
        return act_as(rights, deadline, lambda: _performance_data_below(tmp, ns_pid, rights.uid, parse), tmp)
    except TimeoutError:
        raise
    except OSError:
        return {}
    finally:
        os.close(tmp)


def _performance_data_below(tmp: int, ns_pid: int, owner: int, parse: Callable[[bytes], dict[str, T]]) -> dict[str, T]:
    listed = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=tmp)
    try:
        with os.scandir(listed) as entries:
            names = [each.name for each, _ in zip(entries, range(_MOST_DIRECTORIES), strict=False)]
    finally:
        os.close(listed)
    for name in dict.fromkeys((*_usual_directory(owner), *names)):  # others may have filled /tmp with names
        if not name.startswith("hsperfdata_"):
            continue
        with contextlib.suppress(OSError):
            directory = open_beneath(tmp, name, os.O_PATH | os.O_DIRECTORY)
            try:
                fd = open_beneath(directory, str(ns_pid), os.O_RDONLY)
            finally:
                os.close(directory)
            with open(fd, "rb") as file:
                status = os.fstat(fd)
                if stat.S_ISREG(status.st_mode) and status.st_uid == owner:
                    return parse(file.read(_LONGEST_PERF_BYTES))
    return {}


def _usual_directory(owner: int) -> Iterator[str]:
    """Yield what the directory of a user's JVMs is called, where the user is known here: in a container it may be another."""
    with contextlib.suppress(KeyError):
        yield f"hsperfdata_{pwd.getpwuid(owner).pw_name}"


def parse_performance_data(data: bytes) -> dict[str, str]:
    """Return the string entries of a JVM's performance data by name; fewer, or none, of data that make no sense."""
    return {
        name: value[:elements].split(b"\0", 1)[0].decode(errors="replace")
        for name, kind, elements, value in _performance_entries(data)
        if kind == "B" and elements > 0
    }


def parse_performance_numbers(data: bytes) -> dict[str, int]:
    """Return the entries of a JVM's performance data that are one number, by name; fewer of data that make no sense.

    None of them while the JVM starts, which it says itself: some are not there yet then.
    """
    if len(data) <= _ACCESSIBLE_AT or not data[_ACCESSIBLE_AT]:
        return {}
    return {
        name: int.from_bytes(value[:_NUMBER_BYTES], "little", signed=True)
        for name, kind, elements, value in _performance_entries(data)
        if kind == "J" and elements == 0 and len(value) >= _NUMBER_BYTES
    }


def _performance_entries(data: bytes) -> Iterator[tuple[str, str, int, bytes]]:
    """Yield name, type (a letter as in class files), number of elements (0: no array), and bytes from the value's begin on."""
    if len(data) < _PERF_PROLOGUE.size:
        return
    magic, order, _major, _minor, _accessible, _used, _overflow, _mod, at, entries = _PERF_PROLOGUE.unpack_from(data)
    if magic != _PERF_MAGIC or order != _LITTLE_ENDIAN or at < _PERF_PROLOGUE.size:
        return
    for _ in range(entries):
        if at + _PERF_ENTRY.size > len(data):
            return
        length, name_at, elements, kind, _flags, _units, _variability, value_at = _PERF_ENTRY.unpack_from(data, at)
        end = at + length
        if length < _PERF_ENTRY.size or end > len(data):
            return
        if 0 < name_at < length and 0 < value_at < length:
            name = data[at + name_at : end].split(b"\0", 1)[0]
            yield name.decode(errors="replace"), chr(kind), elements, data[at + value_at : end]
        at = end
