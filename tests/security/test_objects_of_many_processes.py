"""Waits for objects of more processes, or for more that are no objects, than memory is for: they share rows, sums stay exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.common import memory
from headway.analyses.locks.analysis import locks
from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits.object_names import MANY_CLASSES
from headway.analyses.waits.tables import blocks, object_rows
from headway.store import open_recording
from support.builders.exchanged_table import put_table
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

LOCKS, OWN = 40, 8


def of_many(path: Path, **columns: Any) -> Path:
    """Write a recording of locks of a class each; `columns` replace those of its table of objects."""
    waits = [Wait(number % 3, number, 10 * number, 11 + 10 * number + number // 6) for number in range(LOCKS)]
    threads = [FakeThread("app", 0, [("B", 600)], f"t{thread}") for thread in range(3)]
    classes = [f"Request{number}" for number in range(LOCKS)]
    LockRecording(threads, waits, wall=600, classes=classes, stacks=[[("Server", "reply")]]).write(path)
    rows = pq.read_table(path / "blocker.parquet")
    for name, values in columns.items():
        place = rows.column_names.index(name)
        field = rows.schema.field(name)
        rows = rows.set_column(place, field, pa.array(values, field.type))
    return put_table(path, "blocker", rows)


@pytest.mark.parametrize("columns", [{"pid": range(1, LOCKS + 1)}, {"identity_hash": [0] * LOCKS}, {}])
def test_rows_are_bounded_whatever_processes_and_kinds_a_recording_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: dict[str, Any]
) -> None:
    """Each process, and each row that is no object, had one anyway: of millions of them that was gigabytes."""
    path = of_many(tmp_path / "a.headway", **columns)
    whole = locks(open_recording(path))
    assert "HW438" not in {each.id for each in whole.notices}
    monkeypatch.setattr(memory, "LEAST_OBJECTS", OWN)
    monkeypatch.setenv(memory.VARIABLE, "1M")
    for most in (4, 0):
        monkeypatch.setattr(object_rows, "MOST_SHARED", most)
        recording = open_recording(path)
        blockers = blocks.load(recording, None).blockers
        assert len(blockers) <= OWN + most + 1
        rest = blockers.is_of_places
        assert rest.sum() == 1
        assert blockers.class_name(int(rest.nonzero()[0][0])) == MANY_CLASSES
        if "pid" in columns:
            assert blockers.pid[rest].tolist() == [object_rows.NO_PROCESS]
        found = locks(recording)
        assert sum(row.objects for row in found.rows) == LOCKS
        for total in ("thread_time_ns", "times_parked", "times_measured"):
            assert sum(getattr(row.sums, total) for row in found.rows) == sum(
                getattr(row.sums, total) for row in whole.rows
            )
        assert "HW438" in {each.id for each in found.notices}
        assert "HW438" in {each.id for each in why(recording).notices}
