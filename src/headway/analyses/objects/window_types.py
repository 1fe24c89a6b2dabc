"""What the analysis of accesses that were counted in windows answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

WhyUnknown: TypeAlias = Literal[
    "incomplete", "little-cpu", "few-windows", "few-marks", "one-mark", "unseen-spells", "unlike-windows"
]
"""Why of a thread nothing is known but what windows counted."""
WHY_UNKNOWN: Mapping[WhyUnknown, str] = {
    "incomplete": "counts that are not all on record",
    "little-cpu": "less CPU time than a twentieth of a core",
    "few-windows": "windows in fewer than 6 of 10 groups",
    "few-marks": "fewer than 30 marks in most windows, or right before them",
    "one-mark": "hardly any marks but one",
    "unseen-spells": "spells with too few marks, above a tenth of them",
    "unlike-windows": "marks that are not where windows say, above a tenth",
}
"""The same as people read it: what there is, where there should be something else."""


@dataclass(frozen=True, slots=True)
class WindowFigure:
    """How often something was accessed: what windows counted, exactly, and the estimate for the whole run.

    `value`, its 95 % interval from `low` to `high`: None where that is not known. Of threads whose counts are known.
    """

    counted: int
    value: int | None
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class WindowFigures:
    """Estimates by kind: fields of objects (tuples), elements of arrays, and static fields."""

    tuple_reads: WindowFigure
    tuple_writes: WindowFigure
    array_reads: WindowFigure
    array_writes: WindowFigure
    static_reads: WindowFigure
    static_writes: WindowFigure
    of_objects: WindowFigure
    """All but those of static fields."""


@dataclass(frozen=True, slots=True)
class WindowGroup:
    """One row: the accesses by the code of one class, by one thread, or by both; None: not told apart by that.

    `java_id` -1: threads that were too short to be known alone, together; -2: all virtual threads. `is_known`: of at least one
    of its threads more is known than what windows counted. `why_unknown`: else why not; of several threads, of the one with the
    most CPU time.
    """

    pid: int
    thread: str | None
    java_id: int | None
    thread_id: int | None
    class_name: str | None
    figures: WindowFigures
    is_known: bool
    why_unknown: WhyUnknown | None


@dataclass(frozen=True, slots=True)
class WindowAnswer:
    """The accesses of a recording that counted in windows of `window_ms`, once in each `period_ms`, `windows` of them in all.

    `unknown_share`: the share of the CPU time of the threads, 0..1, of those that nothing is known of but what windows counted;
    None: no thread was seen; `unknown_because`: the parts of it by reason, the most first. `slower_in_windows`: so many times as
    much CPU time a thread's work took in windows; None: unknown.
    `overhead`: by so many times windows made the threads' CPU time longer, at least. `left_out`: groups with fewer accesses.
    """

    window_ms: int
    period_ms: int
    windows: int
    total: WindowFigures
    groups: tuple[WindowGroup, ...]
    unknown_share: float | None
    slower_in_windows: float | None
    overhead: float | None
    left_out: int = 0
    unknown_because: tuple[tuple[WhyUnknown, float], ...] = ()
