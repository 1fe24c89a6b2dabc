"""Attributes idle cores to causes: the account of a window, cut into segments and time bins.

Question   cores x wall time: how much was used, stolen, taken by others, and what is the rest lost to?
Method     a native pass over every change of state (native/lost_cores), backwards as slices are stored. At each instant the idle
           cores are given away in a fixed order (docs/decisions/0007-lost-cores.md): records lost; threads ready to run;
           pauses, start and end of the JVM; threads that would run if what they wait for came, at most a core each; for what
           is left then, whoever the others wait for or who has work alone. Stolen time is spread evenly over its
           running interval; other processes' time over its gap, or, coarser, between two readings of the CPUs' counters.
Assumes    waits are right (waits.pieces); where there are none, what the kernel knows of blocked threads.
Wrong when records were lost where nothing tells so. Where several JVMs are recorded, the pause of one speaks for its part of the
           idle cores only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.causes import CAUSES
from headway.analyses.common.columns import numbered_pairs
from headway.analyses.lost_cores import half_windows
from headway.analyses.lost_cores.idle import idle_pieces, pausing
from headway.analyses.lost_cores.io_wakers import io_waits
from headway.analyses.lost_cores.types import USED
from headway.analyses.scheduling import gc_times, other_processes
from headway.analyses.scheduling.activity import checked_window, has_scheduling, no_scheduling
from headway.analyses.scheduling.available_cores import known_cpus
from headway.analyses.waits.process_exit import exit_ns
from headway.model import Kind
from headway.model.interruptible import interruptible
from headway.store.packing import STOLEN_UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.idle import IdlePieces
    from headway.analyses.scheduling.gc_times import CollectorTime
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BINS = 600
BIN_NAMES = (*(f"used_{kind}" for kind in USED), "stolen", "other_processes", *CAUSES)
"""The columns of `Attribution.bins`."""

BACKGROUND_CPU_SHARE = 0.05
"""A thread that ran for less of its life, and that nobody needs, waits in the background: a timer, an acceptor."""
_KIND_CODES = {kind: USED.index(kind.counted_as) for kind in Kind}
_STORED = (
    *("end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks", "stolen_ticks"),
    *("thread_id", "waker_id", "flags"),
)


@dataclass(frozen=True, eq=False)
class AccountSegment:
    """The account of a stretch, ns from the recording's start. Row i of the losses: `cause[i]` (place in CAUSES), `key[i]` (as
    the waits number what is waited for; -1: nothing), `thread[i]` (waited for, or alone at work; -1: none), `core_ns[i]`.

    `excess_ns`: threads ran on more cores than the account has, which was taken off what was lost and, if that was less, off
    what was used. `error_ns`: cores x time less everything. `outside_ns`: time in which all waited for work
    from outside.
    """

    start_ns: int
    end_ns: int
    used_ns: Mapping[str, int]
    stolen_ns: int
    other_ns: int
    cause: NDArray[np.uint8]
    key: NDArray[np.int32]
    thread: NDArray[np.int32]
    core_ns: Ints
    excess_ns: int
    error_ns: int
    outside_ns: int = 0

    @property
    def by_cause(self) -> Ints:
        """Return the core-ns lost to each cause, in the order of CAUSES."""
        sums = np.zeros(len(CAUSES), np.int64)
        np.add.at(sums, self.cause, self.core_ns)
        return sums


@dataclass(frozen=True, eq=False)
class Attribution:
    """The account of a window: `segments` meet at the cuts, in order of time.

    `bins` has one row per `bin_ns` from `start_ns` on (the last ends with the window), columns BIN_NAMES, core-ns. `directed`,
    `undirected`: for each probe the cores that its thread kept idle at that instant. `knows_steal` is False where the host's
    part is in `used`; `others` says how other processes are known: gaps (of each CPU), counter (twice a second), none.
    """

    cores: float
    start_ns: int
    end_ns: int
    segments: tuple[AccountSegment, ...]
    bin_ns: int
    bins: Ints
    directed: Floats
    undirected: Floats
    knows_steal: bool
    others: str
    out_of_order: int


def sweep(
    recording: Recording,
    waits: Waits,
    *,
    cores: float | None = None,
    window: tuple[int, int] | None = None,
    cuts: Sequence[int] = (),
    probes: tuple[Ints, NDArray[np.int32]] | None = None,
    bins: int = BINS,
) -> Attribution:
    """Attribute every idle core to a cause. Times are ns from the recording's start.

    `cores`: those the program may use if None. `probes`: instants in order and the thread_id at each.

    Raises HeadwayError HW400, HW450 (no scheduling recorded), HW401 (window empty or outside) or HW402 (no span).
    """
    begin, end = checked_window(recording, window)
    if not has_scheduling(recording):
        raise no_scheduling(recording)
    if cores is None:
        cores = float(known_cpus(recording) or 1)
    origin = recording.window_ns[0]
    bin_ns = max(1, -(-(end - begin) // max(bins, 1)))
    others = other_processes.others(recording, (origin + begin, origin + end))
    inputs = {
        "cores": float(cores),
        "bin_ns": bin_ns,
        "cuts": [origin + int(cut) for cut in cuts],
        "others": others.columns,
        **account_inputs(recording, waits, probes, (begin, end)),
    }
    found = _account(recording, (origin + begin, origin + end), inputs)
    collected = gc_times.load(recording)
    return Attribution(
        float(cores),
        begin,
        end,
        tuple(_collected(segment_of(each, origin), collected) for each in found["segments"]),
        bin_ns,
        _collected_bins(found["bins"].reshape(-1, len(BIN_NAMES)), begin, end, bin_ns, collected),
        found["directed"],
        found["undirected"],
        not found["flags"] & STOLEN_UNKNOWN,
        others.known_by,
        int(found["out_of_order"]),
    )


def _collected(segment: AccountSegment, collected: CollectorTime) -> AccountSegment:
    """Count what threads of the VM used to collect garbage as gc."""
    moved = int(collected.between(np.array([segment.start_ns, segment.end_ns])).sum())
    return dataclasses.replace(segment, used_ns=gc_times.as_gc(segment.used_ns, moved))


def _collected_bins(bins: Floats, begin: int, end: int, bin_ns: int, collected: CollectorTime) -> Ints:
    """Do the same in each time bin."""
    whole = np.rint(bins).astype(np.int64)
    edges = np.minimum(begin + bin_ns * np.arange(len(whole) + 1), end)
    gc, vm = BIN_NAMES.index("used_gc"), BIN_NAMES.index("used_vm")
    moved = np.clip(collected.between(edges), 0, whole[:, vm])
    whole[:, gc] += moved
    whole[:, vm] -= moved
    return whole


def account_inputs(
    recording: Recording, waits: Waits, probes: tuple[Ints, NDArray[np.int32]] | None, window: tuple[int, int]
) -> dict[str, Any]:
    """Return what the native account wants to know beside slices and other processes."""
    instants, who = probes if probes is not None else (np.zeros(0, np.int64), np.zeros(0, np.int32))
    origin = recording.window_ns[0]
    return {
        "kinds": kinds_of(recording),
        "is_background": background(recording, waits),
        "exit_ns": exit_ns(recording),
        "waits": _waits(waits, idle_pieces(recording, waits, window), origin),
        "spans": other_processes.spans(recording, known_cpus(recording) or 1),
        "probe_ns": np.ascontiguousarray(instants, np.int64) + origin,
        "probe_thread": np.ascontiguousarray(who, np.int32),
    }


def _account(recording: Recording, span: tuple[int, int], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return what the native account finds in a span (CLOCK_MONOTONIC ns), a long one in two halves."""
    from headway import _native

    def account(from_ns: int, to_ns: int) -> dict[str, Any]:
        part = _native.LossAccount(from_ns=from_ns, to_ns=to_ns, **inputs)
        flags = _feed(recording, part)
        return {**interruptible(part.finish), "flags": flags}

    begin, end = span
    slices = recording.manifest.tables["slice"].rows if recording.has("slice") else 0
    half = half_windows.middle(begin, end, inputs["bin_ns"])
    is_long = slices * (end - begin) > half_windows.SLICES * recording.wall_ns and begin < half
    parts = [(begin, half), (half, end)] if is_long else [span]
    return half_windows.found_in(parts, account, inputs["cuts"])


