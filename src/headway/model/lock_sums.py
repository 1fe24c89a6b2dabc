"""The exact sums per lock object: what the agent counts, and what every lock metric is derived from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LockSums:
    """Sums over the waits for one object, or for a group of objects.

    `times_parked` counts every block that began, `times_measured` those that the times hold (fewer with a collection
    threshold). `thread_time_ns` adds up the blocked time of all threads, `real_time_ns` the time with at least one of
    them blocked; blocks that still go on count up to `end_ns`. first_ns and last_ns are the first and last event.
    """

    times_parked: int
    times_measured: int
    parked_now: int
    peak_parked: int
    thread_time_ns: int
    real_time_ns: int
    first_ns: int
    last_ns: int
    end_ns: int
