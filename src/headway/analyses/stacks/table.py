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
    frames, frame_of, kind_of = _frames(recording, by_line)
    note_frame = len(frames)
    notes = (*NOTES, *notes)
    frames += [Frame("", text) for text in (*notes, CUT, NOT_STORED)]
    cut_frame, lost_frame = note_frame + len(notes), note_frame + len(notes) + 1
    row, frame_id, cut = _rows(recording, wanted)
    count = np.bincount(row, minlength=len(wanted))
    is_cut = np.zeros(len(wanted), dtype=bool)
    is_cut[row[cut]] = True
    is_note = wanted < 0
    length = count + is_cut + ((count == 0) | is_note)
    begin = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    note = KINDS.index("note")
    flat, kind = np.full(int(begin[-1]), lost_frame, np.int32), np.full(int(begin[-1]), note, np.int8)
    place = begin[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    is_stored = frame_id < len(frame_of)
    place, frame_id = place[is_stored], frame_id[is_stored]
    flat[place], kind[place] = frame_of[frame_id], kind_of[frame_id]
    flat[begin[1:][is_cut] - 1] = cut_frame  # its outermost frame
    flat[begin[:-1][is_note]] = note_frame - 1 - wanted[is_note]
    is_code = np.arange(len(frames)) < note_frame
    return StackTable(wanted, StackColumns(begin, flat, kind), tuple(frames), is_code)


def _frames(recording: Recording, by_line: bool) -> tuple[list[Frame], Ints, Ints]:
    """Return the distinct frames, and per frame_id its row among them and its kind (a row of KINDS)."""
    rows = recording.query("SELECT frame_id, class_name, method, line, kind FROM frame").fetchall()
    found: dict[Frame, int] = {}
    size = max((row[0] for row in rows), default=-1) + 1
    frame_of, kind_of = np.zeros(size, np.int64), np.zeros(size, np.int64)
    kinds = {kind: number for number, kind in enumerate(KINDS)}
    for frame_id, class_name, method, line, kind in rows:
        frame = Frame(class_name or "", method or "", line if by_line and line is not None and line >= 0 else None)
        frame_of[frame_id] = found.setdefault(frame, len(found))
        kind_of[frame_id] = kinds.get(kind, 0)
    return list(found), frame_of, kind_of


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
