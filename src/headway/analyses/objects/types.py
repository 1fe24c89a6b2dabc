"""What the analysis of objects answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from headway.errors import Notice

Grouping: TypeAlias = Literal["class", "thread", "site", "thread-class"]
"""What rows are told apart by."""
Measure: TypeAlias = Literal["bytes", "objects", "array-length"]
"""What rows are sorted by."""


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
class ObjectsAnswer:
    """All allocations of a recording, and those of each group, the largest first.

    `interval_bytes`: the mean distance of samples, 0: every object was counted, None: JVMs differ. `unknown`: shares of the
    objects (0..1) whose class, thread or site is not known.
    """

    by: Grouping
    total: Allocated
    groups: tuple[AllocationGroup, ...]
    interval_bytes: int | None
    has_sites: bool
    unknown: Mapping[str, float | None]
    notices: tuple[Notice, ...]
