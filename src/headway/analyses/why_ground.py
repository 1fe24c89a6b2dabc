"""What the bounds of speedups stand on: the wall time, the cores, and the core time in which the program worked.

Method     of an account of lost cores, its sums; the rest from the counts of active and running threads over time. Where no
           account is made (`headway locks`), the same sums without it: what ran from these counts, other processes' time from
           the gaps or counters that the account takes it from, evenly spread over the window.
Wrong when other processes' time and the program's overlap on fewer cores than there are (a quota, bursts): the account caps it at
           each instant, the sums only as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses import activity as activities
from headway.analyses import why_beside, why_cores
from headway.analyses.activity import KINDS, sum_columns
from headway.analyses.why_bounds import Ground

if TYPE_CHECKING:
    from headway.analyses.activity import Activity
    from headway.analyses.why_types import Account
    from headway.store import Recording


def of_account(account: Account, active: Activity) -> Ground:
    """Return the ground of an account, or of a part of what was loaded."""
    app = active.active[:, KINDS.index("app")]
    inside = (active.bin_start_ns >= account.start_ns) & (active.bin_start_ns < account.end_ns)
    length = np.where(inside, active.dur_ns, 0)
    room = np.where((app > 0) & (app < account.cores), 1 - app / account.cores, 0.0)
    used = account.used_ns
    return Ground(
        wall_ns=account.wall_ns,
        cores=account.cores,
        work_ns=sum(ns for kind, ns in used.items() if kind != "headway"),
        collected_ns=used["gc"] + used["vm"],
        room_ns=round(float((room * length).sum())),
        nobody_ns=round(float(length[app == 0].sum()) * account.cores),
        others_ns=account.other_processes_ns or 0,
        ready_ns=int(length[_is_late(active)].sum()),
    )


def of_waits(recording: Recording, window: tuple[int, int]) -> Ground | None:
    """Return what bounds of waits stand on, without an account; None where the mode recorded no scheduling."""
    if not activities.has_scheduling(recording):
        return None
    active = activities.load(recording, window)
    cores = why_cores.available(recording, active)[0]
    ran = int((active.on_cpu * active.dur_ns).sum())
    stolen = 0 if active.stolen_ns is None else round(float(active.stolen_ns.sum()))
    return Ground(
        wall_ns=active.wall_ns,
        cores=float(cores),
        work_ns=max(0, ran - stolen),
        others_ns=_others(recording, window, cores, ran),
        ready_ns=int(active.dur_ns[_is_late(active)].sum()),
    )


def _is_late(active: Activity) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return in which rows a thread was ready and did not run."""
    late: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = sum_columns(active.active) > active.on_cpu
    return late


def _others(recording: Recording, window: tuple[int, int], cores: int, ran: int) -> int:
    """Return the core time that other processes had of the program's cores, without the recorder's."""
    begin, end = (recording.window_ns[0] + each for each in window)
    took = why_beside.others(recording, (begin, end)).took_ns(begin, end, recorder=False)
    wall = window[1] - window[0]
    elsewhere = max(0, (why_cores.known_cpus(recording) or cores) - cores) * wall
    return round(min(max(0.0, took - elsewhere), max(0, cores * wall - ran)))
