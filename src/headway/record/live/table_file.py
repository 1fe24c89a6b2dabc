"""An agent's live table of locks as a file: slots that are written to while they are read, and the records that name them.

The agent keeps exact sums per blocker in `locks-<pid>.table` (native/wire/records.h). Names and stacks of first events come from
the records of `agent-<pid>.spool` beside it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import stat
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.model.kinds import BLOCKER_KINDS
from headway.model.live_lock import LiveFrame, LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.model.names import may_have_virtual_threads, text, virtual_name
from headway.model.wire import (
    HW_HEADER_BYTES,
    HW_LOCK_CLASS_BYTES,
    HW_LOCK_CLASSES,
    HW_LOCK_HEADER,
    HW_LOCK_HEADER_BYTES,
    HW_LOCK_MAGIC,
    HW_LOCK_SLOT,
    HW_LOCK_SLOT_BYTES,
    HW_LOCK_VERSION,
)
from headway.record.agent.fetching import spool_of
from headway.record.live.copies import Copies, not_read
from headway.record.target_process import agent_file
from headway.store.files import open_named
from headway.store.shared_texts import shortened

if TYPE_CHECKING:
    import numpy as np

_FIRST_SLOT = HW_HEADER_BYTES + HW_LOCK_CLASSES * HW_LOCK_CLASS_BYTES
_NUMBERS = {"<u4": "<I", "<u8": "<Q", "<i8": "<q"}
"""Formats of a header's numbers, as struct calls them."""
_NAMES = list(HW_LOCK_SLOT)
_KIND = _NAMES.index("kind")
_FIRST = tuple(map(_NAMES.index, ("blocker_id", "first_java_id", "first_stack_id")))
_MOST_SLOTS = 1 << 18  # native/agent/locks/lock_table.h: no agent's table has more
_MOST_TORN = 256
"""So many slots are read again in one look: each thread writes one at a time, and a table that means harm has only such."""


