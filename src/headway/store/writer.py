"""Writes recordings: Parquet files that follow `tables.TABLES`, then the manifest that names them."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.store import packing
from headway.store.manifest import FILE, Manifest, TableInfo, read_manifest, write_manifest
from headway.store.tables import TABLES, Table

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


def arrow_schema(table: Table) -> pa.Schema:
    """Return the Arrow schema that a table's rows have when handed to the writer."""
    import pyarrow as pa

    types = {name: pa.type_for_alias(alias) for name, alias in _ARROW.items()}
    return pa.schema([pa.field(c.name, types[c.type], c.nullable) for c in table.columns])


def conform(table: Table, data: pa.Table) -> pa.Table:
    """Return `data` with exactly the table's columns, in order and type; absent nullable columns become null.

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

    Use as a context manager. `info` holds rows and bytes once closed. A failed write raises OSError.
    """

    def __init__(self, directory: Path | str, table: Table) -> None:
        """Create DIRECTORY/TABLE.parquet, replacing what is there."""
        import pyarrow.parquet as pq

        self.table = table
        self.path = Path(directory) / f"{table.name}.parquet"
        self._rows = 0
        packed = table.unpack is not None
        schema = packing.schema() if packed else arrow_schema(table)
        options = packing.parquet_options() if packed else _options(table)
        self._file = pq.ParquetWriter(self.path, schema, **options)

    def write(self, data: pa.Table) -> None:
        """Append rows (see `conform` for what is accepted)."""
        if data.num_rows:
            rows = conform(self.table, data)
            self.write_stored(rows if self.table.unpack is None else packing.pack(rows))

    def write_stored(self, data: pa.Table) -> None:
        """Append rows that have the form of the file already (only `slice` has one of its own: `packing.py`)."""
        self._file.write_table(data, row_group_size=ROW_GROUP)
        self._rows += data.num_rows

    def close(self) -> TableInfo:
        """Write the footer; without it the file is not readable."""
        self._file.close()
        self.info = TableInfo(self._rows, self.path.stat().st_size)
        return self.info

    def __enter__(self) -> TableWriter:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; remove it when the block failed."""
        self._file.close() if kind else self.close()
        if kind:
            self.path.unlink(missing_ok=True)


def _options(table: Table) -> dict[str, Any]:
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
        shutil.rmtree(path)
    os.makedirs(path, exist_ok=True)
    infos: dict[str, TableInfo] = {}
    for name, data in tables.items():
        with TableWriter(path, TABLES[name]) as writer:
            writer.write(data)
        infos[name] = writer.info
    write_manifest(path, dataclasses.replace(manifest, tables=infos))
    return path


__all__ = ["TableWriter", "arrow_schema", "conform", "read_manifest", "write_manifest", "write_recording"]
