"""Builds sweeps' primitives, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.analyses.speedups.equations import Number
from headway.analyses.speedups.parts import ABSENT, Sums
from headway.analyses.speedups.runs import SweepRuns
from headway.analyses.speedups.types import Commands


def region(name: str, *, wall_ns: int, cpu_ns: int, **others: Any) -> RegionPrimitives:
    """Return a region with one instance, unless given otherwise."""
    basis: dict[str, Any] = {"name": name, "instances": 1, "wall_ns": wall_ns, "cpu_ns": cpu_ns}
    return RegionPrimitives(**(basis | others))


def run(threads: int, regions: tuple[RegionPrimitives, ...], **others: Any) -> RunPrimitives:
    """Return a run that lasts as long as its regions."""
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


SECOND = 10**9
COMMANDS = Commands(
    "headway report made.sweep -o report.html", lambda n: f"headway sweep --repeat {n} -o made-{n}.sweep"
)


def sweep_runs(
    sequential: Sequence[tuple[RegionPrimitives, ...]],
    parallel: Mapping[int, Sequence[tuple[RegionPrimitives, ...]]],
    *,
    cores: int = 8,
    others_share: float | None = None,
    **others: Any,
) -> SweepRuns:
    """Return a sweep's runs from each run's regions; plain runs last exactly as long as recorded ones by default."""

    def runs(n: int, each: Sequence[tuple[RegionPrimitives, ...]]) -> tuple[RunPrimitives, ...]:
        return tuple(
            run(
                n,
                regions,
                number=i,
                recording=f"made.sweep/runs/{n}-{i}.headway",
                cores=cores,
                others_share=others_share,
            )
            for i, regions in enumerate(each, start=1)
        )

    first = runs(1, sequential)
    rest = {n: runs(n, each) for n, each in parallel.items()}
    walls = {n: tuple(each.wall_ns for each in group) for n, group in rest.items()}
    basis: dict[str, Any] = {
        "path": "made.sweep", "mode": "ebpf", "cores": cores, "sequential": first, "parallel": rest,
        "recorded_sequential_ns": tuple(each.wall_ns for each in first),
        "plain_sequential_ns": tuple(each.wall_ns for each in first),
        "recorded_ns": walls, "plain_ns": walls, "commands": COMMANDS,
    }  # fmt: skip
    return SweepRuns(**(basis | others))


def one_second_each(**parts_s: float) -> tuple[RegionPrimitives, ...]:
    """Return a run of four balanced threads in one region, 1 s each, after 0.1 s; `parts_s` is added per thread.

    Keys are fields of RegionPrimitives (seconds, per thread), `rest` (seconds before the region) or `uneven` (seconds that
    one thread works for the others).
    """
    rest = round(parts_s.pop("rest", 0.1) * SECOND)
    uneven = round(parts_s.pop("uneven", 0.0) * SECOND)
    sums = {name: round(4 * seconds * SECOND) for name, seconds in parts_s.items()}
    cpu = 4 * SECOND + sums.pop("cpu_ns", 0) + sums.get("spin_ns", 0)
    busy = (cpu + sum(ns for name, ns in sums.items() if name != "spin_ns")) // 4 + uneven
    work = region(
        "work", wall_ns=busy, cpu_ns=cpu, busiest_busy_ns=busy, threads=4, **sums,
        frames={"App.hot:7": cpu - SECOND, "App.cold:8": SECOND}, busiest_frames={"App.hot:7": SECOND},
        spin_frames={"Barrier.spin:3": 4 * SECOND}, locks={"java.lang.Object@1": 3 * SECOND, "App$Lock@2": SECOND},
        lock_sites={"App.put:42": 3 * SECOND}, thread_cpu_ns={"worker-0": SECOND + uneven, "worker-1": SECOND},
    )  # fmt: skip
    before = region(REST, wall_ns=rest, cpu_ns=rest, busiest_frames={"App.read:5": rest})
    return (work, before)


def alone(rest_s: float = 0.1) -> tuple[RegionPrimitives, ...]:
    """Return the sequential program for `one_second_each`: 4 s in the region."""
    rest = round(rest_s * SECOND)
    frames = {"App.hot:7": 3 * SECOND, "App.cold:8": SECOND}
    return (
        region("work", wall_ns=4 * SECOND, cpu_ns=4 * SECOND, frames=frames),
        region(REST, wall_ns=rest, cpu_ns=rest),
    )
