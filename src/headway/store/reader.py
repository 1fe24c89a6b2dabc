"""Opens recordings: `open_recording(path)` gives the manifest at once and the tables when asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, Notice
from headway.store import sql
from headway.store.manifest import Manifest, TableInfo, damaged, read_manifest
from headway.store.tables import TABLES, Table

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa

_PARQUET = b"PAR1"


class Recording:
    """One recording, opened lazily: nothing but manifest.json and the ends of its files is read until asked for.

    Times in tables are CLOCK_MONOTONIC ns; subtract `window_ns[0]` for times from the start of the recording.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Use `open_recording` instead."""
        self.path = path
        self.manifest = manifest
        self._connection: duckdb.DuckDBPyConnection | None = None

    @property
    def mode(self) -> str:
        """Return how it was recorded: ebpf, perf-switch or agent."""
        return self.manifest.mode

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the messages that mark every result of this recording."""
        return tuple(Notice(each.id, each.message, each.remedy) for each in self.manifest.notices)

    @property
    def window_ns(self) -> tuple[int, int]:
        """Return begin and end of the recorded span, CLOCK_MONOTONIC ns; (0, 0) when the manifest has none."""
        window = self.manifest.window
        return (window.start_ns, window.end_ns) if window else (0, 0)

    @property
    def wall_ns(self) -> int:
        """Return the length of the recorded span in ns."""
        start, end = self.window_ns
        return end - start

    def has(self, table: str) -> bool:
        """Return whether the recording has rows in a table; for a view, in the tables it needs."""
        known = TABLES[table]
        if known.sql is not None:
            return all(self.has(needed) for needed in known.needs)
        info = self.manifest.tables.get(table)
        return info is not None and info.rows > 0

    def repeats(self) -> tuple[Recording, ...]:
        """Return the recordings of the same command made with `--repeat`, this one first; at least one.

        Raises HeadwayError as `open_recording` when one of them is damaged.
        """
        found = [each for each in (self.path / "repeats").glob("*.headway") if re.fullmatch(r"\d+", each.stem)]
        return (self, *(open_recording(each) for each in sorted(found, key=lambda each: int(each.stem))))

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB connection (always the same) that has every table and view of `tables.TABLES` by name."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def query(self, text: str, parameters: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run SQL; fetch from what is returned. Raises HeadwayError HW306 with DuckDB's reason when it refuses."""
        import duckdb

        try:
            return self.connection().execute(text, parameters or None)
        except duckdb.Error as error:
            raise HeadwayError("HW306", reason=str(error).strip(), path=self.path) from error

    def batches(self, text: str, rows: int = 1 << 19) -> Iterator[pa.RecordBatch]:
        """Run SQL and yield its rows as Arrow batches of about `rows`, never holding them all; errors as `query`."""
        import duckdb

        try:
            cursor = self.connection().cursor()  # one of its own: the caller may query while it takes batches
            relation = cursor.sql(text)
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # named so since 2.0
            yield from reader(rows)
        except duckdb.Error as error:
            raise HeadwayError("HW306", reason=str(error).strip(), path=self.path) from error

    def stored_backwards(self, table: str) -> Iterator[pa.RecordBatch]:
        """Yield a physical table as it is stored (`slice`: packed, see `packing.py`), its last row group first.

        Within a batch rows keep their order. For walks that go back in time: never more than a row group in memory.
        Raises HeadwayError HW303 when the file is damaged.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self.has(table):
            return
        path = self.path / f"{table}.parquet"
        try:
            with pq.ParquetFile(path) as file:
                for group in reversed(range(file.num_row_groups)):
                    yield from reversed(file.read_row_group(group).combine_chunks().to_batches())
        except (OSError, pa.ArrowException) as error:
            raise damaged(path, str(error), self.path) from error

    def columns(self, table: str, *names: str, where: str = "") -> Mapping[str, np.ndarray[Any, Any]]:
        """Return columns of a table as arrays of equal length, in the table's row order; all columns if none is named.

        `where` is an SQL condition. A column that holds nulls comes as a masked array.
        """
        wanted = ", ".join(map(sql.quote, names or [column.name for column in TABLES[table].columns]))
        condition = f" WHERE {where}" if where else ""
        return self.query(f"SELECT {wanted} FROM {sql.quote(table)}{condition}").fetchnumpy()

    def close(self) -> None:
        """Let go of the connection and its files."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(":memory:")
        for table in TABLES.values():
            connection.execute(self._view(table))
        for name in filter(is_event_table, self.manifest.tables):
            connection.execute(sql.plain_view(name, os.fspath(self.path / f"{name}.parquet")))
        return connection

    def _view(self, table: Table) -> str:
        if table.sql is not None:
            return sql.sql_view(table)
        if table.name not in self.manifest.tables:
            return sql.empty_view(table)
        path = self.path / f"{table.name}.parquet"
        return sql.file_view(table, os.fspath(path), _column_names(path))


def open_recording(path: Path | str) -> Recording:
    """Open NAME.headway for reading.

    Raises HeadwayError HW301 (not a recording), HW302 (made by a newer headway), HW303 (a file is missing, cut off or
    damaged) or HW304 (still being recorded, or its recorder died: `headway recover`).
    """
    path = Path(path)
    manifest = read_manifest(path)
    if manifest.state == "recording":
        raise HeadwayError("HW304", path=path)
    for name, info in manifest.tables.items():
        if name in TABLES or is_event_table(name):
            _check_file(path / f"{name}.parquet", info, path)
    return Recording(path, manifest)


def is_event_table(name: str) -> bool:
    """Return whether a file is a table of an imported file's events: its columns are those of the event."""
    return re.fullmatch(r"jfr_\w+", name, re.ASCII) is not None and name not in TABLES


def _check_file(path: Path, info: TableInfo, directory: Path) -> None:
    """Compare a Parquet file's size with the manifest and look at both ends: cheap, and finds every cut-off copy."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(4)
            file.seek(max(size - 4, 0))
            tail = file.read(4)
    except OSError as error:
        reason = error.strerror or str(error)
        raise damaged(path, reason, directory) from error
    if size != info.bytes:
        reason = f"it has {size} bytes, the manifest says {info.bytes}"
        raise damaged(path, reason, directory)
    if head != _PARQUET or tail != _PARQUET:
        raise damaged(path, "it is not a whole Parquet file", directory)


def _column_names(path: Path) -> set[str]:
    """Return a Parquet file's columns; HeadwayError HW303 when its footer is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return set(pq.read_schema(path).names)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, str(error), path.parent) from error
