"""Lanes are the thread states, whatever form they take: checked against the view, interval by interval and bin by bin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from headway.analyses.scheduling import lanes as analysis
from headway.analyses.scheduling.lanes import Lane, Lanes, StateCode, bins_for, lanes
from headway.analyses.scheduling.threads import threads
from headway.store import Recording, open_recording
from headway.store.writer import write_recording
from support.builders.recording_builder import ONE_THREAD, Shape, make


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    # 30,000 cycles: more than EXACT_INTERVALS allows, so that the busiest threads are binned and the others are not.
    return open_recording(make(tmp_path_factory.mktemp("lanes") / "made.headway", Shape(threads=60, slices=30_000)))


@pytest.fixture(scope="module")
def found(recording: Recording) -> Lanes:
    return lanes(recording, threads(recording).rows)


def view(recording: Recording, thread_id: int) -> list[tuple[int, int, str, int | None]]:
    start = recording.window_ns[0]
    rows = recording.query(
        "SELECT start_ns, dur_ns, state, cpu FROM thread_state WHERE thread_id = ? ORDER BY start_ns", [thread_id]
    )
    return [(at - start, dur, state, cpu) for at, dur, state, cpu in rows.fetchall()]


def code_of(state: str, cpu: int | None) -> int:
    return StateCode.RUNNING + (cpu or 0) if state == "running" else StateCode[state.upper()]


def test_some_lanes_are_exact_and_some_are_binned(found: Lanes) -> None:
    assert sum(lane.exact is not None for lane in found.lanes) > 20
    assert sum(lane.shares is not None for lane in found.lanes) > 2
    assert all((lane.exact is None) != (lane.shares is None) for lane in found.lanes)
    assert found.rest is None


def test_exact_lanes_are_the_view_interval_by_interval(recording: Recording, found: Lanes) -> None:
    for lane in found.lanes:
        if lane.exact is None:
            continue
        at, seen = lane.exact.start_ns, []
        for code, dur in zip(lane.exact.codes, lane.exact.dur_ns, strict=True):
            if code != StateCode.NOT_RECORDED:
                seen.append((at, dur, code))
            at += dur
        expected = [
            (start, dur, code_of(state, cpu)) for start, dur, state, cpu in view(recording, lane.thread.thread_id)
        ]
        assert seen == expected


def exact_shares(
    intervals: Sequence[tuple[int, int, str, int | None]], wall_ns: int, bins: int
) -> dict[str, list[Fraction]]:
    """Spread intervals over bins with whole numbers and fractions only: the oracle."""
    totals: dict[str, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * bins)
    for start, dur, state, _ in intervals:
        name = state if state in ("running", "runnable", "sleeping") else "other"
        a, b = Fraction(start * bins, wall_ns), Fraction((start + dur) * bins, wall_ns)
        for i in range(int(a), min(bins - 1, int(b)) + 1):
            totals[name][i] += max(Fraction(0), min(b, Fraction(i + 1)) - max(a, Fraction(i)))
    return totals


def test_binned_lanes_hold_each_states_share_of_each_bin(recording: Recording, found: Lanes) -> None:
    binned = [lane for lane in found.lanes if lane.shares is not None][:3]
    for lane in binned:
        assert lane.shares is not None
        expected = exact_shares(view(recording, lane.thread.thread_id), recording.wall_ns, lane.shares.bins)
        for state in analysis.STATES:
            for share, stored in zip(expected[state], lane.shares.of[state], strict=False):
                rounded = float(share) * 255
                assert abs(stored - rounded) <= (0.5 + 1e-6 if rounded >= 0.5 or share < 1e-9 else 1)
                assert (stored > 0) == (share > 1e-9)


def test_batches_do_not_change_a_binned_lane(
    recording: Recording, found: Lanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "BATCH_ROWS", 2048)
    assert lanes(recording, threads(recording).rows) == found


def test_threads_without_a_lane_are_added_up_and_none_is_forgotten(recording: Recording) -> None:
    rows = threads(recording).rows
    found = lanes(recording, rows, limit=7)
    assert [lane.thread for lane in found.lanes] == list(rows[:7])
    assert found.rest is not None
    assert found.rest.threads == len(rows) - 7 == sum(found.rest.by_kind.values())
    shown = sum(lane.thread.running_ns or 0 for lane in found.lanes)
    assert (
        shown + found.rest.running_ns == (recording.query("SELECT SUM(running_ns) FROM thread").fetchone() or (0,))[0]
    )
    assert min(lane.thread.running_ns or 0 for lane in found.lanes) >= max(row.running_ns or 0 for row in rows[7:])


@pytest.mark.parametrize("count", [1, 30, 40, 41, 160])
def test_binned_lanes_never_take_more_than_their_part_of_the_page(count: int) -> None:
    bins = bins_for(count)
    assert bins * len(analysis.STATES) * count <= analysis.SHARE_BYTES
    assert bins == analysis.MAX_BINS or 2 * bins * len(analysis.STATES) * count > analysis.SHARE_BYTES


def one_thread(tmp_path: Path, slices: dict[str, list[int | bool | None]]) -> Lane:
    count = len(slices["start_ns"])
    rest = {"cpu": [2] * count, "blocked_state": [1] * count, "waker_id": [-1] * count}
    flags = {"waker_irq": [False] * count, "is_open": [False] * count}
    tables = {
        "thread": pa.table({**ONE_THREAD, "from_snapshot": [True]}),
        "slice": pa.table({"thread_id": [0] * count, **rest, **flags, **slices}),
    }
    path = write_recording(tmp_path / "t.headway", {"window": {"start_ns": 1000, "end_ns": 2000}}, tables)
    recording = open_recording(path)
    (lane,) = lanes(recording, threads(recording).rows).lanes
    return lane


def test_a_gap_in_the_records_is_a_gap_in_the_lane(tmp_path: Path) -> None:
    lane = one_thread(
        tmp_path,
        {"start_ns": [1100, 1500], "blocked_ns": [0, 50], "runnable_ns": [0, 0], "running_ns": [100, 100]},
    )
    assert lane.exact is not None
    assert lane.exact.start_ns == 100
    assert list(zip(lane.exact.codes, lane.exact.dur_ns, strict=True)) == [(10, 100), (0, 250), (1, 50), (10, 100)]


def test_what_lies_outside_the_recorded_span_is_cut_off(tmp_path: Path) -> None:
    lane = one_thread(
        tmp_path,
        {"start_ns": [1200, 1900], "blocked_ns": [5000, 650], "runnable_ns": [None, 0], "running_ns": [50, 5000]},
    )
    assert lane.exact is not None
    assert lane.exact.start_ns == 0
    assert list(zip(lane.exact.codes, lane.exact.dur_ns, strict=True)) == [(1, 200), (10, 50), (1, 650), (10, 100)]
