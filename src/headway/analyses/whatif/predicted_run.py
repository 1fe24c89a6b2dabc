"""Analyses a predicted run as a recorded one: its lost cores, its critical path, and the locks that threads wait for.

Question   what would limit the program after a change, and where?
Method     a replay reports what each thread does when (native/replay/replay_timeline.h), as slices and waits for locks. What the
           JVM reported of other waits, its phases and births of threads happen in the prediction when their threads come there.
           The account of lost cores (lost_cores.account) and the walk along the critical path (native/critical_path) go
           over these as they go over a recording. Ready threads share the cores.
Assumes    a thread's role, and who is in the background, stay; places are those of the recording.
Wrong when a wait would be for something else after the change: it keeps the cause that it had.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.causes import IDLE, LOCK, OF_THE_JVM
from headway.analyses.critical_path.sums import state_of
from headway.analyses.lost_cores.account import attribution
from headway.analyses.lost_cores.cause_kinds import NAMES
from headway.analyses.lost_cores.grouping import LossRow
from headway.analyses.lost_cores.losses import Losses
from headway.analyses.lost_cores.text import method_text, thread_text
from headway.analyses.scheduling import gc_times
from headway.analyses.scheduling.other_processes import GC_PAUSE, SAFEPOINT, THROTTLED
from headway.analyses.waits import pieces
from headway.analyses.waits.object_places import object_places
from headway.analyses.waits.wait_causes import CODE
from headway.analyses.whatif.types import PathPart, PredictedAccount, WaitedLock
from headway.model.interruptible import interruptible
from headway.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.lost_cores.account.attribution import AccountSegment
    from headway.analyses.waits.pieces import Waits
    from headway.analyses.whatif.recorded_locks import RecordedLocks
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Columns = dict[str, NDArray[Any]]

CORES = "cores"
"""What limits a run while all its cores are in use."""
PAUSES = (GC_PAUSE, SAFEPOINT)
MOST_LOCKS = 5
MOST_PATH_PARTS = 10
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class PredictedTimeline:
    """A replayed run's slices and waits, with its length and, where locks were decided anew, the plan of them."""

    native: _native.ReplayTimeline
    wall_ns: int
    cores: int
    locks: RecordedLocks | None
    plan: _native.LockPlan | None


@dataclass(frozen=True, slots=True)
class Limit:
    """A cause, for how much of a predicted run it keeps a core idle (CORES: all are busy), and its largest loss."""

    cause: str
    ns: int
    row: LossRow | None


