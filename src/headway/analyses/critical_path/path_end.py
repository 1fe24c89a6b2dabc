"""Chooses the thread that a critical path ends in, and says why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import patterns
from headway.analyses.critical_path.stopped import last_active, stop_of_program
from headway.analyses.critical_path.types import NOBODY_ACTIVE
from headway.analyses.waits.threads.process_exit import exits
from headway.errors import HeadwayError
from headway.model.kinds import PROGRAM
from headway.model.names import is_main_thread
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.store import Recording


@dataclass(frozen=True, slots=True)
class End:
    """The thread that a path ends in, and why it was chosen."""

    thread: int
    chosen: str


def choose_end(
    recording: Recording, threads: PathThreadTable, span: tuple[int, int], pattern: re.Pattern[str] | None
) -> End:
    """Choose the thread that the path ends in; `span` is in CLOCK_MONOTONIC ns.

    Of threads that the pattern is found in, or of the program's: the one that was active last. Where the program itself ended
    with the span, that is its first thread, whose end the kernel takes for the program's; but a JVM's first thread only waits for
    the main thread, so that is taken where the kernel did not tell who woke whom.

    Raises HeadwayError HW495 when the pattern is found in no thread's name.
    """
    if pattern is not None:
        with patterns.in_time(pattern.pattern, recording.path):
            chosen = [i for i, name in enumerate(threads.names) if pattern.search(name)]
        if not chosen:
            names = [name for name, kind in zip(threads.names, threads.kinds, strict=True) if kind == "app"]
            examples = ", ".join(nearest_first(pattern.pattern, names, 3)) or "none"
            raise HeadwayError("HW495", path=recording.path, pattern=pattern.pattern, examples=examples)
        which = "it" if len(chosen) == 1 else f"of {len(chosen)} threads so called, the one active last"
        return End(last_active(recording, chosen, span) or chosen[0], f"--thread {pattern.pattern}: {which}")
    main = _java_main(recording) if recording.mode != "ebpf" else None
    if main is not None:
        return End(main, "Java's main thread")
    ended = program_end(recording, threads) if span[1] >= recording.window_ns[1] else None
    if ended is not None:
        return ended
    stop = stop_of_program(recording, threads)
    if stop is not None and stop.handler is not None and span[1] > stop.start_ns:
        return End(stop.handler, "a signal told the program to end")
    program = [i for i, kind in enumerate(threads.kinds) if kind in PROGRAM]
    last = last_active(recording, program, span)
    if last is not None:
        return End(last, "the application thread that was active last")
    root = _root(recording, threads)
    return End(root if root is not None else 0, NOBODY_ACTIVE)


def program_end(recording: Recording, threads: PathThreadTable) -> End | None:
    """Return the thread whose end was the program's.

    None where the program went on, or was killed by somebody outside, or its first thread is not known.
    """
    root = _root(recording, threads) if recording.manifest.ended_by == "exit" else None
    if root is None:
        return None
    stop = stop_of_program(recording, threads)
    if stop is not None and stop.handler is None and stop.pid == int(threads.pid[root]):
        return None
    ender = _ender(recording, threads, root)
    if ender is not None:
        return End(ender, "the thread that ended the program")
    return End(root, "the program's first thread: its end is the program's")


def _root(recording: Recording, threads: PathThreadTable) -> int | None:
    pid = recording.manifest.pid
    found = np.flatnonzero((threads.tid == pid) & (threads.pid == pid)) if pid is not None else np.zeros(0, np.int64)
    return int(found[np.argmin(threads.birth_ns[found])]) if len(found) else None


def _ender(recording: Recording, threads: PathThreadTable, root: int) -> int | None:
    """Return who ended the program's JVM before its first thread came to its end: System.exit makes the VM's thread do that."""
    pid = int(threads.pid[root])
    waker = next((each.waker for each in exits(recording) if each.pid == pid), -1)
    is_own = 0 <= waker < len(threads) and int(threads.pid[waker]) == pid
    return waker if is_own and waker != root else None


def _java_main(recording: Recording) -> int | None:
    """Return the main thread of the JVM that is the program itself."""
    pid = recording.manifest.pid
    if pid is None:
        return None
    rows = recording.query(
        "SELECT thread_id, java_id, name FROM thread WHERE pid = ? ORDER BY start_ns", [pid]
    ).fetchall()
    return next((int(thread) for thread, java_id, name in rows if is_main_thread(java_id, name)), None)
