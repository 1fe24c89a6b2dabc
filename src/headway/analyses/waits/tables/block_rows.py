"""The table `block` in memory, as columns of few bytes: recordings have more waits than anything but switches.

Question   who waited for what, from when until when, and who ended it?
Method     rows are read in batches into columns of 55 bytes a wait. Where memory is limited only as many waits as fit are read,
           from the begin of the window on: what is left out is told (HW435), as where the agent's file was full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headway.analyses.common import memory
from headway.analyses.waits.tables.acquisitions import waits_of
from headway.model.kinds import BLOCKER_KINDS

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.acquisitions import WholeWaits
    from headway.store import Recording

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]

KINDS = tuple(BLOCKER_KINDS.values())
_FLAGS = ("is_timed", "is_open", "is_attached", "is_kernel_waking", "is_pinned", "is_repark", "owns_monitor")
_IDS = ("blocker", "thread", "stack", "waker", "waker_stack", "owner")
_TIMES = ("began", "full", "waking")
_BATCH = 1 << 17


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks that overlap the window, in order of start. `start`, `end` are clipped to it, `began` and `full` are not.

    Ids are int32, and `kind` (a place in KINDS) int8: widen them before they are multiplied. `is_kernel_waking`: the waker
    unparked nobody; never so in recordings that do not tell. `is_pinned`: of a virtual thread that kept its carrier.
    `is_repark`: it goes on with the wait of its thread's block before; see `waits`. `owns_monitor`: see unmounted_owners.
    """

    blocker: Ints
    kind: Ints
    thread: Ints
    start: Ints
    end: Ints
    began: Ints
    full: Ints
    stack: Ints
    waker: Ints
    waker_stack: Ints
    waking: Ints
    owner: Ints
    is_timed: Bools
    is_open: Bools
    is_attached: Bools
    is_kernel_waking: Bools
    is_pinned: Bools
    is_repark: Bools
    owns_monitor: Bools

    @cached_property
    def waits(self) -> WholeWaits:
        """Return which blocks are one wait."""
        return waits_of(self.thread, self.blocker, self.full - self.began, self.is_repark)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.blocker)

    def where(self, keep: Ints | Bools) -> Blocks:
        """Return the selected blocks."""
        return Blocks(**{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})


