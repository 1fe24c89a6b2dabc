"""Upper bounds of the speedup if a cause of lost cores vanished; bounds, not forecasts.

Question   wall time / (the least wall time without the cause), to first order.
Method     T' >= max(T - saved, work / cores to be had). A chain of dependent work gets shorter by no more than the time that its
           links of this cause last, and that is at most the time D in which the cause was there at all, whether or not cores were
           idle meanwhile. And work has to be done: spread evenly over all cores, nothing faster; cores that other processes had
           while threads of the program were ready for them were not to be had, but for more threads that want them. What was
           before the first wait stays as it was: both hold from there on. `saved` by cause:

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
           start    D, nothing for cores that are waited for later; what the JVM computed while it started vanishes, too
           end      D
           GC       D, and what the collector computed beside the program; with a pause goes, too, that all threads are put
                    on cores again at its end (safepoints: the same)
Assumes    the same work in any order. Removing one cause may remove others with it (a sleep that kept a barrier closed); D
           has those, because the chain's length is what counts. Other processes keep the core time that they had, unless it may
           be work for the program (a database, a child): where its I/O vanishes, what served it goes, too.
Wrong when the fix also removes work: a lock that is gone together with what was done under it, a serial section that is deleted,
           not spread; the gain is then larger than the bound, and rightly so.
Checked    tests/property/test_bounds_of_schedules.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headway.analyses.common import causes

if TYPE_CHECKING:
    from headway.analyses.lost_cores.account.course import Course

UNBOUNDED = 1000.0
"""A bound above this says nothing: the cause was there (nearly) all the time."""
WITHOUT_BOUND = frozenset({causes.UNKNOWN})
SERVED = frozenset({causes.IO, causes.STARVED, causes.FULL, causes.CONDITION, causes.OTHERS_WAIT, causes.BLOCKED})
"""Waits in which other processes may have worked for the program, itself or its slow stage: their time vanishes with the wait."""
VANISHING = frozenset({causes.LOCK, causes.CONDITION, causes.SLEEP, causes.IO})
"""Causes that are waits and nothing else: without them all goes on as it was, and before the first one nothing changes. More
threads want cores then, and get more of them from other processes."""


@dataclass(frozen=True, slots=True)
class BoundInputs:
    """The inputs of the bounds of an account: its wall time, its cores, and the core time in which the program worked.

    `collected_ns` is the part that the collector's threads took, and the JVM's own, which collect where there are none.
    `room_ns` is the integral of 1 - active/cores over the times with at least one active application thread, but fewer than
    cores: what spreading the work evenly could save. `idle_ns` is the core time while no application thread was active,
    `placing_ns` what was lost while threads were ready and cores free. `others_ns` is the core time that other processes kept
    from the program, `left_ns` what they had while it wanted none; `course` how the work and the others went over time, from
    `start_ns` on (None: not known). `ready_ns` is the time with at least one thread that was ready and did not run, `started_ns`
    what JVMs computed to start, `taken_ns` what of `collected_ns` was computed while threads of the program were ready and had no
    core.
    """

    wall_ns: int
    cores: float
    work_ns: int
    collected_ns: int = 0
    room_ns: int = 0
    idle_ns: int = 0
    placing_ns: int = 0
    others_ns: int = 0
    ready_ns: int = 0
    taken_ns: int = 0
    started_ns: int = 0
    left_ns: int = 0
    start_ns: int = 0
    course: Course | None = field(default=None, compare=False)

    def since(self, first_ns: int) -> tuple[int, float, float]:
        """Return how long it took until a point in time (ns from the recording's start), or until a time bin before it; and, from
        then on, the work, and what others kept from the program.
        """
        edge = self.course.at(first_ns) if self.course is not None else 0
        if self.course is None or not edge:
            return 0, float(self.work_ns), float(self.others_ns)
        before = int(self.course.edge_ns[edge]) - self.start_ns
        return before, self.course.work_since(edge), self.course.kept_since(edge)

    def share_of_room(self, core_ns: int, lost_ns: int) -> float:
        """Return which part of what was lost beside active threads is `core_ns`, of `lost_ns` lost in all, at most."""
        return core_ns / max(core_ns, lost_ns - self.idle_ns, 1)


TURN_NS = 10_000_000
"""A thread that is put on a core anew waits no longer for it than for a turn of another one."""


@dataclass(frozen=True, slots=True)
class WaitTotals:
    """For how long one cause at one place was present.

    `wall_ns` is the time D with at least one thread in it, `thread_ns` the sum over those that would run without it; `threads` is
    how many take part in a barrier (0: no barrier); `maker_ns` the work of the thread that they waited for; `of_room` the
    place's share of what was lost beside active threads; `times` how many pauses there were (0: not known); `first_ns` when it
    was there first, from the recording's start (0: not known).
    """

    core_ns: int
    wall_ns: int
    thread_ns: int = 0
    threads: int = 0
    maker_ns: int = 0
    of_room: float = 0.0
    times: int = 0
    first_ns: int = 0


def bound(cause: str, totals: WaitTotals, inputs: BoundInputs) -> float | None:
    """Return the bound of the speedup, at least 1; None where it is unknown."""
    if cause in WITHOUT_BOUND or inputs.wall_ns <= 0 or inputs.cores <= 0:
        return None
    before, work, kept = inputs.since(totals.first_ns if cause in VANISHING else 0)
    wall_ns = inputs.wall_ns - before
    to_be_had = max(inputs.cores * wall_ns - (0 if cause in SERVED | VANISHING else kept), work, 1)
    if cause in (causes.STARVED, causes.FULL):
        work -= totals.maker_ns
    if cause == causes.GC:
        work -= inputs.collected_ns
    if cause == causes.START:
        work -= inputs.started_ns
    spread = max(work, 0) / to_be_had * wall_ns
    least = before + max(wall_ns - min(_saved(cause, totals, inputs), wall_ns), spread)
    if least * UNBOUNDED < inputs.wall_ns:
        return None
    return max(1.0, inputs.wall_ns / least)


def _saved(cause: str, totals: WaitTotals, inputs: BoundInputs) -> float:
    """Return the wall time that would vanish at most."""
    spread = totals.core_ns / inputs.cores
    present = max(totals.wall_ns, spread)
    if cause == causes.IMBALANCE and totals.threads:
        return max(spread, totals.core_ns / min(totals.threads, inputs.cores), totals.thread_ns / totals.threads)
    if cause in (causes.SERIAL, causes.FEW, causes.IMBALANCE):
        # Compilers and other processes use cores that were idle otherwise: the program's own idleness is in room_ns.
        return max(spread, inputs.room_ns * totals.of_room) + inputs.placing_ns / inputs.cores
    if cause in (causes.GC, causes.SAFEPOINT):
        in_pauses = max(0.0, inputs.cores * totals.wall_ns - totals.core_ns)
        beside = min(max(0.0, inputs.collected_ns - in_pauses), inputs.taken_ns) if cause == causes.GC else 0.0
        placing = min(inputs.placing_ns, totals.times * inputs.cores * TURN_NS) if totals.times else inputs.placing_ns
        return present + beside + placing / inputs.cores
    if cause in causes.OF_THE_JVM:
        return present  # who begins after a start, or is over before an end, was not held up by it
    return present + _late(totals, inputs, present)


def _late(totals: WaitTotals, inputs: BoundInputs, present: float) -> float:
    """Return what threads that were held up together, and come back together, wait for cores because of that, at most."""
    would_work = max(totals.core_ns, min(totals.thread_ns, inputs.cores * totals.wall_ns))
    return min(inputs.ready_ns, max(0.0, inputs.wall_ns - present), max(0.0, would_work - present))


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """The waits for something: time with at least one, when the first began, and, of those that would run if what they wait for
    came, their time added up and how many there were at once at most.
    """

    wall_ns: int
    first_ns: int
    thread_ns: int
    peak: int


def bound_of_waits(
    cause: str,
    core_ns: int,
    waited: WaitSummary,
    inputs: BoundInputs,
    *,
    maker_ns: int = 0,
    of_room: float = 0.0,
    is_phaser: bool = False,
) -> float | None:
    """Return the bound of the speedup without some waits, for `why` and `locks` alike; None where it can't be said.

    `maker_ns`: the work of the slow side, where they wait for a queue.
    """
    first_ns = waited.first_ns
    if is_phaser and waited.peak:
        # How many take part is not known: all of the wait may go, and what was done before it may be shared otherwise.
        cause, first_ns = causes.CONDITION, 0
    threads = waited.peak + 1 if waited.peak else 0
    maker = maker_ns if cause in (causes.STARVED, causes.FULL) else 0
    totals = WaitTotals(core_ns, waited.wall_ns, waited.thread_ns, threads, maker, of_room, first_ns=first_ns)
    return bound(cause, totals, inputs)
