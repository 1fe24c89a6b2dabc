"""T_j against counting moment by moment (tests/support/builders/synthetic.py), on recordings made by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.analyses.scheduling import activity
from headway.analyses.scheduling import parallelism as module
from headway.analyses.scheduling.parallelism import PROFILE_BINS, Parallelism, ParallelismLevel, parallelism
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders import synthetic
from support.builders.synthetic import KINDS, FakeThread

WALL = 400


def count(threads: list[FakeThread], states: str, kinds: tuple[str, ...], span: range) -> list[int]:
    """T_j the obvious way: look at every nanosecond."""
    times: dict[int, int] = {}
    chosen = [thread for thread in threads if thread.kind in kinds]
    for t in span:
        there = sum(1 for thread in chosen if (thread.at(t) or "-") in states)
        times[there] = times.get(there, 0) + 1
    return [times.get(j, 0) for j in range(max(times) + 1)]


def ns(levels: tuple[ParallelismLevel, ...]) -> list[int]:
    assert [level.threads for level in levels] == list(range(len(levels)))
    return [level.ns for level in levels]


def analyse(path: Path, threads: list[FakeThread], **options: object) -> Parallelism:
    synthetic.write(path / "a.headway", threads, WALL, **options)  # type: ignore[arg-type]
    return parallelism(open_recording(path / "a.headway"))


cycle = st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(1, 80))
some_threads = st.lists(
    st.builds(
        lambda kind, start, cycles: FakeThread(
            kind, start, [part for b, w, r in cycles for part in (("B", b), ("W", w), ("R", r)) if part[1]]
        ),
        st.sampled_from([*KINDS, "headway"]),
        st.integers(0, 100),
        st.lists(cycle, min_size=1, max_size=4),
    ).filter(lambda thread: thread.end <= WALL),
    min_size=1,
    max_size=6,
)
quick = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(threads=some_threads)
def test_every_level_equals_counting_moment_by_moment(tmp_path: Path, threads: list[FakeThread]) -> None:
    result = analyse(tmp_path, threads)
    span = range(WALL)
    assert ns(result.levels) == count(threads, "RW", KINDS, span)
    assert ns(result.running_levels) == count(threads, "R", KINDS, span)
    for kind in KINDS:
        assert ns(result.by_kind[kind]) == count(threads, "RW", (kind,), span)
        assert ns(result.running_by_kind[kind]) == count(threads, "R", (kind,), span)
    assert sum(ns(result.levels)) == result.wall_ns == WALL
    assert result.notices == ()


@quick
@given(threads=some_threads, kinds=st.sets(st.sampled_from(KINDS), min_size=1))
def test_choosing_kinds_counts_only_threads_of_those(
    tmp_path: Path, threads: list[FakeThread], kinds: set[str]
) -> None:
    synthetic.write(tmp_path / "a.headway", threads, WALL)
    result = parallelism(open_recording(tmp_path / "a.headway"), kinds=kinds)
    assert ns(result.levels) == count(threads, "RW", tuple(kinds), range(WALL))
    assert set(result.by_kind) == kinds == set(result.kinds)


def test_a_kind_that_is_none_is_refused(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 10)])], WALL)
    with pytest.raises(ValueError, match="gcc"):
        parallelism(open_recording(tmp_path / "a.headway"), kinds=["gcc"])


def test_means_shares_and_percentiles_are_weighted_by_time(tmp_path: Path) -> None:
    # 0..100 one active, 100..200 none, 200..400 three active, of which two run.
    threads = [
        FakeThread("app", 0, [("R", 100), ("B", 100), ("R", 200)]),
        FakeThread("app", 200, [("R", 200)]),
        FakeThread("app", 200, [("W", 200)]),
    ]
    result = analyse(tmp_path, threads)
    assert result.mean_active == (100 + 3 * 200) / 400
    assert result.mean_running == (100 + 2 * 200) / 400
    assert (result.max_active, result.max_running) == (3, 2)
    assert (result.serial_share, result.idle_share) == (0.25, 0.25)
    assert result.percentiles == {5: 0, 25: 0, 50: 1, 75: 3, 95: 3}
    assert result.running_core_ns == {"app": 500, "gc": 0, "jit": 0, "vm": 0}


def test_carrier_threads_count_as_application(tmp_path: Path) -> None:
    result = analyse(tmp_path, [FakeThread("carrier", 0, [("R", 100)])])
    assert ns(result.by_kind["app"]) == [300, 100]


def test_threads_of_headway_are_not_counted(tmp_path: Path) -> None:
    result = analyse(tmp_path, [FakeThread("headway", 0, [("R", 400)]), FakeThread("app", 0, [("R", 100)])])
    assert ns(result.levels) == [300, 100]


def test_steal_is_taken_from_each_level_by_the_threads_that_ran(tmp_path: Path) -> None:
    # 0..100 one thread runs and loses 40; 100..200 two run and lose 20 and 30: two cores need 25 less.
    threads = [
        FakeThread("app", 0, [("R", 100), ("R", 100)], stolen=[40, 20]),
        FakeThread("app", 100, [("R", 100)], stolen=[30]),
    ]
    result = analyse(tmp_path, threads)
    assert [level.corrected_ns for level in result.levels] == [200, 60, 75]
    assert result.corrected_wall_ns == 335
    assert result.stolen_core_ns == 90


def test_threads_that_wait_while_one_loses_its_core_wait_for_less_time_without_steal(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 100)], stolen=[40]), FakeThread("app", 0, [("W", 100)])]
    result = analyse(tmp_path, threads)
    assert [(level.ns, level.corrected_ns) for level in result.levels] == [(300, 300), (0, 0), (100, 60)]


def test_steal_that_a_mode_cannot_tell_is_unknown_not_zero(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 100)])]
    rows = [{**row, "stolen_ns": None} for row in synthetic.activity_rows(threads, WALL, 50)]
    result = analyse(tmp_path, threads, activity=rows, mode="perf-switch")
    assert result.corrected_wall_ns is None
    assert result.stolen_core_ns is None
    assert {level.corrected_ns for level in result.levels} == {None}
    assert result.profile.stolen is None
    assert result.mode == "perf-switch"


def test_clocks_that_differ_a_little_never_make_a_level_longer_without_steal(tmp_path: Path) -> None:
    result = analyse(tmp_path, [FakeThread("app", 0, [("R", 100)], stolen=[-3])])
    assert [level.corrected_ns for level in result.levels] == [300, 100]


def test_the_profile_is_the_mean_of_each_bin_and_keeps_the_integral(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 150)], stolen=[15]), FakeThread("gc", 100, [("W", 20), ("R", 30)])]
    profile = analyse(tmp_path, threads, bin_ns=100).profile
    assert profile.start_ns == (0, 100, 200, 300)
    assert profile.dur_ns == (100, 100, 100, 100)
    assert profile.active["app"] == (1.0, 0.5, 0.0, 0.0)
    assert profile.active["gc"] == (0.0, 0.5, 0.0, 0.0)
    assert profile.running["gc"] == (0.0, 0.3, 0.0, 0.0)
    assert profile.stolen == pytest.approx((0.1, 0.05, 0.0, 0.0))


def test_the_profile_stays_bounded_and_exact_for_many_bins(tmp_path: Path) -> None:
    wall = 7 * 10**9
    rows = [
        {"bin_start_ns": synthetic.ORIGIN + i * 10**6, "dur_ns": 10**6, "stolen_ns": 0}
        | dict.fromkeys([f"{what}_{kind}" for what in ("active", "running") for kind in KINDS], 0)
        | {"active_app": i % 3, "running_app": min(i % 3, 1)}
        for i in range(7000)
    ]
    synthetic.write(tmp_path / "a.headway", [], wall, activity=rows)
    result = parallelism(open_recording(tmp_path / "a.headway"))
    profile = result.profile
    assert len(profile.start_ns) <= PROFILE_BINS
    assert sum(profile.dur_ns) == wall
    assert all(
        a + d == b
        for (a, d), b in zip(zip(profile.start_ns, profile.dur_ns, strict=True), profile.start_ns[1:], strict=False)
    )
    total = sum(mean * dur for mean, dur in zip(profile.active["app"], profile.dur_ns, strict=True))
    assert total == pytest.approx(sum(i % 3 for i in range(7000)) * 10**6, rel=1e-12)


def test_levels_that_do_not_add_up_are_said_to(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 100)])]
    rows = synthetic.activity_rows(threads, WALL, 50)[:-1]
    assert [notice.id for notice in analyse(tmp_path, threads, activity=rows).notices] == ["HW403"]


def test_notices_of_the_recording_come_along(tmp_path: Path) -> None:
    notice = {"id": "HW100", "message": "as it was worded", "remedy": "sudo"}
    result = analyse(tmp_path, [FakeThread("app", 0, [("R", 100)])], notices=[notice])
    assert [(each.id, each.message) for each in result.notices] == [("HW100", "as it was worded")]


def test_mode_agent_has_no_parallelism_and_says_why(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 100)])], WALL, mode="agent")
    with pytest.raises(HeadwayError, match=r"HW400.*mode agent"):
        parallelism(open_recording(tmp_path / "a.headway"))


def test_a_recording_that_never_began_is_an_error(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.headway", [], WALL, window=None)
    with pytest.raises(HeadwayError, match="HW402"):
        parallelism(open_recording(tmp_path / "a.headway"))


@pytest.mark.parametrize("window", [(0, 0), (10, 10), (20, 10), (-1, 10), (0, WALL + 1), (WALL, WALL + 1)])
def test_a_window_outside_or_empty_is_an_error(tmp_path: Path, window: tuple[int, int]) -> None:
    synthetic.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 100)])], WALL)
    with pytest.raises(HeadwayError, match="HW401"):
        parallelism(open_recording(tmp_path / "a.headway"), window)


@pytest.mark.parametrize("limit", [-1, 10**9], ids=["bins and edges", "slices only"])
@quick
@given(threads=some_threads, ends=st.lists(st.integers(0, WALL), min_size=2, max_size=2, unique=True).map(sorted))
def test_a_window_counts_exactly_its_own_moments(
    tmp_path: Path, limit: int, threads: list[FakeThread], ends: list[int]
) -> None:
    synthetic.write(tmp_path / "a.headway", threads, WALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(activity, "SWEEP_LIMIT", limit)
        result = parallelism(open_recording(tmp_path / "a.headway"), (ends[0], ends[1]))
    span = range(ends[0], ends[1])
    assert ns(result.levels) == count(threads, "RW", KINDS, span)
    assert ns(result.running_levels) == count(threads, "R", KINDS, span)
    for kind in KINDS:
        assert ns(result.by_kind[kind]) == count(threads, "RW", (kind,), span)
    assert result.window_ns == (ends[0], ends[1])
    assert result.wall_ns == ends[1] - ends[0]
    assert result.profile.start_ns[0] == ends[0]
    assert sum(result.profile.dur_ns) == result.wall_ns


@quick
@given(threads=some_threads, cut=st.integers(1, WALL - 1))
def test_two_windows_side_by_side_add_up_to_the_whole(tmp_path: Path, threads: list[FakeThread], cut: int) -> None:
    synthetic.write(tmp_path / "a.headway", threads, WALL)
    recording = open_recording(tmp_path / "a.headway")
    whole = ns(parallelism(recording).levels)
    parts = [ns(parallelism(recording, window).levels) for window in ((0, cut), (cut, WALL))]
    assert [sum(pair) for pair in itertools.zip_longest(*parts, fillvalue=0)] == whole


def test_the_whole_recording_as_a_window_is_the_whole_recording(tmp_path: Path) -> None:
    synthetic.write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 100)])], WALL)
    recording = open_recording(tmp_path / "a.headway")
    assert parallelism(recording, (0, WALL)) == parallelism(recording)


def test_the_result_types_are_exported(tmp_path: Path) -> None:
    assert set(module.__all__) >= {"ParallelismLevel", "Parallelism", "ParallelismProfile", "parallelism", "KINDS"}
