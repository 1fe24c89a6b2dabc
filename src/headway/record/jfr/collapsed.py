"""Collapsed stacks (`a;b;c 123`, the outermost frame first) become a recording with samples and nothing else.

async-profiler's suffixes tell a frame's kind: _[j] compiled, _[i] inlined, _[0] interpreted, _[1] by the first compiler,
_[k] kernel; a first frame [NAME tid=N] is the thread. Such files have no times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway import __version__
from headway.errors import HeadwayError, Notice
from headway.record.jfr.digits import number_below
from headway.store.manifest import Manifest
from headway.store.writer import write_recording

_LINE = re.compile(r"(.*\S)\s+(\d+)")
_KIND = re.compile(r"(.*)_\[([jikJIK01])\]")
_KINDS = {"j": "java", "i": "inlined", "k": "kernel", "0": "interpreted", "1": "c1"}
_THREAD = re.compile(r"\[(.*?)(?: tid=(\d{1,18}))?\]")
_NATIVE = re.compile(r"[:<(\s]|^\W|\.so\b")
MOST_DEPTH = 4096


@dataclass(slots=True)
class _Tables:
    """Dense ids of what the lines name."""

    frames: dict[tuple[str, str, str], int] = field(default_factory=dict)
    threads: dict[str, tuple[int, int]] = field(default_factory=dict)
    stacks: dict[tuple[int, ...], int] = field(default_factory=dict)
    samples: list[tuple[int | None, int, int]] = field(default_factory=list)

    def frame(self, text: str) -> int:
        """Return the id of a frame."""
        kind = _KIND.fullmatch(text)
        name, letter = (kind[1], kind[2].lower()) if kind else (text, "")
        class_name, method = split(name)
        # Nobody says of a frame without a suffix: Class.method is Java's form, all else is native.
        known = _KINDS.get(letter, "java" if class_name else "native")
        return self.frames.setdefault((class_name, method, known), len(self.frames))

    def thread(self, text: str) -> int | None:
        """Return the id of a thread's frame, None if it is none."""
        found = _THREAD.fullmatch(text)
        if found is None or (found[2] is None and ("." in text or "/" in text)):
            return None
        tid = int(found[2] or 0) & 0x7FFFFFFF
        return self.threads.setdefault(text, (len(self.threads), tid))[0]


def split(name: str) -> tuple[str, str]:
    """Return (class, method) of java/util/HashMap.get or java.util.HashMap.get; ("", name) of what is not Java."""
    bare = name.split("(", 1)[0] if name.endswith(")") else name
    class_name, dot, method = bare.rpartition(".")
    if not dot or not class_name or not method or _NATIVE.search(class_name):
        return "", name
    return class_name.replace("/", "."), method


def import_collapsed(source: Path, directory: Path, event: str, interval_ns: int | None) -> None:
    """Write the recording. A count stands for `interval_ns` where one is given.

    Raises HeadwayError HW313 (no stacks) or HW314 (a line that is none).
    """
    import pyarrow as pa

    tables = _Tables()
    with open(source, encoding="utf-8", errors="backslashreplace") as lines:
        for number, line in _wanted(lines):
            _take(tables, source, number, line, interval_ns or 1)
    if not tables.samples:
        raise HeadwayError("HW313", path=source, reason="it has no line with a stack and a count")
    frames = [(i, *key) for key, i in tables.frames.items()]
    stacks = [(i, depth, frame) for key, i in tables.stacks.items() for depth, frame in enumerate(key)]
    samples = list(zip(*tables.samples, strict=True))
    rows = len(tables.samples)
    made = {
        "frame": _columns(("frame_id", "class_name", "method", "kind"), frames),
        "stack": _columns(("stack_id", "depth", "frame_id"), stacks).append_column(
            "is_cut", pa.array([False] * len(stacks))
        ),
        "thread": _threads(tables),
        "sample": pa.table(
            {
                "thread_id": pa.array(samples[0], pa.int32()),
                "ns": pa.array([0] * rows, pa.int64()),
                "event": pa.array([event] * rows, pa.string()),
                "weight": pa.array(samples[2], pa.int64()),
                "stack_id": pa.array(samples[1], pa.int32()),
            }
        ),
    }
    write_recording(directory, _manifest(source), made, overwrite=True)


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
    count = number_below(found[2], -(-(1 << 63) // factor))
    if count is None or len(names) > MOST_DEPTH:
        what = "its count does not fit 64 bits" if count is None else f"more than {MOST_DEPTH} frames"
        raise HeadwayError("HW314", path=source, line=number, reason=what)
    thread = tables.thread(names[0])
    own = names if thread is None else names[1:]
    key = tuple(tables.frame(name) for name in reversed(own))
    stack = tables.stacks.setdefault(key, len(tables.stacks))
    tables.samples.append((thread, stack, count * factor))


def _columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Any:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    types = {"frame_id": pa.int32(), "stack_id": pa.int32(), "depth": pa.int16()}
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


def _manifest(source: Path) -> Manifest:
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
            "import": {"file": str(source), "source": "collapsed stacks", "clock": None, "window": None},
        }
    )
