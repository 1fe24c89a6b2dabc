"""Named patterns of contended locks (convoy, handoff), each with the figures of its rule.

handoff   the lock goes from thread to thread by waking them, and a waking takes longer than a hold: most of the time that the
          threads wait nobody holds it. Remedy: fewer, longer holds; tryLock or a lock-free structure; fewer threads.
convoy    (Blasgen, Gray, Mitoma, Price, 1979) a queue that does not drain although the lock is held only for a small part of
          the time: two or more threads wait for at least half of the time that anyone waits, holds are at most a tenth of the
          waits, the lock is held for less than half of the time waited, and nine of ten releases go to a parked thread.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.analyses.common.units import duration, percent
from headway.analyses.locks.types import Distribution, Pattern

CROWDED_SHARE = 0.5
SHORT_HOLD = 0.1
HELD_SHARE = 0.5
HANDED_SHARE = 0.9
LEAST_WAITS = 20
"""Fewer blocks make no pattern."""
LEAST_SEEN = 0.25
"""The least part of the time that holders are known to have kept others waiting that the holds which were seen make up."""


def patterns(
    *,
    waits: int,
    wait_p50_ns: int | None,
    hold_p50_ns: int | None,
    held_share: float | None,
    holds: int,
    wakings: int,
    wake_to_run_p50_ns: int | None,
    crowded_ns: int,
    real_time_ns: int,
) -> tuple[Pattern, ...]:
    """Return the patterns of a lock; none when neither holds nor wakeups are known.

    `held_share`: the part of the time waited in which it was held, or may have been; None: not known.
    """
    if waits < LEAST_WAITS or not real_time_ns or not holds or hold_p50_ns is None or wake_to_run_p50_ns is None:
        return ()
    if held_share is None:
        return ()
    crowded, held = crowded_ns / real_time_ns, held_share
    handed = min(1.0, wakings / holds)
    figures: dict[str, float | int | None] = {
        "crowded_share": crowded,
        "held_share": held,
        "handed_share": handed,
        "hold_p50_ns": hold_p50_ns,
        "wait_p50_ns": wait_p50_ns,
        "wake_to_run_p50_ns": wake_to_run_p50_ns,
    }
    found = []
    is_short = wait_p50_ns is not None and hold_p50_ns <= SHORT_HOLD * wait_p50_ns
    if crowded >= CROWDED_SHARE and is_short and held < HELD_SHARE and handed >= HANDED_SHARE:
        text = (
            f"convoy: for {percent(crowded)} of the time several threads queue, though the lock is held for only"
            f" {percent(held)} of it (the median hold takes {duration(hold_p50_ns)}): the rest is waking the next one"
        )
        found.append(Pattern("convoy", text, figures))
    if hold_p50_ns < wake_to_run_p50_ns and held < HELD_SHARE:
        text = (
            f"handoff: the median hold takes {duration(hold_p50_ns)}, waking the next thread {duration(wake_to_run_p50_ns)}:"
            " the lock is handed over more than it is held"
        )
        found.append(Pattern("handoff", text, figures))
    return tuple(found)


def held_share(holding: Mapping[str, int] | None, holds: Distribution, real_time_ns: int) -> float | None:
    """Return the part of the time waited in which a lock was held, or may have been; None: not known.

    Not each hold is seen whole, so their sum is only the least that it was held; `holding` (ns of waiting, by what the holder
    did) covers all of the time. What is not known of it counts as held: a pattern is named only where it is sure.
    """
    waited = sum(holding.values()) if holding else 0
    if holding is None or not waited or not real_time_ns:
        return None
    return max(1 - holding["handoff"] / waited, min(1.0, holds.mean_ns * holds.count / real_time_ns))


def are_typical(holds: Distribution, holding: Mapping[str, int] | None, real_time_ns: int, waits: int) -> bool:
    """Return whether the holds that were seen may stand for all that others waited for.

    Of a monitor that is taken without a wait nothing is seen. Where threads wait for such a hold, as for the one that loads a
    cache's entry, those that are seen, of the threads that waited, may be a thousand times as short.
    """
    waited = sum(holding.values()) if holding else 0
    if holding is None or not waited:
        return True
    known_ns = real_time_ns * (1 - (holding["handoff"] + holding["unknown"]) / waited)
    return holds.mean_ns * max(holds.count, waits) >= LEAST_SEEN * known_ns
