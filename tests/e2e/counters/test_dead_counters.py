"""Counters that stand still in the middle of a recording, as after their CPU was offline: unknown, and not zero."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from headway.analyses.counters.analysis import counters
from headway.store import open_recording
from support.drivers.recording_cli import start_headway

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mode ebpf needs root")

# For each line of standard input touches 3,000 pages, with a sleep before and after, and says when it did (CLOCK_MONOTONIC).
PROGRAM = """
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(void) {
  char line[16];
  setvbuf(stdout, 0, _IOLBF, 0);
  printf("pid %d\\n", getpid());
  while (fgets(line, sizeof line, stdin) != 0) {
    usleep(20000);
    long begun = now();
    char *at = mmap(0, 4096L * 3000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, 4096L * 3000, MADV_NOHUGEPAGE);
    for (int i = 0; i < 3000; ++i) at[4096L * i] = 1;
    long ended = now();
    usleep(20000);
    printf("touched %ld %ld\\n", begun, ended);
  }
  return 0;
}
"""
PAGES = 3_000
_DISABLE = 0x2401  # PERF_EVENT_IOC_DISABLE
_GET_FD = 438  # pidfd_getfd, on every architecture


def stop_counters(pid: int) -> int:
    """Disable the performance events of another process, which the kernel does to those of a CPU that goes offline."""
    libc = ctypes.CDLL(None, use_errno=True)
    process, stopped = os.pidfd_open(pid), 0
    try:
        for number in map(int, os.listdir(f"/proc/{pid}/fd")):
            if "perf_event" not in os.readlink(f"/proc/{pid}/fd/{number}"):
                continue
            copy = libc.syscall(_GET_FD, process, number, 0)
            assert copy >= 0, os.strerror(ctypes.get_errno())
            fcntl.ioctl(copy, _DISABLE)
            os.close(copy)
            stopped += 1
    finally:
        os.close(process)
    return stopped


def test_what_counters_that_stand_still_did_not_see_is_unknown_and_not_zero(tmp_path: Path) -> None:
    (tmp_path / "work.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "work", tmp_path / "work.c"], check=True, timeout=120)
    path = tmp_path / "a.headway"
    words = ("record", "--no-agent", "--counters", "page-faults,task-clock", "-o", path, "--", tmp_path / "work")
    with start_headway(*words, stdin=subprocess.PIPE) as recorder:
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        lines = iter(recorder.stdout.readline, "")
        next(line for line in lines if line.startswith("pid "))

        def touch() -> tuple[int, int]:
            assert recorder.stdin is not None
            recorder.stdin.write("\n")
            recorder.stdin.flush()
            said = next(line for line in lines if line.startswith("touched ")).split()
            return int(said[1]), int(said[2])

        counted = touch()
        assert stop_counters(recorder.pid) > 0
        touch()  # the first switch still finds counters that went on since the last one
        lost = touch()
        recorder.stdin.close()
        assert recorder.wait(100) == 0
    recording = open_recording(path)
    origin = recording.window_ns[0]
    before, after = (
        counters(recording, (begun - origin, ended - origin)).total.counts["page-faults"]
        for begun, ended in (counted, lost)
    )
    assert before.value is not None
    assert before.high is not None
    assert before.high >= PAGES
    assert (after.value, after.high) == (None, None)
    assert "HW110" in {notice.id for notice in counters(recording).notices}
