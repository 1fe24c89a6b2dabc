"""Derived columns of tables 5.5 to 5.12 from the others, and the memory-intensive programs that the author names.

Each printed figure stands for an interval of half a unit of its last digit to either side. What is made of intervals is an
interval; the printed result has to overlap it.
"""

from __future__ import annotations

import csv
import itertools
from decimal import Decimal
from pathlib import Path

import pytest

from headway.analyses.numa.analysis import classify_tables
from headway.analyses.numa.memory import DERIVED, SHOWN, derive

HERE = Path(__file__).resolve().parent
TABLES = tuple(HERE / f"numa_{name}.csv" for name in ("allocations", "accesses", "instructions", "locality"))
BEYOND_ROUNDING = {
    "mb_per_s": 0.0005,
    "dtlb_miss_pct": 0.01,
    "l1_miss_pct": 0.03,
    "llc_accesses_per_k_object_ops": 0.12,
    "memory_accesses_per_k_object_ops": 0.12,
}
"""How far printed figures are off beyond rounding: they are means of the ratios of ten iterations, not ratios of the means."""


def cells() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for path in TABLES:
        with open(path, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["program"], {}).update(row)
    return found


CELLS = cells()
FOUND = {each.application: each for each in classify_tables(TABLES).programs}


def ends(cell: str) -> tuple[float, float]:
    """Return the least and the most that a printed figure stands for."""
    exponent = Decimal(cell).as_tuple().exponent
    assert isinstance(exponent, int)
    half = 0.5 * 10.0**exponent
    return float(cell) - half, float(cell) + half


@pytest.mark.parametrize("column", DERIVED)
def test_a_derived_column_is_the_printed_one_but_for_rounding(column: str) -> None:
    needed, _ = DERIVED[column]
    for program, row in CELLS.items():
        made = [
            derive(dict(zip(needed, values, strict=True)))[column]
            for values in itertools.product(*(ends(row[name]) for name in needed))
        ]
        low, high = ends(row[column])
        more = BEYOND_ROUNDING.get(column, 0.0) * float(row[column])
        assert min(made) <= high + more, program
        assert max(made) >= low - more, program


def test_a_derived_figure_of_a_program_is_what_one_works_out_by_hand() -> None:
    # avrora: 406.7 x 2^20 bytes by 9,320,000 objects; 9320 by 419.9 is 22.2 s; 100 - 56 - 15.
    made = derive(
        {
            "mb": 406.7,
            "objects_k": 9320,
            "objects_k_per_s": 419.9,
            "accesses_m": 4865,
            "memory_pct": 56,
            "branch_pct": 15,
        }
    )
    assert made["average_object_bytes"] == pytest.approx(45.76, abs=0.005)
    assert made["mb_per_s"] == pytest.approx(18.32, abs=0.005)
    assert made["accesses_m_per_s"] == pytest.approx(219.2, abs=0.05)
    assert made["arithmetic_pct"] == 29


def test_nothing_is_divided_by_nothing() -> None:
    assert derive({"mb": 1.0, "objects_k": 0.0, "objects_k_per_s": 0.0, "l1_mpki": 0.0, "l2_mpki": 0.0}) == {}
    assert derive({"memory_pct": 80.0, "branch_pct": 30.0}) == {}  # more than all instructions
    assert derive({"mb": 1e18, "objects_k": 1e-300, "objects_k_per_s": 1e18}) == {}  # no number has room for it


def test_loads_and_stores_make_the_memory_instructions_in_one_suite_only() -> None:
    """Table 5.11 adds up; in table 5.7 no program does, but for rounding, which is why memory_pct is read and not made."""
    off = {
        suite: sum(
            abs(float(row["l1d_reads_pct"]) + float(row["l1d_writes_pct"]) - float(row["memory_pct"])) > 1.5
            for row in CELLS.values()
            if row["suite"] == suite
        )
        for suite in ("dacapo", "renaissance")
    }
    assert off == {"dacapo": 10, "renaissance": 0}


def test_equation_5_1_names_the_programs_that_the_author_names() -> None:
    intensive = {each.application for each in FOUND.values() if each.memory_intensive}
    assert intensive == {
        "lusearch", "lusearch-fix", "sunflow", "xalan",  # section 5.3.1
        "akka-uct", "gauss-mix", "naive-bayes", "db-shootout", "scrabble", "neo4j-analytics", "philosophers",  # figure 5.1
    }  # fmt: skip


def test_a_program_stands_beside_the_published_ones() -> None:
    memory = FOUND["sunflow"].memory
    assert [*memory] == [*SHOWN]
    rate = memory["accesses_m_per_s"]
    assert (rate.value, rate.most, rate.below, rate.programs, rate.derived) == (1847, 1847, 30, 31, False)
    assert rate.geometric_mean == pytest.approx(322, abs=0.5)  # of DaCapo
    assert memory["shared_writes_pct"].geometric_mean is None
    assert memory["array_rate_pct"].below == 6  # 0.05, 0.11, 1, 1, 2, 2


def test_what_a_table_lacks_is_made_of_other_columns_or_left_out(tmp_path: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("program,objects_k,mb,objects_k_per_s,accesses_m\nmine,1000,1,500,64\n")
    (found,) = classify_tables([table]).programs
    assert {name: (each.value, each.derived) for name, each in found.memory.items()} == {
        "objects_k_per_s": (500, False), "mb_per_s": (0.5, True),
        "average_object_bytes": (pytest.approx(1.048576), True), "accesses_m_per_s": (32, True),
    }  # fmt: skip
    assert found.memory_intensive is False
