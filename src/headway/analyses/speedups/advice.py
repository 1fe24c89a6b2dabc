"""The verdict on a sweep: the limit most worth removing, where it is in the code, and the commands to look at next.

Question   the largest limit, with its place, its evidence, and the next command.
Method     Gomes 2021, section 3.2 and figure 19, as text: compare the possible speedups; the limit without which the program
           would be fastest is the one to work on. Each limit has its view: sequential fraction, the flat profile of the thread
           that is busiest in it (then the flame graph of the sequential fraction); load imbalance, CPU by thread; memory, cache
           misses against the sequential program; parallelism overhead, instructions against it; locks, the locks. Limits that
           headway adds have theirs (`speedup_next`). Instructions of a busy-waiting barrier, which the paper finds by eye, are
           the limit `spinning`.
Disturbed  where threads waited for CPUs that others had (`speedup_choice`; HW475). What that cost is measured in both programs:
           the limits of the parallel one are then compared, and their gain told, without it, and scheduling is a limit only if
           there are more threads than cores.
Withheld   when other limits may as well be the largest one (`speedup_choice`): all of them are named, with their places. When
           runs differ by more than the largest gain (half width of the computed speedup's 95 % interval, or of that without
           scheduling if it is narrower): nobody could see the fix work. A gain below 5 % within the spread, or below 1 %, is
           called no limit at all.
Wrong when the place is in code that the regions do not cover.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.analyses.common.units import duration, percent
from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.analyses.speedups.choice import NO_LIMIT, Choice, choose
from headway.analyses.speedups.model import GROUPS, Model
from headway.analyses.speedups.next_commands import beyond, next_command
from headway.analyses.speedups.types import AtThreads, Commands, Verdict
from headway.analyses.speedups.uncertainty import Resamples, half_width, repeats_for
from headway.errors.plurals import counted

NAMES: Mapping[str, str] = {
    "parallel_fraction": "the sequential fraction",
    "instruction_overhead": "parallelism overhead: more instructions than the sequential program",
    "cpi_overhead": "memory: more cycles per instruction than the sequential program",
    "work_inflation": "work inflation: more CPU time than the sequential program for the same work",
    "load_balance": "load imbalance",
    "lock_contention": "lock contention",
    "scheduling": "threads that are ready, but have no CPU",
    "gc": "pauses of the garbage collector",
    "jit": "compilers of the JVM that take the CPUs",
    "spinning": "busy waiting",
    "waiting": "waiting for files, sockets, sleeps or hand-over between threads",
    "frequency": "a slower clock than in the sequential runs",
}
"""The limits that a verdict may name, for people."""

SMALL = 0.05
USELESS = 0.5
"""An uncertainty of so much of the speedup is told as its two ends: of 194 % nobody knows what it means."""
TOO_MANY = "more than 1000 repeats would be needed: calm the machine first"
_INFLATED = ("instruction_overhead", "cpi_overhead", "work_inflation", "frequency")


def ranked(row: AtThreads) -> list[tuple[str, float]]:
    """Return (limit, gain) of the known limits, largest gain first."""
    gains = ((limit, row.possible.get(limit)) for limit in NAMES)
    found = [(limit, value / row.computed_speedup - 1) for limit, value in gains if value and row.computed_speedup]
    return sorted(found, key=lambda each: -each[1])


def advise(
    row: AtThreads,
    model: Model,
    sequential: Sequence[RunPrimitives],
    parallel: Sequence[RunPrimitives],
    commands: Commands,
    resamples: Resamples,
    name: str | None = None,
) -> Verdict:
    """Return the verdict at the number of threads of `row`; `name` is the region it covers, if not the whole program."""
    choice = choose(model, sequential, parallel, tuple(NAMES), resamples, name)
    best, gain = choice.order[0] if choice.order else ("", 0.0)
    spread = _spread(row, best)
    at = f"at {counted(row.threads, 'thread')}"
    if gain < max(NO_LIMIT, min(spread, SMALL)):
        text = f"No limit that headway knows costs more than {percent(max(gain, NO_LIMIT))} {at}."
        return Verdict(row.threads, None, None, None, (_speedup_evidence(row),), commands.report, None, text)
    if gain < spread:
        return _uncertain_verdict(row, choice, spread, min(len(sequential), len(parallel)), commands)
    if choice.rivals:
        return _undecided(row, choice, model, sequential, parallel, commands)
    region = _region(model, best)
    place, where = _place(best, region, sequential, parallel)
    command = next_command(best, region, sequential, parallel)
    shown = filter(None, [beyond(command, parallel)])
    evidence = [_gain_evidence(row, best, choice), *where, *_others(row, model, choice), *_speed(row, choice), *shown]
    text = f"{NAMES[best][0].upper()}{NAMES[best][1:]} limits most {at}: without it +{percent(gain)}."
    return Verdict(row.threads, best, gain, place, tuple(evidence), command, None, text)


def _spread(row: AtThreads, limit: str) -> float:
    """Return how far the computed speedup is known, as a fraction; 0 where there are no repeats.

    What the machine took from either program is measured, and differs most from run to run: other limits are compared without it.
    """
    bounds = [(row.low, row.high)]
    if limit != "scheduling":
        bounds.append(row.possible_intervals.get("scheduling", (None, None)))
    return min((half_width((low, high)) for low, high in bounds if low is not None and high is not None), default=0.0)


def _uncertain_verdict(row: AtThreads, choice: Choice, spread: float, runs: int, commands: Commands) -> Verdict:
    best, gain = choice.order[0]
    repeats = repeats_for(spread, gain, runs)
    enough = f"{repeats} repeats would do" if repeats else TOO_MANY
    known = f"{counted(runs, 'run')} leave the computed speedup uncertain by {percent(spread)}"
    if row.low is not None and row.high is not None and spread >= USELESS:
        known = f"the {runs} runs differ so much that the speedup {_anything(row.low, row.high, row.threads)}"
    reason = f"{known}, and the largest gain ({_short(best)}) is {percent(gain)}: {enough}"
    command = commands.rerun(repeats) if repeats else "headway doctor"
    evidence = (_gain_evidence(row, best, choice), *_speed(row, choice))
    text = f"The verdict is withheld: {reason}."
    return Verdict(row.threads, None, None, None, evidence, command, reason, text, (best, *choice.rivals))


def _anything(low: float, high: float, threads: int) -> str:
    """Say between what a speedup lies; ends beyond what that many threads can give say nothing."""
    if high <= 2 * threads:
        return f"may be anything from {low:.2f} to {high:.2f}"
    return "may be anything" if low < 1 else f"may be anything from {low:.2f} on"


def _undecided(
    row: AtThreads,
    choice: Choice,
    model: Model,
    sequential: Sequence[RunPrimitives],
    parallel: Sequence[RunPrimitives],
    commands: Commands,
) -> Verdict:
    """Return that several limits may be the largest one: their gains and places, and how many repeats would tell."""
    limits = (choice.order[0][0], *choice.rivals)
    gains = dict(choice.order)
    names = " or ".join(f"{NAMES[limit]} (+{percent(gains[limit])})" for limit in limits)
    runs = min(len(sequential), len(parallel))
    enough = f"{choice.repeats} repeats would do" if choice.repeats else TOO_MANY
    reason = f"{counted(runs, 'run')} can't tell which limit is the largest, {names}: {enough}"
    evidence = []
    for limit in limits:
        place, _ = _place(limit, _region(model, limit), sequential, parallel)
        evidence.append(f"{_gain_evidence(row, limit, choice)}; {place}")
    command = commands.rerun(choice.repeats) if choice.repeats else "headway doctor"
    text = f"Undecided at {counted(row.threads, 'thread')}: {reason}."
    return Verdict(row.threads, None, None, None, (*evidence, *_speed(row, choice)), command, reason, text, limits)


def _speed(row: AtThreads, choice: Choice) -> Iterable[str]:
    """Say what the speedup is, and what gains are counted from where others had the CPUs."""
    yield _speedup_evidence(row)
    best = choice.order[0][0]
    if choice.is_calm(best):
        yield (
            f"others had the CPUs: gains are counted from {_base(row, best, choice):.2f}, the speedup without waiting for a CPU; "
            f"the tables take each limit alone from the computed {row.computed_speedup:.2f}"
        )


def _base(row: AtThreads, limit: str, choice: Choice) -> float:
    """Return the speedup that the gain of a limit is counted from: on a disturbed machine that without waiting for a CPU."""
    calm = row.possible.get("scheduling")
    return calm if calm is not None and choice.is_calm(limit) else row.computed_speedup


def _speedup_evidence(row: AtThreads) -> str:
    real = "" if row.real_speedup is None else f", {row.real_speedup:.2f} measured without recording"
    return f"speedup of {row.threads} threads: {row.computed_speedup:.2f} computed{_range((row.low, row.high))}{real}"


def _range(interval: tuple[float | None, float | None]) -> str:
    low, high = interval
    return "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"


def _gain_evidence(row: AtThreads, limit: str, choice: Choice) -> str:
    """Say what the speedup would be without a limit, and instead of what: both as the limit's gain is counted."""
    efficiency = row.efficiencies.get(limit)
    known = "" if efficiency is None else f", efficiency {efficiency:.3f}"
    base = _base(row, limit, choice)
    # Intervals are those of limits taken from the computed speedup.
    bounds = (None, None) if choice.is_calm(limit) else row.possible_intervals.get(limit, (None, None))
    possible = base * (1 + dict(choice.order)[limit])
    return f"{_short(limit)}: speedup {possible:.2f} without it{_range(bounds)}, instead of {base:.2f}{known}"


