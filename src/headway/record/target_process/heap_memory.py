"""Finds the addresses of a JVM's heap in its memory map, and asks the kernel on which memory nodes its pages are.

ZGC names its heap. Other collectors reserve one stretch of addresses, as large as the heap may get, and a JVM's performance data
say how large that is: a stretch of just that size, without a gap, is taken for the heap. It may hold files of class data (.jsa),
which JVMs map into it. Where none is found all memory that is no file's is looked at, and is not called heap.

Bounded    pages that are only reserved are not asked for, and of large heaps a sample is: a JVM may reserve a terabyte.
Cost       The kernel looks up 16 pages at a time, and lets the process map memory in between.
"""

from __future__ import annotations

import bisect
import errno
import os
import random
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headway.model.heap_look import HeapLook
from headway.record.target_process.move_pages import PAGE, MappedMemory, nodes_of
from headway.record.target_process.processes import Process

MOST_PAGES = 1 << 14
"""Pages that one look asks for: of a larger heap shares are known to about one point (95 %)."""
MOST_MAPPINGS = 200_000
"""Of a process that is looked at: three times as many as the kernel lets one have by default."""
_BATCH = 1 << 12
_SHARED = (b"/memfd:", b"/dev/zero (deleted)", b"/SYSV", b"/anon_hugepage (deleted)")
"""How the kernel names memory that is no file's and could be shared, as if it were files."""
_NAMED_HEAP = b"/memfd:java_heap"
_CLASS_DATA = b".jsa"
_COLLECTORS = "sun.gc.policy.collectors"
_MAX_CAPACITY = ("sun.gc.generation.0.maxCapacity", "sun.gc.generation.1.maxCapacity")


@dataclass(frozen=True, slots=True)
class _Mapping:
    """A line of /proc/PID/maps."""

    start: int
    end: int
    is_writable: bool
    is_private: bool
    offset: int
    inode: int
    name: bytes

    @property
    def is_memory(self) -> bool:
        """Return whether it is memory that is no file's; the kernel gives some of its own names in brackets."""
        return not self.name or self.name.startswith((b"[anon", b"[heap]", *_SHARED))


@dataclass(frozen=True, slots=True)
class HeapPart(MappedMemory):
    """Addresses of a heap. `elsewhere`: where the same pages are mapped again: ZGC of JDK 17 uses three places in turn.

    A page that the program has not used at one of them is not there for the kernel.
    """

    elsewhere: tuple[int, ...] = ()

    @property
    def views(self) -> tuple[int, ...]:
        """Return all places where these pages are mapped."""
        return (self.start, *self.elsewhere)


