"""The locks of a JVM while it runs: reads the agent's table from its file, so that the JVM is neither stopped nor asked.

The agent keeps exact sums per blocker in `locks-<pid>.table` (native/wire/records.h). The table of a JVM is found by its
memory map, whoever records it. Where nothing records it, the agent is attached for as long as somebody looks.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.model.live_lock import LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.record import agent_file, processes
from headway.record.attach import attach, denied
from headway.record.held import silence_left_behind
from headway.record.jvm_options import LockOptions, agent_library
from headway.record.plan import running_process

if TYPE_CHECKING:
    import numpy as np

_MAGIC = b"HWLOCKS\0"
_VERSION = 2
_HEADER = struct.Struct("<8sIIqIIIIQQqqQ")
_HEADER_BYTES = 4096
_CLASSES, _CLASS_BYTES = 4096, 128
_FIRST_SLOT = _HEADER_BYTES + _CLASSES * _CLASS_BYTES
_KINDS = ("", "park", "monitor", "wait")
_FIELDS: tuple[tuple[str, str], ...] = (
    *(("sequence", "<u4"), ("blocker_id", "<u4"), ("parked_now", "<u4"), ("peak_parked", "<u4")),
    *(("times_parked", "<u8"), ("times_measured", "<u8"), ("first_ns", "<i8"), ("last_ns", "<i8")),
    *(("thread_time_ns", "<u8"), ("real_time_ns", "<u8"), ("identity_hash", "<i4"), ("class_index", "<u4")),
    *(("kind", "<u2"), ("is_dead", "<u2"), ("first_java_id", "<u4"), ("first_stack_id", "<u4")),
    *(("forgotten", "<u4"), ("holds", "<u8"), ("hold_ns", "<u8"), ("spare", "V24")),
)
"""struct hw_lock_slot."""
_KIND = [name for name, _ in _FIELDS].index("kind")
_MOST_SLOTS = 1 << 26


class TableFile:
    """An open table. The file may grow, and be written to, while it is read; it stays readable when its JVM has ended."""

    def __init__(self, fd: int, path: Path) -> None:
        """Take over the descriptor. Raises HeadwayError HW065 when it is no table of ours."""
        self._fd = fd
        self._path = path
        self._header()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)

    def read(self) -> LiveTable:
        """Return what the table holds now. Raises HeadwayError HW065 when it is no table (any more)."""
        _, _, pid, created, slot_bytes, slots, classes, _, dropped, _, capped, _, below = self._header()
        names = self._class_names(classes)
        rows, torn, there = self._slots(slots, slot_bytes)
        now_ns = time.monotonic_ns()
        live = tuple(
            _row(row, names, now_ns, is_torn)
            for row, is_torn in zip(rows.tolist(), torn.tolist(), strict=True)
            if 0 < row[_KIND] < len(_KINDS)
        )
        return LiveTable(pid, created, now_ns, live, dropped, below, capped, slots - there)

    def _header(self) -> tuple[Any, ...]:
        raw = os.pread(self._fd, _HEADER.size, 0)
        if len(raw) < _HEADER.size:
            raise HeadwayError("HW065", path=self._path, reason="it is cut off")
        header = _HEADER.unpack(raw)
        if header[0] != _MAGIC:
            raise HeadwayError("HW065", path=self._path, reason="it does not begin as one")
        if header[1] != _VERSION:
            raise HeadwayError("HW065", path=self._path, reason=f"version {header[1]}, this headway reads {_VERSION}")
        if header[4] < 128 or header[4] % 8 or header[4] > 4096 or header[5] > _MOST_SLOTS or header[6] > _CLASSES:
            raise HeadwayError("HW065", path=self._path, reason="its sizes make no sense")
        return header

    def _class_names(self, count: int) -> list[str]:
        raw = os.pread(self._fd, count * _CLASS_BYTES, _HEADER_BYTES)
        parts = (raw[i : i + _CLASS_BYTES] for i in range(0, len(raw), _CLASS_BYTES))
        return [part.split(b"\0", 1)[0].decode(errors="backslashreplace") for part in parts]

    def _slots(self, slots: int, slot_bytes: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
        """Return the slots, which of them were being written all the time, and how many the file has.

        A slot is whole if its sequence was even and the same before and after its bytes were read. Python's memory model
        gives no order inside one read, hence three reads; those that change all the time are read again by themselves.
        """
        import numpy as np

        kind = np.dtype(
            {
                "names": [name for name, _ in _FIELDS],
                "formats": [form for _, form in _FIELDS],
                "itemsize": slot_bytes,
            }
        )

        def take(first: int, count: int) -> np.ndarray[Any, Any]:
            raw = _pread(self._fd, count * slot_bytes, _FIRST_SLOT + first * slot_bytes)
            return np.frombuffer(raw[: len(raw) // slot_bytes * slot_bytes], dtype=kind)

        before, rows, after = (take(0, slots) for _ in range(3))
        there = min(map(len, (before, rows, after)))
        rows = rows[:there].copy()
        torn = (before["sequence"][:there] != rows["sequence"]) | (after["sequence"][:there] != rows["sequence"])
        torn |= rows["sequence"] % 2 == 1
        for slot in np.flatnonzero(torn).tolist():
            again = (_whole(functools.partial(take, slot, 1)) for _ in range(100))
            whole = next((each for each in again if each is not None), None)
            if whole is not None:
                rows[slot], torn[slot] = whole, False
        return rows, torn, there


def _whole(take: Callable[[], np.ndarray[Any, Any]]) -> np.void | None:
    """Return one slot if it was not written to while it was read."""
    reads = [take() for _ in range(3)]
    if min(map(len, reads)) == 0:
        return None
    sequences = {int(each["sequence"][0]) for each in reads}
    row: np.void = reads[1][0]
    return row if len(sequences) == 1 and sequences.pop() % 2 == 0 else None


def _pread(fd: int, size: int, offset: int) -> bytes:
    """Read all there is of a span, however large: the system call takes 2 GiB at a time."""
    parts = []
    while size > 0 and (part := os.pread(fd, min(size, 1 << 26), offset)):
        parts.append(part)
        size, offset = size - len(part), offset + len(part)
    return b"".join(parts)


def _row(row: tuple[Any, ...], names: list[str], now_ns: int, is_torn: bool) -> LiveLock:
    slot = dict(zip((name for name, _ in _FIELDS), row, strict=True))
    going_on = max(0, now_ns - slot["last_ns"]) if slot["parked_now"] else 0
    class_index = slot["class_index"]
    sums = LockSums(
        **{name: slot[name] for name in ("times_parked", "times_measured", "parked_now", "peak_parked")},
        thread_time_ns=slot["thread_time_ns"] + slot["parked_now"] * going_on,
        real_time_ns=slot["real_time_ns"] + going_on,
        first_ns=slot["first_ns"],
        last_ns=slot["last_ns"],
        end_ns=now_ns,
    )
    return LiveLock(
        blocker_id=slot["blocker_id"],
        kind=_KINDS[slot["kind"]],
        class_name=names[class_index] if slot["blocker_id"] and class_index < len(names) else "",
        identity_hash=slot["identity_hash"],
        first_java_id=slot["first_java_id"],
        is_dead=bool(slot["is_dead"]),
        forgotten=slot["forgotten"],
        sums=sums,
        holds=slot["holds"],
        hold_ns=slot["hold_ns"],
        is_torn=is_torn,
    )


def open_file(path: Path) -> TableFile:
    """Open a table by its path. Raises HeadwayError HW065."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise HeadwayError("HW065", path=path, reason=error.strerror or str(error)) from error
    return _table_of(fd, path)


