"""Recordings with more groups of allocations and accesses than an answer has: the largest are told apart, sums are of all."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.memory.allocated import allocation_figures
from headway.analyses.objects import accesses, analysis
from headway.analyses.objects.analysis import objects
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.extreme_recordings import write_rows
from support.builders.synthetic import FakeThread

WALL = 1000
MOST = 50
KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes", "static_reads", "static_writes")
THREADS = [FakeThread("app", 0, [("R", WALL)], name) for name in ("main", "worker-1")]


def recording_of(path: Path, rows: int) -> Recording:
    """Write a recording in which class number i has i bytes and objects, 2i reads of fields, and i writes of static ones."""
    first: dict[str, Any] = {"pid": 100, "thread_id": 0, "java_id": 1}
    allocated = [
        first
        | {"class_name": f"C{i}", "site_class": f"S{i}", "site_method": "m", "site_line": 1}
        | {"objects": i, "bytes": i, "array_length": 0}
        for i in range(1, rows + 1)
    ]
    accessed = [
        first | {"class_name": f"C{i}"} | dict.fromkeys(KINDS, 0) | {"tuple_reads": 2 * i, "static_writes": i}
        for i in range(1, rows + 1)
    ]
    tables = {
        "thread": [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(THREADS)],
        "slice": [row for i, thread in enumerate(THREADS) for row in synthetic.slices_of(i, thread)],
        "activity": synthetic.activity_rows(THREADS, WALL, 50),
        "allocation": allocated,
        "access": accessed,
    }
    asked = {"interval_bytes": 0, "sites": True, "jvms": [{"pid": 100, "interval_bytes": 0}]}
    return open_recording(write_rows(path, tables, WALL, objects=asked, accesses={"jvms": []}))


@pytest.fixture
def fifty_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_GROUPS", MOST)
    monkeypatch.setattr(accesses, "MOST_GROUPS", MOST)


@pytest.mark.usefixtures("fifty_groups")
@pytest.mark.parametrize("by", ["class", "site", "thread-class"])
def test_of_more_groups_than_an_answer_has_the_largest_are_told_apart(tmp_path: Path, by: Any) -> None:
    rows = 3 * MOST
    found = objects(recording_of(tmp_path / "a.headway", rows), by)
    all_of_them = rows * (rows + 1) // 2
    assert found.total is not None
    assert found.total.bytes.value == all_of_them
    assert [each.allocated.bytes.value for each in found.groups] == list(range(rows, rows - MOST, -1))
    assert found.accesses is not None
    assert found.accesses.total.of_objects == 2 * all_of_them
    if by != "site":
        reads = [each.accessed.tuple_reads for each in found.accesses.groups]
        assert reads == list(range(2 * rows, 2 * (rows - MOST), -2))
    left_out = [each.message for each in found.notices if each.id == "HW849"]
    assert left_out == [
        f"of {what} the {MOST} largest rows are shown and {rows - MOST} smaller ones are left out"
        for what in ("allocations", *(["accesses"] if by != "site" else []))
    ]


@pytest.mark.usefixtures("fifty_groups")
def test_as_many_groups_as_an_answer_has_are_all_there(tmp_path: Path) -> None:
    found = objects(recording_of(tmp_path / "a.headway", MOST))
    assert len(found.groups) == MOST
    assert "HW849" not in {each.id for each in found.notices}


def test_memory_does_not_grow_with_the_groups_that_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's objects alone: 20,000 groups of both kinds would take more than 20 MB of them."""
    recording = recording_of(tmp_path / "a.headway", 20_000)
    monkeypatch.setattr(analysis, "MOST_GROUPS", MOST)
    monkeypatch.setattr(accesses, "MOST_GROUPS", MOST)
    objects(recording)
    tracemalloc.start()
    try:
        objects(recording, "thread-class")
        allocation_figures(recording, None)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
