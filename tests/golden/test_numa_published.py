"""The published figures that come with headway are those of the tables, cell by cell, and give the printed geometric means."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from headway.analyses.numa.published import geometric_mean, published, published_values, second_node_of
from headway.analyses.numa.types import QUESTIONS

HERE = Path(__file__).resolve().parent
OF_31 = ("allocations", "accesses", "instructions", "locality")
TABLES = (*OF_31, "categories", "migrations")
PRINTED = {
    "dacapo": {  # the last lines of tables 5.5 to 5.8
        "objects_k": "27474", "mb": "2085.7", "objects_k_per_s": "3715.1", "mb_per_s": "281.9", "average_object_bytes": "79.6",
        "array_rate_pct": "22.6", "average_array_length": "34.7", "accesses_m": "2378", "accesses_m_per_s": "322",
        "instructions": "67741600233", "cpi": "0.77", "bpu_mpki": "1.71", "l1_mpki": "12.83", "l2_mpki": "4.95",
        "llc_mpki": "0.68",
        "llc_accesses_per_k_object_ops": "138", "memory_accesses_per_k_object_ops": "19",
    },
    "renaissance": {  # tables 5.9 to 5.12
        "objects_k": "101155", "mb": "5216", "objects_k_per_s": "12271", "mb_per_s": "633", "average_object_bytes": "54",
        "average_array_length": "40", "accesses_m": "2405", "accesses_m_per_s": "292",
        "instructions": "72999411837", "memory_pct": "44.87", "cpi": "0.71", "bpu_mpki": "1.20", "l1_mpki": "12.34",
        "l2_mpki": "3.51",
        "llc_mpki": "1.12", "llc_accesses_per_k_object_ops": "106", "memory_accesses_per_k_object_ops": "34",
    },
}  # fmt: skip


BEYOND_ROUNDING = 0.0003
"""How far the printed mean of the MB of DaCapo's programs is off from that of the printed figures, beyond rounding."""


def rows_of_31() -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for table in OF_31:
        with open(HERE / f"numa_{table}.csv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["program"], {}).update(row)
    return [*found.values()]


def ends(cell: str) -> tuple[float, float]:
    """Return the least and the most that a printed figure stands for."""
    exponent = Decimal(cell).as_tuple().exponent
    assert isinstance(exponent, int)
    half = 0.5 * 10.0**exponent
    return float(cell) - half, float(cell) + half


@pytest.mark.parametrize("table", TABLES)
def test_every_figure_is_that_of_the_table(table: str) -> None:
    have = {each.name: each for each in published()}
    with open(HERE / f"numa_{table}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == {"categories": 30, "migrations": 15}.get(table, 31)
    for row in rows:
        program = have[row.get("program") or row["application"]]
        assert row.get("suite", program.suite) == program.suite
        for column, cell in row.items():
            if column in QUESTIONS:
                assert program.classes[QUESTIONS.index(column)] == (cell or None)
            elif column not in ("suite", "program", "application"):
                assert program.figures.get(column) == (float(cell) if cell else None), (program.name, column)


def test_there_is_nothing_beside_the_tables() -> None:
    with open(HERE / "numa_categories.csv", encoding="utf-8", newline="") as file:
        classified = {row["application"] for row in csv.DictReader(file)}
    assert len(published()) == 31
    assert {each.name for each in published() if any(each.classes)} == classified
    assert sum(len(each.figures) for each in published()) == 31 * (7 + 5 + 6 + 12) + 31 + 23 + 2 * 15


@pytest.mark.parametrize(("suite", "column"), [(suite, column) for suite, each in PRINTED.items() for column in each])
def test_the_geometric_mean_of_a_column_is_the_printed_one(suite: str, column: str) -> None:
    low, high = ends(PRINTED[suite][column])
    cells = [row[column] for row in rows_of_31() if row["suite"] == suite]
    least, most = (geometric_mean([ends(cell)[side] for cell in cells]) for side in (0, 1))
    mean = geometric_mean(published_values(column, suite))
    assert least is not None
    assert mean is not None
    assert most is not None
    assert least < mean < most
    assert least <= high * (1 + BEYOND_ROUNDING)
    assert most >= low * (1 - BEYOND_ROUNDING)


def test_iterations_are_those_of_table_5_3() -> None:
    printed = {
        70: {"chi-square", "scala-stm-bench7"}, 90: {"rx-scrabble"}, 34: {"akka-uct"},
        60: {"future-genetic", "scrabble", "scala-kmeans"},
        50: {"fop", "luindex", "gauss-mix", "dotty"}, 40: {"als", "naive-bayes", "fj-kmeans", "philosophers"},
        30: {"avrora", "jython", "lusearch", "lusearch-fix", "pmd", "sunflow", "xalan",
             "log-regression", "movie-lens", "neo4j-analytics"},
        26: {"db-shootout", "mnemonics", "par-mnemonics"}, 20: {"h2", "reactors", "scala-doku"},
    }  # fmt: skip
    for each in published():
        assert each.name in printed[int(each.figures["iterations"])], each.name
    assert sum(map(len, printed.values())) == 31


def test_a_mean_with_a_zero_is_none() -> None:
    assert geometric_mean(published_values("shared_writes_pct", "dacapo")) is None
    assert geometric_mean([]) is None
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_speeds_of_the_same_classes_leave_the_program_itself_out() -> None:
    found = second_node_of("sunflow", ("explicitly-parallel", "read-only", "no"))
    assert found is not None
    assert (found.programs, found.slowest, found.fastest) == (("lusearch",), 1.29, 1.29)
    found = second_node_of("mine", ("explicitly-parallel", "read-only", "no"))
    assert found is not None
    assert (found.slowest, found.fastest) == (1.29, 1.87)
    assert second_node_of("scrabble", ("explicitly-parallel", "read-only", "yes")) is None
    part = second_node_of("mine", ("explicitly-parallel", None, "no"))
    assert part is not None
    assert not part.by_all_classes
    assert (part.slowest, part.fastest, len(part.programs)) == (0.59, 1.87, 7)
    assert second_node_of("mine", (None, "read-only", "no")) is None
