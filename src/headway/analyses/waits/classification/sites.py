"""Where threads wait: the stack of every block, its site, and its rule of waiting.

Stacks are not taken for every block (about once a millisecond per thread): a block without one counts for the stack that
its thread was last seen with on the same object, or, before its first, for the next one. Where its thread was never seen there
(virtual threads wait once each), it counts for the place of all others that waited for the object in the same way, if that is
one place. So the time waited is kept exactly and only its split over sites is an estimate, which rests on the blocks whose
stack was taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.columns import numbered, numbered_pairs
from headway.analyses.waits.classification.periodic_threads import with_periodic
from headway.analyses.waits.classification.polls import polls
from headway.analyses.waits.classification.pools import of_pools
from headway.analyses.waits.rules import OTHER, PUT_BACK, RULES, TIMED_WAIT, Rule, Wait, classify, serves_ring
from headway.analyses.waits.tables.blocks import KINDS
from headway.analyses.waits.tables.wait_stacks import frame_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]

_TIMED_PARK, _OWN_PARK = ([rule.id for rule in RULES].index(name) for name in ("timed-park", "own-park"))
_CONDITIONS = [RULES.index(OTHER), _OWN_PARK]
_TIMED_WAIT = RULES.index(TIMED_WAIT)
_PUT_BACK = [rule.id for rule in RULES].index(PUT_BACK)
_QUEUE_RULES = [
    number for number, rule in enumerate(RULES) if rule.id in ("queue-consumer", "queue-in-a-call", "worker")
]
"""Rules of waits for an element of what may be a queue."""
_FEW = 2
"""Waits for an object that make it no short-lived one."""


@dataclass(frozen=True, eq=False)
class Sites:
    """Per block: the stack it counts for (-1: unknown), whether that is its own, and its rule as an index into RULES (int16)."""

    stack: Ints
    taken: NDArray[np.bool_]
    rule: Ints
    contended: NDArray[np.bool_]


def sites_of(data: LockData) -> Sites:
    """Return every block's stack and rule, computed once per loaded recording."""
    kept = data.recording.kept.get(Sites)
    if isinstance(kept, tuple) and kept[0] is data.blocks and isinstance(kept[1], Sites):
        return kept[1]
    stack = _filled(data)
    known = _pooled(data, stack, _polling(data, stack, _rules(data, stack)))
    rule: Any = _paused(data, stack, with_periodic(data, stack, known)).astype(np.int16)
    contended = np.array([each.contention for each in RULES])[rule] if len(rule) else np.zeros(0, dtype=bool)
    found = Sites(stack, data.blocks.stack >= 0, rule, contended)
    data.recording.kept[Sites] = (data.blocks, found)
    return found


def _filled(data: LockData) -> Ints:
    """Return the stacks of blocks, those without one filled in: by the same object, else by one of the same class.

    The second only for objects that were waited for once or twice, where nothing else tells the place.
    """
    blocks, blockers = data.blocks, data.blockers
    stack = _at_the_one_place(data, fill_stacks(blocks.blocker, blocks.thread, blocks.stack))
    often = np.bincount(blocks.blocker, minlength=len(blockers)) > _FEW
    open_ones = (stack < 0) & ~often[blocks.blocker]
    if not open_ones.any():
        return stack
    class_of = blockers.classes[1]
    way = ((class_of[blocks.blocker] * len(KINDS) + blocks.kind) * 2 + blocks.is_timed).astype(np.int64)
    return np.where(open_ones, fill_stacks(way, blocks.thread, blocks.stack), stack)


def _at_the_one_place(data: LockData, stack: Ints) -> Ints:
    """Fill in unknown stacks where all known ones of the object, kind and time limit are at one line: with the most frequent."""
    blocks, blockers = data.blocks, data.blockers
    unknown = np.flatnonzero((stack < 0) & (blockers.is_object | blockers.is_sleep)[blocks.blocker])
    if not len(unknown):
        return stack
    way = (blocks.blocker.astype(np.int64) * len(KINDS) + blocks.kind) * 2 + blocks.is_timed
    known = np.flatnonzero((stack >= 0) & np.isin(way, way[unknown]))
    if not len(known):
        return stack
    ways, stacks, at = numbered_pairs(way[known], stack[known].astype(np.int64))
    line = data.stacks.line_numbers(stacks)
    order = np.lexsort((np.bincount(at, minlength=len(ways)), ways))
    ways, stacks, line = ways[order], stacks[order], line[order]
    first = np.flatnonzero(np.append(True, ways[1:] != ways[:-1]))
    last = np.append(first[1:], len(ways)) - 1
    is_one = np.minimum.reduceat(line, first) == np.maximum.reduceat(line, first)
    there = np.minimum(np.searchsorted(ways[first], way[unknown]), len(first) - 1)
    joins = is_one[there] & (ways[first][there] == way[unknown])
    found = stack.copy()
    found[unknown[joins]] = stacks[last][there[joins]]
    return found


