"""Converts a file's blocking events (parks, contended monitor enters, Object.wait) into the tables `block` and `blocker`.

An object is its address, as a headway recording knows it by its identity hash; 0 is none.

Checked    tests/property/test_imported_waits.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headway.model.kinds import BLOCKER_KINDS
from headway.record.imports.sorted_runs import SortedRuns
from headway.record.jfr.reader import NONE, EventBatch
from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from headway.record.imports.sorted_runs import Columns


@dataclass(frozen=True, slots=True)
class _Wait:
    kind: str
    object: str
    other: str = ""  # the thread that had it, or that ended the wait
    role: str = ""  # what that thread is called in `block`


WAITS: Mapping[str, _Wait] = {
    "jdk.ThreadPark": _Wait("park", "parkedClass"),
    "jdk.JavaMonitorEnter": _Wait("monitor", "monitorClass", "previousOwner", "owner"),
    "jdk.JavaMonitorWait": _Wait("wait", "monitorClass", "notifier", "waker"),
}
_OLD_OBJECT = "klass"
"""What JDK 9 and 10 call the class of the object."""
KINDS = tuple(sorted(BLOCKER_KINDS.values()))  # in this order, as rows are
_ROLES = {wait.role: KINDS.index(wait.kind) for wait in WAITS.values() if wait.role}
COLUMNS = ("thread", "other", "is_timed", "start_ns", "dur_ns", "stack_id")
"""Of a wait; threads are places in the file's threads, and what is below 0 is none."""
_LATEST = 1 << 61
"""Times of a damaged file can be anything; the sum of two of them must be one."""
IN_MEMORY = 200_000_000
"""Bytes of rows that are sorted in memory; runs of this size go to disk."""


