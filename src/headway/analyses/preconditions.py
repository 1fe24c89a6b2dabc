"""Whether the wall-time model may be believed: each of its preconditions, checked on the recording.

A check gives a `Finding`: a notice, and for each number of cores how far the figure may lie below or above the prediction
(ns), computed as the figure of an explicit alternative, or a reason to withhold it. The alternatives are the model itself
with one assumption replaced; they are named in the checks. Where several apply they may all hold at once: their shares of
the figure multiply. The recorded number of cores is never touched: its figure is the measurement.

The thresholds below say from when on a deviation is worth a notice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from headway.analyses import pools, why_beside
from headway.analyses.activity import KINDS, Activity, sum_columns
from headway.analyses.units import duration
from headway.errors import Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Floats = NDArray[np.float64]

STEAL_SHARE = 0.01
STEAL_TELLS_NS = 10e6
"""The kernel brings a running thread's executed time up to date once a tick: what it lacks at the end may be no theft."""
STARVED_SHARE = 0.02
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


@dataclass(frozen=True, slots=True)
class Finding:
    """One precondition that does not hold: by how much the figure for k cores may be lower or higher, in ns."""

    notice: Notice
    covers: str
    below: dict[int, float] = field(default_factory=dict)
    above: dict[int, float] = field(default_factory=dict)
    withheld: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Case:
    """What the checks look at: one recording's counts over time, and the cores asked for (the recorded ones left out)."""

    recording: Recording
    activity: Activity
    recorded: int
    cores: tuple[int, ...]

    @cached_property
    def active(self) -> Floats:
        """Active threads per row, of all kinds."""
        total: Floats = sum_columns(self.activity.active).astype(float)
        return total

    @cached_property
    def running(self) -> Floats:
        """Running threads per row, of all kinds."""
        total: Floats = self.activity.on_cpu.astype(float)
        return total

    @cached_property
    def dur(self) -> Floats:
        """Length of each row, ns."""
        return self.activity.dur_ns.astype(float)

    @cached_property
    def wall(self) -> float:
        """Wall time, ns."""
        return float(self.activity.wall_ns)

    def predict(
        self,
        cores: float,
        recorded: float | None = None,
        dur: Floats | None = None,
        threads: Floats | None = None,
    ) -> float:
        """Return E(cores) in ns with one assumption replaced: cores that count less, other lengths, or other threads.

        The same formula as walltime_model, on floats: alternatives need neither whole cores nor whole threads.
        """
        import numpy as np

        k1 = self.recorded if recorded is None else recorded
        lengths = self.dur if dur is None else dur
        then = self.active if threads is None else threads
        busy, idle = self.active > 0, self.active == 0
        work = lengths[busy] * np.minimum(self.active[busy], k1)
        return float(lengths[idle].sum() + (work / np.minimum(then[busy], cores)).sum())


