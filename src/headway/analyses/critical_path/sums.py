"""Exact sums over the critical path's pieces, batch by batch: time by thread, by state and by lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.columns import places_of
from headway.analyses.common.intervals import Measure, Spans
from headway.analyses.critical_path.types import STATES, PathLock
from headway.analyses.critical_path.walk import BLOCKED, INTERRUPTED, NO_RECORD, OUTSIDE, RUNNABLE, RUNNING, STARTING
from headway.analyses.waits.rules import RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.critical_path.lock_names import LockNames
    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.critical_path.walk import Columns, PathWaits
    from headway.store import Recording

    Ints = NDArray[np.int64]

NAMES = tuple(STATES)
_CODE = {name: code for code, name in enumerate(NAMES)}
_WITHOUT_WAIT = {RUNNING: "running", RUNNABLE: "runnable", STARTING: "starting", NO_RECORD: "unknown"}
_ENDED_BY = {INTERRUPTED: "interrupt", OUTSIDE: "outside"}
# slice.blocked_in: 3 nanosleep; 4 poll, 5 read or write, 6 sockets, 9 a page fault; 7 a wait for a child process.
_CALLS = {3: "sleep", 4: "io", 5: "io", 6: "io", 7: "process", 9: "io"}
_FUTEX_WITH_TIMEOUT = 2
# Where nobody is known to have ended a wait with a time limit, the timer did: wakings that a kernel hides from its tracers are
# those in the time of threads that are not recorded, and what comes in their time is an interrupt. `why` says so, too.
_ENDED_BY_TIMER = (INTERRUPTED, BLOCKED)
_UNINTERRUPTIBLE, _STOPPED = 2, 3


def _table_of_states() -> Ints:
    """Return the state of a piece without a known wait by [OnPath][slice.blocked_state + 4 * blocked_in]."""
    table = np.zeros((8, 64), np.int64)
    for on_path in range(8):
        for blocked in range(64):
            state, call = blocked & 3, blocked >> 2
            name = _WITHOUT_WAIT.get(on_path) or _CALLS.get(call)
            if name is None and state in (_UNINTERRUPTIBLE, _STOPPED):
                name = "io" if state == _UNINTERRUPTIBLE else "stopped"
            if name is None and call == _FUTEX_WITH_TIMEOUT and on_path in _ENDED_BY_TIMER:
                name = "sleep"
            table[on_path, blocked] = _CODE[name or _ENDED_BY.get(on_path, "unknown")]
    return table


_STATE_OF = _table_of_states()


def state_of(on_path: int, blocked_state: int, blocked_in: int) -> str:
    """Return the state of a piece without a known wait."""
    return str(NAMES[_STATE_OF[on_path, blocked_state + 4 * blocked_in]])


@dataclass(frozen=True, eq=False)
class NamedPieces:
    """Pieces with their meaning: `state` is an index into NAMES, `wait` the wait that the path follows (-1: none).

    `gc` and `stolen` are the parts of `length` that count for those states instead; the rest is `state`. `own`: the wait is the
    piece's own thread's.
    """

    thread: Ints
    start: Ints
    end: Ints
    state: Ints
    gc: Ints
    stolen: Ints
    wait: Ints
    own: NDArray[np.bool_]
    waiter: Ints
    is_running: NDArray[np.bool_]

    @property
    def length(self) -> Ints:
        """Return each piece's length in ns."""
        return self.end - self.start


