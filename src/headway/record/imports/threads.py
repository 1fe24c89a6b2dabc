"""Numbers the threads of an imported file while it is read, and makes the table `thread` of them."""

from __future__ import annotations

import array
from typing import TYPE_CHECKING, Any

from headway.model import Kind
from headway.record.finalise.threads.kinds_by_name import kind_of_java, kind_of_native
from headway.record.jfr.reader import EventBatch, JfrFile, JfrThread
from headway.store.column_writer import Numbers
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


class ThreadIds:
    """Gives every platform thread a thread_id, in the order in which the file names them."""

    def __init__(self, file: JfrFile) -> None:
        """Take the list of the file's threads, which may still grow."""
        self._file = file
        self._ids, self._java, self._virtual = array.array("i", [-1]), array.array("q", [0]), array.array("b", [0])
        """Of each thread; the last one is what no thread has."""
        self._count = 0
        self._lives: dict[int, list[int | None]] = {}

    def _follow(self) -> None:
        """Number the threads that are new: those that are known keep what tells one from another, but not their names."""
        columns = self._ids, self._java, self._virtual
        ends = [column.pop() for column in columns]
        for thread in self._file.threads(len(self._ids)):
            is_one = is_virtual(thread)
            self._ids.append(-1 if is_one else self._count)
            self._java.append(thread.java_id)
            self._virtual.append(is_one)
            self._count += not is_one
        for column, end in zip(columns, ends, strict=True):
            column.append(end)

    def numbers(self, places: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Return thread_id (-1: none), Java id (0: none) and whether it is virtual, for indexes into the file's threads."""
        import numpy as np

        if len(places) and int(places.max()) >= len(self._ids) - 1:
            self._follow()
        # Place -1 is the last one: none.
        return (
            np.frombuffer(self._ids, np.int32).take(places),
            np.frombuffer(self._java, np.int64).take(places),
            np.frombuffer(self._virtual, np.bool_).take(places),
        )

    def thread_ids(self, places: NDArray[Any]) -> NDArray[np.int32]:
        """Return only the thread_ids of `numbers`."""
        return self.numbers(places)[0]

    def ids(self, places: NDArray[np.int32]) -> tuple[Numbers, Numbers]:
        """Return thread_id and Java id as columns, null for none."""
        ids, java, _ = self.numbers(places)
        return Numbers(ids), Numbers(java, below=1)

    def note_life(self, batch: EventBatch, end: bool) -> None:
        """Add rows of jdk.ThreadStart or jdk.ThreadEnd."""
        name = "thread" if "thread" in batch.columns else "eventThread"
        thread_ids = self.thread_ids(batch.ids("thread", name))
        for thread, ns in zip(thread_ids.tolist(), batch.ints("startTime").tolist(), strict=True):
            self._lives.setdefault(thread, [None, None])[int(end)] = ns

    def table(self, pid: int, window: tuple[int, int]) -> pa.Table:
        """Return the rows of the table `thread`."""
        import pyarrow as pa

        self._follow()
        columns: dict[str, list[Any]] = {
            name: [] for name in self._row(0, JfrThread(0, 0, "", "", "", False), pid, window)
        }
        for number, thread in zip(self._ids[:-1], self._file.threads(), strict=True):
            for name, value in self._row(number, thread, pid, window).items() if number >= 0 else ():
                columns[name].append(value)
        schema = arrow_schema(TABLES["thread"])
        return pa.table({name: pa.array(values, schema.field(name).type) for name, values in columns.items()})

    def _row(self, number: int, thread: JfrThread, pid: int, window: tuple[int, int]) -> dict[str, Any]:
        start, end = self._lives.get(number, [None, None])
        is_java = thread.java_id > 0
        kind = kind_of_java(thread.name, thread.group, False) if is_java else kind_of_native(thread.os_name, True)
        if is_java and not thread.group:  # async-profiler does not tell groups
            kind = kind_of_native(thread.os_name, True)
        return {
            "thread_id": number,
            "pid": pid,
            "tid": thread.os_tid & 0x7FFFFFFF,
            "start_ns": window[0] if start is None else start,
            "end_ns": end if end is None or end >= (start or window[0]) else None,
            "name": thread.name,
            "comm": thread.os_name,
            # What the profiler itself did is part of the JVM's work there; headway is not in these files.
            "kind": (Kind.VM if kind is Kind.HEADWAY else kind).value,
            "java_id": thread.java_id or None,
            "group": thread.group or None,
            "from_snapshot": start is None,
        }


def is_virtual(thread: JfrThread) -> bool:
    """Return whether a thread is virtual: files say so since JDK 21."""
    return thread.is_virtual or (thread.os_tid == 0 and thread.java_id > 0)
