"""Reads the counters that the recorder has sampled, and what the CPUs did in the recorded span by them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headway.store.files import open_ordinary

_LONGEST_LINE = 4096
"""Of counters.jsonl, in characters: the recorder writes no longer one, and what comes after it is none of its own."""

CounterRow = tuple[int, str, int, int]
"""A row of the table `counter`: ns, event, CPU, value."""


def spool_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file of the spool; none when it is not there, or no ordinary file."""
    with contextlib.suppress(OSError), open(open_ordinary(path), encoding="utf-8", errors="replace") as file:
        while 0 < len(line := file.readline(_LONGEST_LINE)) < _LONGEST_LINE:
            yield line


def counter_rows(spool: Path) -> list[CounterRow]:
    """Return the samples in counters.jsonl; a line that its writer's death cut off is left out."""
    rows: list[CounterRow] = []
    path = spool / "counters.jsonl"
    for line in spool_lines(path):
        try:
            row = json.loads(line)
            rows.append((_fit(row["ns"], 64), str(row["event"]), _fit(row["cpu"], 16), _fit(row["value"], 64)))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return rows


def _fit(value: Any, bits: int) -> int:
    """Return a number that a column of so many bits holds. Raises ValueError or TypeError for anything else."""
    number = int(value)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError("out of range")
    return number


_TOTALS: Mapping[str, str] = {"busy_ns": "cpu_busy", "steal_ns": "cpu_steal"}
"""The recorder's totals by CPU, and the samples behind each."""


def totals_by_cpu(
    draft: Mapping[str, Any], rows: Sequence[CounterRow], window: tuple[int, int]
) -> dict[str, dict[str, int]]:
    """Return how long each CPU worked (`busy_ns`) and was taken by the host (`steal_ns`) in the recorded span.

    The recorder samples from a little before the span until a little after it, later on a busy machine; its own totals, which are
    those of all that time, count where there are no samples. A total that it has not is not returned.
    """
    samples: dict[tuple[str, int], list[tuple[int, int]]] = {}
    totals = {name: draft[name] for name in _TOTALS if draft.get(name) and isinstance(draft[name], Mapping)}
    wanted = frozenset(_TOTALS[name] for name in totals)
    for ns, event, cpu, value in rows:
        if event in wanted:
            samples.setdefault((event, cpu), []).append((ns, value))
    found = {}
    for name, sampled_ns in totals.items():
        of_all = {cpu: int(ns) for cpu, ns in sampled_ns.items()}
        found[name] = {
            cpu: _within(samples.get((_TOTALS[name], int(cpu)), []), window, ns) for cpu, ns in of_all.items()
        }
    return found


def _within(samples: list[tuple[int, int]], window: tuple[int, int], total: int) -> int:
    """Return by how much a counter grew in a span; the total of all samples where there are not two."""
    if len(samples) < 2:
        return total
    times, values = np.array(samples, np.int64).T
    # Small numbers, as floats have 53 bits.
    at_begin, at_end = np.interp(np.subtract(window, times[0]), times - times[0], values - values[0])
    return max(0, round(float(at_end - at_begin)))
