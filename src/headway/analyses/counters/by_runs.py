"""Joins what several runs of one program counted, a group of events each: "trace alignment", of `record --counters-by-runs`.

Question   what one run would have counted of all groups, had the CPU counters for all of them at once.
Method     rows are joined by what they have in common in all runs: threads by kind, name and order of birth among those of one
           kind and name, the others by their key. A count is that of the run whose group has the event, a ratio is of one run.
           An event of several groups has the mean of its runs, with the least and the most as its interval.
Assumes    that the program does the same in each run. How far that holds is told beside: running time of each run, of each
           row, and events that several runs counted.
Wrong when threads of one name swap their work from run to run: each is then joined with another. What a count of one run would
           have been in another is not in its interval, but in what is told of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.analyses.counters.course.over_iterations import over_iterations
from headway.analyses.counters.layout import layout
from headway.analyses.counters.types import Alignment, ByRuns, CountedGroup, Counters, Figure, Row
from headway.errors import HeadwayError
from headway.model.counter_ladder import step_of

if TYPE_CHECKING:
    from headway.store import Recording

    Key = tuple[str | int, ...]
    _Names = tuple[tuple[str, ...], tuple[str, ...]]

RUNS = "counters_by_runs"
"""Key of each run's manifest: {run, of, in_turn}."""
_MOST_RUNS = 100
COMMON = ("thread", "kind", "phase", "region", "iteration")
"""What runs of one program have in common; their times, CPUs and locks they have not."""


def has_runs(recording: Recording) -> bool:
    """Return whether a recording is the first of runs that counted a group each."""
    return _number(recording) == 1


def joined(
    recording: Recording, answer: Callable[[Recording], Counters], by: str, window: tuple[int, int] | None
) -> Counters:
    """Return the counts of all runs of a recording as one answer. `answer`: that of one run.

    Raises HeadwayError HW118 for what two runs have not in common, else as `answer`.
    """
    if by not in COMMON:
        raise HeadwayError("HW118", path=recording.path, why=f"not by {by}")
    if window is not None:
        raise HeadwayError("HW118", path=recording.path, why="not of a part of the recording")
    repeats = recording.repeats()
    runs, in_turn, left_out = _runs(repeats, answer)
    maps = [_by_key(run.recording, run.answer, by) for run in runs]
    totals = [run.answer.total for run in runs]
    events = [(tuple(run.answer.total.counts), tuple(run.answer.total.metrics)) for run in runs]
    first = runs[0].answer
    keys = dict.fromkeys(key for each in maps for key in each)
    rows = [_row([each.get(key) for each in maps], events, f"the run that counted it has no such {by}") for key in keys]
    if by == "thread":
        rows.sort(key=lambda row: -row.cpu_ns)
    total = _row([*totals], events, "")
    groups = tuple(group for run in runs for group in run.answer.groups)
    uneven = {event: each for run in reversed(runs) for event, each in run.answer.imbalance.items()}
    found = ByRuns(_alignment(maps, totals, events), *_compared(total, in_turn), _takes_turns(in_turn), tuple(left_out))
    names = {event for group in groups for event in group.events}
    return replace(
        first,
        step=step_of([group.events for group in groups]),
        groups=groups,
        total=total,
        rows=tuple(rows),
        imbalance={event: uneven[event] for event in total.counts if event in uneven},
        absent=tuple(each for each in first.absent if each[0] not in names),
        over=over_iterations(rows) if first.over is not None else None,
        notices=tuple(notice for notice in first.notices if notice.id != "HW119"),
        by_runs=replace(found, left_out=(*found.left_out, *_missing(repeats))),
    )


@dataclass(frozen=True, slots=True)
class _GroupRun:
    recording: Recording
    answer: Counters


def _runs(
    repeats: Sequence[Recording], answer: Callable[[Recording], Counters]
) -> tuple[list[_GroupRun], Counters | None, list[tuple[str, str]]]:
    """Return the runs of a group each, the run of all groups, and those that are left out with their reasons."""
    first, *others = repeats
    runs, left_out = [_GroupRun(first, answer(first))], []
    in_turn: Counters | None = None
    numbers = {1}
    for other in others:
        if why := _why_not(first, other, numbers):
            left_out.append((str(other.path), why))
            continue
        numbers.add(_number(other))
        if _is_in_turn(other):
            in_turn = answer(other)
        else:
            runs.append(_GroupRun(other, answer(other)))
    return runs, in_turn, left_out


def _why_not(first: Recording, other: Recording, numbers: Container[int]) -> str:
    """Return why a run is none of the same program that did the same, as far as that can be told; empty: it is one.

    `numbers`: of the runs that there are already.
    """
    one, two = first.manifest, other.manifest
    reasons = {
        "it is none of these runs": not 2 <= _number(other) <= _MOST_RUNS,
        "another one is this run": _number(other) in numbers,
        "another command": two.command != one.command,
        "another mode": two.mode != one.mode,
        "not complete": two.state != "complete" or two.ended_by != one.ended_by,
        "another exit code": two.exit_code != one.exit_code,
    }
    if reason := next((text for text, holds in reasons.items() if holds), ""):
        return reason
    try:
        layout(other)
    except HeadwayError as error:  # HW109: nothing of it counted in the end
        return error.notice.message
    return ""


def _missing(repeats: Sequence[Recording]) -> list[tuple[str, str]]:
    """Return runs that were planned and are not there."""
    found = repeats[0].manifest.extra.get(RUNS)
    planned = found.get("of") if isinstance(found, Mapping) else None
    if not isinstance(planned, int) or planned > _MOST_RUNS:
        return []
    there = {_number(each) for each in repeats}
    return [(f"run {each}", "it was not made, or is gone") for each in range(1, planned + 1) if each not in there]


