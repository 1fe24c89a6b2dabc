"""Loads the lock tables of a recording as columns, once for all parts of the analyses of waits.

Times are ns from the start of the recording. Threads have dense keys: thread.thread_id for those that have one, further
keys for those that have none (by JVM and Thread.getId()): virtual ones, and some that nobody announced; -1 is nobody or unknown.
Objects are rows of the table `blocker`, which has rows that are no object, too: all parks without a blocker, and what is left of
forgotten objects of one class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import memory
from headway.analyses.common.columns import numbered_pairs
from headway.analyses.common.notices import WAITS_LEFT
from headway.analyses.scheduling.activity import checked_window
from headway.analyses.waits.tables import block_rows
from headway.analyses.waits.tables.block_rows import KINDS, Blocks, whole
from headway.analyses.waits.tables.object_rows import Blockers, read_blockers
from headway.analyses.waits.tables.wait_stacks import WaitStacks
from headway.errors import HeadwayError, Notice
from headway.model.names import may_have_virtual_threads, name_by_id, virtual_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

__all__ = ["KINDS", "Blockers", "Blocks", "Holds", "LockData", "has_all_waits", "has_locks", "load", "whole"]


@dataclass(frozen=True, eq=False)
class Holds:
    """The holds that overlap the window, in order of start; `from_owner`: seen at the synchroniser."""

    blocker: Ints
    thread: Ints
    start: Ints
    end: Ints
    from_owner: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LockData:
    """The loaded lock tables. `not_read`: the number of waits in the window that did not fit in memory, from `until_ns` on."""

    recording: Recording
    window: tuple[int, int]
    is_whole: bool
    blockers: Blockers
    blocks: Blocks
    holds: Holds
    names: list[str]
    tids: list[int | None]
    java_ids: list[int | None]
    platform_threads: int
    not_read: int = 0
    until_ns: int | None = None

    @cached_property
    def stacks(self) -> WaitStacks:
        """Return the stacks of waits."""
        return WaitStacks(self.recording)

    def frames(self, stack: int) -> tuple[tuple[str, str, int | None], ...]:
        """Return the frames of a stack, innermost first; none for -1 or a stack that is not stored."""
        return self.stacks.frames(stack)

    def is_cut(self, stack: int) -> bool:
        """Return whether a stack is deeper than what is stored."""
        return self.stacks.is_cut(stack)


def load(recording: Recording, window: tuple[int, int] | None) -> LockData:
    """Load a recording's lock data, or that of a window (from, to) in ns from its start.

    Raises HeadwayError HW430 (recorded without locks), HW401 (window empty or outside) or HW402 (no span).
    """
    checked_window(recording, window)
    window = None if window == (0, recording.wall_ns) else window
    if not has_locks(recording):
        problem = (recording.manifest.extra.get("locks") or {}).get("problem")
        raise HeadwayError("HW430", path=recording.path, reason=f" ({problem})" if problem else "")
    kept = recording.kept.get(_Loaded)
    loaded = kept if isinstance(kept, _Loaded) and kept.window == window else _load(recording, window)
    recording.kept[_Loaded] = loaded
    return loaded.data


@dataclass(frozen=True, eq=False)
class _Loaded:
    """What was loaded last of a recording: several analyses in a row ask for the same."""

    window: tuple[int, int] | None
    data: LockData


def _load(recording: Recording, window: tuple[int, int] | None) -> _Loaded:
    threads = _Threads(recording)
    length = recording.wall_ns
    is_part = window is None and _is_part(recording) and has_all_waits(recording) and _fits(recording)
    blockers = read_blockers(recording)
    part = (0, length) if is_part else window
    found = block_rows.read(recording, threads, blockers.rows_of, part)
    blocks = found.blocks
    if is_part:  # who waited already waits from there on (HW434)
        blocks = replace(blocks, began=np.maximum(blocks.began, 0))
    recording.kept.pop(WAITS_LEFT, None)
    if found.until_ns is not None:
        note_left(recording, len(found.blocks), found.rows, found.until_ns)
    holds = _holds(recording, threads, blockers, window)
    data = LockData(
        recording,
        window or (0, length),
        window is None and not is_part,
        blockers,
        blocks,
        holds,
        threads.names,
        threads.tids,
        threads.java_ids,
        threads.platform,
        found.rows - len(found.blocks),
        found.until_ns,
    )
    return _Loaded(window, data)


def note_left(recording: Recording, read: int, waits: int, until_ns: int) -> None:
    """Add to every later result the notice that waits from `until_ns` on are missing."""
    recording.kept[WAITS_LEFT] = Notice.of(
        "HW435",
        read=read,
        waits=waits,
        until=f"{until_ns / 1e9:.3f}s",
        needed=memory.text(memory.needed(recording, waits)),
        limit=memory.text(memory.limit()),
    )


def has_locks(recording: Recording) -> bool:
    """Return whether locks were recorded (perhaps nobody waited)."""
    return "blocker" in recording.manifest.tables


def has_all_waits(recording: Recording) -> bool:
    """Return whether each wait that the agents saw in the recording is stored by itself: none was only counted."""
    facts = recording.manifest.extra.get("locks") or {}
    return not any(facts.get(name) for name in _FEWER)


def _fits(recording: Recording) -> bool:
    """Return whether memory is for all waits."""
    info = recording.manifest.tables.get("block")
    return info is None or info.rows <= memory.most_waits(recording)


def _is_part(recording: Recording) -> bool:
    """Return whether a recording is a part of a run: the agents' sums begin before and end after it then."""
    manifest = recording.manifest
    return manifest.attached or manifest.ended_by not in (None, "exit")


