"""One look at which memory nodes the pages of a program's heap are on, as recorder, live view and analysis have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEAP_LOOKS_FILE = "heap-nodes.jsonl"
"""In the spool of a recording: a look a line, as JSON."""


@dataclass(frozen=True, slots=True)
class HeapLook:
    """On which nodes the pages of one process's heap were at one time.

    `ns`: CLOCK_MONOTONIC. `is_heap`: a JVM's heap; else all of the process's memory that is no file's, as its heap is not known.
    `memory_pages`: pages of it, there or not, of `page_bytes` each. `asked_pages`: those of which the kernel was asked, at random
    where they are not all. `pages`: how many of these were on each node; the others are not there, or not known. `cpu_ns`: CPU
    time that the look took.
    """

    ns: int
    pid: int
    is_heap: bool
    memory_pages: int
    page_bytes: int
    asked_pages: int
    pages: Mapping[int, int]
    cpu_ns: int = 0

    @property
    def unknown_pages(self) -> int:
        """Return how many of the pages that the kernel was asked of are on no node."""
        return self.asked_pages - sum(self.pages.values())

    @property
    def is_exact(self) -> bool:
        """Return whether the kernel was asked of every page."""
        return self.asked_pages >= self.memory_pages
