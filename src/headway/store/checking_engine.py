"""The DuckDB that reads tables' files to check them: one in each process, as to start one takes longer than to check a file.

It has no tables, which can't be views of files before these are checked, one thread, no place on the disk, and keeps nothing of a
file: what one file holds is nothing to the next.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headway.store import sql

if TYPE_CHECKING:
    import duckdb

_lock = threading.Lock()
_engine: list[duckdb.DuckDBPyConnection] = []


def cursor() -> duckdb.DuckDBPyConnection:
    """Return a connection of the caller's own to it."""
    import duckdb

    with _lock:
        if not _engine:
            config = {**sql.CONFIG, "threads": 1, "temp_directory": ""}
            _engine.append(duckdb.connect(":memory:", config=config))
        return _engine[0].cursor()


def drop_if_broken(error: BaseException) -> None:
    """After an error that DuckDB takes for its own defect, and works no more, have the next caller start another one."""
    import duckdb

    if isinstance(error, duckdb.FatalException | duckdb.InternalException):
        with _lock:
            _engine.clear()
