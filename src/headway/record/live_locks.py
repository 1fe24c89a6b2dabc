"""The locks of a JVM while it runs: reads the agent's table from its file; a recorded JVM is neither stopped nor asked.

The agent keeps exact sums per blocker in `locks-<pid>.table` (native/wire/records.h). The table of a JVM is found by its
memory map, whoever records it. Names and stacks of first events come from the records of `agent-<pid>.spool` beside it.
Where nothing records the JVM, the agent is attached for as long as somebody looks: the JVM stops for moments as its hooks
go in and out, and compiles code anew.
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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.model.live_lock import LiveFrame, LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.model.names import may_have_virtual_threads, virtual_name
from headway.record import agent_file, processes
from headway.record.attach import attach, denied, spool_of
from headway.record.held import silence_left_behind
from headway.record.jvm_options import LockOptions, agent_library
from headway.record.plan import running_process
from headway.record.thread_table import text

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
_NAMES = [name for name, _ in _FIELDS]
_KIND = _NAMES.index("kind")
_FIRST = tuple(map(_NAMES.index, ("blocker_id", "first_java_id", "first_stack_id")))
_MOST_SLOTS = 1 << 26


class TableFile:
    """An open table. The file may grow, and be written to, while it is read; it stays readable when its JVM has ended."""

    def __init__(self, fd: int, path: Path, records: _Firsts | None = None) -> None:
        """Take over the descriptor, and the records beside it. Raises HeadwayError HW065 when it is no table of ours."""
        self._fd = fd
        self._path = path
        self._records = records
        self._header()

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._fd)
        if self._records is not None:
            self._records.close()

    def read(self) -> LiveTable:
        """Return what the table holds now. Raises HeadwayError HW065 when it is no table (any more)."""
        _, _, pid, created, slot_bytes, slots, classes, _, dropped, _, capped, _, below = self._header()
        names = self._class_names(classes)
        rows, torn, there = self._slots(slots, slot_bytes)
        now_ns = time.monotonic_ns()
        used = [pair for pair in zip(rows.tolist(), torn.tolist(), strict=True) if 0 < pair[0][_KIND] < len(_KINDS)]
        if self._records is not None:
            self._records.read_for((tuple(row[at] for at in _FIRST) for row, _ in used), pid)
        live = tuple(_row(row, names, now_ns, is_torn, self._records) for row, is_torn in used)
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


_READS_AT_ONCE, _MOST_READS = 2, 3
"""How often the records are read for what was not found: once more in the same look, once in a later one."""


class _Firsts:
    """The first events of the rows, out of the agent's records.

    Threads write them side by side: a record may come to stand in front of what has been read, and a stack before the names
    of its methods. Some never come: lost ones, those of blockers when the file is nearly full.
    """

    def __init__(self, fd: int) -> None:
        from headway import _native  # type: ignore[attr-defined]

        self._fd = fd
        self._records: Any = _native.LiveRecords()
        self._frames: dict[int, tuple[LiveFrame, ...]] = {0: ()}
        self._known: set[tuple[int, ...]] = set()
        self._reads: Counter[tuple[tuple[int, ...], bool]] = Counter()

    def close(self) -> None:
        os.close(self._fd)

    def read_for(self, rows: Iterable[tuple[int, ...]], pid: int) -> None:
        """Read on, if it takes that to know the first events of these rows (blocker, Java id, stack)."""
        new = (row for row in rows if row[1] and row not in self._known)
        unknown = [row for row in new if self._reads[row, True] < _MOST_READS]
        for _ in range(_READS_AT_ONCE):
            self._known.update(row for row in unknown if self._is_known(*row))
            unknown = [row for row in unknown if row not in self._known]
            # A thread is announced before it waits. So one is without a name for certain only if nothing was found in a
            # read that began after its blocker's record was known: these are counted by themselves.
            wanted = [(row, self._records.knows(row[0], 0)) for row in unknown]
            wanted = [each for each in wanted if self._reads[each] < _MOST_READS]
            if not wanted:
                return
            self._records.read(self._fd, pid)
            self._reads.update(wanted)

    def _is_known(self, blocker: int, java_id: int, stack: int) -> bool:
        known: bool = self._records.knows(blocker, stack)
        return known and self._records.first_thread(blocker, java_id) is not None

    def thread(self, row: tuple[int, ...]) -> str | None:
        """Return the name; platform threads are announced, so one that is known by its id alone is virtual if it can be."""
        blocker, java_id, _ = row
        name = self._records.first_thread(blocker, java_id)
        if name is not None:
            return text(name)
        is_virtual = self._reads[row, True] > 0 and may_have_virtual_threads(text(self._records.java_version()))
        return virtual_name(java_id) if is_virtual else None

    def frames(self, stack: int) -> tuple[LiveFrame, ...]:
        """Return the frames, innermost first; methods whose names have not been read are unknown."""
        if stack in self._frames:
            return self._frames[stack]
        found = self._records.frames(stack)
        frames = tuple((text(name), text(method), line if line >= 0 else None) for name, method, line in found)
        if self._records.knows_stack(stack):
            self._frames[stack] = frames
        return frames


def _row(row: tuple[Any, ...], names: list[str], now_ns: int, is_torn: bool, firsts: _Firsts | None) -> LiveLock:
    slot = dict(zip(_NAMES, row, strict=True))
    going_on = max(0, now_ns - slot["last_ns"]) if slot["parked_now"] else 0
    class_index, java_id = slot["class_index"], slot["first_java_id"]
    first = (slot["blocker_id"], java_id, slot["first_stack_id"])
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
        first_java_id=java_id,
        first_thread=firsts.thread(first) if firsts is not None and java_id else None,
        first_stack=firsts.frames(slot["first_stack_id"]) if firsts is not None else (),
        is_dead=bool(slot["is_dead"]),
        forgotten=slot["forgotten"],
        sums=sums,
        holds=slot["holds"],
        hold_ns=slot["hold_ns"],
        is_torn=is_torn,
    )


def open_file(path: Path) -> TableFile:
    """Open a table by its path, and the agent's records beside it. Raises HeadwayError HW065."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise HeadwayError("HW065", path=path, reason=error.strerror or str(error)) from error
    return _table_of(fd, path, os.geteuid())


def _table_of(fd: int, path: Path, owner: int) -> TableFile:
    firsts = None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise HeadwayError("HW065", path=path, reason="it is no ordinary file")
        firsts = _firsts_beside(path, owner)
        return TableFile(fd, path, firsts)
    except BaseException:
        os.close(fd)
        if firsts is not None:
            firsts.close()
        raise


def _firsts_beside(table: Path, owner: int) -> _Firsts | None:
    """Return the records of the agent that keeps `table`; None where there are none to be read."""
    with (
        contextlib.suppress(OSError),
        agent_file.opened(spool_of(table), os.O_RDONLY, owner) as fd,
    ):
        return _Firsts(os.dup(fd))
    return None


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
            result = attach(pid, agent_library(), folder, locks=LockOptions(ask_owners=False))
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
                return _table_of(os.dup(fd), path, owner if owner is not None else -1)
    return None
