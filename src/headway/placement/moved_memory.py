"""Moves the memory of a program to one node, page by page by move_pages(2), and back to the nodes where the pages were.

Left alone  mappings with a policy of their own (numactl, mbind, -XX:+UseNUMA), files, and pages that several processes have.
Cost        A page can't be used while it is copied. So a call takes a short time, in batches whose size is learnt from what
            pages have taken so far, and goes on where the last one ended.
Rights      Those of the program's user: whoever calls it has given root's rights up (mover.py).
"""

from __future__ import annotations

import errno
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from headway.placement.nodes import balances_itself, machine_nodes
from headway.placement.pages import mappings_elsewhere
from headway.record.target_process.move_pages import PAGE, MappedMemory, move_pages, nodes_of
from headway.record.target_process.processes import Process

CALL_S = 0.05
"""A call moves pages for so much CPU time, which the kernel takes for copying: other programs of a busy machine don't count."""
UNDO_S = 10.0
"""At the end: so much for putting pages back, and what is left then is said."""
_BATCHES_A_CALL = 8
_FEWEST, _FIRST, _MOST = 16, 64, 1024
"""Pages in a batch."""
_LEARN = 0.25
_MOST_RUNS = 200_000
"""Moved pages are noted by so many runs of neighbours, some 30 MB: scattered ones beyond stay where they are."""
_LEAST_FREE = 0.1
"""Of a node's memory: so much stays free there."""
_HUGE = 2 << 20
"""Bytes of a huge page."""
_PAGES_OF_THE_PROGRAM_ALONE = 2
"""MPOL_MF_MOVE: pages that other processes have as well are not moved."""


@dataclass(frozen=True, slots=True)
class MemoryMoved:
    """What one call came to. `away_bytes`: memory that is not where it was; `is_done`: nothing is left to go through."""

    moved_bytes: int
    refused_bytes: int
    away_bytes: int
    is_done: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _MovedRun:
    """Neighbouring pages that were moved from one node."""

    process: Process
    start: int
    pages: int
    node: int


