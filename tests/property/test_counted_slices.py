"""Recordings with exact counts give them back by thread, kind, CPU, phase, lock and time, for any slices and any window."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.analyses.common.intervals import Spans
from headway.analyses.counters.analysis import counters
from headway.analyses.counters.parts.time_windows import TimeWindows
from headway.analyses.counters.types import Counters, Figure
from headway.store import open_recording
from support.builders.counted_builder import ORIGIN_NS, CountedSlice, Summed, counted_recording, sums

GROUPS = (("cycles", "instructions"), ("r01b1",))
MOST = (6.5, 65.0, math.inf)
"""Of each event no processor counts more in a ns; of a code of its own nobody knows."""
KINDS = ("app", "app", "gc", "headway", "jit")
WALL_NS = 1000
PHASES = (("gc_pause", 200, 100), ("startup", 0, 250), ("gc_pause", 900, 300))


@st.composite
def slices_of_cpus(draw: st.DrawFn) -> list[CountedSlice]:
    """On each CPU one thread after the other."""
    found = []
    for cpu in range(draw(st.integers(1, 3))):
        at = 0
        while at < WALL_NS and draw(st.integers(0, 6)):
            at += draw(st.integers(0, 200))
            length = draw(st.integers(1, 400))
            known = draw(st.integers(0, 9)) > 0
            most = (math.floor(min(1 << 40, each * length)) for each in MOST)
            counts = tuple(draw(st.integers(0, each)) for each in most) if known else None
            found.append(CountedSlice(draw(st.integers(0, len(KINDS) - 1)), cpu, at, length, counts, (0, 0)))
            at += length
    return found


def asked(path: Path, window: tuple[int, int] | None, by: str) -> Counters:
    recording = open_recording(path)
    try:
        return counters(recording, window, by=by)
    finally:
        recording.close()


def compare(found: Counters, expected: dict[Any, Summed], key: str) -> None:
    names = [event for group in GROUPS for event in group]
    rows = {row.key[key]: row for row in found.rows}
    assert {*rows} == {*expected}
    for each, sums_of_it in expected.items():
        assert rows[each].cpu_ns == sums_of_it.ran_ns
        assert rows[each].counted_ns == sums_of_it.ran_ns - sums_of_it.unknown_ns
        for place, name in enumerate(names):
            compare_figure(rows[each].counts[name], sums_of_it, place)
    for place, name in enumerate(names):
        whole = found.total.counts[name]
        assert (whole.value or 0) == close_to(sum(each.counts[place] for each in expected.values()))


def compare_figure(figure: Figure, truth: Summed, place: int, unassigned_ns: int = 0) -> None:
    if truth.unknown_ns == truth.ran_ns:
        assert (figure.value, bool(figure.withheld)) == (None, True)
        return
    assert figure.value == close_to(truth.counts[place])
    assert figure.low == close_to(truth.low[place])
    assert figure.high == (None if truth.unknown_ns or unassigned_ns else close_to(truth.high[place]))


def close_to(number: float) -> Any:
    return pytest.approx(number, rel=1e-9, abs=1e-6)


@settings(max_examples=10)
@given(slices=slices_of_cpus(), window=st.one_of(st.none(), st.tuples(st.integers(0, 499), st.integers(500, WALL_NS))))
def test_counts_come_back_by_thread_kind_and_cpu(slices: list[CountedSlice], window: tuple[int, int] | None) -> None:
    begin, end = window or (0, WALL_NS)
    counted = [each for each in slices if KINDS[each.thread] != "headway"]
    with tempfile.TemporaryDirectory() as folder:
        path = counted_recording(Path(folder) / "a.headway", slices, WALL_NS, GROUPS, KINDS)
        by_tid = sums(counted, lambda each: 4000 + each.thread, MOST, begin, end)
        compare(asked(path, window, "thread"), by_tid, "tid")
        by_kind = sums(counted, lambda each: KINDS[each.thread], MOST, begin, end)
        compare(asked(path, window, "kind"), by_kind, "kind")
        by_cpu = sums(counted, lambda each: each.cpu, MOST, begin, end)
        compare(asked(path, window, "cpu"), by_cpu, "cpu")


@settings(max_examples=10)
@given(slices=slices_of_cpus())
def test_counts_come_back_by_phase_and_add_up_to_the_whole(slices: list[CountedSlice]) -> None:
    counted = [each for each in slices if KINDS[each.thread] != "headway"]
    borders = {"gc_pause": [(200, 300), (900, WALL_NS)], "startup": [(0, 200)], "program": [(300, 900)]}
    expected: dict[str, Summed] = {}
    for each in counted:
        for phase, spans in borders.items():
            if inside := sum(each.inside(*span) for span in spans):
                expected.setdefault(phase, Summed.nothing(MOST)).add(each, inside)
    with tempfile.TemporaryDirectory() as folder:
        path = counted_recording(Path(folder) / "a.headway", slices, WALL_NS, GROUPS, KINDS, PHASES)
        compare(asked(path, None, "phase"), expected, "phase")


@settings(max_examples=10)
@given(
    slices=slices_of_cpus(),
    holds=st.lists(
        st.tuples(st.one_of(st.none(), st.integers(0, 4)), st.integers(0, 2), st.integers(0, 990), st.integers(0, 300)),
        max_size=12,
    ),
    window=st.one_of(st.none(), st.tuples(st.integers(0, 499), st.integers(500, WALL_NS))),
)
def test_counts_come_back_by_lock_for_as_long_as_each_is_held(
    slices: list[CountedSlice], holds: list[tuple[int | None, int, int, int]], window: tuple[int, int] | None
) -> None:
    """A hold is (thread, lock, start, length); holds of one lock by one thread may overlap, and locks may be nested.

    What a virtual thread (None) runs is in no slice of its own: it leaves its locks without an upper end.
    """
    alone = [each for each in slices if not any(each is not o and overlap(each, o) for o in slices)]
    begin, end = window or (0, WALL_NS)
    moments = {
        (thread, lock, ns)
        for thread, lock, start, length in holds
        for ns in range(max(start, begin), min(start + length, end))
    }
    expected: dict[int, Summed] = {}
    for each in alone:
        for lock in range(3):
            inside = sum((each.thread, lock, ns) in moments for ns in range(each.start_ns, each.end_ns))
            if inside and KINDS[each.thread] != "headway":
                expected.setdefault(0x1000 + lock, Summed.nothing(MOST)).add(each, inside)
    by_virtual_ns = [0, 0, 0]
    for thread, lock, start, length in holds:
        by_virtual_ns[lock] += max(0, min(start + length, end) - max(start, begin)) if thread is None else 0
    for lock in range(3):
        if by_virtual_ns[lock]:
            expected.setdefault(0x1000 + lock, Summed.nothing(MOST))
    with tempfile.TemporaryDirectory() as folder:
        path = counted_recording(Path(folder) / "a.headway", alone, WALL_NS, GROUPS, KINDS, PHASES, holds)
        found = asked(path, window, "lock")
        by_thread = asked(path, window, "thread")
    rows = {row.key["identity_hash"]: row for row in found.rows}
    assert {*rows} == {*expected}
    for lock, truth in expected.items():
        assert (rows[lock].cpu_ns, rows[lock].counted_ns) == (truth.ran_ns, truth.ran_ns - truth.unknown_ns)
        assert rows[lock].unassigned_ns == by_virtual_ns[lock - 0x1000]
        for place, name in enumerate(event for group in GROUPS for event in group):
            compare_figure(rows[lock].counts[name], truth, place, by_virtual_ns[lock - 0x1000])
    assert found.total.counts == by_thread.total.counts
    assert found.imbalance == by_thread.imbalance


@settings(max_examples=10)
@given(
    slices=slices_of_cpus(),
    owners=st.lists(st.tuples(st.integers(-1, 3), st.integers(1, 300)), max_size=12),
    of_program=st.booleans(),
    window=st.one_of(st.none(), st.tuples(st.integers(0, 499), st.integers(500, WALL_NS))),
)
def test_counts_come_back_by_stretches_of_time(
    slices: list[CountedSlice], owners: list[tuple[int, int]], of_program: bool, window: tuple[int, int] | None
) -> None:
    """One after the other a stretch belongs to one of four keys, or to none (-1): each ns of a slice is looked at alone."""
    begin, end = window or (0, WALL_NS)
    owner = [key for key, length in owners for _ in range(length)][:WALL_NS]
    owner = [key if begin <= ns < end else -1 for ns, key in enumerate(owner)] + [-1] * (WALL_NS - len(owner))
    starts = [
        [ns for ns in range(WALL_NS) if owner[ns] == key and (not ns or owner[ns - 1] != key)] for key in range(4)
    ]
    ends = [
        [ns + 1 for ns in range(WALL_NS) if owner[ns] == key and owner[ns + 1 : ns + 2] != [key]] for key in range(4)
    ]
    spans = [
        Spans(np.array(starts[key], np.int64) + ORIGIN_NS, np.array(ends[key], np.int64) + ORIGIN_NS)
        for key in range(4)
    ]
    others = {"region": 4} if of_program else None
    windows = TimeWindows([{"region": key} for key in range(4)], spans, of_program=of_program, others=others)
    expected: dict[int, Summed] = {}
    for each in slices:
        kind = KINDS[each.thread]
        if kind == "headway":
            continue
        inside = [owner[ns] for ns in range(each.start_ns, min(each.end_ns, WALL_NS))]
        parts = {key: inside.count(key) for key in {*inside} - {-1}}
        if of_program and kind != "app":
            parts = {4: each.inside(begin, end)}
        for key, length in parts.items():
            if length:
                expected.setdefault(key, Summed.nothing(MOST)).add(each, length)
    with tempfile.TemporaryDirectory() as folder:
        path = counted_recording(Path(folder) / "a.headway", slices, WALL_NS, GROUPS, KINDS)
        recording = open_recording(path)
        found = counters(recording, window, by="region", windows=windows)
        recording.close()
        by_thread = asked(path, window, "thread")
    assert [row.key["region"] for row in found.rows] == [*range(5 if of_program else 4)]
    for row in found.rows:
        truth = expected.get(int(row.key["region"]), Summed.nothing(MOST))
        assert (row.cpu_ns, row.counted_ns) == (truth.ran_ns, truth.ran_ns - truth.unknown_ns)
        for place, name in enumerate(event for group in GROUPS for event in group):
            if truth.ran_ns:
                compare_figure(row.counts[name], truth, place)
            else:
                assert row.counts[name] == Figure(0, 0, 0)
    assert found.total.counts == by_thread.total.counts


def overlap(one: CountedSlice, other: CountedSlice) -> bool:
    """Return whether a thread would run on two CPUs at once."""
    return one.thread == other.thread and one.start_ns < other.end_ns and other.start_ns < one.end_ns
