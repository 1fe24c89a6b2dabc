"""The tables of locks as columns: what the parts of the analysis `locks` share.

Times are ns from the start of the recording. Threads have dense keys: thread.thread_id for those that have one, further
keys for those that have none (by JVM and Thread.getId()): virtual ones, and some that nobody announced; -1 is nobody or unknown.
Objects are rows of the table `blocker`, which has rows that are no object, too: all parks without a blocker, and what is left of
forgotten objects of one class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.activity import wall_ns
from headway.analyses.lock_arrays import numbered_pairs
from headway.analyses.lock_rules import display
from headway.errors import HeadwayError
from headway.model.names import may_have_virtual_threads, name_by_id, virtual_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

KINDS = ("park", "monitor", "wait")
_FLAGS = ("is_timed", "is_open", "is_attached", "is_kernel_waking", "is_pinned")


@dataclass(frozen=True, eq=False)
class Blocks:
    """The blocks that overlap the window, in order of start. `start`, `end` are clipped to it, `began` and `full` are not.

    `is_kernel_waking`: the waker unparked nobody; never so in recordings that do not tell. `is_pinned`: of a virtual thread that
    kept its carrier.
    """

    blocker: Ints
    kind: Ints
    thread: Ints
    start: Ints
    end: Ints
    began: Ints
    full: Ints
    stack: Ints
    waker: Ints
    waker_stack: Ints
    waking: Ints
    owner: Ints
    is_timed: NDArray[np.bool_]
    is_open: NDArray[np.bool_]
    is_attached: NDArray[np.bool_]
    is_kernel_waking: NDArray[np.bool_]
    is_pinned: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.blocker)

    def where(self, keep: Ints | NDArray[np.bool_]) -> Blocks:
        """Return some of them."""
        return Blocks(**{name: getattr(self, name)[keep] for name in self.__dataclass_fields__})


@dataclass(frozen=True, eq=False)
class Holds:
    """The holds that overlap the window, in order of start; `from_owner`: seen at the synchroniser."""

    blocker: Ints
    thread: Ints
    start: Ints
    end: Ints
    from_owner: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Blockers:
    """The objects. `table` has the columns of the table `blocker` (null is -1), in the order of blocker_id."""

    pid: Ints
    kind: Ints
    is_object: NDArray[np.bool_]
    table: Mapping[str, Any]

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.pid)

    def blocker_id(self, row: int) -> int:
        """Return the id of an object."""
        return int(self.table["blocker_id"][row])

    def class_name(self, row: int) -> str:
        """Return the class of an object; '' for parks without one."""
        return str(self.table["class_name"][row])

    def name(self, row: int) -> str:
        """Return what people see: ReentrantLock$NonfairSync@1f2e3d."""
        return display(self.class_name(row), int(self.table["identity_hash"][row]))


@dataclass(frozen=True, eq=False)
class LockData:
    """Everything that `locks` works on."""

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

    @cached_property
    def _stacks(self) -> Mapping[int, tuple[tuple[tuple[str, str, int | None], ...], bool]]:
        """Return the stacks of waits as frames (class, method, line), innermost first, and whether they are cut.

        Samples have stacks in the same table, a hundred times as many: these are left there.
        """
        rows = self.recording.query(
            "SELECT s.stack_id, f.class_name, f.method, f.line, s.is_cut FROM stack s JOIN frame f"
            " ON f.frame_id = s.frame_id WHERE s.stack_id IN (SELECT stack_id FROM block UNION"
            " SELECT waker_stack_id FROM block UNION SELECT first_stack_id FROM blocker) ORDER BY s.stack_id, s.depth"
        ).fetchall()
        found: dict[int, list[tuple[str, str, int | None]]] = {}
        cut: dict[int, bool] = {}
        for stack, class_name, method, line, is_cut in rows:
            found.setdefault(stack, []).append((class_name, method, line))
            cut[stack] = cut.get(stack, False) or bool(is_cut)
        return {stack: (tuple(frames), cut[stack]) for stack, frames in found.items()}

    def frames(self, stack: int) -> tuple[tuple[str, str, int | None], ...]:
        """Return the frames of a stack, innermost first; none for -1 or a stack that is not stored."""
        return self._stacks.get(stack, ((), False))[0]

    def is_cut(self, stack: int) -> bool:
        """Return whether a stack is deeper than what is stored."""
        return self._stacks.get(stack, ((), False))[1]


def load(recording: Recording, window: tuple[int, int] | None) -> LockData:
    """Load what a recording knows of locks, or of a window (from, to) in ns from its start.

    Raises HeadwayError HW430 (recorded without locks), HW401 (window empty or outside) or HW402 (no span).
    """
    length = wall_ns(recording)
    if window is not None and not 0 <= window[0] < window[1] <= length:
        raise HeadwayError(
            "HW401", path=recording.path, start=window[0] / 1e9, end=window[1] / 1e9, length=length / 1e9
        )
    if not has_locks(recording):
        problem = (recording.manifest.extra.get("locks") or {}).get("problem")
        raise HeadwayError("HW430", path=recording.path, reason=f" ({problem})" if problem else "")
    threads = _Threads(recording)
    blocks = _blocks(recording, threads, None if window == (0, length) else window)
    holds = _holds(recording, threads, window)
    return LockData(
        recording,
        window or (0, length),
        window is None or window == (0, length),
        _blockers(recording),
        blocks,
        holds,
        threads.names,
        threads.tids,
        threads.java_ids,
        threads.platform,
    )


def has_locks(recording: Recording) -> bool:
    """Return whether locks were recorded (perhaps nobody waited)."""
    return "blocker" in recording.manifest.tables


class _Threads:
    """Keys for threads: thread_id, or a new one for each thread without one."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        rows = recording.query("SELECT thread_id, name, tid, java_id FROM thread ORDER BY thread_id").fetchall()
        self.platform = max((row[0] for row in rows), default=-1) + 1
        self.names: list[str] = [""] * self.platform
        self.tids: list[int | None] = [None] * self.platform
        self.java_ids: list[int | None] = [None] * self.platform
        for thread, name, tid, java_id in rows:
            self.names[thread], self.tids[thread], self.java_ids[thread] = name, tid, java_id
        self._others: dict[tuple[int, int], int] = {}
        jvms = recording.manifest.jvms
        self._with_virtual = {jvm.get("pid") for jvm in jvms if may_have_virtual_threads(str(jvm.get("version") or ""))}

    @cached_property
    def _seen_virtual(self) -> set[tuple[int, int]]:
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

    def _number(self, pid: int, java_id: int) -> int:
        number = self._others.setdefault((pid, java_id), len(self.names))
        if number == len(self.names):
            is_virtual = pid in self._with_virtual or (pid, java_id) in self._seen_virtual
            self.names.append(virtual_name(java_id) if is_virtual else name_by_id(java_id))
            self.tids.append(None)
            self.java_ids.append(java_id)
        return number


