"""Tables written as columns of numbers are what was given, to Arrow's reader and to DuckDB's."""

from __future__ import annotations

import resource
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.tables import Column, TableSchema

TYPES = {"INTEGER": np.int32, "BIGINT": np.int64, "DOUBLE": np.float64, "BOOLEAN": np.bool_}
INTEGERS = {"INTEGER": 1 << 31, "BIGINT": 1 << 63}


@st.composite
def columns(draw: st.DrawFn, rows: int) -> tuple[str, bool, Values, list[Any]]:
    """Draw a column's type, whether it may be null, what the writer is given, and what has to come back."""
    kind = draw(st.sampled_from([*TYPES, "VARCHAR"]))
    nullable = draw(st.booleans())
    if nullable and draw(st.integers(0, 9)) == 0:
        return kind, True, None, [None] * rows
    if kind == "VARCHAR":
        names = draw(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20))
        places = draw(_runs(st.integers(-1 if nullable else 0, len(names) - 1), rows))
        return kind, nullable, Texts(np.array(places, np.int64), names), [names[n] if n >= 0 else None for n in places]
    if kind in INTEGERS:
        value = st.integers(-INTEGERS[kind], INTEGERS[kind] - 1)
        if draw(st.booleans()):
            value = st.integers(-3, 3)
        below = draw(value) if nullable else None
        found = draw(_runs(value, rows))
        wanted = [None if below is not None and each < below else each for each in found]
        return kind, nullable, Numbers(np.array(found, TYPES[kind]), below), wanted
    found = draw(_runs(st.booleans() if kind == "BOOLEAN" else st.floats(allow_nan=False), rows))
    return kind, nullable, Numbers(np.array(found, TYPES[kind]), None), found


def _runs(value: st.SearchStrategy[Any], rows: int) -> st.SearchStrategy[list[Any]]:
    """Lists of so many values, some of them with long runs of one."""
    run = st.tuples(value, st.integers(1, 40))
    joined = st.lists(run, max_size=rows).map(lambda runs: [each for each, n in runs for _ in range(n)][:rows])
    return joined.flatmap(
        lambda head: st.lists(value, min_size=rows - len(head), max_size=rows - len(head)).map(lambda rest: head + rest)
    )


@st.composite
def tables(draw: st.DrawFn) -> tuple[TableSchema, list[tuple[int, dict[str, Values]]], dict[str, list[Any]]]:
    """Draw a table of some columns, in one or two batches."""
    first = draw(st.integers(0, 120))
    drawn = [draw(columns(first)) for _ in range(draw(st.integers(1, 4)))]
    table = TableSchema("t", "", tuple(Column(f"c{n}", kind, "", null) for n, (kind, null, _, _) in enumerate(drawn)))
    batch = {f"c{n}": values for n, (_, _, values, _) in enumerate(drawn)}
    again = draw(st.integers(0, 1))
    return table, [(first, batch)] * (1 + again), {f"c{n}": each[3] * (1 + again) for n, each in enumerate(drawn)}


@given(tables())
def test_what_is_read_is_what_was_given(
    drawn: tuple[TableSchema, list[tuple[int, dict[str, Values]]], dict[str, list[Any]]],
) -> None:
    table, batches, expected = drawn
    with tempfile.TemporaryDirectory() as folder:
        with ColumnWriter(folder, table) as writer:
            for rows, batch in batches:
                writer.write(rows, batch)
        path = Path(folder) / "t.parquet"
        read = pq.read_table(path)
        assert read.to_pydict() == expected
        assert [field.nullable for field in read.schema] == [column.nullable for column in table.columns]
        with duckdb.connect() as database:
            rows_read = database.execute(f"SELECT * FROM read_parquet('{path}')").fetchall()
        assert rows_read == list(zip(*expected.values(), strict=True))
        assert (writer.info.rows, writer.info.bytes) == (read.num_rows, path.stat().st_size)


