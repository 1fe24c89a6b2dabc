"""Every wait of Java threads as typed pieces: the cause, the object, and the thread that is waited for.

Question   what does each blocked thread wait for at each moment?
Method     the blocks of the agent, each under the rule of its stack (waits.rules); the rule tells the cause (waits.wait_causes).
           Blocks of one thread that overlap (a notified thread that blocks again for its monitor) are laid out so that the
           inner one counts. Waits for locks are cut at the changes of the holder and led on along chains (waits.lock_pieces);
           what is waited for is numbered (waits.resources). Joins wait for a laggard only once somebody else has finished
           (waits.joins). A virtual thread waits until it is unparked; from then until it goes on it waits for a carrier, if
           none is free.
Assumes    what waits.rules and threads.holders assume.
Wrong when single blocks are missing because the agent's file was full. A virtual thread that was started, or has given way,
           and has no carrier, leaves no trace and is in no piece.
Checked    tests/property/test_wait_pieces.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import CARRIERS, FEW, IMBALANCE, LOCK, SLEEP
from headway.analyses.common.columns import places_of
from headway.analyses.common.intervals import Spans, pairs, reached
from headway.analyses.waits.carriers import without_carrier
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.joins import Joins, shared_from
from headway.analyses.waits.lock_pieces import lock_pieces
from headway.analyses.waits.nesting import flattened
from headway.analyses.waits.resources import keys_of
from headway.analyses.waits.tables import blocks as lock_data
from headway.analyses.waits.wait_causes import CODE, IS_IDLE, causes_of, is_directed, targets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.resources import Waited
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Waits:
    """Pieces in order of start; pieces of one thread do not overlap. Times are ns from the recording's start.

    `thread`, `target`: thread_id, or a number from `platform_threads` on for virtual threads (-1: no target known). `cause`:
    place in CAUSES; a thread that waits for work (a pool's worker, a timer) has a piece of too_few_tasks, which is a cause only
    where nobody at all has something to do; one with a target joins it while nobody else has finished. `key`: what is waited
    for, number of `places` (-1: nothing). `block`: row of the wait in `data.blocks`. `is_directed`: would run if that came.
    `is_cycle`: its chain of locks leads back to itself, or has no end. `least_ns`: of locks with many waiters, holders that had
    it for less than this may be left out (0: none is).
    """

    thread: NDArray[np.int32]
    start: Ints
    end: Ints
    cause: NDArray[np.uint8]
    key: NDArray[np.int32]
    target: NDArray[np.int32]
    is_directed: Bools
    is_cycle: Bools
    block: Ints
    places: Sequence[Waited]
    platform_threads: int
    least_ns: int
    data: LockData | None
    sites: Sites | None

    def __len__(self) -> int:
        """Return how many pieces there are."""
        return len(self.thread)

    def name(self, thread: int) -> str | None:
        """Return a thread's name; None for -1."""
        return self.data.names[thread] if self.data is not None and thread >= 0 else None


def load(recording: Recording, window: tuple[int, int] | None = None) -> Waits:
    """Load the waits of a recording or of a window (ns from its start); none where locks were not recorded.

    Raises HeadwayError HW401 (window empty or outside) or HW402 (no span).
    """
    window = None if window == (0, recording.wall_ns) else window
    kept = recording.kept.get(Waits)
    if isinstance(kept, tuple) and kept[0] == window and isinstance(kept[1], Waits):
        return kept[1]
    found = _load(recording, window)
    recording.kept[Waits] = (window, found)
    return found


def _load(recording: Recording, window: tuple[int, int] | None) -> Waits:
    if not lock_data.has_locks(recording):
        none = np.zeros(0, dtype=np.int64)
        return _as_waits(_Pieces(*[none] * 8), (), 0, 0, None, None)
    data = lock_data.load(recording, window)
    sites = sites_of(data)
    cause = causes_of(data, sites)
    key, places = keys_of(data, sites, cause, data.blocks.end - data.blocks.start)
    block, start, end = _laid_out(data)
    parts, tail = _until_unparked(data, block, start, end)
    block, start, end = parts
    locked = cause[block] == CODE[LOCK]
    locks = lock_pieces(data, sites.contended, block[locked], start[locked], end[locked])
    others = _others(data, sites, cause, key, (block[~locked], start[~locked], end[~locked]))
    of_locks = _Pieces(
        *(locks.block, locks.start, locks.end, cause[locks.block], key[locks.at], locks.holder),
        *(np.ones(len(locks.block), np.int64), locks.is_cycle.astype(np.int64)),
    )
    unmounted = _carriers(data, tail)
    others = _after_carriers(data, others, unmounted)
    return _as_waits(_joined([of_locks, others, unmounted]), places, data.platform_threads, locks.least_ns, data, sites)


@dataclass(frozen=True, eq=False)
class _Pieces:
    block: Ints
    start: Ints
    end: Ints
    cause: Ints
    key: Ints
    target: Ints
    directed: Ints
    cycle: Ints


_KINDS = {
    **dict.fromkeys(("block",), np.int32),
    **dict.fromkeys(("start", "end"), np.int64),
    **dict.fromkeys(("cause",), np.uint8),
    **dict.fromkeys(("key", "target"), np.int32),
    **dict.fromkeys(("directed", "cycle"), np.int8),
}
"""The types of the columns of pieces: there are more of these than of waits."""


def _joined(parts: list[_Pieces]) -> _Pieces:
    columns = (
        np.concatenate([getattr(part, name) for part in parts], dtype=kind, casting="unsafe")
        for name, kind in _KINDS.items()
    )
    return _Pieces(*columns)


def _as_waits(
    found: _Pieces, places: Sequence[Waited], threads: int, least_ns: int, data: LockData | None, sites: Sites | None
) -> Waits:
    thread = data.blocks.thread[found.block] if data is not None else found.block
    use = np.flatnonzero((found.end > found.start) & (thread >= 0))
    order = use[np.argsort(found.start[use], kind="stable")]
    return Waits(
        thread[order].astype(np.int32),
        found.start[order],
        found.end[order],
        found.cause[order].astype(np.uint8),
        found.key[order].astype(np.int32),
        found.target[order].astype(np.int32),
        found.directed[order] > 0,
        found.cycle[order] > 0,
        found.block[order],
        places,
        threads,
        least_ns,
        data,
        sites,
    )


def _laid_out(data: LockData) -> tuple[Ints, Ints, Ints]:
    """Return spans (block, start, end) that do not overlap within a thread."""
    blocks = data.blocks
    rows = np.flatnonzero(blocks.end > blocks.start)
    rows = rows[np.lexsort((blocks.start[rows], blocks.thread[rows]))]
    flat = flattened(blocks.thread[rows], blocks.start[rows], blocks.end[rows], rows)
    return flat.stack, flat.start, flat.end


def _until_unparked(
    data: LockData, block: Ints, start: Ints, end: Ints
) -> tuple[tuple[Ints, Ints, Ints], tuple[Ints, Ints, Ints]]:
    """Split the spans of virtual threads: until they were unparked, and from then until they had a carrier.

    One that kept its carrier waits for a core then, as its carrier does.
    """
    waking = data.blocks.waking[block]
    left = (data.blocks.thread[block] >= data.platform_threads) & ~data.blocks.is_pinned[block]
    split = left & (waking >= 0) & (waking < end)
    until = np.where(split, np.maximum(waking, start), end)
    return (block, start, until), (block[split], until[split], end[split])


def _others(data: LockData, sites: Sites, cause: Ints, key: Ints, spans: tuple[Ints, Ints, Ints]) -> _Pieces:
    """Return the pieces of all that is no lock: one per span, of joins two (before others had finished, and after)."""
    block, start, end = spans
    idle = np.isin(cause[block], IS_IDLE)
    pieces = _Pieces(
        *(block, start, end, cause[block], np.where(idle, -1, key[block])),
        np.where(idle, -1, targets_of(data, sites, cause, key)[block]),
        is_directed(data, sites, cause)[block].astype(np.int64),
        np.zeros(len(block), np.int64),
    )
    joins = np.flatnonzero((pieces.cause == CODE[IMBALANCE]) & (pieces.directed == 0) & (pieces.target >= 0))
    all_spans = (data.blocks.thread[block], start, end)
    thread, waking = data.blocks.thread[block[joins]], data.blocks.waking[block[joins]]
    shared = shared_from(data, all_spans, Joins(thread, start[joins], end[joins], waking, pieces.target[joins]))
    few = _Pieces(*(getattr(pieces, name)[joins] for name in _Pieces.__dataclass_fields__))
    few = dataclasses.replace(few, end=shared, cause=np.full(len(joins), CODE[FEW], dtype=np.int64))
    later = start.copy()
    later[joins] = shared
    return _joined([few, dataclasses.replace(pieces, start=later)])


def _carriers(data: LockData, tail: tuple[Ints, Ints, Ints]) -> _Pieces:
    """Return the pieces in which an unparked virtual thread waits while no carrier of its JVM is free."""
    block, start, end = without_carrier(data, *tail)
    nothing = np.full(len(block), -1, dtype=np.int64)
    code, ones = np.full(len(block), CODE[CARRIERS], dtype=np.int64), np.ones(len(block), dtype=np.int64)
    return _Pieces(block, start, end, code, nothing, nothing, ones, ones - 1)


def _after_carriers(data: LockData, pieces: _Pieces, unmounted: _Pieces) -> _Pieces:
    """Return pieces in which a virtual thread that sleeps on its carrier wants no core while others wait for a carrier.

    Cores are lost to those first: had they carriers, they would run, however long it sleeps.
    """
    sleeps = (pieces.cause == CODE[SLEEP]) & (pieces.directed > 0) & data.blocks.is_pinned[pieces.block]
    if not sleeps.any() or not len(unmounted.block):
        return pieces
    pid, waiting = (data.blockers.pid[data.blocks.blocker[each.block]] for each in (pieces, unmounted))
    parts = [_rows(pieces, np.flatnonzero(~(sleeps & np.isin(pid, waiting))))]
    asleep = np.flatnonzero(sleeps)
    asleep_in = {process: asleep[places] for process, places in places_of(pid[asleep])}
    for process, places in places_of(waiting):
        if process not in asleep_in:
            continue
        of_process = _rows(pieces, asleep_in[process])
        needed = Spans.of(unmounted.start[places], unmounted.end[places])
        among = _within(of_process, needed)
        parts.append(dataclasses.replace(among, directed=np.zeros(len(among.block), np.int64)))
        parts.append(_within(of_process, Spans.single(int(of_process.start.min()), int(of_process.end.max())) - needed))
    return _joined(parts)


def _rows(pieces: _Pieces, rows: Ints) -> _Pieces:
    return _Pieces(*(getattr(pieces, name)[rows] for name in _Pieces.__dataclass_fields__))


def _within(pieces: _Pieces, spans: Spans) -> _Pieces:
    """Return the parts of pieces inside some spans."""
    row, at = pairs(*reached(spans.start, spans.end, pieces.start, pieces.end))
    found = _rows(pieces, row)
    return dataclasses.replace(
        found, start=np.maximum(found.start, spans.start[at]), end=np.minimum(found.end, spans.end[at])
    )
