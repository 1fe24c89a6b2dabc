"""The overview: the few findings that a person should read first, and the analyses behind them.

Question   how parallel was the program, what held it back, and what would other numbers of cores bring?
Method     a few lines made of the other analyses' results, the most telling first; each keeps the figures it is made of,
           so that every report can show the same ones. Nothing is computed here that they do not compute.
Assumes    and errs as the analyses behind it; their notices come along, each once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent, significant
from headway.analyses.locks.analysis import Locks, has_locks, locks
from headway.analyses.locks.headline import LEAST_WAITED, headline
from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.idleness import idleness_of
from headway.analyses.lost_cores.text import loss_sentence, others_sentence, sentence
from headway.analyses.lost_cores.types import Account, Why
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.scheduling.parallelism import Parallelism, parallelism
from headway.analyses.scheduling.threads import Threads, threads
from headway.analyses.scheduling.walltime import Prediction, Walltime, default_cores, walltime
from headway.analyses.waits.object_names import simple
from headway.analyses.waits.rules import CONTENTION
from headway.analyses.whatif.predicted_gains import PredictedGains
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from headway.store import Recording


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the overview: a stable id, its text, and the figures in it (units in their names)."""

    id: str
    text: str
    figures: Mapping[str, float | int | None]


@dataclass(frozen=True, slots=True)
class Overview:
    """The findings, most important first, and the results behind them; parallelism and walltime are None in mode agent.

    `locks` has the MOST_LOCKS that cost most, of which people are shown TOP_LOCKS first; None where they were not recorded.
    `why` is the account of the cores; None where not even sums are known.
    """

    findings: tuple[Finding, ...]
    parallelism: Parallelism | None
    walltime: Walltime | None
    threads: Threads
    notices: tuple[Notice, ...]
    locks: Locks | None = None
    why: Why | None = None


def overview(recording: Recording) -> Overview:
    """Run the analyses behind the overview, and choose its findings.

    Raises HeadwayError HW402 (no recorded span), or HW303 or HW306 when a table can't be read.
    """
    listed = threads(recording)
    accounted = _accounted(recording)
    cores = _where_cores_went(accounted)
    waited = locks(recording, limit=MOST_LOCKS) if has_locks(recording) else None
    if not has_scheduling(recording):
        alone = (*cores, _only_threads(listed), *_contention(waited))
        notices = [*listed.notices, *_lock_notices(waited), *_why_notices(accounted)]
        return Overview(alone, None, None, listed, _once(notices), waited, accounted)
    levels = parallelism(recording)
    k1 = recording.manifest.recorded_cores
    idle = None if accounted is None else idleness_of(accounted.account)
    predicted = walltime(recording, default_cores(k1), idleness=idle) if k1 else None
    findings = [
        *cores,
        _how_parallel(levels, k1),
        _alone(levels),
        *([_runtime(levels, recording)] if recording.manifest.jvms or recording.has("jvm_phase") else []),
        *([_prediction(predicted)] if predicted else []),
        *_contention(waited),
        *([_stolen(levels)] if levels.stolen_core_ns is not None else []),
    ]
    notices = [*levels.notices, *(predicted.notices if predicted else ()), *listed.notices, *_lock_notices(waited)]
    notices += _why_notices(accounted)
    return Overview(tuple(findings), levels, predicted, listed, _once(notices), waited, accounted)


def _accounted(recording: Recording) -> Why | None:
    """Return the account of the cores; None where the recording knows neither thread states nor sums."""
    try:
        return why(recording, gains=PredictedGains(recording))
    except HeadwayError as error:
        if error.notice.id in ("HW400", "HW450"):
            return None
        raise


