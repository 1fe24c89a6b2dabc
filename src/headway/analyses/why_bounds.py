"""How much faster could the program be if a cause of lost cores vanished? A bound, not a forecast.

Question   wall time / (the least wall time without the cause), to first order.
Method     T' >= max(T - saved, work / cores). A chain of dependent work gets shorter by no more than the time that its links
           of this cause last, and that is at most the time D in which the cause was there at all, whether or not cores were idle
           meanwhile. And work has to be done: spread evenly over all cores, nothing faster. `saved` by cause:

           waits (locks, conditions, sleep, I/O, pauses, start ...)  D: they vanish
           serial section        D (1 - 1/cores): its work is spread over all cores
           too few tasks         the integral of 1 - active/cores: the same for what is done by a few
           imbalance             the span of an instance becomes its mean: (waiters' time) / (threads that take part), or lost
                                 core time / cores, whichever is more
           starved, full         D; the work of the slow stage vanishes, too (it is left out of `work`)
           GC                    D, and what the collector computed beside the program
Assumes    the same work in any order. Removing one cause may remove others with it (a sleep that kept a barrier closed); D
           has those, because the chain's length is what counts.
Wrong when the fix also removes work: a lock that is gone together with what was done under it, a serial section that is deleted,
           not spread; the gain is then larger than the bound, and rightly so.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.analyses import why_types as causes

UNBOUNDED = 1000.0
"""A bound above this says nothing: the cause was there (nearly) all the time."""
NOT_SAID = frozenset({causes.UNKNOWN})


@dataclass(frozen=True, slots=True)
class Ground:
    """What the bounds of an account stand on: its wall time, its cores, and the core time in which the program worked.

    `collected_ns` is the part that the collector's threads took, `serial_ns` the time with exactly one active application
    thread, `few_ns` the integral of 1 - active/cores over the times with more, but fewer than cores.
    """

    wall_ns: int
    cores: float
    work_ns: int
    collected_ns: int = 0
    serial_ns: int = 0
    few_ns: int = 0


@dataclass(frozen=True, slots=True)
class Presence:
    """How long one cause at one place was there.

    `wall_ns` the time D with at least one thread in it; `thread_ns` the sum over threads, `threads` how many took part
    (the waiters and the one that they waited for), `maker_ns` the work of the thread that they waited for; `of_cause` is the
    place's share of all that was lost to its cause.
    """

    core_ns: int
    wall_ns: int
    thread_ns: int = 0
    threads: int = 0
    maker_ns: int = 0
    of_cause: float = 1.0


def bound(cause: str, there: Presence, ground: Ground) -> float | None:
    """Return the bound of the speedup, at least 1; None where it can't be said."""
    if cause in NOT_SAID or ground.wall_ns <= 0 or ground.cores <= 0:
        return None
    work = ground.work_ns
    if cause in (causes.STARVED, causes.FULL):
        work -= there.maker_ns
    if cause == causes.GC:
        work -= ground.collected_ns
    least = max(ground.wall_ns - min(_saved(cause, there, ground), ground.wall_ns), max(work, 0) / ground.cores)
    if least * UNBOUNDED < ground.wall_ns:
        return None
    return max(1.0, ground.wall_ns / least)


def _saved(cause: str, there: Presence, ground: Ground) -> float:
    """Return the wall time that would vanish at most."""
    spread = there.core_ns / ground.cores
    present = max(there.wall_ns, spread)
    if cause == causes.SERIAL:
        return max(spread, max(present, ground.serial_ns * there.of_cause) * (1 - 1 / ground.cores))
    if cause == causes.FEW:
        return max(spread, ground.few_ns * there.of_cause)
    if cause == causes.IMBALANCE and there.threads:
        return max(spread, there.core_ns / min(there.threads, ground.cores), there.thread_ns / there.threads)
    if cause == causes.IMBALANCE:
        return spread
    if cause == causes.GC:
        in_pauses = max(0.0, ground.cores * there.wall_ns - there.core_ns)
        return present + max(0.0, ground.collected_ns * there.of_cause - in_pauses)
    return present
