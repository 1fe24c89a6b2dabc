"""Reads the files of notes on experiments, of many JVMs: while they grow, and whole; each has its share of time and memory.

A JVM's user may write there what they like: files without end, that grow faster than they can be read, or that never answer.
"""

from __future__ import annotations

import gzip
import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway.record.causal.notes import MOST_KEPT_BYTES, Notes
from headway.store.files import open_ordinary

_READ_BYTES = 1 << 20
_MOST_AT_ONCE_BYTES = 8 << 20
"""So much is taken in one look at files that grow: they may grow faster than they can be read, or be holes without end."""
MOST_BYTES = 1 << 30
"""The longest file that is copied from a JVM (target_process/agent_file.py)."""
_MOST_LINE_BYTES = 16 << 20
_MOST_KEPT_OF_ALL_BYTES = 256 << 20
_LEAST_AT_ONCE_BYTES, _LEAST_SHARE_BYTES = 64 << 10, 16 << 20
_LOOK_LIMIT_S = 1.0
"""So long may a look at all files take: the recorder has more to do, and who interrupts it waits for that."""
_MOST_LATE = 5


@dataclass(slots=True)
class Tail:
    """Reads a file of a causal run's notes while the agent in the JVM may still append to it.

    `read` reads, at an offset so many bytes, the notes of a JVM of another user or container; None: they are our own.
    """

    path: Path
    read: Callable[[int, int], bytes] | None = None
    notes: Notes = field(default_factory=Notes)
    _at: int = 0
    _rest: bytes = b""
    _late: int = 0

    def poll(self, most_bytes: int = _MOST_AT_ONCE_BYTES) -> None:
        """Read new complete lines, so many bytes at most. A missing file, or one that is not the agent's, yields none."""
        if self.read is not None:
            self._poll_by(self.read, most_bytes)
            return
        try:
            fd = open_ordinary(self.path)
        except OSError:
            return
        try:
            self._take(lambda offset, most: os.pread(fd, most, offset), most_bytes)
        except OSError:
            return
        finally:
            os.close(fd)

    def _poll_by(self, read: Callable[[int, int], bytes], most_bytes: int) -> None:
        """Each look that takes too long may leave a process behind (target_process/apart.py): a few of them, and no more."""
        if self._late >= _MOST_LATE:
            return
        try:
            self._take(read, most_bytes)
        except TimeoutError:
            self._late += 1
        except OSError:
            return

    def _take(self, read: Callable[[int, int], bytes], most_bytes: int) -> None:
        end = min(self._at + most_bytes, MOST_BYTES)
        while self._at < end and (piece := read(self._at, min(_READ_BYTES, end - self._at))):
            self._at += len(piece)
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                self.notes.take(line)
            if len(self._rest) > _MOST_LINE_BYTES:
                self._rest = b""
                self.notes.damaged += 1


class Tails:
    """Readers of all JVMs' notes that may still grow, which share the time of a look and the memory for what they say."""

    def __init__(self) -> None:
        """Begin with none."""
        self.by_path: dict[Path, Tail] = {}
        self._next = 0

    def add(self, path: Path, read: Callable[[int, int], bytes] | None = None) -> None:
        """Follow a file, unless it is followed already; `read` as of Tail."""
        self.by_path.setdefault(path, Tail(path, read))

    def look(self) -> None:
        """Read what is new; those that there is no time for come first in the next look."""
        tails = [*self.by_path.values()]
        started_s = time.monotonic()
        for _ in tails:
            tail = tails[self._next % len(tails)]
            self._next = (self._next + 1) % len(tails)
            tail.notes.most_kept_bytes = share_of_kept(len(tails))
            tail.poll(max(_LEAST_AT_ONCE_BYTES, _MOST_AT_ONCE_BYTES // len(tails)))
            if time.monotonic() - started_s > _LOOK_LIMIT_S:
                return


def share_of_kept(jvms: int) -> int:
    """Return how many bytes of lines that say something new each may be kept of one of so many JVMs."""
    return min(MOST_KEPT_BYTES, _MOST_KEPT_OF_ALL_BYTES // max(1, jvms))


def read_all(paths: Sequence[Path]) -> dict[Path, Notes]:
    """Read many files, the smallest first: what one leaves of its share is for those that are longer. Raises OSError."""
    found: dict[Path, Notes] = {}
    left, left_kept = MOST_BYTES, _MOST_KEPT_OF_ALL_BYTES
    for files_left, path in zip(range(len(paths), 0, -1), sorted(paths, key=_length), strict=True):
        most_bytes = max(_LEAST_SHARE_BYTES, left // files_left)
        found[path] = read_notes(path, most_bytes, min(MOST_KEPT_BYTES, left_kept // files_left))
        left -= found[path].read_bytes
        left_kept -= found[path].kept_bytes
    return found


def _length(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def read_notes(path: Path, most_bytes: int = MOST_BYTES, most_kept_bytes: int = MOST_KEPT_BYTES) -> Notes:
    """Read a notes file, compressed or not, ignoring an incomplete last line (a killed JVM's). Raises OSError.

    What lies beyond the first `most_bytes` counts as one damaged line.
    """
    notes = Notes(most_kept_bytes=most_kept_bytes)
    with open(open_ordinary(path), "rb") as plain, gzip.open(plain) if path.suffix == ".gz" else plain as file:
        try:
            is_inside = False
            while line := file.readline(_MOST_LINE_BYTES):
                if notes.read_bytes >= most_bytes:
                    notes.damaged += 1
                    break
                notes.read_bytes += len(line)
                is_whole = line.endswith(b"\n")
                if is_whole and not is_inside:
                    notes.take(line)
                elif is_whole:  # the end of a line that is too long
                    notes.damaged += 1
                is_inside = not is_whole
        except (EOFError, zlib.error):
            notes.damaged += 1
    return notes
