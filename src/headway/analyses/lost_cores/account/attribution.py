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
Checked    tests/property/test_account.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.account import half_windows
from headway.analyses.lost_cores.account.idle import idle_pieces
from headway.analyses.lost_cores.account.work_roles import work_roles
from headway.analyses.lost_cores.types import USED
from headway.analyses.scheduling import gc_times, other_processes
from headway.analyses.scheduling.activity import checked_window, has_scheduling, no_scheduling
from headway.analyses.scheduling.available_cores import known_cpus
from headway.analyses.waits.threads.process_exit import exit_ns
from headway.model import Kind
from headway.model.interruptible import interruptible
from headway.store.packing import STOLEN_UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.account.idle import IdlePieces
    from headway.analyses.scheduling.gc_times import CollectorTime
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BINS = 600
BIN_NAMES = (*(f"used_{kind}" for kind in USED), "stolen", "other_processes", *CAUSES)
"""The columns of `Attribution.bins`."""

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
    return _attribution(recording, found, (begin, end), inputs, others.known_by)


def _attribution(
    recording: Recording, found: Mapping[str, Any], window: tuple[int, int], inputs: Mapping[str, Any], others: str
) -> Attribution:
    """Return what the native account found in a window, with the time of collections as such."""
    collected = gc_times.load(recording)
    (begin, end), bin_ns = window, inputs["bin_ns"]
    segments = (segment_of(each, recording.window_ns[0]) for each in found["segments"])
    return Attribution(
        cores=inputs["cores"],
        start_ns=begin,
        end_ns=end,
        segments=tuple(_collected(each, collected) for each in segments),
        bin_ns=bin_ns,
        bins=_collected_bins(found["bins"].reshape(-1, len(BIN_NAMES)), begin, end, bin_ns, collected),
        directed=found["directed"],
        undirected=found["undirected"],
        knows_steal=not found["flags"] & STOLEN_UNKNOWN,
        others=others,
        out_of_order=int(found["out_of_order"]),
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
        "is_background": work_roles(recording, waits),
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
