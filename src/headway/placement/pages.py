"""The nodes that the memory of a program lies on: its heap, stacks and shared memory, as /proc/PID/numa_maps counts them.

Cost       The kernel looks at every page, and meanwhile the process can't map or unmap memory. So it is done once, at the start,
           and not at all of large processes.
Left out   Pages of files: they lie where whoever read the file first was, and other programs share them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from headway.record.target_process.deadline import Deadline, within
from headway.record.target_process.move_pages import MappedMemory
from headway.record.target_process.rights import read_status

MOST_BYTES = 16 << 30
"""Of a process whose pages are counted."""
LEAST_BYTES = 8 << 20
"""A program that has just begun has less, and where that lies says nothing of the memory to come."""
MOST_MAPPINGS = 200_000
"""Of a program whose pages are counted: three times as many as the kernel lets a process have by default."""
LIMIT_S = 5.0
"""A program that maps memory meanwhile, and gets stuck in it, keeps the kernel from answering."""
_SHARED = (b"file=/memfd:", b"file=/dev/zero\\040(deleted)", b"file=/SYSV")
"""How the kernel names memory that processes can share, as if it were files: ZGC's heap is a memfd."""
_NODE = re.compile(rb"\bN(\d+)=(\d+)")
_PAGE_KIB = re.compile(rb"\bkernelpagesize_kB=(\d+)")
_PLAIN = (b"default", b"local")
"""Policies of mappings for which nobody chose a node."""
_SPARSE = 64
"""A mapping that is so many times as large as the memory in it takes longer to look through than its pages are worth."""


def memory_by_node(processes: Iterable[tuple[int, int]]) -> dict[int, int] | None:
    """Return the bytes of memory that some processes, each given as (number, resident bytes), have on each NUMA node.

    None where one of them is too large, or all have hardly any, or the kernel does not say, or not in time. Processes that have
    ended have none.
    """
    chosen = [*processes]
    if any(resident_bytes > MOST_BYTES for _, resident_bytes in chosen):
        return None
    try:
        return within(Deadline.after(LIMIT_S), lambda: _counted([pid for pid, _ in chosen]))
    except OSError:  # the time that has passed is one as well
        return None


def _counted(pids: Iterable[int]) -> dict[int, int] | None:
    found, mappings = Counter[int](), 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/numa_maps", "rb") as lines:
                for line in lines:
                    found.update(_of_mapping(line))
                    mappings += 1
                    if mappings > MOST_MAPPINGS:
                        return None
        except (FileNotFoundError, ProcessLookupError):
            if not Path("/proc/self/numa_maps").exists():
                return None
    return dict(sorted(found.items())) if found.total() >= LEAST_BYTES else None


def _of_mapping(line: bytes) -> dict[int, int]:
    """Return the bytes by node of one mapping, none of one of a file. A file's name can't hold a blank: it would be \\040."""
    files = [word for word in line.split(b" ") if word.startswith(b"file=")]
    if any(not file.startswith(_SHARED) for file in files):
        return {}
    page = _PAGE_KIB.search(line)
    size = int(page[1]) << 10 if page else 0
    return {int(node): int(count) * size for node, count in _NODE.findall(line)}


def mappings_elsewhere(pid: int, node: int) -> list[MappedMemory]:
    """Return the mappings of a process that have memory on other nodes, and no policy of their own; none where not known."""
    if resident_bytes(pid) > MOST_BYTES:
        return []
    try:
        return within(Deadline.after(LIMIT_S), lambda: _elsewhere(pid, node))
    except OSError:
        return []


def _elsewhere(pid: int, node: int) -> list[MappedMemory]:
    chosen: dict[int, int] = {}
    with open(f"/proc/{pid}/numa_maps", "rb") as lines:
        for number, line in enumerate(lines):
            if number >= MOST_MAPPINGS:
                return []
            start, policy = line.split(b" ", 2)[:2]
            found = _of_mapping(line)
            if policy.strip() in _PLAIN and found.keys() - {node}:
                chosen[int(start, 16)] = sum(found.values())
    ends = (line.split(b" ", 1)[0].split(b"-") for line in Path(f"/proc/{pid}/maps").read_bytes().splitlines())
    mappings = [MappedMemory(int(first, 16), int(last, 16)) for first, last in ends]
    return [each for each in mappings if each.end - each.start <= _SPARSE * chosen.get(each.start, 0)]


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has in RAM, 0 where the kernel does not say."""
    try:
        return int(read_status(pid).get("VmRSS", "0 kB").split()[0]) << 10
    except (OSError, ValueError):
        return 0
