"""Pools the primitives of several runs, and combines a region of both programs into one part of the model.

Numbers are fractions of whole ns (exact), or floats when resampled; the model's formula is in `speedup_model`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.analyses.speedups.equations import Number, ratio

WAITS: Mapping[str, tuple[str, ...]] = {
    "lock_contention": ("lock_wait_ns",),
    "scheduling": ("runnable_ns", "steal_ns"),
    "gc": ("gc_ns",),
    "jit": ("jit_ns",),
    "spinning": ("spin_ns",),
}
"""Limits that are waits of a known kind, and what they are made of. All other waiting is the limit `waiting`."""

BUSY = ("cpu_ns", "lock_wait_ns", "runnable_ns", "steal_ns", "gc_ns", "jit_ns", "io_ns")
"""What a thread in a region is busy with; spinning is in cpu_ns."""

NUMBERS = tuple(each.name for each in fields(RegionPrimitives) if each.type in ("int", "int | None"))
"""The fields of RegionPrimitives that can be averaged."""

Sums = Mapping[str, Number | None]
"""The numbers of one region, by field; means over runs. A missing region is all zeros."""

ABSENT: Sums = dict.fromkeys(NUMBERS, 0)


def pool(runs: Sequence[RunPrimitives]) -> dict[str, Sums]:
    """Return every region's means over the runs; a number unknown in one of them is unknown."""
    names = dict.fromkeys(region.name for run in runs for region in run.regions)
    return {name: _mean([_find(run, name) for run in runs]) for name in names}


def _find(run: RunPrimitives, name: str) -> RegionPrimitives | None:
    return next((region for region in run.regions if region.name == name), None)


def _mean(regions: Sequence[RegionPrimitives | None]) -> Sums:
    def mean(field: str) -> Number | None:
        values = [0 if region is None else getattr(region, field) for region in regions]
        known = [value for value in values if value is not None]
        return Fraction(sum(known), len(values)) if len(known) == len(values) else None

    return {field: mean(field) for field in NUMBERS}


def value_or_zero(value: Number | None) -> Number:
    """Return a number, 0 for an unknown one."""
    return 0 if value is None else value


def has_counters(*programs: Mapping[str, Sums]) -> bool:
    """Return whether instructions and cycles of some region are known, in every program that spends CPU time in it."""
    regions = [(name, sums) for program in programs for name, sums in program.items() if sums["cpu_ns"]]
    lacking = {name for name, sums in regions if not (sums["instructions"] and sums["cycles"])}
    return any(name not in lacking for name, _ in regions)


def is_counted(*programs: Sums) -> bool:
    """Return whether instructions and cycles of one region are known, in every program that spends CPU time in it."""
    return all(not sums["cpu_ns"] or None not in (sums["instructions"], sums["cycles"]) for sums in programs)


def without_spinning(sums: Sums) -> tuple[Number, Number, Number]:
    """Return CPU time, instructions and cycles without spinning; unknown counts of spinning are estimated from its CPU time."""
    cpu, spin = value_or_zero(sums["cpu_ns"]), value_or_zero(sums["spin_ns"])

    def rest(field: str) -> Number:
        total, spun = value_or_zero(sums[field]), sums[f"spin_{field}"]
        if spun is not None or not spin:  # 0 is known, too: a loop that waits may have no sample by instructions
            return total - value_or_zero(spun)
        return total * ratio(cpu - spin, cpu) if cpu else total

    return cpu - spin, rest("instructions"), rest("cycles")


@dataclass(frozen=True, slots=True)
class RegionPart:
    """A region, or the rest, at N threads compared with that of the sequential program. Times in ns.

    `work` is CPU time without spinning; `busiest` (sum over the instances of the busiest thread's busy time) and `idle` add
    up to the wall. `waits` has the limits that are waits, None where not known. `inflation` holds, per limit, the efficiency
    whose product over the limits is sequential work / work: work_inflation alone unless the part `is_counted`.
    `sequential_scheduling` is what of `sequential_wall` the sequential program was ready without a CPU, `scheduling` the thread
    time that this one was. `balance` is E_LB: above 1 where more than `threads` are busy; `unhindered_balance` is that of the
    time with a CPU: a thread whose CPU others had is the last one, too.
    """

    name: str
    threads: int
    work: Number
    sequential_work: Number
    sequential_wall: Number
    sequential_scheduling: Number
    busiest: Number
    idle: Number
    busy: Number
    balance: Number
    unhindered_balance: Number
    scheduling: Number
    waits: Mapping[str, Number | None]
    inflation: Mapping[str, Number]
    is_counted: bool

    @property
    def is_rest(self) -> bool:
        """Return whether this part is the sequential fraction."""
        return self.name == REST

    def time(self, without: Collection[str] = ()) -> Number:
        """Return the part's wall time in ns without some limits."""
        waits = self.work * 0
        for limit, time in self.waits.items():
            if time is not None and limit not in without:
                waits += time
        balance = self.unhindered_balance if "scheduling" in without else self.balance
        thread_time = self.work + waits
        if "waiting" not in without:
            thread_time += self.idle * self.threads * (balance - self.balance)
        for limit, inflation in self.inflation.items():
            if limit in without:
                thread_time = thread_time * inflation
        is_balanced = "load_balance" in without and not self.is_rest
        return ratio(thread_time, self.threads * (1 if is_balanced else balance))


