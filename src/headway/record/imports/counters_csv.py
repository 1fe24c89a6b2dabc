"""Imports hardware counters from CSV: what `perf stat` on another machine counted per run of a program.

A head line names the columns: threads, program (sequential or parallel), region, thread, then any of cycles, instructions,
cache_misses. A row is one run, or the sum over a region of one, or one thread's part of that (`perf stat --per-thread`); the same
row again is a repeat.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from headway import __version__
from headway.errors import HeadwayError
from headway.record.imports.digits import number_below
from headway.record.imports.importer import ImportOptions, SourceFile
from headway.record.imports.sources import lines_of
from headway.store.files import open_named
from headway.store.manifest import Manifest
from headway.store.tables import TABLES
from headway.store.writer import write_recording

_COUNTERS = ("cycles", "instructions", "cache_misses")
_KEYS = ("threads", "program", "region", "thread")
_PROGRAMS = ("sequential", "parallel")
MOST_ROWS = 1_000_000
"""Of a file: one that repeats a program ten thousand times has less."""
_SHOWN = 40
"""Of a value that is none, so many characters are told."""


class CountersImporter:
    """Makes the table `region_counter` of counters in CSV."""

    name = "csv"
    file_type = "counters in CSV (named .csv)"

    def takes(self, file: SourceFile) -> bool:
        """Return whether its name is that of a CSV file."""
        return file.path.name.removesuffix(".gz").lower().endswith(".csv")

    def write(self, source: Path, directory: Path, options: ImportOptions) -> None:
        """Write the recording. Raises HeadwayError HW313 (not such a file) or HW314 (a row that is wrong)."""
        _write(source, directory)


def _write(source: Path, directory: Path) -> None:
    """Write a recording with the table `region_counter`.

    Raises HeadwayError HW313 (not such a file) or HW314 (a row that is wrong).
    """
    import pyarrow as pa

    columns: dict[str, list[object]] = {name: [] for name in (*_KEYS, *_COUNTERS)}
    with open(open_named(source), encoding="utf-8-sig", errors="backslashreplace", newline="") as lines:
        for found in _rows(source, lines_of(source, lines)):
            for name, value in found.items():
                columns[name].append(value)
    if not columns["threads"]:
        raise HeadwayError("HW313", path=source, reason="it has a head line and no rows")
    types = {"program": pa.string(), "region": pa.string(), "thread": pa.string(), "threads": pa.int32()}
    table = pa.table({name: pa.array(values, types.get(name, pa.int64())) for name, values in columns.items()})
    assert "region_counter" in TABLES
    manifest = {
        "created_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "headway_version": __version__,
        "mode": "import",
        "import": {"file": str(source), "source": "counters measured elsewhere", "clock": None, "window": None},
    }
    parsed = Manifest.from_json({"format": "headway-recording", "version": 1, **manifest})
    write_recording(directory, parsed, {"region_counter": table}, overwrite=True)


def _rows(source: Path, lines: Iterable[str]) -> Iterator[dict[str, object]]:
    reader = csv.DictReader((line for line in lines if not line.startswith("#")), skipinitialspace=True)
    try:
        names = [(name or "").strip().replace("-", "_") for name in reader.fieldnames or ()]
        _check_head(source, names)
        reader.fieldnames = names
        for number, row in enumerate(reader):
            if number >= MOST_ROWS:
                reason = f"there are more than {MOST_ROWS:,} rows"
                raise HeadwayError("HW314", path=source, line=reader.line_num, reason=reason)
            yield _row(source, reader.line_num, row)
    except csv.Error as error:  # a field of more characters than the module takes
        raise HeadwayError("HW314", path=source, line=reader.reader.line_num, reason=str(error)) from None


def _check_head(source: Path, names: list[str]) -> None:
    unknown = [name for name in names if name not in (*_KEYS, *_COUNTERS)]
    if unknown or "threads" not in names or not set(names) & set(_COUNTERS):
        reason = f"unknown column {_shown(unknown[0])}" if unknown else "its head line lacks threads, or any counter"
        raise HeadwayError("HW313", path=source, reason=f"{reason}; known are {', '.join((*_KEYS, *_COUNTERS))}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise HeadwayError("HW313", path=source, reason=f"its head line has the column {twice!r} twice")


def _row(source: Path, line: int, row: dict[str, str | None]) -> dict[str, object]:
    if None in row or None in row.values():
        raise HeadwayError("HW314", path=source, line=line, reason="it has not as many values as the head line")
    cells = {name: (value or "").strip() for name, value in row.items()}
    found: dict[str, object] = {}
    for name in ("threads", *_COUNTERS):
        text = cells.get(name, "").replace("_", "")
        if not text and name != "threads":
            found[name] = None
            continue
        is_number = text.isascii() and text.isdigit()
        count = number_below(text, 1 << 31 if name == "threads" else 1 << 63) if is_number else None
        if count is None:
            raise HeadwayError("HW314", path=source, line=line, reason=f"{name} is {_shown(text)}, not a count")
        found[name] = count
    if found["threads"] == 0:
        raise HeadwayError("HW314", path=source, line=line, reason="threads is 0")
    program = cells.get("program") or "parallel"
    if program not in _PROGRAMS:
        raise HeadwayError(
            "HW314", path=source, line=line, reason=f"program is {_shown(program)}, not sequential or parallel"
        )
    return {**found, "program": program, "region": cells.get("region", ""), "thread": cells.get("thread") or None}


def _shown(text: str) -> str:
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."
