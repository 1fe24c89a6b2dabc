"""Quality checks of a causal recording: each fact beyond its threshold becomes a notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.causal.text import percent_text, seconds_text
from headway.analyses.common.units import duration, percent
from headway.errors import Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.causal.data import Data
    from headway.analyses.causal.types import Line

UNREAD = 0.05
BLIND = 0.1
"""Unread CPU time, of all that was sampled, above which no line is a finding, nor known to have no effect."""
OLD_CODE = 0.05
"""CPU time in code whose lines are those of safepoints, of all in scope."""
LATE = 0.05
OVERSLEPT = 0.1
"""Time slept beyond what was owed, all threads together, per time of the experiments."""
UNKNOWN = 0.05
"""Times that a thread asked the kernel how long it had waited for a core, and was not told."""
OUT_OF_SCOPE = 0.5
WAITED = 0.25
"""Time that threads waited for cores, per time of the experiments."""
OTHERS = 0.1
GC_SHARE = 0.05
GC_RATIO = 1.5
FEW_VISITS = 5.0
SHORT_VISIT = 7.0
"""CPU time of a visit, all threads together, in sampling periods. With 8 of them 39 of 42 predictions were within 5 points."""
ASLEEP_PCT = 50.0
"""Time that threads slept in a line, of the recorded time, above which the line's effect is in doubt."""
_NAMES = 3


def health_notices(data: Data, path: str) -> list[Notice]:
    """Return the notices on what samples and delays of a causal recording leave in doubt: unread stacks, late delays ..."""
    health, notices = data.health, []
    outside, total = health.get("out_of_scope_ns", 0), max(ran_ns(data), 1)
    share = unread_share(data)
    if data.mode != "suggest" and share > UNREAD:
        number = "HW651" if is_blind(data) else "HW623"
        notices.append(Notice.of(number, share=percent(share), running=_unread_text(data), path=path))
    notices += _safepoint_lines(data)
    if outside > OUT_OF_SCOPE * total:
        notices.append(Notice.of("HW632", share=percent(outside / total)))
    late, samples = health.get("late_payments", 0), max(health.get("samples", 0), 1)
    if late > LATE * samples:
        notices.append(Notice.of("HW624", share=percent(late / samples)))
    overslept, lasted = health.get("overslept_ns", 0), max(int(data.columns["dur_ns"].sum()), 1)
    if overslept > OVERSLEPT * lasted:
        notices.append(Notice.of("HW625", share=percent(overslept / lasted)))
    without, threads = (
        health.get("threads_without_timer", 0) + health.get("unprofiled_threads", 0),
        health.get("threads", 0),
    )
    if without > 0:
        notices.append(Notice.of("HW626", count=without, threads=max(threads, without)))
    unknown, asked = health.get("unknown_run_delays", 0), max(health.get("run_delays", 0), 1)
    if unknown > UNKNOWN * asked:
        notices.append(Notice.of("HW643", share=percent(unknown / asked)))
    notices += _waits(data)
    if health.get("faults", 0) > 0:
        notices.append(Notice.of("HW634", count=health["faults"]))
    return notices


def unread_share(data: Data) -> float:
    """Return the share of sampled CPU time whose stack could not be read."""
    return data.health.get("unread_ns", 0) / max(ran_ns(data), 1)


def is_blind(data: Data) -> bool:
    """Return whether so many stacks are unreadable that no line's effect can be stated."""
    return unread_share(data) > BLIND


def _unread_text(data: Data) -> str:
    """Name the code whose stacks could not be read, with its share of the CPU time, largest first: " (most of it: libz 4.2%)"."""
    prefix = "unread."
    found = sorted(
        ((ns, key.removeprefix(prefix)) for key, ns in data.health.items() if key.startswith(prefix) and ns > 0),
        key=lambda each: (-each[0], each[1]),
    )
    total = max(ran_ns(data), 1)
    named = ", ".join(f"{what} {percent(ns / total)}" for ns, what in found[:_NAMES])
    return f" (most of it: {named})" if named else ""


def _safepoint_lines(data: Data) -> list[Notice]:
    """Return a notice if code in scope knows no lines but those of safepoints: compiled so before an attach, or throughout."""
    if data.health.get("safepoint_lines", 0) > 0:
        return [Notice.of("HW652", share="all code", reason="-XX:-DebugNonSafepoints is set")]
    inside = sum(int(facts["cpu_ns"]) for facts in data.lines.values() if facts["kind"] == "line")
    share = data.health.get("old_code_ns", 0) / max(inside, 1)
    if share <= OLD_CODE:
        return []
    return [Notice.of("HW652", share=f"{percent(share)} of the CPU time", reason="it was compiled before the attach")]


def ran_ns(data: Data) -> int:
    """Return the CPU time of all samples in ns; methods (sums of lines) and time asleep are left out."""
    inside = sum(int(facts["cpu_ns"]) for facts in data.lines.values() if facts["kind"] == "line")
    return inside + data.health.get("unread_ns", 0) + data.health.get("out_of_scope_ns", 0)


