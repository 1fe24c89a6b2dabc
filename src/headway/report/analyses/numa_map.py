"""`headway numa-map` as an analysis of the seam: on which memory nodes the pages of a heap are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from headway.errors.plurals import counted
from headway.report.analysis import BaseAnalysis, Section, Shown, Table, Window
from headway.report.commands import summary_of
from headway.report.terminal.printing.tables import MOST_PRINTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.numa.heap_map import HeapAtTime, HeapMap, NodeMemory
    from headway.store import Recording

TOP = 20
_MOST_NODES = 8
"""Columns of a table, and words of a line, of the nodes with most memory: so many fit a terminal. JSON has all."""
_MOST_PROCESSES = 4
"""With a sentence of their own."""
_NOT_THERE = "not there or unknown"
SAMPLED = "In brackets are 95 % intervals: of so large a heap the kernel is asked for a sample of the pages."
_MIB = 1 << 20


class NumaMapAnalysis(BaseAnalysis):
    """Tells on which nodes heaps were, over time."""

    name = "numa-map"
    summary = summary_of(name)
    help = """Tell on which memory nodes the pages of a JVM's heap are, over time.

    Of a recording made with --numa-map, or of a process that runs (--pid): the kernel is asked for the node of each page, of a
    large heap for those of a sample; figures have 95 % intervals then. Pages that are not there yet are on no node.
    """
    examples = (
        "headway record --numa-map 1s -o app.headway -- java -jar app.jar",
        "headway numa-map app.headway",
        "headway numa-map app.headway --all --json",
        "headway numa-map --pid 1234 --interval 5s --duration 1m",
    )
    has_window = False
    section_needs = ("heap_node",)

    def parameters(self) -> tuple[click.Parameter, ...]:
        """Return --all."""
        return (click.Option(["--all", "show_all"], is_flag=True, help=f"Show every look, not {TOP} of them."),)

    def run(self, recording: Recording, window: Window, *, show_all: bool = False) -> Shown[HeapMap]:
        """Return where heaps were. Raises HeadwayError HW733 where that is not recorded."""
        from headway.analyses.numa.heap_map import heap_map

        return Shown(heap_map(recording), show_all)

    def to_json(self, result: Shown[HeapMap]) -> dict[str, Any]:
        """Return the stable form of a result."""
        from headway.report.json.numa_map import heap_map_json

        return heap_map_json(result.answer)

    def section(self, result: Shown[HeapMap]) -> Section:
        """Return the means over time, and a table of looks."""
        found = result.answer
        title = "Where the heap is: memory nodes over time"
        table = heap_table(found, None if result.show_all else TOP)
        return Section(title, tuple(_sentences(found)), (table,), found.notices)


def heap_line(found: HeapMap) -> str:
    """Return the last look in a line."""
    look = found.looks[-1]
    shown = _fullest(found)
    *cells, not_there = _cells(look, shown)
    parts = [f"{cell} MiB on node {node}" for cell, node in zip(cells, shown, strict=True)]
    parts += [f"--json has {counted(len(found.nodes) - len(shown), 'more node')}"] * (len(shown) < len(found.nodes))
    parts.append(f"{not_there} MiB {_NOT_THERE}")
    return f"{look.at_ns / 1e9:8.1f}s  {_mib(look.memory_bytes)} MiB: {', '.join(parts)}"


def heap_table(found: HeapMap, top: int | None) -> Table:
    """Return a row for each look, of more than `top` some that lie apart; sizes in MiB."""
    looks = _apart(found.looks, min(MOST_PRINTED, top or MOST_PRINTED))
    several = len({each.pid for each in found.looks}) > 1
    nodes, shown = found.nodes, _fullest(found)
    columns = ("at", *(("process",) if several else ()), "MiB", *(f"node {node}" for node in shown), _NOT_THERE)
    rows = tuple(
        (
            f"{look.at_ns / 1e9:.1f}s",
            *((look.pid,) if several else ()),
            _mib(look.memory_bytes),
            *_cells(look, shown),
        )
        for look in looks
    )
    left_out = [f"{len(looks)} of {len(found.looks)} looks: --all, --json"] if len(looks) < len(found.looks) else []
    left_out += [f"the {len(shown)} fullest of {len(nodes)} nodes: --json"] if len(shown) < len(nodes) else []
    more = f" ({'; '.join(left_out)})" if left_out else ""
    return Table(f"MiB of the heap by memory node{more}", columns, rows)


def _fullest(found: HeapMap) -> tuple[int, ...]:
    """Return the nodes that are shown, those with most memory in all looks, by their numbers."""
    nodes = found.nodes
    if len(nodes) <= _MOST_NODES:
        return nodes
    sizes: Counter[int] = Counter()
    for look in found.looks:
        for each in look.nodes:
            if each.node is not None:
                sizes[each.node] += each.bytes
    return tuple(sorted(sorted(nodes, key=lambda node: (-sizes[node], node))[:_MOST_NODES]))


def _apart(looks: tuple[HeapAtTime, ...], top: int) -> list[HeapAtTime]:
    if len(looks) <= top:
        return [*looks]
    return [looks[place * (len(looks) - 1) // (top - 1)] for place in range(top)]


def _cells(look: HeapAtTime, nodes: Sequence[int]) -> list[str]:
    """Return how much is on each node, and on none, with intervals where not all pages were asked for."""
    of_node = {each.node: each for each in look.nodes}
    return [_cell(look, of_node.get(node)) for node in (*nodes, None)]


def _cell(look: HeapAtTime, memory: NodeMemory | None) -> str:
    if memory is None:
        return "0"
    return _mib(memory.bytes) if look.is_exact else f"{_mib(memory.bytes)} ({_mib(memory.low)}-{_mib(memory.high)})"


def _mib(size: int) -> str:
    return f"{size / _MIB:,.1f}" if size % _MIB else f"{size // _MIB:,}"


def _sentences(found: HeapMap) -> list[str]:
    sentences = []
    if found.is_all_local:
        sentences.append("The machine has one memory node: everything is local.")
    sentences += _mean_sentences(found)
    sentences += [SAMPLED] if not all(look.is_exact for look in found.looks) else []
    if found.interval_ns and found.cpu_ns is not None:
        sentences.append(f"{_how_often(found)}; the looks took {found.cpu_ns / 1e6:.1f} ms of CPU time.")
    return sentences


def _how_often(found: HeapMap) -> str:
    """Return how many looks there were, and how far apart: --numa-map says how far at least."""
    (pid, count), *_ = Counter(look.pid for look in found.looks).most_common(1)
    times = [look.at_ns for look in found.looks if look.pid == pid]
    whose = f" at process {pid}" if count < len(found.looks) else ""
    least_s = (found.interval_ns or 0) / 1e9
    if count == 1:
        return f"Looked once{whose}"
    mean_s = (max(times) - min(times)) / (count - 1) / 1e9
    return (
        f"Looked {count:,} times{whose}, every {mean_s:.3g} s in the mean (--numa-map asks for {least_s:g} s at least)"
    )


def _mean_sentences(found: HeapMap) -> list[str]:
    """Return where the heap of each process is in the mean, of those with most looks first."""
    pids, shown = Counter(look.pid for look in found.looks), _fullest(found)
    sentences = []
    for pid, _ in pids.most_common(_MOST_PROCESSES):
        whose = f" of process {pid}" if len(pids) > 1 else ""
        if means := _means(found.nodes, [look for look in found.looks if look.pid == pid]):
            shares = ", ".join(f"{means[node]:.1%} on node {node}" for node in shown)
            if others := [share for node, share in means.items() if node not in shown]:
                shares += f", {sum(others):.1%} on {counted(len(others), 'other node')}"
            sentences.append(f"Of the heap{whose} that is there, in the mean over all looks: {shares}.")
    return sentences


def _means(nodes: Sequence[int], looks: Sequence[HeapAtTime]) -> dict[int, float]:
    """Return the mean share of each node, of what is there in looks with anything there."""
    shares = [_shares(look.nodes[:-1]) for look in looks]
    there = [each for each in shares if each]
    return {node: sum(each.get(node, 0.0) for each in there) / len(there) for node in nodes} if there else {}


def _shares(nodes: tuple[NodeMemory, ...]) -> dict[int, float]:
    total = sum(each.bytes for each in nodes)
    return {each.node: each.bytes / total for each in nodes if each.node is not None} if total else {}


NUMA_MAP = NumaMapAnalysis()
