"""The published tables of PerfUtil's author (5.8 to 5.12, 5.7, 6.1): ratios made of counts are those that are printed."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import pytest

from headway.analyses.counters.metrics import METRICS, imbalance, metrics_of

HERE = Path(__file__).resolve().parent
INSTRUCTIONS = 1e9
PER_THOUSAND = INSTRUCTIONS / 1000


def rows(name: str) -> dict[str, dict[str, str]]:
    with open(HERE / name, encoding="utf-8") as file:
        return {row["program"]: row for row in csv.DictReader(file)}


LOCALITY, MIX = rows("numa_locality.csv"), rows("numa_instructions.csv")
GEOMETRIC_MEANS = {
    "dacapo": {
        "CPI": 0.77, "branch MPKI": 1.71, "data TLB MPKI": 0.96, "L1D MPKI": 12.83, "L2 MPKI": 4.95, "LLC MPKI": 0.68,
        "L1D miss rate": 0.028, "L2 miss rate": 0.386, "LLC miss rate": 0.138,
    },
    "renaissance": {
        "CPI": 0.71, "branch MPKI": 1.20, "data TLB MPKI": 0.34, "L1D MPKI": 12.34, "L2 MPKI": 3.51, "LLC MPKI": 1.12,
        "L1D miss rate": 0.0274, "L2 miss rate": 0.2845, "LLC miss rate": 0.3192, "load instructions": 0.2871,
        "store instructions": 0.1576, "memory instructions": 0.4487, "branch instructions": 0.1584,
        "arithmetic instructions": 0.3856,
    },
}  # fmt: skip
"""The last rows of tables 5.8, 5.11 and 5.12: means over the programs of a suite."""


def counts_of(program: str) -> dict[str, float]:
    """Return counts of a program such that a table has its row: each is made of one printed figure of misses or accesses."""
    row, mix = LOCALITY[program], MIX[program]
    total = float(mix["instructions"])
    loads, stores = (float(mix[each]) / 100 * total for each in ("l1d_reads_pct", "l1d_writes_pct"))
    misses = {
        "branch_misses": "bpu_mpki", "L1_dcache_load_misses": "l1_mpki", "LLC_loads": "l2_mpki",
        "LLC_load_misses": "llc_mpki", "dTLB_load_misses": "dtlb_mpki",
    }  # fmt: skip
    return {
        "instructions": total,
        "cycles": float(row["cpi"]) * total,
        "branches": float(mix["branch_pct"]) / 100 * total,
        "L1_dcache_loads": loads,
        "L1_dcache_stores": stores,
        "accesses": float(mix["memory_pct"]) / 100 * total,
        **{event: float(row[column]) * total / 1000 for event, column in misses.items()},
    }


def metric(name: str, **counts: float) -> float:
    plain = {event.replace("_", "-"): value for event, value in counts.items()}
    found = next(each for each in METRICS if each.name == name)
    value = found.value(plain)
    assert value is not None
    return value


@pytest.mark.parametrize("program", LOCALITY)
def test_misses_and_their_rates_are_those_of_the_published_table(program: str) -> None:
    row, mix = LOCALITY[program], MIX[program]
    l2, llc = float(row["l2_mpki"]), float(row["llc_mpki"])
    misses = {"LLC_load_misses": llc * PER_THOUSAND, "LLC_loads": l2 * PER_THOUSAND, "instructions": INSTRUCTIONS}
    assert metric("LLC MPKI", **misses) == pytest.approx(llc)
    rounding = 0.5 * (0.01 / llc + 0.01 / l2) * 100 * llc / l2 + 0.05  # of both figures and of the rate, in percent
    assert 100 * metric("LLC miss rate", **misses) == pytest.approx(float(row["llc_miss_pct"]), abs=rounding)
    l1 = float(row["l1_mpki"])
    of_l2 = {"LLC_loads": l2 * PER_THOUSAND, "L1_dcache_load_misses": l1 * PER_THOUSAND, "instructions": INSTRUCTIONS}
    assert metric("L2 MPKI", **of_l2) == pytest.approx(l2)
    rounding = 0.5 * (0.01 / l2 + 0.01 / l1) * 100 * l2 / l1 + 0.05
    assert 100 * metric("L2 miss rate", **of_l2) == pytest.approx(float(row["l2_miss_pct"]), abs=rounding)
    branches = {"branch_misses": float(row["bpu_mpki"]) * PER_THOUSAND, "instructions": INSTRUCTIONS}
    assert metric("branch MPKI", **branches) == pytest.approx(float(row["bpu_mpki"]))
    accesses = float(mix["memory_pct"]) / 100 * INSTRUCTIONS
    for name, events, printed in (
        ("L1D", ("L1_dcache_load_misses", "L1_dcache_loads"), ("l1_mpki", "l1_miss_pct")),
        ("data TLB", ("dTLB_load_misses", "dTLB_loads"), ("dtlb_mpki", "dtlb_miss_pct")),
    ):
        mpki, rate = (float(row[each]) for each in printed)
        counts = {events[0]: mpki * PER_THOUSAND, events[1]: accesses, "instructions": INSTRUCTIONS}
        assert metric(f"{name} MPKI", **counts) == pytest.approx(mpki)
        # The share of memory instructions is printed as a whole percentage.
        rounding = rate * 0.5 / float(mix["memory_pct"]) + 0.05 + 0.5e-3
        assert 100 * metric(f"{name} miss rate", **counts) == pytest.approx(rate, abs=rounding)
    assert metric("CPI", cycles=float(row["cpi"]) * INSTRUCTIONS, instructions=INSTRUCTIONS) == pytest.approx(
        float(row["cpi"])
    )


@pytest.mark.parametrize("program", MIX)
def test_the_instruction_mix_adds_up_as_equation_5_2_has_it(program: str) -> None:
    row = MIX[program]
    total = float(row["instructions"])
    branches, memory = (float(row[each]) / 100 * total for each in ("branch_pct", "memory_pct"))
    counts = {
        "instructions": total,
        "L1_dcache_loads": memory / 2,
        "L1_dcache_stores": memory / 2,
        "branches": branches,
    }
    arithmetic = 100 * metric("arithmetic instructions", **counts)
    assert arithmetic == pytest.approx(
        float(row["arithmetic_pct"]), abs=1.5
    )  # three figures, each rounded to a whole one
    assert 100 * metric("memory instructions", **counts) == pytest.approx(float(row["memory_pct"]))
    assert 100 * metric("branch instructions", **counts) == pytest.approx(float(row["branch_pct"]))


@pytest.mark.parametrize("program", [each for each, row in MIX.items() if row["suite"] == "renaissance"])
def test_loads_stores_and_branches_leave_the_arithmetic_that_is_printed(program: str) -> None:
    """Table 5.11 has two decimals, so that equation 5.2 holds to the last of them; loads and stores of table 5.7 don't add up."""
    row, counts = MIX[program], counts_of(program)
    for name, column in (("load", "l1d_reads"), ("store", "l1d_writes"), ("memory", "memory"), ("branch", "branch")):
        assert 100 * metric(f"{name} instructions", **counts) == pytest.approx(float(row[f"{column}_pct"]), abs=0.0151)
    assert 100 * metric("arithmetic instructions", **counts) == pytest.approx(float(row["arithmetic_pct"]), abs=0.0251)


