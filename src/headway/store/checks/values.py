"""Checks a table's file for values that no program can cause (see ranges.py), once, before it is first read.

A file may have the right checksum and hold anything: whoever made it made that, too. The values themselves are looked at, some
hundred thousand rows at a time, and what the file says of them is compared (footer.py). Before that, how much memory they
would take is compared with how much there is: equal values take next to no room in a file, and all of theirs in memory.
"""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.store.checks.file_columns import LONGEST_SHOWN, Impossible, event_column, present_columns
from headway.store.checks.footer import Comparison, Footer
from headway.store.checks.ranges import (
    IDS,
    LARGEST,
    LONG_BYTES,
    LONGEST_TEXT_BYTES,
    MOST_LONG_BYTES,
    MOST_TICK_NS,
    STORED_SLICE,
    UNIQUE_IDS,
    Range,
    RangeFacts,
    range_in_ticks,
    range_of,
)
from headway.store.checks.second_reading import SecondReading
from headway.store.shared_texts import long_bytes
from headway.store.table_types import Column, TableSchema

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

_ROWS = 1 << 18
_LEAST_ROOM_BYTES = 4 << 30
_MOST_TEXTS_BYTES = 1 << 30
"""So much text a column can have, each text once in some hundred thousand rows."""
_WIDTH_BYTES = {
    "BIGINT": 8,
    "DOUBLE": 8,
    "INTEGER": 4,
    "SMALLINT": 2,
    "UTINYINT": 1,
    "BOOLEAN": 1,
    "VARCHAR": 16,
}
"""What a value takes in memory; a text its own length as well."""
_STREAMED = ("slice",)
"""Tables that are read a row group at a time: what a long recording has most of."""
_STREAMED_TIMES_ITS_FILE, _TIMES_THEIR_FILES = 64, 256
"""So much longer than its file such a table may be in memory, and all other tables together than theirs; those of recordings are
about ten times as long, and none of thousands was more than forty."""
_LEAST_ALLOWED_BYTES = 64 << 20
"""So much they may take however small their files are: what is made of them takes several times that."""

_one_at_a_time = threading.Lock()
"""The limit of memory is the process's; analyses have threads that may read tables at the same time."""


class _TooLarge(Exception):  # noqa: N818 - becomes a message
    """How much memory it would take, and how much it may."""

    def __init__(self, taken_bytes: int, most_bytes: int) -> None:
        super().__init__(taken_bytes, most_bytes)
        self.taken_bytes, self.most_bytes = taken_bytes, most_bytes


