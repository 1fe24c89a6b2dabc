"""The published figures of 31 programs: their memory behaviour, their classes, and their speed on two nodes against one.

Source     Orion Papadakis, PhD thesis, University of Manchester 2022: tables 5.3 (iterations), 5.5 to 5.12 (DaCapo and
           Renaissance on one node of 8 cores), 6.6 (classes, speed of all nodes over one) and 7.1, 7.2 (migrations). They lie in
           published.csv; an empty cell is one that the tables don't have.
Checked    tests/golden/test_numa_published.py: cell by cell against the tables, and against the printed geometric means.
"""

from __future__ import annotations

import bisect
import csv
import functools
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from headway.analyses.numa.types import QUESTIONS, Placed, SecondNode

_TEXTS = ("suite", "program", *QUESTIONS)


@dataclass(frozen=True, slots=True)
class Published:
    """One published program. `classes`: None where it is not in table 6.6, or a class was not asked for."""

    suite: str
    name: str
    figures: dict[str, float]
    classes: tuple[str | None, str | None, str | None]

    @property
    def speedup(self) -> float | None:
        """Return how fast it is on all nodes, relative to one."""
        return self.figures.get("all_nodes_speedup")


@functools.cache
def published() -> tuple[Published, ...]:
    """Return the published programs, in the order of the tables."""
    text = resources.files("headway.analyses.numa").joinpath("published.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(io.StringIO(text, newline="")):
        figures = {name: float(cell) for name, cell in row.items() if name not in _TEXTS and cell}
        parallelism, dependencies, locality = (row[name] or None for name in QUESTIONS)
        found.append(Published(row["suite"], row["program"], figures, (parallelism, dependencies, locality)))
    return tuple(found)


@functools.cache
def suites() -> tuple[str, ...]:
    """Return the names of the published suites."""
    return tuple(dict.fromkeys(each.suite for each in published()))


def published_values(column: str, suite: str | None = None) -> list[float]:
    """Return a figure of all published programs, or of those of a suite, where it is there."""
    chosen = [each for each in published() if suite is None or each.suite == suite]
    return [each.figures[column] for each in chosen if column in each.figures]


def geometric_mean(values: Sequence[float]) -> float | None:
    """Return the geometric mean; None for no values, and where one of them is 0."""
    if not values or min(values) <= 0:
        return None
    return math.exp(math.fsum(map(math.log, values)) / len(values))


@functools.cache
def _mean_of(column: str, suite: str | None) -> float | None:
    return geometric_mean(published_values(column, suite))


@functools.cache
def _sorted(column: str) -> tuple[float, ...]:
    return tuple(sorted(published_values(column)))


def placed(column: str, value: float, suite: str | None, *, derived: bool) -> Placed | None:
    """Return a figure beside those of the published programs; None where they have none.

    The mean is that of the program's own suite where that is published, else of all; ranks are among all.
    """
    others = _sorted(column)
    if not others:
        return None
    mean = _mean_of(column, suite if suite in suites() else None)
    return Placed(value, derived, mean, others[0], others[-1], bisect.bisect_left(others, value), len(others))


def second_node_of(application: str, classes: tuple[str | None, str | None, str | None]) -> SecondNode | None:
    """Return the speeds of published programs of the same classes but this one, as far as its classes are determined.

    None where parallelism is not, or there is no such program.
    """
    if classes[0] is None:
        return None
    alike = [
        each
        for each in published()
        if each.speedup is not None
        and each.name != application
        and all(own in (None, other) for own, other in zip(classes, each.classes, strict=True))
    ]
    speeds = [each.figures["all_nodes_speedup"] for each in alike]
    known = classes.count(None) == 0
    return SecondNode(tuple(each.name for each in alike), min(speeds), max(speeds), known) if alike else None
