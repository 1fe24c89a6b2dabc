"""Imports collapsed stacks (`a;b;c 123`, outermost frame first) as a recording that has samples only.

async-profiler's suffixes tell a frame's kind: _[j] compiled, _[i] inlined, _[0] interpreted, _[1] by the first compiler,
_[k] kernel; a first frame [NAME tid=N] is the thread. Such files have no times.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway import __version__
from headway.errors import HeadwayError, Notice
from headway.record.imports.digits import number_below
from headway.record.imports.importer import ImportOptions, SourceFile
from headway.record.imports.sources import lines_of
from headway.store.files import open_named
from headway.store.manifest import Manifest
from headway.store.writer import write_recording

_LINE = re.compile(r"(.*\S)\s+(\d+)")
_KIND = re.compile(r"(.*)_\[([jikJIK01])\]")
_KINDS = {"j": "java", "i": "inlined", "k": "kernel", "0": "interpreted", "1": "c1"}
_THREAD = re.compile(r"\[(.*?)(?: tid=(\d{1,18}))?\]")
_NATIVE = re.compile(r"[:<(\s]|^\W|\.so\b")
MOST_DEPTH = 4096
MOST_STACKED, MOST_NAMED, MOST_NAME_CHARACTERS, MOST_LINES = 100_000_000, 4_000_000, 1 << 30, 50_000_000
"""Of a file: frames of all its stacks, different frames and threads, characters of their names, and lines.

