"""Builds recordings of locks, and counts in them moment by moment as an oracle.

Times are ns from the start of the recording. Threads are those of `synthetic`, by index; locks are numbers 0..
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.builders import synthetic
from support.builders.synthetic import ORIGIN, FakeThread

NO_FRAMES: tuple[tuple[str, str], ...] = ()
LOCK_CLASS = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
LOCK_FRAMES = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer", "acquire"),
    ("java.util.concurrent.locks.ReentrantLock", "lock"),
)


@dataclass(frozen=True)
class Wait:
    """One block. `owner`, `waker`: threads by index; a negative thread is the virtual thread with that Java id."""

    thread: int
    lock: int
    start: int
    end: int
    owner: int | None = None
    waker: int | None = None
    waking: int | None = None
    stack: int | None = None
    is_open: bool = False
    is_timed: bool = False
    waker_stack: int | None = None
    is_kernel_waking: bool | None = None
    is_pinned: bool = False
    is_repark: bool = False
    owns_monitor: bool = False


@dataclass(frozen=True)
class LockHold:
    """A span in which a thread holds a lock."""

    lock: int
    thread: int
    start: int
    end: int
    source: str = "owner"


@dataclass
class LockRecording:
    """Everything in one recording of locks."""

    threads: Sequence[FakeThread]
    waits: Sequence[Wait]
    holds: Sequence[LockHold] = ()
    wall: int = 100
    pauses: Sequence[tuple[int, int]] = ()
    classes: Sequence[str] = ()
    no_objects: Sequence[int] = ()
    """Locks that are none, though they have a class name, as that of sleeping threads."""
    kinds: Sequence[str] = ()
    stacks: Sequence[Sequence[tuple[str, str]]] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    gaps: Sequence[tuple[int, int, int]] = ()
    """When the second CPU was without the program's threads: start, length, and what others ran of it."""
    wakers: Mapping[int, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """By thread, who ended each of its blocks, by the kernel, and in which call (slice.blocked_in) that was."""
    standing: Sequence[tuple[int, str, int]] = ()
    """Threads that were seen waiting: thread, state, and the stack it stood in."""

    @property
    def locks(self) -> int:
        """Return how many locks there are."""
        named = [*(wait.lock for wait in self.waits), *(hold.lock for hold in self.holds)]
        return max([*named, len(self.classes) - 1, len(self.kinds) - 1], default=-1) + 1

    def kind(self, lock: int) -> str:
        """Return what kind of object a lock is."""
        return self.kinds[lock] if lock < len(self.kinds) else "park"

    def class_name(self, lock: int) -> str:
        """Return the class of a lock."""
        return self.classes[lock] if lock < len(self.classes) else LOCK_CLASS

    def parked(self, lock: int, t: int) -> int:
        """Return how many threads wait for a lock during [t, t + 1)."""
        return sum(wait.lock == lock and wait.start <= t < wait.end for wait in self.waits)

    def paused(self, t: int) -> bool:
        """Return whether a pause goes on at a moment."""
        return any(start <= t < end for start, end in self.pauses)

    def write(self, path: Path) -> Path:
        """Write the recording, and return its path."""
        tables = {
            "blocker": [row for lock in range(self.locks) if (row := self._blocker(lock))],
            "block": [self._block(wait) for wait in sorted(self.waits, key=lambda wait: wait.start)],
            "hold": [self._hold(each) for each in sorted(self.holds, key=lambda each: each.start)],
            "jvm_phase": [
                {"pid": 100, "start_ns": ORIGIN + start, "dur_ns": end - start, "kind": "gc_pause", "cause": "test"}
                for start, end in self.pauses
            ],
            **self._stacks(),
        }
        if self.gaps:
            names = ("cpu", "start_ns", "dur_ns", "other_ns")
            tables["cpu_gap"] = [dict(zip(names, (1, ORIGIN + gap[0], *gap[1:]), strict=True)) for gap in self.gaps]
        if self.standing:
            tables["waiting_stack"] = [
                {"pid": 100, "thread_id": thread, "state": state, "ns": ORIGIN, "stack_id": stack}
                for thread, state, stack in self.standing
            ]
        if self.wakers:
            tables["slice"] = self._slices()
        return synthetic.write(path, self.threads, self.wall, tables=tables, **self.facts)

    def _slices(self) -> list[dict[str, Any]]:
        found = []
        for index, thread in enumerate(self.threads):
            wakers = iter(self.wakers.get(index, ()))
            for row in synthetic.slices_of(index, thread):
                waker, call = next(wakers, (-1, 1)) if row["blocked_ns"] else (-1, 0)
                found.append(row | {"waker_id": waker, "blocked_in": call})
        return sorted(found, key=lambda row: row["start_ns"] + row["running_ns"])

    def _blocker(self, lock: int) -> dict[str, Any]:
        mine = [wait for wait in self.waits if wait.lock == lock]
        events = [t for wait in mine for t in (wait.start, *(() if wait.is_open else (wait.end,)))] or [0]
        lengths = [each.end - each.start for each in self.holds if each.lock == lock]
        levels = [self.parked(lock, t) for t in range(self.wall)]
        return {
            "blocker_id": lock,
            "pid": 100,
            "kind": self.kind(lock),
            "class_name": self.class_name(lock),
            "identity_hash": 0x1000 + lock if self.class_name(lock) and lock not in self.no_objects else 0,
            "first_thread": "worker",
            "first_stack_id": mine[0].stack if mine else None,
            "first_ns": ORIGIN + min(events),
            "last_ns": ORIGIN + max(events),
            "died_ns": None,
            "times_parked": sum(not wait.is_repark for wait in mine),
            "times_measured": sum(not wait.is_repark for wait in mine),
            "parked_now": sum(wait.is_open for wait in mine),
            "peak_parked": max(levels, default=0),
            "thread_time_ns": sum(levels),
            "real_time_ns": sum(level > 0 for level in levels),
            "holds": len(lengths),
            "hold_ns": sum(lengths),
        }

    def _block(self, wait: Wait) -> dict[str, Any]:
        return {
            "pid": 100,
            **self._thread("", wait.thread),
            "is_virtual": wait.thread < 0,
            "is_pinned": wait.is_pinned,
            "blocker_id": wait.lock,
            "kind": self.kind(wait.lock),
            "is_timed": wait.is_timed,
            "start_ns": ORIGIN + wait.start,
            "dur_ns": wait.end - wait.start,
            "stack_id": wait.stack,
            "weight": 1,
            **self._thread("waker_", wait.waker),
            "waker_stack_id": wait.waker_stack,
            "waking_ns": None if wait.waking is None else ORIGIN + wait.waking,
            "is_kernel_waking": wait.is_kernel_waking,
            **self._thread("owner_", wait.owner),
            "is_open": wait.is_open,
            "is_attached": False,
            "is_end_guessed": False,
            "is_repark": wait.is_repark,
            "owns_monitor": wait.owns_monitor,
        }

    def _hold(self, hold: LockHold) -> dict[str, Any]:
        times = {"start_ns": ORIGIN + hold.start, "dur_ns": hold.end - hold.start}
        return {"blocker_id": hold.lock, **self._thread("", hold.thread), **times, "source": hold.source}

    def _thread(self, prefix: str, thread: int | None) -> dict[str, Any]:
        if thread is None:
            return {f"{prefix}thread_id": None, f"{prefix}java_id": None}
        platform = thread >= 0
        return {
            f"{prefix}thread_id": thread if platform else None,
            f"{prefix}java_id": thread + 1 if platform else -thread + 1000,
        }

    def _stacks(self) -> dict[str, list[dict[str, Any]]]:
        frames: list[dict[str, Any]] = []
        stacks: list[dict[str, Any]] = []
        for stack, calls in enumerate(self.stacks):
            for depth, (class_name, method) in enumerate(calls):
                number = len(frames)
                frames.append(
                    {"frame_id": number, "class_name": class_name, "method": method, "line": depth, "kind": "java"}
                )
                stacks.append({"stack_id": stack, "depth": depth, "frame_id": number, "is_cut": False})
        return {"frame": frames, "stack": stacks}
