"""Counts of a time in which records were lost: what threads counted then is in no slice, so that the rest is the least."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.types import Figure
from headway.analyses.counters.uncounted.lost_records import lost_ns
from headway.analyses.counters.work import growth_between
from headway.errors import Notice
from headway.store import open_recording
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.edited_manifest import edit

MS = 1_000_000
WALL_NS, LENGTH_NS = 100 * MS, 10 * MS
PAIR = (("cycles", "instructions"),)
SLICES = [CountedSlice(0, 0, start, LENGTH_NS, (2 * LENGTH_NS, LENGTH_NS)) for start in range(0, WALL_NS, LENGTH_NS)]


def recorded(path: Path, *losses: tuple[str, int, int, int]) -> Path:
    return counted_recording(path, SLICES, WALL_NS, PAIR, ("app",), (), None, (), None, losses)


def exact(value: int) -> Figure:
    return Figure(value, value, value)


@pytest.mark.parametrize("by", ["thread", "kind", "cpu", "phase"])
@pytest.mark.parametrize("source", ["sched", "lifecycle", "disk", "births"])
def test_beside_lost_records_counts_are_the_least_that_there_were(source: str, by: str, tmp_path: Path) -> None:
    found = counters(open_recording(recorded(tmp_path / "a.headway", (source, 1, 20 * MS, MS))), by=by)
    for row in (found.total, *found.rows):
        assert row.counts["instructions"] == Figure(WALL_NS, WALL_NS, None)
        assert row.metrics["CPI"] == Figure(2, None, None)


def test_a_time_without_them_is_exact_and_lost_records_of_no_cpu_reach_to_the_end(tmp_path: Path) -> None:
    """A CPU that came online later has no records from then on; what a single loss let run is over with the next slice."""
    of_one, of_none = (
        open_recording(recorded(tmp_path / f"{cpu}.headway", ("sched", cpu, 25 * MS, MS))) for cpu in (0, -1)
    )
    before, after = (0, 20 * MS), (40 * MS, 70 * MS)
    for recording, high in ((of_one, 30 * MS), (of_none, None)):
        assert counters(recording, before).total.counts["instructions"] == exact(20 * MS)
        assert counters(recording, after).total.counts["instructions"] == Figure(30 * MS, 30 * MS, high)


def test_what_came_to_run_with_the_last_lost_record_is_unknown_until_the_next_slice_there(tmp_path: Path) -> None:
    """A single record at 35 ms is lost: a thread may have run from then until 50 ms, when another one has the CPU."""
    rest = [each for each in SLICES if not 30 * MS <= each.start_ns < 50 * MS]
    path = counted_recording(
        tmp_path / "a.headway", rest, WALL_NS, PAIR, ("app",), (), None, (), None, [("sched", 0, 35 * MS, 0)]
    )
    recording = open_recording(path)
    origin = recording.window_ns[0]
    assert lost_ns(recording, *recording.window_ns) == 15 * MS
    assert lost_ns(recording, origin + 40 * MS, origin + 45 * MS) == 5 * MS
    assert counters(recording, (40 * MS, 45 * MS)).total.counts["instructions"].high is None
    assert lost_ns(recording, origin + 60 * MS, origin + 70 * MS) == 0


def test_nothing_bounds_what_cpus_did_that_came_online_later(tmp_path: Path) -> None:
    first, second = recorded(tmp_path / "a.headway"), recorded(tmp_path / "b.headway", ("lifecycle", -1, 50 * MS, MS))
    for path, cores in ((first, 1), (second, 2)):
        edit(path, recorded_cores=cores, ended_by="exit")
    found = growth_between(open_recording(first), open_recording(second))
    assert not isinstance(found, Notice), found
    assert (found.instructions.low, found.instructions.high) == (1, None)


def test_lost_records_of_an_agent_change_no_counts(tmp_path: Path) -> None:
    found = counters(open_recording(recorded(tmp_path / "a.headway", ("agent", -1, 0, WALL_NS))))
    assert found.total.counts["instructions"] == exact(WALL_NS)


def test_imbalance_is_not_exact_beside_lost_records(tmp_path: Path) -> None:
    slices = [CountedSlice(cpu, cpu, 0, WALL_NS, (1, (cpu + 1) * WALL_NS)) for cpu in range(2)]
    losses = [("sched", 0, 5 * MS, 1)]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, PAIR, ("app", "app"), (), None, (), None, losses)
    uneven = counters(open_recording(path)).imbalance["instructions"].figure
    assert uneven.value is not None
    assert uneven.high is None


def test_the_work_of_a_run_has_room_for_what_any_processor_does_in_lost_time(tmp_path: Path) -> None:
    first, second = recorded(tmp_path / "a.headway"), recorded(tmp_path / "b.headway", ("sched", 0, 0, LENGTH_NS))
    for path, cores in ((first, 1), (second, 2)):
        edit(path, recorded_cores=cores, ended_by="exit")
    found = growth_between(open_recording(first), open_recording(second))
    assert not isinstance(found, Notice), found
    assert found.instructions.low == 1
    assert found.instructions.high == pytest.approx((WALL_NS + 65 * LENGTH_NS) / WALL_NS)
