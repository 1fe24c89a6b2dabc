"""Slices as the kernel's scheduling events, CPU by CPU, in batches: what `perfetto` puts into ftrace bundles.

A slice knows how its thread's wait began and when it got its CPU; a sched_switch tells the state in which the *previous* thread
left. So a first pass notes, one byte per slice, in which state its thread goes on; the second writes the events.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.report.export import protobuf as pb
from headway.store.scratch import scratch_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

BATCH_ROWS, MOST_BATCH_ROWS, ROWS_OF_A_CPU = 1 << 16, 1 << 20, 32
"""How many slices are written at a time, the least and the most, and how many of them for each CPU: a trace repeats some bytes
for each CPU of a batch, so with thousands of CPUs small batches would be mostly these."""
# Above PID_MAX_LIMIT (2**22): never a thread of the machine.
UNRECORDED_PID = (1 << 22) + 1
UNKNOWN_WAKER, OUTSIDE_WAKER = UNRECORDED_PID + 1, UNRECORDED_PID + 2
IDLE = 0
PRIO = 120  # an ordinary thread's; recordings do not hold priorities
_COLUMNS = "thread_id, start_ns, blocked_ns, runnable_ns, running_ns, cpu, waker_id, waker_irq, is_open"
# How slice.blocked_state reads as the kernel's task state: running on, S, D, T; the last one is a dead thread's X.
_TASK_STATE = (0, 1, 2, 4)
_DEAD = 16
_IRQ = 0x08  # TRACE_FLAG_HARDIRQ


def unrecorded_threads() -> list[tuple[int, int, str]]:
    """Return (tid, pid, name) of the threads that stand for wakers without a record."""
    return [
        (UNKNOWN_WAKER, UNRECORDED_PID, "waker not known"),
        (OUTSIDE_WAKER, UNRECORDED_PID, "waker outside the recording"),
    ]


def sched_bundles(recording: Recording) -> Iterator[bytes]:
    """Yield FtraceEventBundle messages: each of one CPU, the CPU's events in order of time."""
    import numpy as np

    threads = recording.query(
        "SELECT thread_id, tid, LEFT(name, 256), end_ns IS NOT NULL FROM thread ORDER BY thread_id"
    ).fetchall()
    ids = recording.query("SELECT max(thread_id), max(waker_id) FROM slice").fetchone() or ()
    largest = max(threads[-1][0] if threads else -1, *(each for each in ids if each is not None), -1)
    size = recording.places_of_threads(len(threads), largest)
    tids, names = np.zeros(size, dtype=np.int64), ["not on record"] * size
    ended = np.zeros(size, dtype=bool)
    for thread_id, tid, name, has_end in threads:
        tids[thread_id], names[thread_id], ended[thread_id] = tid, name, has_end
    with tempfile.TemporaryFile(dir=scratch_place()) as scratch:
        leaves = _states_after(recording, scratch, ended)
        writer = _Writer(tids, names)
        row = 0
        for batch in _batches(recording, _COLUMNS):
            count = len(batch["thread_id"])
            yield from writer.batch(batch, np.asarray(leaves[row : row + count]))
            row += count
        yield from writer.finish()


def _batches(recording: Recording, columns: str) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the columns of `slice` in the table's order, which is that of the running parts' ends."""
    (cpus,) = recording.query("SELECT count(DISTINCT cpu) FROM slice").fetchone() or (0,)
    rows = min(max(BATCH_ROWS, ROWS_OF_A_CPU * cpus), MOST_BATCH_ROWS)
    for batch in recording.batches(f"SELECT {columns} FROM slice", rows):
        yield {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}


def _states_after(recording: Recording, scratch: Any, ended: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return, per slice, the task state in which its thread leaves the CPU: what its next slice says of its wait."""
    import numpy as np

    total = recording.manifest.tables["slice"].rows
    scratch.truncate(max(total, 1))
    states: NDArray[np.uint8] = np.memmap(scratch, dtype=np.uint8, mode="r+", shape=(max(total, 1),))
    last = np.full(len(ended), -1, dtype=np.int64)
    row = 0
    for batch in _batches(recording, "thread_id, blocked_state"):
        ids = batch["thread_id"].astype(np.int64)
        begins = np.array(_TASK_STATE, dtype=np.uint8)[batch["blocked_state"]]
        order = np.argsort(ids, kind="stable")
        ordered = ids[order]
        same = ordered[1:] == ordered[:-1]
        states[row + order[:-1][same]] = begins[order[1:][same]]
        first = order[np.concatenate([[True], ~same])]
        known = first[last[ids[first]] >= 0]
        states[last[ids[known]]] = begins[known]
        final = order[np.concatenate([~same, [True]])]
        last[ids[final]] = row + final
        row += len(ids)
    states[last[(last >= 0) & ended]] = _DEAD
    return states


@dataclass
class _Leaving:
    """A thread that is on a CPU at the end of a batch: how and when it leaves."""

    ns: int
    state: int
    is_open: bool


