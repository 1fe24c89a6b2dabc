"""What threads were in when they blocked, against a program that blocks in each way and says when and in which."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import headway
from support.oracles.kernel_oracle import program, record
from support.oracles.spool_reader import PREV_OURS

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_BPF and CAP_PERFMON")]

# hw_blocked_in by the program's word.
CLASSES = {"futex": 1, "timed-futex": 2, "sleep": 3, "poll": 4, "epoll": 4}
CLASSES |= {"file": 5, "socket": 6, "child": 7, "other": 8, "fault": 9}
ROUNDS = 3


class Said(NamedTuple):
    """One block as the program tells it."""

    what: str
    tid: int
    begin_ns: int
    end_ns: int


def said(output: str) -> list[Said]:
    """Return what the program told; faults only where this machine lets a program make them last (userfaultfd)."""
    blocks = [Said(what, *map(int, numbers)) for what, *numbers in map(str.split, output.splitlines())]
    assert [each.what for each in blocks] == [what for what in CLASSES for _ in range(ROUNDS)][: len(blocks)]
    assert {each.what for each in blocks} | {"fault"} == CLASSES.keys()
    return blocks


@pytest.mark.parametrize("force_raw", [False, True], ids=["tp_btf", "raw_tp"])
def test_the_kernel_tells_what_a_thread_blocked_in(tmp_path: Path, force_raw: bool) -> None:
    recording = record([program("blocks_in"), str(ROUNDS)], tmp_path / "spool", force_raw=force_raw)
    assert recording.stats["typed_programs"] is not force_raw
    outs = recording.spool.switches()
    outs = outs[(outs["flags"] & PREV_OURS != 0) & (outs["prev_state"] & 3 != 0)]
    for block in said(recording.stdout.decode()):
        own = outs[(outs["tid"] == block.tid) & (outs["ts_ns"] > block.begin_ns) & (outs["ts_ns"] < block.end_ns)]
        assert len(own) >= 1, block
        # Before it sleeps for long it may have waited for memory; once it does, nothing follows but its end.
        assert own["prev_state"][-1] >> 8 == CLASSES[block.what], block


def test_a_recording_tells_it_of_every_slice_and_of_running_threads_that_it_is_nothing(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    result = headway("record", "-o", output, "--", program("blocks_in"), ROUNDS)
    assert result.returncode == 0, result.stderr
    recording = open_recording(output)
    rows = recording.query(
        "SELECT t.tid, s.start_ns - s.runnable_ns - s.blocked_ns, s.blocked_ns, blocked_in FROM slice s"
        " JOIN thread t ON t.thread_id = s.thread_id WHERE blocked_state IN (1, 2) ORDER BY s.blocked_ns"
    ).fetchall()
    for block in said(result.stdout):
        own = [row for row in rows if row[0] == block.tid and block.begin_ns < row[1] < block.end_ns]
        assert own, block
        assert own[-1][3] == CLASSES[block.what], block
    assert recording.query(
        "SELECT count(*) FROM slice WHERE blocked_state IN (0, 3) AND blocked_in <> 0"
    ).fetchone() == (0,)


def test_a_program_that_may_not_read_registers_of_others_is_told_nothing(tmp_path: Path) -> None:
    """The perf collector can't: then it says nothing, and nothing wrong."""
    output = tmp_path / "r.headway"
    result = headway("record", "--mode", "perf-switch", "-o", output, "--", program("blocks_in"), ROUNDS)
    assert result.returncode == 0, result.stderr
    recording = open_recording(output)
    assert recording.mode == "perf-switch"
    assert recording.query("SELECT DISTINCT blocked_in FROM slice").fetchall() == [(0,)]
    assert "cpu_gap" not in recording.manifest.tables


def test_the_program_says_the_same_alone() -> None:
    result = subprocess.run([program("blocks_in"), str(ROUNDS)], capture_output=True, text=True, check=True)
    assert all(each.begin_ns < each.end_ns for each in said(result.stdout))
