"""Detects a program's parallel regions from its stacks: the outermost methods of the tasks that worker threads run.

Method     Work that a program gives to other threads begins, on their stacks, with its outermost own method: the task of a
           fork/join pool, a parallel stream or an executor, or what a thread was started with. Each such method with at least a
           twentieth of the CPU samples of all threads but the main one is a region. In the sequential program the same work is
           looked for by the methods on the workers' stacks that the parallel program was never seen in outside of a region: the
           outermost of them on each sequential stack. A stack of a virtual thread that has lost its outermost frames tells no
           such method: it counts where a region's frame is left, and nowhere else.
Assumes    the sequential program does the work in methods of the same names.
Wrong when a worker's task does things that are sequential in the other program, or the other way round: so the regions are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headway.analyses.common.short_names import short_name
from headway.analyses.regions.analysis import regions_of
from headway.analyses.stacks.labels import EVENTS, RETURN_BARRIER, plain_lambda
from headway.analyses.stacks.sources import recorded_events
from headway.analyses.waits.object_names import is_jdk, is_proxy, simple
from headway.errors import Notice
from headway.model.names import is_main_thread
from headway.store.manifest import StoredNotice
from headway.store.sweep import SweepRegion

if TYPE_CHECKING:
    from headway.store import Recording
    from headway.store.sweep import Program, Sweep, SweepRun

    Stack = tuple[str, ...]
    """Its own methods, outermost first."""

_LEAST_SHARE = 0.05
_MOST_REGIONS = 8
_RECORDINGS = 3
_LOST = "without its outermost frames"
"""How a thread was given the work of a stack that does not say so."""
_CHECKED = ("HW490", "HW491", "HW492", "HW496")
_POOLS = (
    ("parallel stream", re.compile(r"java\.util\.stream\.")),
    ("fork/join", re.compile(r"java\.util\.concurrent\.ForkJoin")),
    ("executor", re.compile(r"java\.util\.concurrent\.ThreadPoolExecutor")),
)


@dataclass(slots=True)
class _SampledStacks:
    """CPU weight by stack: of the main thread, and of other threads with how their work was submitted."""

    main: dict[Stack, int] = field(default_factory=dict)
    others: dict[tuple[Stack, str], int] = field(default_factory=dict)


def with_regions(sweep: Sweep) -> Sweep:
    """Return the sweep with regions: its own, or else those that its recordings show, with HW493 that names them.

    A sweep without samples, or without work on other threads, comes back as it is. Raises what `open_recording` raises.
    """
    if sweep.regions and not sweep.regions_found:
        return sweep
    runs = sweep.select("parallel", recorded=True)
    most = max((run.threads for run in runs), default=0)
    seen = _sampled_stacks(sweep.open(run) for run in [run for run in runs if run.threads == most][:_RECORDINGS])
    found = _roots(seen)
    if not found:
        return sweep
    regions = tuple(SweepRegion(name, pattern) for name, pattern, _ in found)
    alone = _sampled_stacks(sweep.open(run) for run in sweep.select("sequential", recorded=True)[:_RECORDINGS])
    elsewhere = tuple(each for each in (_in_sequential(region, seen, alone) for region in regions) if each is not None)
    named = "; ".join(
        f"{region.name}={region.pattern} ({how})" for region, (_, _, how) in zip(regions, found, strict=True)
    )
    if elsewhere:
        named += "; in the sequential program " + "; ".join(f"{each.name}={each.pattern}" for each in elsewhere)
    notice = Notice.of("HW493", regions=named)
    kept = [each for each in sweep.notices if each.id != notice.id]
    return replace(
        sweep,
        regions=regions,
        sequential_regions=elsewhere,
        regions_found=True,
        notices=(*kept, StoredNotice(notice.id, notice.message, notice.remedy)),
    )


def with_checks(sweep: Sweep) -> Sweep:
    """Return the sweep with messages about its regions added (HW490 to HW492, HW496), from one run per program.

    Raises what `open_recording` and `regions_of` raise.
    """
    kept = [each for each in sweep.notices if each.id not in _CHECKED]
    found: list[StoredNotice] = []
    programs: tuple[Program, ...] = ("sequential", "parallel")
    for program in programs if sweep.regions else ():
        for run in _last(sweep, program):
            with closing(sweep.open(run)) as recording:
                if recording.wall_ns <= (run.warmup_excluded_ns or 0):
                    continue
                window = (run.warmup_excluded_ns or 0, recording.wall_ns)
                notices = regions_of(recording, sweep.regions_of(program), window).notices
            found += [StoredNotice(each.id, each.message, each.remedy) for each in notices if each.id in _CHECKED]
    return replace(sweep, notices=(*kept, *found))


def _last(sweep: Sweep, program: Program) -> tuple[SweepRun, ...]:
    """Return the last recorded run that has samples of the CPU, or just the last one; nothing where there is none."""
    runs = sweep.select(program, recorded=True)
    for run in reversed(runs):
        with closing(sweep.open(run)) as recording:
            if _event(recording) is not None:
                return (run,)
    return runs[-1:]


def _roots(seen: _SampledStacks) -> list[tuple[str, str, str]]:
    """Return name, pattern and kind of each region, the largest first."""
    weights: dict[str, int] = {}
    how: dict[str, dict[str, int]] = {}
    for (stack, kind), weight in seen.others.items():
        if stack and kind != _LOST:
            weights[stack[0]] = weights.get(stack[0], 0) + weight
            kinds = how.setdefault(stack[0], {})
            kinds[kind] = kinds.get(kind, 0) + weight
    total = sum(weights.values())
    ranked = sorted(weights, key=lambda method: (-weights[method], method))
    large = [method for method in ranked if weights[method] >= _LEAST_SHARE * total]
    found: list[tuple[str, str, str]] = []
    taken: set[str] = set()
    for method in large[:_MOST_REGIONS]:
        name = _short(method)
        name = method if name in taken else name
        taken.add(name)
        found.append((name, _pattern([method]), max(how[method].items(), key=lambda each: each[1])[0]))
    return found


def _in_sequential(region: SweepRegion, seen: _SampledStacks, alone: _SampledStacks) -> SweepRegion | None:
    """Return where the sequential program does a region's work; None when it shows in no method of the same name."""
    pattern = re.compile(region.pattern)
    inside: set[str] = set()
    outside: set[str] = set()
    for stack, kind in [*seen.others, *((stack, "") for stack in seen.main)]:
        in_region = any(pattern.search(method) for method in stack)
        if in_region or kind != _LOST:
            (inside if in_region else outside).update(map(plain_lambda, stack))
    methods = inside - outside
    weights: dict[str, int] = {}
    for stack, weight in [*alone.main.items(), *((stack, weight) for (stack, _), weight in alone.others.items())]:
        first = next((method for method in stack if plain_lambda(method) in methods), None)
        if first is not None:
            weights[first] = weights.get(first, 0) + weight
    total = sum(weights.values())
    large = [method for method in sorted(weights) if weights[method] >= _LEAST_SHARE * total]
    return SweepRegion(region.name, _pattern(large)) if large else None


