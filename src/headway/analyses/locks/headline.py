"""Chooses the lock that a person should look at first.

Rows come by lost core time. Where the cores were busy all the time, all of them lost next to none, and a lock of microseconds may
come first: so the headline is the first row for which threads waited a hundredth of the wall time, if there is one.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headway.analyses.locks.types import Lock

LEAST_WAITED = 0.01
"""What threads waited for a lock for, as a part of the wall time, for it to be worth the headline."""
_LOOKED_AT = 100


def headline(contended: Iterable[Lock], wall_ns: int) -> Lock | None:
    """Return the first row above the threshold, else the first with waits longer than an instant."""
    some: Lock | None = None
    for row in itertools.islice(contended, _LOOKED_AT):
        if row.sums.thread_time_ns >= LEAST_WAITED * wall_ns:
            return row
        if some is None and row.sums.thread_time_ns:
            some = row
    return some
