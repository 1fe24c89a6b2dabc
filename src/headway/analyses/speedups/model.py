"""The speedup model: the computed speedup of a parallel program, its efficiencies, and the speedup without each limit.

Question   the efficiencies of a parallel program against its sequential version, its computed speedup, and the possible one
           without each limit, each pair, and all of them.
Method     Gomes 2021, equations 3 to 11 (`speedup_equations`), generalised; C is CPU time without spinning, S the sequential
           program, P the parallel one, a part is a region or the rest, N its threads (1 for the rest):

               T(part) = C_S / (E_I E_CPI E_F) * (1 + sum over x of (1/E_x - 1)) / (N E_LB)      T_P = sum over the parts
               E_I E_CPI E_F = C_S / C_P       E_x = C_P / (C_P + x)       E_LB = sum of busy / (N * sum of the busiest)
               speedup = T_S / T_P             E_PF = share of C_S outside the rest

           - x are the waits: locks, scheduling (ready without a CPU, or on one that the host stopped), GC, JIT, spinning, and
             all other waiting. A thread waits for one thing at a time, so the waits add up; where locks are the only ones,
             this is equation 10 and 11.
           - E_F is the clock's frequency (ns per cycle); with the paper's fixed frequency it is 1. Of parts without counters
             the product E_I E_CPI E_F is known as a whole, and is one limit: work_inflation.
           - E_LB takes the busiest thread of every instance of a region, not the overall busiest one.
           - Time of an instance beyond its busiest thread (hand-over, start-up) is waiting.
           Without a limit: its efficiency is 1 in the same formula. Scheduling is the machine's doing and hits both programs:
           without it, T_S has none of it either. Without the sequential fraction (E_PF = 1), the regions
           share out the rest's work in proportion to their own.
Identity   with nothing removed the formula is the sum of the parts' walls, so the computed speedup is T_S / T_P of the
           primitives (a busiest thread that is busy beyond its region's wall breaks it, and is reported).
Assumes    what is removed leaves everything else as it is: a possible speedup is an upper bound of what a fix brings; waits
           other than imbalance are spread evenly over the threads.
Wrong when the sequential program does other work than the parallel one, or uses several threads.
Checked    tests/golden/test_speedup_equations.py, tests/property/test_speedup_model.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from headway.analyses.regions.primitives import PARALLEL, REST
from headway.analyses.speedups.equations import Number, ratio
from headway.analyses.speedups.parts import (
    ABSENT,
    WAITS,
    RegionPart,
    Sums,
    has_counters,
    make_part,
    value_or_zero,
    without_spinning,
)

__all__ = ["GROUPS", "LIMITS", "Model", "make_model"]

LIMITS = (
    "parallel_fraction",
    "sequential_instruction_overhead",
    "parallel_instruction_overhead",
    "sequential_cpi_overhead",
    "parallel_cpi_overhead",
    "work_inflation",
    "load_balance",
    "lock_contention",
    "scheduling",
    "gc",
    "jit",
    "spinning",
    "waiting",
    "frequency",
)
"""The keys of every mapping by limit. Spinning and waiting are what else the threads' time goes to, frequency what the paper
takes to be fixed: without them the efficiencies would not multiply up to the speedup."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "instruction_overhead": ("sequential_instruction_overhead", "parallel_instruction_overhead"),
    "cpi_overhead": ("sequential_cpi_overhead", "parallel_cpi_overhead"),
}
"""Limits with one cause: the paper removes parallelism overhead and memory bottleneck in both fractions at once."""


