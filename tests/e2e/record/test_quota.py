"""A program under a CPU quota: the recording tells the quota, and when it held the program off, as the kernel counts it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from headway.analyses.lost_cores import analysis as why
from headway.record.machine.host import parse_throttled
from headway.store import Recording, open_recording
from support.drivers.recording_cli import attached, start_headway, wait_for

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="makes a cgroup")]


class HeldOff(NamedTuple):
    """A recording of a program that was held off, and how long it was, by the kernel's own count."""

    recording: Recording
    pid: int
    told_ns: int


# Goes into the cgroup given, waits for a line, then works until it has had so much CPU time.
WORKS = """
import os, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
print("there", flush=True)
sys.stdin.readline()
while time.process_time() < 0.3:
    pass
"""


@contextlib.contextmanager
def a_fifth_of_a_core(name: str) -> Iterator[Path]:
    """A cgroup with a CPU quota of 20 ms in 100, of version 1 or 2; skips where this machine lets nobody make one."""
    for root in (Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")):
        group = root / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / "cpu.max").exists():
                (group / "cpu.max").write_text("20000 100000")
            else:
                (group / "cpu.cfs_period_us").write_text("100000")
                (group / "cpu.cfs_quota_us").write_text("20000")
        except OSError:
            group.rmdir()
            continue
        try:
            yield group
        finally:
            group.rmdir()
        return
    pytest.skip("no cgroup with a CPU quota can be made here")


@pytest.fixture(scope="module")
def held_off(tmp_path_factory: pytest.TempPathFactory) -> HeldOff:
    """A program that never blocks, but for its quota."""
    output = tmp_path_factory.mktemp("quota") / "r.headway"
    with a_fifth_of_a_core(f"headway-test-{os.getpid()}") as group:
        words = [sys.executable, "-S", "-c", WORKS, str(group / "cgroup.procs")]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            assert program.stdin is not None
            assert program.stdout is not None
            assert program.stdout.readline() == "there\n"
            recorder = start_headway("record", "--pid", program.pid, "-o", output)
            try:
                wait_for(lambda: attached(output))
                program.communicate("go\n", timeout=200)
                _, err = recorder.communicate(timeout=200)
            finally:
                recorder.kill()
        assert recorder.returncode == 0, err
        throttled = parse_throttled((group / "cpu.stat").read_text())
    assert throttled is not None
    return HeldOff(open_recording(output), program.pid, throttled)


def test_throttling_is_counted_as_the_kernel_counts_it(held_off: HeldOff) -> None:
    recording, told = held_off.recording, held_off.told_ns
    assert recording.manifest.quota_cores == pytest.approx(0.2)
    rows = recording.query(
        "SELECT ns, value FROM counter WHERE event = 'cgroup_throttled' ORDER BY ns, value"
    ).fetchall()
    assert all(before <= after for (_, before), (_, after) in pairwise(rows))
    # At its end the program may have been throttled once more, which the kernel counts when that is over.
    assert rows[0][1] <= rows[-1][1] <= told
    # Where the program got all that it may have, 300 ms of work were held off for more than a second.
    assert rows[-1][1] >= told / 2 or told < 1_000_000_000
    assert recording.query("SELECT count(*) FROM counter WHERE event = 'recorder_cpu' AND value > 0").fetchone() != (0,)


def test_the_cores_that_a_quota_takes_away_are_lost_to_the_quota(held_off: HeldOff) -> None:
    recording = held_off.recording
    (begin, end) = recording.query(
        "SELECT min(s.start_ns), max(s.start_ns + s.running_ns) FROM slice s JOIN thread t USING (thread_id) "
        f"WHERE t.pid = {held_off.pid} AND s.running_ns > 0"
    ).fetchall()[0]
    start = recording.window_ns[0]
    account = why.why(recording, window=(begin - start, end - start)).account
    lost_ns = sum(loss.core_ns for loss in account.lost)
    if lost_ns < 0.3 * account.core_ns:
        pytest.skip(f"others used what the quota left: {(account.other_processes_ns or 0) / 1e6:.0f} core-ms")
    to_quota = sum(loss.core_ns for loss in account.lost if loss.cause == "cpu_quota")
    assert to_quota >= 0.95 * lost_ns, account.lost
