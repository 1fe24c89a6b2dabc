"""The walk behind `critical_path`: where it ends, what it knows of threads and waits, and the pieces that it finds.

Slices are read from the last row group to the first and handed to the native walk (native/account/critical_path.h), which gives
back the pieces of the path in the same order. Nothing is held but a row group, and the waits for locks in a few columns.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses import lock_data
from headway.analyses.lock_rules import CONDITION, CONTENTION, RESULT, RULES, TIMER, WORK
from headway.analyses.lock_sites import sites_of
from headway.analyses.why_exits import NEVER, exit_ns
from headway.errors import HeadwayError
from headway.model.kinds import Kind
from headway.model.names import is_main_thread
from headway.store.manifest import damaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Columns = dict[str, NDArray[Any]]

RUNNING, RUNNABLE, INTERRUPTED, BLOCKED, OUTSIDE, CUT, STARTING, NO_RECORD = range(8)
"""OnPath of native/account/critical_path.h."""

WHEN_WOKEN = -2
"""PathWaits::kWhenWoken."""

_CLASSES = {CONTENTION: "lock", CONDITION: "condition", RESULT: "join", WORK: "queue", TIMER: "sleep"}


@dataclass(frozen=True, eq=False)
class Threads:
    """The threads by thread_id. Times are CLOCK_MONOTONIC ns."""

    pid: Ints
    tid: Ints
    birth_ns: Ints
    end_ns: Ints
    parent: Ints
    names: list[str]
    kinds: list[str]

    def __len__(self) -> int:
        """Return how many ids there are."""
        return len(self.pid)


@dataclass(frozen=True, eq=False)
class Waits:
    """The waits of platform threads, in order of (thread, start): `first` says where each thread's begin. Times as in Threads.

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


@dataclass(frozen=True, slots=True)
class End:
    """The thread that a path ends in, and why it was chosen."""

    thread: int
    chosen: str


def load_threads(recording: Recording) -> Threads:
    """Load the threads and who made each."""
    rows = recording.query(
        "SELECT thread_id, pid, tid, start_ns, end_ns, name, kind, parent_tid FROM thread ORDER BY thread_id"
    ).fetchall()
    size = max((row[0] for row in rows), default=-1) + 1
    pid, tid, birth = (np.zeros(size, np.int64) for _ in range(3))
    end = np.full(size, np.iinfo(np.int64).max)
    parent = np.full(size, -1)
    names, kinds = [""] * size, ["app"] * size
    lives: dict[int, list[tuple[int, int]]] = {}
    for thread, its_pid, its_tid, start, ended, name, kind, _ in rows:
        pid[thread], tid[thread], birth[thread], names[thread], kinds[thread] = its_pid, its_tid, start, name, kind
        end[thread] = ended if ended is not None else end[thread]
        lives.setdefault(its_tid, []).append((start, thread))
    for each in lives.values():
        each.sort()
    for thread, *_, parent_tid in rows:
        each = lives.get(parent_tid, [])
        at = bisect_right(each, (int(birth[thread]), -1)) - 1  # who had that tid when it was born
        if at >= 0:
            parent[thread] = each[at][1]
    return Threads(pid, tid, birth, end, parent, names, kinds)


