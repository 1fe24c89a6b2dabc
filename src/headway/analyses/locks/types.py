"""Result types of `locks`. Durations are ns; points in time are ns from the recording's start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.analyses.locks.metrics import Metrics
from headway.analyses.waits.rules import Rule
from headway.model.lock_sums import LockSums


@dataclass(frozen=True, slots=True)
class Distribution:
    """Nearest-rank percentiles of single times. `source`: how holds were observed (owner, waking or both)."""

    count: int
    mean_ns: float
    p50_ns: int
    p99_ns: int
    max_ns: int
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A place that waits: `share` is of the time, `times` counts waits, `stacks_taken` blocks whose stack was taken.

    Blocks without a stack count for the stack their thread was seen with last on the same object, so share and times are
    estimates that rest on `stacks_taken` blocks. `line` is the innermost frame that is no JDK code, `frames` the stack.
    """

    line: str
    frames: tuple[str, ...]
    is_cut: bool
    share: float
    thread_time_ns: int
    times: int
    stacks_taken: int
    rule: Rule


@dataclass(frozen=True, slots=True)
class Waker:
    """A thread that ended waits, at a place (None: not known): `share` is of the waits whose end somebody is known for.

    Stacks are not taken of every unpark: one without counts for the one before it of the same thread on the same object, so
    the split over places is an estimate. Who lets a monitor go is known by the kernel alone, without a place.
    """

    thread: str
    tid: int | None
    java_id: int | None
    line: str | None
    share: float
    times: int


@dataclass(frozen=True, slots=True)
class OtherLock:
    """A lock that a holder was blocked on itself, and for how long (in time of those who waited for the holder)."""

    blocker_id: int | None
    name: str
    wait_ns: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A thread that held a lock (or provided what is waited for) while others waited.

    `wait_ns` is the waiters' time that passed meanwhile, `share` of all of it; `doing` splits it (keys of DOING).
    `seen_by` says how it is known: hold (acquire and release seen), owner (asked at the begin of a wait), waker (it woke
    the next waiter, so it is taken to have had the lock since the waking before).
    """

    thread: str
    tid: int | None
    java_id: int | None
    seen_by: tuple[str, ...]
    share: float
    wait_ns: int
    doing: Mapping[str, int]
    blocked_on: tuple[OtherLock, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """One step of a chain: those who wait for `name` wait for `thread`, which waits for the next link's lock; the last one
    does not wait for a lock (or, in a cycle, for the first one met again).
    """

    blocker_id: int | None
    name: str
    thread: str
    wait_ns: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A named pattern (convoy, handoff) with the figures of its rule."""

    name: str
    text: str
    figures: Mapping[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Deadlock:
    """A cycle of threads that wait for each other at the end of the recording, and can never continue."""

    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """One row: a lock object, all objects of a class, or everything that a site waits for.

    `name` is what people see of the object, `place` the line at which most of the time was waited (None: not known);
    blocker_id, identity_hash, first_* are None where a row stands for several objects (`objects`).
    `waiting` is the class of the waiting and `rule` why; `contention` is false for idle waiting. `lost_core_ns` and
    `speedup_bound` are None where the mode can't tell, the bound also where threads waited (nearly) all the time.
    """

    name: str
    place: str | None
    blocker_id: int | None
    objects: int
    class_name: str
    identity_hash: int | None
    kind: str
    site: str | None
    waiting: str
    rule: Rule
    rule_share: float
    contention: bool
    first_thread: str | None
    first_stack: tuple[str, ...] | None
    first_ns: int
    last_ns: int
    dead: bool
    sums: LockSums
    metrics: Metrics
    wait: Distribution | None
    true_hold: Distribution | None
    lost_core_ns: int | None
    speedup_bound: float | None
    sites: tuple[Site, ...]
    more_sites: int
    holders: tuple[Holder, ...]
    more_holders: int
    wakers: tuple[Waker, ...]
    more_wakers: int
    holding: Mapping[str, int] | None
    chain: tuple[Link, ...]
    chain_is_cycle: bool
    patterns: tuple[Pattern, ...]
