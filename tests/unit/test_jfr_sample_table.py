"""Samples of an imported file are weighed when it has been read, whether they were held in memory or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from headway.record.jfr.intervals import EXECUTION_SAMPLE, WALL_SAMPLE, FileIntervals, Setting
from headway.record.jfr.sample_table import SampleTable
from headway.record.jfr.samples import SampleBatch

ROWS = 1000


class Threads:
    """Threads whose places are their ids."""

    def thread_ids(self, places: Any) -> Any:
        return places.copy()


def batch(source: str, chunks: list[tuple[int, int]], first_ns: int, count: int = 1) -> SampleBatch:
    rows = sum(each for _, each in chunks)
    zeros = np.zeros(rows, dtype=np.int32)
    ns = np.arange(first_ns, first_ns + rows, dtype=np.int64)
    counts = np.full(rows, count, dtype=np.int64)
    return SampleBatch(source, chunks, ns, zeros, counts, np.zeros(rows, dtype=np.int8), zeros)


def written(folder: Path, table: SampleTable, told: dict[int, list[Setting]]) -> list[tuple[int, str, int]]:
    table.write(folder, FileIntervals(told))
    rows = pq.read_table(folder / "sample.parquet").to_pylist()
    return [(row["ns"], row["event"], row["weight"]) for row in rows]


def setting(ns: int, name: str, value: str) -> Setting:
    return Setting(ns, EXECUTION_SAMPLE, name, value)


@pytest.mark.parametrize("in_memory", [1, 20_000, 1 << 30])
def test_every_sample_has_the_weight_of_its_chunk_and_time(tmp_path: Path, in_memory: int) -> None:
    (tmp_path / "runs").mkdir()
    table = SampleTable(tmp_path / "runs", in_memory)
    threads: Any = Threads()
    table.add(batch(EXECUTION_SAMPLE, [(1, ROWS), (2, ROWS)], 0), threads)
    table.add(batch(WALL_SAMPLE, [(2, ROWS)], 0, count=4), threads)
    table.add(batch("jdk.CPUTimeSample", [(3, 10)], 5 * ROWS, count=123), threads)
    told = {
        1: [setting(0, "period", "20 ns"), setting(ROWS // 2, "period", "10 ns")],
        2: [setting(0, "event", "cycles"), setting(0, "interval", "7"), setting(0, "wall", "3")],
    }
    found = written(tmp_path, table, told)
    execution = [(ns, "execution", 20 if ns < ROWS // 2 else 10) for ns in range(ROWS)]
    expected = execution + [(ns, "cycles", 7) for ns in range(ROWS, 2 * ROWS)]
    expected += [(ns, "wall", 12) for ns in range(ROWS)] + [(5 * ROWS + ns, "cpu", 123) for ns in range(10)]
    assert sorted(found) == sorted(expected)
    assert table.intervals(EXECUTION_SAMPLE, FileIntervals(told)) == [20, 10, 7]


def test_an_absurd_count_of_an_absurd_interval_is_no_negative_time(tmp_path: Path) -> None:
    table = SampleTable(tmp_path)
    threads: Any = Threads()
    table.add(batch(WALL_SAMPLE, [(1, 1)], 0, count=1 << 40), threads)
    table.add(batch(WALL_SAMPLE, [(1, 1)], 1, count=2), threads)
    (_, _, large), (_, _, small) = written(tmp_path, table, {1: [setting(0, "wall", "1 h")]})
    assert large > 1 << 61
    assert small == 2 * 3600 * 10**9
