"""The published tables of the park-contention paper (5.1 and 5.4): every derived column follows from the others.

The program's time and each lock's life are not printed. They are taken from one column each, and must then give all the
others, within what rounding to the printed digits allows.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from headway.analyses.locks.metrics import Metrics, metrics
from headway.model.lock_sums import LockSums

HERE = Path(__file__).resolve().parent
MS = 1_000_000


@dataclass(frozen=True)
class Row:
    table: str
    text: dict[str, str]

    def value(self, column: str) -> float:
        return float(self.text[column])

    def half_digit(self, column: str) -> float:
        """Half of the last printed digit: what rounding hides."""
        exponent = Decimal(self.text[column]).as_tuple().exponent
        assert isinstance(exponent, int)
        return 0.5 * 10.0**exponent


ROWS = [
    Row(name, row)
    for name in ("park_large_critical_section", "park_frequent_lock")
    for row in csv.DictReader((HERE / f"{name}.csv").read_text().splitlines())
]


def interval(row: Row, of: str, by: str, factor: float) -> tuple[float, float]:
    """factor * of / by, as far as rounding leaves it open."""
    low = factor * (row.value(of) - row.half_digit(of)) / (row.value(by) + row.half_digit(by))
    high = factor * (row.value(of) + row.half_digit(of)) / (row.value(by) - row.half_digit(by))
    return low, high


def total_ms(table: str) -> tuple[float, float]:
    """The program's time: what all the rows' utilisations leave open."""
    spans = [
        interval(row, time, util, 100)
        for row in ROWS
        if row.table == table
        for time, util in (("thread_park_ms", "thread_time_util_pct"), ("park_real_ms", "real_time_util_pct"))
    ]
    low, high = max(low for low, _ in spans), min(high for _, high in spans)
    assert low <= high, "the published columns contradict each other"
    return low, high


def derived(row: Row) -> Metrics:
    low, high = total_ms(row.table)
    life = interval(row, "thread_park_ms", "thread_life_time_util_pct", 100)
    life_ns = round((life[0] + life[1]) / 2 * MS)
    times = int(row.text["times_parked"])
    sums = LockSums(
        times, times, 0, int(row.text["peak_parked"]), int(row.text["thread_park_ms"]) * MS,
        int(row.text["park_real_ms"]) * MS, 7, 7 + life_ns, 7 + life_ns,
    )  # fmt: skip
    return metrics(sums, round((low + high) / 2 * MS))


def holds(row: Row, column: str, value: float | None, slack: float = 0.0) -> bool:
    assert value is not None
    return abs(value - row.value(column)) <= row.half_digit(column) * 1.001 + slack


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.table}-{row.text['lock']}")
def test_the_published_columns_follow_from_the_published_sums(row: Row) -> None:
    found = derived(row)
    # Milliseconds are rounded in the table, averages were made before that.
    each_ms = 0.5 / row.value("times_parked")
    assert found.average_parking_time_ns is not None
    assert found.average_hold_time_ns is not None
    assert holds(row, "avg_park_ms", found.average_parking_time_ns / MS, each_ms)
    assert holds(row, "avg_hold_ms", found.average_hold_time_ns / MS, each_ms)
    # The time of the program is known to within an interval only.
    low, high = total_ms(row.table)
    open_share = (high - low) / low
    for column, value in (
        ("real_time_util_pct", found.real_time_util_pct),
        ("thread_time_util_pct", found.thread_time_util_pct),
        ("thread_life_time_util_pct", found.thread_life_time_util_pct),
    ):
        assert holds(row, column, value, row.value(column) * open_share)
    if "real_life_time_util_pct" in row.text:
        assert holds(
            row, "real_life_time_util_pct", found.real_life_time_util_pct, 100 * 0.5 / row.value("park_real_ms")
        )


def test_the_published_utilisations_leave_one_time_of_the_program_open() -> None:
    for table in ("park_large_critical_section", "park_frequent_lock"):
        low, high = total_ms(table)
        assert 100_000 < low < high < 103_000