A letter of such a file can be a frame, and take some hundred bytes of memory: so many of each take a few gigabytes.
"""


@dataclass(slots=True)
class _Tables:
    """Numbers frames and threads from 0 as lines name them."""

    frames: dict[tuple[str, str, str], int] = field(default_factory=dict)
    threads: dict[str, tuple[int, int]] = field(default_factory=dict)
    stacks: dict[bytes, int] = field(default_factory=dict)
    """By the ids of their frames, the innermost first, as bytes."""
    samples: tuple[array[int], array[int], array[int]] = field(
        default_factory=lambda: (array("i"), array("i"), array("q"))
    )
    """Of each line its thread (-1: none), its stack and its weight."""
    stacked: int = 0
    """The frames of all stacks."""
    named: int = 0
    """The characters of the names of all frames and threads."""
    counted: int = 0
    """The sum of all counts."""

    def frame(self, text: str) -> int:
        """Return the id of a frame."""
        kind = _KIND.fullmatch(text)
        name, letter = (kind[1], kind[2].lower()) if kind else (text, "")
        class_name, method = split(name)
        # Nobody says of a frame without a suffix: Class.method is Java's form, all else is native.
        known = _KINDS.get(letter, "java" if class_name else "native")
        number = self.frames.setdefault((class_name, method, known), count := len(self.frames))
        self.named += len(text) if number == count else 0
        return number

    def thread(self, text: str) -> int | None:
        """Return the id of a thread frame; None for other frames."""
        found = _THREAD.fullmatch(text)
        if found is None or (found[2] is None and ("." in text or "/" in text)):
            return None
        tid = int(found[2] or 0) & 0x7FFFFFFF
        number, _ = self.threads.setdefault(text, (count := len(self.threads), tid))
        self.named += len(text) if number == count else 0
        return number

    def stack(self, frames: array[int]) -> int:
        """Return the id of a stack."""
        number = self.stacks.setdefault(frames.tobytes(), count := len(self.stacks))
        self.stacked += len(frames) if number == count else 0
        return number

    @property
    def too_much(self) -> str:
        """Return what there is too much of, empty if nothing."""
        if self.stacked > MOST_STACKED:
            return f"the stacks until there have more than {MOST_STACKED:,} frames"
        if len(self.frames) + len(self.threads) > MOST_NAMED or self.named > MOST_NAME_CHARACTERS:
            return (
                f"more than {MOST_NAMED:,} different frames, or names of more than {MOST_NAME_CHARACTERS:,} characters"
            )
        return f"there are more than {MOST_LINES:,} stacks" if len(self.samples[0]) > MOST_LINES else ""


def split(name: str) -> tuple[str, str]:
    """Split java/util/HashMap.get or java.util.HashMap.get into (class, method); ("", name) where it is not Java."""
    bare = name.split("(", 1)[0] if name.endswith(")") else name
    class_name, dot, method = bare.rpartition(".")
    if not dot or not class_name or not method or _NATIVE.search(class_name):
        return "", name
    return class_name.replace("/", "."), method


class CollapsedImporter:
    """Makes a profile of collapsed stacks."""

    name = "collapsed"
    file_type = "collapsed stacks (named .collapsed, .folded or .txt)"

    def takes(self, file: SourceFile) -> bool:
        """Return whether its name is that of collapsed stacks."""
        return file.path.name.removesuffix(".gz").lower().endswith((".collapsed", ".folded", ".txt"))

    def write(self, source: Path, directory: Path, options: ImportOptions) -> None:
        """Write the recording. Raises HeadwayError HW313 (no stacks) or HW314 (a line that is none)."""
        _write(source, directory, options.event, options.interval_ns)


def _write(source: Path, directory: Path, event: str, interval_ns: int | None) -> None:
    """Write the recording. One count stands for `interval_ns` where that is given.

    Raises HeadwayError HW313 (no stacks) or HW314 (a line that is none).
    """
    import numpy as np
    import pyarrow as pa

    tables = _Tables()
    with open(open_named(source), encoding="utf-8", errors="backslashreplace") as lines:
        for number, line in _wanted(lines_of(source, lines)):
            _take(tables, source, number, line, interval_ns or 1)
    if not tables.samples[0]:
        raise HeadwayError("HW313", path=source, reason="it has no line with a stack and a count")
    frames = [(i, *key) for key, i in tables.frames.items()]
    thread, stack, weight = (np.frombuffer(column, column.typecode) for column in tables.samples)
    rows = len(thread)
    rows_by_table = {
        "frame": _columns(("frame_id", "class_name", "method", "kind"), frames),
        "stack": _stacks(tables),
        "thread": _threads(tables),
        "sample": pa.table(
            {
                "thread_id": pa.array(thread, mask=thread < 0),
                "ns": np.zeros(rows, dtype=np.int64),
                "event": pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [event]),
                "weight": weight,
                "stack_id": stack,
            }
        ),
    }
    write_recording(directory, _manifest(source, tables.counted, interval_ns or 1), rows_by_table, overwrite=True)


def _wanted(lines: Any) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, text


def _take(tables: _Tables, source: Path, number: int, line: str, factor: int) -> None:
    found = _LINE.fullmatch(line)
    if found is None:
        raise HeadwayError("HW314", path=source, line=number, reason="expected is 'frame;frame;frame COUNT'")
    names = found[1].split(";")
    most = -(-(1 << 63) // factor)
    count = number_below(found[2], most)
    if count is None or len(names) > MOST_DEPTH or tables.counted + count >= most:
        what = "its count does not fit 64 bits" if count is None else f"more than {MOST_DEPTH} frames"
        if count is not None and tables.counted + count >= most:
            what = "the sum of the counts until there does not fit 64 bits"
        raise HeadwayError("HW314", path=source, line=number, reason=what)
    tables.counted += count
    thread = tables.thread(names[0])
    own = names if thread is None else names[1:]
    stack = tables.stack(array("i", [tables.frame(name) for name in reversed(own)]))
    for column, value in zip(tables.samples, (-1 if thread is None else thread, stack, count * factor), strict=True):
        column.append(value)
    if what := tables.too_much:
        raise HeadwayError("HW314", path=source, line=number, reason=what)


def _stacks(tables: _Tables) -> Any:
    import numpy as np
    import pyarrow as pa

    lengths = np.array([len(key) for key in tables.stacks], dtype=np.int64) // array("i").itemsize
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    depth = np.arange(total) - np.repeat(ends - lengths, lengths)
    return pa.table(
        {
            "stack_id": np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
            "depth": depth.astype(np.int16),
            "frame_id": np.frombuffer(b"".join(tables.stacks), np.int32),
            "is_cut": pa.array(np.zeros(total, dtype=np.bool_)),
        }
    )


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Any:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    types = {"frame_id": pa.int32()}
    return pa.table({n: pa.array(c, types.get(n, pa.string())) for n, c in zip(names, columns, strict=True)})


def _threads(tables: _Tables) -> Any:
    import pyarrow as pa

    rows = [(text, number, tid) for text, (number, tid) in tables.threads.items()]
    names = [(_THREAD.fullmatch(text) or [text, text])[1] for text, _, _ in rows]
    count = len(rows)
    return pa.table(
        {
            "thread_id": pa.array([row[1] for row in rows], pa.int32()),
            "pid": pa.array([0] * count, pa.int32()),
            "tid": pa.array([row[2] for row in rows], pa.int32()),
            "start_ns": pa.array([0] * count, pa.int64()),
            "name": pa.array(names, pa.string()),
            "comm": pa.array(names, pa.string()),
            "kind": pa.array(["app"] * count, pa.string()),
            "from_snapshot": pa.array([True] * count, pa.bool_()),
        }
    )


def _manifest(source: Path, samples: int, each: int) -> Manifest:
    notices = [Notice.of("HW224", path=source).as_json()]
    return Manifest.from_json(
        {
            "format": "headway-recording",
            "version": 1,
            "created_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "headway_version": __version__,
            "mode": "import",
            # Not a span of time, but analyses of profiles ask whether there is one.
            "window": {"start_ns": 0, "end_ns": 1},
            "notices": notices,
            # A row of `sample` stands for all samples of a stack: their number is its weight by `each`.
            "import": {
                "file": str(source),
                "source": "collapsed stacks",
                "clock": None,
                "window": None,
                "samples": samples,
                "each": each,
            },
        }
    )
