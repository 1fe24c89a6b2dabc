"""The tables `stack` and `frame`: those of locks first, then those of stack samples; each method and line is one frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.record.lock_tables import LockTables
from headway.record.sample_files import Stacks
from headway.record.sample_tables import SampleTables
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17


def write_stacks(
    directory: Path, locks: LockTables, samples: SampleTables, breathe: Callable[[], None]
) -> dict[str, TableInfo]:
    """Write `stack`, `frame` and `sample`; what was not recorded has no table. Raises OSError."""
    if not locks.is_on and not samples.is_on:
        return {}
    with TableWriter(directory, TABLES["frame"]) as frames, TableWriter(directory, TABLES["stack"]) as stacks:
        count = 0
        if locks.is_on:
            for rows in locks.stack_rows(breathe):
                stacks.write(rows)
                count = max(count, int(rows["stack_id"][-1].as_py()) + 1)
            of_locks = locks.frame_rows()
            frames.write(of_locks)
            numbers = _numbers(of_locks)
        else:
            numbers = {}
        for file in samples.files.values():
            known = len(numbers)
            frame_ids = _numbered(file.stacks, numbers)
            if len(numbers) > known and file.stacks.frames is not None:
                frames.write(_new_frames(numbers, known))
            for rows in _stack_rows(file.stacks, frame_ids, count):
                breathe()
                stacks.write(rows)
    tables = {"stack": stacks.info, "frame": frames.info}
    if samples.is_on:
        with TableWriter(directory, TABLES["sample"]) as writer:
            for rows in samples.rows(count):
                breathe()
                writer.write(rows)
        tables["sample"] = writer.info
    return tables


_Frame = tuple[str, str, int | None, str]


def _rows_of(frames: pa.Table) -> Iterator[_Frame]:
    columns = (frames[name].to_pylist() for name in ("class_name", "method", "line", "kind"))
    yield from zip(*columns, strict=True)


def _numbers(frames: pa.Table) -> dict[_Frame, int]:
    return {frame: number for number, frame in enumerate(_rows_of(frames))}


def _numbered(stacks: Stacks, numbers: dict[_Frame, int]) -> Any:
    """Return the frame_id of each frame of a file, -1 for those that no stack has; new ones are added to `numbers`."""
    if stacks.frames is None:
        return np.zeros(0, dtype=np.int32)
    used = np.zeros(stacks.frames.num_rows, dtype=np.bool_)
    used[stacks.frame] = True
    pairs = zip(_rows_of(stacks.frames), used.tolist(), strict=True)
    return np.array([numbers.setdefault(frame, len(numbers)) if is_used else -1 for frame, is_used in pairs], np.int32)


def _new_frames(numbers: dict[_Frame, int], known: int) -> pa.Table:
    import pyarrow as pa

    added = list(numbers)[known:]
    columns = zip(*added, strict=True)
    names = ("class_name", "method", "line", "kind")
    ids = np.arange(known, len(numbers), dtype=np.int32)
    types = {"line": pa.int32()}
    arrays = {name: pa.array(values, types.get(name, pa.string())) for name, values in zip(names, columns, strict=True)}
    return pa.table({"frame_id": ids, **arrays})


def _stack_rows(stacks: Stacks, frame_ids: Any, first: int) -> Iterator[pa.Table]:
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
