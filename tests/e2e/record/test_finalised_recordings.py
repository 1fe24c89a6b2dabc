"""What real recordings must hold, checked in SQL on the finished tables: a second opinion beside the invariants."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.store import Recording, open_recording
from support.drivers.recording_cli import headway, javas

pytestmark = pytest.mark.root
FUTEX = 1
"""As in hw_blocked_in of native/wire/records.h."""


@pytest.fixture(scope="module", params=javas(), ids=["jdk17", "jdk25"])
def recording(request: pytest.FixtureRequest, workloads: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A recording of eight pairs of threads that wake each other."""
    target = tmp_path_factory.mktemp("finalise") / "a.headway"
    words = [request.param, "-cp", workloads, "headway.workloads.PingPong", 8, 3000, "park"]
    done = headway("record", "-o", target, "--", *words)
    assert done.returncode == 0, done.stderr
    return open_recording(target)


def test_every_invariant_holds(recording: Recording) -> None:
    assert [each for each in recording.manifest.invariants if not each.ok] == []
    assert {"wall", "states", "exec-at-exit"} <= {each.id for each in recording.manifest.invariants}


def test_a_threads_states_follow_each_other_without_gap_or_overlap(recording: Recording) -> None:
    gaps = recording.query(
        "SELECT count(*) FROM (SELECT start_ns - lag(start_ns + dur_ns) OVER (PARTITION BY thread_id ORDER BY start_ns)"
        " AS gap FROM thread_state) WHERE gap <> 0"
    )
    assert gaps.fetchall() == [(0,)]


def test_no_cpu_runs_two_threads_at_once(recording: Recording) -> None:
    overlaps = recording.query(
        "SELECT count(*) FROM (SELECT start_ns - lag(start_ns + dur_ns) OVER (PARTITION BY cpu ORDER BY start_ns) AS gap"
        " FROM thread_state WHERE state = 'running') WHERE gap < 0"
    )
    assert overlaps.fetchall() == [(0,)]


def test_the_pairs_wake_each_other(recording: Recording) -> None:
    """Of the threads ping-N and pong-N, no other than the partner ends a sleep in a futex. The JVM's own threads do so as well,
    and whoever frees the memory map that a page fault waits for: the more of that, the busier the machine.
    """
    rows = recording.query(
        "SELECT t.name, w.name, count(*) FROM slice s JOIN thread t USING (thread_id)"
        " JOIN thread w ON w.thread_id = s.waker_id WHERE t.name LIKE 'p_ng-%' AND w.name LIKE 'p_ng-%'"
        f" AND s.blocked_in = {FUTEX} GROUP BY ALL"
    ).fetchall()
    by_partner = sum(count for woken, waker, count in rows if woken[1:] != waker[1:] and woken[5:] == waker[5:])
    assert by_partner > 0.98 * sum(count for _, _, count in rows)
    assert by_partner > 1000


def test_levels_are_those_that_the_rounded_slices_give(recording: Recording) -> None:
    """Ticks of 32 ns move a border by less than a tick, so times at a level by less than that per change of level."""
    from headway.analyses.scheduling import activity

    whole = activity.load(recording)
    wall = activity.wall_ns(recording)
    parts = [activity.load(recording, (0, wall // 3)), activity.load(recording, (wall // 3, wall))]
    swept = sum(float((part.active.sum(axis=1) * part.dur_ns).sum()) for part in parts)
    exact = float((whole.active.sum(axis=1) * whole.dur_ns).sum())
    assert abs(swept - exact) <= 32 * 3 * (recording.manifest.switches or 0)
