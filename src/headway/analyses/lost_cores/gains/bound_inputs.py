"""The inputs of the bounds of speedups: wall time, cores, and the core time in which the program worked.

Method     of an account of lost cores, its sums; the rest from the counts of active and running threads over time. Where no
           account is made (`headway locks`), the same sums without it: what ran from these counts. What other processes kept from
           the program comes from the window's course (account.course).
Wrong when other processes' time and the program's overlap on fewer cores than there are (a quota, bursts): the account caps it at
           each instant, the sums only as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lost_cores.account import course
from headway.analyses.lost_cores.gains.bounds import BoundInputs
from headway.analyses.scheduling import activity as activities
from headway.analyses.scheduling import available_cores
from headway.analyses.scheduling.activity import KINDS, sum_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.types import Account
    from headway.analyses.scheduling.activity import Activity
    from headway.store import Recording


def of_account(recording: Recording, account: Account, active: Activity) -> BoundInputs:
    """Return the inputs of the bounds of an account, or of a part of what was loaded."""
    app = active.active[:, KINDS.index("app")]
    inside = (active.bin_start_ns >= account.start_ns) & (active.bin_start_ns < account.end_ns)
    length = np.where(inside, active.dur_ns, 0)
    room = np.where((app > 0) & (app < account.cores), 1 - app / account.cores, 0.0)
    used = account.used_ns
    window = (account.start_ns, account.end_ns)
    went = course.of(recording, active, window, account.cores, _elsewhere(recording, account.cores))
    return BoundInputs(
        wall_ns=account.wall_ns,
        cores=account.cores,
        work_ns=sum(ns for kind, ns in used.items() if kind != "headway"),
        collected_ns=used["gc"] + used["vm"],
        room_ns=round(float((room * length).sum())),
        idle_ns=round(float(length[app == 0].sum()) * account.cores),
        others_ns=round(went.kept_since(0)),
        ready_ns=int(length[_is_late(active)].sum()),
        taken_ns=_taken(active, length),
        left_ns=max(0, round((account.other_processes_ns or 0) - went.kept_since(0))),
        start_ns=account.start_ns,
        course=went,
    )


def _taken(active: Activity, length: NDArray[np.int64]) -> int:
    """Return the core time that the collector computed while threads of the program were ready and had no core."""
    app = KINDS.index("app")
    waiting = np.maximum(active.active[:, app] - active.running[:, app], 0)
    collecting = active.running[:, [KINDS.index("gc"), KINDS.index("vm")]].sum(axis=1)
    return int((np.minimum(waiting, collecting) * length).sum())


def of_waits(recording: Recording, window: tuple[int, int]) -> BoundInputs | None:
    """Return the inputs of the bounds of waits, without an account; None where the mode recorded no scheduling."""
    if not activities.has_scheduling(recording):
        return None
    active = activities.load(recording, window)
    cores = available_cores.available(recording, active)[0]
    went = course.of(recording, active, window, float(cores), _elsewhere(recording, cores))
    return BoundInputs(
        wall_ns=active.wall_ns,
        cores=float(cores),
        work_ns=round(went.work_since(0)),
        others_ns=round(went.kept_since(0)),
        ready_ns=int(active.dur_ns[_is_late(active)].sum()),
        start_ns=window[0],
        course=went,
    )


def _elsewhere(recording: Recording, cores: float) -> float:
    """Return how many cores there are for others beside those of the program."""
    return max(0.0, (available_cores.known_cpus(recording) or cores) - cores)


def _is_late(active: Activity) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return in which rows a thread was ready and did not run."""
    late: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = sum_columns(active.active) > active.on_cpu
    return late
