"""Builds spools of kernel and agent records, and decodes them in terms of the table `slice`.

Written from native/wire/records.h alone. Times are ns; a switch's `out` and `into` are tids, None for a thread that is not
recorded.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headway import _native
from headway.store import packing

EBPF, PERF = 1, 2
PREEMPT, PREV_OURS, NEXT_OURS, NO_EXEC, OTHERS, COUNTED = 1, 2, 4, 8, 32, 64
SLEEP, DISK, STOPPED, DEAD = 1, 2, 4, 0x80


@dataclass
class Agent:
    """The records of one JVM's agent; `pid` and the tids are in that JVM's namespace."""

    pid: int
    created_ns: int = 0
    lost: int = 0
    records: list[bytes] = field(default_factory=list)

    def thread(self, ns: int, tid: int, java_id: int, name: bytes, group: bytes = b"main", flags: int = 0) -> None:
        """Add the start of a Java thread."""
        body = struct.pack("<QIHH", java_id, flags, len(name), len(group)) + name + group
        self.records.append(record(ns, 34, tid, body))

    def rename(self, ns: int, tid: int, java_id: int, name: bytes) -> None:
        """Add a thread's new name."""
        self.records.append(record(ns, 39, tid, struct.pack("<QIHH", java_id, 0, len(name), 0) + name))

    def end(self, ns: int, tid: int, java_id: int, cpu_ns: int) -> None:
        """Add the end of a Java thread."""
        self.records.append(record(ns, 35, tid, struct.pack("<QQ", java_id, cpu_ns)))

    def phase(self, start_ns: int, end_ns: int, kind: int, cause: bytes) -> None:
        """Add a phase of the JVM."""
        self.records.append(record(end_ns, 36, 1, struct.pack("<qII", start_ns, kind, len(cause)) + cause))

    def fact(self, key: bytes, value: bytes, part: int = 0) -> None:
        """Add a fact that the JVM says of itself."""
        self.records.append(record(1, 33, 1, struct.pack("<HHI", len(key), part, len(value)) + key + value))

    def write(self, directory: Path) -> None:
        """Write the file, each record in a chunk of its own as if by different threads, last ones first."""
        chunks = []
        for each in reversed(self.records):
            head = struct.pack("<qHHIII", 0, 32, 0, 1, 24 + len(each), 0)
            chunks.append((head + each).ljust(512, b"\0"))
        begin = header(3, 0, 0, self.pid, 512, self.created_ns, self.lost, next_chunk=4096 + 512 * len(chunks))
        content = begin + b"".join(chunks)
        (directory / f"agent-{self.pid}.spool").write_bytes(content)