def whole(values: Any) -> Ints:
    """Return a column as int64, -1 for null."""
    filled = values.filled(-1) if isinstance(values, np.ma.MaskedArray) else values
    return np.asarray(filled).astype(np.int64)


_NUMBERS = (
    *("blocker_id", "pid", "identity_hash", "first_stack_id", "first_ns", "last_ns", "died_ns", "times_parked"),
    *("times_measured", "parked_now", "peak_parked", "thread_time_ns", "real_time_ns", "holds", "hold_ns"),
)
_TEXTS = ("kind", "class_name", "first_thread")


def _blockers(recording: Recording) -> Blockers:
    found = recording.query(f"SELECT {', '.join((*_NUMBERS, *_TEXTS))} FROM blocker ORDER BY blocker_id").fetchnumpy()
    table: dict[str, Any] = {name: whole(found[name]) for name in _NUMBERS}
    table |= {name: np.asarray(found[name], dtype=object) for name in _TEXTS}
    kind = np.zeros(len(table["kind"]), dtype=np.int64)
    for number, name in enumerate(KINDS):
        kind[table["kind"] == name] = number
    is_object = (table["identity_hash"] != 0) & (table["class_name"] != "")
    return Blockers(table["pid"], kind, is_object, table)


def _blocks(recording: Recording, threads: _Threads, window: tuple[int, int] | None) -> Blocks:
    origin = recording.window_ns[0]
    condition = ""
    if window is not None:
        low, high = origin + window[0], origin + window[1]
        condition = f"(start_ns + dur_ns > {low} OR start_ns >= {low}) AND start_ns < {high}"
    columns = dict(
        recording.columns(
            "block",
            *("pid", "thread_id", "java_id", "blocker_id", "start_ns", "dur_ns", "stack_id"),
            *("waker_thread_id", "waker_java_id", "waker_stack_id", "waking_ns", "owner_thread_id", "owner_java_id"),
            *_FLAGS,
            where=condition,
        )
    )
    kinds = recording.query(
        "SELECT CASE kind WHEN 'park' THEN 0 WHEN 'monitor' THEN 1 ELSE 2 END AS kind FROM block"
        + (f" WHERE {condition}" if condition else "")
    ).fetchnumpy()["kind"]
    flags = {name: np.asarray(np.ma.filled(columns.pop(name), False)).astype(bool) for name in _FLAGS}
    known = {name: whole(values) for name, values in columns.items()}
    start = known["start_ns"] - origin
    end = start + known["dur_ns"]
    low, high = window if window is not None else (start.min(initial=0), end.max(initial=0))
    blocks = Blocks(
        blocker=_rows_of(recording, known["blocker_id"]),
        kind=whole(kinds),
        thread=threads.keys(known["pid"], known["thread_id"], known["java_id"]),
        start=np.maximum(start, low),
        end=np.minimum(end, high),
        began=start,
        full=end,
        stack=known["stack_id"],
        waker=threads.keys(known["pid"], known["waker_thread_id"], known["waker_java_id"]),
        waker_stack=known["waker_stack_id"],
        waking=np.where(known["waking_ns"] > 0, known["waking_ns"] - origin, -1),
        owner=threads.keys(known["pid"], known["owner_thread_id"], known["owner_java_id"]),
        **flags,
    )
    in_order = bool((np.diff(start) >= 0).all())
    return blocks if in_order else blocks.where(np.argsort(start, kind="stable"))


def _rows_of(recording: Recording, ids: Ints) -> Ints:
    """Return the rows of blockers in the order of their ids; they are dense in a recording, but nobody has to rely on it."""
    found = recording.query("SELECT blocker_id FROM blocker ORDER BY blocker_id").fetchnumpy()["blocker_id"]
    return np.searchsorted(whole(found), ids).astype(np.int64)


def _holds(recording: Recording, threads: _Threads, window: tuple[int, int] | None) -> Holds:
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
    rows = _rows_of(recording, known["blocker_id"])
    return Holds(rows[keep], thread[keep], start[keep], end[keep], from_owner[keep])