def _where_cores_went(found: Why | None) -> tuple[Finding, ...]:
    """Return the account in a sentence, and what most was lost to."""
    if found is None:
        return ()
    account = found.account
    figures: dict[str, float | int | None] = {"cores": account.cores, "core_ns": account.core_ns}
    figures |= {f"used_{kind}_ns": ns for kind, ns in account.used_ns.items()}
    figures |= {"stolen_ns": account.stolen_ns, "other_processes_ns": account.other_processes_ns}
    figures |= {"idle_ns": account.idle_ns, "lost_ns": account.lost_ns}
    whole = (*_idle(account), *_others(account), Finding("cores", sentence(account), figures))
    largest = max(account.lost, key=lambda loss: loss.core_ns, default=None)
    if largest is None or largest.share < LEAST_LOST:
        return whole
    figures = {"core_ns": largest.core_ns, "share": largest.share, "bound_speedup": largest.bound_speedup}
    return *whole, Finding("lost_most", loss_sentence(largest), figures)


def _idle(account: Account) -> tuple[Finding, ...]:
    """Say for how much of the time the program waited for work from outside: what held it back then is nothing in it."""
    idle = idleness_of(account)
    if idle is None:
        return ()
    share = idle.outside_ns / (account.wall_ns or 1)
    return (Finding("idle", idle.sentence, {"outside_ns": idle.outside_ns, "outside_share": share}),)


def _others(account: Account) -> tuple[Finding, ...]:
    """Say whose the cores were, if not the program's: then all else is about a machine that was busy with others."""
    text = others_sentence(account)
    if not text:
        return ()
    share = (account.other_processes_ns or 0) / (account.core_ns or 1)
    return (Finding("others", text, {"other_processes_ns": account.other_processes_ns, "share": share}),)


def _why_notices(found: Why | None) -> tuple[Notice, ...]:
    return found.notices if found is not None else ()


LEAST_LOST = 0.01
"""A loss is a finding when it is this part of the core time."""
TOP_LOCKS, MOST_LOCKS = 3, 40


def _contention(found: Locks | None) -> tuple[Finding, ...]:
    """Name the lock that costs most, if it costs anything to speak of."""
    first = headline(found.contended, found.wall_ns) if found is not None else None
    if found is None or first is None or first.sums.thread_time_ns < LEAST_WAITED * found.wall_ns:
        return ()
    where = f" at {first.place}" if first.place is not None else ""
    what = first.name if first.objects == 1 else f"{first.objects} objects ({simple(first.class_name)})"
    text = f"Threads waited {duration(first.sums.thread_time_ns)}{where} for {what} ({counted(first.sums.times_parked, 'wait')}"
    text += f", up to {first.sums.peak_parked} at once)"
    if first.holding:
        most = max(first.holding, key=lambda what: first.holding[what] if first.holding else 0)
        share = first.holding[most] / (sum(first.holding.values()) or 1)
        text += f"; for {percent(share)} of that {(HOLDERS if first.waiting == CONTENTION else ENDERS)[most]}"
    figures = {
        "parking_thread_time_ns": first.sums.thread_time_ns,
        "lost_core_ns": first.lost_core_ns,
        "speedup_bound": None if first.speedup_bound == float("inf") else first.speedup_bound,
    }
    return (Finding("locks", f"{text}.", figures),)


HOLDERS = {
    "running": "its holder ran",
    "runnable": "its holder waited for a core",
    "blocked": "its holder was blocked on another lock",
    "gc_pause": "the JVM was in a GC pause",
    "sleeping": "its holder slept or was in I/O",
    "handoff": "nobody held it: the next thread was waking up",
    "unknown": "what its holder did is not known",
}
"""What the holder of a lock did (waits.threads.thread_states.DOING), in words."""
ENDERS = {
    "running": "the thread that ended the wait ran",
    "runnable": "the thread that ended the wait waited for a core itself",
    "blocked": "the thread that ended the wait was blocked itself",
    "gc_pause": "the JVM was in a GC pause",
    "sleeping": "the thread that ended the wait slept or was in I/O",
    "handoff": "the next thread was waking up",
    "unknown": "what the thread that ended the wait did is not known",
}
"""The same of what nobody holds: a condition, a latch, a queue, a pool."""


def _lock_notices(found: Locks | None) -> tuple[Notice, ...]:
    return found.notices if found is not None else ()


