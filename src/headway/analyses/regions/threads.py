"""Divides each application thread's time by cause (cpu, lock, gc, io ...), from the exact trace, lock records and GC pauses.

Every moment of a thread has at most one part:

    cpu, steal      on a CPU; each slice's stolen time is spread evenly over it
    gc              blocked or ready inside a pause of the garbage collector (not when it had nothing to do)
    lock            blocked, and a record of the thread says in contention: for a lock, a semaphore, a pool's resource
    jit             ready while a compiler's thread was on a CPU
    runnable        ready otherwise
    io              blocked without any record of a wait, or in a timed pause: files, sockets, sleeps; of Java threads only

What is left is idle: waiting for the others (join, barrier, condition, an empty queue), not yet born, gone.

Virtual threads are no threads to the kernel: what they do on a CPU is their carriers'. Their waits in contention are no thread's
here (`unplaced`), and how much lock time there was is not known where there are any. While one that is pinned waits, so does its
carrier; which one that is, is not recorded: what no record of its own tells of a carrier meanwhile is that wait, not io.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered_pairs
from headway.analyses.common.intervals import NOTHING, Measure, Spans, union
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.waits.classification.sites import line_of, sites_of
from headway.analyses.waits.rules import CONTENTION, PUT_BACK, RULES, TIMER
from headway.analyses.waits.tables import blocks as lock_data
from headway.analyses.waits.tables.blocks import whole
from headway.analyses.waits.threads.thread_states import pauses
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]

_IS_LOCK = np.array([rule.waiting == CONTENTION or rule.id in ("resource-pool", PUT_BACK) for rule in RULES])
_IS_PAUSE = np.array([rule.waiting == TIMER for rule in RULES])


@dataclass(frozen=True, eq=False)
class ThreadTime:
    """One application thread's time as sets of intervals: `runs` on a CPU, `ready` runnable for whatever reason."""

    thread_id: int
    name: str
    java_id: int | None
    runs: Spans
    ready: Spans
    cpu: Measure
    steal: Measure
    gc: Spans
    lock: Spans
    jit: Spans
    runnable: Spans
    io: Spans
    waits: tuple[Ints, Ints, Ints, Ints]
    """Begin, end, lock and stack of each wait in contention."""

    @property
    def active(self) -> Spans:
        """Return when the thread was running or runnable."""
        return self.runs | self.ready

    @property
    def busy(self) -> Spans:
        """Return when the thread had work, whether or not it could do it."""
        return union([self.runs, self.gc, self.lock, self.jit, self.runnable, self.io])


@dataclass(frozen=True, eq=False)
class ThreadTimes:
    """The application threads that ran, and which causes the recording can tell (False: it can't).

    `unplaced`: begin and end of each wait in contention of a thread that has no scheduling record (virtual ones).
    """

    threads: list[ThreadTime]
    locks: LockData | None
    knows_steal: bool
    knows_runnable: bool
    knows_gc: bool
    unplaced: tuple[Ints, Ints]

    def unplaced_in(self, window: Spans) -> tuple[int, int]:
        """Return number and total length in ns of the waits in a window that belong to no thread listed here."""
        start, end = self.unplaced
        inside = Measure.length(window)
        spent = inside.until(end) - inside.until(start)
        return int((spent > 0).sum()), int(spent.sum())


def load_threads(recording: Recording) -> ThreadTimes:
    """Load and divide the time of every application thread.

    Raises HeadwayError HW400 when the recording does not know when threads ran.
    """
    if not has_scheduling(recording):
        raise HeadwayError("HW400", path=recording.path, mode=recording.manifest.mode)
    rows = recording.query(
        "SELECT thread_id, name, java_id, kind = 'carrier', pid FROM thread WHERE kind IN ('app', 'carrier')"
        " ORDER BY thread_id"
    ).fetchall()
    slices = _Slices(recording, "app', 'carrier")
    jit = _Slices(recording, "jit").running()
    stopped = {pid: Spans(found.start, found.end) for pid, found in pauses(recording).items()}
    waits = _WaitsByThread(recording)
    threads = []
    for thread_id, name, java_id, is_carrier, pid in rows:
        part = slices.of(thread_id)
        if len(part["start"]):
            waits_of_thread = waits.of(thread_id, is_carrier)
            threads.append(_thread((thread_id, name, java_id), part, jit, stopped.get(pid, NOTHING), waits_of_thread))
    knows_gc = _knows_gc(recording, stopped)
    return ThreadTimes(threads, waits.data, slices.knows_steal, slices.knows_runnable, knows_gc, waits.unplaced)


def _knows_gc(recording: Recording, stopped: Collection[int]) -> bool:
    """Return whether every JVM tells of its pauses: by its agent, or some are there. HotSpot's own threads give a JVM away."""
    rows = recording.query(
        "SELECT DISTINCT pid FROM thread WHERE comm = 'VM Thread' OR comm LIKE 'VM Peri%'"
    ).fetchall()
    known_pids = {jvm.get("pid") for jvm in recording.manifest.jvms} | {*stopped}
    return all(pid in known_pids for (pid,) in rows)


