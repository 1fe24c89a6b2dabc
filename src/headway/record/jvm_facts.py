"""What can be seen of a running JVM from outside, without touching it: /proc and the JVM's own performance-data file."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PERF_PROLOGUE = struct.Struct(
    "<4sBBBBiiqii"
)  # jdk.internal.perf: magic, byte order, version, ..., entry offset, entries
_PERF_ENTRY = struct.Struct("<iiibbbbi")
_PERF_MAGIC = b"\xca\xfe\xc0\xc0"
_LITTLE_ENDIAN = 1


@dataclass(frozen=True, slots=True)
class JvmFacts:
    """A running HotSpot JVM. `ns_pid` is its pid in its own pid namespace; `refusal` says why not to attach to it."""

    pid: int
    start_ticks: int
    ns_pid: int
    uid: int
    gid: int
    same_mounts: bool
    version: str | None
    command: str | None
    refusal: str | None


def find_jvm(pid: int) -> JvmFacts | None:
    """Return the facts of process `pid` if it runs a HotSpot JVM, else None.

    Raises ProcessLookupError when there is no such process, PermissionError when this user may not look into it.
    """
    try:
        return _facts_of(pid)
    except FileNotFoundError:  # it ended while we read
        raise ProcessLookupError(pid) from None


def _facts_of(pid: int) -> JvmFacts | None:
    started = start_ticks(pid)
    status = _read_status(pid)
    if status["State"].startswith("Z"):
        raise ProcessLookupError(pid)
    maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    if not re.search(r"/libjvm\.so(?: \(deleted\))?$", maps, re.MULTILINE) or "/libj9vm" in maps:
        return None
    ns_pid = int(status.get("NSpid", str(pid)).split()[-1])
    uid, gid = int(status["Uid"].split()[1]), int(status["Gid"].split()[1])
    counters = _performance_data(pid, ns_pid, uid)
    return JvmFacts(
        pid=pid,
        start_ticks=started,
        ns_pid=ns_pid,
        uid=uid,
        gid=gid,
        same_mounts=_same_namespace(pid, "mnt"),
        version=counters.get("java.property.java.vm.version"),
        command=counters.get("sun.rt.javaCommand"),
        refusal=_refusal(pid, status, counters.get("java.rt.vmArgs")),
    )


def start_ticks(pid: int) -> int:
    """Return when process `pid` started, in clock ticks since boot: with the pid, its identity. Raises ProcessLookupError."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None


def _read_status(pid: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    pairs = (line.partition(":") for line in text.splitlines())
    return {key: value.strip() for key, _, value in pairs}


def _same_namespace(pid: int, kind: str) -> bool:
    return os.readlink(f"/proc/{pid}/ns/{kind}") == os.readlink(f"/proc/self/ns/{kind}")


def _refusal(pid: int, status: dict[str, str], vm_args: str | None) -> str | None:
    """Return why SIGQUIT must not be sent, or None. A JVM that does not expect it dies of it, or prints all its stacks."""
    if status["State"][0] in "Tt":
        return "it is stopped"
    if not int(status["SigCgt"], 16) >> (signal.SIGQUIT - 1) & 1:
        return "it does not handle SIGQUIT: it is still starting, or runs with -Xrs"
    arguments = vm_args if vm_args is not None else "\n".join(_launch_texts(pid))
    if re.search(r"-XX:\+DisableAttachMechanism\b", arguments):
        return "it runs with -XX:+DisableAttachMechanism"
    if re.search(r"(?<!\S)-Xrs(?!\S)|-XX:\+ReduceSignalUsage\b", arguments):
        return "it runs with -Xrs"
    if re.search(r"-XX:-EnableDynamicAgentLoading\b", arguments):
        return "it runs with -XX:-EnableDynamicAgentLoading"
    return None


def _launch_texts(pid: int) -> Iterator[str]:
    """Yield everything JVM options may have come from, for a JVM without performance data (-XX:-UsePerfData)."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    yield "\n".join(command)
    for entry in Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0"):
        name, _, value = entry.partition("=")
        if name in ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"):
            yield value
    for argument in command:
        file = argument[1:] if argument.startswith("@") else argument.partition("-XX:VMOptionsFile=")[2]
        if file:
            root = f"/proc/{pid}/root" if file.startswith("/") else f"/proc/{pid}/cwd"
            with contextlib.suppress(OSError):
                path = Path(root, file.lstrip("/"))
                if path.is_file():  # a pipe would keep us waiting, or lose what it holds
                    yield path.read_text(errors="replace")


def _performance_data(pid: int, ns_pid: int, uid: int) -> dict[str, str]:
    """Return the string entries of /tmp/hsperfdata_USER/PID in the JVM's own file system; {} where it has none."""
    for directory in Path(f"/proc/{pid}/root/tmp").glob("hsperfdata_*"):
        file = directory / str(ns_pid)
        try:
            status = file.lstat()
            if not stat.S_ISREG(status.st_mode) or status.st_uid != uid:
                continue
            return _parse_performance_data(file.read_bytes())
        except (OSError, struct.error):
            continue
    return {}


def _parse_performance_data(data: bytes) -> dict[str, str]:
    magic, order, _major, _minor, _accessible, _used, _overflow, _mod, at, entries = _PERF_PROLOGUE.unpack_from(data)
    if magic != _PERF_MAGIC or order != _LITTLE_ENDIAN:
        return {}
    found = {}
    for _ in range(entries):
        length, name_at, elements, kind, _flags, _units, _variability, value_at = _PERF_ENTRY.unpack_from(data, at)
        if length < _PERF_ENTRY.size:
            break
        if kind == ord("B") and elements > 0:
            name = data[at + name_at : data.index(b"\0", at + name_at)].decode()
            value = data[at + value_at : at + value_at + elements].split(b"\0", 1)[0]
            found[name] = value.decode(errors="replace")
        at += length
    return found
