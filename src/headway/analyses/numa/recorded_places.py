"""Where in a recorded program the causes of its classes are: threads and their methods, classes whose code writes, and locks.

Method     of a thread the innermost Java method below which half of its CPU time is, by samples, the JDK's left out; of shared
           writes the classes whose code does most of them (table `access_writer`); of locks the one that threads wait for
           longest in all, if that is much beside the time that they compute.
Unknown    what is not recorded is left out: advice says it without a place then.
Checked    tests/unit/analyses/numa/test_numa_places.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headway.analyses.locks.analysis import has_locks, locks
from headway.analyses.numa.parallelism import OF_THE_REST
from headway.analyses.numa.types import (
    FEW_WORKERS,
    NON_UNIFORM,
    ONE_WORKER,
    OUTLIER,
    SERIAL,
    SHARED_WRITES,
    SINGLE,
    ClassFinding,
    joined,
)
from headway.analyses.profile.analysis import profile
from headway.analyses.profile.cpu_time import CPU
from headway.analyses.stacks.types import KINDS
from headway.analyses.waits.object_names import is_jdk
from headway.errors import HeadwayError
from headway.model.object_owners import LAST_WRITER, OWNER_TABLES

if TYPE_CHECKING:
    from headway.analyses.numa.crews import WorkOverTime
    from headway.analyses.scheduling.thread_work import ProgramWork
    from headway.store import Recording

Window = tuple[int, int] | None
LOCKS = "locks"
"""Not a cause of a class: the lock that takes most of the threads' time."""
MUCH_WAITED = 0.05
"""Of the CPU time of the program: a lock that is waited for less is not named."""
_JAVA = tuple(KINDS.index(kind) for kind in ("java", "interpreted", "inlined", "c1"))
HALF = 0.5
_MOST_CLASSES, _LEAST_OF_WRITES = 3, 0.1


def places_of(
    recording: Recording,
    window: Window,
    work: ProgramWork,
    over_time: WorkOverTime,
    workers: Sequence[tuple[int, str]],
    found: ClassFinding,
    causes: Sequence[str],
) -> Mapping[str, str]:
    """Return where each cause is, as words, for those of which it is known. `workers`: those that did most first."""
    places: dict[str, str] = {}
    if SERIAL in causes and (alone := over_time.alone()) is not None:
        thread, share = alone
        name = next(each.name for each in work.threads if each.thread_id == thread)
        places[SERIAL] = f"{share:.0%} of what one thread does alone is {name}'s{_method(recording, window, thread)}"
    for cause in (ONE_WORKER, NON_UNIFORM, FEW_WORKERS):
        if cause in causes and workers:
            thread, name = _busiest(over_time, workers) if cause == NON_UNIFORM else workers[0]
            places[cause] = f"the busiest is {name}{_method(recording, window, thread)}"
    if OUTLIER in causes:
        places[OUTLIER] = next(each.text for each in found.evidence if each.metric == OF_THE_REST)
    if SHARED_WRITES in causes and (classes := _writing_classes(recording, work.pid)):
        places[SHARED_WRITES] = f"most of these writes are by the code of {classes}"
    if found.answer != SINGLE and (lock := most_waited(recording, window, work)):
        places[LOCKS] = lock
    return places


def _busiest(over_time: WorkOverTime, workers: Sequence[tuple[int, str]]) -> tuple[int, str]:
    """Return the worker that does most while several work."""
    by_thread = over_time.while_several_work([thread for thread, _ in workers])
    return max(workers, key=lambda worker: by_thread.get(worker[0], -1))


def _method(recording: Recording, window: Window, thread: int) -> str:
    """Return the method below which most of a thread's CPU time is, as the end of a sentence; nothing where none is known.

    From its first method on each that has half of the time is followed by the one that it calls for most of it.
    """
    with contextlib.suppress(HeadwayError):
        found = profile(recording, CPU, only=[thread], window=window)
        tree, most = found.tree, ""
        for depth, frame, kind, weight in zip(
            *(each.tolist() for each in (tree.depth, tree.frame, tree.kind, tree.total_weight)), strict=True
        ):
            is_below = weight >= HALF * found.total
            if is_below and kind in _JAVA and not is_jdk(found.frames[frame].class_name):
                most = (
                    f", {weight / found.total:.0%} of whose CPU time is in {found.frames[frame].text} and what it calls"
                )
            elif not is_below and depth == 0:
                break
        return most
    return ""


def _writing_classes(recording: Recording, pid: int | None) -> str:
    """Return the classes whose code most often writes to objects that another thread wrote to last, with their shares."""
    table = OWNER_TABLES[LAST_WRITER][0]
    if pid is None or not recording.has(table):
        return ""
    rows = recording.query(
        f"""SELECT class_name, sum(tuple_writes_shared::HUGEINT + array_writes_shared) AS writes FROM {table}
          WHERE pid = {pid} GROUP BY class_name HAVING writes > 0 ORDER BY writes DESC, class_name"""
    ).fetchall()
    total = sum(writes for _, writes in rows)
    named = [
        f"{name or 'unknown classes'} ({writes / total:.0%})"
        for name, writes in rows[:_MOST_CLASSES]
        if writes >= _LEAST_OF_WRITES * total
    ]
    return joined(named)


def most_waited(recording: Recording, window: Window, work: ProgramWork) -> str:
    """Return the lock that threads wait for longest in all, if that is long; nothing where locks are not recorded."""
    with contextlib.suppress(HeadwayError):
        if not has_locks(recording) or not work.cpu_ns:
            return ""
        contended = locks(recording, window, sort="thread-time", limit=1).contended
        if len(contended) and contended[0].sums.thread_time_ns >= MUCH_WAITED * work.cpu_ns:
            lock = contended[0]
            waited = lock.sums.thread_time_ns / work.cpu_ns
            where = f" at {lock.place}" if lock.place is not None else ""
            return f"{lock.name}{where}; threads wait for it {waited:.0%} as long as the program computes"
    return ""
