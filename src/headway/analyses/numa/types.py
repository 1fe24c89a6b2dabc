"""What the classification of programs by memory nodes answers with: classes, their evidence, and what is not determined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.errors import Notice

PARALLELISM, DEPENDENCIES, LOCALITY = "parallelism", "data_dependencies", "locality_bound"
"""The three questions, by the names of the columns of the published table of classes (6.6)."""
QUESTIONS = (PARALLELISM, DEPENDENCIES, LOCALITY)

SINGLE, TLP_BOUND, EMBARRASSING = "single-threaded", "tlp-bound", "embarrassingly-imbalanced"
IMBALANCED, PARALLEL = "imbalanced", "explicitly-parallel"
DATA_PARALLEL, READ_ONLY, READ_WRITE = "data-parallel", "read-only", "read-write"
YES, NO = "yes", "no"

SERIAL, SEVERAL, OUTLIER = "serial-phase", "several-workloads", "outlier-thread"
ONE_WORKER, FEW_WORKERS, NON_UNIFORM = "one-worker-dominates", "too-few-workers", "non-uniform-work"
SHARED_WRITES, WRITE_CONFLICTS, IRREGULAR = "shared-writes", "write-conflicts", "irregular-accesses"
"""Root causes: of these, tables can't show which work differs (NON_UNIFORM), recordings can."""


@dataclass(frozen=True, slots=True)
class ClassEvidence:
    """A figure beside the border that a class goes by. `other`: the class on the other side, where the figure is near it."""

    question: str
    text: str
    metric: str | None = None
    value: float | None = None
    border: float | None = None
    other: str | None = None


@dataclass(slots=True)
class ClassFinding:
    """The class that answers one question, and what it goes by; None where it is not determined."""

    question: str
    answer: str | None = None
    evidence: list[ClassEvidence] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    undetermined: list[str] = field(default_factory=list)

    def add(
        self, text: str, metric: str | None = None, value: float | None = None, border: float | None = None
    ) -> None:
        """Note a figure that is not near its border."""
        self.evidence.append(ClassEvidence(self.question, text, metric, value, border))

    def near(self, other: str | None, text: str, metric: str, value: float, border: float) -> None:
        """Note a figure, and the class on the other side of its border if it is near it."""
        self.evidence.append(ClassEvidence(self.question, text, metric, value, border, other))


@dataclass(frozen=True, slots=True)
class PhaseClass:
    """A part of a recorded program in which a crew of workers is at work, and its class. Times: ns from the recording's start.

    `imbalance_pct`: of one worker there is none.
    """

    from_ns: int
    to_ns: int
    workers: int
    imbalance_pct: float | None
    parallelism: str | None


@dataclass(frozen=True, slots=True)
class Placed:
    """A figure of memory beside those of the published programs. `derived`: made of other columns, not in a table."""

    value: float
    derived: bool
    geometric_mean: float | None
    least: float
    most: float
    below: int
    programs: int


@dataclass(frozen=True, slots=True)
class SecondNode:
    """How fast published programs of the same classes were on two nodes, relative to one.

    `by_all_classes`: all three; else those that are determined.
    """

    programs: tuple[str, ...]
    slowest: float
    fastest: float
    by_all_classes: bool = True


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the classes, of a recorded program. `places`: where causes are, by cause; `lock`: which one.

    `balances`: whether the kernel moves pages between nodes itself; `gc`, `has_numa`: the JVM's collector, and -XX:+UseNUMA.
    """

    places: Mapping[str, str] = field(default_factory=dict)
    lock: str = ""
    balances: bool | None = None
    gc: str = ""
    has_numa: bool = False


NOTHING_KNOWN = Known()


@dataclass(frozen=True, slots=True)
class ProgramClass:
    """One program: the three answers, and what to do about them. `phases`: of a recorded one whose workers are several crews."""

    application: str
    suite: str | None
    findings: dict[str, ClassFinding]
    guideline: str | None
    advice: tuple[str, ...]
    second_node: SecondNode | None
    memory: dict[str, Placed]
    memory_intensive: bool | None
    phases: tuple[PhaseClass, ...] = ()
    known: Known = NOTHING_KNOWN

    def answer(self, question: str) -> str | None:
        """Return the class that answers a question; None where it is not determined, or there is nothing to ask."""
        return self.findings[question].answer

    @property
    def evidence(self) -> list[ClassEvidence]:
        """Return the evidence of all three answers."""
        return [each for question in QUESTIONS for each in self.findings[question].evidence]

    @property
    def root_causes(self) -> list[str]:
        """Return the causes that the tables show, each once."""
        return list(dict.fromkeys(each for question in QUESTIONS for each in self.findings[question].causes))

    @property
    def undetermined(self) -> list[str]:
        """Return what the tables leave open, each once."""
        return list(dict.fromkeys(each for question in QUESTIONS for each in self.findings[question].undetermined))

    def alternatives(self, question: str) -> list[str]:
        """Return the classes whose border a figure is near to."""
        found = (each.other for each in self.findings[question].evidence if each.other is not None)
        return [each for each in dict.fromkeys(found) if each != self.answer(question)]


@dataclass(frozen=True, slots=True)
class ClassDifference:
    """A class that a table gives, where headway comes to another."""

    application: str
    question: str
    found: str | None
    table: str | None


@dataclass(frozen=True, slots=True)
class ClassComparison:
    """Classes beside those of a table that has them: of how many programs all three are the same."""

    programs: int
    same: int
    differences: tuple[ClassDifference, ...]


@dataclass(frozen=True, slots=True)
class NodeRun:
    """A recorded run of a program, and the nodes that its threads ran on. `is_known`: the node of each CPU is known.

    `cores`: how many it could use. `miss_pct`: of the last-level cache, "read" and "write", and "remote": of loads that
    memory served, those of another node; where they were counted.
    """

    path: str
    nodes: tuple[int, ...]
    is_known: bool
    cores: int
    wall_ns: int
    cpu_ns: int
    miss_pct: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LocalityTest:
    """A program on one node beside itself on two: how fast it is there, and how many times as much CPU time it takes."""

    one: NodeRun
    two: NodeRun
    speedup: float
    cpu_growth: float

    @property
    def has_as_many_cores(self) -> bool:
        """Return whether both are known to have had the same number of cores: only then nothing but memory differs."""
        return 0 < self.one.cores == self.two.cores


@dataclass(frozen=True, slots=True)
class NumaAnswer:
    """All programs of the tables, in their order, or the one that was recorded. `locality_test`: of two recordings of it.

    `cores_per_node`: None where it is not known.
    """

    cores_per_node: int | None
    programs: tuple[ProgramClass, ...]
    comparison: ClassComparison | None
    notices: tuple[Notice, ...]
    locality_test: LocalityTest | None = None


NEAR = 1.25
"""Factor of a border: figures within it are near it, as another run, or another way to round, might cross it."""


def near_border(value: float, border: float) -> bool:
    """Return whether a figure is near its border."""
    return border / NEAR <= value <= border * NEAR


def joined(texts: Sequence[Any]) -> str:
    """Return a list as people write it."""
    words = [str(each) for each in texts]
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"
