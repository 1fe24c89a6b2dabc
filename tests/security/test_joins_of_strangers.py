"""Recordings made so that what an analysis joins would be the product of its tables: it stays as long as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.causal import data
from headway.analyses.scheduling import gc_times
from headway.analyses.waits.threads.process_exit import parents
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.reader import Recording
from support.builders.causal_builder import MADE, data_of, write
from support.builders.extreme_recordings import WALL, _rewritten
from support.builders.synthetic import ORIGIN


def with_collectors(path: Path, collectors: int, pauses: int) -> Recording:
    """A recording in which so many threads of one JVM say that they collect garbage in each of so many pauses."""

    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        vm = next(row for row in rows["thread"] if row["kind"] == "vm")
        vm["collecting_ns"] = 50
        count = len(rows["thread"])
        rows["thread"] += [{**vm, "thread_id": count + at, "tid": 900 + at} for at in range(collectors - 1)]
        one = rows["jvm_phase"][0]
        rows["jvm_phase"] = [{**one, "start_ns": ORIGIN + 10 * at, "dur_ns": 15} for at in range(pauses)]

    return open_recording(_rewritten(path, change))


@pytest.mark.parametrize("collectors", [1, 30])
def test_pauses_are_those_of_one_vm_thread_for_each_jvm(tmp_path: Path, collectors: int) -> None:
    """2,500 threads that say so and 50,000 pauses, 3 MB, were 7 GB in `why`."""
    recording = with_collectors(tmp_path / "r.headway", collectors, 40)
    thread, begin, end = gc_times.pauses(recording)
    assert len(np.unique(thread)) == 1
    assert (begin - ORIGIN).tolist() == [0, *(10 * at + 5 for at in range(1, 40))]  # where the one before ends
    assert (end - begin).tolist() == [15, *[10] * 39]


def test_the_time_of_a_vm_thread_in_pauses_is_what_its_slices_say(tmp_path: Path) -> None:
    """The VM thread runs for 50 ns from the begin, waits for 200 and runs for 100; pauses cover the first 405 ns."""
    found = gc_times.load(with_collectors(tmp_path / "r.headway", 1, 40))
    runs = [(at, length) for at, length in ((100, 50), (350, 100))]
    for until in range(0, WALL, 7):
        expected = sum(max(0, min(until, at + length, 405) - at) for at, length in runs)
        assert found.between(np.array([0, until])).tolist() == [expected], until


@pytest.mark.parametrize("others", [0, 50])
def test_a_process_has_one_parent_however_many_threads_have_its_number(tmp_path: Path, others: int) -> None:
    def change(rows: dict[str, list[dict[str, Any]]]) -> None:
        parent = rows["thread"][0]
        count = len(rows["thread"])
        child = {**parent, "thread_id": count, "pid": 700, "tid": 700, "parent_tid": parent["tid"]}
        more = [{**parent, "thread_id": count + 1 + at, "pid": 800 + at, "start_ns": 5} for at in range(others)]
        rows["thread"] += [child, *more]

    recording = open_recording(_rewritten(tmp_path / "r.headway", change))
    pid = recording.query("SELECT pid FROM thread WHERE thread_id = 0").fetchall()[0][0]
    assert parents(recording) == {pid: {700}}


@pytest.mark.parametrize("count", [3, data.MOST_POINTS + 1])
def test_progress_points_that_are_compared_have_a_limit(tmp_path: Path, count: int) -> None:
    """Each is compared in each experiment: with 65,000 of them that never ended, and took gigabytes."""
    made = data_of(replace(MADE, pairs=2))
    points: dict[str, list[Any]] = {
        "run": [0] * count,
        "point": [*range(count)],
        "name": [f"p{at}" for at in range(count)],
    }
    more: dict[str, list[Any]] = {"kind": ["method"] * count, "where": ["A.b"] * count, "hits": [1] * count}
    recording = open_recording(write(tmp_path / "r.headway", made, causal_point={**points, **more}))
    if count > data.MOST_POINTS:
        with pytest.raises(HeadwayError, match=r"HW323.* table causal_point, column name: 201 progress points"):
            data.read(recording)
        return
    found = data.read(recording)
    assert [each.name for each in found.measures] == ["p0", "p1", "p2"]
    assert found.measures[0].visits.tolist() == made.measures[0].visits.tolist()
    assert not found.measures[1].visits.any()