@pytest.mark.parametrize(("suite", "name"), [(suite, name) for suite, each in GEOMETRIC_MEANS.items() for name in each])
def test_geometric_means_of_each_ratio_are_those_printed(suite: str, name: str) -> None:
    """Of the figures of every program; the data TLB's rates are printed with too few digits for a mean of them."""
    programs = [program for program, row in MIX.items() if row["suite"] == suite]
    counts = [counts_of(each) for each in programs]
    if name == "L1D miss rate":  # the author divides all misses by all accesses
        counts = [{**each, "L1_dcache_loads": each["accesses"]} for each in counts]
    mean = statistics.geometric_mean(metric(name, **each) for each in counts)
    printed = GEOMETRIC_MEANS[suite][name]
    # Half of the last digit that is printed, and what the rounding of the programs' own figures makes of it.
    assert mean == pytest.approx(printed, rel=0.5 * 0.01 / 0.34 if "TLB" in name else 0.01)


def test_one_thread_of_eight_that_does_everything_is_as_imbalanced_as_printed() -> None:
    # par-mnemonics: "only one worker thread processes" nearly all; 265 % is the most that eight threads can have.
    with open(HERE / "numa_parallelism_balance.csv", encoding="utf-8") as file:
        printed = {row["application"]: row for row in csv.DictReader(file)}
    value = imbalance([1.0, *[0.0] * 7])
    assert value is not None
    assert round(100 * value) == int(printed["par-mnemonics"]["imbalance_instructions_pct"])


def test_every_printed_imbalance_can_be_that_of_so_many_workers() -> None:
    """Of N threads it is 0 to sqrt(N - 1); two kinds of threads that give the printed figure give it back."""
    with open(HERE / "numa_parallelism_balance.csv", encoding="utf-8") as file:
        printed = [row for row in csv.DictReader(file) if row["workers"] != "0"]
    assert len(printed) > 20
    for row in printed:
        workers = int(row["workers"].split("-")[-1])
        for column in ("imbalance_cycles_pct", "imbalance_instructions_pct", "imbalance_object_accesses_pct"):
            wanted = float(row[column]) / 100
            assert wanted <= (workers - 1) ** 0.5 + 0.005, row["application"]
            # One thread with 1 + a of the mean, the others with 1 - a / (N - 1): the deviation is a / sqrt(N - 1).
            above = min(wanted * (workers - 1) ** 0.5, workers - 1)
            values = [1e9 * (1 + above), *[1e9 * (1 - above / (workers - 1))] * (workers - 1)]
            found = imbalance(values)
            assert found is not None
            assert round(100 * found) == round(100 * wanted), row["application"]
            assert found == pytest.approx(statistics.pstdev(values) / statistics.fmean(values))


def test_equal_threads_are_balanced_and_one_thread_has_no_balance() -> None:
    assert imbalance([5.0, 5.0, 5.0]) == 0.0
    assert imbalance([5.0]) is None
    assert imbalance([]) is None
    assert imbalance([1.0, 3.0]) == pytest.approx(0.5)


def test_ratios_are_formed_inside_one_group_only() -> None:
    assert [each.name for each in metrics_of(["cycles", "instructions"])] == ["CPI"]
    assert metrics_of(["cycles", "branches"]) == []
    assert metrics_of(["cycles:u", "instructions:k"]) == []
    assert [each.name for each in metrics_of(["cpu-cycles:u", "instructions:u"])] == ["CPI"]