def check(case: Case) -> tuple[Finding, ...]:
    """Check every precondition; the findings of those that do not hold."""
    checks: tuple[Callable[[Case], Finding | None], ...] = (
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


def losses(case: Case) -> Finding | None:
    """Lost records: what threads did in the lost spans may be anything; past LOSS_LIMIT the figure is withheld."""
    events = case.recording.manifest.losses.events
    if events == 0:
        return None
    lost = _union_ns(case.recording)
    notice = Notice.of("HW416", events=events, share=lost / case.wall)
    if lost > LOSS_LIMIT * case.wall:
        reason = f"{lost / case.wall:.0%} of the wall time lies in spans with lost records"
        return Finding(notice, "losses", withheld=dict.fromkeys(case.cores, reason))
    doubt = {k: lost * max(1.0, case.recorded / k) for k in case.cores}
    return Finding(notice, "lost records", doubt, doubt)


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


def extrapolation(case: Case) -> Finding | None:
    """Far from k1: see `distance`."""
    return distance(case.recorded, case.cores, float(case.active.max(initial=0)), case.predict)


def distance(recorded: int, cores: Sequence[int], top: float, predict: Callable[[int], float]) -> Finding | None:
    """Far from k1: +-16 % per doubling beyond a factor of 4, where the paper's largest error was 15.64 % (h2).

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
    return Finding(notice, "distance from what was recorded", width, width, withheld)


def thread_count(case: Case) -> Finding | None:
    """Thread counts that follow the processors: alternative with those threads scaled from the JVM's count to k.

    The work stays the same; while a >= 2 threads of a scaling pool are active, a * k / seen are (at least one).
    """
    import numpy as np

    found = pools.find(case.recording)
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
    return Finding(notice, "threads that follow the processors", below, above)


def unseen_waiting(case: Case) -> Finding | None:
    """Mode perf-switch: alternative in which there was work for k cores whenever all recorded cores were busy."""
    import numpy as np

    if case.recording.manifest.mode != "perf-switch":
        return None
    below: dict[int, float] = {}
    for k in case.cores:
        threads = np.where(case.running >= case.recorded, np.maximum(case.active, k), case.active)
        below[k] = _around(case.predict(k), case.predict(k, threads=threads))[0]
    return Finding(Notice.of("HW420", mode=case.recording.manifest.mode), "waiting that the mode can't see", below)


def smt(case: Case) -> Finding | None:
    """SMT siblings: alternative in which a core's second hardware thread brings nothing, on k1 and k alike."""
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
    return Finding(Notice.of("HW411", cores=_list(shared), physical=physical), "SMT siblings", below, above)


def _cores(cpus: int, topology: Sequence[object]) -> float:
    """Return the most physical cores that this many CPUs can be; a larger machine is taken to be built alike."""
    total = len(topology)
    siblings = [getattr(cpu, "smt_siblings", ()) for cpu in topology]
    physical = sum(1 / (1 + len(each)) for each in siblings)
    return min(float(cpus), max(physical, cpus * physical / total))


def steal(case: Case) -> Finding | None:
    """Stolen time: from a host that takes nothing to one that takes twice as much."""
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
    else:
        per_cpu = case.recording.manifest.steal_ns
        cpus = [str(cpu) for cpu in case.recording.manifest.affinity] or list(per_cpu)
        taken = sum(per_cpu.get(cpu, 0) for cpu in cpus)
        share = taken / (case.wall * len(cpus)) if cpus else 0.0
        figures = {k: case.predict(k) * (1 - share) for k in case.cores}
    if share < STEAL_SHARE:
        return None
    width = {k: max(0.0, case.predict(k) - figure) for k, figure in figures.items()}
    return Finding(Notice.of("HW412", share=share), "stolen time", width, width)


def frequency(case: Case) -> Finding | None:
    """Clock speed: the range of frequencies sampled while recording, or an allowance where the policy lets it change."""
    import numpy as np

    host = case.recording.manifest.host
    seen = case.recording.columns("counter", "value", where="event = 'cpu_khz'")["value"]
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
    return Finding(Notice.of("HW413", reason=reason), "clock speed", width, width)


def starvation(case: Case) -> Finding | None:
    """CPUs that were not free: alternative in which threads that waited though fewer than k1 ran had not had to."""
    import numpy as np

    wanted = np.minimum(case.active, case.recorded)
    got = np.minimum(case.running, wanted)
    demand = float((case.dur * wanted).sum())
    share = float((case.dur * (wanted - got)).sum()) / demand if demand else 0.0
    if share < STARVED_SHARE:
        return None
    lengths = case.dur * np.divide(got, wanted, out=np.ones_like(got), where=wanted > 0)
    free = duration(case.predict(case.recorded, dur=lengths))
    throttled = case.recording.manifest.extra.get("throttled_ns")
    quota = f", a CPU quota kept the program off them for {duration(throttled)}" if throttled else ""
    notice = Notice.of("HW414", cores=case.recorded, share=share, other=_others(case), free=free, quota=quota)
    below = {k: _around(case.predict(k), case.predict(k, dur=lengths))[0] for k in case.cores}
    return Finding(notice, "waiting for CPUs that were not free", below)


def _others(case: Case) -> str:
    """Return the share of the program's CPUs that went to other processes, as `why` counts it, or that it is not known."""
    origin = case.recording.window_ns[0]
    begin, end = origin + case.activity.start_ns, origin + case.activity.end_ns
    others = why_beside.others(case.recording, (begin, end))
    if others.known_by == "none" or (others.known_by == "counter" and case.wall < TICKS_TELL_NS):
        return "an unknown share"
    return f"{min(1.0, max(0.0, others.took_ns(begin, end, recorder=False)) / (case.wall * case.recorded)):.0%}"


def waiting(case: Case) -> Finding | None:
    """I/O-bound: alternative in which T_0 shrinks or grows as the computing does; and its mirror image."""
    idle = float(case.dur[case.active == 0].sum())
    if idle < IDLE_SHARE * case.wall:
        return None
    busy = case.wall - idle
    width = {k: idle * abs(1 - (case.predict(k) - idle) / busy) if busy else 0.0 for k in case.cores}
    notice = Notice.of("HW415", share=idle / case.wall, path=case.recording.path)
    return Finding(notice, "time without active threads", width, width)


def warm_up(case: Case) -> Finding | None:
    """Compiling: from a program whose compilers have nothing to do to one in which they have twice as much."""
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
    return Finding(Notice.of("HW425", share=share), "warm-up", width, width)


def partial_run(case: Case) -> Finding | None:
    """A recording that does not span the program's life: nothing to widen, but the figure means something else."""
    manifest = case.recording.manifest
    reasons = {
        "duration": "it ended after its --duration",
        "interrupt": "it was interrupted",
        "recorder-died": "the recorder died",
        "disk-full": "the disk was full",
    }
    reason = "attached to a program that ran already" if manifest.attached else reasons.get(manifest.ended_by or "")
    return Finding(Notice.of("HW421", reason=reason), "") if reason else None


def _around(base: float, figure: float) -> tuple[float, float]:
    """Return how far an alternative's figure lies below and above the prediction."""
    return max(0.0, base - figure), max(0.0, figure - base)


def _list(cores: Sequence[int] | dict[int, float]) -> str:
    return ", ".join(str(k) for k in cores)
