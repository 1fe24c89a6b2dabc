"""Rows on their way from a file into a recording's tables, in order of time.

Events come in the order in which threads' buffers were written. Rows are kept in memory and sorted there; beyond IN_MEMORY
they wait on disk beside the recording: samples in `sorted_runs`, what is asked of with SQL in a database, which DuckDB sorts
within a bounded memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headway.record.jfr.sorted_runs import joined
from headway.store.sql import literal

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Columns = Mapping[str, NDArray[Any]]

MEMORY = "400MB"
IN_MEMORY = 300_000_000
"""Bytes of a table's rows that are sorted in memory, which is faster by far."""
BATCH = 1 << 18
"""Rows of a batch of what is given back."""
_TYPES = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT", "bool": "BOOLEAN"}


class Scratch:
    """DIRECTORY/.staging with a database; use as a context manager, it is gone at the end."""

    def __init__(self, directory: Path) -> None:
        """Make the folder, empty."""
        self.folder = directory / ".staging"
        self.folder.mkdir()

    @cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """The database, made when it is first asked for."""
        import duckdb

        connection = duckdb.connect(str(self.folder / "rows.duckdb"))
        connection.execute(f"SET memory_limit = '{MEMORY}'; SET preserve_insertion_order = false")
        connection.execute(f"SET temp_directory = {literal(str(self.folder / 'spill'))}")
        return connection

    def __enter__(self) -> Scratch:
        """Return self."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the database."""
        if "database" in self.__dict__:
            self.database.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Staged:
    """Rows of one table, columns of numbers: added in any order, given back in the order of one of them."""

    def __init__(self, name: str, by: str, scratch: Scratch, in_memory: int = IN_MEMORY) -> None:
        """Name the table in the database, and the column that rows are ordered by."""
        self._name = name
        self._by = by
        self._scratch = scratch
        self._most = in_memory
        self._parts: list[Columns] = []
        self._held_bytes = 0
        self._spilled = False
        self.rows = 0
        """How many were added."""

    def add(self, columns: Columns) -> None:
        """Add rows: columns of equal length, always the same."""
        self._parts.append(columns)
        self.rows += len(columns[self._by])
        self._held_bytes += sum(values.nbytes for values in columns.values())
        if self._held_bytes > self._most or self._spilled:
            self._spill()

    def sorted(self) -> Iterator[Columns]:
        """Yield all rows in order, in batches."""
        if not self._spilled:
            columns, order = self._in_order()
            for begin in range(0, self.rows, BATCH):
                rows = slice(begin, begin + BATCH) if order is None else order[begin : begin + BATCH]
                yield {name: values[rows] for name, values in columns.items()}
            return
        for batch in self.query(f"SELECT * FROM {self._name} ORDER BY {self._by}"):
            yield dict(
                zip(batch.schema.names, (each.to_numpy(zero_copy_only=False) for each in batch.columns), strict=True)
            )

    @property
    def is_in_memory(self) -> bool:
        """Return whether all rows are."""
        return not self._spilled

    def whole(self, *names: str) -> list[NDArray[Any]]:
        """Return columns of all rows in order, which are in memory; there is one row at least."""
        columns, order = self._in_order()
        return [columns[name] if order is None else columns[name][order] for name in names]

    def _in_order(self) -> tuple[Columns, NDArray[np.int64] | None]:
        """Return all rows in memory, and their order where they are not in it."""
        import numpy as np

        if not self._parts:
            return {}, None
        columns = joined(self._parts)
        self._parts = [columns]
        if bool((np.diff(columns[self._by]) >= 0).all()):
            return columns, None
        return columns, np.argsort(columns[self._by], kind="stable")

    def query(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a query on the rows, which are in the database."""
        relation = self._scratch.database.sql(sql)
        reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # named so since 2.0
        yield from reader(BATCH)

    def _spill(self) -> None:
        import pyarrow as pa

        database = self._scratch.database
        columns = joined(self._parts)
        if not self._spilled:
            types = ", ".join(f"{name} {_TYPES[str(values.dtype)]}" for name, values in columns.items())
            database.execute(f"CREATE TABLE {self._name} ({types})")
        database.register("incoming", pa.table(dict(columns)))
        database.execute(f"INSERT INTO {self._name} BY NAME SELECT * FROM incoming")
        database.unregister("incoming")
        self._spilled = True
        self._parts, self._held_bytes = [], 0


# --- columns of a table ----------------------------------------------------------------------------------------------


def optional(values: NDArray[Any]) -> pa.Array:
    """Return a column of numbers whose negative values mean none."""
    import pyarrow as pa

    return pa.array(values, mask=values < 0)


def named(codes: NDArray[Any], names: Sequence[str] | pa.Array) -> pa.DictionaryArray:
    """Return a column of text: places in `names`, negative for none."""
    import numpy as np
    import pyarrow as pa

    indices = pa.array(codes.astype(np.int32, copy=False), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(
        indices, names if isinstance(names, pa.Array) else pa.array(names, pa.string())
    )
