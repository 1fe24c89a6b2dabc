"""The tables of a recording: name, columns and types of each. Readers and the reference docs are generated from them.

Columns, types, units and meaning are in `schemas/`, a module per subject, and only there. Physical tables are Parquet files of
the recording. Views are SQL over them, row by row (no windows, no ASOF joins), so that DuckDB and Spark read them alike. Times
are CLOCK_MONOTONIC nanoseconds in int64; durations end in `_ns`.
"""

from __future__ import annotations

from headway.store.schemas import causal, locks, objects, scheduling, stacks
from headway.store.table_types import Column, TableSchema

__all__ = ["TABLES", "Column", "TableSchema"]

TABLES: dict[str, TableSchema] = {
    table.name: table
    for table in (
        *(scheduling.THREAD, scheduling.SLICE, scheduling.THREAD_STATE, scheduling.ACTIVITY),
        *(scheduling.JVM_PHASE, scheduling.JVM, scheduling.COUNTER, scheduling.CPU_GAP, scheduling.LOSS),
        *(stacks.FRAME, stacks.STACK, locks.BLOCKER, locks.BLOCK, locks.HOLD, stacks.WAITING_STACK, stacks.SAMPLE),
        *(stacks.MOUNT, objects.ALLOCATION, objects.ACCESS, scheduling.REGION_COUNTER),
        *(objects.ACCESS_OWNER, objects.ACCESS_PAIR, objects.THREAD_OBJECTS, objects.HEAP_NODE),
        *(objects.ACCESS_WINDOW, objects.ACCESS_WINDOW_WORK),
        *(objects.ACCESS_WRITER, objects.ACCESS_WRITER_PAIR, objects.LINE_WRITE, objects.LINE_SHARE),
        *(objects.ACCESS_NODE, objects.ACCESS_NODE_PAIR),
        *causal.ALL,
    )
}
