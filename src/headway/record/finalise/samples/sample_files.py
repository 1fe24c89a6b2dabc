"""Reads what async-profiler left in the spool for one JVM: samples, stacks, frames and its notes.

Frames of headway's hooks, of its agent and of async-profiler itself are left out of the stacks: they are what the program would
not have without headway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import HeadwayError
from headway.record.jfr.samples import STATES, SampleReader, event_of, read_samples
from headway.record.request.sampling import LIBRARY
from headway.store.files import read_bytes
from headway.store.shared_texts import MOST_BYTES, shortened

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["STATES", "FileSamples", "FileStacks", "SampleFile", "read_sample_file"]

_MOST_NOTES_BYTES = 1 << 20
_LONGEST_REASON_BYTES = 1024
"""The manifest has one of each JVM."""
ROW_BYTES = 200
"""What a sample, or a frame of a stack, takes while its file is read, all copies together."""
_OWN_CLASSES = ("jdk.internal.misc.HeadwayHook",)
_SIGNAL_RETURN = ("__restore_rt", "__kernel_rt_sigreturn")
"""Where a sampling signal leaves off when the next one is due already."""
_OWN_LIBRARIES = ("libheadway_agent", LIBRARY.removesuffix(".so"))


def _none() -> Any:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class FileSamples:
    """Samples in columns of equal length. `thread`: an OS thread, or a thread_id; -1 none. `stack`: -1 none."""

    thread: NDArray[np.int64] = field(default_factory=_none)
    ns: NDArray[np.int64] = field(default_factory=_none)
    weight: NDArray[np.int64] = field(default_factory=_none)
    stack: NDArray[np.int64] = field(default_factory=_none)
    event: NDArray[np.int64] = field(default_factory=_none)
    """Index of `events`."""
    state: NDArray[np.int64] = field(default_factory=_none)
    """Index of STATES."""
    events: list[str] = field(default_factory=list)

    def where(self, rows: NDArray[Any]) -> FileSamples:
        """Return the given rows in the given order."""
        return self._of([column[rows] for column in self._columns()], self.events)

    @classmethod
    def _of(cls, columns: Sequence[NDArray[np.int64]], events: list[str]) -> FileSamples:
        thread, ns, weight, stack, event, state = columns
        return cls(thread, ns, weight, stack, event, state, events)

    def _columns(self) -> tuple[NDArray[np.int64], ...]:
        return self.thread, self.ns, self.weight, self.stack, self.event, self.state

    @classmethod
    def joined(cls, parts: Sequence[FileSamples]) -> FileSamples:
        """Concatenate several, with event numbers unified."""
        if not parts:
            return cls()
        events = list(dict.fromkeys(name for part in parts for name in part.events))
        for part in parts:
            codes = np.array([events.index(name) for name in part.events] or [0], dtype=np.int64)
            part.event, part.events = codes[part.event], events
        columns = zip(*(part._columns() for part in parts), strict=True)
        return cls._of([np.concatenate(column) for column in columns], events)


@dataclass(slots=True)
class FileStacks:
    """The stacks of one file, numbered from `first` on: one row per frame, innermost first. `frames`: the table `frame`."""

    first: int
    count: int
    stack_id: NDArray[np.int64]
    depth: NDArray[np.int64]
    frame: NDArray[np.int64]
    is_cut: NDArray[np.bool_]
    frames: pa.Table | None = None


@dataclass(slots=True)
class SampleFile:
    """One JVM's samples. `problem`: why there are none; `lost_from_ns`: samples after this time are lost.

    `started_ns`: when the sampler had begun, 0 where nothing says so; what threads executed before is in no sample.
    `has_old_code`: some code was compiled before the sampler came, and knows its methods and lines at safepoints only.
    """

    samples: FileSamples
    stacks: FileStacks
    engine: str | None = None
    problem: str = ""
    event_problem: str = ""
    damage: str = ""
    lost_from_ns: int | None = None
    started_ns: int = 0
    has_old_code: bool = False
    skipped: int = 0
    total: int = 0
    rows: int = 0
    """Samples, and frames of their stacks, that were looked at."""

    @property
    def name_bytes(self) -> int:
        """Return what the longer one of the columns of names takes."""
        frames = self.stacks.frames
        return 0 if frames is None else max(frames[name].nbytes for name in ("class_name", "method"))


def read_sample_file(
    paths: Sequence[Path],
    asked: Mapping[str, Any],
    first_stack: int,
    most_rows: int | None = None,
    most_name_bytes: int = MOST_BYTES,
) -> SampleFile:
    """Read the files that `sampling.files_of` found for one JVM; its stacks are numbered from `first_stack` on.

    `most_rows`: so many samples and frames of stacks are read, and the file's end is left out where it has more. Long names are
    cut where those of classes, or of methods, are more than `most_name_bytes`.
    """
    notes = _notes(next((path for path in paths if path.name.endswith(".txt")), None))
    jfr = next((path for path in paths if path.name.endswith((".jfr", ".part"))), None)
    file = SampleFile(FileSamples(), _no_stacks(first_stack))
    file.problem = shortened(notes.get("problem", ""), _LONGEST_REASON_BYTES)
    file.event_problem = shortened(notes.get("event_problem", ""), _LONGEST_REASON_BYTES)
    file.skipped = _number(notes, "samples_skipped_total") + _number(notes, "calltracestorage_overflows_total")
    file.total = _number(notes, "samples_total")
    file.started_ns = _number(notes, "started_ns")
    file.has_old_code = "old_code" in notes
    if not file.event_problem and "started_ns" in notes:
        file.engine = _engine(asked)
    if jfr is None:
        if not file.problem:
            file.problem = "the sampler did not begin" if notes else "its sampler left no file"
        return file
    try:
        reader = read_samples(jfr)
        _take(reader, file, first_stack, most_rows, most_name_bytes)
    except (HeadwayError, OSError, MemoryError) as error:
        file.damage = (
            error.notice.message if isinstance(error, HeadwayError) else str(error) or "it needs too much memory"
        )
        if jfr.suffix == ".part":  # killed before its first chunk was complete
            file.damage, file.lost_from_ns = "", _number(notes, "started_ns")
        return file
    if jfr.suffix == ".part":
        ends = [each["start_ticks"] + each["dur_ns"] for each in reader.file.chunks() if not each["is_cut"]]
        file.lost_from_ns = max(ends, default=_number(notes, "started_ns"))
        file.samples = file.samples.where(np.flatnonzero(file.samples.ns < file.lost_from_ns))
    elif reader.problems and not file.damage:
        file.damage = reader.problems[0]
    return file


def _engine(asked: Mapping[str, Any]) -> str | None:
    """Return how the event of the CPU was sampled: by a timer of each thread's CPU clock, or by perf events."""
    of_cpu = [name for name in asked.get("events", ()) if name not in ("alloc", "wall")]
    if not of_cpu:
        return None
    return "ctimer" if of_cpu[0] == "cpu" else "perf_events"