def _table_of(fd: int, path: Path) -> TableFile:
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise HeadwayError("HW065", path=path, reason="it is no ordinary file")
        return TableFile(fd, path)
    except BaseException:
        os.close(fd)
        raise


# --- of a process ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def live_locks(pid: int) -> Iterator[tuple[TableFile, bool]]:
    """Give the table of a running JVM, and whether the agent was attached for it (then it is taken out again).

    Raises HeadwayError HW004 or HW005 (no such process, another user's), HW064 (recorded without locks), HW065, or what
    `attach` raises.
    """
    running_process(pid)
    owner = processes.owner(pid)
    left_behind = owner is not None and silence_left_behind(pid, owner)
    table = None if left_behind else _mapped_table(pid)
    if table is not None:
        try:
            yield table, False
        finally:
            table.close()
        return
    with _attached(pid) as table:
        yield table, True


@contextlib.contextmanager
def _attached(pid: int) -> Iterator[TableFile]:
    folder = Path(tempfile.mkdtemp(prefix="headway-live-"))
    try:
        try:
            result = attach(pid, agent_library(), folder, locks=LockOptions())
        except HeadwayError as error:
            if error.notice.id == "HW027":
                raise HeadwayError("HW064", pid=pid, reason="its recorder was not told --locks") from None
            raise
        try:
            table = _wait_for_table(pid)
            try:
                yield table
            finally:
                table.close()
        finally:
            with contextlib.suppress(HeadwayError, OSError):
                result.detach(timeout_s=10)
            with contextlib.suppress(OSError):
                result.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_table(pid: int, limit_s: float = 20.0) -> TableFile:
    """Return the table once the agent has mapped it: it is ready a moment after the agent answers."""
    deadline = time.monotonic() + limit_s
    while True:
        table = _mapped_table(pid)
        if table is not None:
            return table
        if time.monotonic() > deadline or not processes.is_jvm(pid):
            raise HeadwayError("HW064", pid=pid, reason="the agent made no table")
        time.sleep(0.02)


def _mapped_table(pid: int) -> TableFile | None:
    """Return the table that the process has mapped, None when there is none.

    The path in the map is the JVM's own, so it is opened below its root, and only if it is the very file that is mapped.
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as maps:
            lines = [line for line in maps if re.search(rb"/locks-\d+(\.\d+)?\.table( \(deleted\))?\n", line)]
    except PermissionError as error:
        raise denied(pid, error) from error
    except OSError:
        return None
    owner = processes.owner(pid)
    for line in reversed(lines):
        words = line.split(None, 5)
        path = Path(f"/proc/{pid}/root{os.fsdecode(words[5].rstrip(chr(10).encode()))}")
        with (
            contextlib.suppress(OSError),
            agent_file.opened(path, os.O_RDONLY, owner if owner is not None else -1) as fd,
        ):
            if os.fstat(fd).st_ino == int(words[4]):
                return _table_of(os.dup(fd), path)
    return None