class TableFile:
    """An open table. The file may grow, and be written to, while it is read; it stays readable when its JVM has ended."""

    def __init__(self, fd: int, name: str, records: FirstEvents | None = None, copies: Copies | None = None) -> None:
        """Take over the descriptor, and the records beside it. Raises HeadwayError HW065 when it is no table of ours.

        `name`: what messages call it. `copies`: brings it up to date, where it is a copy.
        """
        self._fd = fd
        self._copies = copies
        self._name = name
        self._records = records
        with self._named():
            self._header()

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._fd)
        if self._records is not None:
            self._records.close()
        if self._copies is not None:
            self._copies.close()

    def read(self) -> LiveTable:
        """Return what the table holds now. Raises HeadwayError HW065 when it is no table (any more), Interrupted."""
        if self._copies is not None:
            self._copies.refresh()
        with self._named():
            return self._read()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Turn errors of reading into a message."""
        try:
            yield
        except OSError as error:
            raise not_read(self._name, error) from error

    def _read(self) -> LiveTable:
        header = self._header()
        pid, created, slots = header["pid"], header["created_ns"], header["slots"]
        dropped, below, capped = header["dropped"], header["below_threshold"], header["capped_ns"]
        names = self._class_names(header["classes"])
        rows, torn, there = self._slots(slots, header["slot_bytes"])
        now_ns = time.monotonic_ns()
        used = [pair for pair in zip(rows.tolist(), torn.tolist(), strict=True) if pair[0][_KIND] in BLOCKER_KINDS]
        if self._records is not None:
            self._records.read_for((tuple(row[at] for at in _FIRST) for row, _ in used), pid)
        live = tuple(_row(row, names, now_ns, is_torn, self._records) for row, is_torn in used)
        return LiveTable(pid, created, now_ns, live, dropped, below, capped, slots - there)

    def _header(self) -> dict[str, int]:
        raw = os.pread(self._fd, HW_LOCK_HEADER_BYTES, 0)
        if len(raw) < HW_LOCK_HEADER_BYTES:
            raise HeadwayError("HW065", path=self._name, reason="it is cut off")
        if not raw.startswith(HW_LOCK_MAGIC):
            raise HeadwayError("HW065", path=self._name, reason="it does not begin as one")
        fields = ((name, field) for name, field in HW_LOCK_HEADER.items() if field.form in _NUMBERS)
        header = {name: struct.unpack_from(_NUMBERS[field.form], raw, field.offset)[0] for name, field in fields}
        if header["version"] != HW_LOCK_VERSION:
            reason = f"version {header['version']}, this headway reads {HW_LOCK_VERSION}"
            raise HeadwayError("HW065", path=self._name, reason=reason)
        sizes = header["slot_bytes"], header["slots"], header["classes"]
        if sizes[0] != HW_LOCK_SLOT_BYTES or sizes[1] > _MOST_SLOTS or sizes[2] > HW_LOCK_CLASSES:
            raise HeadwayError("HW065", path=self._name, reason="its sizes make no sense")
        return header

    def _class_names(self, count: int) -> list[str]:
        raw = os.pread(self._fd, count * HW_LOCK_CLASS_BYTES, HW_HEADER_BYTES)
        parts = (raw[i : i + HW_LOCK_CLASS_BYTES] for i in range(0, len(raw), HW_LOCK_CLASS_BYTES))
        return [part.split(b"\0", 1)[0].decode(errors="backslashreplace") for part in parts]

    def _slots(self, slots: int, slot_bytes: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
        """Return the slots, which of them were being written all the time, and how many the file has.

        A slot is whole if its sequence was even and the same before and after its bytes were read. Python's memory model
        gives no order inside one read, hence three reads; those that change all the time are read again by themselves.
        """
        import numpy as np

        kind = np.dtype(
            {
                "names": _NAMES,
                "formats": [field.form for field in HW_LOCK_SLOT.values()],
                "offsets": [field.offset for field in HW_LOCK_SLOT.values()],
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
        for slot in np.flatnonzero(torn)[:_MOST_TORN].tolist():
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
_MOST_SPELLED_BYTES = 256 << 20
"""So much do the names of threads and stacks take where each row of one look spells out its own, as JSON does. What is beyond has
none: a file of a megabyte could name terabytes."""
_LONGEST_NAME_BYTES = 256
"""So much is read of a name; native/decode/lock_records/live_records.cpp marks a longer one as cut off."""
_MOST_FRAMES = 1 << 17
"""So many different ones are kept, each once; a stack of others counts as not taken."""
_MOST_TEXT_BYTES = 32 << 20
"""So much text do their names have, each kept once."""
_MOST_KEPT = 1 << 22
"""So many frames have the stacks in all that are kept for later looks; others are spelled out anew in each."""
_Spelled = tuple[tuple[LiveFrame, ...], int]
"""The frames of a stack, and how many bytes a row takes that spells them out."""


class FirstEvents:
    """The first events of the rows, out of the agent's records.

    Threads write them side by side: a record may come to stand in front of what has been read, and a stack before the names
    of its methods. Some never come: lost ones, those of blockers when the file is nearly full.
    """

    def __init__(self, fd: int, refresh: Callable[[], None] | None = None) -> None:
        """Take over the descriptor. `refresh`: brings the records up to date, where they are a copy."""
        from headway import _native

        self._fd = fd
        self._refresh = refresh
        self._records: Any = _native.LiveRecords()
        self._frames: dict[int, _Spelled] = {0: ((), 0)}
        self._incomplete: dict[int, _Spelled] = {}
        self._each_frame: dict[LiveFrame, tuple[LiveFrame, int]] = {}
        self._texts: dict[bytes, str] = {}
        self._text_bytes = 0
        self._kept = 0
        self._left_bytes = _MOST_SPELLED_BYTES
        self._known: set[tuple[int, ...]] = set()
        self._reads: Counter[tuple[tuple[int, ...], bool]] = Counter()

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._fd)

    def read_for(self, rows: Iterable[tuple[int, ...]], pid: int) -> None:
        """Begin a look: read on, if it takes that to know the first events of these rows (blocker, Java id, stack)."""
        self._kept -= sum(len(frames) for frames, _ in self._incomplete.values())
        self._incomplete, self._left_bytes = {}, _MOST_SPELLED_BYTES
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
            if self._refresh is not None:
                self._refresh()
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
            if self._left_bytes < 0:
                return None
            found = _shown(name)
            return found if self._has_room(_spelled_bytes(found)) else None
        is_virtual = self._reads[row, True] > 0 and may_have_virtual_threads(text(self._records.java_version()))
        return virtual_name(java_id) if is_virtual else None

    def frames(self, stack: int) -> tuple[LiveFrame, ...]:
        """Return the frames, innermost first; methods whose names have not been read are unknown."""
        if self._left_bytes < 0:
            return ()
        frames, size = self._frames.get(stack) or self._incomplete.get(stack) or self._spelled(stack)
        return frames if self._has_room(size) else ()

    def _spelled(self, stack: int) -> _Spelled:
        """Return the frames of a stack, and how many bytes a row takes that spells them out; none where too much is kept."""
        found: list[tuple[LiveFrame, int]] = []
        for each in self._records.frames(stack):
            frame = self._frame(*each)
            if frame is None:
                found.clear()
                break
            found.append(frame)
        spelled = tuple(frame for frame, _ in found), sum(size for _, size in found)
        if self._kept + len(found) <= _MOST_KEPT:
            self._kept += len(found)
            known = self._frames if self._records.knows_stack(stack) else self._incomplete
            known[stack] = spelled
        return spelled

    def _frame(self, name: bytes, method: bytes, line: int) -> tuple[LiveFrame, int] | None:
        """Return a frame as text, the same object each time, as stacks share most of theirs, and its size; None: no room."""
        frame = self._text(name), self._text(method), line if line >= 0 else None
        known = self._each_frame.get(frame)
        if known is None and len(self._each_frame) < _MOST_FRAMES and self._text_bytes <= _MOST_TEXT_BYTES:
            known = self._each_frame[frame] = frame, _spelled_bytes(f"{frame[0]}.{frame[1]}:{line}")
        return known

    def _text(self, name: bytes) -> str:
        """Return a name as it is shown, the same object each time while there is room for it."""
        found = self._texts.get(name)
        if found is None:
            found = _shown(name)
            self._text_bytes += len(name) + len(found)
            if self._text_bytes <= _MOST_TEXT_BYTES:
                self._texts[name] = found
        return found

    def _has_room(self, size: int) -> bool:
        self._left_bytes -= size
        return self._left_bytes >= 0


def _shown(name: bytes) -> str:
    return shortened(text(name), _LONGEST_NAME_BYTES)


def _spelled_bytes(name: str) -> int:
    return len(json.dumps(name)) + 2


def _row(row: tuple[Any, ...], names: list[str], now_ns: int, is_torn: bool, firsts: FirstEvents | None) -> LiveLock:
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
        kind=BLOCKER_KINDS[int(slot["kind"])],
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
        fd = open_named(path)
    except OSError as error:
        raise HeadwayError("HW065", path=path, reason=error.strerror or str(error)) from error
    return table_of_descriptor(fd, str(path), lambda: _firsts_beside(path))


def table_of_descriptor(fd: int, name: str, firsts_of: Callable[[], FirstEvents | None]) -> TableFile:
    """Return the table of an open file, which is taken over, with the records that `firsts_of` gives.

    Raises HeadwayError HW065.
    """
    firsts = None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise HeadwayError("HW065", path=name, reason="it is no ordinary file")
        firsts = firsts_of()
        return TableFile(fd, name, firsts)
    except BaseException:
        os.close(fd)
        if firsts is not None:
            firsts.close()
        raise


def table_of_copies(name: str, copies: Copies) -> TableFile:
    """Return the table of what copies are made of, which are taken over. Raises HeadwayError HW065."""
    firsts = FirstEvents(copies.records_fd, copies.refresh_records)
    try:
        return TableFile(copies.table_fd, name, firsts, copies)
    except BaseException:
        os.close(copies.table_fd)
        firsts.close()
        copies.close()
        raise


def _firsts_beside(table: Path) -> FirstEvents | None:
    """Return the records of the agent that keeps `table`; None where there are none to be read."""
    with contextlib.suppress(OSError), agent_file.opened(spool_of(table), os.O_RDONLY, os.geteuid()) as fd:
        return FirstEvents(os.dup(fd))
    return None
