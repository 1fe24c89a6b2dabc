"""Writes tables that consist of the rows of each agent, and makes the columns that several of them have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.record.finalise.agent_facts import agent_fact
from headway.record.finalise.threads.thread_columns import thread_columns
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa


def write_tables(
    directory: Path, possible: ImpossibleValueFilter, rows_by_table: Mapping[str, Iterable[pa.Table]]
) -> dict[str, TableInfo]:
    """Write tables, each from the rows of one agent after the other. Raises OSError."""
    tables = {}
    for name, parts in rows_by_table.items():
        with TableWriter(directory, TABLES[name], possible) as writer:
            for rows in parts:
                if rows.num_rows:
                    writer.write(rows)
        tables[name] = writer.info
    return tables


def key_columns(threads: RecordedThreads, number: int, java_ids: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return the columns of process and thread by the ids that a JVM has for its threads, `number`: of its agent."""
    import numpy as np

    pids = np.full(len(java_ids), threads.pid_of_agent[number], dtype=np.int32)
    return {"pid": pids, **thread_columns(threads, number, java_ids)}


def pair_columns(
    threads: RecordedThreads, number: int, agent: Mapping[str, Any], found: Mapping[str, Any], by_last_writer: Any
) -> dict[str, Any]:
    """Return the columns of process, thread and the thread that owns the object; `by_last_writer`: of each row, or of all."""
    import numpy as np

    # A thread's own note may be older than a write that left none.
    is_unknown = has_unnoted(agent) & np.asarray(by_last_writer) & (found["owner_id"] == found["java_id"])
    owners = thread_columns(threads, number, np.where(is_unknown, 0, found["owner_id"]))
    own = key_columns(threads, number, found["java_id"])
    return {**own, "owner_thread_id": owners["thread_id"], "owner_java_id": owners["java_id"]}


def has_unnoted(agent: Mapping[str, Any]) -> bool:
    """Return whether code may have run that writes to objects without a note of who: a note may be older than such a write."""
    return "has_unnoted=1" in agent_fact(agent, "accesses_coverage").split(",")
