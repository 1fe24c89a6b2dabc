"""Primitives of sweeps made by hand, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from headway.analyses.speedup_equations import Number
from headway.analyses.speedup_parts import ABSENT, Sums
from headway.analyses.speedup_types import REST, RegionPrimitives, RunPrimitives


def region(name: str, *, wall_ns: int, cpu_ns: int, **others: Any) -> RegionPrimitives:
    """One region in one instance, unless told otherwise."""
    basis: dict[str, Any] = {"name": name, "instances": 1, "wall_ns": wall_ns, "cpu_ns": cpu_ns}
    return RegionPrimitives(**(basis | others))


def run(threads: int, regions: tuple[RegionPrimitives, ...], **others: Any) -> RunPrimitives:
    """One run that lasts as long as its regions."""
    wall = sum(each.wall_ns for each in regions)
    basis: dict[str, Any] = {"threads": threads, "number": 1, "wall_ns": wall, "regions": regions}
    return RunPrimitives(**(basis | others))


def with_efficiencies(e: Mapping[str, Fraction], threads: int) -> tuple[dict[str, Sums], dict[str, Sums]]:
    """Return the (sequential, parallel) numbers of programs with these efficiencies of the paper, at one cycle per ns.

    Made the other way round than they are computed: the sequential program has 10^9 instructions at a CPI of 2 in all; the
    parallel one has what the efficiencies say.
    """
    sequential, parallel = {}, {}
    for name, share, fraction in (
        (REST, 1 - e["parallel_fraction"], "sequential"),
        ("region", e["parallel_fraction"], "parallel"),
    ):
        instructions: Number = 10**9 * share
        cycles = 2 * instructions
        sequential[name] = _sums(cycles, instructions, cycles, cycles)
        more = instructions / e[f"{fraction}_instruction_overhead"]
        slower = more * 2 / e[f"{fraction}_cpi_overhead"]
        if name == REST:
            parallel[name] = _sums(slower, more, slower, slower)
        else:
            # Of a thread's time in the region the share E_LC is not waiting; the busiest thread has 1 / E_LB of the mean.
            waiting = slower / e["lock_contention"] - slower
            wall = (slower + waiting) / threads / e["load_balance"]
            parallel[name] = _sums(slower, more, slower, wall, lock_wait_ns=waiting)
    return sequential, parallel


def _sums(cpu: Number, instructions: Number, cycles: Number, wall: Number, **others: Number) -> Sums:
    return {
        **ABSENT,
        "cpu_ns": cpu,
        "instructions": instructions,
        "cycles": cycles,
        "wall_ns": wall,
        "busiest_busy_ns": wall,
        **others,
    }