def room_bytes() -> int:
    """Return how much memory the tables of a recording may take: half of the machine's."""
    return max(_LEAST_ROOM_BYTES, os.sysconf("SC_PHYS_PAGES") * resource.getpagesize() // 2)


def _most_bytes(times: int, files_bytes: int) -> int:
    """Return how much memory tables may take that are in files of so many bytes, and may be so many times as long."""
    return min(room_bytes(), max(_LEAST_ALLOWED_BYTES, times * files_bytes))


@dataclass(slots=True)
class Room:
    """The memory that the tables of one recording may take together, and what those that were checked would take, bytes."""

    files_bytes: int
    taken_bytes: int = 0

    def take(self, size_bytes: int) -> None:
        """Add to what is taken. Raises _TooLarge when that is more than there is."""
        most_bytes = _most_bytes(_TIMES_THEIR_FILES, self.files_bytes)
        if self.taken_bytes + size_bytes > most_bytes:
            raise _TooLarge(self.taken_bytes + size_bytes, most_bytes)
        self.taken_bytes += size_bytes


def check(
    path: Path,
    to_open: Path,
    table: TableSchema,
    facts: RangeFacts,
    rows: int,
    room: Room,
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Raise HeadwayError HW323 if file `path` of `table`, opened as `to_open`, holds impossible values.

    `rows`: how many the manifest says there are. `connection`: to read its footer as DuckDB does. Raises HeadwayError HW325 where
    all of them would take more memory than there is `room`, OSError, pa.ArrowException, duckdb.Error for a damaged file.
    """

    def checkers(
        file: pq.ParquetFile, columns: list[Column], room: Room, comparisons: list[Comparison]
    ) -> list[_Checker]:
        found = [_Checker(each, facts, table, room, one) for each, one in zip(columns, comparisons, strict=True)]
        if table.unpack is not None:
            _set_ticks(file, table, facts, found)
        return found

    columns_of = functools.partial(present_columns, table=table)
    _check(path, to_open, table.name, rows, room, connection, columns_of, checkers)


def check_events(
    path: Path, to_open: Path, rows: int, room: Room, connection: duckdb.DuckDBPyConnection, name: str
) -> None:
    """Raise as `check` for the table `name` of a JFR file's event, which may have any columns, and any numbers in them.

    Texts are checked as everywhere, but they may be long.
    """

    def columns_of(file: pq.ParquetFile) -> list[Column]:
        return [event_column(field) for field in file.schema_arrow]

    def checkers(_: pq.ParquetFile, columns: list[Column], room: Room, comparisons: list[Comparison]) -> list[_Checker]:
        table, found = TableSchema(name, "", tuple(columns)), []
        for column, one in zip(columns, comparisons, strict=True):
            checker = _Checker(column, RangeFacts(None, {}), table, room, one)
            checker.range = Range(longest_bytes=LONGEST_TEXT_BYTES)
            checker.is_any_number = True
            checker.most_long_bytes = LARGEST  # messages and paths, which only the room limits
            found.append(checker)
        return found

    _check(path, to_open, name, rows, room, connection, columns_of, checkers)


def _check(
    path: Path,
    to_open: Path,
    name: str,
    rows: int,
    room: Room,
    connection: duckdb.DuckDBPyConnection,
    columns_of: Callable[[pq.ParquetFile], list[Column]],
    checkers_of: Callable[[pq.ParquetFile, list[Column], Room, list[Comparison]], list[_Checker]],
) -> None:
    """Raise where a table's file is damaged or hostile: its footer first, then the memory it takes, then every value in it."""
    import pyarrow.parquet as pq

    try:
        with _limited_memory(), pq.ParquetFile(to_open) as file:
            columns = columns_of(file)
            _check_rows(file, rows)
            if name in _STREAMED:
                _check_streamed(file, columns, to_open.stat().st_size)
                room = Room(to_open.stat().st_size)
            else:
                room.take(rows * _row_bytes(columns))
            footer = _footer(file, to_open, columns, connection)
            again = SecondReading(connection, to_open, columns, room_bytes())
        texts = [column.name for column in columns if column.type == "VARCHAR"]
        with contextlib.closing(again), _limited_memory(), pq.ParquetFile(to_open, read_dictionary=texts) as file:
            groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
            comparisons = [footer.comparison(column, groups) for column in columns]
            _check_batches(file, columns, checkers_of(file, columns, room, comparisons), again)
    except Impossible as found:
        raise _impossible(path, name, found) from None
    except _TooLarge as found:
        raise _too_large(path, name, found) from None


def _footer(
    file: pq.ParquetFile, to_open: Path, columns: list[Column], connection: duckdb.DuckDBPyConnection
) -> Footer:
    """Return what DuckDB reads in the footer. Raises Impossible where that is not what PyArrow reads."""
    footer = Footer(connection, to_open, [file.schema.column(place).path for place in range(len(file.schema))])
    if wrong := footer.wrong_column(columns):
        raise Impossible(*wrong)
    return footer


def _impossible(path: Path, table: str, found: Impossible) -> HeadwayError:
    return HeadwayError("HW323", path=path.parent, table=table, column=found.column, what=found.what)


def _too_large(path: Path, table: str, found: _TooLarge) -> HeadwayError:
    taken, most = (f"{each / (1 << 30):.2f} GiB" for each in (found.taken_bytes, found.most_bytes))
    return HeadwayError("HW325", path=path.parent, table=table, size=taken, limit=most)


def _row_bytes(columns: list[Column]) -> int:
    """Return how much memory a row takes, but for its texts."""
    return sum(_WIDTH_BYTES[column.type] for column in columns)


def _check_rows(file: pq.ParquetFile, rows: int) -> None:
    """Raise Impossible where the file's descriptions disagree on how many rows there are: readers go by different ones.

    PyArrow is not asked for those of a column: where one is said to be encrypted, that ends the process (std::terminate).
    """
    described = file.metadata
    if described.num_rows != rows or rows < 0:
        raise Impossible("(all)", f"{described.num_rows} rows, where the manifest says {rows}")
    total = 0
    for number in range(described.num_row_groups):
        group = described.row_group(number)
        total += group.num_rows
        if group.num_columns != described.num_columns:
            raise Impossible("(all)", f"{group.num_columns} columns in a group of a file of {described.num_columns}")
        if group.num_rows < 0:
            raise Impossible("(all)", f"a group of {group.num_rows} rows")
    if total != rows:
        raise Impossible("(all)", f"groups of {total} rows in all, where the manifest says {rows}")


def _check_streamed(file: pq.ParquetFile, columns: list[Column], file_bytes: int) -> None:
    """Raise _TooLarge where one group of rows does not fit in memory, or all are far longer than their file.

    Such a table may be longer than memory; but to go through what a small file says to have would never end.
    """
    described, fits_bytes = file.metadata, room_bytes()
    groups = [described.row_group(number).num_rows for number in range(described.num_row_groups)]
    for rows, most_bytes in (
        (max(groups, default=0), fits_bytes),
        (sum(groups), max(min(fits_bytes, _LEAST_ALLOWED_BYTES), _STREAMED_TIMES_ITS_FILE * file_bytes)),
    ):
        if rows * _row_bytes(columns) > most_bytes:
            raise _TooLarge(rows * _row_bytes(columns), most_bytes)


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """Let a block take half of the machine's memory at most: a megabyte of a file can be gigabytes. Raises Impossible."""
    with _one_at_a_time:
        pages, room = int(Path("/proc/self/statm").read_text().split()[0]), room_bytes()
        before = resource.getrlimit(resource.RLIMIT_AS)
        most = pages * resource.getpagesize() + room
        if before[0] == resource.RLIM_INFINITY or most < before[0]:
            resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
        try:
            yield
        except MemoryError:
            raise Impossible("(all)", f"more than {room >> 30} GiB at once") from None
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)


def _check_batches(
    file: pq.ParquetFile, columns: Sequence[Column], checkers: list[_Checker], again: SecondReading
) -> None:
    """Check all rows, some at a time, and that DuckDB reads the same in them. Raises Impossible."""
    for checker in checkers:
        checker.begin()
    left = file.metadata.num_rows
    for batch in file.iter_batches(_ROWS, columns=[each.name for each in columns]):
        left -= batch.num_rows
        if left < 0:
            raise Impossible("(all)", f"more rows than the {file.metadata.num_rows} it says to have")
        for checker in checkers:
            checker.take(batch.column(batch.schema.get_field_index(checker.column.name)))
        if wrong := again.differs(batch):
            raise Impossible(*wrong)
    if left:
        raise Impossible("(all)", f"{left} rows less than it says to have")


def _set_ticks(file: pq.ParquetFile, table: TableSchema, facts: RangeFacts, checkers: list[_Checker]) -> None:
    """Give columns that are stored in ticks their ranges in ticks; a tick is as long in every row."""
    import pyarrow.compute as pc

    by_name = {column.name: column for column in table.columns}
    found: set[int] = set()
    for batch in file.iter_batches(_ROWS, columns=["tick_ns"]):
        found.update(pc.unique(batch.column(0)).to_pylist())
        if len(found) > 1 or not all(isinstance(each, int) and 1 <= each <= MOST_TICK_NS for each in found):
            raise Impossible("tick_ns", f"ticks of {', '.join(map(str, sorted(map(str, found))))[:LONGEST_SHOWN]} ns")
    tick_ns = next(iter(found), 1)
    for checker in checkers:
        if checker.column.name in STORED_SLICE:
            of_table = range_of(table, by_name[STORED_SLICE[checker.column.name]], facts)
            checker.range = range_in_ticks(of_table, tick_ns)
            checker.unit_ns = tick_ns


class _Checker:
    """The check of one column: its range, and the sum of its values so far."""

    def __init__(
        self, column: Column, facts: RangeFacts, table: TableSchema, room: Room, comparison: Comparison
    ) -> None:
        self.column = column
        self._comparison = comparison
        self._room = room
        self._seen: Any = None
        """Which ids have been seen, where each row has its own."""
        self.range: Range = range_of(table, column, facts)
        self.unit_ns = 1
        self._has_own_ids = table.name in UNIQUE_IDS and IDS.get(column.name) == table.name
        self._sum = 0.0
        self._long_bytes = 0
        self.most_long_bytes = MOST_LONG_BYTES
        self.is_any_number = False

    def begin(self) -> None:
        """Check what is said of values that are not there. Raises Impossible."""
        if wrong := self._comparison.wrong_of_empty():
            raise Impossible(self.column.name, wrong)

    def take(self, values: pa.Array) -> None:
        """Check some rows. Raises Impossible."""
        if values.null_count and not self.column.nullable:
            raise Impossible(self.column.name, "no value at all (null)")
        if self.column.type == "VARCHAR":
            self._take_texts(values)
        elif self.column.type != "BOOLEAN" and not self.is_any_number:
            self._take_numbers(values)
        if wrong := self._comparison.wrong(values):
            raise Impossible(self.column.name, wrong)

    def _take_texts(self, values: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = values.dictionary  # each once, however many rows have it
        lengths = pc.binary_length(texts)
        longest = pc.max(lengths).as_py() or 0
        if longest > self.range.longest_bytes:
            raise Impossible(self.column.name, f"a text of {longest} bytes")
        self._sum += texts.nbytes
        if self._sum > _MOST_TEXTS_BYTES:
            raise Impossible(self.column.name, f"more than {_MOST_TEXTS_BYTES >> 30} GiB of text")
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid as error:
            raise Impossible(self.column.name, f"what is no text: {str(error)[:LONGEST_SHOWN]}") from None
        each = pc.take(lengths, values.indices)
        self._room.take(pc.sum(each).as_py() or 0)
        self._long_bytes += long_bytes(each)
        if self._long_bytes > self.most_long_bytes:
            what = f"names of more than {LONG_BYTES} bytes with more than {MOST_LONG_BYTES >> 20} MiB of text in all"
            raise Impossible(self.column.name, what)
        if self.range.words is not None and (found := {*texts.to_pylist()} - self.range.words):
            raise Impossible(self.column.name, repr(min(map(str, found))[:LONGEST_SHOWN]))

    def _take_numbers(self, values: pa.Array) -> None:
        import numpy as np

        known = values.drop_null() if values.null_count else values
        if not len(known):
            return
        numbers = known.to_numpy(zero_copy_only=False)
        least, most = numbers.min(), numbers.max()  # of NaN and anything: NaN
        if not (least >= self.range.least and most <= self.range.most):
            is_low = not least >= self.range.least
            raise Impossible(self.column.name, self._as_text((least if is_low else most).item()))
        if self._has_own_ids:
            self._take_ids(numbers)
        if self.range.sums:
            self._sum += abs(float(np.sum(numbers, dtype=np.float64))) * self.unit_ns
            if self._sum >= LARGEST:
                raise Impossible(self.column.name, f"values that add up to {self._sum:.3g}, more than 64 bits hold")

    def _take_ids(self, ids: Any) -> None:
        """Note ids of rows, within their range. Raises Impossible for one that was there before."""
        import numpy as np

        if self._seen is None:
            self._seen = np.zeros(int(self.range.most) + 1, dtype=np.bool_)
        twice = ids[self._seen[ids]]
        self._seen[ids] = True
        if not len(twice) and len(np.unique(ids)) < len(ids):
            found, times = np.unique(ids, return_counts=True)
            twice = found[times > 1]
        if len(twice):
            raise Impossible(self.column.name, f"{int(twice[0])} twice")

    def _as_text(self, value: float) -> str:
        if self.unit_ns != 1:
            return f"{value * self.unit_ns} ns"
        return str(value)
