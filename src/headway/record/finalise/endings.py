"""The end of each JVM: when its shutdown started, and when its process exited.

Method     a JVM that ends starts its shutdown hooks and joins them, one after another, in ApplicationShutdownHooks.runHooks;
           only then does it say that it ends. So the first block of that join is the begin of the end; where there is none
           (no hooks, or none that took any time) it is what the JVM says itself. It is gone when its process is.
Wrong when locks were not recorded, or a hook's join was shorter than their threshold: then the hooks are still the program.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.store.directory import pinned

if TYPE_CHECKING:
    from headway.record.finalise.threads.thread_table import RecordedThreads

HOOKS = ("java.lang.ApplicationShutdownHooks", "runHooks")


def shutdown_started_ns(directory: Path, tables: Collection[str]) -> dict[int, int]:
    """Return by pid when each JVM started to wait for its shutdown hooks, from the lock tables if there are any."""
    if "block" not in tables:
        return {}
    class_name, method = HOOKS
    frames = _rows(directory, "frame", ["frame_id"], [("method", "=", method), ("class_name", "=", class_name)])
    stacks = _rows_with(directory, "stack", ["stack_id"], "frame_id", frames["frame_id"])
    joined = _rows_with(directory, "blocker", ["blocker_id"], "first_stack_id", stacks["stack_id"])
    blocks = _rows_with(directory, "block", ["pid", "start_ns"], "blocker_id", joined["blocker_id"])
    found: dict[int, int] = {}
    for pid, start_ns in zip(blocks["pid"], blocks["start_ns"], strict=True):
        found[pid] = min(start_ns, found.get(pid, start_ns))
    return found


def _rows_with(directory: Path, table: str, columns: list[str], key: str, values: list[int]) -> dict[str, list[Any]]:
    if not values:
        return {column: [] for column in columns}
    return _rows(directory, table, columns, [(key, "in", sorted(set(values)))])


def _rows(directory: Path, table: str, columns: list[str], filters: list[tuple[str, str, Any]]) -> dict[str, list[Any]]:
    import pyarrow.parquet as pq

    found = pq.read_table(pinned(directory) / f"{table}.parquet", columns=columns, filters=filters)
    rows: dict[str, list[Any]] = found.to_pydict()
    return rows


def process_exited_ns(threads: RecordedThreads, window: tuple[int, int]) -> dict[int, int]:
    """Return by pid when each process exited; the window's end for those that did not."""
    ends = {row.pid: row.end_ns for row in threads.rows if row.tid == row.pid}
    return {pid: window[1] if end is None else end for pid, end in ends.items()}