def _feed(recording: Recording, account: Any) -> int:
    """Hand the slices over, the last first, one batch being read while another is worked on; return all flags they have."""
    batches = recording.stored_backwards("slice")
    flags = 0
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(_next, batches)
        while (columns := coming.result()) is not None:
            coming = reader.submit(_next, batches)
            flags |= int(np.bitwise_or.reduce(columns["flags"], initial=0))
            if not account.batch(**columns):
                coming.result()
                break
    return flags


def _next(batches: Iterator[Any]) -> dict[str, Any] | None:
    batch = next(batches, None)
    if batch is None:
        return None
    columns: dict[str, Any] = {name: batch.column(name).to_numpy(zero_copy_only=False) for name in _STORED}
    columns["tick_ns"] = int(batch.column("tick_ns")[0].as_py()) if batch.num_rows else 1
    if "blocked_in" in batch.schema.names:
        columns["blocked_in"] = np.ascontiguousarray(
            batch.column("blocked_in").to_numpy(zero_copy_only=False), np.uint8
        )
    return columns


def _waits(waits: Waits, idle: IdlePieces, origin: int) -> dict[str, Any]:
    """Return all pieces in order of start, those that the kernel alone tells of among them."""
    none = np.full(len(idle.thread), -1)
    order = np.argsort(np.concatenate([waits.start, idle.start]), kind="stable")

    def together(recorded: NDArray[Any], found: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
        return np.ascontiguousarray(np.concatenate([recorded, found])[order], kind)

    return {
        "thread": together(waits.thread, idle.thread, np.int32),
        "start_ns": together(waits.start + origin, idle.start + origin, np.int64),
        "end_ns": together(waits.end + origin, idle.end + origin, np.int64),
        "cause": together(waits.cause, idle.cause, np.uint8),
        "key": together(waits.key, none, np.int32),
        "target": together(waits.target, none, np.int32),
        "is_directed": together(waits.is_directed, np.zeros(len(none), bool), np.uint8),
    }


def kinds_of(recording: Recording) -> NDArray[np.uint8]:
    """Return each thread's index into USED by thread_id."""
    rows = recording.query("SELECT thread_id, kind FROM thread").fetchall()
    kinds = np.zeros(
        recording.places_of_threads(len(rows), max((thread for thread, _ in rows), default=-1)), dtype=np.uint8
    )
    for thread, kind in rows:
        kinds[thread] = _KIND_CODES[Kind(kind)]
    return kinds


def background(recording: Recording, waits: Waits) -> NDArray[np.uint8]:
    """Return whether each thread is a worker, a background thread, a watcher or needed: WorkRole of loss_account.h.

    0 is a worker. 1, background: it hardly ran in its life, and for hardly any of it a worker, or a thread that workers wait for,
    waits for it, or for what it sends. 2, a watcher: it is in the background, and joins the thread that started it. 3: it hardly
    ran, and is needed, or was seen asleep in a call. What a thread waited for a core is no part of its life: on a busy machine
    one that is always at work runs seldom. Nor is the time in which the JVM stopped it, which may be most of a run.

    Carriers are background: one that blocks has no work, or a virtual thread keeps it, and only that one waits for something. Of
    virtual threads (numbers from the recorded threads' on) nothing tells how much they ran: each is, unless it is needed.
    """
    begin, end = recording.window_ns
    rows = recording.query("SELECT thread_id, start_ns, end_ns, running_ns, runnable_ns FROM thread").fetchall()
    size = recording.places_of_threads(len(rows), max((row[0] for row in rows), default=-1))
    found = np.zeros(size, dtype=np.uint8)
    lives = np.zeros(size, np.int64)
    for thread, start, ended, running, runnable in rows:
        lives[thread] = min(end, ended if ended is not None else end) - max(begin, start) - (runnable or 0)
        found[thread] = running is not None and running < BACKGROUND_CPU_SHARE * max(lives[thread], 1)
    ran_ns = {row[0]: row[3] for row in rows if found[row[0]]}
    for thread, stopped_ns in _stopped_ns(recording).items() if ran_ns and recording.has("slice") else ():
        lives[thread] -= stopped_ns
        found[thread] = thread in ran_ns and ran_ns[thread] < BACKGROUND_CPU_SHARE * max(lives[thread], 1)
    carriers = [row[0] for row in recording.query("SELECT thread_id FROM thread WHERE kind = 'carrier'").fetchall()]
    found[carriers] = 1
    asleep = sorted(thread for thread in pausing(recording, waits) if found[thread])
    if not len(waits):
        found[asleep] = 3
        return found
    size = max(size, int(waits.thread.max()) + 1, int(waits.target.max()) + 1)
    is_background = np.ones(size, bool)
    is_background[: len(found)] = found > 0
    is_background[asleep] = False
    hardly_ran = np.zeros(size, bool)
    hardly_ran[: len(found)] = found > 0
    least = np.zeros(size)  # of a virtual thread's life nothing is known
    least[: len(lives)] = BACKGROUND_CPU_SHARE * lives
    thread, target, waited = _waited_for(recording, waits, size)
    while len(thread):
        by_needed = ~is_background[thread] & is_background[target]
        needed = is_background & (np.bincount(target[by_needed], waited[by_needed], size) > least)
        if not needed.any():
            break
        is_background[needed] = False
    is_background[carriers] = True
    codes = np.where(is_background, 1, np.where(hardly_ran, 3, 0)).astype(np.uint8)  # WorkRole::kNeeded
    watchers = _watchers(recording, waits)
    codes[watchers[is_background[watchers]]] = 2  # WorkRole::kWatcher of native/lost_cores/loss_account.h
    return codes


def _stopped_ns(recording: Recording) -> dict[int, int]:
    """Return how long each thread of the program was stopped by the JVM, or waited for its collector or compiler.

    Other threads of the JVM end waits of who has nothing to do: the Reference Handler that of a thread at a ReferenceQueue.
    """
    begin, end = recording.window_ns
    woken = "s.start_ns - coalesce(s.runnable_ns, 0)"
    rows = recording.query(
        f"SELECT s.thread_id, sum(least({woken}, $2) - greatest({woken} - s.blocked_ns, $1))::BIGINT FROM slice s"
        " JOIN thread t ON t.thread_id = s.thread_id JOIN thread w ON w.thread_id = s.waker_id"
        f" WHERE s.blocked_ns > 0 AND NOT coalesce(s.waker_irq, FALSE) AND {woken} > $1 AND {woken} - s.blocked_ns < $2"
        " AND t.kind = 'app' AND (w.kind IN ('gc', 'jit') OR (w.kind = 'vm' AND w.name = 'VM Thread')) GROUP BY 1",
        (begin, end),
    ).fetchall()
    return {int(thread): int(ns) for thread, ns in rows}


def _waited_for(recording: Recording, waits: Waits, size: int) -> tuple[Ints, Ints, Floats]:
    """Return who waited for whom, and how long in all: for a thread that ends a wait, or that sends what is read."""
    which = np.flatnonzero(waits.target >= 0)
    # A JVM's first thread only waits for the others, and ends them.
    of_program = "kind = 'app' AND (tid != pid OR pid NOT IN (SELECT pid FROM thread WHERE tid != pid))"
    program = [row[0] for row in recording.query(f"SELECT thread_id FROM thread WHERE {of_program}").fetchall()]
    reader, start, end, sender = io_waits(recording, program, (0, recording.wall_ns))
    thread = np.concatenate([waits.thread[which].astype(np.int64), reader])
    target = np.concatenate([waits.target[which].astype(np.int64), sender])
    length = np.concatenate([waits.end[which] - waits.start[which], end - start])
    inside = (thread < size) & (target < size)
    thread, target, pair = numbered_pairs(thread[inside], target[inside])
    return thread, target, np.bincount(pair, length[inside], len(thread)).astype(np.float64)


def _pairs(waits: Waits, which: NDArray[np.bool_]) -> Ints:
    """Return the different pairs of who waits and who is waited for (-1: not known) in some pieces, as two rows."""
    thread, target, _ = numbered_pairs(waits.thread[which].astype(np.int64), waits.target[which].astype(np.int64) + 1)
    return np.stack([thread, target - 1])


def _watchers(recording: Recording, waits: Waits) -> Ints:
    """Return the threads that joined, or awaited a result of, one that started them, or that started that one, and so on."""
    rows = recording.query("SELECT thread_id, pid, tid, start_ns, parent_tid FROM thread ORDER BY start_ns").fetchall()
    last: dict[tuple[int, int], int] = {}
    parent: dict[int, int] = {}
    for thread, pid, tid, _, parent_tid in rows:  # a number may be used again: the last one that began before
        if parent_tid is not None and (pid, parent_tid) in last:
            parent[thread] = last[pid, parent_tid]
        last[pid, tid] = thread
    joins = (
        np.isin(waits.cause, [list(CAUSES).index(cause) for cause in ("imbalance", "too_few_tasks")])
        & ~waits.is_directed
    )
    found = set()
    for thread, target in _pairs(waits, joins).T.tolist():
        above, steps = parent.get(thread), 0
        while above is not None and above != target and steps < len(rows):
            above, steps = parent.get(above), steps + 1
        if above == target:
            found.add(thread)
    return np.array(sorted(found), np.int64)


def segment_of(found: Mapping[str, Any], origin: int) -> AccountSegment:
    """Return a stretch of what the native account found, its rows the largest first."""
    order = np.argsort(-found["core_ns"], kind="stable")
    return AccountSegment(
        found["start_ns"] - origin,
        found["end_ns"] - origin,
        dict(zip(USED, np.rint(found["used"]).astype(np.int64).tolist(), strict=True)),
        round(found["stolen"]),
        round(found["other"]),
        found["cause"][order],
        found["key"][order],
        found["thread"][order],
        np.rint(found["core_ns"][order]).astype(np.int64),
        round(found["excess_ns"]),
        round(found["error_ns"]),
        round(found["outside_ns"]),
    )
