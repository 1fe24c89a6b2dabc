"""Compares what a Parquet file's footer says of its columns with the columns: DuckDB believes it without looking.

A footer has the least and the most value of each column in each group of rows, and how many are null. DuckDB passes groups over
by them, answers `max(...)` with them and keeps values in as few bits as they need: where they are wrong, so is what it computes.
What is compared is what DuckDB itself reads in the footer: of columns' names and types, too, readers may think differently.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.store import sql
from headway.store.table_types import Column

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_SHORTCUTS = "|".join(
    (
        *("bloom_filter_offset", "bloom_filter_length", "index_page_offset"),
        *("column_index_offset", "column_index_length", "offset_index_offset", "offset_index_length"),
    )
)
"""What a footer may say of where there is more on which values there are: DuckDB passes pages over by it. headway writes none.

A regular expression for those of DuckDB's columns that there are: older ones know fewer.
"""
_DESCRIBED = f"""
SELECT column_id, row_group_id, path_in_schema, num_values, row_group_num_rows,
    coalesce(NULL, *COLUMNS('^({_SHORTCUTS})$')) AS shortcut,
    stats_min, stats_min_value, stats_max, stats_max_value, stats_null_count
FROM parquet_metadata({{file}})
WHERE shortcut IS NOT NULL OR num_values IS DISTINCT FROM row_group_num_rows
    OR stats_null_count IS NOT NULL OR coalesce(stats_min, stats_min_value, stats_max, stats_max_value) IS NOT NULL
"""
"""All that is asked, at once: each query takes milliseconds, and commands that answer at once have a dozen tables."""
_VALUE_OF: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("BIGINT", "INTEGER", "SMALLINT", "UTINYINT"), int),
    "DOUBLE": float,
    "BOOLEAN": "true".__eq__,
    "VARCHAR": str.encode,
}
_LONGEST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class _Claim:
    """What the footer says of a column in a group: bounds as they are written there."""

    least: tuple[str, ...]
    most: tuple[str, ...]
    nulls: int | None


class Footer:
    """What DuckDB reads in the footer of one table's file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, file: Path, leaves: Sequence[str]) -> None:
        """Read the footer. `leaves`: the file's columns in their order. Raises duckdb.Error for one that DuckDB can't read."""
        path = sql.glob_literal(os.fspath(file))
        self.types: dict[str, str] = {
            row[0]: str(row[1]) for row in connection.execute(f"DESCRIBE SELECT * FROM {sql.parquet(path)}").fetchall()
        }
        """The type of each column by its name, which is another one where an earlier column has it (in capitals, too)."""
        self._leaves = leaves
        self._claims: dict[int, dict[int, _Claim]] = {}
        """By a column's place, which is what DuckDB goes by: the names that stand beside the claims may be any."""
        self._wrong_count: tuple[str, str] | None = None
        self._shortcut: str | None = None
        described = connection.execute(_DESCRIBED.format(file=path)).fetchall()
        for place, group, name, count, rows, shortcut, *bounds, nulls in described:
            if count != rows and self._wrong_count is None:
                self._wrong_count = str(name), f"{count} values in a group of {rows} rows"
            if shortcut is not None and self._shortcut is None:
                self._shortcut = str(name)
            least, most = (tuple(each for each in pair if each is not None) for pair in (bounds[:2], bounds[2:]))
            self._claims.setdefault(place, {})[group] = _Claim(least, most, nulls)

    def wrong_column(self, columns: Sequence[Column]) -> tuple[str, str] | None:
        """Return the first column that DuckDB does not read as it is described, and what it reads; None if it reads all so."""
        if self._wrong_count:
            name, what = self._wrong_count
            return name[:_LONGEST_SHOWN], what
        if self._shortcut is not None:
            return self._shortcut[:_LONGEST_SHOWN], "what no headway writes: an index, or a filter, of its values"
        for column in columns:
            found = self.types.get(column.name)
            if found is None:
                return column.name, "two columns of that name"
            if found != column.type:
                return column.name, f"values of type {found[:_LONGEST_SHOWN]}"
        return None

    def comparison(self, column: Column, group_rows: Sequence[int]) -> Comparison:
        """Return what compares a column's values, in their order, with what is said of them. `group_rows`: of each group."""
        return Comparison(column, self._claims.get(self._leaves.index(column.name), {}), group_rows)


class Comparison:
    """Compares one column's values, some at a time, with what the footer says of the groups that they are in."""

    def __init__(self, column: Column, claims: dict[int, _Claim], group_rows: Sequence[int]) -> None:
        """Begin with the first row."""
        self._value_of = _VALUE_OF[column.type]
        self._claims = claims
        self._rows = group_rows
        self._group, self._at, self._nulls = 0, 0, 0
        self._bounds: tuple[Any, Any] | None = None

    def wrong_of_empty(self) -> str | None:
        """Return what is wrong with what is said of groups without rows, or that are not there; None if nothing is."""
        for group, claim in self._claims.items():
            if (claim.least or claim.most) and not (group < len(self._rows) and self._rows[group]):
                return f"bounds of what has no rows: {(*claim.least, *claim.most)[0][:_LONGEST_SHOWN]}"
        return None

    def wrong(self, values: pa.Array) -> str | None:
        """Take the next values; return what is wrong with what is said of them, None if nothing is."""
        if not self._claims:
            return None
        for part in self._parts(values):
            claim = self._claims.get(self._group)
            self._nulls += part.null_count
            if claim is None:
                continue
            if claim.least or claim.most:
                self._bounds = _wider(self._bounds, _bounds(part))
            if self._at == self._rows[self._group]:
                if claim.nulls not in (None, self._nulls):
                    return f"{self._nulls} nulls where the file says {claim.nulls}"
                if found := self._wrong_bound(claim):
                    return found
        return None

    def _parts(self, values: pa.Array) -> Iterator[pa.Array]:
        """Yield what is of one group each."""
        done = 0
        while done < len(values):
            while self._at >= self._rows[self._group]:
                self._group, self._at, self._nulls, self._bounds = self._group + 1, 0, 0, None
            count = min(len(values) - done, self._rows[self._group] - self._at)
            self._at += count
            yield values.slice(done, count)
            done += count

    def _wrong_bound(self, claim: _Claim) -> str | None:
        """Return the bound that is not the least, or the most, of the group's values; None if there is none."""
        least, most = self._bounds or (None, None)
        for text, value, is_low in (
            *((each, least, True) for each in claim.least),
            *((each, most, False) for each in claim.most),
        ):
            try:
                bound = self._value_of(text)
            except ValueError:
                return f"a bound of {text[:_LONGEST_SHOWN]!r} in what the file says of it"
            if value is None or bound != value:  # a bound that only encloses the values is an answer of DuckDB's, too
                word = "least" if is_low else "most"
                found = "no value" if value is None else str(value)[:_LONGEST_SHOWN]
                return f"{found}, where the file says that the {word} is {text[:_LONGEST_SHOWN]}"
        return None


def _wider(known: tuple[Any, Any] | None, more: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    """Return the least and the most of two pairs of them."""
    if known is None or more is None:
        return known or more
    return min(known[0], more[0]), max(known[1], more[1])


def _bounds(values: pa.Array) -> tuple[Any, Any] | None:
    """Return the least and the most of some values, texts as bytes; None where all are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = pc.take(values.dictionary, pc.unique(values.indices).drop_null())
    found = pc.min_max(values).as_py()
    if found["min"] is None:
        return None
    return tuple(each.encode() if isinstance(each, str) else each for each in (found["min"], found["max"]))  # type: ignore[return-value]
