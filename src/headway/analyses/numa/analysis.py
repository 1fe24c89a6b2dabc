"""What kind of program is it for a machine of several memory nodes, would a second node help: from tables of figures.

Method     Papadakis, PhD thesis, Manchester 2022, chapters 5 and 6. The classes are those of table 6.6; each module below has
           its rules, and where they go beyond what is published.
Answers    A class for each of three questions, what it goes by, and what the tables leave open. Where a figure is near the border
           between two classes, both are named.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from headway.analyses.numa.advice import advice_of, guideline_of
from headway.analyses.numa.dependencies import dependencies_of, locality_of
from headway.analyses.numa.memory import is_memory_intensive, memory_of
from headway.analyses.numa.parallelism import parallelism_of
from headway.analyses.numa.published import second_node_of, suites
from headway.analyses.numa.tables import ProgramFigures, listed, read_tables
from headway.analyses.numa.types import (
    DEPENDENCIES,
    LOCALITY,
    PARALLELISM,
    QUESTIONS,
    ClassComparison,
    ClassDifference,
    ClassFinding,
    NumaAnswer,
    ProgramClass,
)
from headway.errors import HeadwayError, Notice

PUBLISHED_CORES = 8
"""Of a node of the machine of the published tables."""
_IMBALANCES = ("imbalance_instructions_pct", "imbalance_cycles_pct", "imbalance_object_accesses_pct")
_LONGEST, _MOST_NAMES = 200, 1000
"""Of names that are compared with one that is not there."""
_ROUNDED = 0.5
"""Percent: what rounding to whole percent may add."""


def classify_tables(paths: Sequence[Path | str], cores_per_node: int | None = None) -> NumaAnswer:
    """Return the classes of all programs of tables. Raises HeadwayError as `read_tables`."""
    tables = read_tables(paths)
    cores = PUBLISHED_CORES if cores_per_node is None else cores_per_node
    notices = list(tables.notices)
    if cores_per_node is None and any("workers" in each.values for each in tables.programs):
        notices.append(Notice.of("HW703", cores=PUBLISHED_CORES))
    notices += _impossible(tables.programs)
    programs = tuple(classify(each, cores) for each in tables.programs)
    return NumaAnswer(cores, programs, _comparison(tables.programs, programs), tuple(notices))


def only(answer: NumaAnswer, name: str) -> NumaAnswer:
    """Return the answer for the programs of one name. Raises HeadwayError HW708 where there is none."""
    chosen = tuple(each for each in answer.programs if each.application == name)
    if not chosen:
        names = [each.application for each in answer.programs]
        closest = difflib.get_close_matches(name[:_LONGEST], names[:_MOST_NAMES], n=1, cutoff=0.0)[0]
        raise HeadwayError("HW708", program=name, closest=closest)
    return dataclasses.replace(answer, programs=chosen, comparison=None)


def classify(program: ProgramFigures, cores: int) -> ProgramClass:
    """Return the classes of one program."""
    parallelism = parallelism_of(program, cores)
    dependencies = dependencies_of(program, parallelism.answer)
    locality = locality_of(program, parallelism.answer, dependencies.answer)
    findings: dict[str, ClassFinding] = {PARALLELISM: parallelism, DEPENDENCIES: dependencies, LOCALITY: locality}
    guideline = guideline_of(parallelism.answer)
    causes = [*parallelism.causes, *dependencies.causes, *locality.causes]
    memory = memory_of(program)
    return ProgramClass(
        application=program.name,
        suite=program.suite,
        findings=findings,
        guideline=guideline,
        advice=advice_of(guideline, dependencies.answer, locality.answer, causes),
        second_node=second_node_of(program.name, (parallelism.answer, dependencies.answer, locality.answer)),
        memory=memory,
        memory_intensive=is_memory_intensive(memory),
    )


def _impossible(programs: Sequence[ProgramFigures]) -> Iterator[Notice]:
    """Take out of programs the figures that can't be; tell of the first, of how many there are, and of unknown suites."""
    unknown = dict.fromkeys(each.suite for each in programs if each.suite is not None and each.suite not in suites())
    if unknown:
        yield Notice.of("HW704", suites=listed([each for each in unknown if each is not None]))
    found = [(program.name, reason) for program in programs for reason in _impossible_figures(program)]
    if found:
        more = f" (and {len(found) - 1} more of such figures)" if len(found) > 1 else ""
        yield Notice.of("HW705", program=found[0][0], reason=found[0][1] + more)


def _impossible_figures(program: ProgramFigures) -> Iterator[str]:
    """Remove from a program each imbalance that its number of workers makes impossible, and yield the reasons."""
    workers = program.range("workers")
    if workers is None or workers.high < 2:
        return
    most = 100 * math.sqrt(workers.high - 1) + _ROUNDED
    for column in _IMBALANCES:
        percent = program.number(column)
        if percent is not None and percent > most:
            del program.values[column]
            yield f"{column} is {percent:g}, of {workers.text} threads it is at most {most:.0f}"


def _comparison(tables: Sequence[ProgramFigures], programs: Sequence[ProgramClass]) -> ClassComparison | None:
    """Return how the classes compare with those of a table that has them; None where no table does."""
    of = same = 0
    differences: list[ClassDifference] = []
    for program, found in zip(tables, programs, strict=True):
        if all(program.word(question) is None for question in QUESTIONS):
            continue
        of += 1
        answers = [(each, found.answer(each), program.word(each)) for each in QUESTIONS]
        differs = [ClassDifference(found.application, *each) for each in answers if each[1] != each[2]]
        same += not differs
        differences += differs
    return ClassComparison(of, same, tuple(differences)) if of else None