def _number(recording: Recording) -> int:
    found = recording.manifest.extra.get(RUNS)
    number = found.get("run") if isinstance(found, Mapping) else None
    return number if isinstance(number, int) else 0


def _is_in_turn(recording: Recording) -> bool:
    found = recording.manifest.extra.get(RUNS)
    return isinstance(found, Mapping) and found.get("in_turn") is True


def _by_key(recording: Recording, answer: Counters, by: str) -> dict[Key, Row]:
    """Return the rows of a run by what is the same in all runs."""
    if by != "thread":
        return {(row.key[by],): row for row in answer.rows}
    births = _births(recording)
    found: dict[Key, Row] = {}
    for row in answer.rows:
        kind, name = str(row.key["kind"]), str(row.key["name"])
        order = births.get((int(row.key["pid"]), int(row.key["tid"]), name, kind), [])
        # Virtual threads are in no table of threads, nor is it known in which order they were born: they are in this run alone.
        found[(kind, name, order.pop(0)) if order else (kind, name, str(recording.path), len(found))] = row
    return found


def _births(recording: Recording) -> dict[tuple[int, int, str, str], list[int]]:
    """Return of each thread its number among those of its kind and name, by birth; several where the kernel used an id again."""
    rows = recording.query("SELECT pid, tid, name, kind FROM thread ORDER BY start_ns, thread_id").fetchall()
    born: dict[tuple[str, str], int] = {}
    found: dict[tuple[int, int, str, str], list[int]] = {}
    for pid, tid, name, kind in rows:
        number = born[kind, name] = born.get((kind, name), -1) + 1
        found.setdefault((pid, tid, name, kind), []).append(number)
    return found


def _row(rows: Sequence[Row | None], events: Sequence[_Names], why_missing: str) -> Row:
    """Return one row of the same thread, kind, phase ... in several runs; None where a run has it not."""
    there = [row for row in rows if row is not None]
    missing = Figure(None, None, None, why_missing)
    counts: dict[str, list[Figure]] = {}
    ratios: dict[str, list[Figure]] = {}
    for row, (of_row, metrics) in zip(rows, events, strict=True):
        for event in of_row:
            counts.setdefault(event, []).append(missing if row is None else row.counts.get(event, missing))
        for name in metrics:
            ratios.setdefault(name, []).append(missing if row is None else row.metrics.get(name, missing))
    cpu, counted = ([getattr(row, name) for row in there] for name in ("cpu_ns", "counted_ns"))
    return Row(
        there[0].key,
        round(math.fsum(cpu) / len(there)),
        round(math.fsum(counted) / len(there)),
        {event: _mean(figures) for event, figures in counts.items()},
        {name: _first_known(figures) for name, figures in ratios.items()},
    )


def _first_known(figures: Sequence[Figure]) -> Figure:
    return next((each for each in figures if each.value is not None), figures[0])


def _mean(figures: Sequence[Figure]) -> Figure:
    """Return a count of one run as it is; of several, their mean, from the least to the most."""
    known = [each for each in figures if each.value is not None]
    if len(known) < 2:
        return _first_known(figures)
    lows, highs = ([getattr(each, end) for each in known] for end in ("low", "high"))
    low, high = (None if None in lows else min(lows)), (None if None in highs else max(highs))
    return Figure(math.fsum(each.value or 0.0 for each in known) / len(known), low, high)


def _alignment(maps: Sequence[Mapping[Key, Row]], totals: Sequence[Row], events: Sequence[_Names]) -> Alignment:
    """Return how alike the runs are."""
    in_all = [key for key in maps[0] if all(key in each for each in maps)]
    of_each = [[each[key].cpu_ns for each in maps] for key in in_all]
    means = [math.fsum(times) / len(times) for times in of_each]
    apart = math.fsum(max(times) - min(times) for times in of_each)
    others = {key for each in maps for key in each} - {*in_all}
    ran = math.fsum(row.cpu_ns for each in maps for row in each.values())
    alone = math.fsum(row.cpu_ns for each in maps for key, row in each.items() if key in others)
    seen: dict[str, list[float]] = {}
    for total, (of_row, _) in zip(totals, events, strict=True):
        for event in of_row:
            if (value := total.counts[event].value) is not None:
                seen.setdefault(event, []).append(value)
    return Alignment(
        tuple(total.cpu_ns for total in totals),
        len(in_all),
        len(others),
        alone / ran if ran else 0.0,
        apart / math.fsum(means) if math.fsum(means) else None,
        {event: (min(values), max(values)) for event, values in seen.items() if len(values) > 1},
    )


def _compared(total: Row, in_turn: Counters | None) -> tuple[Mapping[str, Figure], Mapping[str, float | None]]:
    """Return what the run of all groups counted, and by which fraction that is more than the joined runs have."""
    if in_turn is None:
        return {}, {}
    found = {event: in_turn.total.counts[event] for event in total.counts if event in in_turn.total.counts}
    return found, {event: _more(figure, total.counts[event]) for event, figure in found.items()}


def _more(figure: Figure, than: Figure) -> float | None:
    return None if figure.value is None or not than.value else figure.value / than.value - 1


def _takes_turns(in_turn: Counters | None) -> bool:
    groups: tuple[CountedGroup, ...] = () if in_turn is None else in_turn.groups
    return any(group.is_multiplexed for group in groups)
