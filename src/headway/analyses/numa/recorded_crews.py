"""The class of parallelism of a recorded program by the crews of its workers, and what an imbalance comes from.

Method     Papadakis, PhD thesis, Manchester 2022, section 6.2.4 and table 6.2. Where workers are several crews, one after another
           (crews.py), each crew gets a class by its own figures, as a phase; the program has that of most work. Crews that differ
           are several workloads; crews that are alike are one whose threads are made anew. As the author counts db-shootout as
           parallel, whose crews have 5, 25 and 36 % of imbalance, crews are balanced up to 25 % in the mean.
           Workers of one crew that are unequal are so by their work, if they are unequal while several work, or as one goes on
           when all others have ended; if not, the imbalance is of the time in which one is alone before.
Checked    tests/unit/analyses/numa/test_numa_crews.py.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from headway.analyses.common.units import duration
from headway.analyses.counters.metrics import imbalance
from headway.analyses.numa.columns import ThreadRange
from headway.analyses.numa.crews import Crew, WorkOverTime
from headway.analyses.numa.parallelism import BALANCED, IN_TIME, OF_THE_REST, WHILE_MAIN_WORKS, parallelism_of
from headway.analyses.numa.recorded_figures import CrewFigures, RecordedFigures, WorkerShare
from headway.analyses.numa.types import (
    IMBALANCED,
    NEAR,
    NON_UNIFORM,
    OUTLIER,
    PARALLEL,
    PARALLELISM,
    SERIAL,
    SEVERAL,
    SINGLE,
    ClassFinding,
    PhaseClass,
    joined,
)

CREWS_BALANCED = 25.0
"""Percent of imbalance in a crew, in the mean of all crews: up to that the program is parallel."""
MOST_TOGETHER = 0.5
"""Of the CPU time of main: where it is alone for less, what it does is no serial phase."""
_MOST_SHOWN = 8


def crew_figures(
    over_time: WorkOverTime, amounts: Mapping[int, float], names: Mapping[int, str], column: str
) -> tuple[CrewFigures, ...]:
    """Return the figures of each crew where there are several; a thread that works alone is none.

    `amounts`: what each thread did, whose imbalance goes into `column`.
    """
    several = (each for each in over_time.crews() if len(each.threads) > 1)
    crews = [each for each in several if sum(amounts[thread] for thread in each.threads)]
    return tuple(_figures(each, over_time, amounts, names, column) for each in crews) if len(crews) > 1 else ()


def _figures(
    crew: Crew, over_time: WorkOverTime, amounts: Mapping[int, float], names: Mapping[int, str], column: str
) -> CrewFigures:
    work = sorted(((amounts[each], names[each]) for each in crew.threads), key=lambda each: -each[0])
    total = sum(amount for amount, _ in work)
    found = CrewFigures("", from_ns=crew.from_ns, to_ns=crew.to_ns, work=tuple(amount for amount, _ in work))
    found.workers = tuple(WorkerShare(name, amount / total) for amount, name in work)
    found.values["workers"] = ThreadRange(len(work), len(work))
    found.values["main_instructions_pct"] = round(100 * over_time.main_share(crew), 1)
    found.values[column] = round(100 * (imbalance(found.work) or 0.0), 1)
    return found


def class_by_crews(
    figures: RecordedFigures, crews: Sequence[CrewFigures], column: str, cores: int
) -> tuple[ClassFinding, tuple[PhaseClass, ...]]:
    """Return the class of a program, and of each crew where there are several."""
    whole = parallelism_of(figures, cores)
    if not crews or whole.answer == SINGLE:
        return whole, ()
    classes = [parallelism_of(each, cores) for each in crews]
    phases = tuple(
        PhaseClass(crew.from_ns, crew.to_ns, len(crew.work), crew.number(column), found.answer)
        for crew, found in zip(crews, classes, strict=True)
    )
    work: dict[str | None, float] = {}
    for crew, phase in zip(crews, phases, strict=True):
        work[phase.parallelism] = work.get(phase.parallelism, 0.0) + sum(crew.work)
    found = ClassFinding(PARALLELISM, max(work, key=work.__getitem__))
    _balance_of_crews(found, crews, column)
    _as_most_crews(found, crews, classes)
    return found, phases


def _balance_of_crews(found: ClassFinding, crews: Sequence[CrewFigures], column: str) -> None:
    """Note the imbalance in the crews beside that of all their workers together, and whether crews do unlike work."""
    inside = [each.number(column) or 0.0 for each in crews]
    mean = sum(percent * sum(crew.work) for percent, crew in zip(inside, crews, strict=True))
    mean /= sum(sum(crew.work) for crew in crews)
    of_all = 100 * (imbalance([amount for crew in crews for amount in crew.work]) or 0.0)
    sizes = sorted({len(each.work) for each in crews})
    size = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    shown = joined([f"{each:g}" for each in inside]) if len(inside) <= _MOST_SHOWN else f"{mean:.1f} in the mean"
    text = (
        f"{len(crews)} crews of {size} workers, one after another; imbalance in each: {shown} %, of all {of_all:.0f} %"
    )
    other = None
    if found.answer == IMBALANCED and mean <= CREWS_BALANCED:
        found.answer = PARALLEL
    if found.answer == PARALLEL and mean > BALANCED / NEAR:
        other = IMBALANCED
    elif found.answer == IMBALANCED and mean <= CREWS_BALANCED * NEAR:
        other = PARALLEL
    found.near(other, text, "imbalance_within_crews_pct", round(mean, 1), CREWS_BALANCED)
    differ = 100 * (imbalance([statistics.fmean(each.work) for each in crews]) or 0.0)
    if differ > BALANCED:
        found.causes.append(SEVERAL)
        found.add(
            f"what a worker does differs by {differ:.0f} % from crew to crew",
            "imbalance_of_crews_pct",
            differ,
            BALANCED,
        )


def _as_most_crews(found: ClassFinding, crews: Sequence[CrewFigures], classes: Sequence[ClassFinding]) -> None:
    """Take the causes of crews of the program's class, and name the crews of another."""
    for crew, each in zip(crews, classes, strict=True):
        if each.answer == found.answer:
            new = [cause for cause in each.causes if cause not in found.causes]
            found.causes += new
            found.evidence += [text for text in each.evidence if OUTLIER in new and text.metric == OF_THE_REST]
        elif each.answer is not None and len(found.evidence) < 2 + _MOST_SHOWN:
            text = f"the crew from {duration(crew.from_ns)} to {duration(crew.to_ns)} is {each.answer}"
            found.near(each.answer, text, "workers_of_a_crew", len(crew.work), len(crew.work))


