"""What was counted in each parallel region, and in each iteration of a program.

Question   how many cycles, instructions, misses ... fall to each region, the rest and the JVM's own threads; to each iteration,
           and how much that varies from one to the next.
Method     counts of slices (counters.analysis) divided by time windows: the instances of regions (regions.analysis), where
           only threads that run the program's code count; stretches between marks (counters.course), or instances of the
           methods that a pattern names, where all threads do.
Assumes    as regions and iterations do. A slice that reaches over the border of a window is divided by time: see its interval.
Wrong when calls of a method follow each other closer than samples come: several are then one iteration; a call in which no
           thread of it is busy for a while is several (HW112).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.intervals import Spans
from headway.analyses.counters.analysis import counters
from headway.analyses.counters.course.iterations import Iterations, between_marks, marks_of, refused, windows_of
from headway.analyses.counters.course.over_iterations import over_iterations
from headway.analyses.counters.layout import layout
from headway.analyses.counters.parts.time_windows import TimeWindows
from headway.analyses.regions.analysis import region_spans
from headway.errors import Notice
from headway.model.iterations import METHOD, IterationMarks
from headway.store.sweep import SweepRegion

if TYPE_CHECKING:
    from headway.analyses.counters.types import Counters
    from headway.store import Recording

JVM = "(the JVM's own threads)"
"""The row of collectors, compilers and whatever else runs no code of the program: they are in no region."""
_METHOD_MATCHES_NOTHING, _NO_SAMPLES = "HW490", "HW492"


def counters_by_region(
    recording: Recording,
    regions: Sequence[SweepRegion],
    window: tuple[int, int] | None = None,
    of_set: str | None = None,
) -> Counters:
    """Return what was counted in each region, in REST and by the JVM's own threads; raises as `counters` and `region_spans`."""
    layout(recording)  # HW109 before all else
    found, notices = region_spans(recording, regions, window)
    begin, end = window or (0, recording.wall_ns)
    keys: list[Mapping[str, str | int]] = [
        {"region": name, "instances": len(spans), "wall_ns": spans.total} for name, spans in found
    ]
    others: Mapping[str, str | int] = {"region": JVM, "instances": 1, "wall_ns": end - begin}
    by_clock = [_by_clock(recording, spans) for _, spans in found]
    windows = TimeWindows(keys, by_clock, of_program=True, others=others)
    answer = counters(recording, window, by="region", of_set=of_set, windows=windows)
    return replace(answer, notices=(*answer.notices, *notices))


def counters_by_iteration(
    recording: Recording,
    given: IterationMarks | None,
    window: tuple[int, int] | None = None,
    last: int | None = None,
    of_set: str | None = None,
) -> Counters:
    """Return what was counted in each iteration that lies in a window as a whole, or in the `last` ones, with mean and spread.

    Raises HeadwayError as `counters`, HW111 where there are no iterations.
    """
    layout(recording)
    marks = marks_of(recording, given)
    found = _calls(recording, marks) if marks.by == METHOD else between_marks(recording, marks)
    windows = windows_of(recording, found, marks, window, last)
    answer = counters(recording, window, by="iteration", of_set=of_set, windows=windows)
    if not answer.rows:
        raise refused(recording, marks, "no iteration lies in the window as a whole", "a longer window (--from, --to)")
    over = over_iterations(answer.rows)
    if marks.by == METHOD:
        answer = replace(answer, notices=(*answer.notices, Notice.of("HW112", pattern=marks.text)))
    return replace(answer, over=over, marks=str(marks), notices=(*answer.notices, *found.notices))


def _calls(recording: Recording, marks: IterationMarks) -> Iterations:
    """Return the instances of the methods that a pattern names, by samples."""
    ((_, found), _), notices = region_spans(recording, [SweepRegion(marks.text, marks.text)])
    notice_ids = {notice.id for notice in notices}
    if _NO_SAMPLES in notice_ids:
        raise refused(
            recording, marks, "it has no samples that show methods", "headway record --counters --sample cpu ..."
        )
    if _METHOD_MATCHES_NOTHING in notice_ids or not len(found):
        raise refused(recording, marks, "no sample has a frame that matches", f"headway top {recording.path}")
    return Iterations.of(_by_clock(recording, found), notices)


def _by_clock(recording: Recording, spans: Spans) -> Spans:
    """Return stretches of time as ns of CLOCK_MONOTONIC."""
    origin = np.int64(recording.window_ns[0])
    return Spans(spans.start + origin, spans.end + origin)
