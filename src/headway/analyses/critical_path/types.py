"""Result types of `critical_path`. Durations are ns; points in time are ns from the recording's start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.errors import Notice

STATES: Mapping[str, str] = {
    "running": "on a CPU",
    "stolen": "on a CPU that the host had given to another guest",
    "runnable": "ready, and waiting for a CPU",
    "gc_pause": "whatever was done while the garbage collector had stopped the program",
    "lock": "waiting for a lock; who held it is not known",
    "condition": "waiting for a condition; who brought it about could not be followed",
    "join": "waiting for work that was given away; who did it could not be followed",
    "queue": "waiting for work to come; where it came from could not be followed",
    "sleep": "asleep until a time had come",
    "io": "waiting for I/O; network sender not followed",
    "process": "waiting for another process",
    "stopped": "stopped by a signal or a debugger",
    "interrupt": "waiting for an interrupt: a timer, a disk or the network; which one was not recorded",
    "outside": "waiting for a thread that was not recorded",
    "starting": "born, and not seen yet",
    "ended": "after the thread's end, such as while its process was ending",
    "unknown": "waiting; for what is not known, or came later",
}
"""Every state of the path, and what it means."""


NOBODY_ACTIVE = "no application thread was active"
"""Why a path ends in a thread that does nothing: an idle server's."""


@dataclass(frozen=True, slots=True)
class PathSegment:
    """A stretch of the critical path on one thread.

    `lock`: what is waited for, as `locks` names it: by this thread where it is blocked, else by `waiter`, the thread that waits
    for this one. `pieces`: how many stretches were put together: neighbours that are alike, and where
    there would be too many, short ones, which are called after the longest.
    """

    start_ns: int
    end_ns: int
    thread_id: int
    thread: str
    state: str
    lock: str | None
    waiter: str | None
    pieces: int
    place: str | None = None


@dataclass(frozen=True, slots=True)
class PathThread:
    """One thread's time on the path; `by_state` sums to `ns`."""

    thread_id: int
    tid: int
    name: str
    kind: str
    ns: int
    by_state: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PathLock:
    """A lock (queue, latch, future ...) that a thread waits for on the path.

    `ns` is all of that time: `followed_ns` was spent on the threads that ended the wait, the rest is the wait itself. `waiting`
    is the class of waiting by the rules of `locks`. `place` is the line at which it is waited for; objects of one class and
    place are one row, `objects` their number.
    """

    name: str
    waiting: str
    ns: int
    followed_ns: int
    place: str | None = None
    objects: int = 1


@dataclass(frozen=True, slots=True)
class PathMethod:
    """A method on the path: the innermost frame outside the JDK. `running_ns` is estimated from CPU samples."""

    method: str
    ns: int
    running_ns: int
    waiting_ns: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The critical path of a recording or window: at each instant the one thread that the end depends on.

    `by_state`, `by_thread` and `by_method` each sum to the wall time, whatever became of `segments`, of which there are at most
    some `limit`. `by_lock` does not: what nobody waits for in a lock is in none. `thread` is where the path ends, `chosen` says
    why it was taken; `followed` counts how often the path went from a thread to the one that woke it, `pieces` the stretches
    before any were put together. `has_samples`: methods of running threads are known.
    """

    window_ns: tuple[int, int]
    mode: str
    thread: PathThread
    chosen: str
    segments: tuple[PathSegment, ...]
    by_state: tuple[tuple[str, int], ...]
    by_thread: tuple[PathThread, ...]
    by_lock: tuple[PathLock, ...]
    by_method: tuple[PathMethod, ...]
    followed: int
    pieces: int
    has_samples: bool
    notices: tuple[Notice, ...]

    @property
    def wall_ns(self) -> int:
        """Return the length of the window in ns, which is also the length of the path."""
        return self.window_ns[1] - self.window_ns[0]
