"""Tables whose values are possible, but of which the file, its columns' names or its directory say something else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.errors import HeadwayError
from headway.store import TABLES, open_recording
from headway.store.files import checksum
from headway.store.table_types import Column
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import everything
from support.builders.parquet_surgery import (
    BINARY,
    CHUNK_CRYPTO,
    I32,
    I64,
    LIST,
    META_DATA_OFFSET,
    META_DICTIONARY_OFFSET,
    META_PATH,
    META_STATISTICS,
    PAGE_V1,
    STATISTICS_LEAST,
    STATISTICS_MOST,
    STRUCT,
    V1_DEFINITION_ENCODING,
    Surgery,
)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return everything(tmp_path / "r.headway")


def sealed(recording: Path, table: str) -> Path:
    """Give a table's file, as it is by now, the checksum that the manifest says."""
    file = recording / f"{table}.parquet"
    tables = json.loads((recording / "manifest.json").read_text())["tables"]
    with file.open("rb") as opened:
        tables[table]["bytes"], tables[table]["crc32"] = checksum(opened.fileno())
    tables[table]["rows"] = pq.read_metadata(file).num_rows
    edit(recording, tables=tables)
    return recording


def exchanged(recording: Path, table: str, column: str, said: list[Any], stored: list[Any], **options: Any) -> Path:
    """Make a column's file say of it what is true of the values `said`, and hold `held` in the place of the first of them."""
    file = recording / f"{table}.parquet"
    rows = pq.read_table(file)
    at = rows.column_names.index(column)
    kind = rows.schema.field(column).type
    rows = rows.set_column(at, rows.schema.field(column), pa.array(said, kind))
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "store_schema": False}
    pq.write_table(rows, file, **plain | options)
    raw = file.read_bytes()
    old, new = (np.array(each, dtype=kind.to_pandas_dtype()).tobytes() for each in (said[: len(stored)], stored))
    assert raw.count(old) == 1
    file.write_bytes(raw.replace(old, new))
    return sealed(recording, table)


@pytest.mark.parametrize(
    ("stored", "wrong"),
    [
        ([750, 400, 200, 140], "140, where the file says that the least is 150"),
        ([751, 400, 200, 150], "751, where the file says that the most is 750"),
    ],
)
def test_a_value_beyond_the_bounds_that_its_file_states_is_told(recording: Path, stored: list[int], wrong: str) -> None:
    """DuckDB answers max(running_ns) by the bounds: 750, whatever the rows hold."""
    exchanged(recording, "thread", "running_ns", [750, 400, 200, 150], stored)
    with pytest.raises(HeadwayError, match=f"HW323.* table thread, column running_ns: {wrong}"):
        open_recording(recording).query("SELECT max(running_ns) FROM thread")


@pytest.mark.parametrize(
    ("stored", "wrong"), [([10, 20], None), ([20, 10], None), ([10, 700], "700, where .* most is 20")]
)
def test_bounds_are_those_of_each_group_of_rows(recording: Path, stored: list[int], wrong: str | None) -> None:
    exchanged(recording, "thread", "running_ns", [10, 20, 700, 800], stored, row_group_size=2)
    if wrong is None:
        open_recording(recording).verify("thread")
        return
    with pytest.raises(HeadwayError, match=f"HW323.* table thread, column running_ns: {wrong}"):
        open_recording(recording).verify("thread")


@pytest.mark.parametrize("name", ["kind", "from_snapshot", "bottle_width", "end_ns"])
def test_bounds_and_nulls_that_are_right_are_believed_whatever_the_type(recording: Path, name: str) -> None:
    file = recording / "thread.parquet"
    pq.write_table(pq.read_table(file), file, write_statistics=True, row_group_size=3)
    assert pq.read_metadata(file).row_group(0).column(TABLES["thread"].columns.index(_column(name))).statistics
    open_recording(sealed(recording, "thread")).verify("thread")


def _column(name: str) -> Column:
    return next(each for each in TABLES["thread"].columns if each.name == name)


@pytest.mark.parametrize("place", [0, 99])
def test_a_column_of_the_same_name_in_capitals_is_told(recording: Path, place: int) -> None:
    """To DuckDB it is the same name, and the first of them is read."""
    file = recording / "thread.parquet"
    rows = pq.read_table(file)
    pq.write_table(rows.add_column(min(place, rows.num_columns), "RUNNING_NS", pa.array([-5] * len(rows))), file)
    with pytest.raises(HeadwayError, match=r"HW323.* column running_ns: two columns of that name"):
        open_recording(sealed(recording, "thread")).query("SELECT running_ns FROM thread")


