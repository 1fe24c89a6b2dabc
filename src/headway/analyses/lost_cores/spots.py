"""Finds the one method that represents many stack samples.

Question   a loss has one place: which method may be named for all that a thread did?
Method     of each stack the innermost frame that is Java code and not the JDK's counts. A method that has at least half of the
           weight is the place. Where none has, as in a program's start, the place is the innermost method of the program that at
           least half of the weight is in or below. Its line is the most frequent one of it.
Wrong when no method, its callees included, has half: then there is no place. Samples without the program's own code count, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headway.analyses.common.columns import distinct
from headway.analyses.waits.object_names import is_jdk, is_proxy
from headway.analyses.waits.tables.blocks import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

HALF = 0.5
_JAVA = ("java", "interpreted", "inlined", "c1")


class Spot(NamedTuple):
    """A method and line, and its share of the weight: of its own, or with everything it calls."""

    method: str | None = None
    line: int | None = None
    share: float = 0.0
    is_innermost: bool = True


class _Frames(NamedTuple):
    """The own frames of some stacks, innermost first: stack, frame, and the number of the method."""

    stack: Ints
    frame: Ints
    method: Ints


def spot(recording: Recording, stack: Ints, weight: Ints) -> Spot:
    """Return the representative place of samples, given their stacks and weights."""
    if not len(stack):
        return Spot()
    stacks, at = np.unique(stack, return_inverse=True)
    weights = np.bincount(at.reshape(-1), weights=weight).astype(np.float64)
    names, lines, frames = _own_frames(recording, stacks)
    if not len(frames.stack) or not weights.sum():
        return Spot()
    of_frame = weights[np.searchsorted(stacks, frames.stack)]
    first = np.append(True, frames.stack[1:] != frames.stack[:-1])
    by_itself = np.bincount(frames.method[first], of_frame[first], len(names)) / weights.sum()
    method = int(by_itself.argmax())
    if by_itself[method] >= HALF:
        line = _line(frames, of_frame, lines, first & (frames.method == method))
        return Spot(names[method], line, float(by_itself[method]))
    # A method counts once in a stack, where it is innermost.
    pair = frames.stack * len(names) + frames.method
    once = np.zeros(len(pair), bool)
    once[np.unique(pair, return_index=True)[1]] = True
    below = np.bincount(frames.method[once], of_frame[once], len(names)) / weights.sum()
    candidates = np.flatnonzero(below >= HALF)
    if not len(candidates):
        return Spot()
    # All of them share a stack pairwise: callees have at most their callers' weight, and lie further in.
    depth = np.arange(len(pair)) - np.maximum.accumulate(np.where(first, np.arange(len(pair)), 0))
    depths = np.bincount(frames.method[once], depth[once] * of_frame[once], len(names))
    method = int(min(candidates, key=lambda each: (round(below[each], 9), depths[each])))
    line = _line(frames, of_frame, lines, once & (frames.method == method))
    return Spot(names[method], line, float(below[method]), is_innermost=False)


def _line(frames: _Frames, weight: Floats, lines: dict[int, int | None], which: NDArray[np.bool_]) -> int | None:
    """Return the line that has most weight of some frames of one method."""
    sums: dict[int | None, float] = {}
    for frame, ns in zip(frames.frame[which].tolist(), weight[which].tolist(), strict=True):
        sums[lines[frame]] = sums.get(lines[frame], 0.0) + ns
    return max(sums, key=lambda each: sums[each])


def _own_frames(recording: Recording, stacks: Ints) -> tuple[list[str], dict[int, int | None], _Frames]:
    """Return methods, lines by frame, and the frames of stacks that are the program's own Java code."""
    rows = recording.query(
        "SELECT frame_id, class_name, method, line FROM frame WHERE class_name IS NOT NULL AND method IS NOT NULL"
        f" AND kind IN ({', '.join(repr(kind) for kind in _JAVA)})"
    ).fetchall()
    own_classes = {name: not is_jdk(name) and not is_proxy(name) for name in {row[1] for row in rows}}
    names: dict[str, int] = {}
    method_of: dict[int, int] = {}
    lines: dict[int, int | None] = {}
    for frame, class_name, method, line in rows:
        if own_classes[class_name]:
            method_of[frame] = names.setdefault(f"{class_name}.{method}", len(names))
            lines[frame] = line
    wanted = ", ".join(map(str, distinct(stacks).tolist()))
    found = recording.query(
        f"SELECT CAST(stack_id AS BIGINT) AS stack, CAST(frame_id AS BIGINT) AS frame FROM stack WHERE stack_id IN ({wanted})"
        " ORDER BY stack_id, depth"
    ).fetchnumpy()
    stack, frame = whole(found["stack"]), whole(found["frame"])
    frames, at = np.unique(frame, return_inverse=True)
    method = np.array([method_of.get(each, -1) for each in frames.tolist()], np.int64)[at.reshape(-1)]
    own = method >= 0
    return list(names), lines, _Frames(stack[own], frame[own], method[own])
