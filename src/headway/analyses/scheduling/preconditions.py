"""Checks of the wall-time model's preconditions: which of them a recording violates, and by how much that may shift figures.

A check gives a `PreconditionFinding`: a notice, and for each number of cores how far the figure may lie below or above the
prediction (ns), computed as the figure of an explicit alternative, or a reason to withhold it. The alternatives are the model
itself with one assumption replaced; they are named in the checks. Where several apply they may all hold at once: their shares of
the figure multiply. The recorded number of cores is never touched: its figure is the measurement.

The thresholds below say from when on a deviation is worth a notice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headway.analyses.common.units import duration
from headway.analyses.scheduling import other_processes, processor_pools
from headway.analyses.scheduling.activity import KINDS
from headway.analyses.scheduling.precondition_types import Case, PreconditionFinding
from headway.errors import Notice
from headway.errors.message import WARNING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Floats = NDArray[np.float64]

STEAL_SHARE = 0.01
STEAL_TELLS_NS = 10e6
"""The kernel brings a running thread's executed time up to date once a tick: what it lacks at the end may be no theft."""
STARVED_SHARE = 0.02
STEAL_WARNS, STARVED_WARNS = 0.10, 0.20
"""From these shares on a run on a calm machine would be another run: a warning, not a note."""
LEAST_CHANGE = 0.05
"""A run that would be shorter by less of it on free CPUs is the same run."""
IDLE_SHARE = 0.20
TICKS_TELL_NS = 0.5e9
"""CPUs count their work in ticks of up to 10 ms: what is told of others by that alone drowns in them in shorter runs."""
FREQUENCY_SPREAD = 0.02
FREQUENCY_ALLOWANCE = 0.15
COMPILING_SHARE = 0.10
LOSS_LIMIT = 0.05
VALIDATED_FACTOR = 4
FACTOR_LIMIT = 64
ERROR_PER_DOUBLING = 0.16


def check(case: Case) -> tuple[PreconditionFinding, ...]:
    """Check every precondition; return the findings of those that are violated."""
    checks: tuple[Callable[[Case], PreconditionFinding | None], ...] = (
        losses,
        extrapolation,
        thread_count,
        unseen_waiting,
        smt,
        steal,
        frequency,
        starvation,
        waiting,
        warm_up,
        partial_run,
    )
    return tuple(finding for each in checks if (finding := each(case)) is not None)


def losses(case: Case) -> PreconditionFinding | None:
    """Check for lost records: the threads' states in lost spans are unknown; past LOSS_LIMIT the figure is withheld."""
    events = case.recording.manifest.losses.events
    if events == 0:
        return None
    lost = _union_ns(case.recording)
    notice = Notice.of("HW416", events=events, share=lost / case.wall)
    if lost > LOSS_LIMIT * case.wall:
        reason = f"{lost / case.wall:.0%} of the wall time lies in spans with lost records"
        withheld = dict.fromkeys(case.cores, reason)
        return PreconditionFinding(notice, "losses", withheld=withheld, floor=case.floor_without(lost))
    doubt = {k: lost * max(1.0, case.recorded / k) for k in case.cores}
    return PreconditionFinding(notice, "lost records", doubt, doubt, floor=case.floor_without(lost))


def _union_ns(recording: Recording) -> float:
    """Return the length of all spans with lost scheduling records, those that overlap counted once, inside the window."""
    begin, end = recording.window_ns
    rows = recording.query(
        "SELECT start_ns, start_ns + dur_ns FROM loss WHERE source <> 'agent' ORDER BY start_ns"
    ).fetchall()
    total, reached = 0, begin
    for first, last in rows:
        total += max(0, min(last, end) - max(first, reached))
        reached = max(reached, min(last, end))
    return float(total)


def extrapolation(case: Case) -> PreconditionFinding | None:
    """Check the distance from the recorded number of cores (see `distance`)."""
    return distance(case.recorded, case.cores, float(case.active.max(initial=0)), case.predict)