def make_part(name: str, sequential: Sums, parallel: Sums, threads: int, counters: bool) -> RegionPart:
    """Return the part for a region (or REST) at `threads` threads; `counters`: use its counts where known."""
    n = 1 if name == REST else threads
    busy: Number = sum((value_or_zero(parallel[field]) for field in BUSY), start=value_or_zero(parallel["cpu_ns"]) * 0)
    wall = value_or_zero(parallel["wall_ns"])
    busiest = wall if parallel["busiest_busy_ns"] is None else parallel["busiest_busy_ns"]
    if not busiest and busy:  # impossible in a recording: taken as if the threads were balanced
        busiest = ratio(busy, n)
    idle = max(wall - busiest, busiest * 0)
    balance = ratio(busy, n * busiest) if busy else Fraction(1)
    waits = {limit: _total([parallel[field] for field in made_of]) for limit, made_of in WAITS.items()}
    scheduling = sum((value_or_zero(parallel[field]) for field in WAITS["scheduling"]), start=busy * 0)
    unhindered = parallel["busiest_unhindered_ns"]
    is_known = bool(unhindered) and busy > scheduling
    counters = counters and is_counted(sequential, parallel)
    waits["waiting"] = value_or_zero(parallel["io_ns"]) + (idle * n * balance if busy else wall * n)
    return RegionPart(
        name=name,
        threads=n,
        work=without_spinning(parallel)[0],
        sequential_work=without_spinning(sequential)[0],
        sequential_wall=value_or_zero(sequential["wall_ns"]),
        sequential_scheduling=_without_cpu(sequential),
        busiest=busiest if busy else busiest * 0,
        idle=idle if busy else wall,
        busy=busy,
        balance=balance,
        unhindered_balance=ratio(busy - scheduling, n * value_or_zero(unhindered)) if is_known else balance,
        scheduling=scheduling,
        waits=waits,
        inflation=_inflation(name, sequential, parallel, counters),
        is_counted=counters,
    )


def _without_cpu(sequential: Sums) -> Number:
    """Return the wall time that the sequential program lost to scheduling: of several threads' time the part of one."""
    wall, busy = value_or_zero(sequential["wall_ns"]), sum(value_or_zero(sequential[field]) for field in BUSY)
    lost = sum(value_or_zero(sequential[field]) for field in WAITS["scheduling"])
    return lost if busy <= wall else lost * ratio(wall, busy)


def _total(values: Sequence[Number | None]) -> Number | None:
    return (
        None
        if any(value is None for value in values)
        else sum((value_or_zero(value) for value in values), start=Fraction(0))
    )


def _inflation(name: str, sequential: Sums, parallel: Sums, counters: bool) -> dict[str, Number]:
    """Return the efficiencies whose product is sequential over parallel work; 1 where there is no work to inflate."""
    (cpu_s, i_s, cc_s), (cpu_p, i_p, cc_p) = without_spinning(sequential), without_spinning(parallel)
    whole = ratio(cpu_s, cpu_p) if cpu_p else Fraction(1)
    if not counters:
        return {"work_inflation": whole}
    fraction = "sequential" if name == REST else "parallel"
    instructions: Number = whole
    cpi: Number = Fraction(1)
    frequency: Number = Fraction(1)
    if min(cpu_s, i_s, cc_s, cpu_p, i_p, cc_p) > 0:
        instructions = ratio(i_s, i_p)
        cpi = ratio(ratio(cc_s, i_s), ratio(cc_p, i_p))
        frequency = ratio(ratio(cpu_s, cc_s), ratio(cpu_p, cc_p))
    return {
        f"{fraction}_instruction_overhead": instructions,
        f"{fraction}_cpi_overhead": cpi,
        "frequency": frequency,
    }
