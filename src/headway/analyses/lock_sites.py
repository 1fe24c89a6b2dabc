"""Where threads wait: the stack of every block, its site, and the rule of waiting that fits it.

Stacks are not taken for every block (about once a millisecond per thread): a block without one counts for the stack that
its thread was last seen with on the same object, or, before its first, for the next one. So the time waited is kept exactly
and only its split over sites is an estimate, which rests on the blocks whose stack was taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lock_arrays import numbered_pairs
from headway.analyses.lock_data import KINDS
from headway.analyses.lock_rules import RULES, Rule, Wait, classify, is_jdk, is_proxy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData

    Ints = NDArray[np.int64]

_FEW = 2
"""Waits for an object that make it no short-lived one."""


@dataclass(frozen=True, eq=False)
class Sites:
    """Per block: the stack it counts for (-1: none known), whether that is its own, and the number of its rule in RULES."""

    stack: Ints
    taken: NDArray[np.bool_]
    rule: Ints
    contended: NDArray[np.bool_]


def sites_of(data: LockData) -> Sites:
    """Give every block a stack and a rule."""
    stack = _filled(data)
    rule = _rules(data, stack)
    contended = np.array([each.contention for each in RULES])[rule] if len(rule) else np.zeros(0, dtype=bool)
    return Sites(stack, data.blocks.stack >= 0, rule, contended)


def _filled(data: LockData) -> Ints:
    """Return the stacks of blocks, those without one filled in: by the same object, else by one of the same class.

    The second only for objects that were waited for once or twice, where nothing else tells the place.
    """
    blocks, blockers = data.blocks, data.blockers
    stack = fill_stacks(blocks.blocker, blocks.thread, blocks.stack)
    often = np.bincount(blocks.blocker, minlength=len(blockers)) > _FEW
    open_ones = (stack < 0) & ~often[blocks.blocker]
    if not open_ones.any():
        return stack
    _, class_of = np.unique(np.array(blockers.table["class_name"], dtype=object), return_inverse=True)
    way = ((class_of[blocks.blocker] * len(KINDS) + blocks.kind) * 2 + blocks.is_timed).astype(np.int64)
    return np.where(open_ones, fill_stacks(way, blocks.thread, blocks.stack), stack)


def fill_stacks(blocker: Ints, thread: Ints, stack: Ints) -> Ints:
    """Return the stack of each block, or else of the same thread's block before it (or after it) on the same object."""
    count = len(stack)
    if not count:
        return stack
    order = np.lexsort((np.arange(count), thread, blocker))
    a, b, sorted_stack = blocker[order], thread[order], stack[order]
    changed = np.concatenate([[True], (np.diff(a) != 0) | (np.diff(b) != 0)])
    index = np.arange(count)
    first = np.maximum.accumulate(np.where(changed, index, 0))
    before = np.maximum.accumulate(np.where(sorted_stack >= 0, index, -1))
    last = np.append(np.flatnonzero(changed)[1:], count)[np.cumsum(changed) - 1]
    after = np.minimum.accumulate(np.where(sorted_stack >= 0, index, count)[::-1])[::-1]
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
    names, class_of = np.unique(np.array(blockers.table["class_name"], dtype=object), return_inverse=True)
    how = (class_of[blocks.blocker] * len(KINDS) + blocks.kind) * 2 + blocks.is_timed
    ways, stacks, inverse = numbered_pairs(how, stack + 1)
    judged = np.zeros(len(ways), dtype=np.int64)
    for i, (way, number) in enumerate(zip(ways.tolist(), stacks.tolist(), strict=True)):
        kind, name = KINDS[way // 2 % len(KINDS)], str(names[way // 2 // len(KINDS)])
        judged[i] = RULES.index(judge(data, kind, name, number - 1, bool(way % 2)))
    return judged[inverse]


def judge(data: LockData, kind: str, class_name: str, stack: int, is_timed: bool) -> Rule:
    """Return the rule of a wait."""
    frames = tuple((name, method) for name, method, _ in data.frames(stack))
    return classify(Wait(kind, class_name, frames, is_timed, data.is_cut(stack)))


def line_of(data: LockData, stack: int) -> str:
    """Return where a stack waits."""
    return line_of_frames(data.frames(stack))


def line_of_frames(frames: Sequence[tuple[str, str, int | None]]) -> str:
    """Return the innermost frame that is no JDK code, else the innermost one that asks to wait."""
    own = [frame for frame in frames if not is_jdk(frame[0]) and not is_proxy(frame[0])]
    if own:
        return frame_text(own[0])
    wait = Wait("", "", tuple((name, method) for name, method, _ in frames))
    callers = wait.callers
    plain = [frame for frame in frames if not is_proxy(frame[0])]
    return frame_text(plain[len(plain) - len(callers)]) if callers else "(stack not known)"


def frame_text(frame: tuple[str, str, int | None]) -> str:
    """Return a frame as people read it: org.example.Store.put:42."""
    class_name, method, line = frame
    return f"{class_name}.{method}:{line}" if line is not None and line >= 0 else f"{class_name}.{method}"


def stack_text(data: LockData, stack: int) -> tuple[str, ...]:
    """Return a stack, innermost frame first."""
    return tuple(map(frame_text, data.frames(stack)))
