"""Chooses the headway command that shows the details of a limit.

Question   what to run next, so that it runs: on the recordings of this sweep, with what they have.
Method     the leaves of Gomes 2021, figure 19, and views of the limits that headway adds. Of each program the recorded run whose
           wall time is the median is shown, of those that sampled the event. An event is drawn only if it was sampled: counters
           of instructions and cycles are mostly measured elsewhere, so CPU time (or what else of the CPU was sampled) stands for
           them. Warm-up that the figures leave out, and what is outside of the window, is left out here as well (--from, --to).
Wrong when the recordings are no longer where the sweep found them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from decimal import Decimal

from headway.analyses.regions.primitives import REST, RunPrimitives
from headway.analyses.stacks.labels import EVENTS

_CPU = EVENTS[0]


def next_command(
    limit: str, region: str, sequential: Sequence[RunPrimitives], parallel: Sequence[RunPrimitives]
) -> str:
    """Return the command that shows a limit in one region."""
    if limit in _AGAINST_SEQUENTIAL:
        return _diff(_AGAINST_SEQUENTIAL[limit], region, parallel, sequential)
    event, (sampled,) = _sampled((), parallel)
    run = _median(parallel)
    here = _path(run)
    return {
        "parallel_fraction": _top(event, sampled),
        "load_balance": _flame(event, region, sampled),
        "lock_contention": f"headway locks {here}{_window(run)}",
        "scheduling": f"headway threads {here}",
        "gc": f'headway query {here} "{_causes(run)}"',
        "jit": f"headway threads {here}",
        "spinning": _flame(event, region, sampled),
        "waiting": _flame("off-cpu", REST, run),  # of all regions: waiting for files, sockets and sleeps has no stack
        "frequency": "headway doctor",
    }[limit]


def beyond(command: str, parallel: Sequence[RunPrimitives]) -> str | None:
    """Return what the command's output includes beyond the region's figures (`threads` has no window); None: nothing."""
    run = _median(parallel)
    if not command.startswith("headway threads ") or run is None or run.window_ns is None:
        return None
    begin, end = run.window_ns
    until = "its end" if end is None else _time(end)
    return f"the command shows all of the run; the figures are those from {_time(begin)} to {until}"


_AGAINST_SEQUENTIAL = {
    "instruction_overhead": ("instructions",),
    "cpi_overhead": ("cache-misses", "cycles"),
    "work_inflation": (),
}
"""Limits that are more work than the sequential program's, and the events that show best what there is more of."""


def _diff(
    wanted: Sequence[str], region: str, parallel: Sequence[RunPrimitives], sequential: Sequence[RunPrimitives]
) -> str:
    event, (run, baseline) = _sampled(wanted, parallel, sequential)
    if event is None or not (_has(region, run) and _has(region, baseline)):  # no samples in both: nothing to compare
        event, (run,) = _sampled(wanted, parallel)
        return _flame(event, region, run)
    drawn = f"headway flame {_path(run)} --event {event}{_only(region)}{_window(run)} --diff {_path(baseline)}"
    if any(each is not None and each.window_ns is not None for each in (run, baseline)):
        drawn += _window(baseline, "--diff-") or " --diff-from 0s"  # else the parallel run's window would be its, too
    return f"{drawn} -o {event}.html"


def _flame(event: str | None, region: str, run: RunPrimitives | None) -> str:
    if event is None or not _has(region, run):  # no sample of the CPU
        return f"headway threads {_path(run)}"
    return f"headway flame {_path(run)} --event {event}{_only(region)}{_window(run)} -o {event}.html"


def _top(event: str | None, run: RunPrimitives | None) -> str:
    """Return the flat profile of the thread that computes most in the rest: over all of the run that may be a worker.

    Threads that live for less than an interval have no samples, though they may be the ones that compute most.
    """
    here = _path(run)
    if event is None:
        return f"headway threads {here}"
    rest = next((each for each in run.regions if each.name == REST), None) if run is not None else None
    cpu_ns = rest.thread_cpu_ns if rest is not None else {}
    if not cpu_ns:
        return f"headway top {here} --event {event} --busiest-thread{_window(run)}"
    sampled = [name for name in cpu_ns if rest is None or rest.sampled is None or name in rest.sampled]
    if not sampled:
        return f"headway threads {here}"
    name = max(sampled, key=lambda each: cpu_ns[each])
    return f"headway top {here} --event {event} --thread {shlex.quote(f'^{re.escape(name)}$')}{_window(run)}"


def _sampled(
    wanted: Sequence[str], *programs: Sequence[RunPrimitives]
) -> tuple[str | None, list[RunPrimitives | None]]:
    """Return the best event that each program has a run of, and these runs: one of those wanted, else one of the CPU.

    None: they have none in common; then any runs of them. Of runs whose events are not known there is CPU time.
    """
    for event in (*wanted, *EVENTS):
        having = [[run for run in _recorded(runs) if event in _events(run)] for runs in programs]
        if all(some or not _recorded(runs) for some, runs in zip(having, programs, strict=True)):
            return event, [_median(runs) for runs in having]
    return None, [_median(runs) for runs in programs]


def _events(run: RunPrimitives) -> Sequence[str]:
    return (_CPU,) if run.events is None else run.events


def _has(region: str, run: RunPrimitives | None) -> bool:
    """Return whether a run has samples in a region that was given: the sequential program need not have all of them."""
    found = [] if run is None else [each for each in run.regions if each.name == region]
    return (
        run is None or region.startswith("(") or any(each.cpu_ns > 0 and each.sampled != frozenset() for each in found)
    )


def _only(region: str) -> str:
    is_found = region.startswith("(")  # REST, or one that nobody gave: no pattern that stacks could be looked for with
    return "" if is_found else f" --region {shlex.quote(region)}"


def _window(run: RunPrimitives | None, option: str = "--") -> str:
    """Return the options, --from and --to, that show what the figures of a run are of; '' for all of it."""
    if run is None or run.window_ns is None:
        return ""
    begin, end = run.window_ns
    return f" {option}from {_time(begin)}" + ("" if end is None else f" {option}to {_time(end)}")


def _time(ns: int) -> str:
    """Return a time as the command line takes it, to the ns."""
    return f"{Decimal(ns) / 10**9:f}s"


def _causes(run: RunPrimitives | None) -> str:
    """Return the query that adds up the collector's pauses by cause."""
    inside = ""
    if run is not None and run.window_ns is not None:
        begin, end = run.window_ns
        inside = f" AND start_ns + dur_ns > {run.started_ns + begin}"
        inside += "" if end is None else f" AND start_ns < {run.started_ns + end}"
    return f"SELECT cause, count(*), sum(dur_ns) FROM jvm_phase WHERE kind = 'gc_pause'{inside} GROUP BY 1"


def _median(runs: Sequence[RunPrimitives]) -> RunPrimitives | None:
    """Return the recorded run to look at: the one whose wall time is the median."""
    recorded = _recorded(sorted(runs, key=lambda run: run.wall_ns))
    return recorded[len(recorded) // 2] if recorded else None


def _recorded(runs: Sequence[RunPrimitives]) -> list[RunPrimitives]:
    return [run for run in runs if run.recording]


def _path(run: RunPrimitives | None) -> str:
    return shlex.quote(str(run.recording)) if run is not None else "NAME.headway"