class Keys(Protocol):
    """The interface that numbers threads and objects."""

    def keys(self, pid: Ints, thread_id: Ints, java_id: Ints) -> Ints:
        """Return the keys of threads given by their columns; -1 in both: nobody."""

    def number_all(self, rows: list[tuple[int, int]]) -> None:
        """Give numbers to threads without a thread_id, in this order: (pid, java_id) of each."""


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading: blocks, and their total number; if memory did not suffice, only those before `until_ns`."""

    blocks: Blocks
    rows: int
    until_ns: int | None


def whole(values: Any) -> Ints:
    """Return a column as int64, -1 for null."""
    filled = values.filled(-1) if isinstance(values, np.ma.MaskedArray) else values
    return np.asarray(filled).astype(np.int64)


def read(
    recording: Recording, threads: Keys, object_rows: Callable[[Ints], Ints], window: tuple[int, int] | None
) -> Read:
    """Read the blocks that overlap a window (ns from the recording's start), None for all, as many as fit in memory.

    `object_rows` returns the rows of objects in LockData.blockers by their blocker_id, -1 for one that is not there.
    """
    origin = recording.window_ns[0]
    condition = ""
    if window is not None:
        low, high = origin + window[0], origin + window[1]
        condition = f" WHERE (start_ns + dur_ns > {low} OR start_ns >= {low}) AND start_ns < {high}"
    rows = _count(recording, condition)
    most = min(rows, memory.most_waits(recording))
    _number(recording, threads, condition)
    into = _empty(most)
    at, until = 0, None
    for batch in recording.batches(_select(condition), _BATCH):
        known, flags = _columns(batch, origin)
        count = min(batch.num_rows, most - at)
        _fill(into, slice(at, at + count), _numbered(known, threads, object_rows), flags)
        at += count
        if count < batch.num_rows:
            until = int(known["began"][count])
            break
    return Read(_in_order(_clipped(into, window)), rows, until)


def _count(recording: Recording, condition: str) -> int:
    row = recording.query(f"SELECT count(*) FROM block{condition}").fetchone()
    return int(row[0]) if row is not None else 0


def _number(recording: Recording, threads: Keys, condition: str) -> None:
    """Number the threads that have no thread_id: those that waited, that woke and that owned, by JVM and id."""
    for who in ("", "waker_", "owner_"):
        is_other = f"coalesce({who}thread_id, -1) < 0 AND {who}java_id > 0"
        rows = recording.query(
            f"SELECT DISTINCT pid, {who}java_id AS id FROM block{condition or ' WHERE true'} AND {is_other} ORDER BY pid, id"
        ).fetchall()
        threads.number_all(rows)


_OTHERS = ("", "waker_", "owner_")


def _select(condition: str) -> str:
    kind = " ".join(f"WHEN '{name}' THEN {number}" for number, name in enumerate(KINDS[:-1]))
    flags = ", ".join(f"coalesce({name}, false) AS {name}" for name in _FLAGS)
    threads = ", ".join(
        f"coalesce({who}thread_id, -1) AS {who}thread_id, coalesce({who}java_id, -1) AS {who}java_id" for who in _OTHERS
    )
    return (
        f"SELECT pid, blocker_id, CAST(CASE kind {kind} ELSE {len(KINDS) - 1} END AS TINYINT) AS kind, {threads},"
        f" coalesce(stack_id, -1) AS stack, coalesce(waker_stack_id, -1) AS waker_stack, start_ns, dur_ns,"
        f" coalesce(waking_ns, -1) AS waking_ns, {flags} FROM block{condition}"
    )


def _columns(batch: pa.RecordBatch, origin: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the numbers and the flags of a batch by name; times from the recording's start."""
    found = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names}
    found["began"] = found["start_ns"] - origin
    found["full"] = found["began"] + found["dur_ns"]
    found["waking"] = np.where(found["waking_ns"] > 0, found["waking_ns"] - origin, -1)
    return found, {name: found.pop(name) for name in _FLAGS}


def _numbered(known: Mapping[str, Any], threads: Keys, object_rows: Callable[[Ints], Ints]) -> dict[str, Any]:
    """Return the columns of Blocks: threads by their keys, objects by their rows."""
    keys = (
        threads.keys(*(known[name].astype(np.int64) for name in ("pid", f"{who}thread_id", f"{who}java_id")))
        for who in _OTHERS
    )
    thread, waker, owner = keys
    return {
        **{name: known[name] for name in (*_TIMES, "kind", "stack", "waker_stack")},
        "blocker": object_rows(known["blocker_id"].astype(np.int64)),
        **{"thread": thread, "waker": waker, "owner": owner},
    }


def _empty(rows: int) -> dict[str, NDArray[Any]]:
    return {
        **{name: np.empty(rows, np.int32) for name in _IDS},
        **{name: np.empty(rows, np.int64) for name in _TIMES},
        **{name: np.empty(rows, bool) for name in _FLAGS},
        "kind": np.empty(rows, np.int8),
    }


def _fill(into: Mapping[str, NDArray[Any]], where: slice, columns: Mapping[str, Any], flags: Mapping[str, Any]) -> None:
    count = where.stop - where.start
    for name, values in (*columns.items(), *flags.items()):
        into[name][where] = values[:count]


def _clipped(columns: dict[str, NDArray[Any]], window: tuple[int, int] | None) -> Blocks:
    """Return the blocks; without a window they are not clipped, and have their times once in memory."""
    began, full = columns["began"], columns["full"]
    if window is None:
        return Blocks(start=began, end=full, **columns)
    return Blocks(start=np.maximum(began, window[0]), end=np.minimum(full, window[1]), **columns)


def _in_order(blocks: Blocks) -> Blocks:
    """Return the waits whose object is in the table `blocker`, in order of their start."""
    if (blocks.blocker < 0).any():
        blocks = blocks.where(np.flatnonzero(blocks.blocker >= 0))
    is_sorted = bool((blocks.began[1:] >= blocks.began[:-1]).all())
    return blocks if is_sorted else blocks.where(np.argsort(blocks.began, kind="stable"))
