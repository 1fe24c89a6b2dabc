"""A profile as pprof reads it (`go tool pprof`, Grafana Pyroscope, Polar Signals): a gzipped protobuf message.

The fields are those of proto/profile.proto of github.com/google/pprof. A sample is a stack of one thread, which is its label
`thread`; a location is a method, or a line of it. There are no addresses: the one mapping stands for the recorded program, and
keeps pprof from looking for a binary with symbols.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.stacks.types import BYTES, NANOSECONDS, Frame
from headway.report.export import protobuf as pb
from headway.report.export.stack_paths import valid, weighted_paths
from headway.report.output import new_file

if TYPE_CHECKING:
    from headway.analyses.stacks.types import Profile

_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING_TABLE = 1, 2, 3, 4, 5, 6
_DURATION_NANOS, _PERIOD_TYPE, _PERIOD, _COMMENT = 10, 11, 12, 13
_UNITS = {NANOSECONDS: "nanoseconds", BYTES: "bytes"}


class _Strings:
    """The table of strings, in which everything is named by its place; the first one is empty."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": 0}

    def place(self, text: str) -> int:
        return self.known.setdefault(valid(text), len(self.known))


def export_pprof(by_thread: Profile, path: Path | str, *, program: str, overwrite: bool = False) -> Path:
    """Write a profile with a root per thread for pprof; `program` is shown as its file.

    Raises HeadwayError HW500 or HW501 (see `new_file`).
    """
    with (
        new_file(path, overwrite=overwrite) as out,
        # Without a name and a time in it, the same profile gives the same bytes.
        gzip.GzipFile(filename="", mode="wb", compresslevel=4, fileobj=out, mtime=0) as packed,
    ):
        _write(by_thread, packed, program)
    return Path(path)


def _write(found: Profile, out: gzip.GzipFile, program: str) -> None:
    strings = _Strings()
    kind = pb.integer(1, strings.place(found.event)) + pb.integer(2, strings.place(_UNITS.get(found.unit, "count")))
    out.write(pb.message(_SAMPLE_TYPE, kind))
    frame, label = found.tree.frame.tolist(), strings.place("thread")
    places = [pb.varint(number + 1) for number in range(len(found.frames))]
    used: set[int] = set()
    for nodes, weight in weighted_paths(found.tree):
        thread, *stack = [frame[node] for node in nodes]
        used.update(stack)
        locations = b"".join([places[number] for number in reversed(stack)])  # the innermost first
        named = pb.integer(1, label) + pb.integer(2, strings.place(found.frames[thread].text))
        sample = pb.message(1, locations) + pb.message(2, pb.varint(weight)) + pb.message(3, named)
        out.write(pb.message(_SAMPLE, sample))
    file = pb.integer(5, strings.place(program))
    known = b"".join(pb.integer(field, 1) for field in (7, 9))  # it has functions and line numbers
    out.write(pb.message(_MAPPING, pb.integer(1, 1) + file + known))
    functions: dict[Frame, int] = {}
    for number in sorted(used):
        each = found.frames[number]
        function = functions.setdefault(each._replace(line=None), len(functions) + 1)
        line = pb.integer(1, function) + (pb.integer(2, each.line) if each.line is not None else b"")
        out.write(pb.message(_LOCATION, pb.integer(1, number + 1) + pb.integer(2, 1) + pb.message(4, line)))
    for each, function in functions.items():
        name = strings.place(each.text)
        out.write(pb.message(_FUNCTION, pb.integer(1, function) + pb.integer(2, name) + pb.integer(3, name)))
    out.write(pb.integer(_DURATION_NANOS, found.window_ns[1] - found.window_ns[0]))
    out.write(pb.message(_PERIOD_TYPE, kind) + pb.integer(_PERIOD, 1))
    out.write(pb.integer(_COMMENT, strings.place(f"headway, {program}")))
    out.write(b"".join(pb.text(_STRING_TABLE, text) for text in strings.known))
