"""How long others ran on a CPU that ours had left, against a process that keeps that CPU busy, and against idle time."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.store import Recording, open_recording
from support.drivers.recording_cli import headway

pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_BPF and CAP_PERFMON"),
]

# Recorded: sleeps and works in turns on one CPU, until the file that the other one writes at its end is there; before that it
# does the same alone, and says what the kernel counts as idle on this CPU meanwhile.
OURS = """
import json, os, sys, time
cpu, ready, over = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.sched_setaffinity(0, {cpu})
def idle_ns():
    line = next(line for line in open("/proc/stat") if line.startswith(f"cpu{cpu} ")).split()
    return (int(line[4]) + int(line[5])) * (10**9 // os.sysconf("SC_CLK_TCK"))
def work():
    time.sleep(0.002)
    sum(range(20_000))
from_ns, before = time.monotonic_ns(), idle_ns()
for _ in range(150):
    work()
after, to_ns = idle_ns(), time.monotonic_ns()
open(ready, "w").close()
while not os.path.exists(over):
    work()
print(json.dumps({"from_ns": from_ns, "to_ns": to_ns, "idle_ns": after - before}))
"""

# Not recorded: keeps the CPU busy. It counts as its own only the time between two looks at the clock that follow each other at
# once, so the time in which it was interrupted, also by the host, is not in it.
OTHER = """
import json, os, sys, time
cpu, ready, over = int(sys.argv[1]), sys.argv[2], sys.argv[3]
while not os.path.exists(ready):
    time.sleep(0.01)
os.sched_setaffinity(0, {cpu})
begin = last = time.monotonic_ns()
own = 0
while own < 400_000_000:
    now = time.monotonic_ns()
    if now - last < 10_000:
        own += now - last
    last = now
print(json.dumps({"begin_ns": begin, "end_ns": last, "own_ns": own}), flush=True)
open(over, "w").close()
"""


def beside_each_other(directory: Path) -> tuple[Recording, int, dict[str, int], dict[str, int]]:
    """Record ours while the other one comes and goes; return also what both said."""
    cpu = min(os.sched_getaffinity(0))
    words = [str(cpu), str(directory / "ready"), str(directory / "over")]
    with subprocess.Popen([sys.executable, "-S", "-c", OTHER, *words], stdout=subprocess.PIPE, text=True) as other:
        result = headway("record", "-o", directory / "r.headway", "--", sys.executable, "-S", "-c", OURS, *words)
        assert result.returncode == 0, result.stderr
        output, _ = other.communicate(timeout=60)
    return open_recording(directory / "r.headway"), cpu, json.loads(result.stdout), json.loads(output)


def gaps(recording: Recording, cpu: int, begin_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """Return (dur_ns, other_ns) of the rows of a CPU that lie inside a span."""
    rows: list[Any] = recording.query(
        "SELECT dur_ns, other_ns FROM cpu_gap WHERE cpu = ? AND start_ns >= ? AND start_ns + dur_ns <= ?",
        [cpu, begin_ns, end_ns],
    ).fetchall()
    return rows


def touching_ns(recording: Recording, cpu: int, begin_ns: int, end_ns: int) -> int:
    """Return how long others ran in the rows of a CPU that have any part in a span, however far they reach beyond it."""
    found: Any = recording.query(
        "SELECT coalesce(sum(other_ns), 0)::BIGINT FROM cpu_gap WHERE cpu = ? AND start_ns < ? AND start_ns + dur_ns > ?",
        [cpu, end_ns, begin_ns],
    ).fetchone()
    return int(found[0])


def ours_ns(recording: Recording, cpu: int, begin_ns: int, end_ns: int) -> int:
    """Return how long ours ran on a CPU inside a span."""
    found: Any = recording.query(
        "SELECT sum(GREATEST(0, LEAST(start_ns + running_ns, ?) - GREATEST(start_ns, ?))) FROM slice WHERE cpu = ?",
        [end_ns, begin_ns, cpu],
    ).fetchone()
    return int(found[0])


def test_what_others_did_on_a_cpu_is_told_and_its_idle_time_is_not(tmp_path: Path) -> None:
    recording, cpu, ours, other = beside_each_other(tmp_path)
    begin_ns, end_ns = other["begin_ns"], other["end_ns"]
    rows = gaps(recording, cpu, begin_ns, end_ns)
    assert all(0 < others <= dur for dur, others in rows)
    # While the other one is there the CPU is never idle: what it does not do for ours it does for others.
    assert sum(others for _, others in rows) >= 0.99 * sum(dur for dur, _ in rows)
    # At both ends a row may begin or end outside: the other one had part of that as well.
    assert touching_ns(recording, cpu, begin_ns, end_ns) >= other["own_ns"]
    accounted = sum(others for _, others in rows) + ours_ns(recording, cpu, begin_ns, end_ns)
    assert accounted <= end_ns - begin_ns
    # Before it came, the idle time that the kernel counts itself (in ticks) is nobody's.
    ticks_ns = 2 * 10**9 // os.sysconf("SC_CLK_TCK")
    before = sum(others for _, others in gaps(recording, cpu, ours["from_ns"], ours["to_ns"]))
    assert before <= ours["to_ns"] - ours["from_ns"] - ours["idle_ns"] + ticks_ns


def test_rows_of_a_cpu_do_not_overlap_each_other_nor_ours(tmp_path: Path) -> None:
    recording, cpu, _ours, _other = beside_each_other(tmp_path)
    assert recording.manifest.losses.events == 0
    tick_ns = 32  # slices are rounded to it
    spans: list[tuple[int, int]] = recording.query(
        f"SELECT start_ns + {tick_ns}, start_ns + dur_ns FROM cpu_gap WHERE cpu = {cpu} UNION ALL"
        f" SELECT start_ns + {tick_ns}, start_ns + running_ns FROM slice WHERE cpu = {cpu} AND running_ns > 0 ORDER BY 1, 2"
    ).fetchall()
    assert len(spans) > 300
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    window = recording.window_ns
    assert window[0] <= spans[0][0]
    assert max(end for _, end in spans) <= window[1]
