"""Possible speedups with counters measured elsewhere, against figures worked out by hand from the paper's equations."""

from __future__ import annotations

from fractions import Fraction

import pytest

from headway.analyses.regions.primitives import REST, RegionPrimitives
from headway.analyses.speedups import equations as paper
from headway.analyses.speedups.analysis import answer
from headway.analyses.speedups.types import AtThreads
from support.builders import primitives_builder as build

S = 10**9
# A sequential program at 2 GHz: 2 s before and after (CPI 2), 8 s to be made parallel (CPI 1.6).
SEQUENTIAL = (
    build.region("loop", wall_ns=8 * S, cpu_ns=8 * S, instructions=10 * S, cycles=16 * S),
    build.region(REST, wall_ns=2 * S, cpu_ns=2 * S, instructions=2 * S, cycles=4 * S),
)
# With 4 threads: a quarter more instructions in both fractions, a CPI of 2 instead of 1.6 in the loop, a fifth of the time
# there waiting for locks, and a busiest thread with a quarter more than the mean. Each efficiency is 0.8.
PARALLEL = (
    build.region(
        "loop", wall_ns=4_882_812_500, cpu_ns=12_500_000_000, lock_wait_ns=3_125_000_000, busiest_busy_ns=4_882_812_500,
        instructions=12_500_000_000, cycles=25 * S, busiest_instructions=3_750_000_000, busiest_cycles=7_812_500_000,
    ),
    build.region(REST, wall_ns=2_500_000_000, cpu_ns=2_500_000_000, instructions=2_500_000_000, cycles=5 * S),
)  # fmt: skip
PARALLEL_TIME = 7.3828125  # s: 0.2/0.8 + 0.8/(0.8^4 * 4) of 10 s


@pytest.fixture(scope="module")
def row() -> AtThreads:
    result = answer(build.sweep_runs([SEQUENTIAL], {4: [PARALLEL]}))
    assert result.counters
    return result.rows[0]


def test_the_equations_of_the_paper_one_by_one() -> None:
    assert paper.speedup(10, 4) == Fraction(5, 2)
    assert paper.efficiency(Fraction(5, 2), 4) == Fraction(5, 8)
    assert paper.parallel_fraction(16, 20) == Fraction(4, 5)
    assert paper.sequential_instruction_overhead(2, Fraction(5, 2)) == Fraction(4, 5)
    assert paper.parallel_instruction_overhead(10, Fraction(25, 2)) == Fraction(4, 5)
    assert paper.cpi(16, 10) == Fraction(8, 5)
    assert paper.sequential_cpi_overhead(2, 2) == 1
    assert paper.parallel_cpi_overhead(Fraction(8, 5), 2) == Fraction(4, 5)
    assert paper.load_balance(40, Fraction(25, 2), 4) == Fraction(4, 5)
    assert paper.lock_contention(2, 10) == Fraction(4, 5)
    e = Fraction(4, 5)
    assert paper.possible_speedup(e, e, 1, e, e, e, e, 4) == Fraction(10_000_000_000, 7_382_812_500)


def test_every_efficiency_is_the_one_worked_out_by_hand(row: AtThreads) -> None:
    assert row.efficiencies == {
        "parallel_fraction": 0.8,
        "sequential_instruction_overhead": 0.8,
        "parallel_instruction_overhead": 0.8,
        "sequential_cpi_overhead": 1.0,
        "parallel_cpi_overhead": 0.8,
        "work_inflation": None,
        "load_balance": 0.8,
        "lock_contention": 0.8,
        "scheduling": 1.0,
        "gc": 1.0,
        "jit": 1.0,
        "spinning": 1.0,
        "waiting": 1.0,
        "frequency": 1.0,
    }


def test_every_possible_speedup_is_the_one_worked_out_by_hand(row: AtThreads) -> None:
    assert row.computed_speedup == pytest.approx(10 / PARALLEL_TIME)
    assert row.real_speedup == pytest.approx(10 / PARALLEL_TIME)
    expected = {
        "parallel_fraction": 1.6384,
        "sequential_instruction_overhead": 1 / 0.68828125,
        "parallel_instruction_overhead": 1 / 0.640625,
        "instruction_overhead": 1 / 0.590625,
        "cpi_overhead": 1 / 0.640625,
        "load_balance": 1 / 0.640625,
        "lock_contention": 1 / 0.640625,
        "scheduling": 1 / 0.73828125,
        "all": 4.0,
    }
    for limit, speedup in expected.items():
        assert row.possible[limit] == pytest.approx(speedup), limit
    both = next(pair for pair in row.pairs if set(pair.limits) == {"load_balance", "lock_contention"})
    assert both.speedup == pytest.approx(1 / 0.5625)


def test_the_stack_is_the_one_worked_out_by_hand(row: AtThreads) -> None:
    lost = {
        "parallel_fraction": 7.5,
        "sequential_instruction_overhead": 0.5,
        "parallel_instruction_overhead": 2.0,
        "parallel_cpi_overhead": 2.5,
        "lock_contention": 3.125,
        "load_balance": 3.90625,
        "speedup": 10.0,
    }
    assert sum(lost.values()) == 4 * PARALLEL_TIME
    for limit, seconds in lost.items():
        assert row.stack[limit] == pytest.approx(seconds / PARALLEL_TIME), limit
    assert sum(row.stack.values()) == pytest.approx(4)


def test_imbalance_is_split_into_more_instructions_and_slower_ones(row: AtThreads) -> None:
    """The busiest threads: 3.75e9 instructions against a mean of 3.125e9, at a CPI of 2.0833 against 2."""
    assert row.imbalance["instructions"] == pytest.approx(3.125 / 3.75)
    assert row.imbalance["cpi"] == pytest.approx(2 / (7.8125 / 3.75))
    assert row.metrics.cpi == pytest.approx(30 / 15)


def test_the_same_program_without_counters_has_one_limit_for_all_inflation() -> None:
    def plain(regions: tuple[RegionPrimitives, ...]) -> tuple[RegionPrimitives, ...]:
        return tuple(
            build.region(
                each.name, wall_ns=each.wall_ns, cpu_ns=each.cpu_ns, lock_wait_ns=each.lock_wait_ns,
                busiest_busy_ns=each.busiest_busy_ns,
            )
            for each in regions
        )  # fmt: skip

    result = answer(build.sweep_runs([plain(SEQUENTIAL)], {4: [plain(PARALLEL)]}))
    row = result.rows[0]
    assert not result.counters
    assert row.efficiencies["work_inflation"] == pytest.approx(10 / 15)
    assert row.possible["work_inflation"] == pytest.approx(1 / (0.2 + 0.8 / (0.64 * 4)))
    for limit in ("instruction_overhead", "cpi_overhead", "parallel_cpi_overhead", "frequency"):
        assert row.possible[limit] is None
    assert "HW466" in {notice.id for notice in result.notices}


def test_a_slower_clock_in_the_parallel_runs_is_no_memory_limit() -> None:
    slower = tuple(
        build.region(each.name, wall_ns=2 * each.wall_ns, cpu_ns=2 * each.cpu_ns, busiest_busy_ns=2 * each.wall_ns,
                    instructions=each.instructions, cycles=each.cycles)
        for each in SEQUENTIAL
    )  # fmt: skip
    row = answer(build.sweep_runs([SEQUENTIAL], {1: [slower]})).rows[0]
    assert row.efficiencies["frequency"] == 0.5
    assert row.efficiencies["parallel_cpi_overhead"] == row.efficiencies["parallel_instruction_overhead"] == 1
    assert row.possible["frequency"] == pytest.approx(2 * row.computed_speedup)