@pytest.mark.parametrize("kind", [pa.uint32(), pa.int16(), pa.uint64(), pa.decimal128(20), pa.timestamp("ns")])
def test_a_column_of_another_width_or_without_a_sign_is_told(recording: Path, kind: pa.DataType) -> None:
    """Differences of numbers without a sign wrap around, and sums of narrow ones do."""
    file = recording / "thread.parquet"
    rows = pq.read_table(file)
    at = rows.column_names.index("running_ns")
    pq.write_table(rows.set_column(at, "running_ns", rows.column("running_ns").cast(pa.int64()).cast(kind)), file)
    with pytest.raises(HeadwayError, match=r"HW323.* column running_ns: values of type"):
        open_recording(sealed(recording, "thread")).verify("thread")


@pytest.mark.skipif(not hasattr(pq.ColumnChunkMetaData, "bloom_filter_offset"), reason="PyArrow writes no such filters")
def test_a_filter_that_says_which_values_there_are_is_told(recording: Path) -> None:
    file = recording / "thread.parquet"
    pq.write_table(pq.read_table(file), file, bloom_filter_options={"tid": {"ndv": 4, "fpp": 0.01}})
    with pytest.raises(HeadwayError, match=r"HW323.* column tid: what no headway writes"):
        open_recording(sealed(recording, "thread")).verify("thread")


@pytest.mark.parametrize("name", ["kind=gc", "running_ns=7", "cpu=3", "thread_id=0"])
def test_the_names_of_directories_are_no_columns(recording: Path, tmp_path: Path, name: str) -> None:
    """DuckDB would take kind=gc/ for the kind of every thread of the recordings in it, and the same of a recording's own name."""
    query = "SELECT * FROM thread JOIN slice USING (thread_id) ORDER BY ALL"
    expected = open_recording(recording).query(query).fetchall()
    for copy in (tmp_path / name / "r.headway", tmp_path / f"{name}.headway"):
        shutil.copytree(recording, copy)
        assert open_recording(copy).query(query).fetchall() == expected


@pytest.mark.parametrize("low", [140, 150])
@pytest.mark.parametrize("most", [750, 1 << 60])
def test_bounds_that_only_enclose_the_values_are_told(recording: Path, low: int, most: int) -> None:
    """DuckDB answers max(running_ns) with the bound itself: 36 years of running, where no row has a microsecond."""
    file = recording / "thread.parquet"
    rows = pq.read_table(file)
    at = rows.column_names.index("running_ns")
    rows = rows.set_column(at, rows.schema.field(at), pa.array([750, 400, 200, 150]))
    pq.write_table(rows, file, compression="none", store_schema=False)
    cut = Surgery(file)
    said = cut.metas("running_ns")[0][META_STATISTICS][1]
    said |= {number: (BINARY, low.to_bytes(8, "little")) for number in STATISTICS_LEAST if number in said}
    said |= {number: (BINARY, most.to_bytes(8, "little")) for number in STATISTICS_MOST if number in said}
    cut.save()
    opened = open_recording(sealed(recording, "thread"))
    if (low, most) == (150, 750):
        assert opened.query("SELECT min(running_ns), max(running_ns) FROM thread").fetchall() == [(150, 750)]
        return
    with pytest.raises(HeadwayError, match=r"HW323.* column running_ns: (150|750), where the file says that the"):
        opened.query("SELECT max(running_ns) FROM thread")


def test_bounds_count_by_the_place_of_their_column_and_not_by_the_name_beside_them(recording: Path) -> None:
    file = exchanged(recording, "thread", "running_ns", [750, 400, 200, 150], [751, 400, 200, 150]) / "thread.parquet"
    cut = Surgery(file)
    cut.metas("running_ns")[0][META_PATH] = (LIST, (BINARY, [b"another"]))
    cut.save()
    with pytest.raises(HeadwayError, match=r"HW323.* column running_ns: 751, where the file says that the most is 750"):
        open_recording(sealed(recording, "thread")).verify("thread")


