"""What threads do in a replay, as slices: the recorded ones where nothing is changed, else those of a simulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import _native
from property.test_core_replay import LOCKS, NUMBERS, ROWS, Programs, programs, recorded, scaled
from support.builders.replay_builder import APP, BEFORE, VM, Slice, plan, replayed, steps
from support.oracles.simulated_programs import record, simulate

Columns = dict[str, Any]


def traced(run: Any, cores: int, planned: Any = None, **changes: Any) -> tuple[Any, float]:
    """Replay a run, and return its timeline and when it ends."""
    timeline = _native.ReplayTimeline(run)
    (end,) = replayed([run], cores, plans=[planned], timelines=[timeline], **changes)
    return timeline, end


def parts(slices: Columns) -> list[tuple[int, int, int, int, int]]:
    """Return thread, begin, woken, start and end of each slice."""
    end = slices["end_ticks"]
    start = end - slices["running_ticks"]
    woken = start - slices["runnable_ticks"]
    begin = woken - slices["blocked_ticks"]
    return list(zip(*(each.tolist() for each in (slices["thread_id"], begin, woken, start, end)), strict=True))


def ready_ns(rows: Sequence[tuple[int, int, int, int, int]], end: float) -> dict[int, float]:
    """Return for how long so many threads ran."""
    points = sorted([(start, 1) for _, _, _, start, _ in rows] + [(stop, -1) for *_, stop in rows])
    found: dict[int, float] = defaultdict(float)
    count, since = 0, 0
    for ns, change in [*points, (round(end), 0)]:
        found[count] += ns - since
        count, since = count + change, ns
    return {count: ns for count, ns in found.items() if ns}


@settings(max_examples=60, deadline=None)
@given(programs())
def test_with_a_core_for_each_thread_the_slices_of_the_unchanged_run_are_the_recorded_ones(threads: Programs) -> None:
    run = recorded(threads, len(threads), has_marks=False).run
    timeline, _ = traced(run, len(threads), has_stolen=True)
    recorded_slices = record(threads, len(threads)).slices
    expected = [(each.thread, each.begin, each.woken, each.start, each.end) for each in recorded_slices]
    found, wanted = sorted(parts(timeline.slices(0))), sorted(each for each in expected if each[4] > each[1])
    assert len(found) == len(wanted)
    assert np.array(found).ravel() == pytest.approx(np.array(wanted).ravel(), abs=1)


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(1, 6), st.integers(1, 6))
def test_slices_of_a_replay_have_the_threads_ready_that_a_simulation_has_and_its_waits_for_locks(
    threads: Programs, k1: int, k2: int
) -> None:
    recording = recorded(threads, k1, has_marks=False)
    expected = simulate(recording.program, k2)
    planned = plan(recording.run, recording.locks, LOCKS)
    timeline, end = traced(recording.run, k2, planned)
    slices = timeline.slices(0)
    rounding = len(slices["end_ticks"]) + 1
    assert timeline.is_whole
    found = ready_ns(parts(slices), end)
    wanted = {count: float(ns) for count, ns in expected.ready_ns.items()}
    every = {*found, *wanted}
    assert {n: found.get(n, 0.0) for n in every} == pytest.approx({n: wanted.get(n, 0.0) for n in every}, abs=rounding)
    waits = timeline.lock_waits(planned)
    by_lock = np.bincount(waits["lock"], weights=waits["end_ns"] - waits["start_ns"], minlength=LOCKS)
    assert by_lock.tolist() == pytest.approx(
        [float(expected.lock_waits_ns.get(i, 0)) for i in range(LOCKS)], abs=rounding
    )


@settings(max_examples=60, deadline=None)
@given(programs(has_locks=False), st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3)]))
def test_a_thread_comes_to_where_it_was_when_a_simulation_has_it_there(threads: Programs, factor: Fraction) -> None:
    """A mark is in the middle of a stretch of computing; with a core for each thread, whatever the clock, a known part of it."""
    cores = len(threads)
    recording, ran = recorded(threads, cores, has_marks=False), record(threads, cores)
    expected = simulate(scaled(recording.program, "run", factor), cores)
    timeline, _ = traced(recording.run, cores, work_factor=float(factor))
    thread = np.array([thread for _, thread in ran.marks.values()], np.int32)
    ns = np.array([ns for ns, _ in ran.marks.values()], np.int64)
    wanted = [float(expected.marks[mark]) for mark in ran.marks]
    assert timeline.times(thread, ns).tolist() == pytest.approx(wanted, rel=1e-9, abs=2)


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(1, 6), st.integers(1, 6))
def test_a_thread_comes_to_each_recorded_time_before_it_ends_and_to_later_ones_later(
    threads: Programs, k1: int, k2: int
) -> None:
    recording, ran = recorded(threads, k1, has_marks=False), record(threads, k1)
    expected = simulate(recording.program, k2)
    timeline, _ = traced(recording.run, k2, plan(recording.run, recording.locks, LOCKS))
    for number in range(len(threads)):
        ns = np.array(sorted(ns for ns, thread in ran.marks.values() if thread == number), np.int64)
        found = timeline.times(np.full(len(ns), number, np.int32), ns)
        assert (np.diff(found) >= 0).all()
        assert found[-1] <= float(expected.ends[number]) + 2


def test_who_waits_for_a_lock_waits_for_one_holder_after_the_other() -> None:
    """Three threads compute 100 each with a lock: the third one waits for the first, then for the second."""
    from support.builders.replay_builder import LockAcquisition, acquired

    slices = [Slice(0, 0, 0, 0, 100)]
    slices += [Slice(1, 0, 0, 0, 1), Slice(1, 1, 100, 100, 200, 0), Slice(2, 0, 0, 0, 2), Slice(2, 2, 200, 200, 300, 1)]
    run = steps(slices, 300, 3)
    held = [
        LockAcquisition(0, 0, 0, 0, 100),
        LockAcquisition(0, 1, 1, 100, 200, 0),
        LockAcquisition(0, 2, 2, 200, 300, 1),
    ]
    planned = plan(run, acquired(held), 1)
    timeline, end = traced(run, 3, planned)
    waits = timeline.lock_waits(planned)
    rows = zip(*(waits[name].tolist() for name in ("thread", "holder", "start_ns", "end_ns")), strict=True)
    assert end == pytest.approx(300)
    assert sorted(rows) == [(1, 0, 1, 100), (2, 0, 2, 200)]


def test_threads_that_the_jvm_has_stopped_are_blocked() -> None:
    """A collection of 100 stops a thread that computes 300 after its first 100: the VM's thread computes meanwhile."""
    slices = [Slice(0, 0, 0, 0, 100), Slice(0, 100, 200, 200, 400, waker=1), Slice(1, 0, 100, 100, 200, waker=0)]
    run = steps(slices, 400, 2, roles=[APP, VM], stops=[(100, 200, 1)])
    timeline, end = traced(run, 2)
    assert end == pytest.approx(400)
    mine = [each[1:] for each in parts(timeline.slices(0)) if each[0] == 0]
    assert [(begin, woken) for begin, woken, _, _ in mine if woken > begin] == [(100, 200)]
    assert sum(stop - start for _, _, start, stop in mine) == 300


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ROWS, min_size=1, max_size=30),
    st.integers(0, 10**6),
    st.lists(st.tuples(NUMBERS, NUMBERS, st.integers(-2, 9)), max_size=5),
    st.lists(st.integers(0, 4), min_size=5, max_size=5),
    st.booleans(),
)
def test_slices_of_a_replay_follow_each_other_whatever_the_recorded_ones_claim(
    rows: list[Slice], wall: int, stops: list[tuple[int, int, int]], roles: list[int], is_born: bool
) -> None:
    most = 1 << 61
    sound = [
        each._replace(
            **{name: min(max(getattr(each, name), -most), most) for name in ("begin", "woken", "start", "end")}
        )
        for each in rows
    ]
    sound.append(Slice(4, 0, 0, 0, wall))
    run = steps(sound, wall, 2, roles, births=[0 if is_born else BEFORE] * 5, stops=sorted(stops))
    timeline, end = traced(run, 2)
    if end < 0:
        return
    last: dict[int, int] = {}
    before = 0
    for thread, begin, woken, start, stop in parts(timeline.slices(0)):
        assert last.get(thread, 0) <= begin <= woken <= start <= stop <= round(end) + 1
        assert before <= stop
        last[thread] = before = stop


def test_a_timeline_is_of_one_replay() -> None:
    run = steps([Slice(0, 0, 0, 0, 100)], 100)
    timeline, _ = traced(run, 1)
    for each in (timeline, _native.ReplayTimeline(steps([Slice(0, 0, 0, 0, 100)], 100))):
        with pytest.raises(ValueError, match="timeline of another replay"):
            replayed([run], 1, timelines=[each])
