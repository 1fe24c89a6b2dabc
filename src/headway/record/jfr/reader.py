"""Reads a JFR file as batches of rows of one event at a time, in bounded memory (native/jfr/reader.h).

Times are in nanoseconds, by `FileTimes`. Text that is no UTF-8 is escaped. What could not be read is in `problems`, and the
rest is given: a file that was cut off is worth what is left of it.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.model.names import text
from headway.store.files import open_named, open_ordinary
from headway.store.shared_texts import MOST_BYTES, spelled_out

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

NONE = -(1 << 63)
"""The value of an integer column where there is none."""
_THREADS_AT_ONCE = 1 << 14
_KINDS = ("integer", "real", "boolean", "text", "thread", "stack")
FRAME_KINDS = {
    "Interpreted": "interpreted",
    "JIT compiled": "java",
    "Inlined": "inlined",
    "C1 compiled": "c1",
    "Native": "native",
    "C++": "jvm",
    "Kernel": "kernel",
}


class FileTimes(enum.IntEnum):
    """The clock that timestamps of a JFR file are converted to."""

    WALL = 0
    """Nanoseconds since 1970 as `jfr print` shows them: by the wall clock of each chunk whose types are new."""
    ONE_CLOCK = 1
    """The same, but with the first chunk's reading of the wall clock: time never jumps between chunks."""
    TICKS = 2
    """The file's own ticks as nanoseconds: CLOCK_MONOTONIC in files of async-profiler with clock=monotonic."""