class PieceNamer:
    """Classifies the pieces of a path by what the thread does meanwhile."""

    def __init__(self, recording: Recording, threads: PathThreadTable, waits: PathWaits) -> None:
        """Load the garbage collectors' pauses."""
        self._threads, self._waits = threads, waits
        codes = [_CODE[name] for name in waits.state]
        self._wait_state = np.array(codes, np.int64)[waits.state_of] if len(waits.state_of) else waits.state_of
        self._pauses: dict[int, Measure] = {}
        rows = recording.query("SELECT pid, start_ns, dur_ns FROM jvm_phase WHERE kind = 'gc_pause'").fetchnumpy()
        pid, start, dur = (np.asarray(rows[name]).astype(np.int64) for name in ("pid", "start_ns", "dur_ns"))
        for each, of_process in places_of(pid):
            self._pauses[each] = Measure.length(Spans.of(start[of_process], start[of_process] + dur[of_process]))

    def name(self, columns: Columns) -> NamedPieces:
        """Classify one batch of pieces; return them in order of time."""
        read = {name: np.asarray(values[::-1]).astype(np.int64) for name, values in columns.items()}
        thread, start, end, on_path = read["thread"], read["start_ns"], read["end_ns"], read["state"]
        state = _STATE_OF[on_path, read["blocked"]]
        own = read["wait"] >= 0
        state[own] = self._wait_state[read["wait"][own]]
        state[(on_path == NO_RECORD) & (start >= self._threads.end_ns[thread])] = _CODE["ended"]
        gc = np.zeros(len(start), np.int64)
        pid = self._threads.pid[thread]
        for each, of_process in places_of(pid):
            if (measure := self._pauses.get(each)) is not None:
                gc[of_process] = measure.until(end[of_process]) - measure.until(start[of_process])
        length = np.maximum(end - start, 1)
        stolen = np.where(gc == 0, read["stolen_ns"], (read["stolen_ns"] * ((length - gc) / length)).astype(np.int64))
        wait = np.where(own, read["wait"], read["waiter_wait"])
        return NamedPieces(
            thread,
            start,
            end,
            state,
            gc,
            np.minimum(stolen, length - gc),
            wait,
            own,
            read["waiter"],
            on_path == RUNNING,
        )


class PathSums:
    """Sums of the path's time by thread and state, and by lock."""

    def __init__(self, threads: PathThreadTable, waits: PathWaits) -> None:
        """Start with empty sums."""
        self._waits = waits
        self.by_thread = np.zeros((len(threads), len(NAMES)), np.int64)
        self.pieces = 0
        self._locks: dict[tuple[int, int], tuple[int, int]] = {}

    def add(self, named: NamedPieces) -> None:
        """Add one batch of pieces."""
        self.pieces += len(named.thread)
        flat = self.by_thread.reshape(-1)
        base = named.thread * len(NAMES)
        np.add.at(flat, base + named.state, named.length - named.gc - named.stolen)
        np.add.at(flat, base + _CODE["gc_pause"], named.gc)
        np.add.at(flat, base + _CODE["stolen"], named.stolen)
        self._add_locks(named)

    def _add_locks(self, named: NamedPieces) -> None:
        there = np.flatnonzero(named.wait >= 0)
        if not len(there):
            return
        wait, length = named.wait[there], named.length[there]
        key = self._waits.blocker[wait] * len(RULES) + self._waits.waiting_of[wait]
        order = np.argsort(key, kind="stable")
        key, length, own = key[order], length[order], named.own[there][order]
        begin = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        whole = np.add.reduceat(length, begin)
        followed = np.add.reduceat(np.where(own, 0, length), begin)
        for each, ns, followed_ns in zip(key[begin].tolist(), whole.tolist(), followed.tolist(), strict=True):
            at = divmod(each, len(RULES))
            before = self._locks.get(at, (0, 0))
            self._locks[at] = before[0] + ns, before[1] + followed_ns

    def by_lock(self, names: LockNames | None) -> tuple[PathLock, ...]:
        """Return what was waited for, the most first: objects of one place together, and rules of one class of waiting."""
        if names is None:
            return ()
        found: dict[tuple[int, str], tuple[int, int, dict[int, None]]] = {}
        for (blocker, rule), (ns, followed_ns) in self._locks.items():
            key = names.alike(blocker), RULES[rule].waiting
            before_ns, before_followed_ns, those = found.get(key, (0, 0, {}))
            those[blocker] = None  # in place: there may be as many as a program has futures
            found[key] = before_ns + ns, before_followed_ns + followed_ns, those
        rows = [
            PathLock(names.name([*those]), waiting, ns, followed_ns, names.place(alike), len(those))
            for (alike, waiting), (ns, followed_ns, those) in found.items()
        ]
        return tuple(sorted(rows, key=lambda row: (-row.ns, row.name, row.waiting)))


def dominant(named: NamedPieces) -> Ints:
    """Return the state with most time in each piece."""
    rest = named.length - named.gc - named.stolen
    state: Any = np.where(named.stolen > np.maximum(rest, named.gc), _CODE["stolen"], named.state)
    return np.asarray(np.where(named.gc > np.maximum(rest, named.stolen), _CODE["gc_pause"], state), np.int64)
