"""The place of a loss: its method and line, its lock and its thread.

Method     what is waited for and the thread come from the waits. The code: for locks, queues, conditions and sleeps the place
           of the wait (the innermost frame that is no JDK code, weighed by how long was waited there). For who works while
           others wait (imbalance, a serial section) the method with most CPU samples of that thread meanwhile; where nothing was
           sampled, the place of the wait. For sleeps and I/O that are no park, the wall samples inside the time blocked so.
Assumes    samples are taken evenly.
Wrong when a stretch is shorter than the sampling interval: then its code is not known, and left out.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.code import CodeFinder
from headway.analyses.lost_cores.types import Place
from headway.analyses.waits.object_names import is_jdk, is_proxy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Where = tuple[str | None, int | None]

MOST_NAMESAKES = 1000
_FAR = 1 << 60
_NUMBERS = re.compile(r"\d+")
_OF_A_POOL = re.compile(r"(pool|ForkJoinPool)-\d+(?=-)", re.ASCII)
"""What the JDK calls the threads of an executor begins so: two pools are not one for having no names."""
NOWHERE: tuple[None, None] = (None, None)
CODES = {cause: code for code, cause in enumerate(CAUSES)}


class Places:
    """Names the places of one recording's losses; loads data on first use."""

    def __init__(self, recording: Recording, waits: Waits) -> None:
        """Take the recording and its waits."""
        self.recording = recording
        self.waits = waits
        self.code = CodeFinder(recording)

    def of(self, cause: str, key: int, threads: Sequence[int], window: tuple[int, int]) -> Place:
        """Return the place of a loss: what is waited for (-1: nothing), and the threads that it is about, the first one first."""
        thread = threads[0] if threads else -1
        waited = self.waits.places[key] if 0 <= key < len(self.waits.places) else None
        method, line = self._where(cause, key, thread, window, threads)
        name, pid = self.thread(thread)
        return Place(method, line, waited.name if waited else None, name, waited.pid if waited else pid)

    def thread(self, thread: int) -> tuple[str | None, int | None]:
        """Return a thread's name and its JVM; None for nobody."""
        return self._threads.get(thread, (self.waits.name(thread), None))

    @cached_property
    def _threads(self) -> Mapping[int, tuple[str, int]]:
        rows = self.recording.query("SELECT thread_id, name, pid FROM thread").fetchall()
        return {thread: (name, pid) for thread, name, pid in rows}

    def life(self, thread: int) -> tuple[int, int]:
        """Return a thread's start and end, ns from the recording's start; far outside it where unknown."""
        return self._lives.get(thread, (-_FAR, _FAR))

    @cached_property
    def _lives(self) -> Mapping[int, tuple[int, int]]:
        origin = self.recording.window_ns[0]
        rows = self.recording.query("SELECT thread_id, start_ns, end_ns FROM thread").fetchall()
        return {thread: (start - origin, _FAR if end is None else end - origin) for thread, start, end in rows}

    def _where(self, cause: str, key: int, thread: int, window: tuple[int, int], threads: Sequence[int]) -> Where:
        if cause == causes.SERIAL:
            return self.code.alone(threads[:MOST_NAMESAKES], window)[:2]
        if cause in (causes.IMBALANCE, causes.FEW, causes.STARVED, causes.FULL) and key >= 0:
            # In a queue the wait has one place; who is slow is told by the thread.
            rows = self.pieces(cause, key, window, thread)
            if cause in (causes.IMBALANCE, causes.FEW) and thread >= 0:
                worked = self.code.running(thread, *self._spans(rows, window))
                return worked if worked != NOWHERE else self.site(rows)
            return self.site(rows)
        if key >= 0:
            return self.site(self.pieces(cause, key, window))
        if cause in (causes.SLEEP, causes.IO):
            return self.code.blocked(self.namesakes(thread), cause, window, self.waits)
        return NOWHERE

    def namesakes(self, thread: int) -> list[int]:
        """Return the threads of one name and JVM but for numbers: their sleeps are one loss, and their I/O; at most some."""
        return [thread, *(one for one in self._crowds.get(self.crowd(thread), ()) if one != thread)][:MOST_NAMESAKES]

    def crowd(self, thread: int) -> tuple[str | None, int | None]:
        """Return a thread's name without its numbers (worker-*), and its JVM: a program's workers do the same."""
        name, pid = self.thread(thread)
        if name is None:
            return None, pid
        pool = _OF_A_POOL.match(name)
        begin = pool.end() if pool else 0
        return name[:begin] + _NUMBERS.sub("*", name[begin:]), pid

    @cached_property
    def _crowds(self) -> Mapping[tuple[str | None, int | None], list[int]]:
        found: dict[tuple[str | None, int | None], list[int]] = {}
        for thread in self._threads:
            found.setdefault(self.crowd(thread), []).append(thread)
        return found

    def _spans(self, rows: Ints, window: tuple[int, int]) -> tuple[Ints, Ints]:
        return np.maximum(self.waits.start[rows], window[0]), np.minimum(self.waits.end[rows], window[1])

    @cached_property
    def _by_key(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.waits.key, kind="stable")
        return order, np.searchsorted(self.waits.key[order], np.arange(len(self.waits.places) + 1))

    def pieces(self, cause: str, key: int, window: tuple[int, int], target: int = -1) -> Ints:
        """Return the rows of the waits for an object in a window; with a target those for that thread, if there are any."""
        order, begins = self._by_key
        rows = order[begins[key] : begins[key + 1]]
        waits = self.waits
        inside = (waits.end[rows] > window[0]) & (waits.start[rows] < window[1])
        rows = rows[inside & (waits.cause[rows] == CODES[cause])]
        directed = rows[waits.target[rows] == target] if target >= 0 else rows
        return np.asarray(directed if len(directed) else rows)

    def waits_for(self, cause: str, key: int, window: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
        """Return the waits for an object, or those for a carrier, that reach into a window: thread, start and end of each."""
        if cause == causes.CARRIERS:
            inside = (self.waits.end > window[0]) & (self.waits.start < window[1])
            rows = np.flatnonzero(inside & (self.waits.cause == CODES[cause]))
        else:
            rows = self.pieces(cause, key, window)
        return self.waits.thread[rows].astype(np.int64), self.waits.start[rows], self.waits.end[rows]

    def site(self, rows: Ints) -> Where:
        """Return the code in which most of the time of some pieces was waited; None, None where no stack was taken."""
        waits = self.waits
        if waits.data is None or waits.sites is None or not len(rows):
            return NOWHERE
        stack = waits.sites.stack[waits.block[rows]]
        total: dict[tuple[str, int | None], int] = {}
        length = waits.end[rows] - waits.start[rows]
        stacks, at = np.unique(stack, return_inverse=True)
        for number, ns in zip(stacks.tolist(), np.bincount(at.reshape(-1), weights=length).tolist(), strict=True):
            for class_name, method, line in waits.data.frames(number):
                if not is_jdk(class_name) and not is_proxy(class_name):
                    where = (f"{class_name}.{method}", line)
                    total[where] = total.get(where, 0) + ns
                    break
        return max(total, key=lambda each: total[each]) if total else NOWHERE
