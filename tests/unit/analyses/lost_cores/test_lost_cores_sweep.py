"""What the account takes from a recording's tables: kinds, background threads, phases, losses, quota, other processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.account.attribution import Attribution, sweep
from headway.analyses.lost_cores.account.work_roles import work_roles
from headway.analyses.lost_cores.analysis import why
from headway.analyses.waits import pieces
from headway.errors import HeadwayError
from headway.store import Recording, open_recording
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema, write_recording

ORIGIN = 7_000_000_000
MS = 1_000_000


def thread(number: int, kind: str = "app", **more: Any) -> dict[str, Any]:
    """Return a row of the table `thread`."""
    return {"thread_id": number, "pid": 1, "tid": number, "start_ns": ORIGIN, "name": f"t{number}", "comm": "t"} | {
        "kind": kind,
        "from_snapshot": False,
        "running_ns": 50 * MS,
        **more,
    }


def slices(*rows: tuple[int, int, int, int, int]) -> pa.Table:
    """Return slices (thread, end, running, runnable, blocked) in ms, one tenth of the running time stolen."""
    ordered = sorted(rows, key=lambda row: row[1])
    return pa.table(
        {
            "thread_id": [row[0] for row in ordered],
            "start_ns": [ORIGIN + (row[1] - row[2]) * MS for row in ordered],
            "blocked_ns": [row[4] * MS for row in ordered],
            "runnable_ns": [row[3] * MS for row in ordered],
            "running_ns": [row[2] * MS for row in ordered],
            "stolen_ns": [row[2] * MS // 10 for row in ordered],
            "cpu": [0 for _ in ordered],
            "blocked_state": [1 for _ in ordered],
            "waker_id": [-1 for _ in ordered],
            "waker_irq": [False for _ in ordered],
            "is_open": [False for _ in ordered],
        }
    )


def recording(path: Path, threads: list[dict[str, Any]], runs: pa.Table, **tables: list[dict[str, Any]]) -> Recording:
    """Write 100 ms on two CPUs; `activity` says only that nothing else is known."""

    counts = {name.name: 0 for name in TABLES["activity"].columns} | {"bin_start_ns": ORIGIN, "dur_ns": 100 * MS}
    rows = {"thread": threads, "activity": [counts], **tables}
    arrow_tables = {name: pa.Table.from_pylist(each, schema=arrow_schema(TABLES[name])) for name, each in rows.items()}
    manifest = {
        "mode": "ebpf",
        "window": {"start_ns": ORIGIN, "end_ns": ORIGIN + 100 * MS},
        "recorded_cores": 2,
        "affinity": [0, 1],
        "ended_by": "exit",
    }
    return open_recording(write_recording(path / "made.headway", manifest, {**arrow_tables, "slice": runs}))


def account(found: Recording, **options: Any) -> Attribution:
    """Return the account of a recording without waits."""
    return sweep(found, pieces.load(found), **options)


def lost(found: Attribution, segment: int = 0) -> dict[str, float]:
    """Return ms lost by cause."""
    by_cause = found.segments[segment].by_cause.tolist()
    return {cause: core_ns / MS for cause, core_ns in zip(CAUSES, by_cause, strict=True) if core_ns}


def waits(*pairs: tuple[int, int], cause: str = "imbalance", wait_ms: int = 50) -> Any:
    """Return undirected waits of threads for threads, all equally long, as far as `background` looks at them."""
    columns = {
        "thread": np.array([pair[0] for pair in pairs], np.int32),
        "target": np.array([pair[1] for pair in pairs], np.int32),
        "cause": np.full(len(pairs), list(CAUSES).index(cause), np.uint8),
        "is_directed": np.zeros(len(pairs), bool),
        "start": np.zeros(len(pairs), np.int64),
        "end": np.full(len(pairs), wait_ms * MS, np.int64),
    }
    return type("Waits", (), {**columns, "__len__": lambda self: len(pairs)})()


ALONE = slices((0, 100, 100, 0, 0))


def test_each_kind_of_thread_has_its_own_used_time(tmp_path: Path) -> None:
    kinds = ("app", "carrier", "gc", "jit", "vm", "headway")
    runs = [(i, 10 * (i + 1), 10, 0, 0) for i in range(len(kinds))]
    found = account(recording(tmp_path, [thread(i, kind) for i, kind in enumerate(kinds)], slices(*runs)))
    used = found.segments[0].used_ns
    assert used == {"app": 18 * MS, "gc": 9 * MS, "jit": 9 * MS, "vm": 9 * MS, "headway": 9 * MS}
    assert found.segments[0].stolen_ns == 6 * MS
    assert found.knows_steal
    assert abs(found.segments[0].error_ns) <= 1


def test_cores_that_are_not_given_are_the_cpus_of_the_affinity(tmp_path: Path) -> None:
    found = account(recording(tmp_path, [thread(0)], ALONE))
    assert found.cores == 2
    assert lost(found) == {"serial_section": 100}


def test_more_cores_than_there_were_are_lost_as_well(tmp_path: Path) -> None:
    assert lost(account(recording(tmp_path, [thread(0)], ALONE), cores=5)) == {"serial_section": 400}


def test_a_window_and_its_cuts_make_segments_that_sum_to_it(tmp_path: Path) -> None:
    found = account(
        recording(tmp_path, [thread(0)], slices((0, 60, 60, 0, 0))), window=(10 * MS, 90 * MS), cuts=(60 * MS,)
    )
    assert [(each.start_ns, each.end_ns) for each in found.segments] == [(10 * MS, 60 * MS), (60 * MS, 90 * MS)]
    assert lost(found, 0) == {"serial_section": 50}
    assert lost(found, 1) == {"unknown": 60}
    assert found.bins.sum() == pytest.approx(160 * MS, abs=1000)


def test_a_gc_pause_owns_the_idle_cores_and_of_two_jvms_half_of_them(tmp_path: Path) -> None:
    pause = {"pid": 1, "start_ns": ORIGIN, "dur_ns": 40 * MS, "kind": "gc_pause", "cause": None}
    facts = [{"pid": pid, "key": "java.version", "value": "17"} for pid in (1, 2)]
    one = account(recording(tmp_path / "one", [thread(0)], ALONE, jvm_phase=[pause], jvm=facts[:1]))
    assert lost(one) == {"gc_pause": 40, "serial_section": 60}
    threads = [thread(0), thread(1, pid=2)]
    two = account(recording(tmp_path / "two", threads, ALONE, jvm_phase=[pause], jvm=facts))
    assert lost(two) == {"gc_pause": 20, "serial_section": 80}


def test_a_safepoint_that_a_log_tells_of_is_no_pause_of_the_collector_but_where_both_are_said(tmp_path: Path) -> None:
    phases = [
        {"pid": 1, "start_ns": ORIGIN + start * MS, "dur_ns": dur * MS, "kind": kind, "cause": None}
        for kind, start, dur in (("safepoint", 0, 30), ("gc_pause", 10, 10))
    ]
    found = account(recording(tmp_path, [thread(0)], ALONE, jvm_phase=phases))
    assert lost(found) == {"gc_pause": 10, "safepoint": 20, "serial_section": 70}


def test_lost_records_of_one_of_two_cpus_make_half_of_what_is_idle_unknown(tmp_path: Path) -> None:
    loss = {"source": "sched", "cpu": 1, "start_ns": ORIGIN, "dur_ns": 50 * MS, "events": 3}
    found = account(recording(tmp_path, [thread(0)], ALONE, loss=[loss, loss | {"source": "agent", "cpu": -1}]))
    assert lost(found) == {"unknown": 25, "serial_section": 75}


def test_ready_threads_wait_for_the_quota_while_the_cgroup_is_throttled(tmp_path: Path) -> None:
    readings = [
        {"ns": ORIGIN + at * MS, "event": "cgroup_throttled", "cpu": -1, "value": value * MS}
        for at, value in ((0, 5), (50, 5), (60, 45), (100, 45))
    ]
    found = account(recording(tmp_path, [thread(0)], slices((0, 100, 0, 100, 0)), counter=readings))
    # 40 ms that ended between 50 and 60: from 10 on they may have been.
    assert lost(found) == {"cpu_quota": 50, "scheduler": 50, "serial_section": 100}


def test_a_throttled_stretch_of_several_cpus_is_as_long_as_one_was_kept_off(tmp_path: Path) -> None:
    readings = [
        {"ns": ORIGIN + at * MS, "event": "cgroup_throttled", "cpu": -1, "value": value * MS}
        for at, value in ((0, 0), (35, 0), (40, 60), (90, 60), (95, 90), (100, 130))
    ]
    counts = {name.name: 0 for name in TABLES["activity"].columns}
    spans = [{"bin_start_ns": ORIGIN, "dur_ns": 60 * MS, "active_app": 3}, {"bin_start_ns": ORIGIN, "dur_ns": 40 * MS}]
    runs = slices((0, 100, 0, 100, 0), (1, 100, 0, 100, 0))
    threads = [thread(0), thread(1)]
    found = recording(tmp_path, threads, runs, counter=readings, activity=[counts | each for each in spans])
    # Two CPUs with threads kept off: 30 ms that ended after 35; 95 and 100 tell of one stretch that ended after 90.
    assert lost(account(found)) == {"cpu_quota": 2 * 35 + 2 * 45, "scheduler": 40}


def test_throttled_stretches_do_not_reach_into_each_other(tmp_path: Path) -> None:
    readings = [
        {"ns": ORIGIN + at * MS, "event": "cgroup_throttled", "cpu": -1, "value": value * MS}
        for at, value in ((0, 0), (35, 0), (40, 20), (90, 120), (100, 120))
    ]
    found = account(recording(tmp_path, [thread(0)], slices((0, 100, 0, 100, 0)), counter=readings))
    assert lost(found) == {"cpu_quota": 75, "scheduler": 25, "serial_section": 100}


def test_without_gaps_other_processes_have_what_the_clocks_of_the_cpus_leave(tmp_path: Path) -> None:
    readings = [
        {"ns": ORIGIN + at * MS, "event": event, "cpu": cpu, "value": value * MS}
        for event, at, values in (
            ("cpu_busy", 0, (0, 0)),
            ("cpu_busy", 100, (100, 30)),
            ("cpu_steal", 0, (0, 0)),
            ("cpu_steal", 100, (0, 20)),
        )
        for cpu, value in enumerate(values)
    ]
    clock = [{"ns": ORIGIN + at * MS, "event": "recorder_cpu", "cpu": -1, "value": at * MS // 10} for at in (0, 100)]
    found = account(recording(tmp_path, [thread(0)], ALONE, counter=[*readings, *clock]))
    assert found.others == "counter"
    # The made-up activity knows nothing of the thread: 150 ms are others', and there is room for 100.
    part = found.segments[0]
    assert part.other_ns + part.used_ns["headway"] == pytest.approx(100 * MS, rel=1e-6)
    assert part.used_ns["headway"] == pytest.approx(100 * MS * 10 / 150, rel=1e-6)
    assert lost(found) == {}


def test_gaps_tell_when_other_processes_ran_on_the_cpus_of_the_program(tmp_path: Path) -> None:
    gaps = [
        {"cpu": cpu, "start_ns": ORIGIN + start * MS, "dur_ns": dur * MS, "other_ns": other * MS}
        for cpu, start, dur, other in ((1, 0, 50, 30), (1, 50, 20, 20), (7, 0, 100, 100))
    ]
    clock = [
        {"ns": ORIGIN + at * MS, "event": "recorder_cpu", "cpu": -1, "value": value * MS}
        for at, value in ((0, 0), (50, 15), (100, 15))
    ]
    found = account(recording(tmp_path, [thread(0)], ALONE, cpu_gap=gaps, counter=clock), cuts=(50 * MS,))
    assert found.others == "gaps"
    first, second = found.segments
    assert first.other_ns == pytest.approx(15 * MS)
    assert first.used_ns["headway"] == pytest.approx(15 * MS)
    assert second.other_ns == pytest.approx(20 * MS)
    assert second.used_ns["headway"] == 0
    assert lost(found, 0)["serial_section"] == pytest.approx(20)
    assert lost(found, 1)["serial_section"] == pytest.approx(30)


def test_what_headways_threads_in_the_jvm_ran_is_headways_not_other_processes(tmp_path: Path) -> None:
    gap = {"cpu": 1, "start_ns": ORIGIN, "dur_ns": 100 * MS, "other_ns": 80 * MS}
    clock = [
        {"ns": ORIGIN + at * MS, "event": "recorder_cpu", "cpu": -1, "value": value * MS}
        for at, value in ((0, 3), (100, 8))
    ]
    lived = {"start_ns": ORIGIN + 20 * MS, "end_ns": ORIGIN + 90 * MS}
    agents = [
        thread(1, "headway", **lived, running_ns=0, exec_ns=30 * MS),
        thread(2, "headway", running_ns=0, exec_ns=10 * MS),
        thread(3, "headway", start_ns=5, running_ns=0, exec_ns=20 * MS, from_snapshot=True),
    ]
    found = account(recording(tmp_path, [thread(0), *agents], ALONE, cpu_gap=[gap], counter=clock))
    part = found.segments[0]
    assert part.used_ns["headway"] == pytest.approx((5 + 30 + 10 + 20) * MS)
    assert part.other_ns == pytest.approx((80 - 65) * MS)


def test_no_other_processes_are_known_where_nothing_was_read(tmp_path: Path) -> None:
    found = account(recording(tmp_path, [thread(0)], ALONE))
    assert found.others == "none"
    assert found.segments[0].other_ns == 0


def test_threads_that_hardly_run_are_background_unless_one_that_runs_waits_for_them(tmp_path: Path) -> None:
    threads = [
        thread(0),
        thread(1, running_ns=MS),
        thread(2, running_ns=MS),
        thread(3, running_ns=MS),
        thread(4, running_ns=None),
    ]
    found = recording(tmp_path, threads, ALONE)
    none = pieces.load(found)
    assert work_roles(found, none).tolist() == [0, 1, 1, 1, 0]
    # 0 waits for 1, which waits for 2; 3 waits for itself only.
    # Who is needed and hardly runs is told apart (3): it is no stage of a pipeline.
    assert work_roles(found, waits((0, 1), (1, 2), (3, 3))).tolist() == [0, 3, 3, 1, 0]


def test_who_is_waited_for_for_hardly_any_of_its_life_stays_in_the_background(tmp_path: Path) -> None:
    """As a housekeeper is that somebody joins as the program ends: its waits for its time are no losses."""
    found = recording(tmp_path, [thread(0), thread(1, running_ns=MS)], ALONE)
    assert work_roles(found, waits((0, 1), wait_ms=4)).tolist() == [0, 1]
    assert work_roles(found, waits((0, 1), wait_ms=6)).tolist() == [0, 3]
    assert work_roles(found, waits((0, 1), (0, 1), wait_ms=3)).tolist() == [0, 3]


def test_a_thread_that_the_jvm_stopped_most_of_its_life_is_judged_by_the_rest_of_it(tmp_path: Path) -> None:
    """As many dumps of threads stop a program: that its threads hardly ran is why its cores were lost to safepoints."""
    threads = [
        thread(0, running_ns=4 * MS),  # stopped for 60 ms, it is at work for a tenth of 40 ms
        thread(1, running_ns=MS),  # stopped as long, it is at work for a fortieth
        thread(2, running_ns=4 * MS),  # waits as long at a queue of references
        thread(3, "vm", name="VM Thread"),
        thread(4, "vm", name="Reference Handler"),
    ]
    runs = slices((0, 70, 2, 0, 60), (1, 70, 1, 0, 60), (2, 70, 2, 0, 60))
    runs = runs.set_column(runs.schema.get_field_index("waker_id"), "waker_id", pa.array([3, 3, 4]))
    found = recording(tmp_path, threads, runs)
    assert work_roles(found, pieces.load(found)).tolist()[:3] == [0, 1, 1]


def test_a_thread_that_waits_for_a_core_most_of_its_life_is_judged_by_the_rest_of_it(tmp_path: Path) -> None:
    threads = [
        thread(0),
        thread(1, running_ns=4 * MS, runnable_ns=60 * MS),  # a tenth of 40 ms
        thread(2, running_ns=MS, runnable_ns=60 * MS),
        thread(3, running_ns=4 * MS, runnable_ns=None),
    ]
    found = recording(tmp_path, threads, ALONE)
    assert work_roles(found, pieces.load(found)).tolist() == [0, 0, 1, 1]


def test_virtual_threads_are_background_unless_one_that_runs_waits_for_them(tmp_path: Path) -> None:
    found = recording(tmp_path, [thread(0), thread(1, running_ns=MS)], ALONE)
    # 5 and what it waits for are needed; 3 and 4 wait for each other only, 2 is waited for in the background.
    joins = waits((0, 5), (5, 6), (6, -1), (3, 4), (4, 3), (1, 2), (2, -1))
    assert work_roles(found, joins).tolist() == [0, 1, 1, 1, 1, 0, 0]


def test_who_joins_an_ancestor_watches_and_who_joins_its_children_does_not(tmp_path: Path) -> None:
    main = thread(0, running_ns=MS)
    child, grandchild, stranger = (
        thread(number, parent_tid=parent, start_ns=ORIGIN + number, running_ns=MS)
        for number, parent in ((1, 0), (2, 1), (3, 77))
    )
    found = recording(tmp_path, [main, child, grandchild, stranger], ALONE)
    assert work_roles(found, waits((0, 1), (1, 2))).tolist() == [1, 1, 1, 1]
    assert work_roles(found, waits((2, 0), (3, 0))).tolist() == [1, 1, 2, 1]
    locked = waits((2, 0), cause="lock_contention")
    assert work_roles(found, locked).tolist() == [1, 1, 1, 1], "a lock is no end of a thread"


def test_probes_tell_how_many_cores_a_thread_keeps_idle(tmp_path: Path) -> None:
    found = account(
        recording(tmp_path, [thread(0)], ALONE), cores=4, probes=(np.array([50 * MS]), np.array([0], np.int32))
    )
    assert found.directed.tolist() == [0]
    assert found.undirected.tolist() == [3]


def test_slices_out_of_order_are_told_of(tmp_path: Path) -> None:
    runs = slices((0, 40, 40, 0, 0), (0, 100, 30, 0, 30))
    for name, table, told in (("in", runs, 0), ("out", runs.take([1, 0]), 1)):
        notices = why(recording(tmp_path / name, [thread(0)], table)).notices
        assert [notice.id for notice in notices].count("HW497") == told


def test_a_window_outside_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="HW401"):
        account(recording(tmp_path, [thread(0)], ALONE), window=(0, 101 * MS))
