"""Writes recordings: Parquet files with the schemas of `tables.TABLES`, then the manifest that lists them."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.store import directory as directories
from headway.store import packing
from headway.store.files import NewFile, naming
from headway.store.manifest import Manifest, StoredNotice, TableInfo, read_manifest, write_manifest
from headway.store.manifest_keys import FILE
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import TextLimits, notices_of_cut_texts
from headway.store.tables import TABLES, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

_ARROW: dict[str, str] = {
    "UTINYINT": "uint8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "BOOLEAN": "bool",
    "VARCHAR": "string",
}
ROW_GROUP = 1 << 18
"""Rows that are buffered and written together: bounds the writer's memory."""


def arrow_schema(table: TableSchema) -> pa.Schema:
    """Return the Arrow schema of a table's rows as the writer takes them."""
    import pyarrow as pa

    types = {name: pa.type_for_alias(alias) for name, alias in _ARROW.items()}
    return pa.schema([pa.field(c.name, types[c.type], c.nullable) for c in table.columns])


def conform(table: TableSchema, data: pa.Table) -> pa.Table:
    """Return `data` with exactly the table's columns, in order and type; missing nullable columns become null.

    Raises ValueError for an unknown column, a missing one that may not be null, or a value that does not fit its type.
    """
    import pyarrow as pa

    schema = arrow_schema(table)
    unknown = set(data.column_names) - set(schema.names)
    missing = {c.name for c in table.columns if not c.nullable} - set(data.column_names)
    if unknown or missing:
        raise ValueError(f"table {table.name}: unknown columns {sorted(unknown)}, missing columns {sorted(missing)}")
    have = set(data.column_names)
    arrays = [_cast(data.column(f.name), f.type) if f.name in have else pa.nulls(data.num_rows, f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _cast(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    return (
        column if column.type == wanted else column.cast(wanted)
    )  # to ask for a cast loads all that Arrow can compute


class TableWriter:
    """Appends rows to one table of a recording; memory is bounded by one row group.

    Use as a context manager. `info` holds rows, bytes and checksum once closed. A failed write raises OSError, which names the
    table's file.
    """

    def __init__(
        self,
        directory: Path | str,
        table: TableSchema,
        possible: ImpossibleValueFilter | None = None,
        counts: Sequence[str] = (),
    ) -> None:
        """Start DIRECTORY/TABLE.parquet, which replaces an existing file once it is closed.

        `possible`: values that can't be are left out of what is written. `counts`: the columns of counts that table slice has.
        """
        import pyarrow.parquet as pq

        self.table = table
        self.path = Path(directory) / f"{table.name}.parquet"
        self._rows = 0
        self._possible = possible
        self._texts = TextLimits(table)
        packed = table.unpack is not None
        self.counts = tuple(counts)
        schema = packing.schema(self.counts) if packed else arrow_schema(table)
        options = packing.parquet_options(self.counts) if packed else _options(table)
        self._new = NewFile(directory, self.path.name)
        self._stream = self._new.stream()
        with naming(self.path):
            self._file = pq.ParquetWriter(self._stream, schema, **options, write_page_checksum=True)

    def write(self, data: pa.Table, jvms: Any = None) -> None:
        """Append rows in any form that `conform` accepts; `jvms` holds each row's pid (see `ImpossibleValueFilter.rows`)."""
        if data.num_rows:
            rows = conform(self.table, data)
            if self._possible is not None:
                rows = self._possible.rows(self.table, rows, jvms)
            rows = self._texts.rows(rows)
            self.write_stored(rows if self.table.unpack is None else packing.pack(rows, counts=self.counts))

    def write_stored(self, data: pa.Table) -> None:
        """Append rows already in stored form (only `slice` has one of its own: `packing.py`)."""
        with naming(self.path):
            self._file.write_table(data, row_group_size=ROW_GROUP)
        self._rows += data.num_rows

    def close(self) -> TableInfo:
        """Write the footer, and rename the file to its final name."""
        with naming(self.path):
            self._file.close()
            self._stream.close()
            self.info = TableInfo(self._rows, *self._new.checksum(), self._texts.cut)
            self._new.keep()
        return self.info

    def __enter__(self) -> TableWriter:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the table's file; remove it where writing or closing it failed."""
        try:
            if kind is None:
                self.close()
        finally:
            self._drop()

    def _drop(self) -> None:
        with contextlib.suppress(OSError):  # what is buffered may not fit the disk, and is not wanted
            self._file.close()
            self._stream.close()
        self._new.drop()


def _options(table: TableSchema) -> dict[str, Any]:
    """Return Parquet settings: times grow slowly, so they are delta-encoded; text repeats, so it gets a dictionary.

    Row groups are passed over by the least and most of their times and ids. Those of text would cost more than writing it.
    """
    delta = {c.name: "DELTA_BINARY_PACKED" for c in table.columns if c.type in ("BIGINT", "INTEGER")}
    text = [c.name for c in table.columns if c.type == "VARCHAR"]
    return {
        "compression": "zstd",
        "use_dictionary": text,
        "column_encoding": delta,
        "write_statistics": list(delta),
    }


def write_recording(
    path: Path | str,
    manifest: Manifest | Mapping[str, Any],
    tables: Mapping[str, pa.Table],
    *,
    overwrite: bool = False,
) -> Path:
    """Write a whole recording from tables in memory (tests, imports, conversions); return its path.

    `manifest` may be a mapping in the form of manifest.json; format, version and tables are filled in. Tables not given
    are absent, and read as empty.

    Raises HeadwayError HW305 when `path` exists (unless `overwrite`), and ValueError for tables that do not conform.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise HeadwayError("HW305", path=path)
    if not isinstance(manifest, Manifest):
        manifest = Manifest.from_json({"format": "headway-recording", "version": 1, **manifest}, path)
    if (path / FILE).exists():
        directories.open_own(path, "headway")
        directories.remove_whole(path)
    if not path.exists():
        directories.make_parents(path)
        directories.make_directory(path)
        directories.unpin(path)
    infos: dict[str, TableInfo] = {}
    for name, data in tables.items():
        with TableWriter(path, TABLES[name], counts=packing.counts_in(data.column_names)) as writer:
            writer.write(data)
        infos[name] = writer.info
    cut = tuple(StoredNotice(**notice.as_json()) for notice in notices_of_cut_texts(infos))
    write_manifest(path, dataclasses.replace(manifest, tables=infos, notices=(*manifest.notices, *cut)))
    return path


__all__ = ["TableWriter", "arrow_schema", "conform", "read_manifest", "write_manifest", "write_recording"]
