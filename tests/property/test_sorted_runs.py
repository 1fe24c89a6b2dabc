"""Rows that are sorted in memory and on disk are those that were added, in order, however they were."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.record.imports import sorted_runs
from headway.record.imports.sorted_runs import SortedRuns

PARTS = st.lists(st.lists(st.integers(-5, 40) | st.integers(-(1 << 62), 1 << 62), max_size=30), max_size=12)


def given_back(parts: list[list[int]], in_memory: int, block: int = sorted_runs.BATCH) -> list[list[tuple[int, int]]]:
    """Return the batches of (key, number of the row) of rows that were added in parts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.multiple(sorted_runs, BATCH=block, _BLOCKS=4 * block, _LEAST=1),
    ):
        rows = SortedRuns("ns", Path(folder), in_memory)
        number = 0
        for part in parts:
            numbers = np.arange(number, number + len(part), dtype=np.int32)
            rows.add({"number": numbers, "ns": np.array(part, dtype=np.int64)})
            number += len(part)
        assert rows.rows == number
        return [list(zip(batch["ns"].tolist(), batch["number"].tolist(), strict=True)) for batch in rows.sorted()]


@settings(max_examples=150)
@given(PARTS, st.sampled_from([0, 50, 400, 1 << 30]), st.sampled_from([1, 3, 8, 1 << 18]))
def test_all_rows_come_back_once_and_in_order(parts: list[list[int]], in_memory: int, block: int) -> None:
    found = [row for batch in given_back(parts, in_memory, block) for row in batch]
    keys = [key for part in parts for key in part]
    assert [key for key, _ in found] == sorted(keys)
    assert sorted(number for _, number in found) == list(range(len(keys)))
    assert all(keys[number] == key for key, number in found)
    if in_memory == 1 << 30:
        assert [number for _, number in found] == sorted(range(len(keys)), key=keys.__getitem__)


@pytest.mark.parametrize("key", [0, 7])
def test_rows_with_one_key_come_back_in_batches_that_do_not_grow_with_their_number(key: int) -> None:
    batches = given_back([[key] * 20] * 50, 400, block=8)
    assert sum(map(len, batches)) == 1000
    assert max(map(len, batches)) <= 4 * 8


def test_what_is_kept_of_an_array_with_room_for_more_is_its_rows_alone(tmp_path: Path) -> None:
    """As the reader's are: kept as they come they would take what is not counted."""
    rows, large = SortedRuns("ns", tmp_path, 1 << 30), np.zeros(100_000, dtype=np.int64)
    rows.add({"ns": large[:10]})
    assert all(values.base is None for part in rows._parts for values in part.values())