@dataclass(frozen=True)
class Model:
    """A program's regions and the rest at `threads` threads; `counters`: whether instructions and cycles of some are known.

    Made of one region alone (`of_region`), it is about that region as if it were the whole program.
    """

    threads: int
    counters: bool
    parts: tuple[RegionPart, ...]
    sequential: Mapping[str, Sums]
    parallel: Mapping[str, Sums]

    @cached_property
    def sequential_time(self) -> Number:
        """Return T_S, the time of the sequential program, in ns."""
        return sum(part.sequential_wall for part in self.parts)

    @cached_property
    def regions(self) -> tuple[RegionPart, ...]:
        """Return the parallel parts."""
        return tuple(part for part in self.parts if not part.is_rest)

    @cached_property
    def is_compared(self) -> bool:
        """Return whether both programs have the parts; parts found by the number of active threads are of one program only."""
        return all(part.name != PARALLEL for part in self.parts)

    def of_region(self, name: str) -> Model:
        """Return the model of one region."""
        parts = tuple(part for part in self.parts if part.name == name)
        return Model(self.threads, self.counters, parts, self.sequential, self.parallel)

    def time(self, without: Collection[str] = ()) -> Number | None:
        """Return T_P in ns without some limits (keys of LIMITS); None if there is no parallel work to divide the rest's among."""
        if "parallel_fraction" not in without:
            return sum(part.time(without) for part in self.parts)
        shared = sum(part.sequential_work for part in self.regions)
        if not shared:
            return None
        total = sum(part.sequential_work for part in self.parts)
        return sum(part.time(without) for part in self.regions) * ratio(total, shared)

    def speedup(self, without: Collection[str] = ()) -> Number | None:
        """Return the computed speedup, or the possible one without some limits; None where it is unknown."""
        time, sequential = self.time(without), self.sequential_time
        if "scheduling" in without:
            sequential = sequential - sum(part.sequential_scheduling for part in self.parts)
        return ratio(sequential, time) if time else None

    def efficiencies(self) -> dict[str, Number | None]:
        """Return every limit's efficiency over all parts; None where it is unknown.

        Load balance and lock contention are those of the parallel regions (equations 9 and 10), other waits those of all parts.
        Without regions that are in both programs, no part's work is known against the sequential program's.
        """
        found: dict[str, Number | None] = dict.fromkeys(LIMITS)
        if self.is_compared:
            found |= self._against_sequential()
        reference = sum(part.threads * part.busiest for part in self.regions)
        found["load_balance"] = _ratio(sum(part.busy for part in self.regions), reference)
        for limit in (*WAITS, "waiting"):
            parts = self.regions if limit == "lock_contention" and self.regions else self.parts
            waits = [part.waits[limit] for part in parts]
            work = sum(part.work for part in parts)
            if all(time is not None for time in waits):
                found[limit] = _ratio(work, work + sum(value_or_zero(time) for time in waits))
        return found

    def _against_sequential(self) -> dict[str, Number | None]:
        """Return the parallel fraction, and what the same work costs more."""
        total = sum(part.sequential_work for part in self.parts)
        fraction = _ratio(sum(part.sequential_work for part in self.regions), total)
        whole = [part for part in self.parts if not part.is_counted]
        inflation = _ratio(sum(part.sequential_work for part in whole), sum(part.work for part in whole))
        counted = self._counted([part for part in self.parts if part.is_counted]) if self.counters else {}
        return {"parallel_fraction": fraction, "work_inflation": inflation, **counted}

    def _counted(self, parts: Sequence[RegionPart]) -> dict[str, Number | None]:
        """Return equations 4, 5, 7 and 8, and the frequency, from sums over some parts."""
        found: dict[str, Number | None] = {}
        groups = {
            "sequential": [p.name for p in parts if p.is_rest],
            "parallel": [p.name for p in parts if not p.is_rest],
        }
        for fraction, names in groups.items():
            (_, i_s, cc_s), (_, i_p, cc_p) = self._work(self.sequential, names), self._work(self.parallel, names)
            found[f"{fraction}_instruction_overhead"] = _ratio(i_s, i_p)
            found[f"{fraction}_cpi_overhead"] = _ratio(cc_s * i_p, i_s * cc_p)
        names = [part.name for part in parts]
        (cpu_s, _, cc_s), (cpu_p, _, cc_p) = self._work(self.sequential, names), self._work(self.parallel, names)
        found["frequency"] = _ratio(cpu_s * cc_p, cc_s * cpu_p)
        return found

    def _work(self, program: Mapping[str, Sums], names: Collection[str]) -> tuple[Number, Number, Number]:
        rows = [without_spinning(program.get(name, ABSENT)) for name in names]
        return sum(row[0] for row in rows), sum(row[1] for row in rows), sum(row[2] for row in rows)

    def imbalance(self) -> tuple[Number | None, Number | None]:
        """Return the load balance due to instructions and to CPI, each 1 where it does not contribute; None without counters.

        Mean over busiest threads: the product of both is the balance in cycles (equation 9 per instance).
        """
        if not self.counters or not self.regions or not all(part.is_counted for part in self.regions):
            return None, None
        rows = [self.parallel[part.name] for part in self.regions if part.name in self.parallel]
        if any(row["busiest_instructions"] is None or row["busiest_cycles"] is None for row in rows):
            return None, None
        instructions = sum(value_or_zero(row["instructions"]) for row in rows)
        cycles = sum(value_or_zero(row["cycles"]) for row in rows)
        top = sum(value_or_zero(row["busiest_instructions"]) for row in rows)
        top_cycles = sum(value_or_zero(row["busiest_cycles"]) for row in rows)
        return _ratio(instructions, top * self.threads), _ratio(cycles * top, instructions * top_cycles)

    def known_limits(self) -> tuple[str, ...]:
        """Return the limits whose efficiency is known."""
        efficiencies = self.efficiencies()
        return tuple(limit for limit in LIMITS if efficiencies[limit] is not None)

    def possible(self) -> dict[str, Number | None]:
        """Return the speedup without each limit, without each group, and without `all`; None for unknown limits."""
        limits = self.known_limits()
        found = {limit: self.speedup((limit,)) if limit in limits else None for limit in LIMITS}
        for group, members in GROUPS.items():
            found[group] = self.speedup(members) if any(limit in limits for limit in members) else None
        found["all"] = self.speedup(limits)
        return found

    def pairs(self) -> list[tuple[str, str, Number]]:
        """Return the speedup without each pair of known limits or groups, except a group with its own members."""
        limits = self.known_limits()
        made_of: dict[str, tuple[str, ...]] = {limit: (limit,) for limit in limits}
        made_of |= {group: members for group, members in GROUPS.items() if any(each in limits for each in members)}
        apart = [(a, b) for a, b in combinations(made_of, 2) if not set(made_of[a]) & set(made_of[b])]
        found = ((a, b, self.speedup((*made_of[a], *made_of[b]))) for a, b in apart)
        return [(a, b, speedup) for a, b, speedup in found if speedup is not None]


def make_model(
    sequential: Mapping[str, Sums], parallel: Mapping[str, Sums], threads: int, counters: bool | None = None
) -> Model:
    """Return the model of the parallel program at `threads` threads, from both programs' pooled primitives.

    Counters are used if they are there, unless `counters` says otherwise.
    """
    names = sorted({*sequential, *parallel}, key=lambda name: name == REST)
    if counters is None:
        counters = has_counters(sequential, parallel)
    parts = tuple(
        make_part(name, sequential.get(name, ABSENT), parallel.get(name, ABSENT), threads, counters) for name in names
    )
    return Model(threads, counters, parts, sequential, parallel)


def _ratio(numerator: Number, denominator: Number) -> Number | None:
    return ratio(numerator, denominator) if denominator else None
