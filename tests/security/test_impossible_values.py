"""Recordings whose tables are whole but hold values that no program can have: a message, never a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.scheduling import activity as activities
from headway.analyses.scheduling import parallelism
from headway.errors import HeadwayError
from headway.store import TABLES, open_recording
from headway.store.files import checksum
from headway.store.manifest import write_manifest
from headway.store.reader import Recording
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import everything

LARGEST = 2**63 - 1
COMMANDS = ("why", "parallelism", "threads", "walltime", "critical-path", "locks", "report")


def headway(*words: str | Path, traceback: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HEADWAY_TRACEBACK": traceback}
    command = [sys.executable, "-m", "headway", *map(str, words)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A recording of every kind of table, as they should be."""
    return open_recording(everything(tmp_path_factory.mktemp("whole") / "whole.headway"))


def spoiled(whole: Recording, path: Path, table: str, column: str, values: Callable[[pa.Array], pa.Array]) -> Recording:
    """A copy of a recording in which one column has other values, or is of another type, and every checksum fits."""
    tables = {}
    for name, info in whole.manifest.tables.items():
        if info.rows and name in TABLES:
            tables[name] = pq.read_table(whole.path / f"{name}.parquet").combine_chunks()
    rows = tables[table]
    new = values(rows.column(column).chunk(0))
    tables[table] = rows.set_column(rows.column_names.index(column), column, new)
    path.mkdir()
    infos = {}
    for name, each in tables.items():
        file = path / f"{name}.parquet"
        pq.write_table(each, file)
        with file.open("rb") as opened:
            size, crc32 = checksum(opened.fileno())
        infos[name] = {"rows": each.num_rows, "bytes": size, "crc32": crc32}
    manifest = {**json.loads((whole.path / "manifest.json").read_text()), "tables": infos}
    write_manifest(path, manifest)
    return open_recording(path)


def last(value: Any) -> Callable[[pa.Array], pa.Array]:
    """Put a value in the place of the last one; bytes, as they are, in that of a text."""

    def put(column: pa.Array) -> pa.Array:
        if not isinstance(value, bytes):
            return pa.array([*column.to_pylist()[:-1], value], column.type)
        texts = pa.array([*column.cast(pa.binary()).to_pylist()[:-1], value], pa.binary())
        return pa.Array.from_buffers(column.type, len(texts), texts.buffers())

    return put


def each(value: Any, kind: pa.DataType | None = None) -> Callable[[pa.Array], pa.Array]:
    """Put a value in the place of every one."""
    return lambda column: pa.array([value] * len(column), kind or column.type)


def nulls(column: pa.Array) -> pa.Array:
    return pa.nulls(len(column), column.type)


IMPOSSIBLE: dict[str, tuple[str, str, Callable[[pa.Array], pa.Array], str]] = {
    "a negative length": ("slice", "running_ticks", last(-5), "-"),
    "a length of years": ("jvm_phase", "dur_ns", last(LARGEST), str(LARGEST)),
    "a time long after the end": ("block", "start_ns", last(9 * 10**18), str(9 * 10**18)),
    "a time before the machine": ("sample", "ns", last(-(2**63)), str(-(2**63))),
    "the least end of a slice": ("slice", "end_ticks", last(-(2**63)), "-"),
    "a count below zero": ("activity", "running_app", last(-5), "-5"),
    "times that add up to more than there is": ("blocker", "thread_time_ns", each(LARGEST), "more than 64 bits"),
    "a thread that no table knows": ("slice", "thread_id", last(2**31 - 2), str(2**31 - 2)),
    "a waker that no table knows": ("slice", "waker_id", last(-(2**31)), str(-(2**31))),
    "a stack that no table knows": ("sample", "stack_id", last(2**31 - 1), str(2**31 - 1)),
    "a frame that no table knows": ("stack", "frame_id", last(2**31 - 1), str(2**31 - 1)),
    "a frame before the first": ("frame", "frame_id", last(-2), "-2"),
    "an id of two threads": ("thread", "thread_id", last(0), "0 twice"),
    "an id of two frames": ("frame", "frame_id", each(0), "0 twice"),
    "an id of two blockers": ("blocker", "blocker_id", last(0), "0 twice"),
    "a count that is unknown": ("activity", "running_vm", last(-1), "-1"),
    "more threads than there are": ("activity", "active_gc", last(2**31 - 1), str(2**31 - 1)),
    "no number": ("thread", "bottle_width", last(float("nan")), "nan"),
    "an endless number": ("thread", "parallelism_running", last(float("inf")), "inf"),
    "a kind that there is not": ("thread", "kind", last("\x1b[31mx"), "x1b[31mx"),
    "a kind of block that there is not": ("block", "kind", last("parked"), "'parked'"),
    "a text without end": ("thread", "name", last("x" * (20 << 20)), f"a text of {20 << 20} bytes"),
    "a kind that is no text": ("thread", "kind", last(b"\xff\xfe"), "what is no text"),
    "a name that is no text": ("thread", "name", last(b"\xed\xa0\x80"), "what is no text"),
    "no value": ("thread", "thread_id", nulls, "null"),
    "ticks of no length": ("slice", "tick_ns", each(0), "0"),
    "ticks of several lengths": ("slice", "tick_ns", last(7), "7"),
    "lists for numbers": ("slice", "running_ticks", each([1, 2], pa.list_(pa.int64())), "of type list"),
    "lists of different lengths for texts": (
        *("thread", "name", lambda column: pa.array([["x"] * n for n in range(len(column))])),
        "of type list",
    ),
    "text for numbers": ("block", "dur_ns", each("1", pa.string()), "of type string"),
    "fractions for numbers": ("activity", "dur_ns", each(0.5, pa.float64()), "of type double"),
}


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_no_program_can_have_is_told_with_its_table_its_column_and_its_value(
    whole: Recording, tmp_path: Path, what: str
) -> None:
    table, column, values, said = IMPOSSIBLE[what]
    recording = spoiled(whole, tmp_path / "made.headway", table, column, values)
    with pytest.raises(HeadwayError) as caught:
        recording.query(f'SELECT count(*) FROM "{table}"')
    notice = caught.value.notice
    assert notice.id == "HW323"
    assert f"table {table}, column {column}: " in notice.message
    assert said in notice.message
    assert len(notice.message) < 1000


