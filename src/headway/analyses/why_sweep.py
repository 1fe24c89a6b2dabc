"""Which causes do the cores belong to that nothing ran on? The account of a window, cut into segments and time bins.

Question   cores x wall time: how much was used, stolen, taken by others, and what is the rest lost to?
Method     a native pass over every change of state (native/account), backwards as slices are stored. At each instant the idle
           cores are given away in a fixed order (docs/decisions/0007-lost-cores.md): records lost; threads ready to run;
           pauses, start and end of the JVM; threads that would run if what they wait for came, at most a core each; for what
           is left then, whoever the others wait for or who has work alone. Stolen time is spread evenly over its
           running interval; other processes' time over its gap, or, coarser, between two readings of the CPUs' counters.
Assumes    waits are right (why_waits); where there are none, what the kernel knows of blocked threads.
Wrong when records were lost where nothing tells so. Where several JVMs are recorded, the pause of one speaks for its part of the
           idle cores only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses import why_beside, why_halves
from headway.analyses.activity import has_scheduling, no_scheduling, wall_ns
from headway.analyses.why_cores import known_cpus
from headway.analyses.why_exits import exit_ns
from headway.analyses.why_types import CAUSES, USED
from headway.errors import HeadwayError
from headway.model import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.why_waits import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BINS = 600
BIN_NAMES = (*(f"used_{kind}" for kind in USED), "stolen", "other_processes", *CAUSES)
"""The columns of `Sweep.bins`."""

NOBODY = 0.05
"""A thread that ran for less of its life, and that nobody needs, waits in the background: a timer, an acceptor."""
_KIND_CODES = {Kind.APP: 0, Kind.CARRIER: 0, Kind.GC: 1, Kind.JIT: 2, Kind.VM: 3, Kind.HEADWAY: 4}
_STORED = (
    *("end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks", "stolen_ticks"),
    *("thread_id", "waker_id", "flags"),
)


@dataclass(frozen=True, eq=False)
class Segment:
    """The account of a stretch, ns from the recording's start. Row i of the losses: `cause[i]` (place in CAUSES), `key[i]` (as
    the waits number what is waited for; -1: nothing), `thread[i]` (waited for, or alone at work; -1: none), `core_ns[i]`.

    `excess_ns`: threads ran on more cores than the account has, which was taken off what was lost and, if that was less, off
    what was used. `error_ns`: cores x time less everything.
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

    @property
    def by_cause(self) -> Ints:
        """Return the core-ns lost to each cause, in the order of CAUSES."""
        sums = np.zeros(len(CAUSES), np.int64)
        np.add.at(sums, self.cause, self.core_ns)
        return sums


