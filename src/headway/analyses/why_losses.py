"""The losses of an account as people read them: cause, place, evidence, and a bound of the speedup.

Question   what stands behind the core time that a sweep charged to each cause, object and thread?
Method     rows are put together (why_rows), named (why_places), explained (why_evidence), bounded (why_bounds) and ranked by
           what would likely be gained (why_replay). How long a
           loss was there: the waits for its object; pauses, start and end as the JVM tells them; for sleep and I/O without such
           records the time that its threads were blocked so. Its core time won't do: where fewer cores were idle than threads
           waited, each of these has a part of a core only. So what the kernel alone tells of other waits has no bound.
Assumes    and errs as these modules do.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses import why_types as causes
from headway.analyses.spans import Spans
from headway.analyses.why_bounds import UNBOUNDED, Ground, Presence, bound
from headway.analyses.why_doubts import Doubts, said
from headway.analyses.why_evidence import Evidence
from headway.analyses.why_places import Places
from headway.analyses.why_replay import VANISHING, Replay, saved_ns
from headway.analyses.why_rows import Row, rows_of, there, waited_for
from headway.analyses.why_times import Times
from headway.analyses.why_types import CAUSES, Loss, Place
from headway.analyses.why_waits_keys import of_phaser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.why_rows import There
    from headway.analyses.why_sweep import Segment
    from headway.analyses.why_waits import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]

NAMES = tuple(CAUSES)
PHASES = {causes.GC: "gc_pause", causes.START: "startup", causes.END: "shutdown", causes.SAFEPOINT: "safepoint"}
STILL = (*PHASES, causes.UNKNOWN)
"""Causes while which the program does not run."""
OF_THE_KERNEL = (causes.OTHERS_WAIT, causes.BLOCKED, causes.JIT)
OF_THREADS = (causes.GC, causes.SAFEPOINT)
"""Beside pauses, these are waits for a thread of the JVM, of which the kernel alone tells."""
CALLS = (causes.SLEEP, causes.IO)
MADE = (causes.STARVED, causes.FULL)
EXPLAINED = 0.005
"""Losses of at least this part of the core time get evidence."""
OF_A_PHASE = 3
"""Losses of a phase beside the whole that get the code they are in; none of them gets evidence."""


class Losses:
    """Makes the losses of accounts of one recording."""

    def __init__(self, recording: Recording, waits: Waits, span: tuple[int, int]) -> None:
        """Nothing is loaded until it is needed. All accounts lie within the span."""
        self.recording = recording
        self.waits = waits
        self.places = Places(recording, waits)
        self.evidence = Evidence(self.places)
        self.times = Times(recording, span)
        self.replay = Replay(recording, waits, span)
        self.doubts = Doubts(recording, waits)

    def of(
        self,
        segments: Sequence[Segment],
        window: tuple[int, int],
        ground: Ground,
        core_ns: int,
        *,
        is_whole: bool = True,
    ) -> tuple[Loss, ...]:
        """Return what was lost in segments that make up a window, what would gain most first; of a phase with less detail."""
        cause, key, thread, lost = (
            np.concatenate([getattr(each, name) for each in segments]) for name in ("cause", "key", "thread", "core_ns")
        )
        rows = rows_of(cause, key, thread, lost.astype(float), core_ns, self._same)
        waited = there(self.waits, [row.key for row in rows], window)
        ran = self._makers_ran(rows, window)
        lost_ns = sum(row.core_ns for row in rows)
        placing_ns = sum(row.core_ns for row in rows if NAMES[row.cause] == causes.SCHEDULER)
        ground = dataclasses.replace(ground, placing_ns=placing_ns, started_ns=self._started(rows, window))
        ahead = self._ahead(rows, window)
        found: list[tuple[float, Loss]] = []
        for number, row in enumerate(rows):
            share = row.core_ns / max(core_ns, 1)
            place = self._place(row, window if is_whole or number < OF_A_PHASE else None)
            is_explained = is_whole and share >= EXPLAINED and not row.is_rest
            text, figures = (
                self.evidence.of(NAMES[row.cause], row.key, row.thread, window) if is_explained else ((), None)
            )
            limit = None if row.is_rest else self._bound(row, waited.get(row.key), window, ground, lost_ns, ran)
            saved = saved_ns(NAMES[row.cause], row.core_ns, limit, ground, ahead.get(number, 0))
            is_told = limit is not None and (NAMES[row.cause] not in VANISHING or number in ahead)
            likely = ground.wall_ns / max(ground.wall_ns - saved, ground.wall_ns / UNBOUNDED) if is_told else None
            doubts = self.doubts.of(row, window)
            text = (*map(said, doubts), *text) if is_explained else text
            loss = Loss(NAMES[row.cause], row.core_ns, share, place, limit, text, figures, likely, doubts)
            found.append((saved, loss))
        return tuple(loss for _, loss in sorted(found, key=lambda each: (-each[0], -each[1].core_ns)))

    def _ahead(self, rows: Sequence[Row], window: tuple[int, int]) -> Mapping[int, int]:
        """Return by row how far the program would be ahead without it; of rows of waits, the largest. Without a record of who
        waited for whom nothing can be replayed.
        """
        if self.waits.data is None:
            return {}
        vanishing = [
            number
            for number, row in enumerate(rows)
            if NAMES[row.cause] in VANISHING and not row.is_rest and (row.key >= 0 or NAMES[row.cause] in CALLS)
        ][: self.replay.groups()]
        groups = {rows[number].key: group for group, number in enumerate(vanishing) if rows[number].key >= 0}
        calls = {
            group: self.times.calls(NAMES[rows[number].cause], rows[number].threads)
            for group, number in enumerate(vanishing)
            if rows[number].key < 0
        }
        ahead = self.replay.ahead(groups, calls, len(vanishing), window).tolist()
        return dict(zip(vanishing, ahead, strict=True))

    def _same(self, cause: int, thread: int) -> tuple[str | None, int | None]:
        """Return what threads have in common that count as one."""
        return self.places.crowd(thread) if NAMES[cause] in CALLS else self.places.thread(thread)

    def _named(self, row: Row) -> tuple[str | None, int | None]:
        """Return the name of a loss's thread and its JVM; of several that count as one, what their names have in common."""
        names = {self.places.thread(thread) for thread in row.threads} if row.key < 0 else set()
        return self.places.crowd(row.thread) if len(names) > 1 else self.places.thread(row.thread)

    def _place(self, row: Row, window: tuple[int, int] | None) -> Place:
        """Return where it is; without a window what is known without looking at stacks."""
        if row.is_rest:
            return Place()
        if window is not None:
            place = self.places.of(NAMES[row.cause], row.key, row.thread, window)
            return dataclasses.replace(place, thread=self._named(row)[0])
        waited = self.waits.places[row.key] if 0 <= row.key < len(self.waits.places) else None
        name, pid = self._named(row)
        return Place(None, None, waited.name if waited else None, name, waited.pid if waited else pid)

    # --- how long it was there ---------------------------------------------------------------------------------------

    def _bound(
        self,
        row: Row,
        waited: There | None,
        window: tuple[int, int],
        ground: Ground,
        lost_ns: int,
        ran: Mapping[int, int],
    ) -> float | None:
        cause = NAMES[row.cause]
        of_room = 0.0 if cause in STILL else ground.share_of_room(row.core_ns, lost_ns)
        if waited is not None:
            threads = waited.peak + 1 if waited.peak else 0
            if threads and of_phaser(self.waits.places[row.key].class_name):
                cause = causes.CONDITION  # how many take part is not known: all of the wait may go
            maker = self._maker(row, ground, ran) if cause in MADE else 0
            return bound(
                cause, Presence(row.core_ns, waited.wall_ns, waited.thread_ns, threads, maker, of_room), ground
            )
        length = self._length(row, window)
        return None if length is None else bound(cause, Presence(row.core_ns, length, of_room=of_room), ground)

    def _length(self, row: Row, window: tuple[int, int]) -> int | None:
        """Return how long a loss without an object was there within the window at most; None where nothing tells."""
        cause = NAMES[row.cause]
        if cause in OF_THE_KERNEL or (cause in OF_THREADS and row.thread >= 0):
            return None
        if cause in CALLS:
            return self.times.in_calls(cause, row.threads, window) or None
        if cause == causes.CARRIERS:
            return waited_for(self.waits, row.cause, window)
        told = self._phases(PHASES[cause], window) if cause in PHASES else 0
        return told or min(row.core_ns, window[1] - window[0])

    def _makers_ran(self, rows: Sequence[Row], window: tuple[int, int]) -> Mapping[int, int]:
        """Return how long the threads that the other side of a queue waited for ran within the window."""
        makers = {each for row in rows if NAMES[row.cause] in MADE for each in row.threads if each >= 0}
        return self.times.ran(makers, window)

    def _maker(self, row: Row, ground: Ground, ran: Mapping[int, int]) -> int:
        """Return the work of the slow side of a queue. All work may be its, where that is not known: of virtual threads, say."""
        if not 0 <= row.thread < self.waits.platform_threads:
            return ground.work_ns
        return sum(ran.get(thread, 0) for thread in row.threads)

    def _started(self, rows: Sequence[Row], window: tuple[int, int]) -> int:
        """Return the core time that JVMs took to start within a window, if any core was lost to that."""
        if not any(NAMES[row.cause] == causes.START for row in rows):
            return 0
        pid, start, end = self._jvm_phases.get(PHASES[causes.START], (np.zeros(0, np.int64),) * 3)
        spans = zip(
            pid.tolist(), np.maximum(start, window[0]).tolist(), np.minimum(end, window[1]).tolist(), strict=True
        )
        return sum(self.times.jvm_ran(each, (begin, until)) for each, begin, until in spans)

    def _phases(self, kind: str, window: tuple[int, int]) -> int:
        """Return how long phases of a kind lasted within a window, those of several JVMs at once counted once."""
        _, start, end = self._jvm_phases.get(kind, (np.zeros(0, np.int64),) * 3)
        return Spans.of(np.maximum(start, window[0]), np.minimum(end, window[1])).total

    @cached_property
    def _jvm_phases(self) -> Mapping[str, tuple[Ints, Ints, Ints]]:
        """Phases by kind: processes, begins and ends."""
        origin = self.recording.window_ns[0]
        rows = self.recording.query("SELECT kind, pid, start_ns, dur_ns FROM jvm_phase").fetchall()
        found: dict[str, tuple[Ints, Ints, Ints]] = {}
        for kind in {row[0] for row in rows}:
            pid, start, dur = np.array([row[1:] for row in rows if row[0] == kind], dtype=np.int64).T
            found[kind] = pid, start - origin, start - origin + dur
        return found
