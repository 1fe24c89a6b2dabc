"""The account of a real program's recording against the sums of its slices."""

from __future__ import annotations

import os

import pytest

from headway.analyses.common.causes import CAUSES
from headway.analyses.lost_cores.account import attribution
from headway.analyses.waits import pieces
from headway.store import Recording, open_recording
from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import workloads_jar

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Record a program with a pool that is idle most of the time."""
    path = tmp_path_factory.mktemp("account") / "pool.headway"
    command = (javas()[0], "-cp", workloads_jar(), "headway.workloads.IdlePool")
    done = headway("record", "--locks", "-o", path, "--", *command)
    assert done.returncode == 0, done.stderr
    return open_recording(path)


def test_used_time_of_each_kind_is_what_its_slices_ran(recording: Recording) -> None:
    begin, end = recording.window_ns
    stolen = "GREATEST(0, LEAST(COALESCE(s.stolen_ns, 0), s.running_ns))"
    inside = f"GREATEST(0, LEAST(s.start_ns + s.running_ns, {end}) - GREATEST(s.start_ns, {begin}))"
    rows = recording.query(
        f"SELECT CASE t.kind WHEN 'carrier' THEN 'app' ELSE t.kind END, SUM({inside} * (1 - {stolen} / s.running_ns)),"
        f" SUM({inside} * {stolen} / s.running_ns)"
        " FROM slice s JOIN thread t ON t.thread_id = s.thread_id WHERE s.running_ns > 0 GROUP BY 1"
    ).fetchall()
    wanted = {kind: float(used) for kind, used, _ in rows}
    found = attribution.sweep(recording, pieces.load(recording)).segments[0]
    assert wanted["app"] > 0
    for kind in ("app", "gc", "jit", "vm"):
        assert found.used_ns[kind] == pytest.approx(wanted.get(kind, 0.0), rel=1e-3, abs=1000), kind
    assert found.stolen_ns == pytest.approx(sum(float(row[2]) for row in rows), rel=1e-3, abs=1000)


def test_everything_sums_to_the_cores_times_the_wall_time(recording: Recording) -> None:
    length = recording.wall_ns
    waits = pieces.load(recording)
    found = attribution.sweep(recording, waits, cuts=(length // 3, length // 2))
    assert found.out_of_order == 0
    assert len(found.segments) == 3
    for part in found.segments:
        core_ns = found.cores * (part.end_ns - part.start_ns)
        total = sum(part.used_ns.values()) + part.stolen_ns + part.other_ns + int(part.core_ns.sum())
        assert total == pytest.approx(core_ns, rel=1e-6, abs=100 + len(part.core_ns))
    whole = attribution.sweep(recording, waits).segments[0]
    for cause, core_ns in zip(CAUSES, whole.by_cause.tolist(), strict=True):
        parts = sum(int(part.by_cause[list(CAUSES).index(cause)]) for part in found.segments)
        # Borrowed time is settled segment by segment: it may be paid back by another cause.
        assert parts == pytest.approx(core_ns, rel=1e-6, abs=1000 + 2 * whole.excess_ns), cause
