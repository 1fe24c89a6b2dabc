"""`headway memory` of recordings that hold what the published tables say of a program: the printed figures come out again."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from headway.analyses.memory.analysis import memory
from headway.store import open_recording
from support.builders.memory_builder import Worker, memory_recording

HERE = Path(__file__).resolve().parent
GROUPS = (
    ("cycles", "instructions", "branches", "branch-misses"),
    ("instructions", "branches", "L1-dcache-loads", "L1-dcache-stores"),
    ("instructions", "L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses"),
)
PRINTED = ("objects_k_per_s", "mb_per_s", "average_object_bytes", "array_rate_pct", "average_array_length")
COUNTED = ("branch_pct", "arithmetic_pct", "cpi", "bpu_mpki", "l1_mpki", "l2_mpki", "llc_mpki")


def table(name: str) -> dict[str, dict[str, str]]:
    with open(HERE / f"numa_{name}.csv", encoding="utf-8", newline="") as file:
        return {row["program"]: row for row in csv.DictReader(file)}


ALLOCATED, INSTRUCTIONS, MISSES = table("allocations"), table("instructions"), table("locality")


def half_a_digit(cell: str) -> float:
    exponent = Decimal(cell).as_tuple().exponent
    assert isinstance(exponent, int)
    return 0.5 * 10.0**exponent


@pytest.mark.parametrize("program", ["sunflow", "xalan", "h2", "akka-uct"])
def test_a_program_s_printed_figures_come_out_of_its_totals(program: str, tmp_path: Path) -> None:
    allocated, mix, misses = ALLOCATED[program], INSTRUCTIONS[program], MISSES[program]
    objects = round(float(allocated["objects_k"]) * 1e3)
    arrays = round(objects * float(allocated["array_rate_pct"]) / 100)
    wall_ns = round(float(allocated["objects_k"]) / float(allocated["objects_k_per_s"]) * 1e9)
    of, every = 10**9, 10**6  # instructions, of which the parts are whole numbers
    memory_pct = 100 - float(mix["arithmetic_pct"]) - float(mix["branch_pct"])
    loads, stores = (round(of * share * memory_pct / 100) for share in (0.75, 0.25))
    branches = round(of * float(mix["branch_pct"]) / 100)
    first = (round(of * float(misses["cpi"])), of, branches, round(every * float(misses["bpu_mpki"])))
    levels = tuple(round(every * float(misses[f"{each}_mpki"])) for each in ("l1", "l2", "llc"))
    counts = (*first, of, branches, loads, stores, of, loads, *levels)
    worker = Worker(
        "main",
        1,
        min(wall_ns, 10**9),
        counts,
        objects,
        round(float(allocated["mb"]) * (1 << 20)),
        arrays,
        round(arrays * float(allocated["average_array_length"])),
    )
    found = memory(open_recording(memory_recording(tmp_path / "a.headway", [worker], wall_ns, GROUPS)))
    for name in (*PRINTED, *COUNTED):
        printed = next(each for each in (ALLOCATED, INSTRUCTIONS, MISSES) if name in each[program])
        cell, figure = printed[program][name], found.figure(name)
        assert figure.value == pytest.approx(float(cell), abs=half_a_digit(cell) * 1.2, rel=0.0005), name
        assert figure.value is not None
        assert figure.published is not None
        below = len([row for row in printed.values() if float(row[name]) < figure.value])
        assert (figure.published.below, figure.published.programs) == (below, len(printed))
        assert figure.is_least == (name in ("l1_mpki", "l2_mpki", "llc_mpki"))
