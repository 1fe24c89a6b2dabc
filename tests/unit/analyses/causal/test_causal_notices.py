"""Causal recordings: what is said of experiments and samples that weaken their results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headway.analyses.causal.analysis import analyse
from headway.analyses.causal.data import read, sampling_period_ns
from headway.store import open_recording
from support.builders.causal_builder import (
    EFFECTS,
    MADE,
    CausalModel,
    data_of,
    notice_ids,
    printed,
    serial,
    with_columns,
    write,
)


def test_too_few_experiments_are_said_to_be_too_few_with_the_time_they_need() -> None:
    result = analyse(data_of(CausalModel({"some": serial(0.1)}, pairs=4, dispersion=20.0, seed=1)), "a.headway")
    assert [line.shape for line in result.lines] == ["unknown"]
    assert "HW622" in notice_ids(result)
    assert result.verdict.startswith("No line is known to gain anything yet")
    assert "Not known well enough: App.java:10; the quickest needs" in printed(result)


def test_a_handful_of_experiments_is_no_finding_however_clear_it_looks() -> None:
    result = analyse(data_of(CausalModel({"half": serial(0.5)}, pairs=5, dispersion=0.01, seed=1)), "a.headway")
    assert [line.shape for line in result.lines] == ["unknown"]
    more = analyse(data_of(CausalModel({"half": serial(0.5)}, pairs=12, dispersion=0.01, seed=1)), "a.headway")
    assert [line.shape for line in more.lines] == ["gain"]


def test_no_experiment_at_all_is_said() -> None:
    result = analyse(data_of(CausalModel({"some": serial(0.2)}, pairs=0)), "a.headway")
    assert "HW621" in notice_ids(result)
    assert all(line.shape == "untested" for line in result.lines)
    printed(result)


def test_a_point_that_is_never_visited_is_said() -> None:
    data = data_of(replace(MADE, pairs=10))
    never = replace(data.measures[0], visits=np.zeros(data.count))
    assert "HW631" in notice_ids(analyse(replace(data, measures=(never,)), "a.headway"))


def test_few_visits_are_said() -> None:
    assert "HW633" in notice_ids(analyse(data_of(CausalModel(EFFECTS, visit_ns=1e8)), "a.headway"))


@pytest.mark.parametrize(("period_ns", "is_said"), [(140_000, False), (145_000, True), (1_000_000, True)])
def test_visits_of_less_than_seven_sampling_periods_are_said(period_ns: int, is_said: bool) -> None:
    model = CausalModel(EFFECTS, visit_ns=1e6, period_ns=period_ns)
    assert ("HW642" in notice_ids(analyse(data_of(model), "a.headway"))) is is_said


def line_of(cpu_ns: int, samples: int, blocked_ns: int = 0, kind: str = "line") -> dict[str, object]:
    return {"kind": kind, "cpu_ns": cpu_ns, "samples": samples, "blocked_ns": blocked_ns}


def test_samples_that_come_at_the_ticks_of_the_kernel_have_its_period_and_not_the_one_that_was_asked_for() -> None:
    ticks = {2: line_of(4_000_000 * 150, 150), 3: line_of(4_000_000 * 50, 50)}
    assert sampling_period_ns(1_000_000, ticks) == 4_000_000
    asleep = {4: line_of(0, 1000, 10**12), 5: line_of(8 * 10**9, 200, kind="method")}
    assert sampling_period_ns(1_000_000, {**ticks, **asleep}) == 4_000_000
    assert sampling_period_ns(1_000_000, {2: line_of(990_000 * 150, 150)}) == 1_000_000, (
        "some are cut short by payments"
    )
    assert sampling_period_ns(1_000_000, {2: line_of(4_000_000 * 9, 9)}) == 1_000_000, "too few to tell"


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        ({"unread_ns": 10**11}, "HW651"),
        ({"samples": 100, "late_payments": 20}, "HW624"),
        ({"slept_ns": 10**9, "overslept_ns": 10**9}, "HW625"),
        ({"threads": 9, "threads_without_timer": 1}, "HW626"),
        ({"threads": 9, "unprofiled_threads": 1}, "HW626"),
        ({"run_delays": 100, "unknown_run_delays": 6}, "HW643"),
        ({"out_of_scope_ns": 10**12}, "HW632"),
        ({"faults": 1}, "HW634"),
    ],
)
def test_what_sampling_could_not_do_is_said(health: dict[str, int], expected: str) -> None:
    data = data_of(replace(MADE, pairs=10))
    assert expected not in notice_ids(analyse(data, "a.headway"))
    assert expected in notice_ids(analyse(replace(data, health=health), "a.headway"))


def test_what_was_slept_too_long_is_said_by_its_part_of_the_experiments() -> None:
    data = data_of(replace(MADE, pairs=10))
    lasted_ns = int(data.columns["dur_ns"].sum())
    little = {"slept_ns": lasted_ns // 100, "overslept_ns": lasted_ns * 9 // 100}  # nine times what was asked for
    much = {"slept_ns": lasted_ns, "overslept_ns": lasted_ns * 11 // 100}
    assert "HW625" not in notice_ids(analyse(replace(data, health=little), "a.headway"))
    assert "HW625" in notice_ids(analyse(replace(data, health=much), "a.headway"))


def test_waiting_for_cores_is_the_programs_own_if_it_has_more_threads_than_cores() -> None:
    data = data_of(replace(MADE, pairs=10))  # its lines run on 1.2 cores, of 2
    crowded = with_columns(data, waited_ns=2 * data.columns["dur_ns"])
    assert "HW627" in notice_ids(analyse(crowded, "a.headway"))
    alone = with_columns(data, waited_ns=data.columns["dur_ns"] // 2)
    said = notice_ids(analyse(alone, "a.headway"))
    assert "HW627" not in said
    assert "HW636" in said
    found = analyse(with_columns(data, waited_ns=data.columns["dur_ns"] // 4), "a.headway").notices
    waits = next(each for each in found if each.id == "HW636")
    assert waits.message.startswith("0.2 threads at a time waited")  # a number of threads is no part of the time
    assert {"HW627", "HW636"}.isdisjoint(notice_ids(analyse(data, "a.headway")))


@pytest.mark.parametrize("where", ["out_of_scope_ns", "unread_ns", "spin_ns"])
def test_whoever_of_the_program_has_the_cores_it_is_no_other_program(where: str) -> None:
    data = data_of(replace(MADE, pairs=10))  # its lines run on 1.2 cores, of 2
    waiting = with_columns(data, waited_ns=data.columns["dur_ns"] // 2)
    assert "HW636" in notice_ids(analyse(waiting, "a.headway"))
    busy = replace(waiting, health={where: data.recorded_ns * 9 // 10})
    assert "HW636" not in notice_ids(analyse(busy, "a.headway"))


def test_threads_asleep_hide_no_stacks_that_could_not_be_read() -> None:
    data = data_of(replace(MADE, pairs=10))
    lines = {number: {**facts, "blocked_ns": 100 * data.recorded_ns} for number, facts in data.lines.items()}
    asleep = replace(data, lines=lines, health={"unread_ns": data.recorded_ns})
    assert "HW651" in notice_ids(analyse(asleep, "a.headway"))


def test_collections_that_differ_between_the_arms_are_said_and_marked_but_kept() -> None:
    data = data_of(MADE)
    treated = data.columns["speedup_pct"] > 0
    uneven = with_columns(data, gc_ns=np.where(treated, data.columns["effective_ns"] // 5, 0), gcs=treated.astype(int))
    even = with_columns(data, gc_ns=data.columns["effective_ns"] // 5, gcs=np.ones(data.count, dtype=int))
    assert "HW628" in notice_ids(analyse(uneven, "a.headway"))
    result = analyse(even, "a.headway")
    assert "HW628" not in notice_ids(result)
    assert result.gc_experiments == result.experiments == data.count
    assert result.lines[0].points == tuple(
        replace(point, gc_experiments=point.experiments) for point in analyse(data, "a.headway").lines[0].points
    )


def test_a_few_waits_for_a_core_that_are_not_known_are_not_worth_a_word() -> None:
    data = replace(data_of(replace(MADE, pairs=10)), health={"run_delays": 100, "unknown_run_delays": 4})
    assert "HW643" not in notice_ids(analyse(data, "a.headway"))


def test_a_line_that_several_threads_sleep_in_runs_for_as_long_as_one_of_them_does() -> None:
    data = data_of(CausalModel({"asleep": serial(0.5)}, pairs=300, dispersion=0.2, seed=5))
    # Of a run four times as long as these experiments, which all lie where four threads sleep in the line at once.
    lasted_ns = int(data.columns["dur_ns"].sum())
    starts = data.columns["start_ns"].copy()
    starts[-1] += 3 * lasted_ns
    delays_ns = int(data.columns["delay_ns"].sum())
    assert delays_ns > 0
    slept = {"cpu_ns": 0, "blocked_ns": int(4 * data.columns["hits_ns"].sum())}
    lines = {number: {**facts, **slept} for number, facts in data.lines.items()}
    summed = with_columns(replace(data, lines=lines), start_ns=starts, all_hits_ns=4 * data.columns["hits_ns"])
    once = with_columns(summed, all_hits_ns=data.columns["hits_ns"])
    assert analyse(summed, "a.headway").lines[0].phase_share == pytest.approx(0.25, rel=0.1)
    assert analyse(once, "a.headway").lines[0].phase_share == 1


def test_a_recording_that_tells_only_the_time_in_which_any_thread_slept_in_a_line_is_read_as_before(
    tmp_path: Path,
) -> None:
    data = data_of(replace(MADE, pairs=10))
    earlier = with_columns(data, all_hits_ns=np.full(len(data.columns["hits_ns"]), None))
    found = read(open_recording(write(tmp_path / "a.headway", earlier))).columns["all_hits_ns"]
    assert found.tolist() == data.columns["hits_ns"].tolist()


@pytest.mark.parametrize(("effect", "share", "is_said"), [(0.5, 0.99, True), (0.5, 0.4, False), (0.0, 0.99, False)])
def test_a_finding_whose_line_sleeps_most_of_the_time_is_in_doubt(effect: float, share: float, is_said: bool) -> None:
    data = data_of(CausalModel({"asleep": serial(effect)}, pairs=300, dispersion=0.2, seed=5))
    slept = {"cpu_ns": 0, "blocked_ns": int(share * data.recorded_ns)}
    result = analyse(replace(data, lines={0: {**data.lines[0], **slept}}), "a.headway")
    assert result.lines[0].significant is (effect > 0)
    assert ("HW644" in notice_ids(result)) is is_said
