"""On which memory nodes is the heap of a program, over time?

Question   how much of the heap is on each node, how much is not there yet, and how does that change.
Method     the recorder asks the kernel now and then of which node pages are (table `heap_node`). Of a heap of more pages than one
           look asks for it takes one at random out of each piece of equal length: a share of them is the share of the heap, with
           the 95 % interval of Wilson for a share of as many drawn from all, which is no narrower than that of pieces.
Assumes    nodes are the kernel's: what a hypervisor makes of them it keeps to itself.
Bounded    the first MOST_ROWS looks.
Unknown    pages that are not there yet, that are swapped out, or that the kernel moves or balances at that moment.
Checked    tests/e2e/numa/test_numa_map.py against /proc/PID/numa_maps, tests/guests/test_numa_map.py on two nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.limits import MOST_ROWS, rows_left_out
from headway.analyses.common.uncertainty import interval_of_share
from headway.errors import HeadwayError, Notice
from headway.model.heap_look import HeapLook

if TYPE_CHECKING:
    from headway.store import Recording

_MOST_NODES = 16 * MOST_ROWS
"""Rows of the table for the looks that are shown: of machines with more nodes fewer looks have all of theirs."""


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """How much of a heap is on a node, and its interval. `node` None: not there or not known."""

    node: int | None
    bytes: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class HeapAtTime:
    """Where the heap of one process was at one time, ns from the recording's start. `nodes`: the unknown ones come last."""

    at_ns: int
    pid: int
    is_heap: bool
    memory_bytes: int
    is_exact: bool
    nodes: tuple[NodeMemory, ...]


@dataclass(frozen=True, slots=True)
class HeapMap:
    """Where heaps were, in order of time. `machine_nodes`: those of the machine, None: not known.

    `interval_ns`, `cpu_ns`: how often was asked, and what it took; None: not known.
    """

    looks: tuple[HeapAtTime, ...]
    machine_nodes: tuple[int, ...] | None
    interval_ns: int | None
    cpu_ns: int | None
    notices: tuple[Notice, ...] = ()

    @property
    def is_all_local(self) -> bool:
        """Return whether the machine has a single memory node, so that all of each heap is local."""
        return self.machine_nodes is not None and len(self.machine_nodes) == 1

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the nodes of the machine, and those on which there was memory."""
        seen = {each.node for look in self.looks for each in look.nodes if each.node is not None}
        return tuple(sorted(seen | {*(self.machine_nodes or ())}))


def heap_map(recording: Recording) -> HeapMap:
    """Return on which memory nodes the JVMs' heaps were, look by look. Raises HeadwayError HW733 if not recorded."""
    if not recording.has("heap_node"):
        raise HeadwayError("HW733", path=recording.path)
    start_ns = recording.window_ns[0]
    looks = tuple(_at_time(look, start_ns) for look in _looks(recording))
    facts = recording.manifest.extra.get("heap_nodes") or {}
    interval_ns, cpu_ns = (each if isinstance(each := facts.get(name), int) else None for name in _FACTS)
    (count,) = recording.query("SELECT count(*) FROM (SELECT DISTINCT ns, pid FROM heap_node)").fetchone() or (0,)
    notices = (*recording.notices, *unknown_heaps(looks), *rows_left_out("looks at heaps", count))
    return HeapMap(looks, recording.manifest.host.memory_nodes, interval_ns, cpu_ns, notices)


_FACTS = ("interval_ns", "cpu_ns")


def heap_now(look: HeapLook, start_ns: int, machine_nodes: tuple[int, ...] | None) -> HeapMap:
    """Return one look at a process that runs, at a time from `start_ns` on."""
    looks = (_at_time(look, start_ns),)
    return HeapMap(looks, machine_nodes, None, look.cpu_ns, tuple(unknown_heaps(looks)))


def unknown_heaps(looks: Iterable[HeapAtTime]) -> list[Notice]:
    """Return which processes have all of their memory shown, as their heap is not known."""
    pids = sorted({look.pid for look in looks if not look.is_heap})
    return [Notice.of("HW734", pid=pid) for pid in pids]


def _looks(recording: Recording) -> list[HeapLook]:
    """Return the looks of the table, in order of time."""
    text = f"""SELECT ns, pid, is_heap, memory_pages, page_bytes, asked_pages, node, pages FROM heap_node
      JOIN (SELECT DISTINCT ns, pid FROM heap_node ORDER BY ns, pid LIMIT {MOST_ROWS}) USING (ns, pid)
      ORDER BY ns, pid, node NULLS LAST LIMIT {_MOST_NODES}"""
    found: dict[tuple[int, ...], dict[int, int]] = {}
    for *facts, node, pages in recording.query(text).fetchall():
        of_look = found.setdefault(tuple(facts), {})
        if node is not None:
            of_look[node] = pages
    return [
        HeapLook(ns, pid, bool(is_heap), memory, size, asked, pages)
        for (ns, pid, is_heap, memory, size, asked), pages in found.items()
    ]


def _at_time(look: HeapLook, start_ns: int) -> HeapAtTime:
    counts = [*sorted(look.pages.items()), (None, max(0, look.unknown_pages))]
    nodes = tuple(_memory(look, node, count) for node, count in counts)
    size = look.memory_pages * look.page_bytes
    return HeapAtTime(look.ns - start_ns, look.pid, look.is_heap, size, look.is_exact, nodes)


def _memory(look: HeapLook, node: int | None, count: int) -> NodeMemory:
    size = look.memory_pages * look.page_bytes
    # A stranger's table may say that more are there than were asked for.
    count = min(count, look.asked_pages, look.memory_pages)
    if look.is_exact:
        exact = count * look.page_bytes
        return NodeMemory(node, exact, exact, exact)
    share = count / look.asked_pages if look.asked_pages else 0.0
    low, high = interval_of_share(count, look.asked_pages)
    return NodeMemory(node, round(share * size), math.floor(low * size), math.ceil(high * size))
