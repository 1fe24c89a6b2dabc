"""Opens recordings: `open_recording(path)` reads the manifest at once, and tables on demand."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError, Notice
from headway.store import checking_engine, row_groups, sql
from headway.store import directory as directories
from headway.store.arrow_batches import batches
from headway.store.checks import values
from headway.store.checks.ranges import RangeFacts
from headway.store.checks.whole_files import check_ends, check_sum
from headway.store.damage import damaged, unreadable
from headway.store.files import open_ordinary
from headway.store.manifest import Manifest, read_manifest
from headway.store.recorder import not_finalised
from headway.store.scratch import make_scratch
from headway.store.tables import TABLES, TableSchema

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import pyarrow as pa

_MOST_NOT_ON_RECORD = 1 << 20
_MOST_REPEATS = 1000
"""As `--repeat` has it: a stranger's directory may hold any number of recordings."""
_NAME_IS_NO_TEXT = "the name of a column in it is no text"
_NO_PROGRESS = "SET enable_progress_bar = false"
"""After two seconds DuckDB 2 shows its progress on standard output, in the midst of JSON or CSV."""


class Recording:
    """An open recording; only manifest.json and the ends of its files are read until tables are asked for.

    Times in tables are CLOCK_MONOTONIC ns; subtract `window_ns[0]` for times from the start of the recording.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        """Use `open_recording` instead."""
        self.path = path
        self.manifest = manifest
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._views: set[str] = set()
        self._views_lock = threading.RLock()
        self._verified: set[str] = set()
        self._room = values.Room(sum(info.bytes for name, info in manifest.tables.items() if _is_table(name)))
        self._open_files: dict[str, int] = {}
        self._closers: list[weakref.finalize[Any, Any]] = []
        self.kept: dict[object, object] = {}
        """What analyses keep of it for the next one, by what it is."""

    def file(self, table: str) -> Path:
        """Return the path through which a table's file is opened, which is an ordinary file.

        Where root reads what a stranger may exchange meanwhile, it goes through a descriptor: what was checked is what is read.
        So it does where the path is not UTF-8, the only encoding that DuckDB and Arrow take. Raises HeadwayError HW303.
        """
        path = self.path / f"{table}.parquet"
        if table not in self._open_files:
            if _is_utf8(path) and not _is_exchangeable(self.path):
                return path
            try:
                self._open_files[table] = open_ordinary(path)
            except OSError as error:
                raise unreadable(path, error, self.path) from error
            self._closers.append(weakref.finalize(self, os.close, self._open_files[table]))
        return Path(f"/proc/self/fd/{self._open_files[table]}")

    @property
    def mode(self) -> str:
        """Return the recording mode: ebpf, perf-switch or agent."""
        return self.manifest.mode

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the notices that mark every result of this recording."""
        return tuple(Notice(each.id, each.message, each.remedy) for each in self.manifest.notices)

    @property
    def window_ns(self) -> tuple[int, int]:
        """Return start and end of the recorded span, CLOCK_MONOTONIC ns; (0, 0) when the manifest has none."""
        window = self.manifest.window
        return (window.start_ns, window.end_ns) if window else (0, 0)

    @property
    def wall_ns(self) -> int:
        """Return the length of the recorded span in ns."""
        start, end = self.window_ns
        return end - start

    def has(self, table: str) -> bool:
        """Return whether a table has rows; for a view, whether the tables that it needs have."""
        known = TABLES[table]
        if known.sql is not None:
            return all(map(self.has, known.needs)) and (not known.needs_any or any(map(self.has, known.needs_any)))
        info = self.manifest.tables.get(table)
        return info is not None and info.rows > 0

    def repeats(self) -> tuple[Recording, ...]:
        """Return the recordings of the same command made by `--repeat`, this one first; at least one.

        Raises HeadwayError as `open_recording` when one of them is damaged.
        """
        above = self.path / "repeats"
        if above.is_symlink():  # it may lead to somebody else's recordings
            return (self,)
        named = (above / f"{number}.headway" for number in range(2, _MOST_REPEATS + 1))
        return (self, *(open_recording(each) for each in named if each.is_dir() and not each.is_symlink()))

    def places_of_threads(self, rows: int, largest: int) -> int:
        """Return the length of an array indexed by thread_id: for the `rows` of table `thread`, and ids up to `largest`.

        Raises HeadwayError HW303 for ids so far beyond the rows, whose numbers they are, that they would fill the memory.
        """
        if largest >= rows + _MOST_NOT_ON_RECORD:
            reason = f"it has {rows} rows, and an id of a thread is {largest}"
            raise damaged(self.path / "thread.parquet", reason, self.path)
        return largest + 1

    def table_names(self) -> list[str]:
        """Return the table names known to SQL: tables and views of `tables.TABLES`, and an imported file's events.

        The manifest may be anybody's: a name that is neither is no table, whatever file it would be the name of.
        """
        return [*TABLES, *filter(is_event_table, self.manifest.tables)]

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return the DuckDB connection (one per recording) with every table and view of `tables.TABLES`."""
        self._define(self.table_names())
        return self._connect()

    def query(self, text: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> duckdb.DuckDBPyConnection:
        """Run SQL and return its result, to be fetched from. Raises HeadwayError HW306 with DuckDB's reason when it refuses."""
        import duckdb

        try:
            return self._connected_for(text).execute(text, parameters or None)
        except duckdb.OutOfMemoryException as error:
            raise HeadwayError("HW316", reason=str(error).strip().split("\n")[0], path=self.path) from error
        except duckdb.Error as error:
            raise HeadwayError("HW306", reason=str(error).strip(), path=self.path) from error

    def batches(self, text: str, rows: int = 1 << 19) -> Iterator[pa.RecordBatch]:
        """Run SQL and yield its result as Arrow batches of about `rows` rows, one in memory at a time; errors as `query`."""
        import duckdb

        try:
            cursor = self._connected_for(text).cursor()  # one of its own: the caller may query while it takes batches
            yield from batches(cursor, text, rows)
        except duckdb.OutOfMemoryException as error:
            raise HeadwayError("HW316", reason=str(error).strip().split("\n")[0], path=self.path) from error
        except duckdb.Error as error:
            raise HeadwayError("HW306", reason=str(error).strip(), path=self.path) from error

    def stored_backwards(self, table: str) -> Iterator[pa.RecordBatch]:
        """Yield a physical table as it is stored (`slice`: packed, see `packing.py`), its last row group first.

        Within a batch rows keep their order. For walks that go back in time: never more than a row group in memory.
        Raises HeadwayError HW303 when the file is damaged.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self.has(table):
            return
        self.verify(table)
        path = self.path / f"{table}.parquet"
        try:
            with pq.ParquetFile(self.file(table)) as file:
                yield from row_groups.backwards(file, table)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error, self.path) from error

    def groups_backwards(
        self, table: str, order: str, columns: Sequence[str]
    ) -> Iterator[tuple[pa.RecordBatch, int | None]]:
        """Yield some columns of a physical table by row groups, the last first, each as one batch.

        With each comes the largest value of the column `order` in all groups before it, None of the first: in a table that is
        in that order, what is yielded later has no larger ones. Raises HeadwayError HW303 when the file is damaged.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.verify(table)
        path = self.path / f"{table}.parquet"
        try:
            with pq.ParquetFile(self.file(table)) as file:
                yield from row_groups.backwards_in_order(file, order, columns)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error, self.path) from error

    def verify(self, *tables: str) -> None:
        """Compare tables' files with their checksums, each once before its first use; of a view the tables that it needs.

        DuckDB compares none of its own. Then compare their values with what a program can have, and what they take with the
        memory that there is. Raises HeadwayError HW303, HW323, HW325.
        """
        for name in tables:
            if name in TABLES and TABLES[name].sql is not None:
                self.verify(*TABLES[name].needs, *TABLES[name].needs_any)
            elif name in self.manifest.tables and name not in self._verified:
                path, info = self.path / f"{name}.parquet", self.manifest.tables[name]
                check_sum(path, self.file(name), info, self.path)
                if _is_table(name):
                    self._check_values(path, name, info.rows)
                self._verified.add(name)

    def _check_values(self, path: Path, table: str, rows: int) -> None:
        """Raise HeadwayError HW323 for a table that holds what no program can have, HW325 for one too large, HW303 for damage."""
        import duckdb
        import pyarrow as pa

        window = self.manifest.window
        span = (window.start_ns, window.end_ns) if window else None
        facts = RangeFacts(span, {name: info.rows for name, info in self.manifest.tables.items()})
        try:
            footers = checking_engine.cursor()
            if table in TABLES:
                values.check(path, self.file(table), TABLES[table], facts, rows, self._room, footers)
            else:
                values.check_events(path, self.file(table), rows, self._room, footers, table)
        except UnicodeError as error:
            raise damaged(path, _NAME_IS_NO_TEXT, self.path) from error
        except duckdb.OutOfMemoryException as error:
            raise HeadwayError("HW316", reason=str(error).strip().split("\n")[0], path=self.path) from error
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
            raise  # this DuckDB does not understand our SQL: that says nothing of the file
        except (OSError, pa.ArrowException, duckdb.Error) as error:
            checking_engine.drop_if_broken(error)
            raise unreadable(path, error, self.path) from error

    def _connected_for(self, text: str) -> duckdb.DuckDBPyConnection:
        """Return the connection with the tables and views that a query reads, verified: of what it reads, it has the name."""
        words = set(re.findall(r"\w+", text.lower()))
        names = [name for name in self.table_names() if name.lower() in words]
        self.verify(*names)
        self._define(names)
        return self._connect()

    def columns(self, table: str, *names: str, where: str = "") -> Mapping[str, np.ndarray[Any, Any]]:
        """Return columns of a table as arrays of equal length, in the table's row order; all columns if none is named.

        `where` is an SQL condition. A column that holds nulls comes as a masked array.
        """
        wanted = ", ".join(map(sql.quote, names or [column.name for column in TABLES[table].columns]))
        condition = f" WHERE {where}" if where else ""
        return self.query(f"SELECT {wanted} FROM {sql.quote(table)}{condition}").fetchnumpy()

    def close(self) -> None:
        """Close the connection and all files, and drop what analyses cached. What is opened anew is verified anew."""
        self.kept.clear()
        self._verified.clear()
        self._room.taken_bytes = 0
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._views.clear()
        for closer in self._closers:
            closer()
        self._closers.clear()
        self._open_files.clear()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        with self._views_lock:
            if self._connection is None:
                config = {**sql.CONFIG, "temp_directory": self._spill_directory()}
                self._connection = duckdb.connect(":memory:", config=config)
                self._connection.execute(_NO_PROGRESS)
                _divide_as_sql(self._connection)
            return self._connection

    def _define(self, names: Iterable[str]) -> None:
        """Define tables and views that are not yet defined, by a cursor: what a query of the connection yields is not over."""
        with self._views_lock:
            for name in names:
                if name in self._views:
                    continue
                if name in TABLES:
                    self._define((*TABLES[name].needs, *TABLES[name].needs_any))
                    view = self._view(TABLES[name])
                else:
                    _column_names(self.file(name), self.path / f"{name}.parquet")
                    view = sql.plain_view(name, os.fspath(self.file(name)))
                self._connect().cursor().execute(view)
                self._views.add(name)

    def _spill_directory(self) -> str:
        """Return a new directory of our own for what does not fit in memory, gone with this object; "" where there is none.

        DuckDB's own is .tmp in the current directory, where somebody else may have put a link.
        """
        try:
            scratch = make_scratch("spill")
        except OSError:
            return ""
        self._closers.append(weakref.finalize(self, scratch.remove))
        return os.fspath(scratch.path)

    def _view(self, table: TableSchema) -> str:
        if table.sql is not None:
            nodes = self.manifest.host.memory_nodes
            return sql.sql_view(table, None if nodes is None else len(nodes))
        if table.name not in self.manifest.tables:
            return sql.empty_view(table)
        path = self.file(table.name)
        return sql.file_view(table, os.fspath(path), _column_names(path, self.path / f"{table.name}.parquet"))


