"""Predictions from recordings: the figures, and every precondition that widens or withholds them."""

from __future__ import annotations

import dataclasses
import json
import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.common.uncertainty import interval_of_mean
from headway.analyses.lost_cores.analysis import why
from headway.analyses.scheduling.walltime import Prediction, Walltime, walltime
from headway.errors import HeadwayError
from headway.errors.message import NOTE, WARNING
from headway.report.terminal.walltime import floor_text
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.synthetic import FakeThread

SECOND = 10**9


def row(
    seconds: float, app: int, running: int | None = None, gc: int = 0, stolen: float = 0, bin_start: int = 0
) -> dict[str, Any]:
    """A row of `activity`: so long were so many application and GC threads active."""
    on_cpu = min(app, 2) if running is None else running
    counts = dict.fromkeys([f"{what}_{kind}" for what in ("active", "running") for kind in synthetic.KINDS], 0)
    return {
        **counts,
        "bin_start_ns": synthetic.ORIGIN,
        "dur_ns": round(seconds * SECOND),
        "active_app": app,
        "active_gc": gc,
        "running_app": on_cpu,
        "running_gc": 0,
        "stolen_ns": round(stolen * SECOND),
    }


def record(path: Path, rows: list[dict[str, Any]], threads: list[FakeThread] | None = None, **facts: Any) -> Recording:
    wall = sum(each["dur_ns"] for each in rows)
    return open_recording(synthetic.write(path, threads or [], wall, activity=rows, **facts))


def ids(result: Walltime) -> list[str]:
    return [notice.id for notice in result.notices]


def only(result: Walltime) -> Prediction:
    assert len(result.predictions) == 1
    return result.predictions[0]


# 10 s in all on 2 cores: 1 s none, 4 s one, 2 s two, 3 s four active.
PLAIN = [row(1, 0), row(4, 1), row(2, 2), row(3, 4)]