def distance(
    recorded: int, cores: Sequence[int], top: float, predict: Callable[[int], float]
) -> PreconditionFinding | None:
    """Return the allowance for extrapolation: 16 % per doubling beyond a factor of 4 (the paper's largest error, 15.64 %, h2).

    What counts is how many more cores the program can use: beyond its maximum parallelism `top`, cores change nothing.
    """
    top = max(1.0, top)
    ratios = {k: min(k, top) / min(recorded, top) for k in cores}
    factors = {k: factor for k, ratio in ratios.items() if (factor := max(ratio, 1 / ratio)) > VALIDATED_FACTOR}
    if not factors:
        return None
    width: dict[int, float] = {}
    withheld: dict[int, str] = {}
    for k, factor in factors.items():
        if factor > FACTOR_LIMIT:
            withheld[k] = f"{factor:g} times the recorded cores: nothing is known of contention there"
        else:
            width[k] = predict(k) * ERROR_PER_DOUBLING * math.log2(factor / VALIDATED_FACTOR)
    notice = Notice.of("HW417", cores=_list(factors), factor=max(factors.values()), recorded=recorded)
    return PreconditionFinding(notice, "distance from what was recorded", width, width, withheld)


def thread_count(case: Case) -> PreconditionFinding | None:
    """Check for pools sized by the number of processors; the alternative scales their threads from the JVM's count to k.

    The work stays the same; while a >= 2 threads of a scaling pool are active, a * k / seen are (at least one).
    """
    import numpy as np

    found = processor_pools.find(case.recording)
    if found is None:
        return None
    affected = tuple(k for k in case.cores if k != found.seen)
    if not affected:
        return None
    app, gc, jit, vm = (case.activity.active[:, i].astype(float) for i in range(4))
    below, above = {}, {}
    for k in affected:

        def scaled(count: Floats, least: int, k: int = k) -> Floats:
            return np.where(count >= least, np.maximum(1, count * k / found.seen), count)

        # One processor hides what more would bring: there even a single thread may be a pool of one.
        threads = (scaled(app, 1 if found.seen == 1 else 2) if found.app else app) + (scaled(gc, 2) if found.gc else gc)
        figure = case.predict(k, threads=np.maximum(threads + jit + vm, 1))
        below[k], above[k] = _around(case.predict(k), figure)
    s = "s" if found.seen != 1 else ""
    notice = Notice.of("HW410", seen=found.seen, s=s, pools=found.text, cores=_list(affected), advice=affected[-1])
    return PreconditionFinding(notice, "threads that follow the processors", below, above)


def unseen_waiting(case: Case) -> PreconditionFinding | None:
    """Check for waiting unseen in mode perf-switch; the alternative has work for k cores whenever all recorded cores are busy."""
    import numpy as np

    if case.recording.manifest.mode != "perf-switch":
        return None
    below: dict[int, float] = {}
    for k in case.cores:
        threads = np.where(case.running >= case.recorded, np.maximum(case.active, k), case.active)
        below[k] = _around(case.predict(k), case.predict(k, threads=threads))[0]
    return PreconditionFinding(
        Notice.of("HW420", mode=case.recording.manifest.mode), "waiting that the mode can't see", below
    )


def smt(case: Case) -> PreconditionFinding | None:
    """Check for SMT siblings; in the alternative a core's second hardware thread adds nothing, on k1 and k alike."""
    topology = case.recording.manifest.host.topology
    core_of = {cpu.cpu: min(cpu.cpu, *cpu.smt_siblings) if cpu.smt_siblings else cpu.cpu for cpu in topology}
    total, physical = len(core_of), len(set(core_of.values()))
    if physical == total:
        return None
    affinity = case.recording.manifest.affinity
    recorded_cores = len({core_of.get(cpu, cpu) for cpu in affinity}) if affinity else _cores(case.recorded, topology)
    below, above, shared = {}, {}, []
    for k in case.cores:
        full = _cores(k, topology)
        if full == k and recorded_cores >= case.recorded:
            continue
        shared.append(k)
        below[k], above[k] = _around(case.predict(k), case.predict(full, recorded=min(recorded_cores, case.recorded)))
    if not shared:
        return None
    return PreconditionFinding(Notice.of("HW411", cores=_list(shared), physical=physical), "SMT siblings", below, above)