def open_recording(path: Path | str) -> Recording:
    """Open NAME.headway for reading.

    Raises HeadwayError HW301 (not a recording), HW302 (made by a newer headway), HW303 (a file is missing, cut off or
    damaged) or HW304 (still being recorded, or its recorder died: `headway recover`).
    """
    path = Path(path)
    manifest = read_manifest(path)
    if manifest.state == "recording":
        raise not_finalised(path, manifest.to_json())
    for name, info in manifest.tables.items():
        if _is_table(name):
            check_ends(path / f"{name}.parquet", info, path)
    return Recording(path, manifest)


def _divide_as_sql(connection: duckdb.DuckDBPyConnection) -> None:
    """Make x / 0 NULL, as in SQL: by default it is NaN or infinite, which sums, comparisons and JSON carry along."""
    import duckdb

    connection.execute("SET ieee_floating_point_ops = false")
    with contextlib.suppress(duckdb.CatalogException):  # DuckDB 1 has no such setting, and gives NULL without it
        connection.execute("SET error_on_division_by_zero = false")


def _is_table(name: str) -> bool:
    """Return whether a name in the manifest is one of a table that is read, whose size has been compared with its file's."""
    return name in TABLES or is_event_table(name)


def is_event_table(name: str) -> bool:
    """Return whether a file holds an imported file's event, with that event's columns."""
    return re.fullmatch(r"jfr_\w+", name, re.ASCII) is not None and name not in TABLES


def _is_utf8(path: Path) -> bool:
    """Return whether a path's bytes are its text in UTF-8: not so where the name, or the locale, has another encoding."""
    try:
        return os.fspath(path).encode() == os.fsencode(path)
    except UnicodeEncodeError:  # bytes that are no text: lone surrogates stand for them
        return False


def _is_exchangeable(directory: Path) -> bool:
    """Return whether, as root, somebody else may put another file in the place of one in this directory."""
    if os.geteuid() != 0:
        return False
    status = os.stat(directory)
    return directories.is_untrusted_user(status.st_uid) or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _column_names(to_open: Path, path: Path) -> set[str]:
    """Return the columns of the Parquet file `path`; HeadwayError HW303 when its footer is damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return set(pq.read_schema(to_open).names)
    except UnicodeError as error:
        raise damaged(path, _NAME_IS_NO_TEXT, path.parent) from error
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error, path.parent) from error
