"""Shortens names of threads in queries: a name of 64 KiB in each of many rows would take gigabytes."""

from __future__ import annotations

from headway.store.checks.ranges import LONG_BYTES


def short_name(column: str) -> str:
    """Return SQL for a column of names in which a name that is longer than others may be ends in "..."."""
    return f"CASE WHEN strlen({column}) > {LONG_BYTES} THEN left({column}, {LONG_BYTES - 3}) || '...' ELSE {column} END"
