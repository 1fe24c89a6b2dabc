"""Status line while an attached process is recorded: elapsed time and bytes written so far."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.target_process import processes

if TYPE_CHECKING:
    from headway.record.collect.listener import Listener

PERIOD_NS = 1_000_000_000


class AttachStatus:
    """Announces the start of the recording, then updates its status line about every second."""

    def __init__(self, listener: Listener, spool: Path, pid: int, duration_s: float | None) -> None:
        """Take the output, the folder of raw records, and the recording's length (None: until the user ends it)."""
        self._listener = listener
        self._spool = spool
        self._pid = pid
        self._limit = f" of {duration_s:g} s" if duration_s is not None else ""
        self._began_ns = self._next_ns = 0

    def begin(self, now_ns: int) -> None:
        """Announce that the recording has started."""
        self._began_ns, self._next_ns = now_ns, now_ns + PERIOD_NS
        name = next(iter(processes.command_line(self._pid)), "")
        called = f" ({Path(name).name})" if name else ""
        until = f"for{self._limit.removeprefix(' of')}, or until Ctrl-C" if self._limit else "until Ctrl-C or its end"
        self._listener.tell(f"recording process {self._pid}{called} {until}")

    def look(self, now_ns: int) -> None:
        """Update the line if the last update is a second old."""
        if now_ns < self._next_ns:
            return
        self._next_ns = now_ns + PERIOD_NS
        seconds = (now_ns - self._began_ns) // 1_000_000_000
        self._listener.status(
            f"recording process {self._pid}: {seconds} s{self._limit}, {size_text(size_of(self._spool))}"
        )

    def end(self) -> None:
        """Remove the line."""
        self._listener.status("")


def size_of(folder: Path) -> int:
    """Return how many bytes a folder's files take on disk; sparse files of the agent are larger than that."""
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


def size_text(size: int) -> str:
    """Format a size for people: '312 kB', '4.1 MB', '2.3 GB'."""
    number, units = size / 1000, ("kB", "MB", "GB")
    for unit in units:
        if number < 1000 or unit == units[-1]:
            return f"{number:.0f} {unit}" if unit == "kB" or number >= 100 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("the last unit fits all")