TEXTS = [
    (table.name, column.name)
    for table in TABLES.values()
    if table.name in ("thread", "jvm_phase", "frame", "blocker", "block", "sample")
    for column in table.columns
    if column.type == "VARCHAR"
]


@pytest.mark.parametrize(("table", "column"), TEXTS)
def test_no_column_of_text_may_hold_what_is_no_text(whole: Recording, tmp_path: Path, table: str, column: str) -> None:
    recording = spoiled(whole, tmp_path / "made.headway", table, column, last(b"a\xff"))
    with pytest.raises(HeadwayError, match=f"HW323.* table {table}, column {column}: what is no text"):
        recording.verify(table)


@pytest.mark.parametrize("name", ["thread", "jfr_Event"])
def test_the_name_of_a_column_that_is_no_text_is_damage(whole: Recording, tmp_path: Path, name: str) -> None:
    recording = spoiled(whole, tmp_path / "made.headway", "thread", "name", lambda column: column)
    file = recording.path / f"{name}.parquet"
    rows = pq.read_table(recording.path / "thread.parquet")
    pq.write_table(rows.append_column("spoiled", rows.column("name")), file, store_schema=False)
    file.write_bytes(file.read_bytes().replace(b"spoiled", b"spoil\xff\xfe"))
    tables = json.loads((recording.path / "manifest.json").read_text())["tables"]
    with file.open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    edit(recording.path, tables={**tables, name: {"rows": rows.num_rows, "bytes": size, "crc32": crc32}})
    with contextlib.closing(open_recording(recording.path)) as opened_again:
        reads: list[Callable[[], object]] = [
            lambda: opened_again.query(f"SELECT * FROM {name}"),
            opened_again.connection,
        ]
        for read in reads:
            with pytest.raises(
                HeadwayError, match=rf"HW303.*{name}.parquet can't be read: the name of a column in it is no text"
            ):
                read()
        assert opened_again.query("SELECT count(*) FROM jvm_phase").fetchone() is not None  # others can be read


def test_every_table_as_it_should_be_is_read(whole: Recording, tmp_path: Path) -> None:
    same = spoiled(whole, tmp_path / "same.headway", "thread", "name", lambda column: column)
    same.verify(*TABLES)


def test_a_table_with_other_rows_than_the_manifest_says_is_told(whole: Recording, tmp_path: Path) -> None:
    recording = spoiled(whole, tmp_path / "r.headway", "thread", "name", lambda column: column)
    tables = json.loads((recording.path / "manifest.json").read_text())["tables"]
    tables["thread"]["rows"] = 2**31
    edit(recording.path, tables=tables)
    with pytest.raises(HeadwayError, match="HW323"):
        open_recording(recording.path).verify("thread")


@pytest.mark.parametrize(
    ("table", "column"), [("frame", "frame_id"), ("jvm_phase", "start_ns"), ("slice", "end_ticks")]
)
def test_a_table_without_a_column_that_it_never_lacked_is_told(
    whole: Recording, tmp_path: Path, table: str, column: str
) -> None:
    recording = spoiled(whole, tmp_path / "r.headway", "frame", "method", lambda column: column)
    file = recording.path / f"{table}.parquet"
    pq.write_table(pq.read_table(file).drop_columns([column]), file)
    tables = json.loads((recording.path / "manifest.json").read_text())["tables"]
    with file.open("rb") as opened:
        tables[table]["bytes"], tables[table]["crc32"] = checksum(opened.fileno())
    edit(recording.path, tables=tables)
    with pytest.raises(HeadwayError, match=rf"HW323.*{column}: no such column"):
        open_recording(recording.path).verify(table)


