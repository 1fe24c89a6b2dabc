"""Turns a recording into steps that can be replayed: who computes how much, and who waits for whom (native/replay/run_steps.h).

Question   what did each thread compute, and for whom did it wait, in terms that hold on other cores as well?
Method     one native pass over the slices. Threads of the program, of its collector and the VM Thread of a JVM, which stops the
           others, have roles; headway's own are left out. The run ends with the thread that ended the program; where
           somebody outside ended it, or the recording, when all of the program's threads have done what they did. A part of
           a run is what lies within it, and ends with the thread that the program's critical path is on there
           (critical_path.part_end); a wait of that thread which the part's end cuts lasts up to there.
Bounded    some 200 bytes a slice; more than RunSteps has room for are refused (HW821).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.critical_path.part_end import thread_on_path
from headway.analyses.critical_path.path_end import program_end
from headway.analyses.critical_path.path_threads import load_threads
from headway.analyses.lost_cores.account.io_wakers import io_waits
from headway.analyses.waits.tables.blocks import has_all_waits
from headway.errors import HeadwayError
from headway.model.interruptible import interruptible
from headway.model.kinds import PROGRAM, Kind
from headway.store.packing import STORED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.whatif.pools import PoolRun
    from headway.analyses.whatif.threads_together import ThreadsTogether
    from headway.store import Recording

    Ints = NDArray[np.int64]

_COLUMNS = tuple(name for name in STORED if name not in ("cpu", "blocked_in"))
_PROGRAM, _COLLECTOR, _VM, _OTHER, _LEFT_OUT = range(5)
"""ThreadRole of native/replay/run_steps.h."""
_ROLES = {
    Kind.APP.value: _PROGRAM,
    Kind.CARRIER.value: _PROGRAM,
    Kind.GC.value: _COLLECTOR,
    Kind.HEADWAY.value: _LEFT_OUT,
}
WAITS = ("none", "thread", "sleep", "io", "outside", "unknown")
"""StepWait of native/replay/run_steps.h."""
_STOPS_THREADS = "VM Thread"
"""The one thread of a JVM that stops the others; of its other threads of kind vm (pollers, the reference handler) none does."""
_MOST_READS = 4_000_000
"""Of more waits for I/O than so many nobody is looked for that ended them: they last as long as they lasted."""
_MOST_PROCESSES = 64
"""Processes whose collections stop their threads in a replay; more JVMs do not, but wait as they waited."""


@dataclass(frozen=True, eq=False)
class RecordedRun:
    """A run that can be replayed. `last`: the thread whose end is the run's, -1 for all of the program's.

    `waited_ns`: how long the program's threads waited, by what ended it (WAITS). `without_sender_ns`: for how long of that they
    waited for I/O with each other, over sockets, where nobody was seen to send it. `lock_wait_ns`: how long threads waited for
    locks that somebody had, until they ran again, as `headway locks` counts it. `unsure_ns`: by so much it may be longer or
    shorter, as samples woke threads that slept and ran late. `naps_ns`: so long the thread that stops a JVM's threads slept, in
    most of a JVM, until they were.
    `pools`: where tasks are threads of the run. `cut_ns`: for how long the last thread had waited when a part of a run ended.
    `together`: of a program that goes on, who goes on; a replay then takes as long as these need for what they did.
    """

    steps: _native.RunSteps
    recorded_cores: int
    wall_ns: int
    last: int
    threads: PathThreadTable
    waited_ns: dict[str, int]
    has_collections: bool
    without_sender_ns: int = 0
    lock_wait_ns: int = 0
    unsure_ns: int = 0
    naps_ns: int = 0
    pools: PoolRun | None = None
    cut_ns: int = 0
    together: ThreadsTogether | None = None


def load_run(recording: Recording, window: tuple[int, int] | None = None) -> RecordedRun:
    """Turn a recording into steps, or a part of it. `window`: (from, to) in ns from the recording's start, None: all.

    Raises HeadwayError HW424 (cores unknown), HW821 (too long), HW303 (damaged).
    """
    from headway import _native

    cores = recording.manifest.recorded_cores
    if not cores:
        raise HeadwayError("HW424", path=recording.path)
    threads = load_threads(recording)
    begin, end = _span(recording, window)
    collections = _collections(recording, threads)
    processes = list(dict.fromkeys(int(threads.pid[vm]) for _, _, vm in collections))[:_MOST_PROCESSES]
    number = {pid: i for i, pid in enumerate(processes)}
    steps = _native.RunSteps(
        birth_ns=threads.birth_ns,
        parent=threads.parent.astype(np.int32),
        role=np.array([_role(kind, name) for kind, name in zip(threads.kinds, threads.names, strict=True)], np.uint8),
        process=np.array([number.get(pid, -1) for pid in threads.pid.tolist()], np.int32),
        from_ns=begin,
        to_ns=end,
        cores=cores,
    )
    _take_slices(recording, steps)
    steps.tell_ends((threads.end_ns < end).astype(np.uint8))
    if recording.has("block") and has_all_waits(recording):
        steps.tell_waits(**_jvm_waits(recording))
    lock_wait_ns = _resolve(recording, steps, threads, collections, (begin, end))
    last = _last(recording, threads, end)
    figures = steps.figures()
    waited = dict(zip(WAITS, figures["waited_ns"].tolist(), strict=True))
    return RecordedRun(
        steps=steps,
        recorded_cores=cores,
        wall_ns=end - begin,
        last=last,
        threads=threads,
        waited_ns=waited,
        has_collections=bool(collections),
        without_sender_ns=figures["without_sender_ns"],
        lock_wait_ns=lock_wait_ns,
        unsure_ns=figures["unsure_ns"],
        naps_ns=_naps_ns(recording, threads),
        cut_ns=0 if last < 0 or window is None else _cut_ns(steps, last, end),
    )


def _span(recording: Recording, window: tuple[int, int] | None) -> tuple[int, int]:
    """Return a window of a recording in CLOCK_MONOTONIC ns."""
    begin, end = recording.window_ns
    return (begin, end) if window is None else (begin + window[0], min(begin + window[1], end))


def _last(recording: Recording, threads: PathThreadTable, end_ns: int) -> int:
    """Return the thread whose end is that of a run, or of a part of it up to a time; -1 where none is known."""
    if end_ns < recording.window_ns[1]:
        return thread_on_path(recording, threads, end_ns)
    ended_by = program_end(recording, threads)
    return ended_by.thread if ended_by else -1


def _cut_ns(steps: _native.RunSteps, thread: int, end_ns: int) -> int:
    """Return how long a thread had waited at the end of the steps."""
    columns = interruptible(steps.program_steps)
    own = columns["end_ns"][columns["thread"] == thread]
    return int(end_ns - own.max()) if len(own) else 0


def _take_slices(recording: Recording, steps: _native.RunSteps) -> None:
    """Give a recording's slices to the native part. Raises HeadwayError HW821 (too many)."""
    for batch in recording.stored_backwards("slice"):
        columns = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in _COLUMNS}
        has_call = "blocked_in" in batch.schema.names
        columns["blocked_in"] = (
            batch.column("blocked_in").to_numpy(zero_copy_only=False) if has_call else np.zeros(0, np.uint8)
        )
        if not steps.batch(**columns):
            raise HeadwayError("HW821", path=recording.path)