def note_cause(found: ClassFinding, over_time: WorkOverTime, workers: Sequence[tuple[int, str]]) -> None:
    """Note what is known of causes by when threads work: of a main thread that does much, and of an imbalance of workers."""
    _note_main(found, over_time)
    by_thread = over_time.while_several_work([thread for thread, _ in workers])
    uneven = imbalance(list(by_thread.values()))
    if found.answer != IMBALANCED or uneven is None:
        return
    found.undetermined[:] = [text for text in found.undetermined if text != IN_TIME]
    percent, total = 100 * uneven, sum(by_thread.values())
    text = f"while several threads work, the CPU time of workers differs by {percent:.0f} %"
    if percent <= BALANCED:
        found.causes += [] if SERIAL in found.causes else [SERIAL]
        text = f"{text}: the imbalance is of the time in which one is alone"
        found.add(text, "imbalance_while_several_pct", percent, BALANCED)
        return
    found.causes.append(NON_UNIFORM)
    names = dict(workers)
    most, least = (choose(by_thread, key=by_thread.__getitem__) for choose in (max, min))
    does = [f"{names[thread]} does {100 * by_thread[thread] / total:.1f} %" for thread in (most, least)]
    found.add(f"{text}: {does[0]}, {does[1]} of it", "imbalance_while_several_pct", percent, BALANCED)


def _note_main(found: ClassFinding, over_time: WorkOverTime) -> None:
    """Say whether a main thread that does far more than a worker does it alone: only then is it a serial phase."""
    share = over_time.main_alone_share()
    if WHILE_MAIN_WORKS not in found.undetermined or share is None:
        return
    found.undetermined.remove(WHILE_MAIN_WORKS)
    found.add(f"main is alone for {share:.0%} of its CPU time", "share_of_main_alone", share, MOST_TOGETHER)
    if share < MOST_TOGETHER:
        found.causes.remove(SERIAL)
