"""Recordings with more threads, pauses and CPUs than any machine has, as a Perfetto trace: in pieces, and whole all the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from headway.report.export import export_perfetto, perfetto, perfetto_sched
from headway.store import open_recording
from support.builders import synthetic
from support.builders.recording_builder import Shape, make
from support.builders.synthetic import FakeThread

A_PACKET, CPUS, SLICES_OF_EACH = 4096, 64, 8


def decoded(path: Path) -> Any:
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    return trace


def test_threads_that_were_there_before_are_named_in_packets_of_a_few_thousand(tmp_path: Path) -> None:
    """All were one packet, copied anew for each of them: a million threads took half an hour of CPU time."""
    threads = 3 * A_PACKET
    rows = [
        {**synthetic.thread_row(i, FakeThread(name=f"t{i}"), 100), "from_snapshot": True, "pid": 100 + i % 2}
        for i in range(threads)
    ]
    path = synthetic.write(tmp_path / "a.headway", [FakeThread(states=[("R", 100)])], 100, tables={"thread": rows})
    trace = decoded(export_perfetto(open_recording(path), tmp_path / "a.trace"))
    trees = [packet.process_tree for packet in trace.packet if packet.HasField("process_tree")]
    assert max(len(tree.threads) + len(tree.processes) for tree in trees) <= A_PACKET
    named = Counter((each.tid, each.tgid, each.name) for tree in trees for each in tree.threads if each.tid < 1 << 22)
    assert named == Counter((100 + i, 100 + i % 2, f"t{i}") for i in range(threads))
    assert {process.pid for tree in trees for process in tree.processes} >= {100, 101}


def test_a_trace_is_the_same_however_many_rows_are_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pauses, bins and threads were all Python objects at once: five million of them took gigabytes."""
    recording = open_recording(make(tmp_path / "a.headway", Shape(threads=9, slices=300)))
    assert all(recording.manifest.tables[name].rows > 2 for name in ("thread", "jvm_phase", "activity"))
    whole = export_perfetto(recording, tmp_path / "whole.trace").read_bytes()
    monkeypatch.setattr(perfetto, "ROWS_AT_ONCE", 2)
    read: list[int] = []
    real = type(recording).batches

    def noted(self: Any, text: str, rows: int = 1 << 19) -> Any:
        read.append(rows)
        return real(self, text, rows)

    monkeypatch.setattr(type(recording), "batches", noted)
    assert export_perfetto(recording, tmp_path / "pieces.trace").read_bytes() == whole
    assert read.count(2) == 6


def test_of_many_cpus_each_has_few_bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch of slices was looked through for each CPU, and a bundle took a slice or two: of 32,000 CPUs hours."""
    count = CPUS * SLICES_OF_EACH
    thread = FakeThread(states=[("R", 5), ("B", 5)] * count)
    slices = [{**row, "cpu": i % CPUS} for i, row in enumerate(synthetic.slices_of(0, thread)) if row["cpu"] >= 0]
    path = synthetic.write(tmp_path / "a.headway", [thread], 10 * count, tables={"slice": slices})
    monkeypatch.setattr(perfetto_sched, "BATCH_ROWS", CPUS)
    recording = open_recording(path)
    trace = decoded(export_perfetto(recording, tmp_path / "a.trace"))
    bundles = Counter(packet.ftrace_events.cpu for packet in trace.packet if packet.HasField("ftrace_events"))
    assert set(bundles) == set(range(CPUS))
    assert max(bundles[cpu] for cpu in range(1, CPUS)) <= 2  # its slices, and its last switch
    switched_in = sum(
        sum(pid != 0 for pid in packet.ftrace_events.compact_sched.switch_next_pid) for packet in trace.packet
    )
    assert switched_in == count