@dataclass(slots=True)
class MovedMemory:
    """The memory of a program that headway moves. `processes`: gives those that the program consists of."""

    home: int
    processes: Callable[[], Iterable[Process]]
    runs: list[_MovedRun] = field(default_factory=list)
    page_s: float = 0.0
    """What a page has taken to move, lately."""
    noted_pages: int = 0
    """Pages in `runs`."""
    stuck_pages: int = 0
    """Pages that the kernel refused to put back."""
    _rest: list[tuple[Process, MappedMemory]] | None = None
    _reason: str = ""

    def to_home(self, most_s: float = CALL_S) -> MemoryMoved:
        """Move pages to the node for a while, from where the last call ended."""
        moved = refused = 0
        if self._rest is None:
            self._rest = [(each, one) for each in self.processes() for one in mappings_elsewhere(each.pid, self.home)]
        end_s = time.thread_time() + most_s
        while self._rest and not self._reason and time.thread_time() < end_s:
            if not self._has_room():
                self._reason = f"node {self.home} has too little free memory"
                break
            if len(self.runs) >= _MOST_RUNS:
                self._reason = f"its memory is scattered over more than {_MOST_RUNS} places"
                break
            process, mapping = self._rest.pop()
            pages = min(self._batch(most_s), (mapping.end - mapping.start) // PAGE)
            last = mapping.start + pages * PAGE
            if last < mapping.end:
                self._rest.append((process, MappedMemory(last, mapping.end)))
            ours, others = self._move_batch(process, array("Q", range(mapping.start, last, PAGE)))
            moved, refused = moved + ours, refused + others
        is_done = not self._rest or bool(self._reason)
        found = MemoryMoved(PAGE * moved, PAGE * refused, self.away_bytes, is_done, self._reason)
        if is_done:
            self._rest, self._reason = None, ""
        return found

    def back(self, most_s: float = CALL_S) -> MemoryMoved:
        """Move pages back to the nodes where they were, for a while. Pages that the program gave back are forgotten."""
        moved = refused = 0
        end_s = time.thread_time() + most_s
        self._rest = None
        while self.runs and time.thread_time() < end_s:
            run = self.runs.pop()
            pages = min(self._batch(most_s), run.pages)
            self.noted_pages -= pages
            if pages < run.pages:
                self.runs.append(_MovedRun(run.process, run.start, run.pages - pages, run.node))
            first = run.start + (run.pages - pages) * PAGE
            ours, others = self._put_back(run.process, array("Q", range(first, first + pages * PAGE, PAGE)), run.node)
            moved, refused = moved + ours, refused + others
        self.stuck_pages += refused
        return MemoryMoved(PAGE * moved, PAGE * refused, self.away_bytes, not self.runs)

    def note(self, process: Process, pages: Sequence[tuple[int, int]]) -> None:
        """Note pages that were moved, by address and the node that they were on."""
        self.runs += _runs(process, pages)
        self.noted_pages += len(pages)

    @property
    def away_bytes(self) -> int:
        """Return how much memory was moved and not put back."""
        return PAGE * (self.noted_pages + self.stuck_pages)

    def _batch(self, most_s: float) -> int:
        """Return how many pages to move at once, by what they took before."""
        if not self.page_s:
            return _FIRST
        return max(_FEWEST, min(_MOST, int(min(most_s, CALL_S) / _BATCHES_A_CALL / self.page_s)))

    def _has_room(self) -> bool:
        node = next((each for each in machine_nodes() if each.number == self.home), None)
        if node is None or node.free_bytes is None or node.memory_bytes is None:
            return False
        return node.free_bytes > _LEAST_FREE * node.memory_bytes

    def _move_batch(self, process: Process, addresses: array[int]) -> tuple[int, int]:
        """Move those of some pages that are on other nodes. Return how many were moved, and how many the kernel refused."""
        following = addresses[-1] + PAGE
        try:
            *before, of_following = nodes_of(process, array("Q", [*addresses, following]))
            there = [(at, node) for at, node in zip(addresses, before, strict=True) if node >= 0 and node != self.home]
            if not there:
                return 0, 0
            after = self._moved(process, array("Q", (at for at, _ in there)), self.home)
            is_more = there[-1] == (addresses[-1], of_following)
            more = self._moved_with_it(process, following) if is_more else []
        except OSError as error:
            if error.errno != errno.ESRCH:  # it has ended
                self._reason = error.strerror or str(error)
            return 0, 0
        ours = [pair for pair, now in zip(there, after, strict=True) if now == self.home]
        ours += [(at, of_following) for at in more]
        self.note(process, ours)
        return len(ours), sum(now >= 0 and now != self.home for now in after)

    def _moved_with_it(self, process: Process, following: int) -> list[int]:
        """Return the pages from an address on that were moved with the one before: a huge page is moved as a whole."""
        rest = array("Q", range(following, -(-following // _HUGE) * _HUGE, PAGE))
        if not rest:
            return []
        now = nodes_of(process, rest)
        return [*rest] if now[0] == self.home else []

    def _put_back(self, process: Process, addresses: array[int], node: int) -> tuple[int, int]:
        """Move those of some pages that are still on the node of headway's choice.

        Pages that the kernel has marked to balance them can't be seen, nor be moved, before the program uses them again: while it
        balances nodes, those that can't be seen may be there.
        """
        try:
            now = nodes_of(process, addresses)
            there = array("Q", (at for at, on in zip(addresses, now, strict=True) if on == self.home))
            after = self._moved(process, there, node) if there else ()
            hidden = sum(on < 0 for on in now) if balances_itself() else 0
        except OSError as error:
            return 0, 0 if error.errno == errno.ESRCH else len(addresses)  # what has ended has no memory
        back = sum(on == node for on in now)  # with another part of a huge page
        return back + sum(on == node for on in after), sum(on >= 0 and on != node for on in after) + hidden

    def _moved(self, process: Process, addresses: array[int], node: int) -> array[int]:
        """Move pages, learn what they take, and return the nodes that they are on then."""
        began_s = time.thread_time()
        move_pages(process, addresses, array("i", [node]) * len(addresses), _PAGES_OF_THE_PROGRAM_ALONE)
        each_s = (time.thread_time() - began_s) / len(addresses)
        self.page_s = each_s if not self.page_s else (1 - _LEARN) * self.page_s + _LEARN * each_s
        return nodes_of(process, addresses)


def _runs(process: Process, pages: Iterable[tuple[int, int]]) -> Iterator[_MovedRun]:
    """Yield neighbouring pages of one node together."""
    start, count, of = 0, 0, -1
    for at, node in pages:
        if count and (at != start + count * PAGE or node != of):
            yield _MovedRun(process, start, count, of)
            count = 0
        if not count:
            start, of = at, node
        count += 1
    if count:
        yield _MovedRun(process, start, count, of)
