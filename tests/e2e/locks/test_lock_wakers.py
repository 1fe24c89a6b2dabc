"""What comes of the kernel's wakings, on a real program: who let a waiter go on, and how long monitors were held.

The first against the table `slice` by a join that is slow and plain, the second against what the program measured itself.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.store.packing import TICK_NS
from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import workloads_jar
from support.oracles.lock_oracle import LockRun, record_locks

pytestmark = pytest.mark.root
LOCKS = ("lock-4ms", "lock-16ms", "lock-64ms")
LAST_CYCLE = """
WITH cycle AS (
  SELECT b.thread_id, b.start_ns, b.waking_ns, b.waker_thread_id, s.start_ns - s.runnable_ns AS woken_ns, s.waker_irq,
         CASE WHEN s.waker_id >= 0 AND NOT s.waker_irq THEN s.waker_id END AS waker_id,
         row_number() OVER (
           PARTITION BY b.thread_id, b.start_ns
           ORDER BY (s.waker_irq OR s.waker_id = -1 OR w.java_id IS NOT NULL) DESC, s.start_ns DESC
         ) AS place
  FROM block b JOIN slice s ON s.thread_id = b.thread_id AND s.start_ns BETWEEN b.start_ns AND b.start_ns + b.dur_ns
  LEFT JOIN thread w ON w.thread_id = s.waker_id
  WHERE b.kind <> 'park' AND NOT b.is_open AND (s.blocked_ns > 0 OR s.waker_id <> -1)
)
SELECT waking_ns, woken_ns, waker_thread_id, waker_id FROM cycle WHERE place = 1
"""


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> LockRun:
    folder = tmp_path_factory.mktemp("wakers")
    words = ("monitor", 4, 1, 1, 1, 16)
    return record_locks(folder, "LargeCriticalSection", *words, java=request.param, log=folder / "log.csv")


def test_who_let_a_waiter_go_on_is_who_woke_it_in_its_last_scheduling_cycle(run: LockRun) -> None:
    rows = run.rows(LAST_CYCLE)
    assert len(rows) > 30
    for waking_ns, woken_ns, waker, by_slice in rows:
        assert waker == by_slice
        # The table keeps each part of a cycle in ticks, each rounded.
        assert waking_ns is None or abs(waking_ns - woken_ns) <= 3 * TICK_NS


def test_each_hold_of_a_monitor_is_around_the_one_acquisition_that_the_program_measured(run: LockRun) -> None:
    seen = 0
    for name in LOCKS:
        blocker = run.row(name)["blocker_id"]
        for java_id, start, dur in run.rows(
            "SELECT java_id, start_ns, dur_ns FROM hold WHERE blocker_id = ?", [blocker]
        ):
            mine = [each for each in run.log[name] if each.java_id == java_id]
            inside = [each for each in mine if each.acquired_ns < start + dur and each.released_ns > start]
            (held,) = inside
            assert start <= held.acquired_ns
            assert held.released_ns <= start + dur
            seen += 1
    assert seen > 0


def test_sums_of_a_monitor_have_its_holds(run: LockRun) -> None:
    wanted = run.rows("SELECT blocker_id, count(*), CAST(sum(dur_ns) AS BIGINT) FROM hold GROUP BY 1 ORDER BY 1")
    assert wanted == run.rows("SELECT blocker_id, holds, hold_ns FROM blocker WHERE holds > 0 ORDER BY 1")


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_without_the_kernels_records_monitors_have_no_wakers(tmp_path: Path, java: str) -> None:
    """Mode agent: no record of the kernel's at all."""
    program = [java, "-cp", workloads_jar(), "headway.workloads.LargeCriticalSection", "monitor", 1, 1, 1, 1, 8]
    done = headway("record", "--locks", "--mode", "agent", "-o", tmp_path / "a.headway", "--", *program)
    assert done.returncode == 0, done.stderr
    got = LockRun(tmp_path / "a.headway", {}, {}, [])
    assert got.rows(
        "SELECT count(*) > 0, count(waker_thread_id), count(waking_ns) FROM block WHERE kind = 'monitor'"
    ) == [(True, 0, 0)]
    assert got.rows("SELECT count(*) FROM hold") == [(0,)]
    named = got.rows("SELECT count(*) FROM block JOIN thread USING (thread_id) WHERE block.kind = 'monitor'")
    assert named == got.rows("SELECT count(*) FROM block WHERE kind = 'monitor'")