class _Writer:
    """Turns batches of slices into bundles; remembers which thread is on which CPU in between."""

    def __init__(self, tids: NDArray[np.int64], names: list[str]) -> None:
        self._tids = tids
        self._names = names
        self._on: dict[int, _Leaving] = {}

    def batch(self, rows: dict[str, NDArray[Any]], leaves: NDArray[np.uint8]) -> Iterator[bytes]:
        """Yield one bundle for each CPU that the rows touch."""
        import numpy as np

        cpus = np.maximum(rows["cpu"], 0)
        order = np.argsort(cpus, kind="stable")
        found, first = np.unique(cpus[order], return_index=True)
        for cpu, of_cpu in zip(found, np.split(order, first[1:]), strict=True):
            part = {name: values[of_cpu] for name, values in rows.items()}
            ran = (part["running_ns"] > 0) & (part["cpu"] >= 0)
            ids = part["thread_id"][ran]
            switches = self._switches(
                int(cpu), ids, part["start_ns"][ran], part["running_ns"][ran], leaves[of_cpu][ran], part["is_open"][ran]
            )
            yield pb.integer(1, int(cpu)) + self._wakings(part, int(cpu)) + switches

    def finish(self) -> Iterator[bytes]:
        """Yield the last switch of each CPU: to idle, unless the recording ended before it."""
        import numpy as np

        for cpu, leaving in sorted(self._on.items()):
            if not leaving.is_open:
                events = [np.array([value]) for value in (leaving.ns, leaving.state, IDLE, 0)]
                yield pb.integer(1, cpu) + _compact(*events, names=["swapper"])

    def _switches(
        self,
        cpu: int,
        ids: NDArray[Any],
        start: NDArray[Any],
        running: NDArray[Any],
        leaves: NDArray[Any],
        is_open: NDArray[Any],
    ) -> bytes:
        """Return the CPU's switches: into each slice, and to idle where the next one does not follow at once."""
        import numpy as np

        if len(ids) == 0:
            return b""
        order = np.argsort(start, kind="stable")
        ids, start, running, leaves, is_open = (v[order] for v in (ids, start, running, leaves, is_open))
        end = start + running
        before = self._on.get(cpu)
        left_ns = np.concatenate([[before.ns if before else -1], end[:-1]])
        left_state = np.concatenate([[before.state if before else 0], leaves[:-1]])
        gap = left_ns < start
        gap[0] &= before is not None
        used, inverse = np.unique(ids, return_inverse=True)
        comm = inverse + 1
        # Two events per slice, the first of which (to idle) is dropped where there is no gap.
        zero = np.zeros(len(ids), dtype=np.int64)
        ns = np.stack([left_ns, start], axis=1).ravel()
        state = np.stack([left_state, np.where(gap, 0, left_state)], axis=1).ravel()
        pid = np.stack([zero + IDLE, self._tids[ids]], axis=1).ravel()
        index = np.stack([zero, comm], axis=1).ravel()
        keep = np.stack([gap, np.ones(len(ids), dtype=bool)], axis=1).ravel()
        self._on[cpu] = _Leaving(int(end[-1]), int(leaves[-1]), bool(is_open[-1]))
        table = ["swapper", *(self._names[i] for i in used)]
        return _compact(ns[keep], state[keep], pid[keep], index[keep], names=table)

    def _wakings(self, part: dict[str, NDArray[Any]], cpu: int) -> bytes:
        """Return the sched_waking events that ended these slices' waits; their pid is the waker."""
        import numpy as np

        known = ~np.isnan(part["runnable_ns"].astype(float))  # null: the mode sees no wake-ups
        rows = np.flatnonzero((part["blocked_ns"] > 0) & known & ~((part["running_ns"] == 0) & part["is_open"]))
        if len(rows) == 0:
            return b""
        ns = part["start_ns"][rows] - part["runnable_ns"][rows].astype(np.int64)
        waker_id = part["waker_id"][rows]
        waker = np.where(waker_id >= 0, self._tids[np.maximum(waker_id, 0)], UNKNOWN_WAKER)
        waker[waker_id == -2] = OUTSIDE_WAKER
        flags = np.where(part["waker_irq"][rows], _IRQ, 0)
        return _waking_events(ns, waker, flags, self._tids[part["thread_id"][rows]], cpu)


def _compact(
    ns: NDArray[Any], state: NDArray[Any], pid: NDArray[Any], comm: NDArray[Any], *, names: list[str]
) -> bytes:
    """Return a bundle's compact_sched: columns of the switches, each column packed; names are kept once."""
    import numpy as np

    delta = np.diff(np.maximum(ns, 0), prepend=0)  # what says to be before the clock began is at its begin
    assert (delta >= 0).all(), "two slices overlap on one CPU"
    columns = (
        b"".join(pb.name(5, name) for name in names)
        + pb.packed(1, delta)
        + pb.packed(2, state)
        + pb.packed(3, pid)
        + pb.packed(4, np.full(len(ns), PRIO))
        + pb.packed(6, comm)
    )
    return pb.message(4, columns)


def _waking_events(ns: NDArray[Any], waker: NDArray[Any], flags: NDArray[Any], tid: NDArray[Any], cpu: int) -> bytes:
    """Return FtraceEvents with sched_waking, all of one length: built as rows of an array, without a loop."""
    import numpy as np

    count = len(ns)

    def constant(*values: int) -> NDArray[np.uint8]:
        return np.tile(np.array(values, dtype=np.uint8), (count, 1))

    # SchedWakingFtraceEvent: pid = 2, prio = 3, success = 4, target_cpu = 5.
    target = pb.padded(np.full(count, cpu), 2)
    waking = [constant(2 << 3), pb.padded(tid, 5), constant(3 << 3, PRIO, 4 << 3, 1, 5 << 3), target]
    # FtraceEvent: timestamp = 1, pid = 2, common_flags = 5, sched_waking = 20.
    head = [constant(1 << 3), pb.padded(ns, 9), constant(2 << 3), pb.padded(waker, 5), constant(5 << 3)]
    tag = pb.varint(20 << 3 | 2)
    inner = sum(part.shape[1] for part in waking)
    event = [*head, pb.padded(flags, 1), constant(*tag, inner), *waking]
    outer = sum(part.shape[1] for part in event)
    assert inner < 128
    assert outer < 128
    return np.concatenate([constant(2 << 3 | 2, outer), *event], axis=1).tobytes()