def test_the_predictions_follow_the_model_and_keep_the_order_asked_for(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", PLAIN), [4, 1, 2])
    assert [(each.cores, each.ns) for each in result.predictions] == [
        (4, (1 + 4 + 2) * SECOND + 3 * SECOND * 2 // 4),
        (1, (1 + 4) * SECOND + 2 * SECOND * 2 + 3 * SECOND * 2),
        (2, 10 * SECOND),
    ]
    assert (result.measured_ns, result.recorded_cores, result.critical_ns) == (10 * SECOND, 2, 5 * SECOND)
    assert result.ideal_ns[0] == 1 * SECOND + (4 + 4 + 6) * SECOND // 4


def test_from_one_quiet_run_the_uncertainty_is_unknown_and_says_so(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", PLAIN), [1, 2, 4])
    assert {(each.low_ns, each.high_ns) for each in result.predictions} == {(None, None)}
    assert ids(result) == ["HW418"]


def test_a_recording_that_does_not_know_its_cores_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="HW424"):
        walltime(record(tmp_path / "a.headway", PLAIN, recorded_cores=None), [1])


def test_mode_agent_has_no_prediction(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="HW400"):
        walltime(record(tmp_path / "a.headway", PLAIN, mode="agent"), [1])


# --- stolen time -------------------------------------------------------------------------------------------------------


def test_stolen_time_gives_a_figure_without_it_and_an_interval_from_none_to_twice(tmp_path: Path) -> None:
    # Two threads run for 10 s and lose 4 core-seconds in all: without steal, 8 s.
    result = walltime(record(tmp_path / "a.headway", [row(10, 2, stolen=4)]), [1, 2])
    one, two = result.predictions
    assert (result.measured_ns, result.corrected_measured_ns) == (10 * SECOND, 8 * SECOND)
    assert (one.ns, one.corrected_ns, one.low_ns, one.high_ns) == tuple(s * SECOND for s in (20, 16, 16, 24))
    assert (two.ns, two.corrected_ns) == (10 * SECOND, 8 * SECOND)
    assert "HW412" in ids(result)
    assert "stolen time" in one.interval


def test_steal_that_only_the_cpus_know_widens_by_its_share(tmp_path: Path) -> None:
    rows = [{**each, "stolen_ns": None} for each in [row(10, 2)]]
    recording = record(tmp_path / "a.headway", rows, steal_ns={"0": SECOND, "1": SECOND}, mode="ebpf")
    one = only(walltime(recording, [1]))
    assert one.corrected_ns is None
    assert (one.low_ns, one.high_ns) == (18 * SECOND, 22 * SECOND)


def test_steal_of_less_than_a_tick_is_no_warning_however_short_the_run(tmp_path: Path) -> None:
    assert "HW412" not in ids(walltime(record(tmp_path / "a.headway", [row(0.01, 1, stolen=0.009)]), [1]))
    assert "HW412" in ids(walltime(record(tmp_path / "b.headway", [row(0.1, 1, stolen=0.02)]), [1]))


def test_a_trace_of_steal_is_no_warning(tmp_path: Path) -> None:
    assert "HW412" not in ids(walltime(record(tmp_path / "a.headway", [row(10, 2, stolen=0.1)]), [1]))


# --- what no number of cores gets below -------------------------------------------------------------------------------


def test_without_doubts_the_floor_is_a_figure_and_nothing_is_known_below_it(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", PLAIN), [1, 64])
    assert (result.critical_ns, result.critical_low_ns) == (5 * SECOND, None)
    assert floor_text(result) == "by the model no number of cores takes it below 5.00 s"


def test_the_floor_of_a_busy_machine_has_the_waiting_for_cpus_in_it_and_its_lower_end_has_not(tmp_path: Path) -> None:
    # For 4 s one thread is active, and for 2 s of these it waits for a CPU; then two run for 6 s.
    rows = [row(2, 1), row(2, 1, running=0), row(6, 2)]
    result = walltime(record(tmp_path / "a.headway", rows), [1, 2, 3, 64])
    assert result.critical_ns == 4 * SECOND
    assert result.critical_low_ns == 2 * SECOND, "on free CPUs that one thread would have run for 2 s"
    assert floor_text(result).endswith("below 4.00 s; with what the intervals cover, not below 2.00 s")
    assert "at least about 8.00 s" in next(each.message for each in result.notices if each.id == "HW414")


def test_no_interval_begins_below_the_floors_lower_end_with_several_doubts(tmp_path: Path) -> None:
    rows = [row(2, 0), row(3, 1, running=0), {**row(2, 1, stolen=0.5), "active_jit": 1, "running_jit": 1}, row(3, 4, 1)]
    result = walltime(record(tmp_path / "a.headway", rows), [1, 2, 3, 4, 64])
    assert {"HW412", "HW414", "HW415", "HW425"} <= set(ids(result))
    assert result.critical_low_ns is not None
    assert 0 < result.critical_low_ns < result.critical_ns
    assert all(result.critical_low_ns <= (each.low_ns or each.ns or 0) for each in result.predictions)


# --- warm-up ----------------------------------------------------------------------------------------------------------


def compiling(seconds: float, app: int, jit: int) -> dict[str, Any]:
    """A row in which compiler threads run beside those of the application."""
    return {**row(seconds, app), "active_jit": jit, "running_jit": jit}


def test_a_program_that_compiles_much_widens_from_no_compiling_to_twice_as_much(tmp_path: Path) -> None:
    # On one core 20 s: two threads for 10 s of wall time on two cores. One of them is a compiler for 4 s of these.
    result = walltime(record(tmp_path / "a.headway", [compiling(4, 1, 1), row(6, 2)]), [1, 2])
    one, two = result.predictions
    assert (one.ns, one.low_ns, one.high_ns) == (20 * SECOND, 16 * SECOND, 24 * SECOND)
    assert (two.low_ns, two.high_ns) == (None, None), "the recorded number of cores is a measurement"
    assert "warm-up" in one.interval
    (notice,) = [each for each in result.notices if each.id == "HW425"]
    assert "20% of the CPU time" in notice.message


def test_a_program_that_compiles_little_is_no_warning(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", [compiling(1, 1, 1), row(9, 2)]), [1])
    assert "HW425" not in ids(result)


# --- CPUs that were not free -------------------------------------------------------------------------------------------


def gap(begin: float, seconds: float, other: float, cpu: int = 0) -> dict[str, Any]:
    """A stretch in which a CPU ran others for so long."""
    start = synthetic.ORIGIN + round(begin * SECOND)
    return {"cpu": cpu, "start_ns": start, "dur_ns": round(seconds * SECOND), "other_ns": round(other * SECOND)}


def readings(seconds: float, busy: Sequence[float], recorder: float = 0) -> list[dict[str, Any]]:
    """Readings of the CPUs' clocks at the begin and at the end: how long each worked, and the recorder."""
    found = [("cpu_steal", cpu, 0.0) for cpu in range(len(busy))]
    found += [("cpu_busy", cpu, worked) for cpu, worked in enumerate(busy)] + [("recorder_cpu", -1, recorder)]
    return [
        {"ns": synthetic.ORIGIN + round(at * SECOND), "event": event, "cpu": cpu, "value": round(value * SECOND)}
        for event, cpu, end in found
        for at, value in ((0, 0), (seconds, end))
    ]


def not_free(recording: Recording) -> str:
    """Return what is said of CPUs that were not free."""
    (notice,) = [each for each in walltime(recording, [1]).notices if each.id == "HW414"]
    return notice.message


def test_cpus_that_were_not_free_widen_down_to_the_figure_without_that_waiting(tmp_path: Path) -> None:
    # Two active, only one runs, for half of the time: 25 % of what two cores could have given.
    tables = {"cpu_gap": [gap(5, 5, 5)]}
    recording = record(tmp_path / "a.headway", [row(5, 2), row(5, 2, running=1)], tables=tables)
    result = walltime(recording, [1])
    assert (only(result).ns, only(result).low_ns, only(result).high_ns) == (20 * SECOND, 15 * SECOND, 20 * SECOND)
    message = not_free(recording)
    assert "25.0%" in message
    assert "on free CPUs the program would have taken at least about 7.50 s" in message
    assert "took 25% of these CPUs" in message


@pytest.mark.parametrize(
    ("seconds", "busy", "share"),
    [(1, 4, "took 100% of these"), (0.1, 0.2, "took an unknown share of")],
)
def test_what_other_processes_took_is_never_more_than_there_was_and_unknown_below_the_ticks(
    tmp_path: Path, seconds: float, busy: float, share: str
) -> None:
    tables = {"counter": readings(seconds, (busy, 0))}
    assert share in not_free(record(tmp_path / "a.headway", [row(seconds, 2, running=1)], tables=tables))


@pytest.mark.parametrize(
    ("tables", "share"),
    [({"counter": readings(10, (10, 9))}, "took 20% of"), ({}, "took an unknown share of")],
)
def test_what_other_processes_took_is_what_the_cpus_did_beyond_the_program(
    tmp_path: Path, tables: dict[str, Any], share: str
) -> None:
    assert share in not_free(record(tmp_path / "a.headway", [row(5, 2), row(5, 2, running=1)], tables=tables))


def test_what_other_processes_took_is_known_in_a_short_run_where_the_kernel_tells_each_stretch(tmp_path: Path) -> None:
    # 40 of 200 ms of the CPUs; a quarter of it was the recorder's, and `why` does not count that for others' either.
    tables = {"cpu_gap": [gap(0.05, 0.05, 0.04)], "counter": readings(0.1, (0, 0), recorder=0.01)}
    recording = record(tmp_path / "a.headway", [row(0.1, 2, running=1)], tables=tables)
    assert "took 15% of these CPUs" in not_free(recording)
    assert why(recording).account.other_processes_ns == 0.03 * SECOND


def test_a_cpu_quota_that_stopped_the_program_is_named(tmp_path: Path) -> None:
    rows = [row(5, 2), row(5, 2, running=1)]
    stopped = walltime(record(tmp_path / "a.headway", rows, throttled_ns=3 * SECOND), [1])
    (notice,) = [each for each in stopped.notices if each.id == "HW414"]
    assert "a CPU quota kept the program off them for 3.00 s" in notice.message
    free = walltime(record(tmp_path / "b.headway", rows, throttled_ns=None), [1])
    assert not [each for each in free.notices if "quota" in each.message]


@pytest.mark.parametrize(("idle_s", "severity"), [(1, WARNING), (100, NOTE)])
def test_cpus_that_were_not_free_warn_where_the_run_would_have_been_shorter(
    tmp_path: Path, idle_s: float, severity: str
) -> None:
    """An idle server hardly wants a core, and it may get none of them."""
    recording = record(tmp_path / "a.headway", [row(idle_s, 0), row(1, 2, running=1)])
    (notice,) = [each for each in walltime(recording, [1]).notices if each.id == "HW414"]
    assert notice.level == severity


def test_threads_that_wait_because_all_cores_work_are_no_warning(tmp_path: Path) -> None:
    assert "HW414" not in ids(walltime(record(tmp_path / "a.headway", [row(10, 6, running=2)]), [1]))


# --- threads that follow the processors --------------------------------------------------------------------------------


def jvm(seen: int, **more: Any) -> dict[str, Any]:
    return {"jvms": [{"pid": 100, "available_processors": seen, **more}]}


POOL = [FakeThread(name=f"pool-1-thread-{i}") for i in (1, 2)]


def test_a_pool_as_large_as_the_processors_widens_down_to_the_figure_of_a_scaled_pool(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", [row(4, 1), row(6, 2)], POOL, **jvm(2)), [4])
    # With two threads the other cores stay idle: 10 s; with four, the parallel part takes half of it.
    assert (only(result).ns, only(result).low_ns, only(result).high_ns) == (10 * SECOND, 7 * SECOND, 10 * SECOND)
    (notice,) = [each for each in result.notices if each.id == "HW410"]
    assert "pool-#-thread-#" in notice.message
    assert "--jvm-processors 4" in notice.remedy


def test_what_a_script_runs_before_the_jvm_is_no_pool(tmp_path: Path) -> None:
    threads = [FakeThread(name=name) for name in ("java", "java", "ls", "ls", "dirname", "dirname")]
    recording = record(tmp_path / "a.headway", [row(10, 2)], threads, **jvm(2))
    assert "HW410" not in ids(walltime(recording, [4]))
    others = jvm(2)
    others["jvms"][0]["pid"] = 77
    assert "HW410" not in ids(walltime(record(tmp_path / "b.headway", [row(10, 2)], POOL, **others), [4]))


def test_fewer_processors_mean_fewer_threads_so_the_figure_may_be_higher(tmp_path: Path) -> None:
    rows = [row(10, 2, running=2)]
    threads = [FakeThread(name=f"pool-1-thread-{i}") for i in range(4)]
    result = walltime(
        record(tmp_path / "a.headway", rows, threads, recorded_cores=4, affinity=[0, 1, 2, 3], **jvm(4)), [2]
    )
    assert (only(result).ns, only(result).high_ns) == (10 * SECOND, 20 * SECOND)


def test_gc_threads_follow_the_processors_unless_told(tmp_path: Path) -> None:
    threads = [FakeThread("gc", name="GC Thread#0"), FakeThread("gc", name="GC Thread#1")]
    rows = [row(4, 1), {**row(6, 0, gc=2), "running_gc": 2}]
    result = walltime(record(tmp_path / "a.headway", rows, threads, **jvm(2)), [4])
    assert (only(result).ns, only(result).low_ns) == (10 * SECOND, 7 * SECOND)
    given = jvm(2, flags="-XX:ParallelGCThreads=2 -Xmx1g")
    assert "HW410" not in ids(walltime(record(tmp_path / "b.headway", rows, threads, **given), [4]))


@pytest.mark.parametrize(
    "facts",
    [
        {"command": ["java", "-XX:ActiveProcessorCount=2", "Main"], **jvm(2)},
        jvm(2, flags=["-XX:ActiveProcessorCount=2"]),
        {"jvm_processors": 2, **jvm(2)},
    ],
)
def test_a_jvm_that_was_told_its_processors_needs_no_warning(tmp_path: Path, facts: dict[str, Any]) -> None:
    assert ids(walltime(record(tmp_path / "a.headway", [row(10, 2)], POOL, **facts), [4])) == ["HW418"]


def test_the_number_of_cores_that_the_jvm_saw_needs_no_warning(tmp_path: Path) -> None:
    result = walltime(
        record(tmp_path / "a.headway", [row(10, 2)], POOL, recorded_cores=1, affinity=[0], **jvm(2)), [1, 2]
    )
    assert "HW410" not in ids(result)


def test_a_jvm_that_saw_one_processor_hides_what_it_would_do_with_more(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.headway", [row(10, 1)], recorded_cores=1, affinity=[0], **jvm(1))
    result = walltime(recording, [2])
    assert (only(result).ns, only(result).low_ns) == (10 * SECOND, 5 * SECOND)
    assert "HW410" in ids(result)


# --- the machine -------------------------------------------------------------------------------------------------------


def topology(cores: int, threads: int) -> dict[str, Any]:
    total = cores * threads
    rows = [
        {"cpu": cpu, "core": cpu % cores, "package": 0, "node": 0}
        | {"smt_siblings": [other for other in range(total) if other != cpu and other % cores == cpu % cores]}
        for cpu in range(total)
    ]
    return {"host": {"topology": rows, "cpus_online": list(range(total))}}


def test_smt_siblings_widen_up_to_the_figure_of_a_second_thread_that_brings_nothing(tmp_path: Path) -> None:
    # Two cores with two threads each; recorded on CPUs 0 and 1, one of each core.
    result = walltime(record(tmp_path / "a.headway", [row(10, 4, running=2)], **topology(2, 2)), [4, 1])
    four, one = result.predictions
    assert (four.ns, four.low_ns, four.high_ns) == (5 * SECOND, 5 * SECOND, 10 * SECOND)
    assert one.low_ns is None
    assert "HW411" in ids(result)


def test_a_recording_on_siblings_was_slower_than_on_two_cores(tmp_path: Path) -> None:
    facts = {**topology(2, 2), "affinity": [0, 2]}
    result = walltime(record(tmp_path / "a.headway", [row(10, 2)], **facts), [1])
    # If the second hardware thread brought nothing, one core would take as long as the two siblings did.
    assert (only(result).ns, only(result).low_ns) == (20 * SECOND, 10 * SECOND)


def test_a_machine_without_siblings_needs_no_warning(tmp_path: Path) -> None:
    assert "HW411" not in ids(walltime(record(tmp_path / "a.headway", PLAIN, **topology(4, 1)), [8]))


def khz(*values: int) -> dict[str, Any]:
    return {"counter": [{"ns": i, "event": "cpu_khz", "cpu": 0, "value": value} for i, value in enumerate(values)]}


def test_frequencies_that_changed_widen_by_their_range(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.headway", [row(10, 2)], tables=khz(*[2_000_000] * 50, *[3_000_000] * 50))
    result = walltime(recording, [1])
    assert (only(result).low_ns, only(result).high_ns) == (10 * SECOND, 30 * SECOND)
    assert "HW413" in ids(result)


def test_a_frequency_that_stayed_needs_no_warning_whatever_the_policy(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.headway", PLAIN, tables=khz(*[3_000_000] * 9), host={"governor": "schedutil"})
    assert ids(walltime(recording, [1])) == ["HW418"]


@pytest.mark.parametrize("host", [{"governor": "schedutil"}, {"governor": "performance", "boost": True}])
def test_a_policy_that_lets_the_frequency_change_widens_by_an_allowance(tmp_path: Path, host: dict[str, Any]) -> None:
    result = walltime(record(tmp_path / "a.headway", [row(10, 2)], host=host), [1])
    assert (only(result).low_ns, only(result).high_ns) == (17 * SECOND, 23 * SECOND)


@pytest.mark.parametrize("host", [{}, {"governor": "performance", "boost": False}, {"governor": "userspace"}])
def test_a_policy_that_keeps_the_frequency_needs_no_warning(tmp_path: Path, host: dict[str, Any]) -> None:
    assert ids(walltime(record(tmp_path / "a.headway", PLAIN, host=host), [1])) == ["HW418"]


# --- waiting, losses, distance, parts ----------------------------------------------------------------------------------


def test_a_program_that_mostly_waits_widens_by_what_the_waiting_may_change(tmp_path: Path) -> None:
    # 5 s of waiting; the computing halves, so the waiting might shrink to 2.5 s or grow by as much.
    result = walltime(record(tmp_path / "a.headway", [row(5, 0), row(5, 8, running=2)]), [4])
    assert (only(result).ns, only(result).low_ns, only(result).high_ns) == tuple(
        round(s * SECOND) for s in (7.5, 5, 10)
    )
    assert "HW415" in ids(result)


def lost(*spans: tuple[float, float]) -> dict[str, Any]:
    rows = [
        {
            "source": "sched",
            "cpu": 0,
            "start_ns": synthetic.ORIGIN + round(a * SECOND),
            "dur_ns": round((b - a) * SECOND),
            "events": 5,
        }
        for a, b in spans
    ]
    return {"tables": {"loss": rows}, "losses": {"events": 5 * len(rows), "spans": len(rows)}}


def test_lost_records_widen_by_the_spans_they_leave_uncertain_each_counted_once(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.headway", [row(10, 2)], **lost((1, 1.2), (1.1, 1.3), (9.9, 11)))
    result = walltime(recording, [4])
    assert (only(result).low_ns, only(result).high_ns) == (round(9.6 * SECOND), round(10.4 * SECOND))
    assert "4.00%" in next(each.message for each in result.notices if each.id == "HW416")


def test_past_a_threshold_of_losses_the_figure_is_withheld_with_its_reason(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", [row(10, 2)], **lost((1, 3))), [4, 2])
    four, two = result.predictions
    assert (four.ns, four.low_ns, four.high_ns, four.corrected_ns) == (None, None, None, None)
    assert four.withheld is not None
    assert "20%" in four.withheld
    assert two.ns == 10 * SECOND  # the measurement needs no records


def test_where_much_is_lost_the_floor_may_be_lower_by_all_that_was_lost(tmp_path: Path) -> None:
    path = record(tmp_path / "a.headway", [row(5, 1), row(5, 2)], **lost((1, 4)))
    result = walltime(path, [4, 8])
    assert [each.ns for each in result.predictions] == [None, None]
    assert (result.critical_ns, result.critical_low_ns) == (5 * SECOND, 2 * SECOND)


def test_far_from_the_recorded_cores_the_interval_widens_and_then_the_figure_is_withheld(tmp_path: Path) -> None:
    recording = record(tmp_path / "a.headway", [row(12.8, 1000, running=1)], recorded_cores=1, affinity=[0])
    near, far, farther = walltime(recording, [4, 16, 128]).predictions
    assert (near.low_ns, near.high_ns) == (None, None)
    assert far.ns == round(0.8 * SECOND)
    assert (far.low_ns, far.high_ns) == (round(0.8 * 0.68 * SECOND), round(0.8 * 1.32 * SECOND))
    assert farther.ns is None
    assert farther.withheld is not None
    assert "128 times" in farther.withheld


def test_cores_that_the_program_cannot_use_are_not_far(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", [row(10, 2)]), [4096])
    assert only(result).ns == 10 * SECOND
    assert ids(result) == ["HW418"]


def test_without_wake_ups_the_interval_reaches_down_to_work_for_every_core(tmp_path: Path) -> None:
    rows = [{**each, "stolen_ns": None} for each in (row(4, 1), row(6, 2))]
    result = walltime(record(tmp_path / "a.headway", rows, mode="perf-switch"), [4])
    assert (only(result).ns, only(result).low_ns, only(result).high_ns) == (10 * SECOND, 7 * SECOND, 10 * SECOND)
    assert "HW420" in ids(result)


@pytest.mark.parametrize("facts", [{"attached": True}, {"ended_by": "duration"}, {"ended_by": "disk-full"}])
def test_a_part_of_a_run_is_said_to_be_one(tmp_path: Path, facts: dict[str, Any]) -> None:
    assert "HW421" in ids(walltime(record(tmp_path / "a.headway", PLAIN, **facts), [1]))


def test_what_applies_together_multiplies_as_shares(tmp_path: Path) -> None:
    rows = [row(10, 2, stolen=4)]
    both = only(walltime(record(tmp_path / "a.headway", rows, host={"governor": "schedutil"}), [1]))
    assert (both.low_ns, both.high_ns) == (13_600_000_000, 27_600_000_000)  # 20 s * 0.8 * 0.85 and * 1.2 * 1.15
    assert "stolen time" in both.interval
    assert "clock speed" in both.interval


# --- several runs ------------------------------------------------------------------------------------------------------


def repeats(path: Path, walls: list[float], **facts: Any) -> Recording:
    record(path, [row(walls[0], 2)])
    for i, wall in enumerate(walls[1:], start=2):
        record(path / "repeats" / f"{i}.headway", [row(wall, 2)], **facts)
    return open_recording(path)


def test_several_runs_give_their_mean_and_an_interval_of_it(tmp_path: Path) -> None:
    walls = [10.0, 10.4, 9.8, 10.2, 9.6]
    result = walltime(repeats(tmp_path / "a.headway", walls), [1, 2])
    one, two = result.predictions
    assert result.runs == 5
    assert (result.measured_ns, two.ns, one.ns) == (10 * SECOND, 10 * SECOND, 20 * SECOND)
    assert two.low_ns is not None
    assert two.high_ns is not None
    assert two.low_ns < 10 * SECOND < two.high_ns
    # Student's interval of the mean, as an independent yardstick: 2.776 * s / sqrt(5).
    half = 2.776 * statistics.stdev(walls) / 5**0.5
    assert (two.high_ns - two.low_ns) / 2 / SECOND == pytest.approx(half, rel=0.15)
    assert one.low_ns == pytest.approx(2 * two.low_ns, abs=2)
    assert "HW418" not in ids(result)
    assert "5 runs" in one.interval


def test_runs_that_are_not_alike_are_left_out_and_named(tmp_path: Path) -> None:
    result = walltime(repeats(tmp_path / "a.headway", [10, 50], recorded_cores=4), [2])
    assert (result.runs, result.measured_ns) == (1, 10 * SECOND)
    (notice,) = [each for each in result.notices if each.id == "HW423"]
    assert "another number of cores" in notice.message
    assert "2.headway" in notice.message


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says() -> None:
    source = random.Random(7)
    hits = 0
    for _ in range(200):
        values = [source.gauss(100, 5) for _ in range(5)]
        low, high = interval_of_mean(values) or (0, 0)
        hits += low <= 100 <= high
    # 95 % of 200 is 190, standard error 3; an unstretched percentile bootstrap gives 171.
    assert 180 <= hits <= 199


def test_the_interval_of_a_mean_needs_two_values_and_repeats_itself() -> None:
    assert interval_of_mean([1.0]) is None
    assert interval_of_mean([1.0, 2.0, 4.0]) == interval_of_mean([1.0, 2.0, 4.0])
    assert interval_of_mean([3.0, 3.0]) == (3.0, 3.0)


def test_the_prediction_is_always_inside_its_interval(tmp_path: Path) -> None:
    facts = {**jvm(2), **topology(2, 2), "other_ns": {"0": SECOND}}
    rows = [row(3, 0), row(1, 1, stolen=0.2), row(2, 2, running=1), row(4, 7, stolen=1), row(1, 3, gc=2)]
    found = walltime(record(tmp_path / "a.headway", rows, POOL, **facts), range(1, 65)).predictions
    bounds = [(each.low_ns, each.ns, each.high_ns) for each in found]
    known = [(low, ns, high) for low, ns, high in bounds if low is not None and ns is not None and high is not None]
    assert len(known) > len(found) / 2
    assert all(0 <= low <= ns <= high for low, ns, high in known)


def test_results_are_plain_data(tmp_path: Path) -> None:
    result = walltime(record(tmp_path / "a.headway", PLAIN), [1])
    json.dumps(dataclasses.asdict(result), allow_nan=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.runs = 2  # type: ignore[misc]
