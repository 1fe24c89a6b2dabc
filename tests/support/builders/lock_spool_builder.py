"""Builds an agent's lock records and table of sums, from native/wire/records.h alone."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

from support.builders.spool_builder import Agent, record

PARK, MONITOR, WAIT = 1, 2, 3
TIMED, OPEN, ATTACHED, VIRTUAL, PINNED, END_GUESSED, TOGETHER, AGAIN = 1, 2, 4, 8, 16, 32, 64, 128
CLASSES, CLASS_BYTES, SLOT_BYTES = 4096, 128, 128


@dataclass
class LockAgent(Agent):
    """An agent that records locks. Its ids start at 1; 0 means none."""

    def method(self, method_id: int, class_name: bytes, name: bytes) -> None:
        """Announce a method."""
        body = struct.pack("<IHH", method_id, len(class_name), len(name)) + class_name + name
        self.records.append(record(1, 40, 1, body))

    def stack(self, stack_id: int, frames: list[tuple[int, int]], is_cut: bool = False) -> None:
        """Frames are (method_id, line), innermost first."""
        body = struct.pack("<IHH", stack_id, len(frames), is_cut)
        self.records.append(record(1, 41, 1, body + b"".join(struct.pack("<Ii", *frame) for frame in frames)))

    def blocker(
        self,
        ns: int,
        blocker_id: int,
        kind: int,
        class_name: bytes,
        identity_hash: int,
        java_id: int = 0,
        name: bytes = b"",
        stack_id: int = 0,
    ) -> None:
        """Announce an object that threads wait for."""
        sizes = (len(class_name), len(name))
        body = struct.pack("<IIIIIHH", blocker_id, identity_hash, kind, java_id, stack_id, *sizes) + class_name + name
        self.records.append(record(ns, 42, 1, body))

    def dead(self, ns: int, blocker_id: int, folded_into: int = 0) -> None:
        """Add that an object was collected."""
        self.records.append(record(ns, 43, 1, struct.pack("<II", blocker_id, folded_into)))

    def block(
        self,
        tid: int,
        java_id: int,
        start_ns: int,
        end_ns: int,
        blocker_id: int,
        kind: int = PARK,
        flags: int = 0,
        waking_ns: int = 0,
        waker: int = 0,
        owner: int = 0,
        stack_id: int = 0,
        waker_stack_id: int = 0,
        weight: int = 1,
    ) -> None:
        """Add a wait."""
        ids = (blocker_id, stack_id, java_id, waker, waker_stack_id, owner)
        body = struct.pack("<qqIIIIIIHHI", start_ns, waking_ns, *ids, kind, flags, weight)
        self.records.append(record(end_ns, 44, tid, body))

    def hold(self, tid: int, java_id: int, start_ns: int, end_ns: int, blocker_id: int) -> None:
        """Add a hold."""
        self.records.append(record(end_ns, 45, tid, struct.pack("<qII", start_ns, blocker_id, java_id)))

    def standing(self, ns: int, java_id: int, stack_id: int, state: int) -> None:
        """Add the stack of a waiting thread (hw_standing_in)."""
        self.records.append(record(ns, 47, 1, struct.pack("<IIII", stack_id, java_id, state, 0)))

    def capped(self, ns: int) -> None:
        """Add that single waits end here."""
        self.records.append(record(ns, 46, 1, b""))


@dataclass
class Slot:
    """One row of the table of sums."""

    blocker_id: int
    kind: int
    class_index: int = 0
    identity_hash: int = 0
    first_java_id: int = 0
    parked_now: int = 0
    peak_parked: int = 0
    times: int = 0
    measured: int = 0
    first_ns: int = 0
    last_ns: int = 0
    thread_time_ns: int = 0
    real_time_ns: int = 0
    holds: int = 0
    hold_ns: int = 0
    is_dead: bool = False

    def packed(self) -> bytes:
        """Return it as bytes."""
        now = (0, self.blocker_id, self.parked_now, self.peak_parked, self.times, self.measured)
        times = (self.first_ns, self.last_ns, self.thread_time_ns, self.real_time_ns)
        who = (self.identity_hash, self.class_index, self.kind, self.is_dead, self.first_java_id, 0, 0)
        return struct.pack("<4I2Q2q2Q2I2H3I2Q", *now, *times, *who, self.holds, self.hold_ns).ljust(SLOT_BYTES, b"\0")


@dataclass
class LockTable:
    """The file locks-<pid>.table; `dropped`, `capped_ns` and `below_threshold` are in its header."""

    pid: int
    classes: list[bytes] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    dropped: int = 0
    capped_ns: int = 0
    below_threshold: int = 0

    def write(self, directory: Path) -> Path:
        """Write the file."""
        counts = (SLOT_BYTES, len(self.slots) + 1, len(self.classes), 0)
        totals = (self.dropped, 0, self.capped_ns, 0, self.below_threshold)
        head = struct.pack("<8sIIqIIIIQQqqQ", b"HWLOCKS\0", 2, self.pid, 0, *counts, *totals)
        names = b"".join(each.ljust(CLASS_BYTES, b"\0") for each in self.classes).ljust(CLASSES * CLASS_BYTES, b"\0")
        slots = b"".join(each.packed() for each in [Slot(0, 0), *self.slots])
        path = directory / f"locks-{self.pid}.table"
        path.write_bytes(head.ljust(4096, b"\0") + names + slots)
        return path
