"""What a query of DuckDB yields, as Arrow batches: one at a time, so that no more of it is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def batches(connection: duckdb.DuckDBPyConnection, text: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Run SQL and yield its result in batches of about `rows` rows. Raises duckdb.Error."""
    relation = connection.sql(text)
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # named so since DuckDB 2
    yield from reader(rows)
