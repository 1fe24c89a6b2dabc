"""Writes every event of an imported file to a table `jfr_<Event>` with all its fields, for `headway query`.

Names are those of JFR, but for startTime and duration, which are start_ns and dur_ns as everywhere; other times end in
_ns, too. Threads are thread_id (null for virtual ones, whose Java id is in a column beside it), stacks are stack_id. A
constant of several fields is JSON.
"""

from __future__ import annotations

import re
from pathlib import Path

from headway.record.imports.threads import ThreadIds
from headway.record.jfr.reader import NONE, EventBatch, EventColumn
from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.manifest import TableInfo
from headway.store.tables import Column, TableSchema

PREFIX = "jfr_"
MOST = 2000
"""Tables: a file that describes more events than this is not one that a JVM wrote."""
MOST_OF_EVENT = 64
"""Tables of one event, one for each way of laying it out: each is compared with all that there are."""
MOST_COLUMNS = 1000
"""Of an event: those of the JDK have up to forty fields, and each column of each batch takes room in its file."""
_RENAMED = {"startTime": "start_ns", "duration": "dur_ns"}
_TYPES = {"integer": "BIGINT", "real": "DOUBLE", "boolean": "BOOLEAN", "text": "VARCHAR"}


def table_name(event: str) -> str:
    """Return an event's table name: jdk.ThreadPark -> jfr_ThreadPark, com.acme.Order -> jfr_com_acme_Order."""
    short = event.removeprefix("jdk.").removeprefix("profiler.")
    return PREFIX + (re.sub(r"\W", "_", short, flags=re.ASCII)[:120] or "_")


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name of a column that no other one has, and note it; `taken` are in lower case, as SQL knows no case of names."""
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def column_name(column: EventColumn) -> str:
    """Return a field's column name: heapSpace.start -> heapSpace_start."""
    name = _RENAMED.get(column.name) or _word(column.name)
    return f"{name}_ns" if column.is_time and not name.endswith("_ns") else name


def _word(name: str) -> str:
    return name if name.isascii() and name.isidentifier() else re.sub(r"\W", "_", name, flags=re.ASCII)


class EventFiles:
    """Writer of the tables of single events, fed with batches.

    Rows of an event that is laid out otherwise later keep the columns of the first. Where a field is of another type then (files
    of several programs, one behind the other), they are a table of their own: jfr_Order_2.
    """

    def __init__(self, directory: Path, threads: ThreadIds) -> None:
        """Take the recording's directory."""
        self._directory = directory
        self._threads = threads
        self._writers: dict[str, ColumnWriter] = {}
        self._events: dict[str, str] = {}
        self.left_out = 0

    def write(self, batch: EventBatch) -> None:
        """Append the rows of a batch."""
        columns = self._columns(batch) if len(batch.columns) <= MOST_COLUMNS else None
        writer = None if columns is None else self._writer(batch.event, columns)
        if columns is None or writer is None:
            self.left_out += batch.rows
            return
        wanted = [column.name for column in writer.table.columns]
        writer.write(batch.rows, {name: columns[name][1] for name in wanted if name in columns})

    def close(self) -> dict[str, TableInfo]:
        """Complete the files."""
        return {name: writer.close() for name, writer in self._writers.items()}

    def _writer(self, event: str, columns: dict[str, tuple[str, Values]]) -> ColumnWriter | None:
        name = table_name(event)
        if self._events.setdefault(name, event) != event:  # jdk.Foo and profiler.Foo in one file
            name = PREFIX + re.sub(r"\W", "_", event, flags=re.ASCII)[:120]
        name = self._fitting(name, event, columns)
        if name and name not in self._writers and len(self._writers) < MOST:
            table = TableSchema(name, event, tuple(Column(each, kind, "", True) for each, (kind, _) in columns.items()))
            self._writers[name] = ColumnWriter(self._directory, table)
        return self._writers.get(name)

    def _fitting(self, name: str, event: str, columns: dict[str, tuple[str, Values]]) -> str:
        """Return the first of NAME, NAME_2, ... that is this event's and has these types, or that is not there yet.

        '': there are MOST_OF_EVENT of them.
        """
        for number in range(1, MOST_OF_EVENT + 1):
            fitting = name if number == 1 else f"{name}_{number}"
            if self._events.setdefault(fitting, event) == event and self._has_types(fitting, columns):
                return fitting
        return ""

    def _has_types(self, name: str, columns: dict[str, tuple[str, Values]]) -> bool:
        writer = self._writers.get(name)
        known = () if writer is None else writer.table.columns
        return all(columns[column.name][0] == column.type for column in known if column.name in columns)

    def _columns(self, batch: EventBatch) -> dict[str, tuple[str, Values]]:
        """Return name -> (type, values) of what the table holds."""
        found: dict[str, tuple[str, Values]] = {}
        taken: set[str] = set()
        for column in batch.columns.values():
            name, values = _free_name(column_name(column), taken), column.values
            if column.kind == "thread":
                thread_id, java_id = self._threads.ids(values)
                found[name] = ("INTEGER", thread_id)
                found[_free_name(f"{name}_java_id", taken)] = ("BIGINT", java_id)
            elif column.kind == "stack":
                found[name] = ("INTEGER", Numbers(values))
            elif column.kind == "text":
                found[name] = ("VARCHAR", Texts(values, batch.texts))
            elif column.kind == "boolean":
                found[name] = ("BOOLEAN", Numbers(values != 0, None))
            elif column.kind == "integer":
                found[name] = ("BIGINT", Numbers(values, below=NONE + 1))
            else:
                found[name] = (_TYPES[column.kind], Numbers(values, None))
        return found
