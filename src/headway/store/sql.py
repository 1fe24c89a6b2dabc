"""The SQL that turns Parquet files into the tables of `tables.TABLES`: one view per table, row by row.

Nothing here uses windows, ASOF joins or DuckDB's own functions, so the same text runs on Spark over the same files.
"""

from __future__ import annotations

from collections.abc import Collection

from headway.store.tables import Column, Table


def quote(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def glob_literal(path: str) -> str:
    """Return a string literal for read_parquet that means exactly this path, though it may hold *, ? or [."""
    return literal("".join(f"[{char}]" if char in "*?[" else char for char in path))


def file_view(table: Table, path: str, present: Collection[str]) -> str:
    """Return CREATE VIEW for a table kept in a Parquet file that has the columns `present`.

    Columns the reader does not know are left out; nullable ones that the file lacks (an older writer) read as null.
    """
    source = f"read_parquet({glob_literal(path)})"
    if table.unpack is not None:
        stored = {name: name if name in present else default for name, default in table.unpack_without.items()}
        return f"CREATE VIEW {quote(table.name)} AS {table.unpack.format(file=source, **stored)}"
    columns = ", ".join(_column(column, present) for column in table.columns)
    return f"CREATE VIEW {quote(table.name)} AS SELECT {columns} FROM {source}"


def plain_view(name: str, path: str) -> str:
    """Return CREATE VIEW for a Parquet file as it is."""
    return f"CREATE VIEW {quote(name)} AS SELECT * FROM read_parquet({glob_literal(path)})"


def empty_view(table: Table) -> str:
    """Return CREATE VIEW for a table this recording does not have: no rows, the right columns."""
    columns = ", ".join(_null(column) for column in table.columns)
    return f"CREATE VIEW {quote(table.name)} AS SELECT {columns} WHERE 1 = 0"


def sql_view(table: Table) -> str:
    """Return CREATE VIEW for a table defined by SQL over other tables."""
    assert table.sql is not None
    return f"CREATE VIEW {quote(table.name)} AS {table.sql}"


def _column(column: Column, present: Collection[str]) -> str:
    return quote(column.name) if column.name in present else _null(column)


def _null(column: Column) -> str:
    return f"CAST(NULL AS {column.type}) AS {quote(column.name)}"
