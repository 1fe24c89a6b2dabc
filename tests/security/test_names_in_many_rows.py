"""One long name that many rows repeat: what an answer takes follows from its rows, and not from the name's length times these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.common.short_names import short_name
from headway.analyses.objects.analysis import objects
from headway.analyses.objects.lines import cache_lines
from headway.store import open_recording
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema
from support.builders.allocation_spool_builder import access_recording, allocation_recording
from support.builders.exchanged_table import put_table
from support.builders.window_agent import window_recording

NAME = "n" * 60_000
SHOWN = "n" * 253 + "..."
"""A recording of 440 kB took 8 GB in `headway objects` as each of its rows had the name as it is."""


def named(path: Path) -> Path:
    """Give the threads of a recording a long name."""
    rows = pq.read_table(path / "thread.parquet")
    place = rows.column_names.index("name")
    return put_table(path, "thread", rows.set_column(place, "name", pa.array([NAME] * rows.num_rows)))


def _rows(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, arrow_schema(TABLES[table]))


@pytest.mark.parametrize("by", ["thread", "thread-class", "pair"])
@pytest.mark.parametrize("build", [allocation_recording, access_recording])
def test_groups_of_objects_have_the_beginning_of_a_long_name(
    tmp_path: Path, by: Any, build: Callable[..., Path]
) -> None:
    path = tmp_path / "a.headway"
    if build is access_recording:
        build(path, with_owners=True)
    else:
        build(path)
    found = objects(open_recording(named(path)), by=by)
    rows: list[Any] = [*found.groups, *(found.accesses.groups if found.accesses is not None else ())]
    names = {row.thread for row in rows if row.thread_id is not None}
    for pair in found.accesses.pairs if found.accesses is not None else ():
        names |= {pair.accessor if pair.thread_id is not None else SHOWN}
        names |= {pair.owner if pair.owner_thread_id is not None else SHOWN}
    assert names == {SHOWN}


def test_groups_of_windows_have_the_beginning_of_a_long_name(tmp_path: Path) -> None:
    windows = objects(open_recording(named(window_recording(tmp_path / "a.headway"))), by="thread-class").windows
    assert windows is not None
    assert {row.thread for row in windows.groups} == {SHOWN}


def test_meetings_on_cache_lines_have_the_beginning_of_a_long_name(tmp_path: Path) -> None:
    path = named(access_recording(tmp_path / "a.headway"))
    place = {"pid": 1, "thread_id": 0, "java_id": 1, "field": "A.a", "writes": 9}
    other = {"other_thread_id": 0, "other_java_id": 1, "distance": "line", "same_object": True}
    put_table(path, "line_write", _rows("line_write", [{**place, "field_offset": 16}]))
    put_table(path, "line_share", _rows("line_share", [{**place, **other, "other_field": f"A.b{n}"} for n in range(3)]))
    found = cache_lines(open_recording(path))
    assert found is not None
    meetings = [each for row in found.rows for each in row.meetings]
    assert [(each.thread, each.other_thread) for each in meetings] == [(SHOWN, SHOWN)] * 3


@pytest.mark.parametrize("name", [None, "", "a", "n" * 256, "n" * 257, "ä" * 128, "ä" * 129, "\U0001f600" * 300])
def test_only_names_of_more_than_256_bytes_are_cut(name: str | None) -> None:
    found = duckdb.execute(f"SELECT {short_name('name')} FROM (SELECT $1 AS name)", [name]).fetchall()
    is_long = name is not None and len(name.encode()) > 256
    assert found == [(name[:253] + "..." if is_long and name is not None else name,)]