def _notes(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        text = read_bytes(path, _MOST_NOTES_BYTES).decode(errors="replace")
    except OSError:  # gone, or something else in its place
        return {}
    pairs = (line.partition(" ") for line in text.splitlines())
    return {key: value for key, _, value in pairs}


def _number(notes: Mapping[str, str], key: str) -> int:
    value = notes.get(key, "")
    return int(value) if re.fullmatch(r"[0-9]{1,18}", value) else 0


# --- samples, stacks, frames --------------------------------------------------------------------------------------------


def _take(
    reader: SampleReader, file: SampleFile, first_stack: int, most_rows: int | None, most_name_bytes: int
) -> None:
    parts: list[FileSamples] = []
    stacks: list[Mapping[str, NDArray[Any]]] = []
    for batch in reader:
        kept = len(batch.ns) if most_rows is None else max(0, min(len(batch.ns), most_rows - file.rows))
        stack, os_tid = batch.stack[:kept].astype(np.int64), reader.os_tids()[batch.thread[:kept]]
        parts.append(
            FileSamples(
                thread=np.where(os_tid > 0, os_tid, -1),
                ns=batch.ns[:kept],
                weight=batch.count[:kept] * reader.intervals.of(batch.source),
                stack=np.where(stack >= 0, stack + first_stack, -1),
                event=np.zeros(kept, dtype=np.int64),
                state=batch.state[:kept].astype(np.int64),
                events=[event_of(batch.source, reader.intervals)],
            )
        )
        file.rows += kept
        if not _take_stacks(reader, file, stacks, most_rows):
            file.damage = "stacks of its samples are more than the memory holds: not all samples have one"
        if kept < len(batch.ns):
            taken = sum(len(part.ns) for part in parts)
            file.damage = f"its samples are more than the memory holds: those after the first {taken:,} are left out"
        if file.damage:
            break
    if not stacks:
        stacks.append(reader.stacks())
    file.samples = FileSamples.joined(parts)
    file.stacks = _without_own(stacks, reader.frames(most_name_bytes), first_stack)
    # A stack of nothing but headway's frames was taken where it could not be walked further: inside a signal handler.
    has_frames = np.zeros(file.stacks.count + 1, dtype=np.bool_)
    has_frames[file.stacks.stack_id - first_stack] = True
    at = np.maximum(file.samples.stack - first_stack, -1)
    at = np.where(at < file.stacks.count, at, -1)  # of those that are left out there are no frames
    file.samples.stack = np.where(has_frames[at], file.samples.stack, -1)


def _take_stacks(
    reader: SampleReader, file: SampleFile, stacks: list[Mapping[str, NDArray[Any]]], most_rows: int | None
) -> bool:
    """Add the stacks that are new, each whole or not at all, and return whether there is room for all."""
    new = reader.stacks()
    ids = new["stack_id"]
    room = len(ids) if most_rows is None else max(0, most_rows - file.rows)
    if len(ids) > room:  # numbered upwards
        first = int(np.searchsorted(ids, ids[room]))
        new = {name: column[:first].copy() for name, column in new.items()}
    stacks.append(new)
    file.rows += len(new["stack_id"])
    return len(ids) <= room


def _no_stacks(first: int) -> FileStacks:
    return FileStacks(first, 0, _none(), _none(), _none(), np.zeros(0, dtype=np.bool_))


def _without_own(parts: Sequence[Mapping[str, NDArray[Any]]], frames: pa.Table, first: int) -> FileStacks:
    """Return the stacks of a file without headway's frames; the depths of the others close up."""
    stack_id, depth, frame = (
        np.concatenate([part[name] for part in parts]).astype(np.int64) for name in ("stack_id", "depth", "frame_id")
    )
    is_cut = np.concatenate([part["is_cut"] for part in parts]) != 0
    count = int(stack_id.max()) + 1 if len(stack_id) else 0
    names = zip(*(frames[name].to_pylist() for name in ("class_name", "method", "kind")), strict=True)
    own_frame = np.array([_is_own(*each) for each in names] or [False])
    own = own_frame[frame]
    if own.any():
        order = np.lexsort((depth, stack_id))
        stack_id, depth, frame, is_cut, own = (each[order] for each in (stack_id, depth, frame, is_cut, own))
        left_out = np.cumsum(own)
        begins = np.flatnonzero(np.diff(stack_id, prepend=-1))
        before = np.repeat((left_out - own)[begins], np.diff(np.append(begins, len(own))))
        depth = depth - (left_out - before)
        stack_id, depth, frame, is_cut = (each[~own] for each in (stack_id, depth, frame, is_cut))
    return FileStacks(first, count, stack_id + first, depth, frame, is_cut, frames)


def _is_own(class_name: str, method: str, kind: str) -> bool:
    """Tell whether a frame is headway's; of a native one the class is the name of its library."""
    if kind in ("native", "jvm"):
        return method in _SIGNAL_RETURN or any(name in class_name for name in _OWN_LIBRARIES)
    return class_name.startswith(_OWN_CLASSES)