def _resolve(
    recording: Recording,
    steps: _native.RunSteps,
    threads: PathThreadTable,
    collections: Sequence[tuple[int, int, int]],
    span: tuple[int, int],
) -> int:
    """Let the native part tell what each wait was for; return how long threads waited for locks in a span, all added up."""
    origin = recording.window_ns[0]
    start_ns, end_ns, vm = (np.array([row[i] for row in collections], np.int64) for i in range(3))
    lock_thread, lock_start_ns, lock_end_ns = _within(_lock_waits(recording), span)
    program = [i for i, kind in enumerate(threads.kinds) if kind in PROGRAM]
    within = span[0] - origin, span[1] - origin
    answered, _, over_ns, _ = io_waits(recording, program, within, most=_MOST_READS)
    order = np.lexsort((over_ns, answered))
    interruptible(
        steps.resolve,
        start_ns,
        end_ns,
        vm.astype(np.int32),
        lock_thread.astype(np.int32),
        lock_start_ns,
        lock_end_ns,
        answered[order].astype(np.int32),
        over_ns[order] + origin,
    )
    return int((lock_end_ns - lock_start_ns).sum())


def _within(waits: tuple[Ints, Ints, Ints], span: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """Return of waits (thread, start, end) what lies within a span."""
    thread, start, end = waits
    use = (end > span[0]) & (start < span[1])
    return thread[use], np.maximum(start[use], span[0]), np.minimum(end[use], span[1])


def _role(kind: str, name: str) -> int:
    return _VM if _stops_threads(kind, name) else _ROLES.get(kind, _OTHER)


def _stops_threads(kind: str, name: str) -> bool:
    return kind == Kind.VM and name == _STOPS_THREADS


def _collections(recording: Recording, threads: PathThreadTable) -> list[tuple[int, int, int]]:
    """Return start, end and the thread that carried it out of each collection that stopped the threads of a JVM, in order."""
    vm = {int(threads.pid[i]): i for i, kind in enumerate(threads.kinds) if _stops_threads(kind, threads.names[i])}
    rows = recording.query(
        "SELECT start_ns, start_ns + dur_ns, pid FROM jvm_phase WHERE kind = 'gc_pause' AND dur_ns > 0 ORDER BY start_ns"
    ).fetchall()
    return [(start, end, vm[pid]) for start, end, pid in rows if pid in vm]


def _naps_ns(recording: Recording, threads: PathThreadTable) -> int:
    """Return how long the thread that stops a JVM's threads napped (nanosleep) until they had stopped; the most of a JVM."""
    vm = [i for i, kind in enumerate(threads.kinds) if _stops_threads(kind, threads.names[i])]
    rows = recording.query(
        "SELECT SUM(blocked_ns)::BIGINT FROM slice WHERE blocked_in = 3 AND blocked_ns > 0"
        " AND thread_id IN (SELECT UNNEST($1::BIGINT[])) GROUP BY thread_id",
        (vm,),
    ).fetchall()
    return max((int(ns) for (ns,) in rows), default=0)


def _jvm_waits(recording: Recording) -> dict[str, NDArray[Any]]:
    """Return the waits that the JVM told of, and what each was for, in order of (thread, start)."""
    found = recording.query(
        "SELECT thread_id AS thread, start_ns, start_ns + dur_ns AS end_ns, blocker_id AS blocker FROM block "
        "WHERE thread_id IS NOT NULL ORDER BY thread_id, start_ns"
    ).fetchnumpy()
    kinds = {"thread": np.int32, "start_ns": np.int64, "end_ns": np.int64, "blocker": np.int32}
    return {name: np.asarray(found[name], kind) for name, kind in kinds.items()}


def _lock_waits(recording: Recording) -> tuple[Ints, Ints, Ints]:
    """Return thread, start and end of waits for locks that somebody had, in order of (thread, start)."""
    if not recording.has("block"):
        none = np.zeros(0, np.int64)
        return none, none, none
    found = recording.query(
        "SELECT thread_id, start_ns, start_ns + dur_ns AS end_ns FROM block WHERE thread_id IS NOT NULL "
        "AND (kind = 'monitor' OR (kind = 'park' AND owner_thread_id IS NOT NULL)) ORDER BY thread_id, start_ns"
    ).fetchnumpy()
    return tuple(np.asarray(found[name], np.int64) for name in ("thread_id", "start_ns", "end_ns"))  # type: ignore[return-value]
