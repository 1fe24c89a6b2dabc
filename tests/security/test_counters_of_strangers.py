"""Recordings with counters that a stranger made: what is small in a file stays small in memory and on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.parts import time_windows
from headway.analyses.regions.counted import counters_by_iteration
from headway.errors import HeadwayError
from headway.model.iterations import GC, MARKER, IterationMarks
from headway.store import open_recording
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.edited_manifest import edit

WALL_NS = 1_000_000


def overlapping(path: Path, count: int) -> Path:
    """So many slices that all go on for the whole time, and as many collections within each of them."""
    slices = [CountedSlice(thread, 0, thread, WALL_NS - thread - 1, (thread,)) for thread in range(count)]
    pauses = [("gc_pause", at * WALL_NS // count, 1, "System.gc()") for at in range(count)]
    return counted_recording(path, slices, WALL_NS, [["page-faults"]], ["app"] * count, pauses)


@pytest.mark.parametrize("most", [100, 10_000])
def test_slices_that_overlap_have_no_more_parts_than_cpus_could_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A recording of 300 kB had 400,000,000 parts of slices in iterations: 20 GB."""
    recording = open_recording(overlapping(tmp_path / "r.headway", 40))
    monkeypatch.setattr(time_windows, "MOST_PAIRS", most)
    if most > 40 * 40:
        assert len(counters_by_iteration(recording, IterationMarks(GC)).rows) == 40
        return
    with pytest.raises(HeadwayError, match=r"HW323.* table slice, column running_ns: 40 slices that overlap") as error:
        counters_by_iteration(recording, IterationMarks(GC))
    assert str(recording.path) in str(error.value)


@pytest.mark.parametrize(("last", "rows"), [(None, 0), (100, 100)])
def test_millions_of_marks_in_a_manifest_are_told_or_a_part_of_them_is_asked_for(
    tmp_path: Path, last: int | None, rows: int
) -> None:
    path = overlapping(tmp_path / "r.headway", 2)
    marker = IterationMarks(MARKER, "done")
    edit(path, iterations={"by": str(marker), "marks_ns": list(range(5_000_000_000_000, 5_000_000_060_000))})
    recording = open_recording(path)
    if rows:
        assert len(counters_by_iteration(recording, marker, last=last).rows) == rows
        return
    with pytest.raises(HeadwayError, match=r"HW111.* there are 60000 of them, and 50000 can have a row"):
        counters_by_iteration(recording, marker)


def test_events_that_are_repeated_in_each_row_have_short_names(tmp_path: Path) -> None:
    path = overlapping(tmp_path / "r.headway", 5)
    name = "e" * 1_000_000
    edit(path, counters={"step": "none", "groups": [{"events": [name]}], "absent": [], "cpus": []})
    assert {len(event) for row in counters(open_recording(path)).rows for event in row.counts} == {200}


def test_the_time_of_phases_is_looked_for_once_for_each_process(tmp_path: Path) -> None:
    """What each process has is the same whether its slices are looked for among those of one process or of many."""
    slices = [CountedSlice(0, 0, 100 * at, 50, (1,)) for at in range(20)]
    pauses = [("gc_pause", 100 * at, 25, "x", pid) for at in range(20) for pid in (3999, 4000, 4001)]
    path = counted_recording(tmp_path / "r.headway", slices, WALL_NS, [["page-faults"]], ["app"], pauses)
    rows = {row.key["phase"]: row.cpu_ns for row in counters(open_recording(path), by="phase").rows}
    assert rows == {"program": 20 * 25, "gc_pause": 20 * 25}
