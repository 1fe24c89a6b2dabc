"""Blocking events of a file (parks, contended monitor enters, Object.wait) as the tables `block` and `blocker`.

An object is its address, as a headway recording knows it by its identity hash; 0 is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.record.jfr.reader import NONE, EventBatch
from headway.record.jfr.staging import IN_MEMORY, Scratch, Staged, named, optional
from headway.record.jfr.threads import ThreadIds
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from headway.record.jfr.staging import Columns


@dataclass(frozen=True, slots=True)
class _Wait:
    kind: str
    object: str
    owner: str = ""
    waker: str = ""


WAITS: Mapping[str, _Wait] = {
    "jdk.ThreadPark": _Wait("park", "parkedClass"),
    "jdk.JavaMonitorEnter": _Wait("monitor", "monitorClass", owner="previousOwner"),
    "jdk.JavaMonitorWait": _Wait("wait", "monitorClass", waker="notifier"),
}
KINDS = ("monitor", "park", "wait")
COLUMNS = (
    *("thread_id", "java_id", "is_virtual", "is_timed", "start_ns", "dur_ns", "stack_id"),
    *("waker_thread_id", "waker_java_id", "owner_thread_id", "owner_java_id"),
)
"""Of a wait; ids below 0 are none."""
_CHANGES = """
SELECT object, ns, change FROM (
  SELECT object, start_ns AS ns, CAST(1 AS BIGINT) AS change FROM wait
  UNION ALL SELECT object, start_ns + dur_ns, CAST(-1 AS BIGINT) FROM wait)
ORDER BY ns, change
"""
_LATEST = 1 << 61
"""Times of a damaged file can be anything; the sum of two of them must be one."""


class WaitTables:
    """Takes the batches of `WAITS`, then writes both tables."""

    def __init__(self, scratch: Scratch, in_memory: int = IN_MEMORY) -> None:
        """Begin with no waits."""
        from headway import _native  # type: ignore[attr-defined]

        self._objects = _native.WaitObjects()
        self._staged = Staged("wait", "start_ns", scratch, in_memory)
        self._classes: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Return how many waits there are."""
        return self._staged.rows

    def add(self, batch: EventBatch, threads: ThreadIds) -> None:
        """Take the rows of a batch of one of `WAITS`."""
        import numpy as np

        how = WAITS[batch.event]
        thread_id, java_id, virtual = threads.numbers(batch.ints("eventThread", -1))
        timeout, until = batch.ints("timeout"), batch.ints("until")
        address = batch.ints("address", 0)
        columns = {
            "thread_id": thread_id.astype(np.int32),
            "java_id": java_id,
            "is_virtual": virtual,
            # The JDK writes Long.MIN_VALUE for "none", async-profiler 0.
            "is_timed": ((timeout != NONE) & (timeout > 0)) | ((until != NONE) & (until > 0)),
            "start_ns": np.clip(batch.ints("startTime", 0), -_LATEST, _LATEST),
            "dur_ns": np.clip(batch.ints("duration", 0), 0, _LATEST),
            "stack_id": batch.ints("stackTrace", -1).astype(np.int32),
        }
        for role, column in (("owner", how.owner), ("waker", how.waker)):
            who, java, _ = threads.numbers(batch.ints(column if column in batch.columns else "", -1))
            columns[f"{role}_thread_id"] = who.astype(np.int32)
            columns[f"{role}_java_id"] = np.where(java > 0, java, -1)
        self.add_rows(how.kind, self._class_numbers(batch, how.object), np.where(address == NONE, 0, address), columns)

    def add_rows(self, kind: str, classes: NDArray[np.int64], address: NDArray[np.int64], columns: Columns) -> None:
        """Take waits of one kind: the objects' classes (`class_number`) and addresses, and the columns of COLUMNS."""
        import numpy as np

        objects = self._objects.add(
            KINDS.index(kind),
            *(classes, address, columns["thread_id"].astype(np.int64), columns["stack_id"].astype(np.int64)),
            *(columns["start_ns"], columns["dur_ns"]),
        )
        self._staged.add({"object": objects, **{name: columns[name] for name in COLUMNS}})

    def class_number(self, name: str) -> int:
        """Return the number that stands for a class."""
        return self._classes.setdefault(name, len(self._classes))

    def _class_numbers(self, batch: EventBatch, name: str) -> NDArray[np.int64]:
        import numpy as np

        column = batch.columns.get(name)
        if column is None or column.kind != "text":
            return np.full(batch.rows, self.class_number(""), dtype=np.int64)
        numbers = np.array([self.class_number(text) for text in (*batch.texts, "")], dtype=np.int64)
        found: NDArray[np.int64] = numbers[column.values]
        return found

    def write(self, directory: Path, pid: int, threads: pa.Table) -> dict[str, TableInfo]:
        """Write both tables; `threads` has thread_id and name."""
        import numpy as np

        classes = list(self._classes)
        objects = self._objects.objects()
        names = np.array([*classes, ""])[objects["class_name"]]
        kinds = np.array(KINDS)[objects["kind"]]
        order = np.lexsort((objects["address"], names, kinds, objects["first_ns"]))
        blocker_ids = np.empty(len(order), dtype=np.int32)
        blocker_ids[order] = np.arange(len(order), dtype=np.int32)
        with TableWriter(directory, TABLES["block"], indexed=True) as blocks:
            for rows in self._staged.sorted():
                blocks.write(_block(pid, rows, blocker_ids[rows["object"]], objects["kind"][rows["object"]]))
        if self._staged.is_in_memory and self._staged.rows:
            self._objects.levels(*self._staged.whole("object", "start_ns", "dur_ns"))
        elif self._staged.rows:
            for batch in self._staged.query(_CHANGES):
                self._objects.changes(*(column.to_numpy() for column in batch.columns))
        with TableWriter(directory, TABLES["blocker"]) as blockers:
            rows = {name: values[order] for name, values in self._objects.objects().items()}
            blockers.write(_blocker(pid, rows, names[order], threads))
        return {"blocker": blockers.info, "block": blocks.info}