def _cores(cpus: int, topology: Sequence[object]) -> float:
    """Return the most physical cores that this many CPUs can be; a larger machine is taken to be built alike."""
    total = len(topology)
    siblings = [getattr(cpu, "smt_siblings", ()) for cpu in topology]
    physical = sum(1 / (1 + len(each)) for each in siblings)
    return min(float(cpus), max(physical, cpus * physical / total))


def steal(case: Case) -> PreconditionFinding | None:
    """Check for stolen time; the alternatives are a host that takes nothing and one that takes twice as much."""
    import numpy as np

    activity = case.activity
    if activity.stolen_ns is not None:
        stolen = activity.stolen_ns.astype(float)
        on_cpu = float((case.dur * case.running).sum())
        if float(stolen.sum()) < STEAL_TELLS_NS:
            return None
        share = float(stolen.sum()) / on_cpu if on_cpu else 0.0
        rate = np.divide(stolen, case.running, out=np.zeros_like(stolen), where=case.running > 0)
        # Rows may come out slightly negative; their sums do not (see parallelism.levels_of).
        lengths = case.dur - rate
        figures = {k: case.predict(k, dur=lengths) for k in case.cores}
        floor = case.floor_left(lengths)
    else:
        per_cpu = case.recording.manifest.steal_ns
        cpus = [str(cpu) for cpu in case.recording.manifest.affinity] or list(per_cpu)
        taken = sum(per_cpu.get(cpu, 0) for cpu in cpus)
        share = taken / (case.wall * len(cpus)) if cpus else 0.0
        figures = {k: case.predict(k) * (1 - share) for k in case.cores}
        floor = max(0.0, 1 - share)
    if share < STEAL_SHARE:
        return None
    width = {k: max(0.0, case.predict(k) - figure) for k, figure in figures.items()}
    notice = _weighty(Notice.of("HW412", share=share), share >= STEAL_WARNS)
    return PreconditionFinding(notice, "stolen time", width, width, floor=floor)


def frequency(case: Case) -> PreconditionFinding | None:
    """Check the clock speed: the range of sampled frequencies, or an allowance where the policy lets it change."""
    import numpy as np

    host = case.recording.manifest.host
    seen = case.recording.columns("counter", "value", where="event = 'cpu_khz' AND value > 0")["value"]
    if len(seen):
        low, high = (float(khz) for khz in np.percentile(seen, (5, 95)))
        spread, reason = high / low - 1, f"it was seen between {low / 1e6:.2f} and {high / 1e6:.2f} GHz"
        if spread <= FREQUENCY_SPREAD:
            return None
    else:
        policies = set((host.governor or "performance").split(", "))
        boost = host.extra.get("boost") is True
        if policies <= {"performance", "userspace"} and not boost:
            return None
        spread, reason = FREQUENCY_ALLOWANCE, f"governor {host.governor}{', boost on' if boost else ''}"
    width = {k: case.predict(k) * spread for k in case.cores}
    return PreconditionFinding(
        Notice.of("HW413", reason=reason), "clock speed", width, width, floor=max(0.0, 1 - spread)
    )


