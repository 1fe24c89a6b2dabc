"""Builds recordings in which every text is hostile: markup, terminal escapes and fake headway lines in all names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from headway.store import TABLES, open_recording
from headway.store.writer import write_recording

RAW = "\x00\x07\x08\x0c\r\x1b\x7f\x85\x9b\x9d\u200b\u200e\u202a\u202e\u2028\u2029\u2066\u2069\ufeff\U000e0041\ue000"
"""Characters that no output for people may hold: ESC, BEL, C1 controls, bidi overrides, what has no width, separators."""
LINE = "INJECTED LINE"
HOSTILE = (
    "=cmd|' /C calc'!A0\x1b[2J\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://evil.example/\x1b\\\x9b31m\x9d0;t\x9c\u202eevil\u2066\u200b"
    f"\ufeff\x7f\x08\x00\x85\u2028\U000e0041\ue000\r\n{LINE};</script><script>window.hacked=1</script><!--"
)
WITHOUT_NUL = HOSTILE.replace("\x00", "")
FILE_NAME = WITHOUT_NUL.replace("/", "_")[:60]
"""As a name of a file, or a word of a command line, it can hold no NUL (and no slash)."""

WORDS = {
    **{
        "thread": ("kind",),
        "frame": ("kind",),
        "sample": ("event", "state"),
        "jvm_phase": ("kind",),
        "block": ("kind",),
        "line_share": ("distance",),
        "access_node": ("kind",),
        "access_node_pair": ("kind", "rule"),
    },
    **{"blocker": ("kind",), "causal_run": ("timer", "mode"), "causal_point": ("kind",), "causal_line": ("kind",)},
}
"""Columns of a known set of words. With anything else in them few commands get far; `everything` spoils them, too."""
_KEYS = {"format", "state", "mode", "kind", "created_utc", "ended_by"}


def spoil(source: Path, target: Path, *, everything: bool = False) -> Path:
    """Write a copy of a recording with `HOSTILE` appended to every text of its tables and manifest."""
    recording = open_recording(source)
    tables = {}
    for name, table in TABLES.items():
        if table.sql is None and name in recording.manifest.tables:
            rows = recording.query(f'SELECT * FROM "{name}"').to_arrow_table()
            kept = () if everything else WORDS.get(name, ())
            tables[name] = _spoiled_table(rows, kept)
    manifest = json.loads((source / "manifest.json").read_text())
    manifest.pop("tables")
    recording.close()
    return write_recording(target, _spoiled({**manifest, HOSTILE: HOSTILE}, () if everything else _KEYS), tables)


def _spoiled_table(rows: pa.Table, kept: Iterable[str]) -> pa.Table:
    for i, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) and field.name not in kept:
            values = [None if value is None else f"{HOSTILE}{value}" for value in rows.column(i).to_pylist()]
            rows = rows.set_column(i, field, pa.array(values, field.type))
    return rows


def _spoiled(value: Any, kept: Iterable[str]) -> Any:
    if isinstance(value, Mapping):
        fixed = {"format", "version", *kept}
        return {key: each if key in fixed else _spoiled(each, kept) for key, each in value.items()}
    if isinstance(value, list):
        return [_spoiled(each, kept) for each in value]
    return HOSTILE + value if isinstance(value, str) else value


def raw_in(text: str) -> set[str]:
    """Return the parts of `text` that would affect a terminal, or look like a line of headway's own."""
    return (set(RAW) & set(text)) | ({LINE} if any(line.startswith(LINE) for line in text.splitlines()) else set())
