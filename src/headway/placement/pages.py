"""The nodes that the memory of a program lies on: its anonymous pages (heap, stacks), as /proc/PID/numa_maps counts them.

Cost       The kernel looks at every page, and meanwhile the process can't map or unmap memory. So it is done once, at the start,
           and not at all of large processes.
Left out   Pages of files: they lie where whoever read the file first was, and other programs share them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

MOST_BYTES = 16 << 30
"""Of a process whose pages are counted."""
_NODE = re.compile(r"\bN(\d+)=(\d+)", re.ASCII)
_PAGE_KIB = re.compile(r"\bkernelpagesize_kB=(\d+)", re.ASCII)


def memory_by_node(processes: Iterable[tuple[int, int]]) -> dict[int, int] | None:
    """Return how many bytes of processes, given by number and resident size, lie on each node.

    None where one of them is too large, or the kernel does not say. Processes that have ended have none.
    """
    found = Counter[int]()
    for pid, resident_bytes in processes:
        if resident_bytes > MOST_BYTES:
            return None
        try:
            lines = Path(f"/proc/{pid}/numa_maps").read_text(errors="replace").splitlines()
        except (FileNotFoundError, ProcessLookupError):
            if not Path("/proc/self/numa_maps").exists():
                return None
            continue
        except OSError:
            return None
        for line in lines:
            found.update(_of_mapping(line))
    return dict(sorted(found.items())) or None


def _of_mapping(line: str) -> dict[int, int]:
    """Return the bytes by node of one mapping, none of one of a file. A file's name can't hold a blank: it would be \\040."""
    words = line.split(" ")
    if any(word.startswith("file=") for word in words):
        return {}
    page = _PAGE_KIB.search(line)
    size = int(page[1]) << 10 if page else 0
    return {int(node): int(count) * size for node, count in _NODE.findall(line)}
