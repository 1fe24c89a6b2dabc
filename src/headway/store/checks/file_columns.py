"""Compares the columns of a table's file with those that the table has; those of an event's file may be any of some types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headway.store.table_types import Column, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

INTEGERS = {"INTEGER": "int32", "SMALLINT": "int16", "UTINYINT": "uint8", "BIGINT": "int64"}
_EVENT_TYPES = {**INTEGERS, "DOUBLE": "double", "BOOLEAN": "bool", "VARCHAR": "string"}
LONGEST_SHOWN = 60
"""So much of a stranger's text a message has."""


class Impossible(Exception):  # noqa: N818 - becomes a message
    """Raised for a column that holds an impossible value."""

    def __init__(self, column: str, what: str) -> None:
        """Take the column's name, and what is in it."""
        super().__init__(column, what)
        self.column, self.what = column, what


def present_columns(file: pq.ParquetFile, table: TableSchema) -> list[Column]:
    """Return the columns that the file has, each of the right type: one of before may lack some.

    To DuckDB, names that differ in capitals alone are the same.
    """
    schema = file.schema_arrow
    folded = Counter(name.casefold() for name in schema.names)
    columns = [each for each in _columns(table) if each.name in schema.names]
    for column in _columns(table):
        if column.name not in schema.names and not column.nullable and column.name not in table.unpack_without:
            raise Impossible(column.name, "no such column")  # those that files of before lack are nullable
    for column in columns:
        if folded[column.name.casefold()] > 1:
            raise Impossible(column.name, "two columns of that name")
        _check_type(column, schema.field(column.name).type)
    return columns


def event_column(field: pa.Field) -> Column:
    """Return a column of an event's file. Raises Impossible for a type that headway does not write."""
    kind = next((kind for kind, alias in _EVENT_TYPES.items() if str(field.type) == alias), None)
    if kind is None:
        raise Impossible(field.name, f"values of type {str(field.type)[:LONGEST_SHOWN]}")
    return Column(field.name, kind, "", nullable=True)


def _columns(table: TableSchema) -> Iterator[Column]:
    """Yield the columns as the file has them."""
    if table.unpack is None:
        yield from table.columns
        return
    from headway.store.packing import COUNTS, STORED, UNCOUNTED

    types = {"int64": "BIGINT", "int32": "INTEGER", "int16": "SMALLINT", "uint8": "UTINYINT"}
    for name, kind in STORED.items():
        yield Column(name, types[kind], "")
    for name in (*COUNTS, *UNCOUNTED):
        yield Column(name, "BIGINT", "")


def _check_type(column: Column, found: pa.DataType) -> None:
    """Raise Impossible for a column of another type than its table has: a list, a text for a number ..."""
    import pyarrow.types as types

    if column.type in INTEGERS:
        is_right = str(found) == INTEGERS[column.type]
    elif column.type == "DOUBLE":
        is_right = types.is_float64(found)
    elif column.type == "BOOLEAN":
        is_right = types.is_boolean(found)
    else:
        text = found.value_type if types.is_dictionary(found) else found
        is_right = types.is_string(text) or types.is_large_string(text)
    if not is_right:
        raise Impossible(column.name, f"values of type {str(found)[:LONGEST_SHOWN]}")
