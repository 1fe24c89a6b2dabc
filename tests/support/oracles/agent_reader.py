"""Oracle that decodes agent spools, written from native/wire/records.h alone."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER_BYTES = 4096
LOCKS = range(40, 48)
"""Records of locks, which this reader leaves out."""
_HEADER = struct.Struct("<8sIIIIIIqqIIQQQ")
_RECORD = struct.Struct("<qHHI")
_CHUNK = struct.Struct("<qHHIII")

CHUNK, INFO, THREAD_START, THREAD_END, PHASE, VTHREAD_START, VTHREAD_END, THREAD_NAME = range(32, 40)
MOUNT, UNMOUNT = 48, 49
DAEMON, VIRTUAL, CARRIER, ATTACHED = 1, 2, 4, 8
PHASE_KINDS = {1: "gc_pause", 2: "startup", 3: "shutdown"}


@dataclass(frozen=True)
class ThreadStart:
    """The start of a Java thread."""

    ts_ns: int
    tid: int
    java_id: int
    flags: int
    name: str
    group: str


@dataclass(frozen=True)
class ThreadEnd:
    """The end of a Java thread."""

    ts_ns: int
    tid: int
    java_id: int
    cpu_ns: int


@dataclass(frozen=True)
class Mount:
    """A carrier `tid` has a virtual thread from here on, or has it no longer."""

    ts_ns: int
    tid: int
    java_id: int
    is_end: bool


@dataclass(frozen=True)
class Phase:
    """A phase of the JVM."""

    start_ns: int
    end_ns: int
    kind: str
    cause: str


@dataclass
class AgentSpool:
    """All records of one agent."""

    pid: int
    host_pid: int
    created_ns: int
    lost: int
    chunks: int = 0
    info: dict[str, str] = field(default_factory=dict)
    starts: list[ThreadStart] = field(default_factory=list)
    ends: list[ThreadEnd] = field(default_factory=list)
    renames: list[ThreadStart] = field(default_factory=list)
    vstarts: list[ThreadStart] = field(default_factory=list)
    vends: list[ThreadEnd] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)

    def thread(self, name: str) -> ThreadStart:
        """Return the only thread of that name, however often it was announced."""
        found = {(start.tid, start.java_id): start for start in self.starts if start.name == name}
        assert len(found) == 1, f"{name!r}: {sorted(start.name for start in self.starts)}"
        return next(iter(found.values()))


def read_agent_spool(path: Path) -> AgentSpool:
    """Read one agent's file."""
    data = path.read_bytes()
    magic, version, source, producer, _cpu, pid, host_pid, created, _real, _stop, chunk_bytes, _next, _limit, lost = (
        _HEADER.unpack_from(data)
    )
    assert (magic, version, source, producer) == (b"HWSPOOL\0", 1, 3, 3)
    spool = AgentSpool(pid, host_pid, created, lost)
    for ts, kind, tid, body in _records(data, chunk_bytes, spool):
        _add(spool, ts, kind, tid, body)
    return spool


def _records(data: bytes, chunk_bytes: int, spool: AgentSpool) -> Iterator[tuple[int, int, int, bytes]]:
    for base in range(HEADER_BYTES, len(data) - _CHUNK.size + 1, chunk_bytes):
        _ts, kind, size, _tid, used, _reserved = _CHUNK.unpack_from(data, base)
        if used == 0:
            continue
        assert (kind, size) == (CHUNK, 0)
        assert _CHUNK.size <= used <= chunk_bytes
        spool.chunks += 1
        at = base + _CHUNK.size
        while at < base + used:
            ts, kind, size, tid = _RECORD.unpack_from(data, at)
            assert size >= _RECORD.size
            assert size % 8 == 0
            yield ts, kind, tid, data[at + _RECORD.size : at + size]
            at += size
        assert at == base + used


def _add(spool: AgentSpool, ts: int, kind: int, tid: int, body: bytes) -> None:
    if kind in (THREAD_START, VTHREAD_START, THREAD_NAME):
        java_id, flags, name_bytes, group_bytes = struct.unpack_from("<QIHH", body)
        name = body[16 : 16 + name_bytes].decode()  # strict: the wire is UTF-8
        group = body[16 + name_bytes : 16 + name_bytes + group_bytes].decode()
        targets = {THREAD_START: spool.starts, VTHREAD_START: spool.vstarts, THREAD_NAME: spool.renames}
        targets[kind].append(ThreadStart(ts, tid, java_id, flags, name, group))
    elif kind in (THREAD_END, VTHREAD_END):
        java_id, cpu_ns = struct.unpack_from("<QQ", body)
        (spool.ends if kind == THREAD_END else spool.vends).append(ThreadEnd(ts, tid, java_id, cpu_ns))
    elif kind in (MOUNT, UNMOUNT):
        (java_id,) = struct.unpack_from("<Q", body)
        spool.mounts.append(Mount(ts, tid, java_id, kind == UNMOUNT))
    elif kind == PHASE:
        start_ns, phase, cause_bytes = struct.unpack_from("<qII", body)
        spool.phases.append(Phase(start_ns, ts, PHASE_KINDS[phase], body[16 : 16 + cause_bytes].decode()))
    elif kind == INFO:
        key_bytes, part, value_bytes = struct.unpack_from("<HHI", body)
        key = body[8 : 8 + key_bytes].decode()
        value = body[8 + key_bytes : 8 + key_bytes + value_bytes].decode()
        assert part == 0 or key in spool.info, "a continuation comes after its beginning"
        spool.info[key] = spool.info.get(key, "") + value if part else value
    else:
        assert kind in LOCKS, f"record type {kind} does not belong into an agent's spool"
