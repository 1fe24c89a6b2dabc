"""Generates the SQL views that present Parquet files as the tables of `tables.TABLES`.

Nothing here uses windows, ASOF joins or DuckDB's own functions, so the same text runs on Spark over the same files.
"""

from __future__ import annotations

from collections.abc import Collection

from headway.store.tables import Column, TableSchema

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
"""Settings of every connection: nothing is loaded from a home directory or the network, no variable of ours is a table."""


def quote(name: str) -> str:
    """Quote an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def woken_ns(alias: str = "") -> str:
    """Return the SQL for when the wait before a slice ended: when its thread was woken (CLOCK_MONOTONIC ns)."""
    return f"{alias}start_ns - COALESCE({alias}runnable_ns, 0)"


def literal(text: str) -> str:
    """Quote an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def glob_text(path: str) -> str:
    """Escape a path that may hold *, ? or [ as a glob pattern for exactly this path."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


def glob_literal(path: str) -> str:
    """Quote a path as a string literal for read_parquet that means exactly this path."""
    return literal(glob_text(path))


def parquet(path: str) -> str:
    """Return the SQL that reads one Parquet file; `path` is a literal.

    The names of directories on the way are no columns: without being told, DuckDB takes kind=gc/ for one, instead of the file's.
    """
    return f"read_parquet({path}, hive_partitioning = false)"


def file_view(table: TableSchema, path: str, present: Collection[str]) -> str:
    """Return CREATE VIEW for a table stored in a Parquet file that has the columns `present`.

    Columns the reader does not know are left out; nullable ones that the file lacks (an older writer) read as null.
    """
    source = parquet(glob_literal(path))
    if table.unpack is not None:
        stored = {name: name if name in present else default for name, default in table.unpack_without.items()}
        return f"CREATE VIEW {quote(table.name)} AS {table.unpack.format(file=source, **stored)}"
    columns = ", ".join(_column(column, present) for column in table.columns)
    return f"CREATE VIEW {quote(table.name)} AS SELECT {columns} FROM {source}"


def plain_view(name: str, path: str) -> str:
    """Return CREATE VIEW for a Parquet file with its own columns."""
    return f"CREATE VIEW {quote(name)} AS SELECT * FROM {parquet(glob_literal(path))}"


def empty_view(table: TableSchema) -> str:
    """Return CREATE VIEW for a table missing in this recording: no rows, the right columns."""
    columns = ", ".join(_null(column) for column in table.columns)
    return f"CREATE VIEW {quote(table.name)} AS SELECT {columns} WHERE 1 = 0"


def sql_view(table: TableSchema, memory_nodes: int | None) -> str:
    """Return CREATE VIEW for a table defined by SQL over other tables, on a machine of so many memory nodes; None: not known."""
    assert table.sql is not None
    text = table.sql.replace("{memory_nodes}", "NULL" if memory_nodes is None else str(memory_nodes))
    return f"CREATE VIEW {quote(table.name)} AS {text}"


def _column(column: Column, present: Collection[str]) -> str:
    return quote(column.name) if column.name in present else _null(column)


def _null(column: Column) -> str:
    return f"CAST(NULL AS {column.type}) AS {quote(column.name)}"
