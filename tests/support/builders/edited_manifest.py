"""Edits finished recordings: changes manifest values, and keeps its checksum valid."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headway.store.manifest import write_manifest


def edit(recording: Path, **facts: Any) -> dict[str, Any]:
    """Set keys of the manifest, and return all of it."""
    data: dict[str, Any] = json.loads((recording / "manifest.json").read_text()) | facts
    write_manifest(recording, data)
    return data


def take_tables_as_they_are(recording: Path) -> None:
    """Update the manifest to the tables' current files, without checksums, as older versions wrote it."""
    tables = json.loads((recording / "manifest.json").read_text())["tables"]
    for name, info in tables.items():
        file = recording / f"{name}.parquet"
        info["bytes"] = file.stat().st_size
        with contextlib.suppress(OSError, pa.ArrowException):  # one that a test has damaged
            info["rows"] = pq.read_metadata(file).num_rows
        info.pop("crc32", None)
    edit(recording, tables=tables)