@dataclass(frozen=True, slots=True)
class EventColumn:
    """A column of an event: its kind (integer, real, boolean, text, thread, stack), and values.

    Text columns hold indices into the batch's texts, thread columns places in `JfrFile.threads()`, stack columns ids of
    stacks, of 32 bits; -1 is none. Integer columns hold `NONE` for none.
    """

    name: str
    kind: str
    is_time: bool  # an integer column in ns
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Consecutive rows of one event, as columns."""

    event: str
    rows: int
    columns: Mapping[str, EventColumn]
    texts: Sequence[str]
    chunks: Sequence[tuple[int, int]] = ()
    """The chunks that the rows are of, in turn, by numbers that rise through the file, and how many rows each has."""

    def ints(self, name: str, default: int = NONE) -> NDArray[np.int64]:
        """Return an integer column, `default` in every row where the event lacks it."""
        import numpy as np

        column = self.columns.get(name)
        if column is None or column.kind not in ("integer", "boolean"):
            return np.full(self.rows, default, dtype=np.int64)
        return column.values

    def ids(self, kind: str, name: str) -> NDArray[np.int32]:
        """Return a column of thread or stack indexes (`kind`), -1 in every row where the event lacks it."""
        import numpy as np

        column = self.columns.get(name)
        return np.full(self.rows, -1, dtype=np.int32) if column is None or column.kind != kind else column.values

    def text_list(self, name: str) -> list[str | None]:
        """Return a text column as strings; None where there is none. Equal texts share one string."""
        column = self.columns.get(name)
        if column is None or column.kind != "text":
            return [None] * self.rows
        texts = [*self.texts, None]  # -1 is the last
        return [texts[place] for place in column.values.tolist()]


@dataclass(frozen=True, slots=True)
class JfrThread:
    """A thread in the file; `java_id` 0: not a Java thread, `os_tid` 0: a virtual thread."""

    os_tid: int
    java_id: int
    os_name: str
    java_name: str
    group: str
    is_virtual: bool

    @property
    def name(self) -> str:
        """Return the Java name if there is one, else the OS name."""
        return self.java_name or self.os_name


@contextmanager
def _by_descriptor(path: Path, *, is_named: bool) -> Iterator[str]:
    """Give a name of an ordinary file for native code, which takes UTF-8: that of an open descriptor. Raises OSError."""
    fd = open_named(path) if is_named else open_ordinary(path)
    try:
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


class JfrFile:
    """One pass over a JFR file: iterate over its batches; `threads` and `frames` are complete afterwards."""

    def __init__(
        self,
        path: Path | str,
        events: Sequence[str] = (),
        times: FileTimes = FileTimes.ONE_CLOCK,
        most_chunks: int = 0,
        shown: Path | None = None,
        *,
        is_named: bool = False,
    ) -> None:
        """Open a file for the named events (none: for all); messages name it `shown`, where that differs.

        `is_named`: by a user, so that it may be a link; what lies in a recording is never followed.

        Raises HeadwayError HW310 (no JFR file) or HW311 (of a newer format).
        """
        from headway import _native

        self.path = Path(path)
        try:
            with _by_descriptor(self.path, is_named=is_named) as name:
                self._reader = _native.JfrReader(name, list(events), int(times), most_chunks)
        except OSError as error:
            raise HeadwayError("HW310", path=shown or path, reason=error.strerror or str(error)) from error
        self._cut_names = 0
        if self._reader.newer:
            raise HeadwayError("HW311", path=shown or path, version=self._reader.newer)
        if self._reader.refused:
            raise HeadwayError("HW310", path=shown or path, reason=self._reader.refused)

    def __iter__(self) -> Iterator[EventBatch]:
        """Yield batches; within an event in the file's order, but for rows that several threads wrote at the same time."""
        for event, rows, columns, texts, begins in iter(self._reader.next, None):
            named = {name: EventColumn(name, _KINDS[kind], unit > 0, values) for name, kind, unit, values in columns}
            ends = [row for row, _ in begins[1:]] + [rows]
            chunks = [(chunk, end - row) for (row, chunk), end in zip(begins, ends, strict=True)]
            yield EventBatch(event, rows, named, [text(each) for each in texts], chunks)

    def stacks(self) -> dict[str, NDArray[Any]]:
        """Return the stacks new since the last call: stack_id, depth, frame_id, is_cut, one row per frame."""
        found: dict[str, NDArray[Any]] = self._reader.stacks()
        return found

    def frames(self, most_name_bytes: int = MOST_BYTES) -> pa.Table:
        """Return every frame so far, with the columns of the table `frame`; long names are cut where a column has more bytes."""
        import numpy as np
        import pyarrow as pa

        rows = self._reader.frames()
        texts = [text(each) for each in rows["texts"]]
        kinds = [FRAME_KINDS.get(each, "java") for each in texts]
        (classes, cut_classes), (methods, cut_methods) = (
            spelled_out(texts, rows[name], most_name_bytes) for name in ("class_name", "method")
        )
        self._cut_names = cut_classes + cut_methods
        return pa.table(
            {
                "frame_id": np.arange(len(rows["line"]), dtype=np.int32),
                "class_name": classes,
                "method": methods,
                "line": pa.array(rows["line"], mask=rows["line"] <= 0),
                "kind": spelled_out(kinds, rows["kind"])[0],
            }
        )

    def threads(self, first: int = 0) -> list[JfrThread]:
        """Return every thread so far, from the `first` on; thread columns hold indexes into the list of all."""
        found: list[JfrThread] = []
        while rows := self._reader.threads(first + len(found), _THREADS_AT_ONCE):
            found += (
                JfrThread(os_tid, java_id, text(os_name), text(java_name), text(group), is_virtual)
                for os_tid, java_id, os_name, java_name, group, is_virtual in rows
            )
        return found

    def chunks(self) -> list[dict[str, Any]]:
        """Return the chunks so far: offset, size, version, start_ns, dur_ns, base_ns, events, is_cut ..."""
        return list(self._reader.chunks())

    @property
    def problems(self) -> list[str]:
        """Return the first problems, each with its offset in the file."""
        found = [f"at byte {offset}: {what}" for offset, what in self._reader.problems()]
        return found + (
            [f"{self._cut_names} names of frames are longer than those of any program"] if self._cut_names else []
        )

    @property
    def problem_count(self) -> int:
        """Return how many problems there are."""
        return int(self._reader.problem_count) + (self._cut_names > 0)

    @property
    def share_read(self) -> float:
        """Return how much of the file has been read, 0 to 1."""
        return float(self._reader.position / max(1, self._reader.size))
