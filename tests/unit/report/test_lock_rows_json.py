"""The row of a lock as JSON: one encoder for recordings and for running JVMs, whose text is what Python's json writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.locks.analysis import locks
from headway.analyses.locks.live import LiveRow, live_rows
from headway.model.live_lock import LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.report.json.live_locks import live_locks_text
from headway.report.json.locks import locks_json
from headway.report.json.text import one_line
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

SINCE = 500
COMMON = (
    "name", "place", "blocker_id", "class_name", "identity_hash", "kind", "contention", "waiting", "rule", "first_thread",
    "first_stack", "dead", "times_parked", "times_measured", "parked_now", "peak_parked", "parking_thread_time_ns",
    "parking_real_time_ns", "first_ns", "last_ns", "average_parking_time_ns", "average_hold_time_ns", "real_time_util_pct",
    "thread_time_util_pct", "real_life_time_util_pct", "thread_life_time_util_pct",
)  # fmt: skip


def lock(number: int, **values: Any) -> LiveLock:
    of = {
        "kind": "park", "class_name": "java.util.concurrent.locks.ReentrantLock$NonfairSync", "identity_hash": 0x1234,
        "first_java_id": 7, "first_thread": 'Fäden "100 %s"', "first_stack": (("a.B", "c", 3), ("a.\ud800", "%d", None)),
        "is_dead": False, "forgotten": 0, "sums": LockSums(10, 9, 1, 3, 5_001, 3_000, 1_000, 9_000, 10_000), "holds": 3,
        "hold_ns": 400, "is_torn": False, **values,
    }  # fmt: skip
    return LiveLock(number, **of)


def expected(table: LiveTable, row: LiveRow) -> dict[str, Any]:
    """Return the documented values of a row, in their order, without headway's encoder."""
    of, sums, lasted = row.lock, row.lock.sums, table.now_ns - table.since_ns
    measured, life = (
        sums.times_measured,
        sums.end_ns - sums.first_ns if sums.parked_now else sums.last_ns - sums.first_ns,
    )
    holds = measured - sums.parked_now
    return {
        "name": row.name, "place": row.first_line, "blocker_id": of.blocker_id, "class_name": of.class_name,
        "identity_hash": of.identity_hash, "kind": of.kind, "contention": row.contention, "waiting": row.waiting,
        "rule": row.rule, "first_java_id": of.first_java_id, "first_thread": of.first_thread,
        "first_stack": list(row.first_stack), "dead": of.is_dead, "forgotten": of.forgotten,
        "times_parked": sums.times_parked, "times_measured": measured, "parked_now": sums.parked_now,
        "peak_parked": sums.peak_parked, "parking_thread_time_ns": sums.thread_time_ns,
        "parking_real_time_ns": sums.real_time_ns, "first_ns": sums.first_ns - SINCE, "last_ns": sums.last_ns - SINCE,
        "average_parking_time_ns": round(sums.thread_time_ns / measured) if measured else None,
        "average_hold_time_ns": round(sums.real_time_ns / holds) if holds > 0 else None,
        "real_time_util_pct": 100 * sums.real_time_ns / lasted, "thread_time_util_pct": 100 * sums.thread_time_ns / lasted,
        "real_life_time_util_pct": 100 * sums.real_time_ns / life if life else None,
        "thread_life_time_util_pct": 100 * sums.thread_time_ns / life if life else None,
        "mean_true_hold_time_ns": round(of.hold_ns / of.holds) if of.holds else None, "true_holds": of.holds,
        "parks_per_s": row.parks_per_s, "waiters": row.waiters,
    }  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_text_of_a_running_jvms_locks_is_what_python_writes_of_their_values(rows: int) -> None:
    once = LockSums(1, 0, 0, 1, 0, 0, 600, 600, 700)
    every = (
        lock(1),
        lock(2, is_dead=True, forgotten=4, holds=0),
        lock(3, first_thread=None, first_stack=(), sums=once),
    )
    before = LiveTable(42, SINCE, 5_000, every[:1], 1, 2, 0, 0)
    table = LiveTable(42, SINCE, 20_500, every[:rows], 3, 5, 8_000, 0)
    found = live_rows(table, before)
    head = {"pid": 42, "recorded_ns": 20_000, "dropped": 3, "below_threshold": 5, "capped": True}
    plain = {**head, "locks": [expected(table, row) for row in found]}
    assert live_locks_text(table, found) == json.dumps(plain, indent=1)
    assert one_line(live_locks_text(table, found)) == json.dumps(plain)


def test_rows_of_a_recording_and_of_a_running_jvm_have_their_common_keys_in_one_order(tmp_path: Path) -> None:
    table = LiveTable(42, SINCE, 20_500, (lock(1),), 0, 0, 0, 0)
    live = json.loads(live_locks_text(table, live_rows(table)))["locks"][0]
    waited = LockRecording([FakeThread(), FakeThread()], [Wait(0, 0, 10, 20)], [], wall=1000, stacks=[])
    recording = open_recording(waited.write(tmp_path / "x.headway"))
    (recorded,) = locks_json(locks(recording))
    recording.close()
    assert tuple(key for key in live if key in recorded) == COMMON == tuple(key for key in recorded if key in live)
