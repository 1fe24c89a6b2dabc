"""What counters counted (report/html/counters.py)."""

from __future__ import annotations

from typing import TypedDict

from headway.report.html.payloads.common import Kind


class CountedFigure(TypedDict):
    """A count or a ratio with its 95 % interval; `value` null: withheld, an end null: not known."""

    value: float | None
    low: float | None
    high: float | None


class CountedThread(TypedDict):
    """What one thread counted: figures in the order of `events` and of `metrics`."""

    name: str
    kind: str
    tid: int
    pid: int
    running_ns: int
    counts: list[CountedFigure]
    metrics: list[CountedFigure]


class KindRatesPayload(TypedDict):
    """Events a second of wall time in each bin, of all threads of a kind; null: they ran, and what they counted is not known."""

    kind: Kind
    event: str
    rates: list[float | None]


class AbsentEvent(TypedDict):
    """An event that is not counted, and why."""

    event: str
    reason: str


class UnitCount(TypedDict):
    """What a unit of whole sockets counted of an event on one CPU that it is read on, in what sysfs counts it in (`of`)."""

    event: str
    cpu: int
    socket: int | None
    of: str
    counted: CountedFigure


class CountersView(TypedDict):
    """The counters of a recording, by thread and over time; no `events` where only units of whole sockets were counted."""

    step: str
    """Of the ladder of counters, and what it tells."""
    tells: str
    events: list[str]
    metrics: list[str]
    rows: list[CountedThread]
    left_out: int
    """Threads that ran less than those in `rows`."""
    withheld: list[str]
    """Why figures are withheld."""
    in_turn: list[str]
    """Groups that took turns, and for what part of the time each counted."""
    absent: list[AbsentEvent]
    start_ns: list[int]
    dur_ns: list[int]
    rates: list[KindRatesPayload]
    units: list[UnitCount]
