"""Writes tables to Parquet directly from numpy columns, without Arrow (native/parquet).

The writer of `writer.py` takes Arrow tables, which have to be made first, and turns each column into its own forms before it
encodes it: for long files that is the most of what an import costs. What is written reads the same.

Checked    tests/property/test_column_writer.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headway.store.files import NewFile
from headway.store.manifest import TableInfo
from headway.store.tables import TableSchema

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers; values below `below` are null (None: no value is)."""

    values: NDArray[Any]
    below: int | None = 0


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of text as indexes into `names`; negative ones are null."""

    places: NDArray[Any]
    names: Sequence[str]


Values = Numbers | Texts | int | bool | None
"""What a column has: numbers, texts, or the same in every row; None is nothing."""


class ColumnWriter:
    """Appends rows to one table of a recording; memory is bounded by one batch.

    Use as a context manager, or `close` it. `info` holds rows, bytes and checksum once closed. A failed write raises OSError.
    """

    def __init__(self, directory: Path | str, table: TableSchema) -> None:
        """Start DIRECTORY/TABLE.parquet, which replaces an existing file once it is closed."""
        from headway import _native

        self.table = table
        self.path = Path(directory) / f"{table.name}.parquet"
        self._rows = 0
        columns = [(c.name, c.type, c.nullable, c.type == "BIGINT" and not is_time(c.name)) for c in table.columns]
        self._new = NewFile(directory, self.path.name)
        self._file = _native.ParquetFile(self._new.fd, str(self.path), columns, _zstd, zlib.crc32)

    def write(self, rows: int, columns: Mapping[str, Values]) -> None:
        """Append so many rows. Columns that are not given are null.

        Raises ValueError for a column that the table does not have, or values that a column can't have.
        """
        unknown = set(columns) - {column.name for column in self.table.columns}
        if unknown:
            raise ValueError(f"table {self.table.name}: unknown columns {sorted(unknown)}")
        self._file.write(rows, [_given(columns.get(column.name), column.type) for column in self.table.columns])
        self._rows += rows

    def close(self) -> TableInfo:
        """Write the footer, and rename the file to its final name."""
        self._file.close()
        self.info = TableInfo(self._rows, *self._new.checksum())
        self._new.keep()
        return self.info

    def __enter__(self) -> ColumnWriter:
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
            self._new.drop()


def is_time(column: str) -> bool:
    """Return whether a column holds times of single events, whose differences compress to less than 5 %."""
    return column == "ns" or column.endswith("_ns")


def _given(values: Values, kind: str) -> tuple[Any, int | None, Sequence[str] | None]:
    import numpy as np

    if isinstance(values, Numbers):
        rows = values.values
        wide = rows.astype(np.int64) if kind == "BIGINT" and rows.dtype == np.int32 else rows
        return np.ascontiguousarray(wide), values.below, None
    if isinstance(values, Texts):
        return np.ascontiguousarray(values.places, dtype=np.int32), 0, values.names
    return values, None, None


def _zstd(plain: bytes) -> bytes:
    import pyarrow as pa

    packed: bytes = pa.compress(plain, codec="zstd", asbytes=True)
    return packed
