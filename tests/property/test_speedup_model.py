"""Possible speedups on any primitives: efficiencies put in come out, the formula is the measured time, losses add up to N."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.analyses.speedups import equations as paper
from headway.analyses.speedups.model import GROUPS, LIMITS, Model, make_model
from headway.analyses.speedups.parts import BUSY, NUMBERS, pool, value_or_zero
from headway.analyses.speedups.pop import pop
from headway.analyses.speedups.stack import SPEEDUP, stack
from support.builders import primitives_builder as build

Draw = Any  # hypothesis' draw gives a value of any strategy
shares = st.fractions(Fraction(1, 20), 1, max_denominator=1000)
overheads = st.fractions(Fraction(1, 20), 3, max_denominator=1000)
threads = st.integers(1, 64)
some = settings(max_examples=40)


def model_of(
    sequential: tuple[RegionPrimitives, ...],
    parallel: tuple[RegionPrimitives, ...],
    n: int,
    counters: bool | None = None,
) -> Model:
    return make_model(pool([build.run(1, sequential)]), pool([build.run(n, parallel)]), n, counters)


ns = st.integers(0, 10**13)
count = st.integers(1, 10**14)
spent = st.fixed_dictionaries(dict.fromkeys(BUSY, ns))


@st.composite
def a_part(draw: Draw, name: str, n: int, counters: bool) -> RegionPrimitives:
    """A region as it is measured: thread by thread and instance by instance, summed up here by the definitions."""
    instance = st.lists(spent, min_size=1, max_size=1 if name == REST else n)
    instances: list[list[dict[str, int]]] = draw(st.lists(instance, min_size=1, max_size=2))
    busy = [[sum(thread.values()) for thread in instance] for instance in instances]
    numbers: dict[str, Any] = {name: sum(thread[name] for each in instances for thread in each) for name in BUSY}
    numbers["spin_ns"] = draw(st.integers(0, numbers["cpu_ns"]))
    if counters:
        works = numbers["cpu_ns"] > numbers["spin_ns"]
        numbers |= {"instructions": draw(count) if works else 0, "cycles": draw(count) if works else 0}
    walls = sum(max(row) + draw(ns) for row in busy)
    return build.region(name, wall_ns=walls, busiest_busy_ns=sum(map(max, busy)), **numbers)


@st.composite
def models(draw: Draw, counters: bool | None = None) -> Model:
    """Any two programs of one or two regions, and the rest; each has counters, or not."""
    n: int = draw(threads)
    names = [*("ab"[: draw(st.integers(1, 2))]), REST]
    counted = {name: draw(st.booleans()) if counters is None else counters for name in names}
    sequential = tuple(draw(a_part(name, 1, counted[name])) for name in names)
    parallel = tuple(draw(a_part(name, min(n, 3), counted[name])) for name in names)
    return model_of(sequential, parallel, n)


def time_of(model: Model, *without: str) -> Fraction:
    time = model.time(without)
    assert time is not None
    return Fraction(time)


@some
@given(models())
def test_the_computed_speedup_is_the_ratio_of_the_times_of_the_primitives(model: Model) -> None:
    wall = sum(value_or_zero(sums["wall_ns"]) for sums in model.parallel.values())
    assume(wall > 0)
    assert model.time() == wall
    assert model.speedup() == Fraction(sum(value_or_zero(sums["wall_ns"]) for sums in model.sequential.values())) / wall


@some
@given(models())
def test_speedup_and_losses_add_up_to_the_number_of_threads(model: Model) -> None:
    assume(model.time())
    parts = stack(model)
    assert sum(parts.values()) == model.threads
    assert parts[SPEEDUP] == model.speedup()


@some
@given(models())
def test_removing_a_wait_never_makes_the_program_slower_and_more_never_less(model: Model) -> None:
    waits = ("lock_contention", "scheduling", "gc", "jit", "spinning", "waiting")
    for first, second in combinations(waits, 2):
        assert time_of(model, first, second) <= min(time_of(model, first), time_of(model, second))
        assert time_of(model, first) <= time_of(model)


@some
@given(models())
def test_removing_a_limit_helps_exactly_when_its_efficiency_is_below_one(model: Model) -> None:
    assume(model.time())
    for part in model.parts:
        for limit, efficiency in part.inflation.items():
            before, after = part.time(), part.time((limit,))
            assert (after < before) == (efficiency < 1 and before > 0)
        if not part.is_rest:
            assert (part.time(("load_balance",)) < part.time()) == (part.balance < 1 and part.time() > 0)


@some
@given(models())
def test_every_part_follows_the_formula_by_brute_force(model: Model) -> None:
    """The formula as the documentation has it, with efficiencies instead of times, for every single limit and pair."""
    for part in model.parts:
        if not part.work or not part.sequential_work:
            continue
        for without in [(), *((limit,) for limit in LIMITS), *combinations(LIMITS, 2)]:
            inflation: paper.Number = Fraction(1)
            for limit, efficiency in part.inflation.items():
                inflation *= 1 if limit in without else efficiency
            waits = Fraction(1)
            for limit, time in part.waits.items():
                share = 1 if limit in without else paper.ratio(part.work, part.work + value_or_zero(time))
                waits += 1 / Fraction(share) - 1
            balance = 1 if "load_balance" in without and part.name != REST else part.balance
            expected = part.sequential_work / inflation * waits / (part.threads * balance)
            assert part.time(without) == expected


@some
@given(models(counters=True))
def test_instructions_cpi_and_frequency_make_up_the_whole_inflation(model: Model) -> None:
    for part in model.parts:
        if part.work:
            product: paper.Number = Fraction(1)
            for efficiency in part.inflation.values():
                product *= efficiency
            assert product == Fraction(part.sequential_work) / part.work


@some
@given(models())
def test_possible_speedups_are_given_for_known_limits_only(model: Model) -> None:
    assume(model.time())
    possible, efficiencies = model.possible(), model.efficiencies()
    assert set(possible) == {*LIMITS, *GROUPS, "all"}
    assert set(efficiencies) == set(LIMITS)
    for limit in LIMITS:
        if efficiencies[limit] is None:
            assert possible[limit] is None
    counted = {part.is_counted for part in model.parts}
    unknown = {"work_inflation"} if False not in counted else set()
    unknown |= {*sum(GROUPS.values(), ()), "frequency"} if True not in counted else set()
    assert all(efficiencies[limit] is None for limit in unknown)


@some
@given(models(counters=True), st.sampled_from(["a", REST]))
def test_a_part_whose_counts_are_not_known_has_one_limit_for_both_and_the_others_keep_theirs(
    model: Model, name: str
) -> None:
    assume(model.counters and all(part.work and part.sequential_work for part in model.parts))
    unknown = dict.fromkeys(("instructions", "cycles", "busiest_instructions", "busiest_cycles"))
    sequential, parallel = ({**each, name: {**each[name], **unknown}} for each in (model.sequential, model.parallel))
    found = make_model(sequential, parallel, model.threads, counters=True)
    (part,) = (each for each in found.parts if each.name == name)
    assert part.inflation == {"work_inflation": paper.ratio(part.sequential_work, part.work)}
    assert [each for each in found.parts if each.name != name] == [each for each in model.parts if each.name != name]
    assert found.efficiencies()["work_inflation"] == part.inflation["work_inflation"]
    assert (found.time(), found.speedup()) == (model.time(), model.speedup())
    own = [limit for limit in (*sum(GROUPS.values(), ()), "frequency") if limit in LIMITS]
    assert found.time([*own, "work_inflation"]) == model.time(own)


@some
@given(
    st.fixed_dictionaries(
        {
            "parallel_fraction": st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=1000),
            "sequential_instruction_overhead": overheads, "parallel_instruction_overhead": overheads,
            "sequential_cpi_overhead": overheads, "parallel_cpi_overhead": overheads,
            "load_balance": shares, "lock_contention": shares,
        }
    ),
    threads,
)  # fmt: skip
def test_a_profile_with_exact_efficiencies_returns_them_and_equation_11(
    efficiencies: dict[str, Fraction], n: int
) -> None:
    sequential, parallel = build.with_efficiencies(efficiencies, n)
    model = make_model(sequential, parallel, n)
    found = model.efficiencies()
    for limit, efficiency in efficiencies.items():
        assert found[limit] == efficiency, limit
    assert found["frequency"] == found["scheduling"] == found["gc"] == found["jit"] == 1

    def equation_11(without: tuple[str, ...] = ()) -> paper.Number:
        e = {limit: Fraction(1) if limit in without else value for limit, value in efficiencies.items()}
        return paper.possible_speedup(
            e["parallel_fraction"], e["sequential_instruction_overhead"], e["sequential_cpi_overhead"],
            e["parallel_instruction_overhead"], e["parallel_cpi_overhead"], e["load_balance"], e["lock_contention"], n,
        )  # fmt: skip

    assert model.speedup() == equation_11()
    possible = model.possible()
    for limit in efficiencies:
        assert possible[limit] == equation_11((limit,)), limit
    for group, members in GROUPS.items():
        assert possible[group] == equation_11(members)
    pairs = {(first, second): speedup for first, second, speedup in model.pairs()}
    for pair, speedup in pairs.items():
        assert speedup == equation_11(tuple(each for limit in pair for each in GROUPS.get(limit, (limit,))))
    assert ("lock_contention", "cpi_overhead") in pairs
    assert ("instruction_overhead", "cpi_overhead") in pairs
    assert not any(first in GROUPS.get(second, ()) or second in GROUPS.get(first, ()) for first, second in pairs)
    assert possible["all"] == n


@some
@given(models(), st.integers(2, 9))
def test_units_do_not_matter(model: Model, factor: int) -> None:
    assume(model.time())

    def scaled(program: Mapping[str, Mapping[str, paper.Number | None]]) -> dict[str, dict[str, paper.Number | None]]:
        return {
            name: {key: None if value is None else value * factor for key, value in sums.items()}
            for name, sums in program.items()
        }

    other = make_model(scaled(model.sequential), scaled(model.parallel), model.threads)
    assert other.possible() == model.possible()
    assert other.efficiencies() == model.efficiencies()
    assert stack(other) == stack(model)


@some
@given(models())
def test_numbers_with_a_point_give_the_same_as_exact_ones(model: Model) -> None:
    """Intervals are made with floats: nothing in the formula may depend on fractions."""
    assume(model.time())

    def rounded(program: Mapping[str, Mapping[str, paper.Number | None]]) -> dict[str, dict[str, paper.Number | None]]:
        return {
            name: {key: None if value is None else float(value) for key, value in sums.items()}
            for name, sums in program.items()
        }

    other = make_model(rounded(model.sequential), rounded(model.parallel), model.threads)
    for limit, speedup in other.possible().items():
        exact = model.possible()[limit]
        assert (speedup is None) == (exact is None)
        if exact is not None and speedup is not None:
            assert float(speedup) == pytest.approx(float(exact), rel=1e-6)


@some
@given(models(), st.integers(1, 10**13))
def test_pop_efficiencies_multiply_up(model: Model, busiest: int) -> None:
    assume(model.time() and any(part.work for part in model.parts))
    run = RunPrimitives(threads=model.threads, number=1, wall_ns=1, regions=(), busiest_cpu_ns=busiest)
    found = pop(model, [run])
    assert found is not None
    assert found.load_balance is not None
    assert found.load_balance <= 1
    if found.communication is not None:
        assert found.load_balance * found.communication == pytest.approx(found.parallel)
    assert found.overall == pytest.approx(found.parallel * found.computation)
    if found.instructions is not None and found.ipc is not None and found.frequency is not None:
        assert found.instructions * found.ipc * found.frequency == pytest.approx(found.computation)
    time, work = model.time(), sum(part.sequential_work for part in model.parts)
    assert time is not None
    assert found.overall == pytest.approx(float(Fraction(work) / (time * model.threads)))


@some
@given(models(counters=True), st.data())
def test_imbalance_in_cycles_is_imbalance_in_instructions_times_that_in_cpi(model: Model, data: st.DataObject) -> None:
    count = st.integers(1, 10**12)
    parallel = {
        name: {**sums, "busiest_instructions": data.draw(count), "busiest_cycles": data.draw(count)}
        for name, sums in model.parallel.items()
    }
    instructions, cpi = make_model(model.sequential, parallel, model.threads, True).imbalance()
    rows = [sums for name, sums in parallel.items() if name != REST]
    cycles = sum(value_or_zero(row["cycles"]) for row in rows)
    assume(instructions and cycles)
    assert instructions is not None
    assert cpi is not None
    top = sum(value_or_zero(row["busiest_cycles"]) for row in rows)
    assert instructions * cpi == paper.load_balance(cycles, top, model.threads)


def test_every_number_of_a_region_is_averaged() -> None:
    assert set(NUMBERS) >= {*BUSY, "wall_ns", "spin_ns", "busiest_busy_ns", "instructions", "cycles", "cache_misses"}
    runs = [build.run(2, (build.region("a", wall_ns=10 * k, cpu_ns=k, instructions=None),)) for k in (1, 2, 4)]
    pooled = pool(runs)["a"]
    assert pooled["wall_ns"] == Fraction(70, 3)
    assert pooled["instructions"] is None
