"""Reads the row groups of a Parquet file from the last to the first, one in memory at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.store import packing
from headway.store.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq


def backwards(file: pq.ParquetFile, table: str) -> Iterator[pa.RecordBatch]:
    """Yield a table's columns, the last row group first; within a batch rows keep their order."""
    columns = _columns_looked_at(table, file.schema_arrow.names)
    for group in reversed(range(file.num_row_groups)):
        yield from reversed(file.read_row_group(group, columns=columns).combine_chunks().to_batches())


def backwards_in_order(
    file: pq.ParquetFile, order: str, columns: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, int | None]]:
    """Yield some columns of each row group, the last first, and the largest value of the column `order` in all before it."""
    at = file.schema_arrow.get_field_index(order)
    largest = [_largest(file, group, at) for group in range(file.num_row_groups)]
    for group in reversed(range(file.num_row_groups)):
        batch = file.read_row_group(group, columns=list(columns)).combine_chunks().to_batches()
        before = [each for each in largest[:group] if each is not None]
        if batch:
            yield batch[0], max(before, default=None)


def _columns_looked_at(table: str, present: Sequence[str]) -> list[str]:
    """Return those of a file's columns that are its table's: at others nobody has looked, and they may be of any length."""
    own = (
        {*packing.STORED, *packing.counts_in(present)} if table == "slice" else {c.name for c in TABLES[table].columns}
    )
    return [name for name in present if name in own]


def _largest(file: pq.ParquetFile, group: int, column: int) -> int | None:
    """Return the largest value of a column in a row group, as its writer told it or, where it did not, by reading it."""
    import pyarrow.compute as pc

    described = file.metadata.row_group(group)
    if not described.num_rows:
        return None
    statistics = described.column(column).statistics
    if statistics is not None and statistics.has_min_max:
        return int(statistics.max)
    return int(pc.max(file.read_row_group(group, columns=[described.column(column).path_in_schema]).column(0)).as_py())
