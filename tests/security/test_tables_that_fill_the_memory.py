"""Tables of equal values: small files that would fill any memory are told, by what their values take and not by what they say."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.errors import HeadwayError
from headway.store import TABLES, open_recording
from headway.store.checks import values
from headway.store.files import checksum
from headway.store.manifest import read_manifest
from headway.store.reader import Recording
from headway.store.writer import conform
from support.builders import recording_builder
from support.builders.edited_manifest import edit

ROOM_BYTES = 8 << 20
ROWS = 1 << 19


@pytest.fixture(autouse=True)
def small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "room_bytes", lambda: ROOM_BYTES)
    monkeypatch.setattr(
        values, "_limited_memory", contextlib.nullcontext
    )  # what is allocated otherwise has tests of its own


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))


def put(recording: Path, name: str, rows: pa.Table, said: int | None = None, **options: object) -> Recording:
    """Give a recording a table, and let its manifest agree, or say that there are so many rows."""
    file = recording / f"{name}.parquet"
    pq.write_table(rows, file, compression="zstd", **options)
    return described(recording, name, rows.num_rows if said is None else said)


def described(recording: Path, name: str, rows: int) -> Recording:
    with (recording / f"{name}.parquet").open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    tables = {each: info.as_json() for each, info in read_manifest(recording).tables.items()}
    edit(recording, tables={**tables, name: {"rows": rows, "bytes": size, "crc32": crc32}})
    return open_recording(recording)


def counters(rows: int, event: str = "x") -> pa.Table:
    columns = {"ns": [5] * rows, "event": [event] * rows, "cpu": [0] * rows, "value": [1] * rows}
    return conform(TABLES["counter"], pa.table(columns))


def test_equal_numbers_are_told_by_what_they_take_in_memory(recording: Path) -> None:
    opened = put(recording, "counter", counters(ROWS))
    size = (recording / "counter.parquet").stat().st_size
    assert size < 100_000
    with pytest.raises(HeadwayError) as caught:
        opened.verify("counter")
    notice = caught.value.notice
    assert notice.id == "HW325"
    assert f"{recording} is not read: with table counter" in notice.message
    assert (
        f"take {ROWS * (8 + 16 + 2 + 8) / (1 << 30):.2f} GiB of memory, more than {ROOM_BYTES / (1 << 30):.2f} GiB"
        in (notice.message)
    )


def test_equal_texts_count_as_often_as_they_occur(recording: Path) -> None:
    rows = 1000
    put(recording, "counter", counters(rows, "x" * 7000)).verify("counter")
    with pytest.raises(HeadwayError, match="HW325"):
        put(recording, "counter", counters(rows, "x" * 9000)).verify("counter")
    assert (recording / "counter.parquet").stat().st_size < 20_000


def test_the_tables_of_a_recording_count_together(recording: Path) -> None:
    put(recording, "counter", counters(ROWS // 3))
    gaps = {name: [1] * (ROWS // 3) for name in ("cpu", "start_ns", "dur_ns", "other_ns")}
    opened = put(recording, "cpu_gap", conform(TABLES["cpu_gap"], pa.table(gaps)))
    opened.verify("counter")
    with pytest.raises(HeadwayError, match=r"HW325.*with table cpu_gap"):
        opened.verify("cpu_gap")


@pytest.mark.parametrize(("group", "is_refused"), [(1 << 30, True), (1 << 14, True), (1 << 14, False)])
def test_slices_are_read_in_parts_but_neither_in_large_ones_nor_far_beyond_their_file(
    recording: Path, monkeypatch: pytest.MonkeyPatch, group: int, is_refused: bool
) -> None:
    row = pq.read_table(recording / "slice.parquet").slice(0, 1)
    rows = pa.Table.from_arrays(
        [pa.repeat(row.column(name)[0], 1 << 18) for name in row.column_names], schema=row.schema
    )
    if not is_refused or group > 1 << 18:
        monkeypatch.setattr(values, "_STREAMED_TIMES_ITS_FILE", 1 << 20)
    opened = put(recording, "slice", rows, row_group_size=group)
    if not is_refused:
        opened.verify("slice")
        return
    with pytest.raises(HeadwayError, match=r"HW325.*with table slice"):
        opened.verify("slice")


@pytest.mark.parametrize(("times", "is_refused"), [(256, True), (1024, False)])
def test_tables_are_a_limited_number_of_times_as_long_as_their_files(
    recording: Path, monkeypatch: pytest.MonkeyPatch, times: int, is_refused: bool
) -> None:
    """Tables of recordings are at most forty times as long; whatever is within 64 MiB (here: 1 MiB) is not asked."""
    monkeypatch.setattr(values, "room_bytes", lambda: 1 << 40)
    monkeypatch.setattr(values, "_LEAST_ALLOWED_BYTES", 1 << 20)
    row_bytes = 8 + 16 + 2 + 8 + 1
    opened = put(recording, "counter", counters(ROWS))
    files = sum(info.bytes for info in opened.manifest.tables.values())
    monkeypatch.setattr(values, "_TIMES_THEIR_FILES", ROWS * row_bytes * times // 512 // files)
    if is_refused:
        with pytest.raises(HeadwayError, match=r"HW325.*with table counter"):
            opened.verify("counter")
    else:
        opened.verify("counter")
    put(recording, "counter", counters((1 << 20) // row_bytes)).verify("counter")


def varint(value: int) -> bytes:
    """A number as Parquet's descriptions have it."""
    value, found = value * 2, b""
    while value >= 128:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


@pytest.mark.parametrize("said", [200, 400, 8000])
@pytest.mark.parametrize("place", [None, 0, 1, 5], ids=["all", "the first", "the second", "the last"])
def test_numbers_of_rows_that_a_file_only_says_are_not_believed(recording: Path, place: int | None, said: int) -> None:
    put(recording, "counter", counters(300), write_statistics=False)
    file = recording / "counter.parquet"
    raw = file.read_bytes()
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    old, new = varint(300), varint(said)
    assert len(old) == len(new)
    places = [footer + each.start() for each in re.finditer(re.escape(old), raw[footer:])]
    assert len(places) >= 6  # of the file, of its one group, and of each of four columns
    changed = bytearray(raw)
    for at in places if place is None else [places[place]]:
        changed[at : at + len(old)] = new
    file.write_bytes(changed)
    for rows in {300, said}:
        opened = described(recording, "counter", rows)
        try:
            opened.verify("counter")
        except HeadwayError as error:
            assert error.notice.id in ("HW303", "HW323")  # noqa: PT017 - either is right
        else:
            seen = opened.query("SELECT count(*), count(value), count(event) FROM counter").fetchone()
            assert seen == (rows, rows, rows)
