"""Numbers the threads of an imported file while it is read, and makes the table `thread` of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from headway.model import Kind
from headway.record.finalise.thread_kinds import kind_of_java, kind_of_native
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
        self._known: list[JfrThread] = []
        self._ids: list[int] = []
        self._count = 0
        self._lives: dict[int, list[int | None]] = {}
        self._arrays: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]] | None = None

    def _follow(self) -> None:
        self._known = []  # a file may have a million: not twice
        self._known = self._file.threads()
        for thread in itertools.islice(self._known, len(self._ids), None):
            self._ids.append(-1 if is_virtual(thread) else self._count)
            self._count += not is_virtual(thread)
        self._arrays = None

    def numbers(self, places: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Return thread_id (-1: none), Java id (0: none) and whether it is virtual, for indexes into the file's threads."""
        ids, java, virtual = self._facts(places)
        return ids.take(places), java.take(places), virtual.take(places)

    def thread_ids(self, places: NDArray[Any]) -> NDArray[np.int32]:
        """Return only the thread_ids of `numbers`."""
        found: NDArray[np.int32] = self._facts(places)[0].take(places)
        return found

    def ids(self, places: NDArray[np.int32]) -> tuple[Numbers, Numbers]:
        """Return thread_id and Java id as columns, null for none."""
        ids, java, _ = self._facts(places)
        return Numbers(ids.take(places)), Numbers(java.take(places), below=1)

    def _facts(self, places: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        """Return what `numbers` does, for every place; place -1 is the last one: none."""
        import numpy as np

        if len(places) and int(places.max()) >= len(self._ids):
            self._follow()
        if self._arrays is None:
            self._arrays = (
                np.array([*self._ids, -1], dtype=np.int32),
                np.array([each.java_id for each in self._known] + [0], dtype=np.int64),
                np.array([is_virtual(each) for each in self._known] + [False]),
            )
        return self._arrays

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
        for number, thread in zip(self._ids, self._known, strict=True):
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
