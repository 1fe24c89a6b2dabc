"""Result types of `profile`: weight by thread and by node of the merged call tree, in columns.

Weights are int64 and exact: every sum over a tree is the sum over the table it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from headway.errors import Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

KINDS = ("java", "interpreted", "inlined", "c1", "native", "jvm", "kernel", "thread", "note")
"""What a node of the tree is. The first seven are those of the table `frame`; `thread`: a root that stands for a thread;
`note`: no frame, but what is said instead of one, such as that a stack was not taken."""

NANOSECONDS, BYTES, COUNT = "ns", "bytes", "count"
"""Units of weights."""


class Frame(NamedTuple):
    """A method, or a line of it, as tree nodes name it. `line` is None where lines were not asked for."""

    class_name: str
    method: str
    line: int | None = None

    @property
    def text(self) -> str:
        """Format the frame for people: org.example.Store.put, libc.so.6.read, memcpy; with `:42` where it has a line."""
        name = f"{self.class_name}.{self.method}" if self.class_name else self.method
        return name if self.line is None else f"{name}:{self.line}"


@dataclass(frozen=True, eq=False)
class CallTree:
    """The merged call tree, depth first: a node comes before its children, a heavier child before a lighter one.

    Columns of equal length. `parent` is a node's number (its row), -1 for roots; `frame` a row of the profile's `frames`;
    `self_weight` what was measured in the node itself, `total_weight` that with everything below it; `kind` an index into
    KINDS: of the frames that were merged into the node, the kind with most weight; `size` the number of nodes below it and
    itself, so that the rows from n to n + size[n] are the subtree of n; `depth` 0 for roots.
    """

    parent: Ints
    frame: Ints
    self_weight: Ints
    total_weight: Ints
    kind: Ints
    size: Ints
    depth: Ints

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.parent)


@dataclass(frozen=True, slots=True)
class ThreadWeight:
    """One thread's weight. thread_id and tid are None for virtual (or unknown) threads together, and for time of no thread."""

    thread_id: int | None
    tid: int | None
    name: str
    kind: str
    weight: int
    samples: int


@dataclass(frozen=True, eq=False)
class Profile:
    """A profile of one event: the merged call tree over all selected threads, and their weights.

    `event`: cpu, wall, alloc, lock, off-cpu, cycles, instructions, cache-misses or another sampled event; `unit`: ns, bytes
    or count. `total` is the weight of everything selected, in `samples` samples (for lock and off-cpu: intervals), and the
    sum of the roots. `threads` are those with weight, the heaviest first. `window_ns` counts from the recording's start.
    `unwalked` is the part of `total` that has no stack (it is in the tree, under a node of kind `note`), `unsampled` that of
    threads whose CPU time is known while no sample is of it (so is this).
    """

    event: str
    unit: str
    total: int
    samples: int
    unwalked: int
    mode: str
    window_ns: tuple[int, int]
    frames: tuple[Frame, ...]
    tree: CallTree
    threads: tuple[ThreadWeight, ...]
    notices: tuple[Notice, ...]
    unsampled: int = 0


@dataclass(frozen=True, slots=True)
class FlatRow:
    """One method's own weight, and its weight with everything it called (recursion counts once)."""

    frame: Frame
    kind: str
    self_weight: int
    total_weight: int


@dataclass(frozen=True, eq=False)
class ProfileDiff:
    """Two profiles of one event in one tree; node order and `parent`, `frame`, `kind`, `size`, `depth` as in CallTree.

    `before_*` and `after_*` are the weights of both; a node that one of them lacks has 0 there. The tree is ordered by the
    heavier of both. `total_before` and `total_after` are the totals, so that shares can be compared as well as weights.
    """

    event: str
    unit: str
    total_before: int
    total_after: int
    frames: tuple[Frame, ...]
    parent: Ints
    frame: Ints
    kind: Ints
    size: Ints
    depth: Ints
    before_self: Ints
    before_total: Ints
    after_self: Ints
    after_total: Ints
    notices: tuple[Notice, ...]