@dataclass
class Spool:
    """The kernel records of a spool by source; `write` creates the files.

    `counters`: how many counters the switches were read of, and in how many groups; `counters_of`: what the header of one CPU's
    file says instead. Counts of a switch or reading: what each counter stood at, then for how long each group did not count.
    """

    producer: int = EBPF
    counters: tuple[int, int] = (0, 0)
    counters_of: dict[int, tuple[int, int]] = field(default_factory=dict)
    sched: dict[int, list[bytes]] = field(default_factory=dict)
    created_ns: int = 0
    life: list[bytes] = field(default_factory=list)

    def switch(
        self,
        ns: int,
        cpu: int,
        out: int | None,
        into: int | None,
        state: int = SLEEP,
        preempt: bool = False,
        exec_ns: int | None = None,
        blocked_in: int = 0,
        others_ns: int | None = None,
        counts: Sequence[int] | None = None,
    ) -> None:
        """Add a switch of threads on a CPU."""
        flags = PREV_OURS * (out is not None) | NEXT_OURS * (into is not None)
        flags |= (
            PREEMPT * preempt | NO_EXEC * (exec_ns is None and others_ns is None) | OTHERS * (others_ns is not None)
        )
        flags |= COUNTED * (counts is not None)
        executed_ns = others_ns if exec_ns is None else exec_ns
        body = struct.pack("<IHHQ", into or 0, 0 if out is None else state | blocked_in << 8, flags, executed_ns or 0)
        self._sched(cpu, ns, 1, out or 0, body + words(counts or ()))

    def reading(self, ns: int, cpu: int, tid: int | None, counts: Sequence[int]) -> None:
        """Add what a CPU's counters stand at when user space asks; `tid`: the recorded thread that has the CPU."""
        self._sched(cpu, ns, 4, tid or 0, words(counts))

    def waking(self, ns: int, cpu: int, tid: int, by: int | None = None, irq: bool = False, new: bool = False) -> None:
        """Add a waking."""
        flags = 1 * new | 2 * irq | 4 * (by is not None)
        self._sched(cpu, ns, 2, tid, struct.pack("<IHH", by or 0, flags, cpu))

    def loss(self, ns: int, cpu: int, first_ns: int, events: int) -> None:
        """Add a span of lost records."""
        self._sched(cpu, ns, 3, 0, struct.pack("<IIqqQ", cpu, 0, first_ns, ns, events))

    def fork(self, ns: int, tid: int, pid: int = 0, parent: int = 1, comm: bytes = b"t", start_ns: int = -1) -> None:
        """Add the birth of a thread."""
        start = ns if start_ns < 0 else start_ns
        self._life(ns, 16, tid, struct.pack("<IIIIq16s", pid or tid, parent, parent, tid, start, comm))

    def exit(self, ns: int, tid: int, exec_ns: int = 0) -> None:
        """Add the end of a thread."""
        self._life(ns, 17, tid, struct.pack("<IIQ", tid, 0, exec_ns))

    def rename(self, ns: int, tid: int, comm: bytes) -> None:
        """Add a thread's new kernel name."""
        self._life(ns, 18, tid, struct.pack("<II16s", tid, 0, comm))

    def exec(self, ns: int, tid: int, old_tid: int, comm: bytes = b"new") -> None:
        """Add an exec."""
        self._life(ns, 19, tid, struct.pack("<II16s", tid, old_tid, comm))

    def snapshot(self, ns: int, tid: int, state: str, start_ns: int = 0, pid: int = 0, exec_ns: int = 0) -> None:
        """Add a thread that ran when the recording began."""
        body = struct.pack("<IIIIqQ16s", pid or tid, 1, tid, ord(state), start_ns, exec_ns, b"old")
        self._life(ns, 20, tid, body)

    def totals(self, ns: int, tid: int, exec_ns: int, waited_ns: int) -> None:
        """Add a thread's totals as the kernel counts them."""
        self._life(ns, 21, tid, struct.pack("<IIQQQ", tid, 0, exec_ns, waited_ns, 1))

    def write(self, directory: Path) -> Path:
        """Write the files."""
        directory.mkdir(parents=True, exist_ok=True)
        for cpu, records in self.sched.items():
            counted = self.counters_of.get(cpu, self.counters)
            content = header(1, self.producer, cpu, created_ns=self.created_ns, counted=counted) + b"".join(records)
            (directory / f"sched-cpu{cpu}.spool").write_bytes(content)
        (directory / "lifecycle.spool").write_bytes(header(2, self.producer, 0) + b"".join(self.life))
        return directory

    def _sched(self, cpu: int, ns: int, kind: int, tid: int, body: bytes) -> None:
        self.sched.setdefault(cpu, []).append(record(ns, kind, tid, body))

    def _life(self, ns: int, kind: int, tid: int, body: bytes) -> None:
        self.life.append(record(ns, kind, tid, body))


def header(
    source: int,
    producer: int,
    cpu: int,
    pid: int = 0,
    chunk_bytes: int = 0,
    created_ns: int = 0,
    lost: int = 0,
    next_chunk: int = 0,
    counted: tuple[int, int] = (0, 0),
) -> bytes:
    """Return the header of a file."""
    who = struct.pack("<8sIIIIII", b"HWSPOOL\0", 1, source, producer, cpu, pid, 0)
    numbers = struct.pack("<qqIIQQQIHH", created_ns, 0, 0, chunk_bytes, next_chunk, 0, lost, 0, *counted)
    return (who + numbers).ljust(4096, b"\0")


