"""The metrics made of counts (CPI, misses per thousand instructions ...): formulas within one group, each with its source.

A group is counted together, so that what it missed it missed of all its events; counts of different groups are of different
times. New processors are new rows here, or events that `headway record --counters` names.

Checked    tests/golden/test_counter_metrics.py, against the published tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.model.counter_ladder import SLOTS, SLOTS_BELOW, plain_name

PERFUTIL = "Papadakis, PhD thesis, Manchester 2022 (PerfUtil)"


@dataclass(frozen=True, slots=True)
class Metric:
    """`factor` x sum of the `plus` events less the `minus` events, by the sum of the `by` events."""

    name: str
    of_set: str
    plus: tuple[str, ...]
    by: tuple[str, ...]
    source: str
    factor: float = 1.0
    minus: tuple[str, ...] = ()

    @property
    def events(self) -> tuple[str, ...]:
        """Return the events that it is made of."""
        return (*self.plus, *self.minus, *self.by)

    def value(self, counts: Mapping[str, float]) -> float | None:
        """Return the ratio; None where nothing was counted of what it is divided by."""
        below = sum(counts[each] for each in self.by)
        above = sum(counts[each] for each in self.plus) - sum(counts[each] for each in self.minus)
        return self.factor * above / below if below else None

    def bound(self, plus: Mapping[str, float], others: Mapping[str, float]) -> float | None:
        """Return one end of what the ratio can be: with these counts for `plus`, and the opposite ends of the others.

        None: there is none, as what it is divided by can be nothing.
        """
        above = sum(plus[each] for each in self.plus) - sum(others[each] for each in self.minus)
        below = sum((others if above >= 0 else plus)[each] for each in self.by)
        return self.factor * above / below if below else None


def _misses(name: str, misses: str, accesses: str) -> tuple[Metric, Metric]:
    """Return misses per thousand instructions, and the share of accesses that miss."""
    source = f"{PERFUTIL}, tables 5.8 to 5.12"
    return (
        Metric(f"{name} MPKI", "memory", (misses,), ("instructions",), source, 1000),
        Metric(f"{name} miss rate", "memory", (misses,), (accesses,), source),
    )


_MIX = (f"{PERFUTIL}, equation 5.2, tables 5.7 and 5.11", ("L1-dcache-loads", "L1-dcache-stores"))
_LEVEL_1 = "Yasin, A Top-Down Method for Performance Analysis, ISPASS 2014; events of perf's sysfs"
_LEVEL_2 = "the same, level 2: each part of level 1 is one event, and what is left"
_LEVEL_2_NAMES = (
    ("heavy operations", "light operations"),
    ("branch mispredicts", "machine clears"),
    ("fetch latency", "fetch bandwidth"),
    ("memory bound", "core bound"),
)

METRICS: tuple[Metric, ...] = (
    Metric("CPI", "memory", ("cycles",), ("instructions",), f"{PERFUTIL}, table 5.8"),
    *_misses("branch", "branch-misses", "branches"),
    *_misses("L1D", "L1-dcache-load-misses", "L1-dcache-loads"),
    *_misses("data TLB", "dTLB-load-misses", "dTLB-loads"),
    *_misses("L2", "LLC-loads", "L1-dcache-load-misses"),  # what L2 lacks it asks the last level for
    *_misses("LLC", "LLC-load-misses", "LLC-loads"),
    *_misses("cache", "cache-misses", "cache-references"),
    Metric(
        "remote share",
        "memory",
        ("node-load-misses",),
        ("node-loads",),
        "perf: loads that another node's memory served",
    ),
    Metric("memory instructions", "mix", _MIX[1], ("instructions",), _MIX[0]),
    Metric("load instructions", "mix", _MIX[1][:1], ("instructions",), _MIX[0]),
    Metric("store instructions", "mix", _MIX[1][1:], ("instructions",), _MIX[0]),
    Metric("branch instructions", "mix", ("branches",), ("instructions",), _MIX[0]),
    Metric(
        "arithmetic instructions", "mix", ("instructions",), ("instructions",), _MIX[0], minus=(*_MIX[1], "branches")
    ),
    *(
        Metric(name, "topdown", (event,), SLOTS, _LEVEL_1)
        for name, event in zip(("retiring", "bad speculation", "front-end bound", "back-end bound"), SLOTS, strict=True)
    ),
    *(
        metric
        for (name, rest), part, whole in zip(_LEVEL_2_NAMES, SLOTS_BELOW, SLOTS, strict=True)
        for metric in (
            Metric(name, "topdown", (part,), SLOTS, _LEVEL_2),
            Metric(rest, "topdown", (whole,), SLOTS, _LEVEL_2, minus=(part,)),
        )
    ),
)
SETS = ("memory", "topdown", "mix")


def metrics_of(group: Sequence[str], of_set: str | None = None) -> list[Metric]:
    """Return the metrics that can be made of the events of one group, all counted on the same side of the kernel's border."""
    sides = {event[-2:] if event.endswith((":u", ":k")) else "" for event in group}
    there = {plain_name(event) for event in group}
    if len(sides) > 1:
        return []
    return [each for each in METRICS if {*each.events} <= there and of_set in (None, each.of_set)]


def imbalance(values: Sequence[float]) -> float | None:
    """Return how uneven values are (Papadakis, equation 6.1): standard deviation over mean; None of fewer than two.

    It is the deviation of all threads, not of a sample: of N threads of which one does everything it is sqrt(N - 1), as printed.
    """
    mean = sum(values) / len(values) if values else 0.0
    if len(values) < 2 or mean <= 0:
        return None
    return math.sqrt(sum((each - mean) ** 2 for each in values) / len(values)) / mean
