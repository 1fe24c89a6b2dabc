"""Rows on their way from a file into a recording's tables, sorted and summed outside of memory.

Events come in the order in which threads' buffers were written, tables are in order of time: rows wait in a database on
disk beside the recording, which DuckDB sorts within a bounded memory.
"""

from __future__ import annotations

import shutil
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from headway.store.manifest import TableInfo
from headway.store.sql import glob_literal, literal, quote
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

MEMORY = "400MB"
IN_MEMORY = 1 << 22
"""Samples that are sorted in memory, which is faster by far; more of them go through the database."""
_STAGED = {
    "sample": "thread_id INTEGER, ns BIGINT, event VARCHAR, weight BIGINT, stack_id INTEGER, state VARCHAR",
    "wait": "thread_id INTEGER, java_id BIGINT, is_virtual BOOLEAN, kind VARCHAR, class_name VARCHAR, address BIGINT,"
    " is_timed BOOLEAN, start_ns BIGINT, dur_ns BIGINT, stack_id INTEGER, waker_thread_id INTEGER,"
    " waker_java_id BIGINT, owner_thread_id INTEGER, owner_java_id BIGINT",
}
# An object is its address, as a headway recording knows it by its identity hash; 0 is none.
_OBJECTS = """
CREATE TABLE object AS
SELECT CAST(row_number() OVER (ORDER BY min(start_ns), kind, class_name, address) - 1 AS INTEGER) AS blocker_id,
       kind, class_name, address, arg_min(thread_id, start_ns) AS first_thread_id,
       arg_min(stack_id, start_ns) AS first_stack_id, min(start_ns) AS first_ns, max(start_ns + dur_ns) AS last_ns,
       count(*) AS times, sum(dur_ns) AS thread_time_ns
FROM wait GROUP BY kind, class_name, address
"""
# Waits with their object's number in the place of its name: what follows groups and sorts by that.
_NUMBERED = """
CREATE TABLE numbered AS
SELECT blocker_id, start_ns, dur_ns, wait.kind, thread_id, java_id, is_virtual, is_timed, stack_id, waker_thread_id,
       waker_java_id, owner_thread_id, owner_java_id
FROM wait JOIN object USING (kind, class_name, address)
"""
# The moments at which the number of waiting threads changes, and how many wait from each on. At the same moment who leaves comes
# first: the number is then never above what it is before, or after, that moment.
_LEVELS = """
CREATE TABLE level AS
WITH step AS (
  SELECT blocker_id, start_ns AS ns, CAST(1 AS TINYINT) AS change FROM numbered
  UNION ALL SELECT blocker_id, start_ns + dur_ns, CAST(-1 AS TINYINT) FROM numbered),
running AS (
  SELECT blocker_id, ns, sum(change) OVER object AS waiting, lead(ns) OVER object AS until
  FROM step WINDOW object AS (PARTITION BY blocker_id ORDER BY ns, change ROWS UNBOUNDED PRECEDING))
SELECT blocker_id, max(waiting) AS peak, sum(CASE WHEN waiting > 0 THEN until - ns ELSE 0 END) AS real_time_ns
FROM running GROUP BY ALL
"""
_BLOCKER = """
SELECT blocker_id, {pid} AS pid, kind, class_name,
       CASE WHEN address = 0 THEN 0 ELSE greatest((address >> 3) & 2147483647, 1) END AS identity_hash,
       coalesce(name, '') AS first_thread, first_stack_id, first_ns, last_ns, NULL AS died_ns, times AS times_parked,
       times AS times_measured, 0 AS parked_now, greatest(coalesce(peak, 0), 1) AS peak_parked, thread_time_ns,
       coalesce(real_time_ns, 0) AS real_time_ns, 0 AS holds, 0 AS hold_ns
FROM object LEFT JOIN level USING (blocker_id) LEFT JOIN thread ON thread_id = first_thread_id
ORDER BY blocker_id
"""
_BLOCK = """
SELECT {pid} AS pid, thread_id, java_id, is_virtual, false AS is_pinned, blocker_id, kind, is_timed, start_ns, dur_ns,
       stack_id, 1 AS weight, waker_thread_id, waker_java_id, NULL AS waker_stack_id, NULL AS waking_ns,
       owner_thread_id, owner_java_id, false AS is_open, false AS is_attached, false AS is_end_guessed
FROM numbered ORDER BY start_ns
"""