def _thread(
    who: tuple[int, str, int | None], part: Mapping[str, Ints], jit: Spans, stopped: Spans, waits: _ThreadWaits
) -> ThreadTime:
    start, end = part["start"], part["start"] + part["running"]
    woken = start - part["runnable"]
    ready = Spans.of(woken, start)
    # Before its first run a thread has done nothing yet, and what blocks it then is how threads are made.
    blocked = Spans.of((woken - part["blocked"])[1:], woken[1:])
    lock = (blocked & waits.contended) - stopped
    idle = blocked & waits.idle
    gc = ((blocked - idle) | ready) & stopped
    unknown = (blocked - waits.contended - waits.idle) - stopped if who[2] is not None and waits.is_known else NOTHING
    jitted = (ready - stopped) & jit
    return ThreadTime(
        thread_id=who[0],
        name=who[1],
        java_id=who[2],
        runs=Spans.of(start, end),
        ready=ready,
        cpu=Measure.of(start, end, part["running"] - part["stolen"]),
        steal=Measure.of(start, end, part["stolen"]),
        gc=gc,
        lock=lock,
        jit=jitted,
        runnable=ready - stopped - jit,
        io=unknown,
        waits=waits.rows,
    )


class _Slices:
    """The slices of threads of some kinds, thread by thread; times from the start of the recording."""

    def __init__(self, recording: Recording, kinds: str) -> None:
        found = recording.query(
            "SELECT s.thread_id, s.start_ns, s.blocked_ns, s.runnable_ns, s.running_ns,"
            " CASE WHEN s.running_ns = 0 THEN 0 ELSE s.stolen_ns END AS stolen_ns"
            f" FROM slice s JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind IN ('{kinds}')"
            " ORDER BY s.thread_id, s.start_ns, s.running_ns"
        ).fetchnumpy()
        self.knows_steal = not np.ma.getmaskarray(found["stolen_ns"]).any()
        self.knows_runnable = not np.ma.getmaskarray(found["runnable_ns"]).all() or not len(found["runnable_ns"])
        self._thread = whole(found["thread_id"])
        running = whole(found["running_ns"])
        self._columns = {
            "start": whole(found["start_ns"]) - recording.window_ns[0],
            "blocked": whole(found["blocked_ns"]),
            "runnable": np.maximum(whole(found["runnable_ns"]), 0),
            "running": running,
            "stolen": np.clip(whole(found["stolen_ns"]), 0, running),
        }

    def of(self, thread_id: int) -> dict[str, Ints]:
        """Return the slices of one thread, in order."""
        low, high = np.searchsorted(self._thread, [thread_id, thread_id + 1])
        return {name: values[low:high] for name, values in self._columns.items()}

    def running(self) -> Spans:
        """Return when any of the threads was on a CPU."""
        return Spans.of(self._columns["start"], self._columns["start"] + self._columns["running"])


@dataclass(frozen=True, eq=False)
class _ThreadWaits:
    """One thread's waits: contended ones and idle ones; a carrier's include those of virtual threads pinned to it."""

    contended: Spans
    idle: Spans
    rows: tuple[Ints, Ints, Ints, Ints]
    is_known: bool


class _WaitsByThread:
    """Every wait of the recording with its rule, by thread."""

    def __init__(self, recording: Recording) -> None:
        self.data = lock_data.load(recording, None) if lock_data.has_locks(recording) else None
        self.unplaced: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        if self.data is None:
            return
        sites, blocks = sites_of(self.data), self.data.blocks
        order = np.argsort(blocks.thread, kind="stable")
        self._thread, self._order = blocks.thread[order], order
        self._is_lock, self._is_idle = _IS_LOCK[sites.rule], ~(_IS_LOCK | _IS_PAUSE)[sites.rule]
        self._stack = sites.stack
        is_unplaced = blocks.thread >= self.data.platform_threads
        found = is_unplaced & self._is_lock
        self.unplaced = (blocks.began[found], blocks.full[found])
        contended, idle = ((is_unplaced & blocks.is_pinned & kind) for kind in (self._is_lock, self._is_idle))
        self._pinned_contended = Spans.of(blocks.began[contended], blocks.full[contended])
        self._pinned_idle = Spans.of(blocks.began[idle], blocks.full[idle])

    def of(self, thread_id: int, is_carrier: bool) -> _ThreadWaits:
        """Return the waits of one thread."""
        none = np.zeros(0, np.int64)
        if self.data is None:
            return _ThreadWaits(NOTHING, NOTHING, (none, none, none, none), False)
        low, high = np.searchsorted(self._thread, [thread_id, thread_id + 1])
        rows, blocks = self._order[low:high], self.data.blocks
        began, ended = blocks.began[rows], blocks.full[rows]
        is_lock, is_idle = self._is_lock[rows], self._is_idle[rows]
        contended = Spans.of(began[is_lock], ended[is_lock])
        columns = (began[is_lock], ended[is_lock], blocks.blocker[rows][is_lock], self._stack[rows][is_lock])
        idle = Spans.of(began[is_idle], ended[is_idle]) - contended
        if is_carrier:
            contended = contended | (self._pinned_contended - idle)
            idle = idle | (self._pinned_idle - contended)
        return _ThreadWaits(contended, idle, columns, True)


def lock_evidence(times: ThreadTimes, inside: Spans) -> tuple[dict[str, int], dict[str, int]]:
    """Return how long threads waited for locks within some intervals, by lock and by the line of code that waited."""
    by_lock: dict[str, int] = {}
    by_site: dict[str, int] = {}
    if times.locks is None:
        return by_lock, by_site
    for thread in times.threads:
        counted = Measure.length(thread.lock & inside)
        start, end, lock, stack = thread.waits
        spent = counted.until(end) - counted.until(start)
        locks, stacks, pair = numbered_pairs(lock, stack + 1)
        sums = np.zeros(len(locks), np.int64)
        np.add.at(sums, pair, spent)
        for at in np.flatnonzero(sums).tolist():
            name = times.locks.blockers.name(int(locks[at]))
            site = line_of(times.locks, int(stacks[at]) - 1)
            by_lock[name] = by_lock.get(name, 0) + int(sums[at])
            by_site[site] = by_site.get(site, 0) + int(sums[at])
    return by_lock, by_site