def _how_parallel(levels: Parallelism, cores: int | None) -> Finding:
    on = f" on {counted(cores, 'core')}" if cores else ""
    text = (
        f"{significant(levels.mean_active)} threads were active on average, {levels.max_active} at most{on}; "
        f"{significant(levels.mean_running)} of them ran, the rest waited for a core."
    )
    figures = {"mean_active": levels.mean_active, "max_active": levels.max_active, "mean_running": levels.mean_running}
    return Finding("parallelism", text, {**figures, "cores": cores})


def _alone(levels: Parallelism) -> Finding:
    text = (
        f"For {percent(levels.serial_share)} of the time a single thread was active, "
        f"for {percent(levels.idle_share)} none: there more cores bring nothing."
    )
    return Finding("serial", text, {"serial_share": levels.serial_share, "idle_share": levels.idle_share})


def _runtime(levels: Parallelism, recording: Recording) -> Finding:
    """What the JVM itself takes: as CPU time of its GC and JIT threads, and as pauses it reports."""
    total = sum(levels.running_core_ns.values()) or 1
    gc, jit = (levels.running_core_ns[kind] / total for kind in ("gc", "jit"))
    pauses, pause_ns = recording.query(
        "SELECT count(*), coalesce(sum(dur_ns), 0) FROM jvm_phase WHERE kind = 'gc_pause'"
    ).fetchone() or (0, 0)
    text = f"GC threads took {percent(gc)} of the CPU time, JIT threads {percent(jit)}"
    word = "pause" if pauses == 1 else "pauses"
    text += f"; {pauses} GC {word} took {percent(int(pause_ns) / levels.wall_ns)} of the time." if pauses else "."
    figures = {"gc_cpu_share": gc, "jit_cpu_share": jit, "gc_pauses": int(pauses), "gc_pause_ns": int(pause_ns)}
    return Finding("runtime", text, figures)


def _prediction(predicted: Walltime) -> Finding:
    k1, measured = predicted.recorded_cores, predicted.measured_ns
    shown = [each for each in predicted.predictions if each.cores > k1][:1]
    shown += [each for each in predicted.predictions if each.cores == 1 != k1]
    parts = [f"it took {duration(measured)}", *(_predicted_text(each) for each in shown)]
    figures: dict[str, float | int | None] = {"measured_ns": measured, "recorded_cores": k1}
    figures |= {f"cores_{each.cores}_ns": each.ns for each in shown}
    return Finding("walltime", f"On {counted(k1, 'core')} {', '.join(parts)}.", figures)


def _predicted_text(each: Prediction) -> str:
    """Return a prediction as people say it: a figure at the end of its own interval is no estimate but a limit."""
    cores = counted(each.cores, "core")
    if each.ns is None:
        return f"on {cores}: withheld"
    text = duration(each.ns)
    if each.low_ns is not None and each.high_ns is not None and each.low_ns < each.high_ns:
        low, high = duration(each.low_ns), duration(each.high_ns)
        text = f"{low} to {high}" if each.ns in (each.low_ns, each.high_ns) else f"{text} ({low} to {high})"
    return f"on {cores} it would take {text}"


def _stolen(levels: Parallelism) -> Finding:
    stolen, running = levels.stolen_core_ns or 0, sum(levels.running_core_ns.values()) or 1
    share = max(0, stolen) / running
    text = f"The host took {percent(share)} of the time the program's threads were on a core"
    if levels.corrected_wall_ns is not None:
        text += f"; without that it would have taken {duration(levels.corrected_wall_ns)}"
    figures = {"stolen_share": share, "stolen_core_ns": stolen, "corrected_wall_ns": levels.corrected_wall_ns}
    return Finding("stolen", f"{text}.", figures)


def _only_threads(listed: Threads) -> Finding:
    text = f"{listed.count} threads were seen; how parallel they were is not known in this mode."
    return Finding("no_scheduling", text, {"threads": listed.count})


def _once(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    return tuple(dict.fromkeys(notices))