def test_bounds_of_what_has_no_rows_are_told(recording: Path) -> None:
    file = recording / "block.parquet"
    rows = pq.read_table(file)
    pq.write_table(rows, file, compression="none", store_schema=False)
    cut = Surgery(file)
    said = cut.metas("dur_ns")[0][META_STATISTICS]
    pq.write_table(rows.slice(0, 0), file, store_schema=False)
    cut = Surgery(file)
    for meta in cut.metas("dur_ns"):
        meta[META_STATISTICS] = said
    cut.save()
    with pytest.raises(HeadwayError, match=r"HW323.* column dur_ns: bounds of what has no rows"):
        open_recording(sealed(recording, "block")).verify("block")


@pytest.mark.parametrize("is_lying", [True, False])
def test_an_index_of_pages_is_told(recording: Path, is_lying: bool) -> None:
    """DuckDB passes pages over by it: a count of what it says to be elsewhere would be 0."""
    file = recording / "thread.parquet"
    pq.write_table(pq.read_table(file), file, compression="none", write_page_index=is_lying)
    opened = open_recording(sealed(recording, "thread"))
    if not is_lying:
        opened.verify("thread")
        return
    with pytest.raises(HeadwayError, match=r"HW323.* what no headway writes: an index, or a filter, of its values"):
        opened.verify("thread")


def test_a_file_with_other_values_for_another_reader_is_told(recording: Path) -> None:
    """DuckDB begins at the dictionary, wherever that is said to be; PyArrow at the values, if these are first."""
    file = recording / "thread.parquet"
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pq.read_table(file), file, **plain)
    cut = Surgery(file)
    (meta,) = cut.metas("running_ns")
    header, content = cut.page(meta[META_DATA_OFFSET][1])
    stored = np.array([-5, -6, -7, 10**18], np.int64).tobytes()
    meta[META_DICTIONARY_OFFSET] = (I64, cut.add(header, content[: -len(stored)] + stored))
    cut.save()
    seen = pq.read_table(file).column("running_ns").to_pylist()
    assert min(seen) > 0  # what was looked at
    with pytest.raises(
        HeadwayError, match=r"HW323.* column running_ns: values that readers of the file see differently"
    ):
        open_recording(sealed(recording, "thread")).query("SELECT running_ns FROM thread")


def test_nulls_that_are_noted_in_two_ways_are_told(recording: Path) -> None:
    """Levels in single bits are of before Parquet 2: PyArrow reads them so, DuckDB as runs."""
    file = recording / "thread.parquet"
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    pq.write_table(pq.read_table(file), file, **plain)
    cut = Surgery(file)
    (meta,) = cut.metas("running_ns")
    header, content = cut.page(meta[META_DATA_OFFSET][1])
    header[PAGE_V1][1][V1_DEFINITION_ENCODING] = (I32, 4)
    meta[META_DATA_OFFSET] = (I64, cut.add(header, b"\x0f" + content))
    cut.save()
    with pytest.raises(HeadwayError, match=r"HW323|HW303"):
        open_recording(sealed(recording, "thread")).query("SELECT running_ns FROM thread")


@pytest.mark.parametrize("column", ["running_ns", "more"])
def test_a_column_that_is_said_to_be_encrypted_ends_no_process(recording: Path, column: str) -> None:
    """PyArrow calls std::terminate where it is asked what the footer says of such a column."""
    file = recording / "thread.parquet"
    rows = pq.read_table(file)
    pq.write_table(rows.append_column("more", pa.array([1] * len(rows))), file)
    cut = Surgery(file)
    by_key = {1: (LIST, (BINARY, [column.encode()]))}
    cut.chunks(column)[0][CHUNK_CRYPTO] = (STRUCT, {2: (STRUCT, by_key)})
    cut.save()
    sealed(recording, "thread")
    done = subprocess.run(
        [sys.executable, "-m", "headway", "query", recording, "SELECT sum(running_ns) FROM thread"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == (1 if column == "running_ns" else 0), done.stderr
    assert "terminate" not in done.stderr
    assert done.stderr.startswith("HW303") == (column == "running_ns"), done.stderr


def test_a_column_that_nobody_asked_for_is_not_read(recording: Path) -> None:
    """Slices are walked by whole groups: a column of equal texts beside them would be gigabytes."""
    file = recording / "slice.parquet"
    rows = pq.read_table(file)
    pq.write_table(rows.append_column("more", pa.array(["x" * (1 << 20)] * len(rows))), file)
    opened = open_recording(sealed(recording, "slice"))
    assert [batch.schema.names for batch in opened.stored_backwards("slice")] == [rows.column_names]
    assert opened.query("SELECT count(*) FROM slice").fetchone() == (len(rows),)
