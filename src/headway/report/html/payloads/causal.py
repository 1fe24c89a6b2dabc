"""The page of a causal recording (report/html/causal.py).

Speedups are in per cent: virtual ones of a line, the others of the program; 0 is no change, below 0 is slower.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from headway.report.html.payloads.common import MadeBy, NoticePayload

PointRow: TypeAlias = "tuple[float, float, float | None, float | None, int, int, int]"
"""Virtual speedup, program speedup and its interval, visits, experiments, those of them with a pause of the collector."""
Shape: TypeAlias = "Literal['gain', 'flattens', 'slower', 'none', 'unknown', 'untested']"


class CurvePayload(TypedDict):
    """What a line does to one progress point."""

    shape: Shape
    significant: bool
    slope: float | None
    """Per cent of program speedup per per cent of virtual speedup."""
    slope_low: float | None
    slope_high: float | None
    slope_most: float | None
    """The largest slope that delays allow; null: no limit is known."""
    is_beyond_delays: bool
    """All of the slope's interval is more than that: noise, or threads that gain by standing still."""
    maximum_pct: float | None
    maximum_low_pct: float | None
    maximum_high_pct: float | None
    maximum_at_pct: float | None
    flat_from_pct: float | None
    needs_s: float | None
    """Seconds more of such recording that would tell; null: not to be had, or not needed."""
    points: list[PointRow]


class SourceLines(TypedDict):
    """Lines of source around a place."""

    file: str
    first: int
    target: int
    lines: list[str]


class CausalLine(TypedDict):
    """A line of code, a method, a lock, or GC pauses, and what it would give."""

    name: str
    """ "OrderBook.java:42", or a method, a lock, GC pauses."""
    kind: str
    class_name: str
    method: str
    samples_pct: float
    """Share of the program's CPU time."""
    blocked_pct: float
    """Time asleep in it, as a share of the recorded time; above 100 with several threads."""
    phase_share: float
    experiments: int
    curves: list[CurvePayload | None]
    """By progress point, as CausalPage.progress_points; null: no experiment counted for it."""
    source: SourceLines | None


class ProgressPointPayload(TypedDict):
    """What counts the program's progress."""

    name: str
    measure: Literal["throughput", "latency", "run"]
    kind: str
    where: str
    hits: int
    hits_per_s: float
    latency_ns: float | None


class CausalPage(TypedDict):
    """The payload of a causal recording's page."""

    version: Literal[1]
    page: Literal["causal"]
    made: MadeBy
    title: str
    mode: str
    runs: int
    recorded_ns: int
    delay_ns: int
    experiments: int
    warm_up_experiments: int
    gc_experiments: int
    verdict: str
    next: str
    progress_points: list[ProgressPointPayload]
    lines: list[CausalLine]
    """Ranked: those known to give most first."""
    left_out: list[str]
    """What had no room on the page."""
    no_sources: str | None
    """Why no source is shown, or which lines have none; null where each has."""
    notices: list[NoticePayload]
