"""Compares a table's values as DuckDB reads them with the same values as PyArrow reads them: a file may be made to differ.

Where a column's first page is, how its nulls are noted, which of two numbers of values counts: in a file that no writer makes,
readers decide differently. What one of them finds possible says nothing of what the other computes with: they have to agree.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headway.store import sql
from headway.store.arrow_batches import batches
from headway.store.table_types import Column

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_LEAST_ROWS, _MOST_ROWS = 1 << 11, 1 << 17
_TEXT_AT_ONCE_BYTES = 64 << 20
_DIFFERENT = "values that readers of the file see differently"


class SecondReading:
    """What DuckDB reads of some columns of a file, to be compared with rows that were read otherwise.

    `differs` raises duckdb.Error for what DuckDB can't read.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, file: Path, columns: Sequence[Column], most_text_bytes: int
    ) -> None:
        """Begin with the first row. `most_text_bytes`: what all texts may take, of more none is read."""
        self._connection = connection
        self._source = sql.parquet(sql.glob_literal(os.fspath(file)))
        self._columns = columns
        self._batches = self._read(most_text_bytes)
        self._batch: pa.RecordBatch | None = None
        self._at = 0

    def differs(self, rows: pa.RecordBatch) -> tuple[str, str] | None:
        """Compare the next rows; return a column that is read differently and what to say of it, None if there is none."""
        done = 0
        while done < rows.num_rows:
            if self._batch is None or self._at == self._batch.num_rows:
                self._batch, self._at = next(self._batches, None), 0
                if self._batch is None:
                    return "(all)", "rows that readers of the file count differently"
            count = min(rows.num_rows - done, self._batch.num_rows - self._at)
            for place, column in enumerate(self._columns):
                here = rows.column(rows.schema.get_field_index(column.name)).slice(done, count)
                if not _is_same(here, self._batch.column(place).slice(self._at, count)):
                    return column.name, _DIFFERENT
            done, self._at = done + count, self._at + count
        return None

    def close(self) -> None:
        """Let go of the file."""
        self._batches.close()
        self._batch = None

    def _read(self, most_text_bytes: int) -> Generator[pa.RecordBatch, None, None]:
        """Yield the columns in their order, some rows at a time: fewer where texts are long."""
        texts = [sql.quote(column.name) for column in self._columns if column.type == "VARCHAR"]
        rows = _MOST_ROWS
        if texts:
            lengths = " + ".join(f"coalesce(sum(strlen({text})), 0)" for text in texts)
            found = self._connection.execute(f"SELECT count(*), {lengths} FROM {self._source}").fetchall()
            count, text_bytes = found[0]
            if text_bytes > most_text_bytes:
                return
            rows = max(_LEAST_ROWS, min(_MOST_ROWS, _TEXT_AT_ONCE_BYTES * count // max(text_bytes, 1)))
        names = ", ".join(sql.quote(column.name) for column in self._columns)
        yield from batches(self._connection, f"SELECT {names} FROM {self._source}", rows)


def _is_same(left: pa.Array, right: pa.Array) -> bool:
    """Return whether two arrays have the same values, of fractions the same bits; texts may be in a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(left.type):
        left = pc.take(left.dictionary, left.indices)
    if pa.types.is_floating(left.type) and pa.types.is_floating(right.type):
        left, right = left.view(pa.int64()), right.view(pa.int64())
    if left.type != right.type:
        left = left.cast(right.type)
    return bool(left.equals(right))
