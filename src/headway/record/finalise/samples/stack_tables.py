"""Writes the tables `stack` and `frame`, lock stacks first, then samples'; each method and line is one frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.record.finalise.locks.lock_tables import LockTables
from headway.record.finalise.samples.sample_files import FileStacks
from headway.record.finalise.samples.sample_tables import SampleTables
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17


def write_stacks(
    directory: Path,
    locks: LockTables,
    samples: SampleTables,
    breathe: Callable[[], None],
    possible: ImpossibleValueFilter,
) -> dict[str, TableInfo]:
    """Write `stack`, `frame` and `sample` with `possible` values only; unrecorded kinds get no table. Raises OSError."""
    if not locks.has_stacks and not samples.is_on:
        return {}
    with TableWriter(directory, TABLES["frame"]) as frames, TableWriter(directory, TABLES["stack"]) as stacks:
        count = 0
        if locks.has_stacks:
            for rows in locks.stack_rows(breathe):
                stacks.write(rows)
                count = max(count, int(rows["stack_id"][-1].as_py()) + 1)
            of_locks = locks.frame_rows(possible)
            frames.write(of_locks)
            numbers = _FrameIds(of_locks)
        else:
            numbers = _FrameIds()
        for file in samples.files.values():
            frame_ids = numbers.of_stacks(file.stacks)
            new = numbers.new_rows()
            if new is not None:
                frames.write(new)
            for rows in _stack_rows(file.stacks, frame_ids, count):
                breathe()
                stacks.write(rows)
    tables = {"stack": stacks.info, "frame": frames.info}
    if samples.is_on:
        with TableWriter(directory, TABLES["sample"], possible) as writer:
            for rows in samples.rows(count):
                breathe()
                writer.write(rows)
        tables["sample"] = writer.info
    return tables


_Frame = tuple[str, str, int | None, str]


def _rows_of(frames: pa.Table) -> Iterator[_Frame]:
    columns = (frames[name].to_pylist() for name in ("class_name", "method", "line", "kind"))
    yield from zip(*columns, strict=True)


class _FrameIds:
    """The frame_id of each frame by what it shows.

    Frames of locks may show the same and have an id each: names that are no UTF-8 are escaped, and others look like that.
    """

    def __init__(self, frames: pa.Table | None = None) -> None:
        """Begin with the frames of locks, whose ids are their places."""
        shown = [] if frames is None else list(_rows_of(frames))
        self._ids = {frame: number for number, frame in enumerate(shown)}
        self._next = len(shown)
        self._new: list[_Frame] = []

    def of_stacks(self, stacks: FileStacks) -> Any:
        """Return the frame_id of each frame of a file, -1 for those that no stack has."""
        if stacks.frames is None:
            return np.zeros(0, dtype=np.int32)
        used = np.zeros(stacks.frames.num_rows, dtype=np.bool_)
        used[stacks.frame] = True
        pairs = zip(_rows_of(stacks.frames), used.tolist(), strict=True)
        return np.array([self._id_of(frame) if is_used else -1 for frame, is_used in pairs], np.int32)

    def _id_of(self, frame: _Frame) -> int:
        if frame not in self._ids:
            self._ids[frame] = self._next + len(self._new)
            self._new.append(frame)
        return self._ids[frame]

    def new_rows(self) -> pa.Table | None:
        """Return the rows of frames that are new since the last call, None for none."""
        import pyarrow as pa

        if not self._new:
            return None
        names = ("class_name", "method", "line", "kind")
        types = {"line": pa.int32()}
        columns = zip(names, zip(*self._new, strict=True), strict=True)
        arrays = {name: pa.array(values, types.get(name, pa.string())) for name, values in columns}
        ids = np.arange(self._next, self._next + len(self._new), dtype=np.int32)
        self._next, self._new = self._next + len(self._new), []
        return pa.table({"frame_id": ids, **arrays})


def _stack_rows(stacks: FileStacks, frame_ids: Any, first: int) -> Iterator[pa.Table]:
    import pyarrow as pa

    for begin in range(0, len(stacks.stack_id), BATCH):
        part = slice(begin, begin + BATCH)
        yield pa.table(
            {
                "stack_id": (stacks.stack_id[part] + first).astype(np.int32),
                "depth": stacks.depth[part].astype(np.int16),
                "frame_id": frame_ids[stacks.frame[part]],
                "is_cut": stacks.is_cut[part],
            }
        )
