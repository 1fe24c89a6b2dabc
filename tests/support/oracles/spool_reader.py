"""Oracle that reads collectors' spool files in plain Python, written from native/wire/records.h alone.

An oracle for the decoder as well as a tool of the collector's tests: it shares no code with either.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

HEADER_BYTES = 4096
SWITCH, WAKING, LOSS, FORK, EXIT, RENAME, EXEC, SNAPSHOT, SCHEDSTAT = 1, 2, 3, 16, 17, 18, 19, 20, 21
PREEMPT, PREV_OURS, NEXT_OURS, UNREPORTED, OTHERS = 1, 2, 4, 16, 32
STATE = 0xFF  # of prev_state: the byte above it tells what the thread blocked in
WAKING_NEW, WAKING_IRQ, WAKER_OURS = 1, 2, 4

_HEAD = [("ts_ns", "<i8"), ("type", "<u2"), ("size", "<u2"), ("tid", "<u4")]


def _words(*names: str) -> list[tuple[str, str]]:
    return [(name, "<u4") for name in names]


RECORD = {
    SWITCH: np.dtype([*_HEAD, ("next_tid", "<u4"), ("prev_state", "<u2"), ("flags", "<u2"), ("prev_exec_ns", "<u8")]),
    WAKING: np.dtype([*_HEAD, ("waker_tid", "<u4"), ("flags", "<u2"), ("cpu", "<u2")]),
    LOSS: np.dtype(
        [*_HEAD, ("cpu", "<u4"), ("reserved", "<u4"), ("first_ns", "<i8"), ("last_ns", "<i8"), ("events", "<u8")]
    ),
    FORK: np.dtype(
        [
            *_HEAD,
            ("pid", "<u4"),
            ("parent_tid", "<u4"),
            ("parent_pid", "<u4"),
            ("ns_tid", "<u4"),
            ("start_ns", "<i8"),
            ("comm", "V16"),
        ]
    ),
    EXIT: np.dtype([*_HEAD, ("pid", "<u4"), ("exit_code", "<u4"), ("exec_ns", "<u8")]),
    RENAME: np.dtype([*_HEAD, ("pid", "<u4"), ("reserved", "<u4"), ("comm", "V16")]),
    EXEC: np.dtype([*_HEAD, ("pid", "<u4"), ("old_tid", "<u4"), ("comm", "V16")]),
    SNAPSHOT: np.dtype(
        [
            *_HEAD,
            ("pid", "<u4"),
            ("parent_pid", "<u4"),
            ("ns_tid", "<u4"),
            ("state", "<u4"),
            ("start_ns", "<i8"),
            ("exec_ns", "<u8"),
            ("comm", "V16"),
        ]
    ),
    SCHEDSTAT: np.dtype(
        [
            *_HEAD,
            ("pid", "<u4"),
            ("reserved", "<u4"),
            ("exec_ns", "<u8"),
            ("run_delay_ns", "<u8"),
            ("timeslices", "<u8"),
        ]
    ),
}


@dataclass(frozen=True)
class SpoolFile:
    """The records of one file by type, each a structured array in file order; `cpu` and `source` from the header."""

    source: int
    producer: int
    cpu: int
    records: dict[int, np.ndarray]

    def of(self, record_type: int) -> np.ndarray:
        """Return the records of one type; an empty array where there are none."""
        return self.records.get(record_type, np.empty(0, RECORD[record_type]))


def read_spool_file(path: Path) -> SpoolFile:
    """Read a whole file; a cut-off last record is left out.

    Raises ValueError for a file that is no spool or holds records of a size that its type does not have.
    """
    content = path.read_bytes()
    if content[:8] != b"HWSPOOL\0":
        raise ValueError(f"{path} is no spool file")
    _version, source, producer, cpu = (int(n) for n in np.frombuffer(content, "<u4", 4, 8))
    halves = np.frombuffer(content, "<u2", len(content) // 2)
    offsets: dict[int, list[int]] = {}
    at = HEADER_BYTES
    while at + 16 <= len(content):
        record_type, size = int(halves[at // 2 + 4]), int(halves[at // 2 + 5])
        if size == 0 or at + size > len(content):
            break
        if record_type in RECORD and size != RECORD[record_type].itemsize:
            raise ValueError(f"{path}: a record of type {record_type} has {size} bytes at offset {at}")
        offsets.setdefault(record_type, []).append(at)
        at += size
    every_byte = np.frombuffer(content, "u1")
    records = {}
    for record_type, found in offsets.items():
        dtype = RECORD[record_type]
        picked = every_byte[np.array(found)[:, None] + np.arange(dtype.itemsize)]
        records[record_type] = np.ascontiguousarray(picked).view(dtype)[:, 0]
    return SpoolFile(source, producer, cpu, records)


def comm(record: np.void) -> bytes:
    """Return the bytes of a thread's name in a record, without the zeros behind it."""
    return bytes(record["comm"]).split(b"\0", 1)[0]


class Spool:
    """All files of a kernel collector's spool directory."""

    def __init__(self, directory: Path) -> None:
        """Read `sched-cpu*.spool` and `lifecycle.spool` of `directory`."""
        self.sched = [read_spool_file(path) for path in sorted(directory.glob("sched-cpu*.spool"))]
        self.lifecycle = read_spool_file(directory / "lifecycle.spool")

    def tids(self) -> set[int]:
        """Return the ids of all threads that a record of a birth, an exec or a snapshot names."""
        return {int(tid) for kind in (FORK, EXEC, SNAPSHOT) for tid in self.lifecycle.of(kind)["tid"]}

    def switches(self) -> np.ndarray:
        """Return all switches of recorded threads in time order, with the CPU as a further field."""
        every = self._with_cpu(SWITCH)
        of_ours: np.ndarray = every[every["flags"] & (PREV_OURS | NEXT_OURS) != 0]
        return of_ours

    def wakings(self) -> np.ndarray:
        """Return all wakings in time order."""
        return np.sort(np.concatenate([file.of(WAKING) for file in self.sched]), order="ts_ns", kind="stable")

    def losses(self) -> np.ndarray:
        """Return all records of losses in the rings of switches."""
        return np.concatenate([file.of(LOSS) for file in self.sched])

    def _with_cpu(self, record_type: int) -> np.ndarray:
        parts = []
        for file in self.sched:
            records = file.of(record_type)
            wide = np.empty(len(records), np.dtype([*RECORD[record_type].descr, ("on_cpu", "<u4")]))
            for field in RECORD[record_type].names or ():
                wide[field] = records[field]
            wide["on_cpu"] = file.cpu
            parts.append(wide)
        return np.sort(np.concatenate(parts), order="ts_ns", kind="stable")

    def running_ns(self) -> dict[int, int]:
        """Return by thread how long it ran: from the switch to it to the switch away, where both are there."""
        since: dict[int, int] = {}
        total: dict[int, int] = {}
        for record in self.switches():
            now, out, came = int(record["ts_ns"]), int(record["tid"]), int(record["next_tid"])
            if record["flags"] & PREV_OURS and out in since:
                total[out] = total.get(out, 0) + now - since.pop(out)
            if record["flags"] & NEXT_OURS:
                since[came] = now
        return total