def fill_stacks(blocker: Ints, thread: Ints, stack: Ints) -> Ints:
    """Return the stack of each block, or else of the same thread's block before it (or after it) on the same object."""
    count = len(stack)
    if not count:
        return stack
    order = np.lexsort((thread, blocker))  # stable: of each in the order given
    sorted_stack = stack[order]
    changed = np.ones(count, dtype=bool)
    for column in (blocker[order], thread[order]):
        changed[1:] &= column[1:] == column[:-1]
    changed[1:] = ~changed[1:]
    index = np.arange(count, dtype=np.int32 if count < 1 << 31 else np.int64)
    first = np.maximum.accumulate(np.where(changed, index, 0))
    before = np.maximum.accumulate(np.where(sorted_stack >= 0, index, -1))
    ends = np.append(np.flatnonzero(changed)[1:], count).astype(index.dtype)
    last = ends[np.cumsum(changed, dtype=index.dtype) - 1]
    after = np.minimum.accumulate(np.where(sorted_stack >= 0, index, np.array(count, dtype=index.dtype))[::-1])[::-1]
    found = np.where(
        before >= first,
        sorted_stack[np.maximum(before, 0)],
        np.where(after < last, sorted_stack[np.minimum(after, count - 1)], -1),
    )
    filled = np.empty_like(stack)
    filled[order] = found
    return filled


def _rules(data: LockData, stack: Ints) -> Ints:
    """Return the rule of each block; the same kind, class, stack and time limit are judged once."""
    blocks, blockers = data.blocks, data.blockers
    if not len(blocks):
        return np.zeros(0, dtype=np.int64)
    names, class_of = blockers.classes
    how = (class_of[blocks.blocker] * len(KINDS) + blocks.kind) * 2 + blocks.is_timed
    ways, stacks, inverse = numbered_pairs(how, stack + 1)
    judged = np.zeros(len(ways), dtype=np.int64)
    for i, (way, number) in enumerate(zip(ways.tolist(), stacks.tolist(), strict=True)):
        kind, name = KINDS[way // 2 % len(KINDS)], names[way // 2 // len(KINDS)]
        judged[i] = RULES.index(judge(data, kind, name, number - 1, bool(way % 2)))
    return judged[inverse]


def _polling(data: LockData, stack: Ints, rule: Ints) -> Ints:
    """Take parks with a time limit that other threads end for what they are: waits until another thread unparks."""
    timed = np.flatnonzero(rule == _TIMED_PARK)
    is_poll = polls(data, timed, stack, only_in_calls=True)
    rule[timed[is_poll]] = _OWN_PARK
    return rule


def _paused(data: LockData, stack: Ints, rule: Ints) -> Ints:
    """Take waits for a condition for pauses where the time was over before anybody came, and nobody ever comes."""
    blocks = data.blocks
    timed = np.flatnonzero(blocks.is_timed & np.isin(rule, _CONDITIONS))
    if len(timed):
        rule = rule.copy()
        is_pause = (blocks.waker[timed] < 0) & ~blocks.is_open[timed] & ~polls(data, timed, stack)
        rule[timed[is_pause]] = _TIMED_WAIT
    return rule


def _pooled(data: LockData, stack: Ints, rule: Ints) -> Ints:
    """Take waits for an element of a queue that others put back for waits for a pool's resource.

    Not those in a ring: all its stages wait at one condition, and each wakes the next one after its work, as if it put back.
    """
    takes = np.flatnonzero(np.isin(rule, _QUEUE_RULES))
    stacks, at = numbered(stack[takes])
    is_ring = np.array([serves_ring([each[:2] for each in data.frames(int(number))]) for number in stacks], dtype=bool)
    takes = takes[~is_ring[at]]
    rule[takes[of_pools(data, takes)]] = _PUT_BACK
    return rule


def judge(data: LockData, kind: str, class_name: str, stack: int, is_timed: bool) -> Rule:
    """Return the rule that classifies a wait."""
    frames = tuple((name, method) for name, method, _ in data.frames(stack))
    return classify(Wait(kind, class_name, frames, is_timed, data.is_cut(stack)))


def line_of(data: LockData, stack: int) -> str:
    """Return the line at which a stack waits."""
    return data.stacks.lines[int(data.stacks.line_numbers(np.array([stack]))[0])]


def lines_of(data: LockData, stacks: NDArray[np.int64]) -> dict[int, str]:
    """Return the line at which each of some stacks waits, once for each."""
    return {stack: line_of(data, stack) for stack in set(stacks.tolist())}


def stack_text(data: LockData, stack: int) -> tuple[str, ...]:
    """Format a stack, innermost frame first."""
    return tuple(map(frame_text, data.frames(stack)))
