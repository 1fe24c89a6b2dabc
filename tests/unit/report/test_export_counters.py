"""A Perfetto trace has a counter for each thread and event: over time it adds up to what was counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.course import over_time
from headway.analyses.counters.course.kinds_over_time import rates_of_kinds
from headway.analyses.counters.course.over_time import BINS
from headway.analyses.counters.sums import Cells, Sums
from headway.report.export import export_perfetto
from headway.store import open_recording
from support.builders.counted_builder import ORIGIN_NS, CountedSlice, counted_recording

MS = 1_000_000
GROUPS = (("cycles", "instructions"), ("page-faults",))
WALL_NS = 1000 * MS


def counters_of(path: Path, target: Path) -> dict[tuple[int, str], list[tuple[int, float]]]:
    """Return (ns from the start, value) by thread and name of the counter, as Perfetto's own protocol has them."""
    return trace_of(path, target)[0]


def trace_of(
    path: Path, target: Path
) -> tuple[dict[tuple[int, str], list[tuple[int, float]]], dict[tuple[int, str], list[int]]]:
    """Return the counters, and of each thread and track on what is not known when its spans begin and end."""
    trace = Trace()
    trace.ParseFromString(export_perfetto(open_recording(path), target).read_bytes())
    tracks: dict[int, Any] = {
        p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")
    }
    found: dict[tuple[int, str], list[tuple[int, float]]] = {}
    unknown: dict[tuple[int, str], list[int]] = {}
    for packet in trace.packet:
        track = tracks.get(packet.track_event.track_uuid) if packet.HasField("track_event") else None
        if track is not None and track.name.endswith("per second of running"):
            key = (tracks[track.parent_uuid].thread.tid, track.name.split()[0])
            found.setdefault(key, []).append((packet.timestamp - ORIGIN_NS, packet.track_event.double_counter_value))
        if track is not None and track.name.startswith("not known: "):
            key = (tracks[track.parent_uuid].thread.tid, track.name.partition(": ")[2])
            spans = unknown.setdefault(key, [])
            assert packet.track_event.type == (1, 2)[len(spans) % 2]  # begins and ends, in turn
            spans.append(packet.timestamp - ORIGIN_NS)
    return found, unknown


def test_rates_are_counts_by_the_time_that_a_thread_ran_and_0_where_it_did_not(tmp_path: Path) -> None:
    """Thread 0 runs in bins 10 to 19 and again in 500, thread 1 in the first half of the last: bins of 1 ms."""
    assert WALL_NS // BINS == MS
    slices = [
        CountedSlice(0, 0, 10 * MS, 10 * MS, (30_000, 20_000, 10), (0, 0)),
        CountedSlice(0, 0, 500 * MS, MS // 2, (1000, 500, 0), (0, 0)),
        CountedSlice(1, 1, 999 * MS, MS // 2, (7, 7, 7), (0, 0)),
    ]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, GROUPS, ("app", "gc"))
    found = counters_of(path, tmp_path / "a.trace")
    assert {*found} == {(tid, event) for tid in (4000, 4001) for event in ("cycles", "instructions", "page-faults")}
    begin, *_ = cycles = found[4000, "cycles"]
    assert begin == (0, 0)
    assert [ns for ns, _ in cycles] == [0, *(number * MS for number in (*range(10, 21), 500, 501))]
    assert [value for _, value in cycles[1:]] == pytest.approx([3e6] * 10 + [0, 2e6, 0])
    assert found[4001, "page-faults"] == [(0, 0), (999 * MS, pytest.approx(14_000))]


def test_a_group_that_took_turns_has_the_rate_of_the_time_that_it_counted_in(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, 1000 * MS, (500_000_000, 1, 9), (500 * MS, 0))]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, GROUPS)
    assert {round(value) for _, value in counters_of(path, tmp_path / "a.trace")[4000, "cycles"]} <= {0, 1_000_000_000}


def test_an_event_in_several_groups_has_the_rate_of_the_group_that_counted_longest_as_in_the_table(
    tmp_path: Path,
) -> None:
    """Cycles of thread 0 by the second group, which counted all the time; of thread 1, as long in both, by the first."""
    groups = (("cycles", "instructions"), ("page-faults", "cycles"))
    slices = [
        CountedSlice(0, 0, 0, 1000 * MS, (100_000_000, 1, 9, 3_000_000_000), (900 * MS, 0)),
        CountedSlice(1, 1, 0, 1000 * MS, (1_000_000_000, 1, 9, 7_000_000_000), (500 * MS, 500 * MS)),
    ]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, groups, ("app", "gc"))
    found = counters_of(path, tmp_path / "a.trace")
    rates = {tid: {round(value) for _, value in found[tid, "cycles"]} - {0} for tid in (4000, 4001)}
    assert rates == {4000: {3_000_000_000}, 4001: {2_000_000_000}}
    recording = open_recording(path)
    rows = {row.key["tid"]: row.counts["cycles"].value for row in counters(recording, by="thread").rows}
    assert rows[4000] == 3e9
    kinds = {each.kind: each.rates for each in rates_of_kinds(recording, 4)[1] if each.event == "cycles"}
    assert kinds == {"app": pytest.approx([3e9] * 4), "gc": pytest.approx([2e9] * 4)}