@dataclass(frozen=True, eq=False)
class Sweep:
    """The account of a window: `segments` meet at the cuts, in order of time.

    `bins` has one row per `bin_ns` from `start_ns` on (the last ends with the window), columns BIN_NAMES, core-ns. `directed`,
    `undirected`: for each probe the cores that its thread kept idle at that instant. `knows_steal` is False where the host's
    part is in `used`; `others` says how other processes are known: gaps (of each CPU), counter (twice a second), none.
    """

    cores: float
    start_ns: int
    end_ns: int
    segments: tuple[Segment, ...]
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
) -> Sweep:
    """Give every idle core to a cause. Times are ns from the recording's start.

    `cores`: those the program may use if None. `probes`: instants in order and the thread_id at each.

    Raises HeadwayError HW400, HW450 (no scheduling recorded), HW401 (window empty or outside) or HW402 (no span).
    """
    length = wall_ns(recording)
    begin, end = window or (0, length)
    if not 0 <= begin < end <= length:
        raise HeadwayError("HW401", path=recording.path, start=begin / 1e9, end=end / 1e9, length=length / 1e9)
    if not has_scheduling(recording):
        raise no_scheduling(recording)
    if cores is None:
        cores = float(known_cpus(recording) or 1)
    origin = recording.window_ns[0]
    bin_ns = max(1, -(-(end - begin) // max(bins, 1)))
    others = why_beside.others(recording, (origin + begin, origin + end))
    inputs = {
        "cores": float(cores),
        "bin_ns": bin_ns,
        "cuts": [origin + int(cut) for cut in cuts],
        "others": others.columns,
        **_inputs(recording, waits, probes),
    }
    found = _account(recording, (origin + begin, origin + end), inputs)
    return Sweep(
        float(cores),
        begin,
        end,
        tuple(_segment(each, origin) for each in found["segments"]),
        bin_ns,
        np.rint(found["bins"].reshape(-1, len(BIN_NAMES))).astype(np.int64),
        found["directed"],
        found["undirected"],
        not found["flags"] & 32,  # packing.STOLEN_UNKNOWN
        others.known_by,
        int(found["out_of_order"]),
    )


def _inputs(recording: Recording, waits: Waits, probes: tuple[Ints, NDArray[np.int32]] | None) -> dict[str, Any]:
    """Return what the native account wants to know beside slices and other processes."""
    instants, who = probes if probes is not None else (np.zeros(0, np.int64), np.zeros(0, np.int32))
    origin = recording.window_ns[0]
    return {
        "kinds": kinds_of(recording),
        "is_background": background(recording, waits),
        "exit_ns": exit_ns(recording),
        "waits": _waits(waits, origin),
        "spans": why_beside.spans(recording, known_cpus(recording) or 1),
        "probe_ns": np.ascontiguousarray(instants, np.int64) + origin,
        "probe_thread": np.ascontiguousarray(who, np.int32),
    }


def _account(recording: Recording, span: tuple[int, int], inputs: dict[str, Any]) -> dict[str, Any]:
    """Return what the native account finds in a span (CLOCK_MONOTONIC ns), a long one in two halves."""
    from headway import _native  # type: ignore[attr-defined]

    def account(from_ns: int, to_ns: int) -> dict[str, Any]:
        part = _native.Account(from_ns=from_ns, to_ns=to_ns, **inputs)
        flags = _feed(recording, part)
        return {**part.finish(), "flags": flags}

    begin, end = span
    slices = recording.manifest.tables["slice"].rows if recording.has("slice") else 0
    half = why_halves.middle(begin, end, inputs["bin_ns"])
    is_long = slices * (end - begin) > why_halves.SLICES * recording.wall_ns and begin < half
    parts = [(begin, half), (half, end)] if is_long else [span]
    return why_halves.found_in(parts, account, inputs["cuts"])


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


def _waits(waits: Waits, origin: int) -> dict[str, Any]:
    return {
        "thread": np.ascontiguousarray(waits.thread, np.int32),
        "start_ns": np.ascontiguousarray(waits.start, np.int64) + origin,
        "end_ns": np.ascontiguousarray(waits.end, np.int64) + origin,
        "cause": np.ascontiguousarray(waits.cause, np.uint8),
        "key": np.ascontiguousarray(waits.key, np.int32),
        "target": np.ascontiguousarray(waits.target, np.int32),
        "is_directed": np.ascontiguousarray(waits.is_directed, np.uint8),
    }


def kinds_of(recording: Recording) -> NDArray[np.uint8]:
    """Return each thread's place in USED by thread_id."""
    rows = recording.query("SELECT thread_id, kind FROM thread").fetchall()
    kinds = np.zeros(max((thread for thread, _ in rows), default=-1) + 1, dtype=np.uint8)
    for thread, kind in rows:
        kinds[thread] = _KIND_CODES[Kind(kind)]
    return kinds


def background(recording: Recording, waits: Waits) -> NDArray[np.uint8]:
    """Return 1 for each thread that hardly ran in its life and that no thread waits for which did, or whom one waits for; 2 if it
    is a watcher, too.

    So are carriers: one that blocks has no work, or a virtual thread keeps it, and only that one waits for something. Of virtual
    threads (numbers from the recorded threads' on) nothing tells how much they ran: only who is needed is not one.
    """
    begin, end = recording.window_ns
    rows = recording.query("SELECT thread_id, start_ns, end_ns, running_ns FROM thread").fetchall()
    size = max((row[0] for row in rows), default=-1) + 1
    found = np.zeros(size, dtype=np.uint8)
    for thread, start, ended, running in rows:
        life = min(end, ended if ended is not None else end) - max(begin, start)
        found[thread] = running is not None and running < NOBODY * max(life, 1)
    carriers = [row[0] for row in recording.query("SELECT thread_id FROM thread WHERE kind = 'carrier'").fetchall()]
    found[carriers] = 1
    if not len(waits):
        return found
    size = max(size, int(waits.thread.max()) + 1, int(waits.target.max()) + 1)
    is_background = np.ones(size, bool)
    is_background[: len(found)] = found > 0
    pairs = np.unique(np.stack([waits.thread, waits.target])[:, waits.target >= 0], axis=1)
    while pairs.shape[1]:
        needed = pairs[1][~is_background[pairs[0]] & is_background[pairs[1]]]
        if not len(needed):
            break
        is_background[needed] = False
    is_background[carriers] = True
    codes = is_background.astype(np.uint8)
    watchers = _watchers(recording, waits)
    codes[watchers[is_background[watchers]]] = 2  # Background::kWatcher of native/account/account.h
    return codes


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
    for thread, target in np.unique(np.stack([waits.thread, waits.target])[:, joins], axis=1).T.tolist():
        above, steps = parent.get(thread), 0
        while above is not None and above != target and steps < len(rows):
            above, steps = parent.get(above), steps + 1
        if above == target:
            found.add(thread)
    return np.array(sorted(found), np.int64)


def _segment(found: Mapping[str, Any], origin: int) -> Segment:
    order = np.argsort(-found["core_ns"], kind="stable")
    return Segment(
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
    )
