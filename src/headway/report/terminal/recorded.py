"""What closing lines say of a recording itself: that it ended before its program did, and the commands for what was asked for."""

from __future__ import annotations

import shlex
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from headway.store.manifest import Manifest

_CUT_SHORT = {
    "interrupt": "until it was interrupted",
    "duration": "until the time of --duration was over",
    "disk-full": "until the disk was full",
    "recorder-died": "until headway died",
}
_STOPPING = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGTERM})
"""Signals by which people end a program that has done nothing wrong; a JVM then exits with 128 and the number."""
_ASKED_FOR = (
    ("objects", ("allocation", "access")),
    ("numa-map", ("heap_node",)),
)
"""Commands for what is recorded only where it is asked for, and the tables that it is in."""


def cut_short(manifest: Manifest) -> str:
    """Return what ended a recording before its program ended by itself; '' for whole runs, and for a process attached to."""
    if manifest.attached and manifest.ended_by in ("interrupt", "duration"):
        return ""  # how such recordings end
    known = _CUT_SHORT.get(manifest.ended_by or "", "")
    number = stopping_signal(manifest)
    return known or (f"until {signal.Signals(number).name} ended it" if number else "")


def stopping_signal(manifest: Manifest) -> int:
    """Return the signal by which somebody ended the program, 0 for a program that ended otherwise."""
    number = manifest.signal or (manifest.exit_code or 0) - 128
    return number if number in _STOPPING else 0


def commands_for(manifest: Manifest, directory: Path | str) -> list[str]:
    """Return the commands that answer what was asked for beside the account of the cores."""
    names = [name for name, tables in _ASKED_FOR if any(table in manifest.tables for table in tables)]
    names += ["counters"] if manifest.extra.get("counters") else []
    return [f"headway {name} {shlex.quote(str(directory))}" for name in names]
