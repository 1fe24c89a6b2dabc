"""Finds the copies of the agent that any process names: in its environment, its arguments or its memory map."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

from headway.record.target_process.apart import apart
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.processes import read_stat

NAME = re.compile(rb"headway-agent-(\d{1,20})-(\d{1,20})-([0-9a-f]{32}|[a-z0-9_]{8})(?![0-9A-Za-z_])")
"""User, pid namespace, and what is copied; eight random letters while it is being made, or where somebody has that name."""
LOOK_LIMIT_S = 5.0
_LONGEST_BYTES = 8 << 20
"""Of a process's environment or arguments; the kernel takes 6 MiB of an exec at most."""


def named_by_processes(since: Mapping[bytes, float]) -> Set[bytes]:
    """Return those names of copies, made at the times given, that a process may have; all where that can't be known."""
    try:
        # Twice: the child of a process that ends meanwhile may have been passed by.
        return apart(Deadline.after(LOOK_LIMIT_S), lambda: _look(since) | _look(since)) if since else since.keys()
    except OSError:
        return since.keys()


def _look(since: Mapping[bytes, float]) -> Set[bytes]:
    """Return the names that are in environments, arguments and memory maps.

    A process that root can't look at has those that were there when it was started. An ordinary user can't look at others' at
    all, to whom it gives no copy (root's command may become another user; a user's command loses its environment by that).
    """
    found: set[bytes] = set()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        for file in ("environ", "cmdline", "maps"):
            try:
                found.update(each for each in _names_in(Path("/proc", str(pid), file)) if each in since)
            except PermissionError:
                if os.geteuid() == 0 and (fields := read_stat(pid)):
                    started_s = (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK")
                    found.update(name for name, made_s in since.items() if made_s <= started_s)
            except OSError:  # it has ended
                break
    return found


def _names_in(file: Path) -> Iterator[bytes]:
    with file.open("rb") as text:
        for part in text if file.name == "maps" else [text.read(_LONGEST_BYTES)]:
            yield from (each[0] for each in NAME.finditer(part))
