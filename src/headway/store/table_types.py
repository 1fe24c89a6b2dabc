"""The types that describe a table's schema: `Column` and `TableSchema`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `type` is a DuckDB type name; `meaning` carries the unit."""

    name: str
    type: str
    meaning: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table, or a view (`sql` set). `needs` lists the physical tables that a view reads.

    `needs_any`: tables that it reads as well, of which one is enough: it has rows where any of them has.

    `unpack`: the file holds the rows in another form (`packing.py`); this SQL over {file} gives them back, row by row.
    `unpack_without`: {column: SQL} for columns that files of before lack, each named in `unpack` as well.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    sql: str | None = None
    needs: tuple[str, ...] = ()
    needs_any: tuple[str, ...] = ()
    unpack: str | None = None
    unpack_without: Mapping[str, str] = field(default_factory=dict)
