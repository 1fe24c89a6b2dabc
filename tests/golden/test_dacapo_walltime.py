"""E(k2) for the paper's nine DaCapo benchmarks, against the case table of the paper worked out here by hand.

Peternier et al., ICPE 2013, figure 1 holds the levels (one core), section 3 the cases. The paper prints no predicted
seconds, so the oracle is an independent computation: exact fractions of the printed decimals, each case spelled out, none
of headway's code.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from headway.analyses.scheduling.walltime import walltime_of_levels
from headway.cli.main import invoke

TABLE = Path(__file__).parent / "parallelism_dacapo_k1.csv"
BENCHMARKS = ("batik", "fop", "h2", "jython", "luindex", "lusearch", "pmd", "sunflow", "xalan")
# Figure 1's last line: seconds on one core as printed, rounded to three decimals.
PRINTED = (36.473, 25.654, 58.582, 52.653, 30.373, 80.266, 51.804, 116.654, 54.200)


def printed_levels(benchmark: str) -> Iterator[tuple[int, Fraction]]:
    with open(TABLE, newline="") as file:
        for row in csv.DictReader(file):
            if row["active_threads"] != "tot":
                yield int(row["active_threads"]), Fraction(row[benchmark] or "0")


def by_the_case_table(benchmark: str, k1: int, k2: int) -> Fraction:
    total = Fraction(0)
    for j, seconds in printed_levels(benchmark):
        if j <= min(k1, k2):
            total += seconds
        elif k1 <= k2:  # and k1 <= j
            total += seconds * k1 / (j if j < k2 else k2)
        else:  # k2 <= k1 and k2 <= j
            total += seconds * (j if j < k1 else k1) / k2
    return total


@pytest.mark.parametrize("benchmark", BENCHMARKS)
@pytest.mark.parametrize("k2", [1, 2, 3, 4])
def test_a_dacapo_prediction_equals_the_case_table_worked_out_by_hand(benchmark: str, k2: int) -> None:
    result = walltime_of_levels(TABLE, benchmark, 1, [k2])
    assert result.predictions[0].ns == round(by_the_case_table(benchmark, 1, k2) * 10**9)


@pytest.mark.parametrize(("benchmark", "printed"), list(zip(BENCHMARKS, PRINTED, strict=True)))
def test_on_one_core_the_prediction_is_the_total_that_the_paper_prints(benchmark: str, printed: float) -> None:
    result = walltime_of_levels(TABLE, benchmark, 1, [1])
    assert result.predictions[0].ns == result.measured_ns
    assert abs(result.measured_ns / 1e9 - printed) <= 0.0005 + 10 * 0.00005
    assert [notice.id for notice in result.notices] == ["HW419"]


def test_the_command_gives_the_same_figures_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["walltime", "--levels", str(TABLE), "--column", "xalan", "--recorded-cores", "1"]
    assert invoke([*arguments, "--cores", "2,3,4", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [each["ns"] for each in data["predictions"]] == [
        round(by_the_case_table("xalan", 1, k2) * 10**9) for k2 in (2, 3, 4)
    ]
    assert data["recorded_cores"] == 1
    # Nothing is known of the runs behind a published table: the uncertainty is unknown, not zero.
    assert {(each["low_ns"], each["high_ns"], each["withheld"]) for each in data["predictions"]} == {(None, None, None)}


@pytest.mark.parametrize("benchmark", ["sunflow", "xalan"])
def test_a_prediction_from_more_cores_to_fewer_follows_the_third_case(benchmark: str) -> None:
    """The table holds one core's levels; read as if from four cores, it exercises the case that it never reaches."""
    result = walltime_of_levels(TABLE, benchmark, 4, [1, 2, 3])
    wanted = [round(by_the_case_table(benchmark, 4, k2) * 10**9) for k2 in (1, 2, 3)]
    assert [each.ns for each in result.predictions] == wanted