def _short(method: str) -> str:
    """Return Class.method without the package, a lambda under the name of the method around it."""
    class_name, _, name = plain_lambda(method).rpartition(".")
    return f"{simple(class_name)}.{name}".replace("$", ".").strip(".")


def _pattern(methods: list[str]) -> str:
    """Return a pattern that is found in these frames and no others."""
    escaped = [re.escape(method) for method in methods]
    return f"^{escaped[0]}$" if len(escaped) == 1 else f"^({'|'.join(escaped)})$"


def _sampled_stacks(recordings: Iterable[Recording]) -> _SampledStacks:
    """Add up the CPU samples of some recordings by stack: of those with the best event, as ns and counts don't add up."""
    found: dict[str, _SampledStacks] = {}
    for recording in recordings:
        with closing(recording):
            event = _event(recording)
            if event is not None and recording.has("stack"):
                _add(found.setdefault(event, _SampledStacks()), recording, event)
    return next((found[event] for event in EVENTS if event in found), _SampledStacks())


def _event(recording: Recording) -> str | None:
    """Return the best event of the CPU that was sampled."""
    there = recorded_events(recording)
    return next((each for each in EVENTS if each in there), None)


def _add(seen: _SampledStacks, recording: Recording, event: str) -> None:
    stacks = _stacks(recording)
    rows = recording.query(
        f"SELECT t.java_id, {short_name('t.name')}, s.stack_id, sum(s.weight) FROM sample s LEFT JOIN thread t"
        " ON t.thread_id = s.thread_id WHERE s.event = $1 AND s.stack_id IS NOT NULL"
        " AND coalesce(t.kind, 'app') IN ('app', 'carrier') GROUP BY 1, 2, 3",
        (event,),
    ).fetchall()
    for java_id, name, stack_id, weight in rows:
        stack, kind = stacks.get(stack_id, ((), ""))
        if is_main_thread(java_id, name):
            seen.main[stack] = seen.main.get(stack, 0) + int(weight)
        else:
            seen.others[stack, kind] = seen.others.get((stack, kind), 0) + int(weight)


def _stacks(recording: Recording) -> dict[int, tuple[Stack, str]]:
    """Return each stack's own methods, outermost first, and how its thread was given the work."""
    rows = recording.query(
        "SELECT s.stack_id, f.class_name, f.method, f.kind FROM stack s JOIN frame f ON f.frame_id = s.frame_id"
        " WHERE f.kind NOT IN ('native', 'jvm', 'kernel') ORDER BY s.stack_id, s.depth DESC"
    ).fetchall()
    frames: dict[int, list[str]] = {}
    names: dict[int, list[str]] = {}
    for stack_id, class_name, method, _ in rows:
        if class_name and not is_jdk(class_name) and not is_proxy(class_name):
            frames.setdefault(stack_id, []).append(f"{class_name}.{method}")
        names.setdefault(stack_id, []).append(class_name)
    lost = _lost(recording)
    return {
        stack_id: (tuple(frames.get(stack_id, ())), _LOST if stack_id in lost else _given(classes))
        for stack_id, classes in names.items()
    }


def _lost(recording: Recording) -> set[int]:
    """Return the stacks of virtual threads whose outermost frames were in the heap."""
    rows = recording.query(
        "SELECT DISTINCT s.stack_id FROM stack s JOIN frame f ON f.frame_id = s.frame_id"
        " WHERE regexp_matches(concat_ws('.', nullif(f.class_name, ''), f.method), $1)",
        (RETURN_BARRIER,),
    ).fetchall()
    return {row[0] for row in rows}


def _given(classes: list[str]) -> str:
    return next((name for name, pattern in _POOLS if any(map(pattern.match, classes))), "thread")
