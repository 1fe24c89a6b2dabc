"""Blame: lost core time by the code that kept cores idle, on recordings whose answer is known to the nanosecond."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headway.analyses.common.causes import BLOCKED, CAUSES, IO, LOCK, SLEEP
from headway.analyses.lost_cores.account import attribution
from headway.analyses.profile.analysis import NO_CODE, profile
from headway.analyses.profile.blame import _pools, _shared_out, _whole
from headway.analyses.stacks.tree import flat_rows
from headway.analyses.waits import pieces
from headway.errors import HeadwayError
from headway.store import Recording, open_recording
from headway.store.writer import write_recording

MS = 1_000_000
MAIN, OTHER = 0, 1


def slices(*rows: tuple[int, int, int, int]) -> pa.Table:
    """Rows (thread, start, end, blocked before) in ms, of threads on CPUs of their own."""
    ordered = sorted(rows, key=lambda row: row[2])
    return pa.Table.from_pylist(
        [
            {
                **{"thread_id": thread, "start_ns": start * MS, "blocked_ns": blocked * MS, "runnable_ns": 0},
                **{"running_ns": (end - start) * MS, "stolen_ns": 0, "cpu": thread, "blocked_state": bool(blocked)},
                **{"waker_id": -1, "waker_irq": False, "is_open": False},
            }
            for thread, start, end, blocked in ordered
        ]
    )


def blame_recording(
    path: Path, samples: list[tuple[int, int, int, int]], *, with_slices: bool = True, **facts: Any
) -> Recording:
    """Two cores for 100 ms. MAIN runs all the time, OTHER from 60 on; samples are (thread, ms, weight in ms, stack)."""
    methods = ["start", "work"]
    threads = [
        {"pid": 10, "tid": 10 + i, "start_ns": 60 * MS * i, "name": name} for i, name in enumerate(("main", "other"))
    ]
    rest = {"kind": "app", "from_snapshot": False, "running_ns": 50 * MS}
    tables: dict[str, Any] = {
        "thread": [{"thread_id": i, "comm": each["name"], **each, **rest} for i, each in enumerate(threads)],
        "frame": [
            {"frame_id": i, "class_name": "a.A", "method": name, "line": None, "kind": "java"}
            for i, name in enumerate(methods)
        ],
        "stack": [{"stack_id": i, "depth": 0, "frame_id": i, "is_cut": False} for i in range(len(methods))],
        "sample": [
            {"thread_id": t, "ns": ms * MS, "event": "cpu", "weight": w * MS, "stack_id": s} for t, ms, w, s in samples
        ],
    }
    written = {name: pa.Table.from_pylist(rows) for name, rows in tables.items() if rows}
    if with_slices:
        written["slice"] = slices((MAIN, 0, 100, 0), (OTHER, 60, 100, 0))
        written["activity"] = activity((60, 1), (40, 2))
    manifest = {
        **{"mode": "ebpf", "state": "complete", "affinity": [0, 1], "recorded_cores": 2, "pid": 10},
        **{"window": {"start_ns": 0, "end_ns": 100 * MS}, **facts},
    }
    return open_recording(write_recording(path / "a.headway", manifest, written))


def activity(*rows: tuple[int, int]) -> pa.Table:
    """Rows (length in ms, threads that run) one after another."""
    found, at = [], 0
    for length, running in rows:
        counts = {f"{what}_{kind}": 0 for what in ("active", "running") for kind in ("app", "gc", "jit", "vm")}
        counts |= {"active_app": running, "running_app": running}
        found.append({"bin_start_ns": at * MS, "dur_ns": length * MS, "stolen_ns": 0, **counts})
        at += length
    return pa.Table.from_pylist(found)


def by_method(recording: Recording, **how: Any) -> dict[str, int]:
    found = profile(recording, "blame", **how)
    return {row.frame.text: row.self_weight for row in flat_rows(found.tree, found.frames)}


def lost_ns(recording: Recording, window: tuple[int, int]) -> int:
    """The account's own sum."""
    waits = pieces.load(recording, window)
    found = attribution.sweep(recording, waits, cores=2.0, window=window)
    return sum(int(each.core_ns.sum()) for each in found.segments)


def test_who_runs_alone_is_to_blame_for_the_cores_beside_it(tmp_path: Path) -> None:
    samples = [(MAIN, 10, 10, 0), (MAIN, 30, 20, 0), (MAIN, 59, 30, 1), (MAIN, 90, 30, 1), (OTHER, 90, 30, 0)]
    recording = blame_recording(tmp_path, samples)
    # 60 ms with one thread on two cores; the samples at 90 ms kept none idle.
    assert by_method(recording) == {"a.A.start": 30 * MS, "a.A.work": 30 * MS}
    found = profile(recording, "blame")
    assert found.total == lost_ns(recording, (0, 100 * MS)) == 60 * MS
    assert [(each.name, each.weight) for each in found.threads] == [("main", 60 * MS)]
    assert (found.unit, found.samples, found.unwalked) == ("ns", 3, 0)


