"""Room for the descriptors of counters: each counter takes one on every CPU, and the recorder needs some for all else."""

from __future__ import annotations

import os
import resource

_FOR_ALL_ELSE = 96
"""Rings, files of the spool, agents and looks into /proc, beside a few for each CPU."""
_FOR_EACH_CPU = 4


def missing_descriptors(counters: int, cpus: int) -> str:
    """Return why there is no room for so many counters on each of so many CPUs; empty: there is, the limit raised if need be."""
    there = len(os.listdir("/proc/self/fd"))
    needed = there + counters * cpus + _FOR_ALL_ELSE + _FOR_EACH_CPU * cpus
    limit = limit_below(needed)
    return (
        "" if limit is None else f"too many open files: {needed} descriptors are needed, and ulimit -n allows {limit}"
    )


def limit_below(needed: int, better: int = 0) -> int | None:
    """Return the limit of open files where it is below what is needed and can't be raised; None: there is room.

    `better`: where it has to be raised it is raised so far at once, or as far as it may be.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return None
    if hard != resource.RLIM_INFINITY and hard < needed:
        return soft
    wanted = max(needed, better)
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(hard, wanted), hard)
        )
    except (OSError, ValueError):  # beyond fs.nr_open
        return soft
    return None
