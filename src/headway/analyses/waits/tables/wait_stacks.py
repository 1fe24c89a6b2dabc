"""The stacks at which threads wait, as columns: of a million only what is asked for becomes objects of Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import shared_texts
from headway.analyses.waits.object_names import is_jdk, is_of_locks, is_proxy
from headway.analyses.waits.rules import Wait
from headway.analyses.waits.tables.block_rows import whole

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Frame = tuple[str, str, int | None]
    """Class, method and line."""

_TOGETHER = 32
"""Stacks in a group, whose frames are read at once: mostly the neighbours are asked for next."""
_MOST_KEPT = 256
"""Groups of _TOGETHER stacks that stay in memory: all those of most recordings."""
_OF_WAITS = "SELECT stack_id FROM block UNION SELECT waker_stack_id FROM block UNION SELECT first_stack_id FROM blocker"


class WaitStacks:
    """Stacks by id, each with its frames, innermost first, whether it is cut, and the line at which it waits."""

    def __init__(self, recording: Recording) -> None:
        """Read the stacks of waits. Samples have stacks in the same table, a hundred times as many: these are left there."""
        stacks = f"s.stack_id IN ({_OF_WAITS})"
        frames = recording.query(
            f"SELECT frame_id, line FROM frame WHERE frame_id IN (SELECT s.frame_id FROM stack s WHERE {stacks})"
            " ORDER BY frame_id"
        ).fetchnumpy()
        ids, self._line = whole(frames["frame_id"]), whole(frames["line"])
        texts = shared_texts(
            recording.batches(
                "SELECT class_name, method FROM frame WHERE frame_id IN"
                f" (SELECT s.frame_id FROM stack s WHERE {stacks}) ORDER BY frame_id"
            ),
            ("class_name", "method"),
        )
        self._class, self._method = texts["class_name"], texts["method"]
        of_frames = recording.batches(
            f"SELECT s.stack_id, s.frame_id, s.is_cut FROM stack s WHERE {stacks}"
            " AND s.frame_id IN (SELECT frame_id FROM frame) ORDER BY s.stack_id, s.depth"
        )
        self._ids, self._begin, self._frame, self._is_cut = _stacks(of_frames, ids)
        self._is_dense = bool((self._ids == np.arange(len(self._ids))).all())
        self._kept: dict[int, list[tuple[Frame, ...]]] = {}

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Return the frames of a stack, innermost first; none for -1 or a stack that is not stored."""
        row = self._row_of(stack)
        return () if row < 0 else self._frames_of(row)

    def is_cut(self, stack: int) -> bool:
        """Return whether a stack is deeper than what is stored."""
        row = self._row_of(stack)
        return row >= 0 and bool(self._is_cut[row])

    def line_numbers(self, stacks: Ints) -> Ints:
        """Return the line at which each stack waits, as a number: its place in `lines`. The first one is that of no stack."""
        if not len(self._ids):
            return np.zeros(len(stacks), np.int64)
        at = np.minimum(np.searchsorted(self._ids, stacks), len(self._ids) - 1)
        return np.where(self._ids[at] == stacks, self._lines[0][at], 0)

    @property
    def lines(self) -> Sequence[str]:
        """Return all lines at which stacks wait, each once."""
        return self._lines[1]

    @cached_property
    def _lines(self) -> tuple[Ints, Sequence[str]]:
        """Return the number of each stored stack's line, and the lines."""
        number = {line_of_frames(()): 0}
        of_stack = np.zeros(len(self._ids), np.int64)
        for row in range(len(self._ids)):
            of_stack[row] = number.setdefault(line_of_frames(self._frames_of(row)), len(number))
        return of_stack, tuple(number)

    def _row_of(self, stack: int) -> int:
        if self._is_dense:
            return stack if 0 <= stack < len(self._ids) else -1
        row = int(self._ids.searchsorted(stack))
        return row if row < len(self._ids) and self._ids[row] == stack else -1

    def _frames_of(self, row: int) -> tuple[Frame, ...]:
        number, place = divmod(row, _TOGETHER)
        found = self._kept.get(number)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            found = self._kept[number] = self._read_group(number * _TOGETHER)
        return found[place]

    def _read_group(self, first: int) -> list[tuple[Frame, ...]]:
        """Return the frames of a group of stacks, which begins with a row."""
        begins = self._begin[first : first + _TOGETHER + 1].tolist()
        frames = self._frame[begins[0] : begins[-1]]
        lines = [None if line < 0 else line for line in self._line[frames].tolist()]
        every = list(zip(self._class[frames].tolist(), self._method[frames].tolist(), lines, strict=True))
        return [tuple(every[begin - begins[0] : end - begins[0]]) for begin, end in itertools.pairwise(begins)]


def _stacks(
    batches: Iterable[pa.RecordBatch], frame_ids: Ints
) -> tuple[Ints, Ints, NDArray[np.int32], NDArray[np.bool_]]:
    """Return of rows in order of their stacks the stacks, where each begins, the rows' frames as places in `frame_ids`, and
    which stacks are cut. A million stacks have tens of millions of rows: nothing else of a row is kept.
    """
    ids, begins, cut = ([np.zeros(0, kind)] for kind in (np.int64, np.int64, np.bool_))
    frames = [np.zeros(0, np.int32)]
    rows, before = 0, -1
    for batch in batches:
        stack, frame, is_cut = (whole(batch.column(at).to_numpy(zero_copy_only=False)) for at in range(3))
        first = np.flatnonzero(stack != np.append(before, stack[:-1]))
        ids.append(stack[first])
        begins.append(first + rows)
        frames.append(np.searchsorted(frame_ids, frame).astype(np.int32))
        cut.append(stack[is_cut > 0])
        rows, before = rows + len(stack), int(stack[-1]) if len(stack) else before
    found = np.concatenate(ids)
    return found, np.append(np.concatenate(begins), rows), np.concatenate(frames), np.isin(found, np.concatenate(cut))


def line_of_frames(frames: Sequence[Frame]) -> str:
    """Return the frame that is named as the place of a wait: the innermost one outside the JDK.

    Where all are the JDK's, the innermost outside of its locks, so that its code that locks is named; else that outside of what
    makes threads wait.
    """
    own = [frame for frame in frames if not is_jdk(frame[0]) and not is_proxy(frame[0])]
    if own:
        return frame_text(own[0])
    wait = Wait("", "", tuple((name, method) for name, method, _ in frames))
    callers = wait.callers
    plain = [frame for frame in frames if not is_proxy(frame[0])]
    outside = plain[len(plain) - len(callers) :]
    users = [frame for frame in outside if not is_of_locks(frame[0])]
    return frame_text((users or outside)[0]) if outside else "(stack not known)"


def frame_text(frame: Frame) -> str:
    """Format a frame: org.example.Store.put:42."""
    class_name, method, line = frame
    return f"{class_name}.{method}:{line}" if line is not None and line >= 0 else f"{class_name}.{method}"
