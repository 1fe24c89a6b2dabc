"""How many cores the program can use: the CPUs that it may run on, its quota, and what it used at once.

Question   what is the account of lost cores an account of?
Method     the CPUs of its affinity (a container's cpuset is one), as the recorder saw it twice a second. A CPU quota allows
           less on average, but within its period threads may run on all of these CPUs, and are throttled for the rest of it.
           An account of the quota alone would be used up whenever the program was throttled, and would never show it. So with
           a quota it is the quota, rounded up, or what the program used at once, if that is more; throttled time is then lost
           to the quota.
Assumes    the program's affinity stays the same once it runs (all CPUs that it had count, and a change is told: HW070), and
           its quota as it is when the recording begins.
Wrong when threads set an affinity of their own that is narrower: that shows as lost to the scheduler. A command that narrows
           its affinity and ends within half a second counts with the CPUs that it was started with.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.analyses.scheduling.activity import Activity
    from headway.store import Recording

IGNORED_SHARE = 0.01
"""The program used k cores at once if it used more for no more than this part of its CPU time."""
ALLOWED_BEYOND = 0.001
"""--cores may be below what was used for so much of the time."""


def known_cpus(recording: Recording) -> int | None:
    """Return the number of CPUs that the program may run on; None where nothing in the recording says."""
    manifest = recording.manifest
    return len(manifest.affinity) or manifest.recorded_cores or len(manifest.host.cpus_online) or None


def available(recording: Recording, activity: Activity) -> tuple[int, Notice | None]:
    """Return the number of cores that `why` accounts for, and notices about a CPU quota."""
    cpus = known_cpus(recording) or used_at_once(activity)
    quota = recording.manifest.quota_cores
    if quota is None or quota >= cpus:
        return cpus, None
    cores = min(cpus, max(math.ceil(quota), used_at_once(activity)))
    return cores, Notice.of("HW486", quota=quota, cpus=cpus, cores=cores)


def used_at_once(activity: Activity) -> int:
    """Return how many cores the program used at the same time, ignoring the top IGNORED_SHARE of its CPU time."""
    running, length = activity.on_cpu, activity.dur_ns
    total = float((running * length).sum())
    most = int(running.max(initial=0))
    for cores in range(1, most):
        if float((np.maximum(running - cores, 0) * length).sum()) <= IGNORED_SHARE * total:
            return cores
    return max(1, most)


def check(recording: Recording, activity: Activity, cores: int) -> None:
    """Raise HeadwayError HW487 if the program used more cores than the number asked for."""
    beyond = float(activity.dur_ns[activity.on_cpu > cores].sum()) / max(activity.wall_ns, 1)
    if beyond > ALLOWED_BEYOND:
        from headway.analyses.common.units import percent

        raise HeadwayError("HW487", path=recording.path, cores=cores, share=percent(beyond))