def test_the_imbalance_of_an_event_in_several_groups_is_that_of_the_counts_in_the_table(tmp_path: Path) -> None:
    groups = (("cycles", "instructions"), ("page-faults", "cycles"))
    slices = [
        CountedSlice(0, 0, 0, 1000 * MS, (700_000_000, 1, 9, 3_000_000_000), (900 * MS, 0)),
        CountedSlice(1, 1, 0, 1000 * MS, (1_000_000_000, 1, 9, 700_000_000), (0, 900 * MS)),
    ]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, groups, ("app", "app"))
    found = counters(open_recording(path), by="thread")
    assert [row.counts["cycles"].value for row in found.rows] == [3e9, 1e9]
    assert found.imbalance["cycles"].figure.value == pytest.approx(0.5), "deviation 1e9 by mean 2e9"


def test_what_is_not_known_is_no_point_and_threads_of_headway_have_none(tmp_path: Path) -> None:
    slices = [
        CountedSlice(0, 0, 0, MS, (5000, 5, 5), (0, 0)),
        CountedSlice(0, 0, MS, MS, None, (0, 0)),
        CountedSlice(0, 0, 2 * MS, MS, (7000, 5, 5), (0, 0)),
        CountedSlice(1, 1, 0, MS, (5, 5, 5), (0, 0)),
    ]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, GROUPS, ("app", "headway"))
    found, unknown = trace_of(path, tmp_path / "a.trace")
    assert {tid for tid, _ in found} == {4000}
    assert found[4000, "cycles"] == [(0, 5e6), (2 * MS, 7e6), (3 * MS, 0)]
    assert unknown == {(4000, "cycles, instructions"): [MS, 2 * MS], (4000, "page-faults"): [MS, 2 * MS]}


def test_time_that_a_thread_ran_without_counts_never_has_the_0_of_time_that_it_did_not_run(tmp_path: Path) -> None:
    """Thread 0 runs unknown first, and again after gaps; of thread 1 nothing at all is known, thread 2 begins late."""
    slices = [
        CountedSlice(0, 0, 0, MS, None, (0, 0)),
        CountedSlice(0, 0, 5 * MS, MS, None, (0, 0)),
        CountedSlice(0, 0, 7 * MS, MS, (5000, 5, 5), (0, 0)),
        CountedSlice(0, 0, 20 * MS, 2 * MS, None, (0, 0)),
        CountedSlice(0, 0, 30 * MS, MS, (9000, 5, 5), (0, 0)),
        CountedSlice(1, 1, 2 * MS, MS, None, (0, 0)),
        CountedSlice(2, 1, 4 * MS, MS, None, (0, 0)),
        CountedSlice(2, 1, 6 * MS, MS, (3000, 3, 3), (0, 0)),
    ]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, GROUPS, ("app", "app", "app"))
    found, unknown = trace_of(path, tmp_path / "a.trace")
    assert {tid for tid, _ in found} == {4000, 4002}
    cycles = [(7, 5e6), (8, 0), (20, 5e6), (22, 0), (30, 9e6), (31, 0)]
    assert found[4000, "cycles"] == [(ms * MS, value) for ms, value in cycles]
    assert found[4002, "cycles"] == [(6 * MS, 3e6), (7 * MS, 0)]
    spans = {tid: ends for (tid, events), ends in unknown.items() if events == "page-faults"}
    assert spans[4000] == [ms * MS for ms in (0, 1, 5, 6, 20, 22)]
    assert (spans[4001], spans[4002]) == ([2 * MS, 3 * MS], [4 * MS, 5 * MS])


def test_what_is_kept_is_of_the_threads_that_are_shown_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five threads the two that ran longest are shown: nothing of the others is summed up."""
    kept: list[int] = []

    class Watched(Sums):
        def cells(self) -> Cells:
            cells = super().cells()
            kept.append(cells.cells)
            return cells

    monkeypatch.setattr(over_time, "THREADS", 2)
    monkeypatch.setattr(over_time, "Sums", Watched)
    lengths = (3, 9, 2, 5, 4)
    slices = [CountedSlice(n, n, 0, ms * MS, (ms * 1000, 1, 1), (0, 0)) for n, ms in enumerate(lengths)]
    slices.append(CountedSlice(5, 5, 0, 50 * MS, (1, 1, 1), (0, 0)))
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, GROUPS, ("app",) * 5 + ("headway",))
    found = list(over_time.rates(open_recording(path)))
    assert [each.key["tid"] for each in found] == [4001, 4001, 4003, 4003]
    assert found[2].points["cycles"] == (*((ms * MS, 1e6) for ms in range(5)), (5 * MS, 0))
    assert kept == [9 + 5]


def test_a_recording_whose_events_did_not_count_has_a_trace_without_counters(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, MS, (5, 5, 5), (0, 0))]
    path = counted_recording(tmp_path / "a.headway", slices, WALL_NS, GROUPS, groups=[], step="none")
    assert counters_of(path, tmp_path / "a.trace") == {}
