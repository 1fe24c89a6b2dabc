"""How a window went, in time bins: the program's work, what other processes kept from it, and the cores free for it.

Question   what could the program have had at each time, had more of its threads had something to do?
Method     a core is free where no thread of the program runs on it or is ready for one, whoever else has it: more threads that
           want cores get more of them from others. What other processes ran was kept from the program where one of its
           threads was ready and did not run; all else that they had, they had because the program left it idle: it would have
           got its share, had it asked.
Assumes    other processes' time lies evenly in the gaps of the CPUs; the counts of a time bin are spread evenly in it.
Wrong when others would not give way: threads of a higher priority than the program's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.scheduling import other_processes
from headway.analyses.scheduling.activity import sum_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.scheduling.activity import Activity
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Course:
    """Sums of core time at the edges of time bins, from the window's begin on; `edge_ns` counts from the recording's start.

    `kept_ns` is the core time that other processes had while threads of the program were ready for it, `free_ns` that for which
    there was no thread of the program.
    """

    edge_ns: Ints
    work_ns: Floats
    kept_ns: Floats
    free_ns: Floats

    def at(self, ns: int) -> int:
        """Return the number of the last edge that is not behind a point in time, the first one where all are."""
        return max(0, int(np.searchsorted(self.edge_ns, ns, side="right")) - 1)

    def work_since(self, edge: int) -> float:
        """Return the core time in which the program worked from an edge on."""
        return float(self.work_ns[-1] - self.work_ns[edge])

    def kept_since(self, edge: int) -> float:
        """Return the core time that others kept from the program from an edge on."""
        return float(self.kept_ns[-1] - self.kept_ns[edge])

    def kept_in(self, start: Ints, end: Ints) -> float:
        """Return the core time that others kept from the program in some spans, spread evenly over each time bin."""
        since, until = (np.interp(each, self.edge_ns, self.kept_ns) for each in (start, end))
        return float((until - since).sum())

    def room_ns(self, start: Ints, end: Ints, needed: float) -> float:
        """Return for how much core time there was room while threads waited, if each needs a part of a core (`needed`).

        What finds no free core in a time bin is computed in later ones: work waits for a core, it is not lost.
        """
        wanted_ns = needed * integral(self.edge_ns, start, end)
        # Since the moment at which nothing was left waiting for the last time, all free cores were used.
        return float(self.free_ns[-1] + (wanted_ns - self.free_ns).min())


def integral(at: Ints, start: Ints, end: Ints, rate: Floats | None = None) -> Floats:
    """Return how long spans have been open, all together, up to each of some points in time; each counts `rate` times."""
    if not len(start):
        return np.zeros(len(at))
    origin = int(at[0]) if len(at) else 0
    weight = np.ones(len(start)) if rate is None else rate

    def ramp(begin: Ints) -> Floats:
        order = np.argsort(begin, kind="stable")
        moment, each = begin[order] - origin, weight[order]
        count = np.searchsorted(moment, at - origin, side="right")
        slope, offset = (np.concatenate([[0.0], np.cumsum(part)])[count] for part in (each, each * moment))
        return np.asarray(slope * (at - origin) - offset, np.float64)

    return np.asarray(ramp(start) - ramp(end), np.float64)


def of(recording: Recording, active: Activity, window: tuple[int, int], cores: float, elsewhere: float = 0.0) -> Course:
    """Return the course of a window (ns from the recording's start) that `active` has counts of.

    `elsewhere`: cores of the machine beside those of the program, which others use first.
    """
    inside = np.flatnonzero((active.bin_start_ns >= window[0]) & (active.bin_start_ns < window[1]))
    begin, row = np.unique(active.bin_start_ns[inside], return_inverse=True)
    if not len(begin):
        return Course(np.array(window[:1], np.int64), *(np.zeros(1) for _ in range(3)))
    edge = np.append(begin, window[1])
    edge[0] = window[0]
    length, running = active.dur_ns[inside].astype(float), active.on_cpu[inside]
    wanted = sum_columns(active.active)[inside]
    is_ready = wanted > running
    row = row.reshape(-1)

    def total(values: Floats) -> Floats:
        return np.asarray(np.bincount(row, weights=values, minlength=len(begin)), np.float64)

    free = np.maximum(cores - wanted, 0.0) * length
    had = np.maximum(np.diff(_others(recording, edge)) - elsewhere * np.diff(edge), 0.0)
    kept = np.minimum(had, total(np.where(is_ready, np.maximum(cores - running, 0.0) * length, 0.0)))
    stolen = active.stolen_ns[inside] if active.stolen_ns is not None else np.zeros(len(inside))
    work = np.maximum(total(running * length - stolen), 0.0)
    sums = (work, kept, total(free))
    return Course(edge, *(np.concatenate([[0.0], np.cumsum(each)]) for each in sums))


def _others(recording: Recording, edge: Ints) -> Floats:
    """Return at the edges of bins the core time that other processes, the recorder left out, had until then."""
    origin = recording.window_ns[0]
    of = other_processes.others(recording, (origin + int(edge[0]), origin + int(edge[-1]))).columns
    start, end = of["start_ns"] - origin, of["end_ns"] - origin
    rate = (of["other_ns"] - of["headway_ns"]) / np.maximum(end - start, 1)
    found = integral(edge, start, end, rate)
    return np.asarray(found - found[0], np.float64)
