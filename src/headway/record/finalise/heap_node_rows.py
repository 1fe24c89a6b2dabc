"""Reads on which memory nodes the recorder found heaps, for the table `heap_node`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headway.model.heap_look import HEAP_LOOKS_FILE
from headway.model.machine_limits import MOST_MEMORY_NODES
from headway.record.finalise.counter_rows import spool_lines

_MOST_PAGES = 1 << 40
HeapNodeRow = tuple[int, int, bool, int, int, int, int | None, int]
"""A row of the table: ns, process, whether it is its heap, pages, bytes of each, pages asked for, node, pages there."""


def heap_node_rows(spool: Path, window: tuple[int, int]) -> Iterator[HeapNodeRow]:
    """Yield a row for each node, and one for unknown ones, of each look in the recorded span.

    A line that its writer's death cut off is left out.
    """
    for line in spool_lines(spool / HEAP_LOOKS_FILE):
        try:
            look = json.loads(line)
            rows = [*_rows(look)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if window[0] <= rows[0][0] <= window[1]:
            yield from rows


def _rows(look: Mapping[str, Any]) -> Iterator[HeapNodeRow]:
    """Yield the rows of one look. Raises ValueError, KeyError, TypeError or AttributeError for what is none."""
    memory, asked = _within(look["memory_pages"], _MOST_PAGES), _within(look["asked_pages"], _MOST_PAGES)
    facts = (
        _within(look["ns"], (1 << 63) - 1),
        _within(look["pid"], (1 << 31) - 1),
        bool(look["is_heap"]),
        memory,
        _within(look["page_bytes"], 1 << 30),
        asked,
    )
    pages = {_within(node, MOST_MEMORY_NODES - 1): _within(count, asked) for node, count in look["pages"].items()}
    for node, count in sorted(pages.items()):
        yield (*facts, node, count)
    yield (*facts, None, _within(asked - sum(pages.values()), asked))


def _within(value: Any, most: int) -> int:
    number = int(value)
    if not 0 <= number <= most:
        raise ValueError("out of range")
    return number