class Staging:
    """A database in DIRECTORY/.staging; use as a context manager, it is gone at the end."""

    def __init__(self, directory: Path) -> None:
        """Make the database, empty."""
        self.directory = directory
        self._scratch = directory / ".staging"
        self._scratch.mkdir()
        self._rows = dict.fromkeys(_STAGED, 0)
        self._samples: list[pa.Table] = []
        self._in_memory = 0

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(str(self._scratch / "rows.duckdb"))
        connection.execute(f"SET memory_limit = '{MEMORY}'; SET preserve_insertion_order = false")
        connection.execute(f"SET temp_directory = {literal(str(self._scratch / 'spill'))}")
        for name, columns in _STAGED.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
        return connection

    def add(self, name: str, rows: pa.Table) -> None:
        """Add rows of `sample` or `wait`, with the columns of _STAGED in any order."""
        columns = ", ".join(quote(each) for each in rows.column_names)
        self._connection.register("incoming", rows)
        self._connection.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM incoming")
        self._connection.unregister("incoming")
        self._rows[name] += rows.num_rows

    def add_samples(self, rows: pa.Table) -> None:
        """Add rows of `sample`."""
        self._samples.append(rows)
        self._in_memory += rows.num_rows
        if self._in_memory > IN_MEMORY:
            self._spill_samples()

    def _spill_samples(self) -> None:
        for rows in self._samples:
            self.add("sample", rows)
        self._samples, self._in_memory = [], 0

    @property
    def has_samples(self) -> bool:
        """Return whether any samples were added."""
        return bool(self._samples) or self.rows("sample") > 0

    def rows(self, name: str) -> int:
        """Return how many rows were added."""
        return self._rows[name]

    def write_samples(self) -> dict[str, TableInfo]:
        """Write the table `sample` in order of time."""
        if self.rows("sample") == 0:
            import numpy as np
            import pyarrow as pa

            rows = pa.concat_tables(self._samples).unify_dictionaries().combine_chunks()
            times = rows["ns"].to_numpy()
            if not bool((np.diff(times) >= 0).all()):
                rows = rows.take(pa.array(np.argsort(times, kind="stable")))
            with TableWriter(self.directory, TABLES["sample"]) as writer:
                writer.write(rows)
            return {"sample": writer.info}
        self._spill_samples()
        return self._write("sample", "SELECT * FROM sample ORDER BY ns")

    def write_blocks(self, pid: int, threads: pa.Table) -> dict[str, TableInfo]:
        """Write the tables `block` and `blocker`; `threads` has thread_id and name."""
        for made in (_OBJECTS, _NUMBERED, _LEVELS):
            self._connection.execute(made)
        self._connection.register("thread", threads)
        return self._write("blocker", _BLOCKER.format(pid=pid)) | self._write("block", _BLOCK.format(pid=pid))

    def _write(self, name: str, query: str) -> dict[str, TableInfo]:
        """Run a query into a table's file, its columns in the types of the table."""
        path = self.directory / f"{name}.parquet"
        columns = ", ".join(f"CAST({quote(c.name)} AS {c.type}) AS {quote(c.name)}" for c in TABLES[name].columns)
        self._connection.execute(
            f"COPY (SELECT {columns} FROM ({query})) TO {literal(str(path))}"
            " (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 262144)"
        )
        found = self._connection.execute(f"SELECT count(*) FROM read_parquet({glob_literal(str(path))})").fetchone()
        assert found is not None
        return {name: TableInfo(int(found[0]), path.stat().st_size)}

    def __enter__(self) -> Staging:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the database."""
        if "_connection" in self.__dict__:
            self._connection.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
