"""Tables of a JFR file's events, whose columns nobody knows: what is in them is looked at before a query reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.checks import values
from headway.store.files import checksum
from headway.store.reader import Recording
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import everything


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return everything(tmp_path / "r.headway")


def put(recording: Path, rows: pa.Table) -> Recording:
    """Give a recording the table jfr_Event."""
    file = recording / "jfr_Event.parquet"
    pq.write_table(rows, file, compression="zstd", store_schema=False)
    with file.open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    tables = json.loads((recording / "manifest.json").read_text())["tables"]
    edit(recording, tables={**tables, "jfr_Event": {"rows": rows.num_rows, "bytes": size, "crc32": crc32}})
    return open_recording(recording)


def test_a_text_without_end_is_told(recording: Path) -> None:
    opened = put(recording, pa.table({"path": ["x" * (16 << 20), "x" * ((16 << 20) + 1)]}))
    with pytest.raises(HeadwayError, match=rf"HW323.* table jfr_Event, column path: a text of {(16 << 20) + 1} bytes"):
        opened.query("SELECT * FROM jfr_Event")


def test_equal_texts_count_as_often_as_they_occur(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """44 kB of a file were 60 GB of JSON."""
    monkeypatch.setattr(values, "_LEAST_ALLOWED_BYTES", 1 << 20)
    monkeypatch.setattr(values, "_TIMES_THEIR_FILES", 1)
    fits = pa.table({"text": ["y" * 50_000] * 20})
    assert put(recording, fits).query("SELECT count(*) FROM jfr_Event").fetchall() == [(20,)]
    with pytest.raises(HeadwayError, match=r"HW325.*with table jfr_Event"):
        put(recording, pa.table({"text": ["y" * 50_000] * 21})).query("SELECT count(*) FROM jfr_Event")


def test_texts_longer_than_names_may_be_many(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_LONG_BYTES", 1000)
    rows = pa.table({"message": [f"{number} " + "m" * 100_000 for number in range(20)]})
    assert put(recording, rows).query("SELECT count(DISTINCT message) FROM jfr_Event").fetchall() == [(20,)]


@pytest.mark.parametrize("column", [pa.array([[1], [2]]), pa.array([b"a", b"b"]), pa.array([{"a": 1}, {"a": 2}])])
def test_types_that_no_event_has_are_told(recording: Path, column: pa.Array) -> None:
    with pytest.raises(HeadwayError, match=r"HW323.* table jfr_Event, column x: values of type"):
        put(recording, pa.table({"x": column})).query("SELECT * FROM jfr_Event")


def test_any_numbers_are_read(recording: Path) -> None:
    rows = pa.table(
        {
            "dur_ns": pa.array([-(2**63), 2**63 - 1, None]),
            "frame_id": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
            "load": [float("nan"), float("inf"), -1.5],
            "is_on": [True, None, False],
            "kind": ["\U0001f600", "", None],
        }
    )
    found = put(recording, rows).query("SELECT dur_ns, frame_id, is_on, kind FROM jfr_Event").fetchall()
    assert found == [
        (-(2**63), -(2**31), True, "\U0001f600"),
        (2**63 - 1, 2**31 - 1, None, ""),
        (None, None, False, None),
    ]
