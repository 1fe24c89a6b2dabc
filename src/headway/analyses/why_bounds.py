"""How much faster could the program be if a cause of lost cores vanished? A bound, not a forecast.

Question   wall time / (the least wall time without the cause), to first order.
Method     T' >= max(T - saved, work / cores to be had). A chain of dependent work gets shorter by no more than the time that its
           links of this cause last, and that is at most the time D in which the cause was there at all, whether or not cores were
           idle meanwhile. And work has to be done: spread evenly over all cores, nothing faster; cores that other processes had
           were not to be had. `saved` by cause:

           waits    D: they vanish (locks, conditions, sleep, I/O ...). Threads that were held up together also come
                    back together, and then wait for cores. With N the time in which a thread was ready and did not run,
                    and G what the waiters could have worked meanwhile, at most a core each, moving that into D
                    shortens N, by no more than what of G is not in D already: D + min(N, G - D)
           serial   the integral of 1 - active/cores, D (1 - 1/cores) for one thread: its work is spread over all cores;
                    the same for too few tasks, and for imbalance at joins. What threads waited to be put on free cores goes
                    with it: they are placed where a stretch of few threads begins and ends
           barrier  the span of an instance becomes its mean: the waiters' time / the number of threads that take part. Who
                    arrives at a phaser need not wait there, and who waits need not arrive: that is bounded as a wait
           queues   D; the work of the slow stage vanishes, too (it is left out of `work`)
           start    D; what the JVM computed while it started vanishes, too
           GC       D, and what the collector computed beside the program; with a pause goes, too, that all threads are put
                    on cores again at its end (safepoints: the same)
Assumes    the same work in any order. Removing one cause may remove others with it (a sleep that kept a barrier closed); D
           has those, because the chain's length is what counts. Other processes keep the core time that they had, unless it may
           be work for the program (a database, a child): where its I/O vanishes, what served it goes, too.
Wrong when the fix also removes work: a lock that is gone together with what was done under it, a serial section that is deleted,
           not spread; the gain is then larger than the bound, and rightly so.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.analyses import why_types as causes

UNBOUNDED = 1000.0
"""A bound above this says nothing: the cause was there (nearly) all the time."""
NOT_SAID = frozenset({causes.UNKNOWN})
SERVED = frozenset({causes.IO, causes.STARVED, causes.FULL, causes.CONDITION, causes.OTHERS_WAIT, causes.BLOCKED})
"""Waits in which other processes may have worked for the program, itself or its slow stage: their time vanishes with the wait."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What the bounds of an account stand on: its wall time, its cores, and the core time in which the program worked.

    `collected_ns` is the part that the collector's threads took, and the JVM's own, which collect where there are none.
    `room_ns` is the integral of 1 - active/cores over the times with at least one active application thread, but fewer than
    cores: what spreading the work evenly could save. `nobody_ns` is the core time while no application thread was active,
    `placing_ns` what was lost while threads were ready and cores free. `others_ns` is the core time that other processes had,
    `ready_ns` the time with at least one thread that was ready and did not run, `started_ns` what JVMs computed to start.
    """

    wall_ns: int
    cores: float
    work_ns: int
    collected_ns: int = 0
    room_ns: int = 0
    nobody_ns: int = 0
    placing_ns: int = 0
    others_ns: int = 0
    ready_ns: int = 0
    started_ns: int = 0

    def share_of_room(self, core_ns: int, lost_ns: int) -> float:
        """Return which part of what was lost beside active threads is `core_ns`, of `lost_ns` lost in all, at most."""
        return core_ns / max(core_ns, lost_ns - self.nobody_ns, 1)


@dataclass(frozen=True, slots=True)
class Presence:
    """How long one cause at one place was there.

    `wall_ns` is the time D with at least one thread in it, `thread_ns` the sum over those that would run without it; `threads` is
    how many take part in a barrier (0: no barrier); `maker_ns` the work of the thread that they waited for; `of_room` the
    place's share of what was lost beside active threads.
    """

    core_ns: int
    wall_ns: int
    thread_ns: int = 0
    threads: int = 0
    maker_ns: int = 0
    of_room: float = 0.0


def bound(cause: str, there: Presence, ground: Ground) -> float | None:
    """Return the bound of the speedup, at least 1; None where it can't be said."""
    if cause in NOT_SAID or ground.wall_ns <= 0 or ground.cores <= 0:
        return None
    work = ground.work_ns
    if cause in (causes.STARVED, causes.FULL):
        work -= there.maker_ns
    if cause == causes.GC:
        work -= ground.collected_ns
    if cause == causes.START:
        work -= ground.started_ns
    core_ns = ground.cores * ground.wall_ns
    to_be_had = core_ns if cause in SERVED else max(core_ns - ground.others_ns, ground.work_ns, 1)
    spread = max(work, 0) / to_be_had * ground.wall_ns
    least = max(ground.wall_ns - min(_saved(cause, there, ground), ground.wall_ns), spread)
    if least * UNBOUNDED < ground.wall_ns:
        return None
    return max(1.0, ground.wall_ns / least)


def _saved(cause: str, there: Presence, ground: Ground) -> float:
    """Return the wall time that would vanish at most."""
    spread = there.core_ns / ground.cores
    present = max(there.wall_ns, spread)
    if cause == causes.IMBALANCE and there.threads:
        return max(spread, there.core_ns / min(there.threads, ground.cores), there.thread_ns / there.threads)
    if cause in (causes.SERIAL, causes.FEW, causes.IMBALANCE):
        # Compilers and other processes use cores that were idle otherwise: the program's own idleness is in room_ns.
        return max(spread, ground.room_ns * there.of_room) + ground.placing_ns / ground.cores
    if cause in (causes.GC, causes.SAFEPOINT):
        in_pauses = max(0.0, ground.cores * there.wall_ns - there.core_ns)
        beside = max(0.0, ground.collected_ns - in_pauses) if cause == causes.GC else 0.0
        return present + beside + ground.placing_ns / ground.cores
    return present + _late(there, ground, present)


def _late(there: Presence, ground: Ground, present: float) -> float:
    """Return what threads that were held up together, and come back together, wait for cores because of that, at most."""
    would_work = max(there.core_ns, min(there.thread_ns, ground.cores * there.wall_ns))
    return min(ground.ready_ns, max(0.0, ground.wall_ns - present), max(0.0, would_work - present))
