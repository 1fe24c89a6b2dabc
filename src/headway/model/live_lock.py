"""One lock object as the agent's live table shows it while the JVM is running."""

from __future__ import annotations

from dataclasses import dataclass

from headway.model.lock_sums import LockSums

LiveFrame = tuple[str, str, int | None]
"""Class, method, line."""


@dataclass(frozen=True, slots=True)
class LiveLock:
    """An object that threads wait for; `sums` are up to the snapshot. `forgotten` > 0: they are of so many dead objects.

    `first_thread` is None where the row stands for several objects or the agent's records don't name it, `first_stack`
    (innermost frame first) is empty where none was taken. `is_torn`: the JVM was killed while it wrote this row; it is off
    by one event at most.
    """

    blocker_id: int
    kind: str
    class_name: str
    identity_hash: int
    first_java_id: int
    first_thread: str | None
    first_stack: tuple[LiveFrame, ...]
    is_dead: bool
    forgotten: int
    sums: LockSums
    holds: int
    hold_ns: int
    is_torn: bool


@dataclass(frozen=True, slots=True)
class LiveTable:
    """All lock objects of a JVM at `now_ns` (CLOCK_MONOTONIC); times count from `since_ns`, when recording locks started.

    `dropped` parks found no room in the table, `below_threshold` ones were only counted. `capped_ns` is when single waits
    stopped to be recorded, 0: they are. `missing` rows could not be read because the file is cut off.
    """

    pid: int
    since_ns: int
    now_ns: int
    rows: tuple[LiveLock, ...]
    dropped: int
    below_threshold: int
    capped_ns: int
    missing: int