@dataclass(frozen=True, slots=True)
class HeapMemory:
    """Addresses that the program may write to. `is_heap`: they are its heap, else all of its memory that is no file's."""

    parts: tuple[HeapPart, ...]
    is_heap: bool

    @property
    def pages(self) -> int:
        """Return the number of pages, there or not."""
        return sum((part.end - part.start) // PAGE for part in self.parts)


def heap_size(performance_data: Mapping[str, int]) -> int:
    """Return how large a JVM's heap may get by its performance data, 0 where they don't say.

    Serial and Parallel have a collector for each generation and two stretches, one behind the other; others have one for both.
    """
    generations = [max(0, performance_data.get(name, 0)) for name in _MAX_CAPACITY]
    size = sum(generations) if performance_data.get(_COLLECTORS) == len(generations) else max(generations)
    return size // PAGE * PAGE


def heap_memory(pid: int, size: int) -> HeapMemory:
    """Return the addresses of a process's heap, which may get so large; 0: not known. Raises OSError."""
    mappings = _mappings(pid)
    named = [each for each in mappings if each.name.startswith(_NAMED_HEAP)]
    heap = named or _of_size(mappings, size)
    parts = _once(each for each in heap if each.is_writable and each.is_memory)
    if parts:
        return HeapMemory(parts, is_heap=True)
    return HeapMemory(_once(each for each in mappings if each.is_writable and each.is_memory), is_heap=False)


def look_at_heap(process: Process, size: int) -> HeapLook:
    """Return on which nodes the pages of a process's heap are now, as `heap_memory` finds it. Raises OSError."""
    began_ns, ns = time.thread_time_ns(), time.monotonic_ns()
    memory = heap_memory(process.pid, size)
    addresses = pages_to_ask(memory.parts, MOST_PAGES, random.Random())
    asked, found = len(addresses), Counter[int]()
    for view in range(1 + max((len(part.elsewhere) for part in memory.parts), default=0)):
        addresses = array("Q", _in_view(addresses, memory.parts, view)) if view else addresses
        absent = array("Q")
        for first in range(0, len(addresses), _BATCH):
            batch = addresses[first : first + _BATCH]
            nodes = nodes_of(process, batch)
            found.update(node for node in nodes if node >= 0)
            absent.extend(at for at, node in zip(batch, nodes, strict=True) if node < 0)
        addresses = absent
    if not process.is_alive:  # its number may have been another's as pages were asked for
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    cpu_ns = time.thread_time_ns() - began_ns
    return HeapLook(ns, process.pid, memory.is_heap, memory.pages, PAGE, asked, dict(sorted(found.items())), cpu_ns)


def _in_view(addresses: Iterable[int], parts: Sequence[HeapPart], view: int) -> Iterator[int]:
    """Yield where the same pages are mapped a second (1), third (2) ... time, those that are. `addresses`: of the view before."""
    before = [part.views[view - 1] if view <= len(part.views) else -1 for part in parts]
    known = sorted((start, place) for place, start in enumerate(before) if start >= 0)
    starts = [start for start, _ in known]
    for at in addresses:
        start, place = known[bisect.bisect_right(starts, at) - 1]
        if view < len(parts[place].views):
            yield parts[place].views[view] + at - start


def pages_to_ask(parts: Sequence[MappedMemory], most: int, chance: random.Random) -> array[int]:
    """Return the addresses of all pages, or where there are more of so many: one at random out of each piece of equal length."""
    total = sum((part.end - part.start) // PAGE for part in parts)
    if total <= most:
        return array("Q", (at for part in parts for at in range(part.start, part.end, PAGE)))
    found, rest, before = array("Q"), iter(parts), 0
    part = next(rest)
    for piece in range(most):
        first, last = piece * total // most, (piece + 1) * total // most
        page = first + min(int(chance.random() * (last - first)), last - first - 1)
        while page - before >= (pages := (part.end - part.start) // PAGE):
            before += pages
            part = next(rest)
        found.append(part.start + (page - before) * PAGE)
    return found


def _mappings(pid: int) -> list[_Mapping]:
    """Return a process's memory map. Raises OSError, E2BIG for one that is too long."""
    found = []
    with open(f"/proc/{pid}/maps", "rb") as lines:
        for number, line in enumerate(lines):
            if number >= MOST_MAPPINGS:
                raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
            words = line.split(None, 5)
            first, last = (int(word, 16) for word in words[0].split(b"-"))
            allowed, name = words[1], words[5].rstrip() if len(words) > 5 else b""
            found.append(
                _Mapping(
                    first, last, allowed[1:2] == b"w", allowed[3:4] == b"p", int(words[2], 16), int(words[4]), name
                )
            )
    return found


def _of_size(mappings: Sequence[_Mapping], size: int) -> list[_Mapping]:
    """Return the lowest stretch of mappings without a gap that has this size; none where there is no such one.

    The lowest: JVMs put heaps where compressed pointers reach, below what malloc reserves.
    """
    run_of, end_of = {}, {}
    run, before = -1, -1
    for place, each in enumerate(mappings):
        is_possible = each.is_memory or each.name.endswith(_CLASS_DATA)
        run += before != each.start or not is_possible
        before = each.end if is_possible else -1
        run_of[place] = run
        if is_possible:
            end_of[each.end] = place
    for place, each in enumerate(mappings):
        last = end_of.get(each.start + size)
        if last is not None and last >= place and run_of[last] == run_of[place]:
            return [*mappings[place : last + 1]]
    return []


def _once(mappings: Iterable[_Mapping]) -> tuple[HeapPart, ...]:
    """Return the addresses of memory, each part of a file once: at its lowest place, with the others where it is whole."""
    private, shared = [], dict[tuple[int, int], list[_Mapping]]()
    for each in mappings:
        if each.is_private or not each.inode:
            private.append(HeapPart(each.start, each.end))
        else:
            shared.setdefault((each.inode, each.offset), []).append(each)
    found, known = private, dict[int, int]()
    for (inode, offset), views in sorted(shared.items()):
        first = max(views, key=lambda each: (each.end - each.start, -each.start))
        length = first.end - first.start
        skipped = max(0, known.get(inode, 0) - offset)
        known[inode] = max(known.get(inode, 0), offset + length)
        alike = [each.start for each in views if each.end - each.start == length and each is not first]
        if skipped == 0:
            found.append(HeapPart(first.start, first.end, tuple(alike)))
        elif skipped < length:
            found.append(HeapPart(first.start + skipped, first.end))
    return tuple(found)
