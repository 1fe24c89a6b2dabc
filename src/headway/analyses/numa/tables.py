"""Reads tables of programs from CSV files, and joins them by program.

A stranger's file is read with bounds on its size, rows, columns and cells, and only if it is a regular file. What can't be used
is an error that names the file and the line; what is not known stays unknown.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway.analyses.numa.columns import COLUMNS, TOPICS, ThreadRange, Value, read_cell
from headway.errors import HeadwayError, Notice
from headway.store.files import read_named

MOST_BYTES = 8 << 20
MOST_PROGRAMS = 10_000
MOST_ROWS = 40_000
"""Of all tables together."""
MOST_COLUMNS = 200
MOST_CHARACTERS = 200
"""Of a name, or of any other cell."""
MOST_TABLES = 64
_NAMES = ("application", "program")
_MOST_LISTED = 8


@dataclass(slots=True)
class ProgramFigures:
    """What tables say of one program. `sources`: the file that each figure is from."""

    name: str
    suite: str | None = None
    values: dict[str, Value] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)

    def number(self, column: str) -> float | None:
        """Return a figure, None where it is not known."""
        value = self.values.get(column)
        return value if isinstance(value, int | float) else None

    def range(self, column: str) -> ThreadRange | None:
        """Return a number of threads, None where it is not known."""
        value = self.values.get(column)
        return value if isinstance(value, ThreadRange) else None

    def word(self, column: str) -> str | None:
        """Return a published class, None where there is none."""
        value = self.values.get(column)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Joined:
    """Programs in the order in which tables name them first, and what was not used of the tables."""

    programs: tuple[ProgramFigures, ...]
    notices: tuple[Notice, ...]


class UnusableTableError(Exception):
    """A table that can't be used: `where`, its file or a line of it, and the reason."""

    def __init__(self, where: Path | str, reason: str) -> None:
        """Keep both apart: what is expected of a table depends on who reads it."""
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of one file: the program it is of, and its figures. `where`: the file and the line."""

    path: str
    where: str
    name: str
    suite: str | None
    values: dict[str, Value]


def read_tables(paths: Sequence[Path | str]) -> Joined:
    """Read tables and join them by program.

    Raises HeadwayError HW700 for a file that can't be used, HW701 for a figure that is there twice, HW706 for a name that stands
    for two programs.
    """
    try:
        return join_tables(paths)
    except UnusableTableError as error:
        raise HeadwayError("HW700", path=error.where, reason=error.reason) from error


def join_tables(paths: Sequence[Path | str]) -> Joined:
    """Read tables and join them as `read_tables`, but raise UnusableTableError where that raises HW700."""
    if len(paths) > MOST_TABLES:
        raise UnusableTableError(paths[MOST_TABLES], f"at most {MOST_TABLES} tables are joined")
    rows: list[_Row] = []
    notices: list[Notice] = []
    for path in paths:
        found, unused = _read_table(str(path))
        rows += found
        if len(rows) > MOST_ROWS:
            raise UnusableTableError(path, f"with it the tables have more than {MOST_ROWS} lines")
        notices += unused
    return Joined(tuple(_join(rows)), tuple(dict.fromkeys(notices)))


def _join(rows: Sequence[_Row]) -> Iterator[ProgramFigures]:
    """Give every row to its program: by suite and name, or by name alone where a table has no suites."""
    suites: dict[str, dict[str, None]] = {}
    for row in rows:
        known = suites.setdefault(row.name, {})
        if row.suite is not None:
            known[row.suite] = None
    programs: dict[tuple[str | None, str], ProgramFigures] = {}
    for row in rows:
        known = suites[row.name]
        if row.suite is None and len(known) > 1:
            raise HeadwayError("HW706", path=row.where, program=row.name, suites=", ".join(known))
        suite = row.suite if row.suite is not None else next(iter(known), None)
        program = programs.setdefault((suite, row.name), ProgramFigures(row.name, suite))
        for column, value in row.values.items():
            if column in program.values:
                other = program.sources[column]
                raise HeadwayError("HW701", path=row.where, program=row.name, column=column, other=other)
            program.values[column] = value
            program.sources[column] = row.path
    yield from programs.values()


def _read_table(path: str) -> tuple[list[_Row], list[Notice]]:
    """Return the rows of one file, and what is missing or not used of it."""
    lines = _lines(path)
    head = next(lines, None)
    if head is None:
        raise UnusableTableError(path, "it is empty")
    columns = [name.strip() for name in head[1]]
    key = _key_column(path, columns)
    used = [(place, name) for place, name in enumerate(columns) if name in COLUMNS]
    suite = columns.index("suite") if "suite" in columns else None
    rows: list[_Row] = []
    seen: set[tuple[str | None, str]] = set()
    for line, cells in lines:
        where = f"{path}, line {line}"
        if len(cells) != len(columns):
            raise UnusableTableError(where, f"{len(cells)} cells, the head line has {len(columns)}")
        if len(rows) >= MOST_PROGRAMS:
            raise UnusableTableError(where, f"more than {MOST_PROGRAMS} programs")
        row = _row(path, where, (cells[key], None if suite is None else cells[suite]), cells, used)
        if (row.suite, row.name) in seen:
            raise HeadwayError("HW701", path=where, program=row.name, column="a row", other="the same file")
        seen.add((row.suite, row.name))
        rows.append(row)
    if not rows:
        raise UnusableTableError(path, "it has no lines below its head line")
    return rows, _unused(path, columns, {name for _, name in used})


def _row(
    path: str, where: str, key: tuple[str, str | None], cells: Sequence[str], used: Sequence[tuple[int, str]]
) -> _Row:
    name, suite = key[0].strip(), None if key[1] is None else key[1].strip()
    if not name:
        raise UnusableTableError(where, "no name of a program")
    values: dict[str, Value] = {}
    for place, column in used:
        try:
            value = read_cell(column, cells[place])
        except ValueError as error:
            raise UnusableTableError(where, f"{column}: {error}") from None
        if value is not None:
            values[column] = value
    return _Row(path, where, name, suite or None, values)


def _key_column(path: str, columns: Sequence[str]) -> int:
    """Return the place of the column of names; the head line must have it, something to read, and nothing twice."""
    if len(columns) > MOST_COLUMNS:
        raise UnusableTableError(path, f"{len(columns)} columns, at most {MOST_COLUMNS} are read")
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise UnusableTableError(path, f"column {twice[0]} is there twice")
    keys = [columns.index(name) for name in _NAMES if name in columns]
    if len(keys) != 1:
        what = "both a column application and a column program" if keys else "no column application or program"
        raise UnusableTableError(path, what)
    if not any(name in COLUMNS for name in columns):
        raise UnusableTableError(path, "none of its columns has a known name")
    return keys[0]


def _unused(path: str, columns: Sequence[str], used: set[str]) -> list[Notice]:
    """Return what the head line lacks beside what it has, and what nobody knows."""
    notices = []
    missing = [
        name
        for topic in TOPICS
        if used & {*topic.required}
        for name in topic.required
        if name not in used
    ]  # fmt: skip
    if missing:
        notices.append(Notice.of("HW702", path=path, columns=listed(missing)))
    unknown = [name for name in columns if name and name not in used and name not in (*_NAMES, "suite")]
    if unknown:
        notices.append(Notice.of("HW707", path=path, columns=listed(unknown)))
    return notices


def listed(names: Sequence[str]) -> str:
    """Return names of columns or suites in a row, the first ones if they are many."""
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def _lines(path: str) -> Iterator[tuple[int, list[str]]]:
    """Give (line number, cells) of every line that is not empty."""
    try:
        text = read_named(path, MOST_BYTES).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{path}, line {reader.line_num}"
            long = next((cell for cell in cells if len(cell) > MOST_CHARACTERS), None)
            if long is not None:
                reason = f"a cell of {len(long)} characters, at most {MOST_CHARACTERS} are read"
                raise UnusableTableError(where, reason)
            yield reader.line_num, cells
    except OSError as error:
        raise UnusableTableError(path, error.strerror or str(error)) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnusableTableError(path, f"it is not CSV text ({error})") from error
