"""Walks the critical path backwards from the program's end over scheduling slices and waits, and yields its pieces.

Slices are read from the last row group to the first and handed to the native walk (native/critical_path/critical_path.h),
which gives back the pieces of the path in the same order. Nothing is held but a row group, and the waits for locks
in a few columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.critical_path.stopped import stops
from headway.analyses.critical_path.timed_senders import TIMED
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.rules import CONDITION, CONTENTION, IO, RESULT, RULES, TIMER, WORK
from headway.analyses.waits.tables import blocks as lock_data
from headway.analyses.waits.threads.process_exit import NEVER, exit_ns, exits
from headway.model.kinds import Kind
from headway.store.damage import damaged
from headway.store.packing import WAKER_IRQ

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Columns = dict[str, NDArray[Any]]

RUNNING, RUNNABLE, INTERRUPTED, BLOCKED, OUTSIDE, CUT, STARTING, NO_RECORD = range(8)
"""OnPath of native/critical_path/critical_path.h."""

_DYING_NS = 100_000_000
"""Threads of a process that is killed die within this time of each other."""

WHEN_WOKEN = -2
"""PathWaits::kWhenWoken."""

_ROLES: dict[str, int] = {Kind.VM: 1, Kind.APP: 2, Kind.CARRIER: 2}
"""PathRole of native/critical_path/critical_path.h."""

_CLASSES = {
    CONTENTION: "lock",
    CONDITION: "condition",
    RESULT: "join",
    WORK: "queue",
    TIMER: "sleep",
    IO: "io",
}


@dataclass(frozen=True, eq=False)
class PathWaits:
    """Platform threads' waits ordered by (thread, start), CLOCK_MONOTONIC ns; `first[t]` is the first row of thread t.

    `state` is the class of waiting as a state of the path; `blocker` a row of `locks`.blockers, None without locks.
    """

    first: Ints
    start: Ints
    end: Ints
    waker: Ints
    waking: Ints
    blocker: Ints
    stack: Ints
    state: list[str]
    state_of: Ints
    waiting_of: Ints
    locks: LockData | None


def no_waits(threads: int) -> PathWaits:
    """Return waits of no thread: the walk then follows wake-ups of the kernel alone."""
    none = np.zeros(0, np.int64)
    return PathWaits(np.zeros(threads + 1, np.int64), *(none,) * 6, [], none, none, None)


def load_waits(recording: Recording, threads: int) -> PathWaits:
    """Load the waits that agents recorded; none when locks were not recorded."""
    if not lock_data.has_locks(recording):
        return no_waits(threads)
    data = lock_data.load(recording, None)
    sites, blocks = sites_of(data), data.blocks
    keep = np.flatnonzero((blocks.thread >= 0) & (blocks.thread < threads) & (blocks.full > blocks.began))
    keep = keep[np.lexsort((blocks.began[keep], blocks.thread[keep]))]
    origin = recording.window_ns[0]
    waker = blocks.waker[keep]
    waking = np.where(blocks.waking[keep] >= 0, blocks.waking[keep] + origin, WHEN_WOKEN)
    # Nobody saw who released a lock, but who held it when the wait began.
    is_lock = np.array([rule.waiting == CONTENTION for rule in RULES])[sites.rule[keep]]
    owned = (waker < 0) & is_lock
    waker, waking = np.where(owned, blocks.owner[keep], waker), np.where(owned, WHEN_WOKEN, waking)
    names = list(_CLASSES.values())
    state = np.array([names.index(_state(rule.id, rule.waiting)) for rule in RULES])
    return PathWaits(
        first=np.searchsorted(blocks.thread[keep], np.arange(threads + 1)).astype(np.int64),
        start=blocks.began[keep] + origin,
        end=blocks.full[keep] + origin,
        waker=np.where(waker < threads, waker, -1),
        waking=waking,
        blocker=blocks.blocker[keep],
        stack=sites.stack[keep],
        state=names,
        state_of=state[sites.rule[keep]],
        waiting_of=sites.rule[keep],
        locks=data,
    )


def _state(rule: str, waiting: str) -> str:
    return "queue" if rule.startswith("queue") else _CLASSES[waiting]


# --- the pieces --------------------------------------------------------------------------------------------------------

_STORED = (
    *("tick_ns", "end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks", "stolen_ticks"),
    *("thread_id", "waker_id", "flags"),
)


class Walk:
    """Iterator over a path's pieces in batches, last piece first; `followed` is known when it has ended."""

    def __init__(
        self, recording: Recording, threads: PathThreadTable, waits: PathWaits, thread: int, span: tuple[int, int]
    ) -> None:
        """Prepare the walk from the end of `span` (CLOCK_MONOTONIC ns), where the path is on `thread`."""
        from headway import _native

        self._recording = recording
        self._exit_ns = exit_ns(recording)
        self._ended_by = _ended_by(recording, threads)
        self._pid = threads.pid
        stopped = stops(recording, threads)
        self._handlers = [each for each in stopped if each.handler is not None]
        self._timers = [(each, int(threads.birth_ns[each.active])) for each in stopped if each.timer is not None]
        parent = threads.parent.copy()
        for each in self._handlers:  # nobody waited for the signal itself
            parent[each.handler] = each.active
        self._path = _native.CriticalPath(
            birth_ns=threads.birth_ns,
            parent=parent.astype(np.int32),
            is_sampler=np.array([kind == Kind.HEADWAY for kind in threads.kinds], np.uint8),
            role=np.array([_ROLES.get(kind, 0) for kind in threads.kinds], np.uint8),
            first=waits.first,
            start_ns=waits.start,
            end_ns=waits.end,
            waker=waits.waker.astype(np.int32),
            waking_ns=waits.waking,
            thread=thread,
            from_ns=span[0],
            to_ns=span[1],
        )

    @property
    def followed(self) -> int:
        """Return how many times the path went from a thread to its waker."""
        return int(self._path.followed)

    def pieces(self) -> Iterator[Columns]:
        """Yield columns of pieces: thread, start_ns, end_ns, stolen_ns, state, blocked, wait, waiter, waiter_wait.

        Raises HeadwayError HW303 when the slices are not in the order they are stored in.
        """
        for batch in self._recording.stored_backwards("slice"):
            if self._path.is_done:
                break
            columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in _STORED}
            columns["waker_id"] = self._wakers(columns)
            has_call = "blocked_in" in batch.schema.names
            call = batch.column("blocked_in").to_numpy(zero_copy_only=False) if has_call else np.zeros(0, np.uint8)
            self._let_jvms_run(columns, call)
            try:
                self._path.batch(**columns, blocked_in=call)
            except ValueError as error:
                path = self._recording.path / "slice.parquet"
                raise damaged(path, str(error), self._recording.path) from error
            yield self._path.take()
        self._path.finish()
        yield self._path.take()

    def _let_jvms_run(self, columns: Columns, call: NDArray[np.uint8]) -> None:
        """Treat a timer that ends a JVM as if it had waited for the JVM's work until then, so that the path goes on there."""
        for each, born_ns in self._timers if len(call) else ():
            rows = np.flatnonzero((columns["thread_id"] == each.timer) & ((columns["flags"] & WAKER_IRQ) > 0))
            woken_ns = _woken_ns(columns)[rows]
            rows = rows[np.isin(call[rows], TIMED) & (woken_ns > born_ns) & (woken_ns <= each.start_ns)]
            if len(rows):
                columns["waker_id"] = np.array(columns["waker_id"])
                columns["flags"] = np.array(columns["flags"])
                columns["waker_id"][rows] = each.active
                columns["flags"][rows] &= ~np.array(WAKER_IRQ, columns["flags"].dtype)

    def _wakers(self, columns: Columns) -> NDArray[np.int32]:
        """Return who ended waits. Nobody waited for the thread that ended the process, which wakes all others to die."""
        wakers = self._of_ended(columns["waker_id"], columns["thread_id"])
        for each in self._handlers:
            is_sent = (columns["thread_id"] == each.handler) & (wakers == each.sender)
            wakers = np.where(is_sent, np.int32(each.active), wakers)
        if not len(wakers) or int(columns["end_ticks"][-1] * columns["tick_ns"][-1]) < self._exit_ns.min(initial=NEVER):
            return wakers
        woken_ns = _woken_ns(columns)
        thread = columns["thread_id"]
        is_known = (thread >= 0) & (thread < len(self._exit_ns))
        is_killed = is_known & (woken_ns >= self._exit_ns[np.where(is_known, thread, 0)])
        return np.where(is_killed, np.int32(-1), wakers)

    def _of_ended(self, wakers: NDArray[np.int32], woken: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return who ended waits for the end of a process: the thread that ended it, not the one that died last."""
        size = len(self._ended_by)
        is_known = (wakers >= 0) & (wakers < size) & (woken >= 0) & (woken < size)
        waker, thread = np.where(is_known, wakers, 0), np.where(is_known, woken, 0)
        is_another = is_known & (self._pid[waker] != self._pid[thread])
        return np.where(is_another & (self._ended_by[waker] >= 0), self._ended_by[waker], wakers).astype(np.int32)


def _woken_ns(columns: Columns) -> Ints:
    """Return when the wait before each slice ended."""
    after = columns["running_ticks"] + np.maximum(columns["runnable_ticks"], 0)
    woken_ns: Ints = (columns["end_ticks"] - after) * columns["tick_ns"]
    return woken_ns


def _ended_by(recording: Recording, threads: PathThreadTable) -> Ints:
    """Return for each thread that died with its process who ended that; -1 for others.

    A JVM's end is known by its last wakings. In another process, the first thread's end is the process's: others that die
    within a moment of it were killed by that.
    """
    found = np.full(len(threads), -1)
    exit_of = {each.pid: each for each in exits(recording)}
    stop_of = {each.pid: each for each in stops(recording, threads)}
    for pid, of_process in threads.by_process.items():
        first = of_process[threads.tid[of_process] == pid]
        if not len(first):
            continue
        ender, since = int(first[-1]), int(threads.end_ns[first[-1]]) - _DYING_NS
        if pid in exit_of and exit_of[pid].waker in of_process:
            ender, since = exit_of[pid].waker, exit_of[pid].start_ns
        elif pid in stop_of:
            ender, since = stop_of[pid].active, stop_of[pid].start_ns
        dying = of_process[
            (threads.end_ns[of_process] >= since) & (threads.end_ns[of_process] < NEVER) & (of_process != ender)
        ]
        found[dying] = ender
    return found