# Verifies the frames of a recording with as little room for them as is said; prints the message, and whether its own limit stays.
IN_LITTLE_ROOM = """
import os, pathlib, resource, sys
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.checks import values
os.sysconf = lambda _: 0
values._LEAST_ROOM_BYTES = int(sys.argv[2])
before = resource.getrlimit(resource.RLIMIT_AS)
try:
    open_recording(pathlib.Path(sys.argv[1])).verify("frame")
except HeadwayError as error:
    print(error)
print("as before" if resource.getrlimit(resource.RLIMIT_AS) == before else "limited")
"""


@pytest.mark.parametrize(("room_bytes", "said"), [(256 << 20, "at once"), (8 << 30, "a text of")])
def test_a_small_file_of_gigabytes_is_told_before_it_fills_the_memory(
    whole: Recording, tmp_path: Path, room_bytes: int, said: str
) -> None:
    """In a process of its own: memory that earlier tests have used and freed is not asked of the system again."""
    recording = spoiled(whole, tmp_path / "r.headway", "frame", "method", lambda column: column)
    file = recording.path / "frame.parquet"
    row = pq.read_table(file).slice(0, 1)
    with pq.ParquetWriter(file, row.schema, compression="zstd", use_dictionary=False) as writer:
        for number in range(400):
            text = pa.array(["x" * (1 << 20) + str(number)], row.column("method").type)
            named = row.set_column(row.column_names.index("method"), "method", text)
            field = row.schema.field("frame_id")
            own = pa.array([number], field.type)
            writer.write_table(named.set_column(row.column_names.index("frame_id"), field, own))
    tables = json.loads((recording.path / "manifest.json").read_text())["tables"]
    with file.open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    assert size < 2 << 20
    edit(recording.path, tables={**tables, "frame": {"rows": 400, "bytes": size, "crc32": crc32}})
    command = [sys.executable, "-c", IN_LITTLE_ROOM, str(recording.path), str(room_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    message, limit = done.stdout.splitlines()
    assert re.search(rf"HW323.*{said}", message), done
    assert limit == "as before"


def test_a_bar_is_no_longer_than_its_column(whole: Recording, tmp_path: Path) -> None:
    year_ns = 360 * 86_400 * 10**9
    path = spoiled(whole, tmp_path / "r.headway", "activity", "dur_ns", last(year_ns)).path
    done = headway("parallelism", path)
    assert "Traceback" not in done.stderr
    assert len(done.stdout) < 100_000


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_in_that_message(whole: Recording, tmp_path: Path, command: str) -> None:
    table, column = ("activity", "running_app") if command in ("parallelism", "walltime") else ("thread", "running_ns")
    path = spoiled(whole, tmp_path / "made.headway", table, column, each(-5)).path
    more = {"report": ["-o", str(tmp_path / "page.html")], "walltime": ["--cores", "4"]}.get(command, [])
    done = headway(command, path, *more)
    assert "Traceback" not in done.stderr
    assert re.match(rf"HW323: .* table {table}, column {column}: -5\n", done.stderr), done.stderr
    assert done.returncode == 1


def test_counts_of_threads_take_memory_by_what_occurs(monkeypatch: pytest.MonkeyPatch, whole: Recording) -> None:
    """A recording may have a hundred thousand threads, and say that all ran at once: 80 GB for each pair."""
    activity = activities.load(whole, None)
    counts = activity.active.sum(axis=1)
    expected = parallelism.levels_of(activity, counts)
    monkeypatch.setattr(parallelism, "_MOST_CELLS", 0)
    assert activity.stolen_ns is not None
    assert parallelism.levels_of(activity, counts) == expected


def test_a_defect_is_told_with_the_command_that_shows_where_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from headway.cli import explain
    from headway.cli.main import invoke

    def fails(**_: object) -> None:
        raise ZeroDivisionError("division by \x1b[31mzero")

    monkeypatch.setattr(explain.command, "callback", fails)
    monkeypatch.delenv("HEADWAY_TRACEBACK", raising=False)
    assert invoke(["explain", "HW301"]) == 1
    said = capsys.readouterr().err
    assert "HW319: headway could not go on: ZeroDivisionError: division by \\x1b[31mzero" in said
    assert "next: HEADWAY_TRACEBACK=1 headway explain HW301" in said
    monkeypatch.setenv("HEADWAY_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        invoke(["explain", "HW301"])