def test_samples_get_no_more_than_was_lost_and_what_they_leave_has_its_cause(tmp_path: Path) -> None:
    many = blame_recording(tmp_path / "many", [(MAIN, ms, 20, ms // 10 % 2) for ms in range(10, 60, 10)])
    assert sum(by_method(many).values()) == 60 * MS
    few = blame_recording(tmp_path / "few", [(MAIN, 30, 20, 1)])
    assert by_method(few) == {"(serial section: no sample)": 40 * MS, "a.A.work": 20 * MS}


def test_what_a_thread_without_samples_kept_idle_has_its_name(tmp_path: Path) -> None:
    how: dict[str, Any] = {"sampling": {"events": ["cpu"]}, "jvms": [{"pid": 10}]}
    recording = blame_recording(tmp_path / "none", [(OTHER, 90, 30, 1)], **how)
    # MAIN is alone for 60 ms, and no sample is of it; what OTHER did kept nothing idle.
    assert by_method(recording) == {"(not sampled: thread main)": 60 * MS}
    found = profile(recording, "blame")
    assert (found.total, found.unsampled, found.unwalked, found.samples) == (60 * MS, 60 * MS, 0, 0)
    assert [(each.name, each.weight) for each in found.threads] == [("main", 60 * MS)]
    assert by_method(blame_recording(tmp_path / "without", [(OTHER, 90, 30, 1)])) == {
        "(serial section: no sample)": 60 * MS
    }


def test_a_window_has_the_blame_of_its_own_time(tmp_path: Path) -> None:
    recording = blame_recording(tmp_path, [(MAIN, ms, 10, int(ms >= 40)) for ms in range(10, 110, 10)][:-1])
    window = (30 * MS, 80 * MS)
    found = profile(recording, "blame", window=window)
    assert found.total == lost_ns(recording, window) == 30 * MS
    assert by_method(recording, window=window)["a.A.work"] <= 30 * MS


def test_a_window_without_samples_blames_no_code(tmp_path: Path) -> None:
    recording = blame_recording(tmp_path, [(MAIN, 90, 30, 1)])
    found = profile(recording, "blame", window=(0, 60 * MS))
    assert (found.total, found.unwalked, found.samples) == (60 * MS, 60 * MS, 0)


def test_threads_and_regions_select_as_in_any_profile(tmp_path: Path) -> None:
    recording = blame_recording(tmp_path, [(MAIN, 10, 10, 0), (MAIN, 50, 30, 1), (OTHER, 90, 30, 0)])
    assert by_method(recording, region=re.compile("work")) == {"a.A.work": 30 * MS}
    assert by_method(recording, thread=re.compile("^main$"))["a.A.work"] == 30 * MS
    with pytest.raises(HeadwayError, match="HW441"):
        profile(recording, "blame", thread=re.compile("other"))
    assert NO_CODE not in {each.name for each in profile(recording, "blame").threads}


def test_without_cpu_samples_or_thread_states_the_error_says_what_to_record(tmp_path: Path) -> None:
    for name, recording in (
        ("samples", blame_recording(tmp_path / "a", [])),
        ("states", blame_recording(tmp_path / "b", [(MAIN, 10, 10, 0)], with_slices=False)),
    ):
        with pytest.raises(HeadwayError) as caught:
            profile(recording, "blame")
        assert caught.value.notice.id == "HW440", name
        assert "headway record --locks --sample cpu" in (caught.value.notice.remedy or ""), name


def test_pools_are_divided_in_proportion_and_to_the_last_nanosecond() -> None:
    own = np.array([0, 0, 1, 1, 2])
    wanted = np.array([10.0, 30.0, 1.5, 1.5, 7.0])
    pool, lost = np.array([0, 1, 1, 3]), np.array([20, 5, 2, 9])
    got, left = _shared_out(own, wanted, pool, lost)
    assert got[:2].tolist() == [5, 15]  # 20 is there, 40 are wanted
    assert got[2:4].sum() == 3
    assert got[4] == 0  # a pool that has nothing
    assert left[0] == 0
    assert left[1:3].sum() == 4
    assert left[3] == 9
    assert got.sum() + left.sum() == lost.sum()


@pytest.mark.parametrize("cause", [SLEEP, IO, BLOCKED])
def test_who_kept_a_lock_and_slept_is_blamed_for_the_lock_and_no_code_for_the_sleep(cause: str) -> None:
    names = list(CAUSES)
    who, lost = np.array([MAIN, MAIN]), np.array([5000, 5000])
    pool = _pools(np.array([names.index(LOCK), names.index(cause)]), who)
    got, left = _shared_out(np.array([MAIN]), np.array([5000.0]), pool, lost)
    assert (got.tolist(), left.tolist()) == ([5000], [0, 5000])


def test_a_quota_that_sets_the_number_of_cores_is_said_of_blame_too(tmp_path: Path) -> None:
    samples = [(MAIN, 10, 10, 0)]
    assert "HW486" not in {each.id for each in profile(blame_recording(tmp_path / "all", samples), "blame").notices}
    recording = blame_recording(tmp_path / "quota", samples, quota_cores=1.5)
    (said,) = (each for each in profile(recording, "blame").notices if each.id == "HW486")
    assert "1.5" in str(said)


def test_rounding_keeps_the_sums_of_groups() -> None:
    random = np.random.default_rng(3)
    group = random.integers(0, 20, 1000)
    values = random.random(1000) * random.integers(0, 5, 1000)
    whole = _whole(group, values)
    assert (np.abs(whole - values) <= 1).all()
    for each in range(20):
        assert abs(whole[group == each].sum() - values[group == each].sum()) <= 0.5 + 1e-9