def starvation(case: Case) -> PreconditionFinding | None:
    """Check for CPUs that others used; in the alternative no thread waits for a CPU while fewer than k1 run."""
    import numpy as np

    wanted = np.minimum(case.active, case.recorded)
    got = np.minimum(case.running, wanted)
    demand = float((case.dur * wanted).sum())
    share = float((case.dur * (wanted - got)).sum()) / demand if demand else 0.0
    if share < STARVED_SHARE:
        return None
    lengths = case.dur * np.divide(got, wanted, out=np.ones_like(got), where=wanted > 0)
    on_free_ns = case.predict(case.recorded, dur=lengths)
    throttled = case.recording.manifest.extra.get("throttled_ns")
    quota = f", a CPU quota kept the program off them for {duration(throttled)}" if throttled else ""
    notice = Notice.of(
        "HW414", cores=case.recorded, share=share, other=_others(case), free=duration(on_free_ns), quota=quota
    )
    # An idle server hardly wants a core: how long it is without one changes nothing.
    changes = on_free_ns < (1 - LEAST_CHANGE) * case.predict(case.recorded)
    notice = _weighty(notice, bool(quota) or (changes and share >= STARVED_WARNS))
    below = {k: _around(case.predict(k), case.predict(k, dur=lengths))[0] for k in case.cores}
    return PreconditionFinding(notice, "waiting for CPUs that were not free", below, floor=case.floor_left(lengths))


def _others(case: Case) -> str:
    """Return the share of the program's CPUs that went to other processes, as `why` counts it, or that it is not known."""
    origin = case.recording.window_ns[0]
    begin, end = origin + case.activity.start_ns, origin + case.activity.end_ns
    others = other_processes.others(case.recording, (begin, end))
    if others.known_by == "none" or (others.known_by == "counter" and case.wall < TICKS_TELL_NS):
        return "an unknown share"
    return f"{min(1.0, max(0.0, others.took_ns(begin, end, recorder=False)) / (case.wall * case.recorded)):.0%}"


def waiting(case: Case) -> PreconditionFinding | None:
    """Check for programs bound by I/O; in the alternatives T_0 shrinks or grows as the computing does."""
    idle = float(case.dur[case.active == 0].sum())
    if idle < IDLE_SHARE * case.wall:
        return None
    busy = case.wall - idle

    def shift(cores: float) -> float:
        return idle * abs(1 - (case.predict(cores) - idle) / busy) if busy else 0.0

    width = {k: shift(k) for k in case.cores}
    notice = Notice.of("HW415", share=idle / case.wall, path=case.recording.path)
    floor = case.floor_without(shift(math.inf))
    return PreconditionFinding(notice, "time without active threads", width, width, floor=floor)


def warm_up(case: Case) -> PreconditionFinding | None:
    """Check for JIT compilation; the alternatives have compilers with nothing to do, and with twice as much."""
    import numpy as np

    compiling = np.minimum(case.activity.running[:, KINDS.index("jit")].astype(float), case.running)
    on_cpu = float((case.dur * case.running).sum())
    share = float((case.dur * compiling).sum()) / on_cpu if on_cpu else 0.0
    if share < COMPILING_SHARE:
        return None
    lengths = case.dur * (
        1 - np.divide(compiling, case.running, out=np.zeros_like(case.running), where=case.running > 0)
    )
    width = {k: max(0.0, case.predict(k) - case.predict(k, dur=lengths)) for k in case.cores}
    return PreconditionFinding(Notice.of("HW425", share=share), "warm-up", width, width, floor=case.floor_left(lengths))


def partial_run(case: Case) -> PreconditionFinding | None:
    """Check for recordings that do not span the program's life: the figure then means something else, and is not widened."""
    manifest = case.recording.manifest
    reasons = {
        "duration": "it ended after its --duration",
        "interrupt": "it was interrupted",
        "recorder-died": "the recorder died",
        "disk-full": "the disk was full",
    }
    reason = "attached to a program that ran already" if manifest.attached else reasons.get(manifest.ended_by or "")
    return PreconditionFinding(Notice.of("HW421", reason=reason), "") if reason else None


def _weighty(notice: Notice, is_warning: bool) -> Notice:
    """Return a notice that warns where what it tells changes the figures by much."""
    return replace(notice, severity=WARNING) if is_warning else notice


def _around(base: float, figure: float) -> tuple[float, float]:
    """Return how far an alternative's figure lies below and above the prediction."""
    return max(0.0, base - figure), max(0.0, figure - base)


def _list(cores: Sequence[int] | dict[int, float]) -> str:
    return ", ".join(str(k) for k in cores)
