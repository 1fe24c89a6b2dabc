"""The answer of `headway counters`: rows of counts and of figures made of them, each with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.errors import Notice

BY = ("thread", "kind", "cpu", "phase", "region", "lock", "iteration")
"""What counts can be divided by."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A count or a ratio with its 95 % interval; value None: withheld, for the reason that `withheld` says.

    An end that is None is not known. Where some of the running time has no counts, `low` is the least that there was of a count.
    """

    value: float | None
    low: float | None
    high: float | None
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class CountedGroup:
    """Events that are counted together. enabled_ns: time of all CPUs in which they could count, running_ns: in which they did."""

    events: tuple[str, ...]
    enabled_ns: int
    running_ns: int

    @property
    def is_multiplexed(self) -> bool:
        """Return whether it took turns with others on the CPU's counters."""
        return self.running_ns < self.enabled_ns * (1 - 1e-3)


@dataclass(frozen=True, slots=True)
class Row:
    """What was counted for one thread, kind of threads, CPU, phase, region, lock or iteration.

    `cpu_ns`: for how long it ran, `counted_ns`: for how much of that its counts are known. Counts are by event, metrics by
    name. An event that is in several groups has the count of the group that counted longest. `unassigned_ns`: for how long a lock
    was held by virtual threads, or by ones that are not known; what those ran and counted is in no figure of the row.
    """

    key: Mapping[str, str | int]
    cpu_ns: int
    counted_ns: int
    counts: Mapping[str, Figure]
    metrics: Mapping[str, Figure]
    unassigned_ns: int = 0


@dataclass(frozen=True, slots=True)
class Imbalance:
    """How unevenly `threads` counted an event: standard deviation by mean. `left_out`: threads that ran, and have no counts."""

    figure: Figure
    threads: int
    left_out: int


@dataclass(frozen=True, slots=True)
class WholeCpus:
    """What was counted on each CPU, whatever ran there, from begin to end of a recording (ns from its start).

    A row's `cpu_ns` is that time, and `counted_ns` the part of it in which the CPU's counters were enabled.
    """

    step: str
    window_ns: tuple[int, int]
    groups: tuple[CountedGroup, ...]
    total: Row
    rows: tuple[Row, ...]
    absent: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """What a counting unit of whole sockets counted, such as a memory controller, whatever ran there.

    `counted`: a row for each CPU that it is read on, whose key has that CPU and its socket (-1: not known); None where nothing
    could be counted. `scales`: of an event how much one count is, and of what; `absent` and `counted.absent` are the same.
    """

    name: str
    counted: WholeCpus | None
    scales: Mapping[str, tuple[float, str]]
    absent: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and spread of a figure over iterations, of `known` of which it is known.

    `deviation`: standard deviation of a sample, None of one. `least`, `most`: the smallest and the largest of them.
    """

    mean: Figure
    deviation: float | None
    least: float | None
    most: float | None
    known: int


@dataclass(frozen=True, slots=True)
class OverIterations:
    """How much counts and metrics differ between the iterations of a program: by event, and by name of the metric."""

    iterations: int
    counts: Mapping[str, Spread]
    metrics: Mapping[str, Spread]


@dataclass(frozen=True, slots=True)
class Alignment:
    """How alike the runs are whose counts were joined: what limits all that is compared between them.

    `cpu_ns`: running time of each run. `rows` are in all of them; `unmatched` in some only, with `unmatched_share` of the running
    time. `difference`: by how much the running time of a row differs between runs ((most - least) / mean), weighted by it; None:
    no row is in all. `shared`: of events that several runs counted, the least and the most in one run.
    """

    cpu_ns: tuple[int, ...]
    rows: int
    unmatched: int
    unmatched_share: float
    difference: float | None
    shared: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class ByRuns:
    """Counts that were joined of several runs: how alike these are, and what one more run counted of all groups at once.

    `in_turn`: of the run of all groups the total of each event, as it is said of groups that take turns; empty without that run.
    `differences`: how much more it counted than the joined runs, as a fraction; None: not known. `took_turns`: whether any group
    of it did. `left_out`: runs (path, reason) whose counts could not be joined.
    """

    alignment: Alignment
    in_turn: Mapping[str, Figure]
    differences: Mapping[str, float | None]
    took_turns: bool
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """All that was counted in a window. `imbalance`: of each event over the threads of the program (kind app).

    `over`: mean and spread, of counts by iteration; `marks`: what told these apart. `whole`: what was counted on CPUs as a whole;
    `sockets`: by units of whole sockets, from begin to end of the recording. `by_runs`: of groups that had a run each.
    """

    step: str
    by: str
    window_ns: tuple[int, int]
    groups: tuple[CountedGroup, ...]
    total: Row
    rows: tuple[Row, ...]
    imbalance: Mapping[str, Imbalance]
    absent: tuple[tuple[str, str], ...]
    notices: tuple[Notice, ...]
    over: OverIterations | None = None
    marks: str = ""
    whole: WholeCpus | None = None
    sockets: tuple[UnitCounts, ...] = ()
    by_runs: ByRuns | None = None
