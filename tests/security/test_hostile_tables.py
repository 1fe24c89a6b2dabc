"""Tables that somebody made to do harm: a message, and neither a crash nor all the memory."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.waits.tables import blocks
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.manifest import read_manifest, write_manifest
from support.builders import recording_builder


def with_value(recording: Path, table: str, column: str, value: int) -> None:
    """Put a value into one row of a table, and let the manifest agree."""
    file = recording / f"{table}.parquet"
    rows = pq.read_table(file)
    values = rows[column].to_pylist()
    values[len(values) // 2] = value
    at = rows.column_names.index(column)
    pq.write_table(
        rows.set_column(at, rows.schema.field(column), pa.array(values, rows.schema.field(column).type)), file
    )
    manifest = read_manifest(recording)
    info = dataclasses.replace(manifest.tables[table], bytes=file.stat().st_size, crc32=None)
    write_manifest(recording, dataclasses.replace(manifest, tables={**manifest.tables, table: info}))


@pytest.mark.parametrize(("table", "command"), [("thread", "why"), ("slice", "export")])
def test_an_id_of_a_thread_far_beyond_the_threads_is_damage(tmp_path: Path, table: str, command: str) -> None:
    recording = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    with_value(recording, table, "thread_id", (1 << 31) - 2)
    more = ["--format", "perfetto", "-o", os.fspath(tmp_path / "out")] if command == "export" else []
    words = [sys.executable, "-m", "headway", command, os.fspath(recording), *more]
    done = subprocess.run(["prlimit", f"--as={4 << 30}", *words], capture_output=True, text=True, timeout=100)
    assert "Traceback" not in done.stderr, done.stderr
    assert (done.returncode, "HW323" in done.stderr) == (1, True), done.stderr


def test_locks_make_no_room_for_threads_that_are_not_there(tmp_path: Path) -> None:
    recording = recording_builder.make(tmp_path / "r.headway", recording_builder.Shape(threads=4, slices=40))
    with_value(recording, "thread", "thread_id", (1 << 31) - 2)
    with pytest.raises(HeadwayError, match="HW323"):
        blocks._Threads(open_recording(recording))