def _short(limit: str) -> str:
    """Return a limit's name without what explains it."""
    return NAMES[limit].partition(":")[0]


def _others(row: AtThreads, model: Model, choice: Choice) -> Iterable[str]:
    """Say what comes next, and what both would give, counted as the gains are."""
    if len(choice.order) < 2 or choice.order[1][1] < NO_LIMIT:
        return
    (best, _), (other, gain) = choice.order[:2]
    yield f"next largest: {_short(other)}, +{percent(gain)}"
    if any(set(pair.limits) == {best, other} for pair in row.pairs):
        calm = ("scheduling",) if choice.is_disturbed else ()
        both = model.speedup((*GROUPS.get(best, (best,)), *GROUPS.get(other, (other,)), *calm))
        if both is not None:
            yield f"without both: {float(both):.2f}"


def _region(model: Model, limit: str) -> str:
    """Return the part of the program where removing the limit saves most time."""
    if limit == "parallel_fraction":
        return REST
    members = GROUPS.get(limit, (limit,))
    return max(model.parts, key=lambda part: part.time() - part.time(members)).name


def _total(runs: Sequence[RunPrimitives], region: str, field: str) -> dict[str, float]:
    """Return means over the runs of an evidence mapping, the largest first."""
    sums: dict[str, float] = {}
    for each in _regions(runs, region):
        for name, ns in getattr(each, field).items():
            sums[name] = sums.get(name, 0) + ns / len(runs)
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def _regions(runs: Sequence[RunPrimitives], region: str) -> list[RegionPrimitives]:
    return [each for run in runs for each in run.regions if each.name == region]