class _Threads:
    """Keys for threads: thread_id, or a new one for each thread without one."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        rows = recording.query("SELECT thread_id, name, tid, java_id FROM thread ORDER BY thread_id").fetchall()
        largest = max(*(row[0] for row in rows), *_largest_ids(recording), -1, -1)
        self.platform = recording.places_of_threads(len(rows), largest)
        self.names = [f"thread {thread} (not on record)" for thread in range(self.platform)]
        self.tids: list[int | None] = [None] * self.platform
        self.java_ids: list[int | None] = [None] * self.platform
        for thread, name, tid, java_id in rows:
            self.names[thread], self.tids[thread], self.java_ids[thread] = name, tid, java_id
        self._others: dict[tuple[int, int], int] = {}
        jvms = recording.manifest.jvms
        self._with_virtual = {jvm.get("pid") for jvm in jvms if may_have_virtual_threads(str(jvm.get("version") or ""))}

    @cached_property
    def _blocked_virtual(self) -> set[tuple[int, int]]:
        """Return (pid, java_id) of the virtual threads that blocked: they are such whatever is known of their JVM."""
        return set(self._recording.query("SELECT DISTINCT pid, java_id FROM block WHERE is_virtual").fetchall())

    def keys(self, pid: Ints, thread_id: Ints, java_id: Ints) -> Ints:
        """Return the keys of threads given by their columns; -1 in both: nobody."""
        keys = thread_id.copy()
        others = np.flatnonzero((thread_id < 0) & (java_id > 0))
        if len(others):
            pids, ids, inverse = numbered_pairs(pid[others], java_id[others])
            pairs = zip(pids.tolist(), ids.tolist(), strict=True)
            keys[others] = np.array([self._number(*pair) for pair in pairs], dtype=np.int64)[inverse]
        return keys

    def number_all(self, rows: list[tuple[int, int]]) -> None:
        """Give numbers to threads without a thread_id, in this order: (pid, java_id) of each."""
        for pid, java_id in rows:
            self._number(pid, java_id)

    def _number(self, pid: int, java_id: int) -> int:
        number = self._others.setdefault((pid, java_id), len(self.names))
        if number == len(self.names):
            is_virtual = pid in self._with_virtual or (pid, java_id) in self._blocked_virtual
            self.names.append(virtual_name(java_id) if is_virtual else name_by_id(java_id))
            self.tids.append(None)
            self.java_ids.append(java_id)
        return number


def _largest_ids(recording: Recording) -> list[int]:
    """Return the largest thread_id of each table of locks: a damaged table of threads may lack some that they name."""
    columns = (
        ("block", "thread_id"),
        ("block", "waker_thread_id"),
        ("block", "owner_thread_id"),
        ("hold", "thread_id"),
    )
    found = [recording.query(f"SELECT max({column}) FROM {table}").fetchone() for table, column in columns]
    return [row[0] for row in found if row is not None and row[0] is not None]


_FEWER = ("capped_ns", "dropped", "forgotten", "below_threshold", "threshold", "problem")
"""The manifest's facts of locks that say: some waits are in no row of `block`."""


def _holds(recording: Recording, threads: _Threads, blockers: Blockers, window: tuple[int, int] | None) -> Holds:
    origin = recording.window_ns[0]
    found = recording.query(
        "SELECT h.blocker_id, b.pid, h.thread_id, h.java_id, h.start_ns, h.dur_ns, h.source = 'owner' AS from_owner"
        " FROM hold h JOIN blocker b ON b.blocker_id = h.blocker_id ORDER BY h.start_ns"
    ).fetchnumpy()
    from_owner = np.asarray(found.pop("from_owner")).astype(bool)
    known = {name: whole(values) for name, values in found.items()}
    start = known["start_ns"] - origin
    end = start + known["dur_ns"]
    keep = np.ones(len(start), dtype=bool) if window is None else (end > window[0]) & (start < window[1])
    thread = threads.keys(known["pid"], known["thread_id"], known["java_id"])
    rows = blockers.rows_of(known["blocker_id"])
    return Holds(rows[keep], thread[keep], start[keep], end[keep], from_owner[keep])