def words(numbers: Sequence[int]) -> bytes:
    """Return numbers as 64-bit words."""
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def record(ns: int, kind: int, tid: int, body: bytes) -> bytes:
    """Return a record."""
    body = body.ljust(-(-len(body) // 8) * 8, b"\0")
    return struct.pack("<qHHI", ns, kind, 16 + len(body), tid) + body


class Slice(NamedTuple):
    """One row of the table `slice`. `waker`: thread_id, -1 unknown, -2 outside. None: unknown in this mode."""

    thread: int
    start: int
    blocked: int
    runnable: int | None
    running: int
    stolen: int | None
    cpu: int
    state: int
    waker: int
    irq: bool
    is_open: bool
    blocked_in: int = 0


@dataclass
class Decoded:
    """A spool as the native decoder reads it. `counts`: of each slice, one per counter and then per group; None: not known."""

    slices: list[Slice]
    result: dict[str, Any]
    lives: dict[str, Any]
    counts: list[list[int] | None]

    def of(self, thread: int) -> list[Slice]:
        """Return the slices of a thread."""
        return [row for row in self.slices if row.thread == thread]

    def total(self, name: str, thread: int) -> int:
        """Return the sum of this name for a thread."""
        return int(self.result["threads"][name][thread])

    def states(self, thread: int) -> list[tuple[str, int, int]]:
        """Return a thread's states as (state, begin, end), from its slices."""
        found = []
        for row in self.of(thread):
            woken = row.start - (row.runnable or 0)
            name = ("none", "sleeping", "uninterruptible", "stopped")[row.state]
            parts = ((name, woken - row.blocked, woken), ("runnable", woken, row.start))
            parts += (("running", row.start, row.start + row.running),)  # type: ignore[assignment]
            found += [part for part in parts if part[2] > part[1]]
        return found

    def levels(self) -> dict[tuple[int, int], int]:
        """Return ns by (active, running) over all kinds."""
        activity = self.result["activity"]
        active = sum(activity[f"active_{kind}"] for kind in ("app", "gc", "jit", "vm"))
        running = sum(activity[f"running_{kind}"] for kind in ("app", "gc", "jit", "vm"))
        found: dict[tuple[int, int], int] = {}
        for a, r, ns in zip(active.tolist(), running.tolist(), activity["dur_ns"].tolist(), strict=True):
            found[(a, r)] = found.get((a, r), 0) + ns
        return found


def decode(
    spool: Spool | Path,
    directory: Path,
    window: tuple[int, int],
    kinds: dict[int, int] | None = None,
    tick_ns: int = 1,
    bin_ns: int = 1 << 40,
    max_activity_rows: int = 1 << 17,
    batch: int = 1 << 18,
) -> Decoded:
    """Decode a spool. `kinds[thread_id]` is 0..3 (app, gc, jit, vm) or 255, 0 for those not given."""
    path = spool.write(directory) if isinstance(spool, Spool) else spool
    decoder = _native.Decoder(str(path))
    lives = decoder.lifecycle()
    codes = np.zeros(len(lives["tid"]), dtype=np.uint8)
    for thread, kind in (kinds or {}).items():
        codes[thread] = kind
    decoder.begin(*window, codes, bin_ns, tick_ns, max_activity_rows)
    rows: list[Slice] = []
    counts: list[list[int] | None] = []
    for columns in iter(lambda: decoder.next(batch), None):
        lists = {name: values.tolist() for name, values in columns.items()}
        rows += unpack(lists, tick_ns)
        words_of = [lists[name] for name in packing.count_columns(*decoder.counted())]
        counts += [None if min(row) < 0 else [*row] for row in zip(*words_of, strict=True)]
    return Decoded(rows, decoder.result(), lives, counts)


def unpack(c: dict[str, list[int]], tick: int) -> list[Slice]:
    """Unpack stored slices, as the view `slice` does in SQL."""
    return [
        Slice(
            c["thread_id"][i],
            (c["end_ticks"][i] - c["running_ticks"][i]) * tick,
            c["blocked_ticks"][i] * tick,
            None if flags & packing.RUNNABLE_UNKNOWN else c["runnable_ticks"][i] * tick,
            c["running_ticks"][i] * tick,
            None if flags & packing.STOLEN_UNKNOWN else c["stolen_ticks"][i] * tick,
            c["cpu"][i],
            flags & packing.BLOCKED_STATE,
            c["waker_id"][i],
            bool(flags & packing.WAKER_IRQ),
            bool(flags & packing.IS_OPEN),
            c["blocked_in"][i],
        )
        for i, flags in enumerate(c["flags"])
    ]
