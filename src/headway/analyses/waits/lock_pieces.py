"""Cuts waits for locks where the holder changes, and follows holders that wait for another lock themselves.

Method     threads.holders tells who held each object when. A wait is cut at the changes; a piece whose holder is blocked on
           another lock meanwhile goes to that lock and its holder, and so on. Where that leads back to who waits, or does not
           end, the piece stays with the lock it began with, and is marked as a cycle. Between a release and the next acquire it
           is the next holder that is waited for: it is being woken.
Bounded    a lock with many waiters and short holds has waiters x holds pieces. Where that is too many, of each stretch of time
           only the thread that held longest counts; how long the stretches are, `least_ns` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct
from headway.analyses.waits.threads.holders import HANDED_OVER
from headway.analyses.waits.threads.holders import timeline as holders_of
from headway.analyses.waits.threads.timelines import intervals, timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.waits.threads.timelines import Timeline

    Ints = NDArray[np.int64]

LEAST_BOUND = 500_000
PIECES_PER_SPAN = 4
_SHORTEST_STRETCH_NS = 50_000
_MOST_STEPS = 8


@dataclass(frozen=True, eq=False)
class LockPieces:
    """Pieces of waits for locks: `block` is the waiter's own, `at` the block that tells which lock it comes down to in the end,
    `holder` has that lock (-1: nobody, or not known). `least_ns`: holders that had it shorter may be left out.
    """

    block: Ints
    start: Ints
    end: Ints
    at: Ints
    holder: Ints
    is_cycle: NDArray[np.bool_]
    least_ns: int


def lock_pieces(data: LockData, contended: NDArray[np.bool_], block: Ints, start: Ints, end: Ints) -> LockPieces:
    """Cut spans of blocks on locks at the changes of holder, and follow chains of locks to their last holder.

    `contended` says which of all blocks are contention.
    """
    if not len(block):
        none = np.zeros(0, np.int64)
        return LockPieces(none, none, none, none, none, np.zeros(0, bool), 0)
    blocker = data.blocks.blocker[block]
    objects = distinct(blocker)
    unit, time, holder, _ = holders_of(data, contended, distinct(block), objects)
    held = timeline(len(objects), unit, time, _handed_to(unit, holder))
    group = np.searchsorted(objects, blocker)
    held, least_ns = _bounded(held, group, start, end)
    span, begin, until, holder = held.over(group, start, end)
    own = block[span]
    holder = np.where(holder == data.blocks.thread[own], -1, holder)
    first = LockPieces(own, begin, until, own, holder, np.zeros(len(own), bool), least_ns)
    return _led_on(data, first)


def _handed_to(unit: Ints, holder: Ints) -> Ints:
    """Let who is being woken to have an object next count as its holder while nobody has it."""
    count = len(holder)
    known = np.where(holder != HANDED_OVER, np.arange(count), count)
    following = np.minimum(np.minimum.accumulate(known[::-1])[::-1], count - 1)
    there = unit[following] == unit
    return np.maximum(np.where((holder == HANDED_OVER) & there, holder[following], holder), -1)


def _bounded(holders: Timeline, group: Ints, start: Ints, end: Ints) -> tuple[Timeline, int]:
    """Thin a timeline until the spans are cut into few enough pieces; a span is one piece at least."""
    most = max(LEAST_BOUND, PIECES_PER_SPAN * len(group))
    least_ns = 0
    found = holders
    while found.pieces(group, start, end) > most:
        least_ns = max(_SHORTEST_STRETCH_NS, 2 * least_ns)
        found = holders.thinned(least_ns)
    return found, least_ns


def _led_on(data: LockData, first: LockPieces) -> LockPieces:
    """Give each piece to the lock at the end of its chain."""
    thread = data.blocks.thread[first.block]
    holders = distinct(first.holder[first.holder >= 0])
    waits_too = np.flatnonzero(np.isin(thread, holders))
    if not len(waits_too):
        return first
    threads = distinct(thread[waits_too])
    group = np.searchsorted(threads, thread[waits_too])
    waiting = intervals(len(threads), group, first.start[waits_too], first.end[waits_too], waits_too)
    now, done = first, []
    for _ in range(_MOST_STEPS):
        at = np.searchsorted(threads, now.holder)
        there = np.minimum(at, len(threads) - 1)
        follow = (now.holder >= 0) & (threads[there] == now.holder)
        done.append(_where(now, ~follow))
        now = _where(now, follow)
        if not len(now.block) or waiting.pieces(there[follow], now.start, now.end) > 2 * max(
            LEAST_BOUND, len(first.block)
        ):
            break
        now, settled, in_ring = _step(data, now, first, waiting, there[follow])
        done += [settled, _with_own_lock(data, in_ring, first)]
    done.append(_with_own_lock(data, now, first))
    return _joined(done)


def _step(
    data: LockData, now: LockPieces, first: LockPieces, waiting: Timeline, group: Ints
) -> tuple[LockPieces, LockPieces, LockPieces]:
    """Lay pieces over the waits of their holders: those that come to another lock, that have come to their end, that are led
    back to who waits.
    """
    span, begin, until, piece = waiting.over(group, now.start, now.end)
    other = np.maximum(piece, 0)
    blocks = data.blocks
    same_lock = blocks.blocker[first.at[other]] == blocks.blocker[now.at[span]]
    on = (piece >= 0) & ~same_lock
    back = on & (first.holder[other] == blocks.thread[now.block[span]])
    on &= ~back
    cut = LockPieces(
        now.block[span],
        begin,
        until,
        np.where(on, first.at[other], now.at[span]),
        np.where(on, first.holder[other], now.holder[span]),
        now.is_cycle[span],
        now.least_ns,
    )
    return _where(cut, on), _where(cut, ~on & ~back), _where(cut, back)


def _with_own_lock(data: LockData, endless: LockPieces, first: LockPieces) -> LockPieces:
    """Return pieces whose chain did not end as they were at first: with the lock that their own block is about."""
    if not len(endless.block):
        return endless
    blocks = distinct(first.block)
    group = np.searchsorted(blocks, first.block)
    unchanged = intervals(len(blocks), group, first.start, first.end, first.holder)
    span, begin, until, holder = unchanged.over(np.searchsorted(blocks, endless.block), endless.start, endless.end)
    own = endless.block[span]
    return LockPieces(own, begin, until, own, holder, np.ones(len(own), bool), endless.least_ns)


def _where(pieces: LockPieces, keep: NDArray[np.bool_]) -> LockPieces:
    return LockPieces(
        pieces.block[keep],
        pieces.start[keep],
        pieces.end[keep],
        pieces.at[keep],
        pieces.holder[keep],
        pieces.is_cycle[keep],
        pieces.least_ns,
    )


def _joined(parts: list[LockPieces]) -> LockPieces:
    return LockPieces(
        np.concatenate([part.block for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.holder for part in parts]),
        np.concatenate([part.is_cycle for part in parts]),
        parts[0].least_ns,
    )