def load_waits(recording: Recording, threads: int) -> Waits:
    """Load what the JVM said of its threads' waits; nothing when locks were not recorded."""
    if not lock_data.has_locks(recording):
        none = np.zeros(0, np.int64)
        return Waits(np.zeros(threads + 1, np.int64), *(none,) * 6, [], none, none, None)
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
    return Waits(
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


# --- where the path ends -----------------------------------------------------------------------------------------------


def choose_end(recording: Recording, threads: Threads, span: tuple[int, int], pattern: re.Pattern[str] | None) -> End:
    """Choose the thread whose last moment the path explains; `span` in CLOCK_MONOTONIC ns.

    Of threads that the pattern is found in, or of the program's: the one that was active last. Where the program itself ended
    with the span, that is its first thread, whose end the kernel takes for the program's; but a JVM's first thread only waits for
    the main thread, so that is taken where the kernel did not tell who woke whom.

    Raises HeadwayError HW495 when the pattern is found in no thread's name.
    """
    if pattern is not None:
        chosen = [i for i, name in enumerate(threads.names) if pattern.search(name)]
        if not chosen:
            names = [name for name, kind in zip(threads.names, threads.kinds, strict=True) if kind == "app"]
            examples = ", ".join(list(dict.fromkeys(names))[:3]) or "none"
            raise HeadwayError("HW495", path=recording.path, pattern=pattern.pattern, examples=examples)
        which = "it" if len(chosen) == 1 else f"of {len(chosen)} threads so called, the one active last"
        return End(last_active(recording, chosen, span) or chosen[0], f"--thread {pattern.pattern}: {which}")
    root = _root(recording, threads)
    main = _java_main(recording) if recording.mode != "ebpf" else None
    if main is not None:
        return End(main, "Java's main thread")
    if root is not None and recording.manifest.ended_by == "exit" and span[1] >= recording.window_ns[1]:
        return End(root, "the program's first thread: its end is the program's")
    program = [i for i, kind in enumerate(threads.kinds) if kind in ("app", "carrier")]
    last = last_active(recording, program, span)
    if last is not None:
        return End(last, "the application thread that was active last")
    return End(root if root is not None else 0, "no application thread was active")


def _root(recording: Recording, threads: Threads) -> int | None:
    pid = recording.manifest.pid
    found = np.flatnonzero((threads.tid == pid) & (threads.pid == pid)) if pid is not None else np.zeros(0, np.int64)
    return int(found[np.argmin(threads.birth_ns[found])]) if len(found) else None


def _java_main(recording: Recording) -> int | None:
    """Return the main thread of the JVM that is the program itself."""
    pid = recording.manifest.pid
    if pid is None:
        return None
    rows = recording.query(
        "SELECT thread_id, java_id, name FROM thread WHERE pid = ? ORDER BY start_ns", [pid]
    ).fetchall()
    return next((int(thread) for thread, java_id, name in rows if is_main_thread(java_id, name)), None)


def last_active(recording: Recording, chosen: list[int], span: tuple[int, int]) -> int | None:
    """Return who of some threads ran or was runnable last in a span; of several at its end, who ran longest."""
    begin, end = span
    woken = "start_ns - COALESCE(runnable_ns, 0)"
    active = (
        f"SELECT thread_id, MAX(LEAST(start_ns + running_ns, {end})) AS last, SUM(running_ns) AS running FROM slice"
        f" WHERE {woken} < {end} AND start_ns + running_ns > {begin} AND start_ns + running_ns > {woken} GROUP BY thread_id"
    )
    rows = recording.query(f"{active} ORDER BY last DESC, running DESC, thread_id").fetchall()
    wanted = set(chosen)
    return next((row[0] for row in rows if row[0] in wanted), None)


# --- the pieces --------------------------------------------------------------------------------------------------------

_STORED = (
    *("tick_ns", "end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks", "stolen_ticks"),
    *("thread_id", "waker_id", "flags"),
)


class Walk:
    """The pieces of a path, batch by batch, each from its last piece to its first; then `followed` is known."""

    def __init__(
        self, recording: Recording, threads: Threads, waits: Waits, thread: int, span: tuple[int, int]
    ) -> None:
        """Prepare the walk from the end of `span` (CLOCK_MONOTONIC ns), where the path is on `thread`."""
        from headway import _native  # type: ignore[attr-defined]

        self._recording = recording
        self._exit_ns = exit_ns(recording)
        self._path = _native.CriticalPath(
            birth_ns=threads.birth_ns,
            parent=threads.parent.astype(np.int32),
            is_sampler=np.array([kind == Kind.HEADWAY for kind in threads.kinds], np.uint8),
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
        """Return how often the path went from a thread to the one that woke it."""
        return int(self._path.followed)

    def pieces(self) -> Iterator[Columns]:
        """Yield the path as columns: thread, start_ns, end_ns, stolen_ns, state, blocked, wait, waiter, waiter_wait.

        Raises HeadwayError HW303 when the slices are not in the order they are stored in.
        """
        for batch in self._recording.stored_backwards("slice"):
            if self._path.is_done:
                break
            columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in _STORED}
            columns["waker_id"] = self._wakers(columns)
            has_call = "blocked_in" in batch.schema.names
            call = batch.column("blocked_in").to_numpy(zero_copy_only=False) if has_call else np.zeros(0, np.uint8)
            try:
                self._path.batch(**columns, blocked_in=call)
            except ValueError as error:
                path = self._recording.path / "slice.parquet"
                raise damaged(path, str(error), self._recording.path) from error
            yield self._path.take()
        self._path.finish()
        yield self._path.take()

    def _wakers(self, columns: Columns) -> NDArray[np.int32]:
        """Return who ended waits. Nobody waited for the thread that ended the process, which wakes all others to die."""
        wakers: NDArray[np.int32] = columns["waker_id"]
        if not len(wakers) or int(columns["end_ticks"][-1] * columns["tick_ns"][-1]) < self._exit_ns.min(initial=NEVER):
            return wakers
        after = columns["running_ticks"] + np.maximum(columns["runnable_ticks"], 0)
        woken_ns = (columns["end_ticks"] - after) * columns["tick_ns"]
        thread = columns["thread_id"]
        is_known = (thread >= 0) & (thread < len(self._exit_ns))
        is_killed = is_known & (woken_ns >= self._exit_ns[np.where(is_known, thread, 0)])
        return np.where(is_killed, np.int32(-1), wakers)
