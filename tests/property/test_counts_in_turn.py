"""Counts of runs that sampled events of the CPU in turn: exact efficiencies come out though no run knows both counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.regions.primitives import RegionPrimitives, RunPrimitives
from headway.analyses.speedups.model import LIMITS, Model, make_model
from headway.analyses.speedups.parts import Sums, pool
from headway.analyses.speedups.sampled import with_sampled
from support.builders import primitives_builder as build

Draw = Any  # hypothesis' draw gives a value of any strategy
some = settings(max_examples=40)
shares = st.fractions(Fraction(1, 20), 1, max_denominator=1000)
overheads = st.fractions(Fraction(1, 20), 3, max_denominator=1000)
EFFICIENCIES = st.fixed_dictionaries(
    {
        "parallel_fraction": st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=1000),
        "sequential_instruction_overhead": overheads, "parallel_instruction_overhead": overheads,
        "sequential_cpi_overhead": overheads, "parallel_cpi_overhead": overheads,
        "load_balance": shares, "lock_contention": shares,
    }
)  # fmt: skip
TURNS = st.sampled_from(
    [("cycles", "instructions"), ("cpu", "cycles", "instructions"), ("instructions", "cpu", "cycles")]
)
SLOWER = st.lists(st.fractions(1, 2, max_denominator=50), min_size=3, max_size=8)
"""How much longer each run takes for the same instructions: its cycles and its times alike."""


def runs_of(sums: dict[str, Sums], n: int, slower: list[Fraction]) -> tuple[RunPrimitives, ...]:
    """Return runs that know both counts, from the numbers of an undisturbed one."""
    times = ("cpu_ns", "cycles", "wall_ns", "busiest_busy_ns", "lock_wait_ns")

    def region(name: str, factor: Fraction) -> RegionPrimitives:
        numbers: dict[str, Any] = {
            key: value if value is None or key not in times else value * factor for key, value in sums[name].items()
        }
        return RegionPrimitives(name=name, **{**numbers, "instances": 1, "threads": n})

    return tuple(build.run(n, tuple(region(name, factor) for name in sums)) for factor in slower)


def in_turn(runs: tuple[RunPrimitives, ...], events: tuple[str, ...]) -> tuple[RunPrimitives, ...]:
    """Return the runs as each knows itself: with the one event that it sampled."""

    def seen(part: RegionPrimitives, event: str) -> RegionPrimitives:
        hidden = [field for field in ("cycles", "instructions") if field != event]
        return replace(part, **{f"{way}{field}": None for field in hidden for way in ("", "spin_", "busiest_")})  # type: ignore[arg-type]

    return tuple(
        replace(run, regions=tuple(seen(part, events[i % len(events)]) for part in run.regions))
        for i, run in enumerate(runs)
    )


def figures(model: Model) -> dict[str, float]:
    known = {f"efficiency of {limit}": value for limit, value in model.efficiencies().items()}
    known |= {f"without {limit}": value for limit, value in model.possible().items()}
    return {key: float(value) for key, value in known.items() if value is not None}


@some
@given(EFFICIENCIES, st.integers(1, 64), TURNS, SLOWER, SLOWER)
def test_runs_that_know_one_count_each_tell_what_they_would_if_they_knew_both(
    efficiencies: dict[str, Fraction], n: int, events: tuple[str, ...], alone: list[Fraction], beside: list[Fraction]
) -> None:
    programs = build.with_efficiencies(efficiencies, n)
    truth = [runs_of(sums, k, slower) for sums, k, slower in zip(programs, (1, n), (alone, beside), strict=True)]
    groups = {("sequential", 1): in_turn(truth[0], events), ("parallel", n): in_turn(truth[1], events)}
    filled, notices = with_sampled(groups, "a.sweep")
    assert not notices
    model = make_model(pool(filled["sequential", 1]), pool(filled["parallel", n]), n)
    assert model.counters
    both = make_model(pool(truth[0]), pool(truth[1]), n)
    assert figures(model) == pytest.approx(figures(both), rel=1e-6)  # counts are whole numbers of 10^7 and more


@some
@given(EFFICIENCIES, st.integers(1, 64), TURNS, st.integers(3, 8))
def test_exact_efficiencies_are_returned_when_cycles_and_instructions_come_from_different_runs(
    efficiencies: dict[str, Fraction], n: int, events: tuple[str, ...], count: int
) -> None:
    sequential, parallel = build.with_efficiencies(efficiencies, n)
    calm = [Fraction(1)] * count
    groups = {("sequential", 1): in_turn(runs_of(sequential, 1, calm), events)}
    groups["parallel", n] = in_turn(runs_of(parallel, n, calm), events)
    filled, _ = with_sampled(groups, "a.sweep")
    found = make_model(pool(filled["sequential", 1]), pool(filled["parallel", n]), n).efficiencies()
    for limit, efficiency in {**efficiencies, "frequency": Fraction(1)}.items():
        assert limit in LIMITS
        assert found[limit] is not None
        assert float(found[limit] or 0) == pytest.approx(float(efficiency), rel=1e-6), limit


whole = st.integers(0, 10**6)


@some
@given(
    st.lists(st.tuples(st.sampled_from(["cpu", "cycles", "instructions"]), whole, whole, whole), min_size=1, max_size=9)
)
def test_what_is_filled_in_is_the_mean_and_the_rate_by_brute_force(rows: list[tuple[str, int, int, int]]) -> None:
    """A row is (event, CPU time, count, count of the busiest thread) of one run of one region."""
    runs = []
    for event, cpu_ns, count, busiest in rows:
        counts = {event: count, f"busiest_{event}": busiest} if event != "cpu" else {}
        runs.append(build.run(1, (build.region("a", wall_ns=cpu_ns, cpu_ns=cpu_ns, **counts),)))
    filled, notices = with_sampled({("parallel", 1): tuple(runs)}, "a.sweep")
    by = {event: [row for row in rows if row[0] == event] for event in ("cycles", "instructions")}
    if any(not taken for taken in by.values()):
        assert (filled, notices) == ({("parallel", 1): tuple(runs)}, [])
        return
    missing = any(cpu for _, cpu, _, _ in rows) and any(not sum(row[2] for row in taken) for taken in by.values())
    assert bool(notices) == missing
    if missing:
        assert filled["parallel", 1] == tuple(runs)
        return
    for (event, cpu_ns, count, _), run in zip(rows, filled["parallel", 1], strict=True):
        (part,) = run.regions
        mean = sum(row[2] for row in by["instructions"]) / len(by["instructions"])
        spent = sum(row[1] for row in by["cycles"])
        cycles = sum(row[2] for row in by["cycles"])
        rate = cycles * cpu_ns / spent if spent else cycles / len(by["cycles"])
        assert part.instructions == (count if event == "instructions" else pytest.approx(mean, abs=0.51))
        assert part.cycles == (count if event == "cycles" else pytest.approx(rate, abs=0.51))
        assert part.cpu_ns == cpu_ns