def _waiting(data: Data) -> tuple[float, float]:
    """Return how many threads waited for cores on average: as many as the program's own number explains, and for other programs.

    With at least as many cores as threads that run or want to, none of them would wait if the program had the cores alone.
    Threads that pay for a delay awake have a core as well.
    """
    lasted = max(int(data.columns["dur_ns"].sum()), 1)
    waited = int(data.columns["waited_ns"].sum()) / lasted
    ran = (ran_ns(data) + data.health.get("spin_ns", 0)) / max(data.recorded_ns, 1)
    own = min(max(ran + waited - data.cores, 0.0), waited)
    return own, waited - own


def is_crowded(data: Data) -> bool:
    """Return whether other programs had the cores for so long that gains come out too small (HW636)."""
    return _waiting(data)[1] > OTHERS


def _waits(data: Data) -> list[Notice]:
    """Return notices of threads that waited for cores."""
    own, others = _waiting(data)
    notices = []
    if own > WAITED:
        notices.append(Notice.of("HW627", ratio=own))
    if others > OTHERS:
        notices.append(Notice.of("HW636", ratio=others))
    return notices


def experiment_notices(data: Data, use: NDArray[np.bool_], dropped: NDArray[np.bool_]) -> list[Notice]:
    """Return notices about the experiments."""
    notices = []
    if dropped.any():
        columns = data.columns
        until = (columns["start_ns"] + columns["dur_ns"])[dropped].max() - columns["start_ns"][dropped].min()
        notices.append(Notice.of("HW629", count=int(dropped.sum()), seconds=seconds_text(until / 1e9).replace(" ", "")))
    for measured in data.measures:
        if measured.remark:
            notices.append(Notice.of("HW637", name=measured.name, what=measured.remark))
        visits = measured.visits[use]
        if not len(visits) or measured.measure == "run":
            continue
        if visits.sum() == 0:
            notices.append(Notice.of("HW631", name=measured.name))
        elif visits.mean() < FEW_VISITS:
            notices.append(Notice.of("HW633", name=measured.name, visits=float(visits.mean())))
        if measured.measure == "throughput":
            notices += _short_visits(data, measured.name, use & (data.columns["speedup_pct"] == 0), measured.visits)
    collected = _collected(data, use)
    if collected is not None:
        notices.append(collected)
    return notices


def _short_visits(data: Data, name: str, base: NDArray[np.bool_], visits: NDArray[np.float64]) -> list[Notice]:
    """Return a notice if a visit takes hardly more CPU time than passes between two samples."""
    count = float(visits[base].sum())
    visit_ns = float(data.columns["sampled_ns"][base].sum()) / max(count, 1.0)
    if count == 0 or visit_ns >= SHORT_VISIT * data.period_ns:
        return []
    return [Notice.of("HW642", name=name, visit=duration(visit_ns), period=duration(data.period_ns))]


def _collected(data: Data, use: NDArray[np.bool_]) -> Notice | None:
    """Return a notice if pauses take another share of the baselines than of the other experiments, per visit."""
    columns = data.columns
    base = use & (columns["speedup_pct"] == 0)
    other = use & ~base
    work = [m.visits for m in data.measures if m.measure == "throughput"] or [columns["effective_ns"].astype(float)]
    visits = [float(work[0][rows].sum()) for rows in (base, other)]
    gc_ns = [float(columns["gc_ns"][rows].sum()) for rows in (base, other)]
    lasted = [max(float(columns["effective_ns"][rows].sum()), 1.0) for rows in (base, other)]
    if min(visits) <= 0 or max(gc_ns[at] / lasted[at] for at in (0, 1)) < GC_SHARE:
        return None
    rates = sorted(gc_ns[at] / visits[at] for at in (0, 1))
    if rates[0] > 0 and rates[1] / rates[0] < GC_RATIO:
        return None
    return Notice.of("HW628", base=percent(gc_ns[0] / lasted[0]), treated=percent(gc_ns[1] / lasted[1]))


def _beyond_delays(line: Line) -> Notice:
    """Return the notice of a finding that gains more than its delays allow."""
    gain, most = (percent_text(100 * (each or 0.0)) for each in (line.slope, line.slope_most))
    return Notice.of("HW649", name=line.line, gain=gain, most=most)


def line_notices(lines: Sequence[Line], path: str) -> list[Notice]:
    """Return notices about single lines: phases, sleep, too few experiments."""
    notices = []
    phased = [line for line in lines if line.curves and line.phase_share < 1]
    for line in phased[:_NAMES]:
        notices.append(Notice.of("HW630", names=line.line, share=percent(line.phase_share), path=path))
    asleep = [line for line in lines if line.significant and line.blocked_pct > ASLEEP_PCT]
    for line in asleep[:_NAMES]:
        notices.append(Notice.of("HW644", name=line.line, share=percent(line.blocked_pct / 100), path=path))
    for line in [line for line in lines if line.significant and line.is_beyond_delays][:_NAMES]:
        notices.append(_beyond_delays(line))
    weak = [line for line in lines if line.shape == "unknown" and not line.is_beyond_delays]
    times = [line.curve.needs_s for line in weak if line.curve is not None and line.curve.needs_s is not None]
    if times:
        names = ", ".join(line.line for line in weak[:_NAMES]) + (", ..." if len(weak) > _NAMES else "")
        notices.append(Notice.of("HW622", lines=len(weak), names=names, needs=seconds_text(min(times)), path=path))
    return notices