def _block(pid: int, rows: Columns, blocker_id: NDArray[np.int32], kind: NDArray[np.int32]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    count = len(blocker_id)
    no = np.zeros(count, dtype=bool)
    return pa.table(
        {
            "pid": np.full(count, pid, dtype=np.int32),
            "thread_id": optional(rows["thread_id"]),
            "is_pinned": no,
            "blocker_id": blocker_id,
            "kind": named(kind, KINDS),
            "stack_id": optional(rows["stack_id"]),
            "weight": np.ones(count, dtype=np.int32),
            **{name: rows[name] for name in ("java_id", "is_virtual", "is_timed", "start_ns", "dur_ns")},
            **{
                f"{role}_{each}_id": optional(rows[f"{role}_{each}_id"])
                for role in ("waker", "owner")
                for each in ("thread", "java")
            },
            **dict.fromkeys(("is_open", "is_attached", "is_end_guessed"), no),
        }
    )


def _blocker(pid: int, rows: Columns, names: NDArray[Any], threads: pa.Table) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    count = len(names)
    called = dict(zip(threads["thread_id"].to_pylist(), threads["name"].to_pylist(), strict=True))
    none = np.zeros(count, dtype=np.int64)
    address = rows["address"]
    return pa.table(
        {
            "pid": np.full(count, pid, dtype=np.int32),
            "blocker_id": np.arange(count, dtype=np.int32),
            "kind": np.array(KINDS)[rows["kind"]].tolist(),
            "class_name": names.tolist(),
            "identity_hash": np.where(address == 0, 0, np.maximum((address >> 3) & 0x7FFFFFFF, 1)),
            "first_thread": [called.get(each) or "" for each in rows["first_thread"].tolist()],
            "first_stack_id": optional(rows["first_stack"]),
            **{name: rows[name] for name in ("first_ns", "last_ns", "thread_time_ns", "real_time_ns")},
            **dict.fromkeys(("times_parked", "times_measured"), rows["times"]),
            **dict.fromkeys(("parked_now", "holds", "hold_ns"), none),
            "peak_parked": np.maximum(rows["peak"], 1),
        }
    )