def test_many_rows_become_several_groups_that_say_what_is_in_them(tmp_path: Path) -> None:
    rows = 600_000
    ns = np.arange(rows, dtype=np.int64) * 7
    weight = np.random.default_rng(1).integers(0, 1 << 40, rows)
    table = TableSchema(
        "t", "", (Column("ns", "BIGINT", ""), Column("weight", "BIGINT", ""), Column("pid", "INTEGER", "", True))
    )
    with ColumnWriter(tmp_path, table) as writer:
        writer.write(rows, {"ns": Numbers(ns, None), "weight": Numbers(weight, None), "pid": 7})
    file = pq.ParquetFile(tmp_path / "t.parquet")
    read = file.read()
    assert np.array_equal(read["ns"].to_numpy(), ns)
    assert np.array_equal(read["weight"].to_numpy(), weight)
    assert read["pid"].unique().to_pylist() == [7]
    groups = [file.metadata.row_group(n) for n in range(file.metadata.num_row_groups)]
    assert [group.num_rows for group in groups] == [1 << 18, 1 << 18, rows - (1 << 19)]
    assert [group.column(0).statistics.min for group in groups] == [0, 7 << 18, 7 << 19]
    assert groups[2].column(0).statistics.max == 7 * (rows - 1)
    assert groups[0].column(1).compression == "ZSTD"  # of sizes and addresses more is left than of times
    with duckdb.connect() as database:
        found = database.execute(
            f"SELECT sum(weight), count(*) FILTER (ns >= {7 << 19}) FROM read_parquet('{tmp_path}/t.parquet')"
        ).fetchone()
    assert found == (int(weight.sum()), rows - (1 << 19))


def test_a_dictionary_holds_the_texts_that_rows_have_and_no_others(tmp_path: Path) -> None:
    names = [f"text {n}" for n in range(100_000)]
    table = TableSchema("t", "", (Column("a", "VARCHAR", ""), Column("b", "VARCHAR", "", True)))
    with ColumnWriter(tmp_path, table) as writer:
        writer.write(3, {"a": Texts(np.array([99_999, 5, 99_999]), names), "b": Texts(np.array([-1, 7, -1]), names)})
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {
        "a": ["text 99999", "text 5", "text 99999"],
        "b": [None, "text 7", None],
    }
    assert (tmp_path / "t.parquet").stat().st_size < 1000


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"other": 1}, "unknown columns"),
        ({}, "without a value"),
        ({"a": Numbers(np.array([-1, 2], np.int32))}, "without a value"),
        ({"a": Numbers(np.array([1, 2], np.int64))}, "another type"),
        ({"a": Numbers(np.array([1, 2, 3], np.int32))}, "different length"),
        ({"a": 1, "text": Texts(np.array([0, 1]), ["only one"])}, "no such text"),
        ({"a": 1 << 31}, "more than 32 bits"),
    ],
)
def test_values_that_a_column_can_not_have_are_refused(tmp_path: Path, values: dict[str, Values], reason: str) -> None:
    table = TableSchema("t", "", (Column("a", "INTEGER", ""), Column("text", "VARCHAR", "", True)))
    with pytest.raises(ValueError, match=reason), ColumnWriter(tmp_path, table) as writer:
        writer.write(2, values)
    assert not (tmp_path / "t.parquet").exists()


def test_a_file_of_which_a_write_failed_or_that_is_closed_takes_no_more(tmp_path: Path) -> None:
    table = TableSchema("t", "", (Column("a", "INTEGER", ""), Column("b", "INTEGER", "")))
    writer = ColumnWriter(tmp_path, table)
    with pytest.raises(ValueError, match="more than 32 bits"):
        writer.write(2, {"a": 1, "b": 1 << 31})
    for goes_on in (lambda: writer.write(2, {"a": 1, "b": 1}), writer.close):
        with pytest.raises(ValueError, match="earlier write failed"):
            goes_on()
    closed = ColumnWriter(tmp_path, table)
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        closed.write(2, {"a": 1, "b": 1})


def test_a_full_disk_is_an_os_error(tmp_path: Path) -> None:
    table = TableSchema("t", "", (Column("a", "BIGINT", ""),))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # the kernel refuses as it does on a full disk
    try:
        with pytest.raises(OSError, match="File too large") as caught, ColumnWriter(tmp_path, table) as writer:
            writer.write(100_000, {"a": Numbers(np.arange(100_000) ** 2, None)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []
