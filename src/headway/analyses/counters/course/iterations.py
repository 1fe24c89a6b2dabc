"""Iterations of a program as windows: from each mark to the next one, the last until the program's end.

Question   when each iteration of a program goes on: between which explicit collections (System.gc()), or lines that it printed.
Method     iteration k begins at mark k and ends where mark k + 1 begins: benchmarks collect garbage, or print a line, before each
           of theirs. What comes before the first mark is in none; the last iteration ends when the JVM shuts down, or with the
           recording. When lines were printed that the recorder read at once is not known: iterations that they bound are left out
           (HW120).
           Collectors that do System.gc() while the program runs, in several pauses, are refused.
Assumes    what makes the marks is the benchmark, and nobody else.
Wrong when a program prints, or collects, after each of its iterations: the last one is then what comes after it, and the first is
           missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.intervals import Spans
from headway.analyses.counters.parts.time_windows import TimeWindows
from headway.errors import HeadwayError, Notice
from headway.model.iterations import GC, MARKER, METHOD, IterationMarks, parse_marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

_EXPLICIT = "System.gc()"
MOST = 50_000
"""So many iterations have a row each, of some kilobytes: whoever makes a recording may note millions."""
_OF_METHODS = f"{METHOD}=REGEX with samples (--sample cpu)"
_CONCURRENT = ("Z", "Shenandoah")
"""Collectors that do System.gc() while the program runs, in several pauses of which none is the whole of it."""


_CONCURRENTLY = "+ExplicitGCInvokesConcurrent"
"""The flag with which others do so."""


def marks_of(recording: Recording, given: IterationMarks | None) -> IterationMarks:
    """Return what tells iterations apart: as given now, as it was given to the recorder, else explicit collections."""
    if given is not None:
        return given
    try:
        return parse_marks(str(_recorded(recording).get("by", GC)))
    except ValueError:
        return IterationMarks(GC)


@dataclass(frozen=True, slots=True)
class Iterations:
    """When iterations of a program began and ended (CLOCK_MONOTONIC ns), in order. `numbers`: of each, from 1.

    `notices`: that some are left out, whose numbers are missing then. `has_last`: the one that ends with the program is not.
    """

    spans: Spans
    numbers: Ints
    notices: tuple[Notice, ...] = ()
    has_last: bool = True

    @classmethod
    def of(cls, spans: Spans, notices: tuple[Notice, ...] = ()) -> Iterations:
        """Return iterations none of which is left out."""
        return cls(spans, np.arange(1, len(spans) + 1), notices)


def between_marks(recording: Recording, marks: IterationMarks) -> Iterations:
    """Return the iterations of the program: each begins with an explicit garbage collection, or with a line that it printed.

    Raises HeadwayError HW111 where there are none, or they can't be told.
    """
    start, end = _lines(recording, marks) if marks.by == MARKER else _collections(recording)
    until = np.append(start[1:], max(_end_ns(recording), int(end[-1])))
    found = Iterations.of(Spans(end, until))
    return _without_late_lines(recording, marks, found) if marks.by == MARKER else found


def windows_of(
    recording: Recording, found: Iterations, marks: IterationMarks, window: tuple[int, int] | None, last: int | None
) -> TimeWindows:
    """Return iterations as rows: those that lie in a window (ns from the start) as a whole, of them only the `last` ones.

    Raises HeadwayError HW111 for more than MOST.
    """
    origin, whole = recording.window_ns[0], found.spans
    begin, end = window or (0, recording.wall_ns)
    inside = np.flatnonzero((whole.start >= origin + begin) & (whole.end <= origin + end))
    if last is not None:
        inside = inside[max(0, len(inside) - last) :]
    if len(inside) > MOST:
        why = f"there are {len(inside)} of them, and {MOST} can have a row"
        raise refused(recording, marks, why, f"headway counters {recording.path} --by iteration --last {MOST}")
    keys = [
        {
            "iteration": int(found.numbers[place]),
            "from_ns": int(whole.start[place]) - origin,
            "to_ns": int(whole.end[place]) - origin,
        }
        for place in inside.tolist()
    ]
    return TimeWindows(keys, [Spans(whole.start[[place]], whole.end[[place]]) for place in inside])


def refused(recording: Recording, marks: IterationMarks, why: str, remedy: str) -> HeadwayError:
    """Return the error HW111, that a recording can't be divided into iterations: why not, and which recording can."""
    return HeadwayError("HW111", path=recording.path, marks=str(marks), why=why, remedy=remedy)


def _end_ns(recording: Recording) -> int:
    """Return when the program came to its end: when the last JVM began to shut down, else the window's end."""
    rows = recording.query("SELECT MAX(start_ns) FROM jvm_phase WHERE kind = 'shutdown'").fetchone()
    end = recording.window_ns[1]
    return min(end, int(rows[0])) if rows is not None and rows[0] is not None else end


def _collections(recording: Recording) -> tuple[Ints, Ints]:
    """Return begin and end of each explicit collection."""
    marks = IterationMarks(GC)
    rows = recording.query(
        "SELECT pid, start_ns, start_ns + dur_ns FROM jvm_phase WHERE kind = 'gc_pause' AND cause = $1 ORDER BY start_ns",
        (_EXPLICIT,),
    ).fetchall()
    pids = sorted({pid for pid, *_ in rows})
    if not rows:
        raise refused(recording, marks, f"no JVM collected garbage because of {_EXPLICIT}", _OF_METHODS)
    if len(pids) > 1:
        raise refused(recording, marks, f"{len(pids)} JVMs call {_EXPLICIT}, each for itself", "one JVM alone (--pid)")
    facts = dict(
        recording.query("SELECT key, value FROM jvm WHERE key IN ('gc', 'flags') AND pid = $1", (pids[0],)).fetchall()
    )
    if facts.get("gc") in _CONCURRENT or _CONCURRENTLY in facts.get("flags", ""):
        why = f"{facts.get('gc', 'the JVM')} collects while the program runs, in several pauses for one {_EXPLICIT}"
        raise refused(recording, marks, why, f"-XX:+UseParallelGC, or {_OF_METHODS}")
    start, end = (np.array([row[place] for row in rows], np.int64) for place in (1, 2))
    return start, end


def _lines(recording: Recording, marks: IterationMarks) -> tuple[Ints, Ints]:
    """Return when each line came, as the recorder noted it."""
    recorded = _recorded(recording)
    remedy = f"headway record --counters --iterations {str(marks)!r} ..."
    if recorded.get("by") != str(marks):
        raise refused(recording, marks, "the recorder did not look for such lines", remedy)
    found = [int(ns) for ns in _numbers(recorded.get("marks_ns"))]
    if not found:
        raise refused(recording, marks, "the program printed no line with that text", "a text of a line that it prints")
    at = np.array(sorted(found), np.int64)
    return at, at


def _without_late_lines(recording: Recording, marks: IterationMarks, found: Iterations) -> Iterations:
    """Return iterations without those that begin or end with a line that came together with others.

    Raises HeadwayError HW111 where none is left.
    """
    at = found.spans.start
    with_next = np.append(at[1:] == at[:-1], False)
    is_late = with_next | np.append(False, with_next[:-1])
    if not is_late.any():
        return found
    is_kept = ~(is_late | np.append(is_late[1:], False))
    if not is_kept.any():
        why = (
            f"{int(with_next.sum())} of {len(at)} lines came together with the one before: the program buffers what it prints, or"
            " prints faster than the recorder got a CPU"
        )
        raise refused(recording, marks, why, "make the program write each line at once (flush), or use --iterations gc")
    out = int((~is_kept).sum())
    left_out = Notice.of("HW120", out=out, all=len(at), marks=str(marks), late=int(is_late.sum()))
    spans = Spans(found.spans.start[is_kept], found.spans.end[is_kept])
    return Iterations(spans, found.numbers[is_kept], (left_out,), bool(is_kept[-1]))


def _recorded(recording: Recording) -> Mapping[str, Any]:
    found = recording.manifest.extra.get("iterations")
    return found if isinstance(found, dict) else {}


def _numbers(found: object) -> Sequence[int]:
    return [ns for ns in found if isinstance(ns, int) and 0 <= ns < 1 << 62] if isinstance(found, list) else []