class PredictedRuns:
    """Divides the core time of predicted runs by cause, for one recording; what its predictions share is loaded once."""

    def __init__(self, recording: Recording, run: RecordedRun) -> None:
        """Take the recording and the run that was made of it."""
        self._recording = recording
        self._run = run
        self._origin = recording.window_ns[0]

    def why_unknown(self, timeline: PredictedTimeline) -> str | None:
        """Return why there is no account of a predicted run: threads are missing from its slices; None where there is one."""
        if bool((self._waits.thread >= len(self._run.threads)).any()):
            return "virtual threads wait for something"  # they have no slices of their own
        if not timeline.native.is_whole:
            return "it would take more than 36 million slices"
        return None if timeline.wall_ns > 0 else "nothing of the run is left"

    def limits(self, timeline: PredictedTimeline) -> tuple[Limit, ...]:
        """Return for how much of a predicted run each cause keeps a core idle, and CORES that none is; the most first.

        Where a thread waits for what another one has, that is the cause, and not that one works alone.
        """
        segment = self._segment(timeline, self._slices(timeline), self._moved_waits(timeline), most_idle=1.0)
        by_cause = segment.by_cause
        idle_ns = int(by_cause.sum())
        found = [Limit(CORES, max(timeline.wall_ns - idle_ns, 0), None)]
        rows = self._losses.rows([segment], max(timeline.wall_ns, 1))
        for code in np.flatnonzero(by_cause).tolist():
            row = next((each for each in rows if each.cause == code and not each.is_rest), None)
            found.append(Limit(NAMES[code], int(by_cause[code]), row))
        return tuple(sorted(found, key=lambda each: (each.cause in OF_THE_JVM, -each.ns)))

    def place_of(self, limit: Limit) -> str | None:
        """Return where a cause keeps cores idle most; None where that is not known."""
        if limit.row is None:
            return None
        (loss,) = self._losses.named([limit.row], self._window, 1)
        return method_text(loss.place) or loss.place.lock or thread_text(loss.place) or None

    def account(self, timeline: PredictedTimeline) -> PredictedAccount:
        """Return where the cores of a predicted run go."""
        slices, moved = self._slices(timeline), self._moved_waits(timeline)
        segment = self._segment(timeline, slices, moved)
        core_ns = timeline.cores * timeline.wall_ns
        lost = self._losses.named(self._losses.rows([segment], core_ns), self._window, core_ns)
        return PredictedAccount(
            timeline.cores,
            timeline.wall_ns,
            gc_times.as_gc(segment.used_ns, self._collected_ns),
            int(segment.by_cause[CODE[IDLE]]),
            lost,
            self._locks(moved),
            self._path(timeline, slices),
        )

    # --- what all predictions have in common ---------------------------------------------------------------------------

    @property
    def _window(self) -> tuple[int, int]:
        begin, end = self._recording.window_ns
        return 0, end - begin

    @cached_property
    def _waits(self) -> Waits:
        return pieces.load(self._recording, None)

    @cached_property
    def _losses(self) -> Losses:
        return Losses(self._recording, self._waits, self._window)

    @cached_property
    def _inputs(self) -> dict[str, Any]:
        return attribution.account_inputs(self._recording, self._waits, None, self._window)

    @cached_property
    def _collected_ns(self) -> int:
        return int(gc_times.load(self._recording).between(np.array(self._window)).sum())

    @cached_property
    def _main(self) -> int:
        """The thread whose progress is the program's: the one that ends it, else the first that began to run."""
        threads = self._run.threads
        if self._run.last >= 0:
            return self._run.last
        program = [i for i, kind in enumerate(threads.kinds) if kind == Kind.APP.value]
        first = [i for i in program if threads.tid[i] != threads.pid[i]] or program
        return min(first, key=lambda i: (threads.names[i] != "main", int(threads.birth_ns[i])), default=0)

    def _speaker(self, pid: int, *, is_pause: bool) -> int:
        """Return the thread whose progress says when a phase of a JVM is: of pauses the one that carries them out."""
        threads = self._run.threads
        of_process = threads.by_process.get(pid, _NONE).tolist()
        if is_pause:
            return next(
                (i for i in of_process if threads.kinds[i] == Kind.VM.value and threads.names[i] == "VM Thread"), -1
            )
        if self._main in of_process:
            return self._main
        return next((i for i in of_process if threads.names[i] == "main"), self._main)

    @cached_property
    def _speakers(self) -> NDArray[np.int32]:
        spans = self._inputs["spans"]
        keys = list(zip(spans["pid"].tolist(), np.isin(spans["code"], PAUSES).tolist(), strict=True))
        found = {
            key: self._speaker(key[0], is_pause=key[1]) for key in set(keys)
        }  # there may be as many phases as threads
        return np.array([found[key] for key in keys], np.int32)

    # --- one prediction ------------------------------------------------------------------------------------------------

    def _slices(self, timeline: PredictedTimeline) -> Columns:
        return timeline.native.slices(self._origin)

    def _times(self, timeline: PredictedTimeline, thread: NDArray[np.int32], ns: Ints) -> Ints:
        """Return when threads come to where they were at recorded times, both CLOCK_MONOTONIC ns."""
        found: Ints = timeline.native.times(np.ascontiguousarray(thread, np.int32), np.ascontiguousarray(ns, np.int64))
        return found + self._origin

    def _moved_waits(self, timeline: PredictedTimeline) -> Columns:
        """Return the waits of the prediction: the recorded ones, when their threads come there, and those for planned locks.

        Of planned locks the replay has the waits: the recorded ones are for a lock that may be no more.
        """
        waits = self._inputs["waits"]
        if timeline.plan is not None and timeline.locks is not None:
            is_decided = (waits["cause"] == CODE[LOCK]) & np.isin(waits["key"], self._decided_keys(timeline.locks))
            waits = {name: column[~is_decided] for name, column in waits.items()}
        start = self._times(timeline, waits["thread"], waits["start_ns"])
        end = self._times(timeline, waits["thread"], waits["end_ns"])
        kept = np.flatnonzero(end > start)
        moved: Columns = {name: column[kept] for name, column in waits.items()}
        moved["start_ns"], moved["end_ns"] = start[kept], end[kept]
        if timeline.plan is not None and timeline.locks is not None:
            decided = self._lock_waits(timeline, timeline.plan, timeline.locks)
            moved = {name: np.concatenate([column, decided[name]]) for name, column in moved.items()}
        order = np.argsort(moved["start_ns"], kind="stable")
        return {name: np.ascontiguousarray(column[order]) for name, column in moved.items()}

    def _lock_waits(self, timeline: PredictedTimeline, plan: _native.LockPlan, locks: RecordedLocks) -> Columns:
        waits = timeline.native.lock_waits(plan)
        count = len(waits["thread"])
        return {
            "thread": waits["thread"],
            "start_ns": waits["start_ns"] + self._origin,
            "end_ns": waits["end_ns"] + self._origin,
            "cause": np.full(count, CODE[LOCK], np.uint8),
            "key": self._key_of(locks)[waits["lock"]],
            "target": waits["holder"],
            "is_directed": np.ones(count, np.uint8),
        }

    def _key_of(self, locks: RecordedLocks) -> NDArray[np.int32]:
        """Return by replayed lock as what the waits number it; -1 where no wait is left of it."""
        found = np.full(len(locks), -1, np.int32)
        key, at = self._waits_of(locks)
        found[at[at >= 0]] = key[at >= 0]
        return found

    def _decided_keys(self, locks: RecordedLocks) -> NDArray[np.int32]:
        """Return what waits are for by its numbers, as far as all of it is replayed locks."""
        key, at = self._waits_of(locks)
        return np.setdiff1d(key[at >= 0], key[at < 0])

    def _waits_of(self, locks: RecordedLocks) -> tuple[NDArray[np.int32], Ints]:
        """Return of each recorded wait for a lock what it is for, by number, and the replayed lock, -1 for none."""
        waits = self._waits
        if waits.data is None or not len(locks):
            return np.zeros(0, np.int32), _NONE
        number = np.full(len(waits.data.blockers) + 1, -1, np.int64)
        number[locks.rows] = np.arange(len(locks))
        for_locks = np.flatnonzero(waits.cause == CODE[LOCK])
        return waits.key[for_locks], number[waits.data.blocks.blocker[waits.block[for_locks]]]

    def _segment(
        self, timeline: PredictedTimeline, slices: Columns, waits: Columns, *, most_idle: float = math.inf
    ) -> AccountSegment:
        from headway import _native

        inputs = self._inputs
        exits = inputs["exit_ns"]
        is_known = exits < np.iinfo(np.int64).max
        moved_exits = exits.copy()
        mains = np.full(int(is_known.sum()), self._main, np.int32)
        moved_exits[is_known] = self._times(timeline, mains, exits[is_known])
        account = _native.LossAccount(
            from_ns=self._origin,
            to_ns=self._origin + timeline.wall_ns,
            cores=float(timeline.cores),
            bin_ns=max(timeline.wall_ns, 1),
            cuts=[],
            kinds=inputs["kinds"],
            is_background=inputs["is_background"],
            exit_ns=moved_exits,
            waits=waits,
            spans=self._moved_spans(timeline),
            others=dict.fromkeys(("start_ns", "end_ns", "other_ns", "headway_ns"), _NONE),
            probe_ns=_NONE,
            probe_thread=np.zeros(0, np.int32),
            shares_cores=True,
            most_idle=most_idle,
        )
        account.batch(tick_ns=1, **slices)
        found = interruptible(account.finish)
        return attribution.segment_of(found["segments"][0], self._origin)

    def _moved_spans(self, timeline: PredictedTimeline) -> Columns:
        """Return when the JVM's phases (start, pauses, exit) are in the predicted run; those of a CPU quota are left out."""
        spans, who = self._inputs["spans"], self._speakers
        start = self._times(timeline, who, spans["start_ns"])
        end = self._times(timeline, who, spans["end_ns"])
        kept = np.flatnonzero((end > start) & (who >= 0) & (spans["code"] != THROTTLED))
        return {
            "start_ns": start[kept],
            "end_ns": end[kept],
            "code": spans["code"][kept],
            "weight": spans["weight"][kept],
        }

    def _locks(self, waits: Columns) -> tuple[WaitedLock, ...]:
        """Return the locks that threads wait for longest, all added up."""
        for_locks = np.flatnonzero((waits["cause"] == CODE[LOCK]) & (waits["key"] >= 0))
        key, length = waits["key"][for_locks], (waits["end_ns"] - waits["start_ns"])[for_locks]
        total = np.bincount(key, weights=length)
        longest = [each for each in np.argsort(-total, kind="stable")[:MOST_LOCKS].tolist() if total[each] > 0]
        times = np.bincount(key)
        return tuple(
            WaitedLock(
                self._waits.places[each].name,
                self._line_of(each),
                round(total[each]),
                int(times[each]),
            )
            for each in longest
        )

    def _line_of(self, key: int) -> str | None:
        """Return the line at which a lock is waited for, as `headway locks` names it; None where it is unknown."""
        waits = self._waits
        rows = self._losses.places.pieces(LOCK, key, self._window)
        if waits.data is None or waits.sites is None or not len(rows):
            return None
        blocker = int(waits.data.blocks.blocker[waits.block[rows[0]]])  # objects that are one share their line
        return object_places(waits.data, waits.sites).text(blocker)

    def _path(self, timeline: PredictedTimeline, slices: Columns) -> tuple[PathPart, ...]:
        """Return what the end of the predicted run waits for, by thread and what it does, longest first."""
        from headway import _native

        threads = self._run.threads
        size = len(threads)
        to_ns = self._origin + timeline.wall_ns
        birth = self._times(timeline, np.arange(size, dtype=np.int32), threads.birth_ns)
        path = _native.CriticalPath(
            birth_ns=np.where(threads.birth_ns < self._origin, threads.birth_ns, birth),
            parent=threads.parent.astype(np.int32),
            is_sampler=np.zeros(size, np.uint8),
            role=np.array(
                [{Kind.VM: 1, Kind.APP: 2, Kind.CARRIER: 2}.get(Kind(each), 0) for each in threads.kinds], np.uint8
            ),
            first=np.zeros(size + 1, np.int64),
            start_ns=_NONE,
            end_ns=_NONE,
            waker=np.zeros(0, np.int32),
            waking_ns=_NONE,
            thread=self._last_thread(slices),
            from_ns=self._origin,
            to_ns=to_ns,
        )
        path.batch(tick_ns=np.ones(len(slices["thread_id"]), np.int16), **slices)
        path.finish()
        return _path_parts(path.take(), threads.names)

    def _last_thread(self, slices: Columns) -> int:
        """Return the thread that the predicted run ends with."""
        if self._run.last >= 0:
            return self._run.last
        is_program = np.array([kind == Kind.APP.value for kind in self._run.threads.kinds])
        rows = np.flatnonzero(is_program[slices["thread_id"]] & (slices["running_ticks"] > 0))
        return int(slices["thread_id"][rows[-1]]) if len(rows) else self._main


def _path_parts(found: Columns, names: Sequence[str]) -> tuple[PathPart, ...]:
    length = found["end_ns"] - found["start_ns"]
    sums: dict[tuple[str, str], int] = {}
    code = found["thread"].astype(np.int64) << 16 | found["state"].astype(np.int64) << 8 | found["blocked"]
    codes, at = np.unique(code, return_inverse=True)
    for each, ns in zip(codes.tolist(), np.bincount(at.reshape(-1), weights=length).tolist(), strict=True):
        thread, on_path, blocked = each >> 16, each >> 8 & 255, each & 255
        key = names[thread], state_of(on_path, blocked & 3, blocked >> 2)
        sums[key] = sums.get(key, 0) + round(ns)
    longest = sorted(sums, key=lambda key: -sums[key])[:MOST_PATH_PARTS]
    return tuple(PathPart(*key, sums[key]) for key in longest if sums[key] > 0)
