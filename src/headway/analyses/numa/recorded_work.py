"""What each thread of a recorded program did, as the columns of table 6.1: main, workers, auxiliary threads, their imbalance.

Method     Papadakis, PhD thesis, Manchester 2022, section 6.2: work is instructions where those of all threads are known, else
           CPU time. Workers do more than 4 % of the work. Where so many share it that such threads have less than half of what
           main leaves, workers are the threads with at least a tenth of the work that the mean thread has, weighed by work: of
           equal threads all, however many there are.
Checked    tests/unit/analyses/numa/test_numa_recorded.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.by_thread import counts_by_thread
from headway.analyses.counters.layout import layout
from headway.analyses.counters.metrics import imbalance
from headway.analyses.counters.parts.slices import slices
from headway.analyses.numa.columns import ThreadRange
from headway.analyses.numa.recorded_figures import CPU_TIME, RecordedFigures, WorkerShare
from headway.analyses.scheduling.thread_work import WORKER_SHARE, ProgramWork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.store import Recording

Window = tuple[int, int] | None
_MOST_UNCOUNTED, _MOST_UNCOUNTED_OF_ALL = 0.01, 0.0001
"""A thread's instructions count as known where less than this part of its CPU time, or of the program's, ran uncounted."""
_LEAST_OF_WORKERS = 0.5
_OF_THE_MEAN = 0.1


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """What each thread did. `amounts`: by thread_id, instructions or CPU ns, whose imbalance is the column of that name.

    `workers`: their thread_id and name, those that did most first.
    """

    figures: RecordedFigures
    amounts: Mapping[int, float]
    column: str
    workers: tuple[tuple[int, str], ...]


def recorded_work(recording: Recording, work: ProgramWork, window: Window) -> RecordedWork:
    """Return what each thread did in a window (ns from the start) or in all."""
    instructions = _instructions(recording, work, window)
    column = CPU_TIME if instructions is None else "imbalance_instructions_pct"
    amounts = instructions or {each.thread_id: float(each.cpu_ns) for each in work.threads}
    total = sum(amounts.values())
    main = sum(amounts[each.thread_id] for each in work.threads if each.role == "main")
    beside = {each.thread_id: each.name for each in work.threads if each.role != "main"}
    chosen = _workers({thread: amounts[thread] for thread in beside}, total)
    of_workers = [amounts[each] for each in chosen]
    found = RecordedFigures(Path(recording.path).stem)
    found.workers = tuple(WorkerShare(beside[each], amounts[each] / sum(of_workers)) for each in chosen)
    found.values["workers"] = ThreadRange(len(chosen), len(chosen))
    if total:
        others = max(0.0, total - main - sum(of_workers))
        found.values["main_instructions_pct"] = round(100 * main / total, 1)
        found.values["auxiliary_instructions_pct"] = round(100 * others / total, 1)
    uneven = imbalance(of_workers)
    if uneven is not None:
        found.values[column] = round(100 * uneven, 1)
    found.values |= _other_imbalances(recording, chosen, window, has_counts=instructions is not None)
    return RecordedWork(found, amounts, column, tuple((each, beside[each]) for each in chosen))


def _other_imbalances(
    recording: Recording, workers: Sequence[int], window: Window, *, has_counts: bool
) -> dict[str, float]:
    """Return the imbalance of the workers' cycles, and of their accesses to objects, where all of theirs are known.

    `has_counts`: instructions are known of all, and so are cycles.
    """
    counts = counts_by_thread(recording, "cycles", window) if has_counts else {}
    cycles = [counts[each].value for each in workers if each in counts]
    known = {"imbalance_cycles_pct": cycles}
    if window is None and recording.has("access"):
        rows = recording.query(
            """SELECT thread_id, sum(tuple_reads::HUGEINT + tuple_writes + array_reads + array_writes)::DOUBLE FROM access
              WHERE thread_id IS NOT NULL GROUP BY thread_id"""
        ).fetchall()
        accesses = dict(rows)
        known["imbalance_object_accesses_pct"] = [accesses[each] for each in workers if each in accesses]
    found = {}
    for name, values in known.items():
        uneven = imbalance([each for each in values if each is not None]) if len(values) == len(workers) else None
        if uneven is not None and None not in values:
            found[name] = round(100 * uneven, 1)
    return found


def _workers(amounts: Mapping[int, float], total: float) -> Sequence[int]:
    """Return the workers among the threads beside main, those that did most first."""
    ordered = sorted(amounts, key=lambda thread: -amounts[thread])
    found = [each for each in ordered if amounts[each] > WORKER_SHARE * total]
    of_all = sum(amounts.values())
    if of_all <= WORKER_SHARE * total or sum(amounts[each] for each in found) >= _LEAST_OF_WORKERS * of_all:
        return found
    mean = sum(each * each for each in amounts.values()) / of_all
    return [each for each in ordered if amounts[each] >= _OF_THE_MEAN * mean]


def _instructions(recording: Recording, work: ProgramWork, window: Window) -> dict[int, float] | None:
    """Return the instructions of each thread that worked; None where they are not known of all of them."""
    counts = counts_by_thread(recording, "instructions", window)
    found = {each.thread_id: counts.get(each.thread_id) for each in work.threads}
    known = {
        thread: figure.value for thread, figure in found.items() if figure is not None and figure.value is not None
    }
    if not known or len(known) < len(found):
        return None
    in_doubt = [thread for thread in known if counts[thread].high is None]
    return None if in_doubt and _lack_counts(recording, in_doubt, work, window) else known


def _lack_counts(recording: Recording, threads: list[int], work: ProgramWork, window: Window) -> bool:
    """Return whether any of some threads ran without counts for so long that its instructions are not known."""
    begin, end = (recording.window_ns[0] + each for each in window or (0, recording.wall_ns))
    ran, lacked = np.zeros(max(threads) + 1), np.zeros(max(threads) + 1)
    for each in slices(recording, layout(recording), begin, end, threads):
        inside = np.minimum(each.start_ns + each.running_ns, end) - np.maximum(each.start_ns, begin)
        lacks = ~each.is_known if each.stolen is None else ~each.is_known | each.stolen.any(axis=1)
        ran += np.bincount(each.thread_id, inside, len(ran))
        lacked += np.bincount(each.thread_id, inside * lacks, len(ran))
    return bool(np.any(lacked > np.maximum(_MOST_UNCOUNTED * ran, _MOST_UNCOUNTED_OF_ALL * work.cpu_ns)))
