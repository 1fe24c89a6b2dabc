"""The stacks of a profile as columns, and which of them a regular expression matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct
from headway.analyses.stacks.labels import is_found
from headway.analyses.stacks.sources import NOTES
from headway.analyses.stacks.tree import StackColumns
from headway.analyses.stacks.types import KINDS, Frame
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

CUT = "(deeper than what is stored)"
NOT_STORED = "(the stack is not stored)"
_EXAMPLES = 3


@dataclass(frozen=True, eq=False)
class StackTable:
    """Stacks by `ids` (sorted; negative ones are NOTES), in the rows of `stacks`, whose frames are rows of `frames`."""

    ids: Ints
    stacks: StackColumns
    frames: tuple[Frame, ...]
    is_code: NDArray[np.bool_]

    def row_of(self, ids: Ints) -> Ints:
        """Return the row of each of some stack ids."""
        return np.searchsorted(self.ids, ids).astype(np.int64)

    def matching(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Return per stack whether the pattern matches one of its frames (Class.method); notes are no frames.

        A lambda's code goes by the method around it, too, as in the regions of a sweep.
        """
        hit = np.array([is_found(pattern, _name(frame)) for frame in self.frames], dtype=bool) & self.is_code
        counts = np.concatenate([[0], np.cumsum(hit[self.stacks.frames])])
        return counts[self.stacks.begin[1:]] > counts[self.stacks.begin[:-1]]

    def examples(self, wanted: str) -> str:
        """Return some frames, as examples for a message: those that are written like `wanted`, then the most frequent."""
        used = np.bincount(self.stacks.frames, minlength=len(self.frames)) * self.is_code
        names = (_name(self.frames[i]) for i in np.argsort(-used, kind="stable").tolist() if used[i])
        return ", ".join(nearest_first(wanted, names, _EXAMPLES)) or "no frames"


def _name(frame: Frame) -> str:
    return frame._replace(line=None).text


def load_stacks(recording: Recording, ids: Ints, by_line: bool = False, notes: Sequence[str] = ()) -> StackTable:
    """Load the stacks with these ids (repeated ones once). What is not stored, or is cut off, gets a node that says so.

    `notes`: those that come after NOTES.
    """
    wanted = distinct(ids)
    row, frame_id, cut = _rows(recording, wanted)
    known = _frames_with(recording, by_line, frame_id)
    note_frame = len(known.frames)
    notes = (*NOTES, *notes)
    frames = (*known.frames, *(Frame("", text) for text in (*notes, CUT, NOT_STORED)))
    cut_frame, lost_frame = note_frame + len(notes), note_frame + len(notes) + 1
    count = np.bincount(row, minlength=len(wanted))
    is_cut = np.zeros(len(wanted), dtype=bool)
    is_cut[row[cut]] = True
    is_note = wanted < 0
    length = count + is_cut + ((count == 0) | is_note)
    begin = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    note = KINDS.index("note")
    flat, kind = np.full(int(begin[-1]), lost_frame, np.int32), np.full(int(begin[-1]), note, np.int8)
    place = begin[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    is_stored = known.rows[frame_id] >= 0
    place, frame_id = place[is_stored], frame_id[is_stored]
    flat[place], kind[place] = known.rows[frame_id], known.kinds[frame_id]
    flat[begin[1:][is_cut] - 1] = cut_frame  # its outermost frame
    flat[begin[:-1][is_note]] = note_frame - 1 - wanted[is_note]
    is_code = np.arange(len(frames)) < note_frame
    return StackTable(wanted, StackColumns(begin, flat, kind), frames, is_code)


class _FramesOfStacks:
    """The distinct frames on stacks that were asked for; by frame_id the row of each (-1: not read yet), and its kind."""

    def __init__(self, recording: Recording, by_line: bool) -> None:
        """Begin without frames. `by_line`: lines of a method are frames of their own."""
        self._recording = recording
        self._number: dict[Frame, int] = {}
        self.by_line = by_line
        self.rows = np.full(0, -1, np.int64)
        self.kinds = np.zeros(0, np.int64)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Return the frames in the order of their rows."""
        return tuple(self._number)

    def add(self, ids: Ints) -> None:
        """Read the frames with these ids that were not read before; those that are not stored have no row."""
        more = max(int(ids.max(initial=-1)) + 1 - len(self.rows), 0)
        self.rows = np.append(self.rows, np.full(more, -1, np.int64))
        self.kinds = np.append(self.kinds, np.zeros(more, np.int64))
        is_wanted = np.zeros(len(self.rows), bool)
        is_wanted[ids[self.rows[ids] < 0]] = True
        if not is_wanted.any():
            return
        import pyarrow as pa

        kinds = {kind: number for number, kind in enumerate(KINDS)}
        once: dict[str, str] = {}
        text = f"SELECT frame_id, line, class_name, method, kind FROM frame WHERE frame_id < {len(self.rows)}"
        for batch in self._recording.batches(text):
            chosen = batch.filter(pa.array(is_wanted[batch.column("frame_id").to_numpy()]))
            for frame_id, line, class_name, method, kind in zip(
                *(each.to_pylist() for each in chosen.columns), strict=True
            ):
                name, of = (once.setdefault(each or "", each or "") for each in (class_name, method))
                frame = Frame(name, of, line if self.by_line and line is not None and line >= 0 else None)
                self.rows[frame_id] = self._number.setdefault(frame, len(self._number))
                self.kinds[frame_id] = kinds.get(kind, 0)


def _frames_with(recording: Recording, by_line: bool, ids: Ints) -> _FramesOfStacks:
    """Return a recording's frames, among them those with these ids: one copy for several profiles of it, as a report has."""
    kept = recording.kept.get(_FramesOfStacks)
    if not isinstance(kept, _FramesOfStacks) or kept.by_line != by_line:
        kept = recording.kept[_FramesOfStacks] = _FramesOfStacks(recording, by_line)
    kept.add(distinct(ids))
    return kept


def _rows(recording: Recording, wanted: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return the frames of the stacks wanted, in order of (row in wanted, depth), as (row, frame_id, is_cut)."""
    size = int(wanted.max(initial=-1)) + 1
    place = np.full(size + 1, -1)
    stored = np.flatnonzero(wanted >= 0)
    place[wanted[stored]] = stored
    parts: list[tuple[Ints, Ints, Ints, NDArray[np.bool_]]] = []
    text = f"SELECT stack_id, depth, frame_id, is_cut FROM stack WHERE stack_id < {size}"
    for batch in recording.batches(text):
        stack, depth, frame, cut = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
        row = place[stack]
        keep = row >= 0
        parts.append((row[keep], depth[keep], frame[keep].astype(np.int32), cut[keep].astype(bool)))
    if not parts:
        empty = np.zeros(0, np.int64)
        return empty, empty, np.zeros(0, dtype=bool)
    row, depth, frame, cut = (np.concatenate(column) for column in zip(*parts, strict=True))
    ordered = (np.diff(row) >= 0).all() and ((np.diff(depth) > 0) | (np.diff(row) > 0)).all()
    if not ordered:
        order = np.lexsort((depth, row))
        row, frame, cut = row[order], frame[order], cut[order]
    return row, frame, cut