class ThreadNumbers(Protocol):
    """The interface of `ThreadIds` that is used here."""

    def numbers(self, places: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Return thread_id (-1: none), Java id (0: none) and whether it is virtual, for indexes into the file's threads."""


class WaitTables:
    """Collects batches of `WAITS`, then writes both tables."""

    def __init__(self, folder: Path, threads: ThreadNumbers, in_memory: int = IN_MEMORY, **most: int) -> None:
        """Start without waits; `folder` is for rows that do not fit in memory.

        `most_open` waits at a time are followed, `most_objects` are told apart (wait_objects.h).
        """
        from headway import _native

        self._objects = _native.WaitObjects(**most)
        self._staged = SortedRuns("start_ns", folder, in_memory)
        self._threads = threads
        self._classes: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Return the number of waits."""
        return self._staged.rows

    @property
    def not_followed(self) -> int:
        """Return how many waits are missing from an object's peak and real time, which are then too low (wait_objects.h)."""
        return int(self._objects.not_followed)

    @property
    def known_by_class_only(self) -> int:
        """Return for how many waits only the object's class is known, because there were too many objects."""
        return int(self._objects.not_told_apart)

    def add(self, batch: EventBatch) -> None:
        """Add a batch of one of `WAITS`."""
        import numpy as np

        how = WAITS[batch.event]
        address = batch.ints("address", 0)
        columns = {
            "thread": batch.ids("thread", "eventThread"),
            "other": batch.ids("thread", how.other),
            # The JDK writes Long.MIN_VALUE for "none", async-profiler 0.
            "is_timed": (batch.ints("timeout") > 0) | (batch.ints("until") > 0),
            "start_ns": np.clip(batch.ints("startTime", 0), -_LATEST, _LATEST),
            "dur_ns": np.clip(batch.ints("duration", 0), 0, _LATEST),
            "stack_id": batch.ids("stack", "stackTrace"),
        }
        self.add_rows(how.kind, self._class_numbers(batch, how.object), np.where(address == NONE, 0, address), columns)

    def add_rows(self, kind: str, classes: NDArray[np.int64], address: NDArray[np.int64], columns: Columns) -> None:
        """Add waits of one kind: the objects' classes (`class_number`) and addresses, and the columns of COLUMNS."""
        objects = self._objects.add(
            KINDS.index(kind),
            *(classes, address, columns["thread"], columns["stack_id"], columns["start_ns"], columns["dur_ns"]),
        )
        self._staged.add({"object": objects, **{name: columns[name] for name in COLUMNS}})

    def class_number(self, name: str) -> int:
        """Return the number of a class."""
        return self._classes.setdefault(name, len(self._classes))

    def _class_numbers(self, batch: EventBatch, name: str) -> NDArray[np.int64]:
        import numpy as np

        column = batch.columns.get(name) or batch.columns.get(_OLD_OBJECT)
        if column is None or column.kind != "text":
            return np.full(batch.rows, self.class_number(""), dtype=np.int64)
        numbers = np.array([self.class_number(text) for text in (*batch.texts, "")], dtype=np.int64)
        found: NDArray[np.int64] = numbers[column.values]
        return found

    def write(self, directory: Path, pid: int, threads: pa.Table) -> dict[str, TableInfo]:
        """Write both tables; `threads` has thread_id and name."""
        import numpy as np

        objects = self._objects.objects()
        by_name = np.argsort(np.argsort(np.array(list(self._classes), dtype=object), kind="stable"), kind="stable")
        order = np.lexsort((objects["address"], by_name[objects["class_name"]], objects["kind"], objects["first_ns"]))
        blocker_ids = np.empty(len(order), dtype=np.int32)
        blocker_ids[order] = np.arange(len(order), dtype=np.int32)
        with ColumnWriter(directory, TABLES["block"]) as blocks:
            for rows in self._staged.sorted():
                number = rows["object"]
                ids, kinds = blocker_ids.take(number), objects["kind"].take(number)
                blocks.write(len(number), _block(pid, rows, ids, kinds, self._threads))
                self._objects.levels(number, rows["start_ns"], rows["dur_ns"])
        self._objects.end_levels()
        with ColumnWriter(directory, TABLES["blocker"]) as blockers:
            sums = {name: values[order] for name, values in self._objects.objects().items()}
            sums["first_thread"], _, _ = self._threads.numbers(sums["first_thread"])
            blockers.write(len(order), _blocker(pid, sums, list(self._classes), threads))
        return {"blocker": blockers.info, "block": blocks.info}


def _block(
    pid: int, rows: Columns, blocker_id: NDArray[np.int32], kind: NDArray[np.int32], threads: ThreadNumbers
) -> dict[str, Values]:
    thread_id, java_id, is_virtual = threads.numbers(rows["thread"])
    return {
        "pid": pid,
        "thread_id": Numbers(thread_id),
        "java_id": Numbers(java_id, None),
        "is_virtual": Numbers(is_virtual, None),
        "blocker_id": Numbers(blocker_id, None),
        "kind": Texts(kind, KINDS),
        "stack_id": Numbers(rows["stack_id"]),
        "weight": 1,
        **{name: Numbers(rows[name], None) for name in ("is_timed", "start_ns", "dur_ns")},
        **_others(rows["other"], kind, threads),
        **dict.fromkeys(("is_pinned", "is_open", "is_attached", "is_end_guessed"), False),
    }


def _others(other: NDArray[np.int32], kind: NDArray[np.int32], threads: ThreadNumbers) -> dict[str, Values]:
    """Return the columns of who had the object and of who ended the wait; each kind of wait has one of them at most."""
    import numpy as np

    found: dict[str, Values] = {}
    for role, code in _ROLES.items():
        is_this = kind == code
        if not is_this.any():  # as parks have neither: null in every row
            continue
        thread_id, java_id, _ = threads.numbers(np.where(is_this, other, -1))
        found[f"{role}_thread_id"] = Numbers(thread_id)
        found[f"{role}_java_id"] = Numbers(java_id, below=1)
    return found


def _blocker(pid: int, rows: Columns, classes: Sequence[str], threads: pa.Table) -> dict[str, Values]:
    import numpy as np

    address = rows["address"]
    count = len(address)
    called = dict(zip(threads["thread_id"].to_pylist(), threads["name"].to_pylist(), strict=True))
    names = {name: number for number, name in enumerate(dict.fromkeys(["", *called.values()]))}
    name_of = np.array([names[called.get(n, "")] for n in range(-1, max(called, default=-1) + 1)])
    identity_hash = np.where(address == 0, 0, np.maximum((address >> 3) & 0x7FFFFFFF, 1))
    times = ("first_ns", "last_ns", "thread_time_ns", "real_time_ns")
    return {
        "pid": pid,
        "blocker_id": Numbers(np.arange(count, dtype=np.int32), None),
        "kind": Texts(rows["kind"], KINDS),
        "class_name": Texts(rows["class_name"], classes),
        "identity_hash": Numbers(identity_hash.astype(np.int32), None),
        "first_thread": Texts(name_of[rows["first_thread"] + 1], list(names)),
        "first_stack_id": Numbers(rows["first_stack"]),
        **{name: Numbers(rows[name], None) for name in times},
        **dict.fromkeys(("times_parked", "times_measured"), Numbers(rows["times"], None)),
        **dict.fromkeys(("parked_now", "holds", "hold_ns"), 0),
        "peak_parked": Numbers(np.maximum(rows["peak"], 1).astype(np.int32), None),
    }