def _inside(region: str) -> str:
    return "in the sequential fraction" if region == REST else f"in region {region}"


def _place(
    limit: str, region: str, sequential: Sequence[RunPrimitives], parallel: Sequence[RunPrimitives]
) -> tuple[str, list[str]]:
    """Return the place of a limit (a line, lock, thread, or the region alone) and the sentences that support it."""
    inside = _inside(region)
    if limit in _INFLATED:
        after, before = _total(parallel, region, "frames"), _total(sequential, region, "frames")
        grown = {frame: ns - before.get(frame, 0) for frame, ns in after.items()}
        top = max(grown, key=lambda frame: grown[frame], default=None)
        if top is not None and grown[top] > 0:
            text = f"{top} takes {duration(after[top])} of CPU time {inside}, {duration(before.get(top, 0))} when sequential"
            return f"{top} {inside}", [text, *_maybe_a_loop(top, before)]
    field, verb = {
        "parallel_fraction": ("busiest_frames", "runs"),
        "lock_contention": ("locks", "is waited for"),
        "load_balance": ("thread_cpu_ns", "computes"),
        "spinning": ("spin_frames", "spins"),
    }.get(limit, ("", ""))
    found = _total(parallel, region, field) if field else {}
    if limit == "parallel_fraction" and not found:
        found = _total(parallel, region, "frames")
    if not found:
        return inside.removeprefix("in "), []
    top, ns = next(iter(found.items()))
    text = f"{top} {verb} for {duration(ns)} of {duration(sum(found.values()))} {inside}"
    if limit == "load_balance":
        text = f"thread {top} computes for {duration(ns)} {inside}, on average a thread {duration(_mean(found))}"
        return f"thread {top} {inside}", [text, *_changing_sides(parallel, region)]
    sites = _total(parallel, region, "lock_sites") if limit == "lock_contention" else {}
    site = next(iter(sites), None)
    return f"{top}{f' at {site}' if site else ''} {inside}", [text]


def _maybe_a_loop(top: str, before: Mapping[str, float]) -> Iterable[str]:
    """Say what more CPU time in code that the sequential program never runs may also be; only known names count as spinning."""
    if top not in before:
        yield f"the sequential program is never seen in {top}: if it waits in a loop for other threads, this is busy waiting"


def _changing_sides(runs: Sequence[RunPrimitives], region: str) -> Iterable[str]:
    """Say how much of the imbalance the overall busiest thread (the paper's equation 9) does not show."""
    each = [
        part for part in _regions(runs, region) if part.busiest_busy_ns and part.overall_busiest_busy_ns is not None
    ]
    busiest = sum(part.busiest_busy_ns or 0 for part in each)
    overall = sum(part.overall_busiest_busy_ns or 0 for part in each)
    if overall < (1 - NO_LIMIT) * busiest:
        share = percent(overall / busiest)
        yield f"the busiest thread is not always the same one: the one that is busiest overall has {share} of the longest times"


def _mean(found: Mapping[str, float]) -> float:
    return sum(found.values()) / len(found)
