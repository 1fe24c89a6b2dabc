"""Puts other rows in the place of a recording's table, so that its manifest agrees."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headway.store.files import checksum
from support.builders.edited_manifest import edit


def put_table(recording: Path, name: str, rows: pa.Table) -> Path:
    """Write a table of a recording anew, or one that it has not, and return the recording."""
    file = recording / f"{name}.parquet"
    pq.write_table(rows, file)
    tables = json.loads((recording / "manifest.json").read_text())["tables"]
    with file.open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    edit(recording, tables={**tables, name: {"rows": rows.num_rows, "bytes": size, "crc32": crc32}})
    return recording
