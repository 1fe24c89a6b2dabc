"""What the analysis of objects answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from headway.analyses.objects.line_types import LineAnswer
    from headway.analyses.objects.window_types import WindowAnswer
    from headway.errors import Notice
    from headway.model.object_owners import OwnerRule

Grouping: TypeAlias = Literal["class", "thread", "site", "thread-class", "pair", "field", "node"]
"""What rows are told apart by; pair: thread and owner of the object, for allocations thread; field: cache lines have rows;
node: the memory nodes from which and to which accesses go."""
Measure: TypeAlias = Literal["bytes", "objects", "array-length"]
"""What rows are sorted by."""
UNNAMED = "CASE WHEN a.thread_id IS NULL THEN a.java_id END"
"""SQL for a Java thread id where table `thread` has no row of it, else NULL: a thread with a row may have two such ids (main)."""
FOREIGN = -3
"""As `owner_java_id`: the objects' identity hashes are not the agent's, as the program had asked for them first."""
UNNAMED_OWNER = f"""CASE WHEN a.owner_thread_id IS NULL
  THEN CASE WHEN a.owner_java_id = {FOREIGN} THEN 0 ELSE a.owner_java_id END END"""
"""The same of the owner of an object; 0: unknown."""
MOST_GROUPS = 1 << 16
"""Groups of an answer: as many as an agent tells apart in one JVM."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure and its 95 % interval, which is the figure itself where every object was counted."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Allocated:
    """How much was really allocated: objects (arrays included), bytes of the heap, arrays, and the sum of their lengths."""

    objects: Quantity
    bytes: Quantity
    arrays: Quantity
    array_length: Quantity


@dataclass(frozen=True, slots=True)
class AllocationGroup:
    """The allocations of one class, thread, site, or class of a thread; None: not told apart by it.

    `class_name`, `site` "": unknown, or of many together. `java_id` 0: unknown, -1: of many together; `thread` is None then.
    """

    pid: int
    thread: str | None
    java_id: int | None
    thread_id: int | None
    class_name: str | None
    site: str | None
    allocated: Allocated


@dataclass(frozen=True, slots=True)
class Accessed:
    """How often code read and wrote fields of objects (tuples), elements of arrays and static fields."""

    tuple_reads: int
    tuple_writes: int
    array_reads: int
    array_writes: int
    static_reads: int
    static_writes: int

    @property
    def of_objects(self) -> int:
        """Return the number of accesses but those of static fields, which are no object's."""
        return self.tuple_reads + self.tuple_writes + self.array_reads + self.array_writes


@dataclass(frozen=True, slots=True)
class Counts:
    """Accesses to objects of one sort: of each kind."""

    tuple_reads: int = 0
    tuple_writes: int = 0
    array_reads: int = 0
    array_writes: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Return the accesses of both, kind by kind."""
        return Counts(
            self.tuple_reads + other.tuple_reads,
            self.tuple_writes + other.tuple_writes,
            self.array_reads + other.array_reads,
            self.array_writes + other.array_writes,
        )

    @property
    def reads(self) -> int:
        """Return reads of fields and elements."""
        return self.tuple_reads + self.array_reads

    @property
    def writes(self) -> int:
        """Return writes of fields and elements."""
        return self.tuple_writes + self.array_writes

    @property
    def together(self) -> int:
        """Return accesses of all kinds."""
        return self.reads + self.writes


@dataclass(frozen=True, slots=True)
class NodeSamples:
    """Samples of accesses by kind: to the memory node of the CPU, to another one, to one that is not known.

    `accesses`: how many they stand for, by kind; of others nothing is known.
    """

    local: Counts
    remote: Counts
    unknown: Counts
    accesses: Counts

    @property
    def known(self) -> int:
        """Return the samples whose node is known."""
        return self.local.together + self.remote.together

    @property
    def together(self) -> int:
        """Return all samples."""
        return self.known + self.unknown.together


@dataclass(frozen=True, slots=True)
class BetweenNodes:
    """Samples of accesses from the CPUs of one memory node to the pages of one; None: unknown."""

    cpu_node: int | None
    page_node: int | None
    samples: Counts


@dataclass(frozen=True, slots=True)
class Owned:
    """Accesses by the object's owner by one rule: the accessing thread itself, another one, or unknown."""

    local: Counts
    shared: Counts
    unknown: Counts


@dataclass(frozen=True, slots=True)
class AccessPair:
    """How often one thread reads and writes objects of one owner.

    `java_id` as in AccessGroup; `owner_java_id` 0: unknown, -2: virtual threads. `accessor`, `owner` None: no single thread.
    """

    pid: int
    accessor: str | None
    java_id: int | None
    thread_id: int | None
    owner: str | None
    owner_java_id: int | None
    owner_thread_id: int | None
    counts: Counts
    nodes: NodeSamples | None = None


@dataclass(frozen=True, slots=True)
class AccessGroup:
    """One row of counted reads and writes: those by the code of one class, by one thread, or by both.

    None: not told apart by that. `class_name` "": unknown.
    `java_id` -1: many threads together, -2: all virtual threads; `thread` is None then.
    """

    pid: int
    thread: str | None
    java_id: int | None
    thread_id: int | None
    class_name: str | None
    accessed: Accessed
    owned: Owned | None = None
    nodes: NodeSamples | None = None


@dataclass(frozen=True, slots=True)
class AccessAnswer:
    """All accesses of a recording, and those of each group, the most first; no groups where `by` is site.

    `coverage`: what each JVM counted and left out, the keys of the manifest's `accesses`. `together`: accesses by many threads
    in one row; `left_out`: groups, those with the fewest accesses. `owned` None: owners were not recorded; else they are by
    `rule`, one of the recorded `rules`. `is_all_local`: the machine has one memory node; else nodes are known of samples
    (`nodes`, `between`), where they were recorded; `more_between`: pairs of nodes that are left out of `between`.
    """

    total: Accessed
    groups: tuple[AccessGroup, ...]
    coverage: tuple[Mapping[str, Any], ...]
    together: int = 0
    left_out: int = 0
    owned: Owned | None = None
    pairs: tuple[AccessPair, ...] = ()
    rule: OwnerRule | None = None
    rules: tuple[OwnerRule, ...] = ()
    is_all_local: bool = False
    nodes: NodeSamples | None = None
    between: tuple[BetweenNodes, ...] = ()
    more_between: int = 0


@dataclass(frozen=True, slots=True)
class ObjectsAnswer:
    """All allocations of a recording, and those of each group, the largest first.

    `total`, `accesses`, `lines` None: not recorded. `interval_bytes`: the mean distance of samples, 0: every object was counted,
    None: JVMs differ. `unknown`: shares of the objects (0..1) whose class, thread or site is not known.
    """

    by: Grouping
    total: Allocated | None
    groups: tuple[AllocationGroup, ...]
    interval_bytes: int | None
    has_sites: bool
    unknown: Mapping[str, float | None]
    notices: tuple[Notice, ...]
    accesses: AccessAnswer | None = None
    lines: LineAnswer | None = None
    windows: WindowAnswer | None = None
