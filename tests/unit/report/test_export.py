"""Exports say what the tables say: decoded by Perfetto's own protocol, read back by csv and DuckDB."""

from __future__ import annotations

import csv
import itertools
import os
import resource
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from headway.errors import HeadwayError
from headway.report.export import export_csv, export_perfetto, protobuf
from headway.report.export.perfetto_sched import OUTSIDE_WAKER, UNKNOWN_WAKER
from headway.store import Recording, open_recording
from headway.store.writer import write_recording
from support.builders.recording_builder import MARKUP_NAME, Shape, make


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    # More slices than one batch of the exporter, so that what it carries from batch to batch is in play.
    shape = Shape(threads=40, slices=150_000, cpus=3, markup=True)
    return open_recording(make(tmp_path_factory.mktemp("export") / "made.headway", shape))


@pytest.fixture(scope="module")
def trace(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = export_perfetto(recording, tmp_path_factory.mktemp("perfetto") / "made.perfetto-trace")
    decoded = Trace()
    decoded.ParseFromString(path.read_bytes())
    return decoded


def compact_switches(trace: Any) -> dict[int, list[tuple[int, int, int, str]]]:
    """Decode sched_switch per CPU as (ns, prev_state, next_pid, next_comm), in the order of the file."""
    found: dict[int, list[tuple[int, int, int, str]]] = defaultdict(list)
    for packet in trace.packet:
        bundle = packet.ftrace_events
        sched = bundle.compact_sched
        ns = 0
        for delta, state, pid, comm in zip(
            sched.switch_timestamp,
            sched.switch_prev_state,
            sched.switch_next_pid,
            sched.switch_next_comm_index,
            strict=True,
        ):
            ns = ns + delta
            found[bundle.cpu].append((ns, state, pid, sched.intern_table[comm]))
    return found


def running_parts(trace: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield (tid, cpu, start, duration, state in which it left) as a reader of the trace sees them."""
    for cpu, switches in compact_switches(trace).items():
        assert [s[0] for s in switches] == sorted(s[0] for s in switches)
        for (start, _, tid, _), (end, state, _, _) in itertools.pairwise(switches):
            if tid != 0:
                yield tid, cpu, start, end - start, state


def wakings(trace: Any) -> list[tuple[int, int, int, bool]]:
    return [
        (event.timestamp, event.sched_waking.pid, event.pid, bool(event.common_flags & 8))
        for packet in trace.packet
        for event in packet.ftrace_events.event
        if event.HasField("sched_waking")
    ]


def test_every_running_interval_of_the_tables_is_in_the_trace_and_no_other(recording: Recording, trace: Any) -> None:
    expected = recording.query("SELECT tid, cpu, start_ns, dur_ns FROM thread_state WHERE state = 'running'").fetchall()
    assert len(expected) > 140_000
    assert Counter(part[:4] for part in running_parts(trace)) == Counter(expected)


def test_a_thread_leaves_its_cpu_in_the_state_that_follows(recording: Recording, trace: Any) -> None:
    codes = {"sleeping": 1, "uninterruptible": 2, "stopped": 4, "runnable": 0, "running": 0}
    rows = recording.query("SELECT tid, start_ns, dur_ns, state FROM thread_state WHERE dur_ns > 0").fetchall()
    after = {(tid, start): codes[state] for tid, start, _, state in rows}
    ended = {tid for (tid,) in recording.query("SELECT tid FROM thread WHERE end_ns IS NOT NULL").fetchall()}
    seen = Counter[int]()
    for tid, _, start, duration, state in running_parts(trace):
        last = 16 if tid in ended else 0
        assert state == after.get((tid, start + duration), last)
        seen[state] += 1
    assert set(seen) == {0, 1, 2, 4, 16}


def test_wakings_carry_the_waker_or_say_that_it_is_not_known(recording: Recording, trace: Any) -> None:
    rows = recording.query(
        "SELECT s.start_ns - s.runnable_ns, t.tid, CASE s.waker_id WHEN -1 THEN -1 WHEN -2 THEN -2 ELSE w.tid END, "
        "s.waker_irq FROM slice s JOIN thread t USING (thread_id) LEFT JOIN thread w ON w.thread_id = s.waker_id "
        "WHERE s.blocked_ns > 0"
    ).fetchall()
    stand_in = {-1: UNKNOWN_WAKER, -2: OUTSIDE_WAKER}
    assert {-1, -2} < {row[2] for row in rows}
    assert Counter(wakings(trace)) == Counter((ns, tid, stand_in.get(w, w), irq) for ns, tid, w, irq in rows)


def test_threads_are_named_and_live_from_birth_to_exit(recording: Recording, trace: Any) -> None:
    events = [event for packet in trace.packet for event in packet.ftrace_events.event]
    born = {(e.timestamp, e.task_newtask.pid, e.task_newtask.comm) for e in events if e.HasField("task_newtask")}
    freed = {e.sched_process_free.pid: e.timestamp for e in events if e.HasField("sched_process_free")}
    rows = recording.query("SELECT start_ns, tid, name, end_ns FROM thread").fetchall()
    assert born == {(start, tid, name) for start, tid, name, _ in rows}
    assert MARKUP_NAME in {name for _, _, name in born}
    assert freed.keys() == {tid for _, tid, _, end in rows if end is not None}
    left = {tid: start + duration for tid, _, start, duration, _ in sorted(running_parts(trace), key=lambda p: p[2])}
    assert all(freed[tid] > left[tid] for tid in freed)
    names = {tid: name for _, tid, name, _ in rows}
    for switches in compact_switches(trace).values():
        assert {(tid, comm) for _, _, tid, comm in switches if tid} <= set(names.items())


def test_the_process_tree_names_the_command(recording: Recording, trace: Any) -> None:
    (tree,) = [packet.process_tree for packet in trace.packet if packet.HasField("process_tree")]
    assert next(list(p.cmdline) for p in tree.processes if p.pid == 4000) == list(recording.manifest.command)


def test_jvm_phases_are_slices_and_counters_are_the_means_of_the_bins(recording: Recording, trace: Any) -> None:
    packets = [p for p in trace.packet if p.HasField("track_event")]
    tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
    phase_tracks = {uuid for uuid, track in tracks.items() if track.name.startswith("JVM ")}
    of_phases = [p for p in packets if p.track_event.track_uuid in phase_tracks]
    begins = [p for p in of_phases if p.track_event.type == TrackEvent.TYPE_SLICE_BEGIN]
    ends = [p for p in of_phases if p.track_event.type == TrackEvent.TYPE_SLICE_END]
    phases = recording.query("SELECT start_ns, dur_ns FROM jvm_phase ORDER BY start_ns").fetchall()
    assert [(b.timestamp, e.timestamp - b.timestamp) for b, e in zip(begins, ends, strict=True)] == phases
    assert tracks[tracks[begins[0].track_event.track_uuid].parent_uuid].process.pid == 4000

    # The counters' time-weighted sum is the threads' active time: what the thread table says, to the bins' rounding.
    window = recording.window_ns
    for kind in ("app", "gc", "jit", "vm"):
        (track,) = [t for t in tracks.values() if t.name == f"running threads: {kind}"]
        values = [
            (p.timestamp, p.track_event.double_counter_value) for p in packets if p.track_event.track_uuid == track.uuid
        ]
        edges = [ns for ns, _ in values[1:]] + [window[1]]
        area = sum(value * (edge - ns) for (ns, value), edge in zip(values, edges, strict=True))
        (expected,) = recording.query("SELECT SUM(running_ns) FROM thread WHERE kind = ?", [kind]).fetchone() or (0,)
        assert area == pytest.approx(expected, rel=1e-9)


TINY_THREADS = pa.table(
    {
        "thread_id": [0, 1],
        "pid": [10, 10],
        "tid": [10, 11],
        "start_ns": [900, 2000],
        "end_ns": [None, 5000],
        "name": ["main", "worker"],
        "comm": ["java", "worker"],
        "kind": ["app", "app"],
        "from_snapshot": [True, False],
    }
)
TINY_SLICES = pa.table(
    {
        "thread_id": [0, 1, 0, 0],
        "start_ns": [1000, 2500, 3000, 9000],
        "blocked_ns": [0, 0, 400, 5000],
        "runnable_ns": [0, 500, 100, 0],
        "running_ns": [1500, 1000, 1000, 0],
        "cpu": [0, 0, 1, -1],
        "blocked_state": [0, 0, 2, 1],
        "waker_id": [-1, -1, 1, -1],
        "waker_irq": [False, False, False, False],
        "is_open": [False, False, False, True],
    }
)
WINDOW = {"window": {"start_ns": 1000, "end_ns": 9000}, "command": ["java", "X"], "pid": 10}


def test_a_recording_small_enough_to_work_out_by_hand(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "t.headway", WINDOW, {"thread": TINY_THREADS, "slice": TINY_SLICES})
    trace = Trace()
    trace.ParseFromString(export_perfetto(open_recording(path), tmp_path / "t.pf").read_bytes())
    assert compact_switches(trace) == {
        0: [(1000, 0, 10, "main"), (2500, 2, 11, "worker"), (3500, 16, 0, "swapper")],
        1: [(3000, 0, 10, "main"), (4000, 1, 0, "swapper")],
    }
    assert wakings(trace) == [(2900, 10, 11, False)]  # the wait that was still open at the end has no waking


def test_a_thread_that_still_runs_at_the_end_is_not_switched_out(tmp_path: Path) -> None:
    slices = TINY_SLICES.slice(0, 1).set_column(9, "is_open", pa.array([True]))
    path = write_recording(tmp_path / "t.headway", WINDOW, {"thread": TINY_THREADS, "slice": slices})
    trace = Trace()
    trace.ParseFromString(export_perfetto(open_recording(path), tmp_path / "t.pf").read_bytes())
    assert compact_switches(trace) == {0: [(1000, 0, 10, "main")]}


def test_a_mode_without_wake_ups_exports_no_waking(tmp_path: Path) -> None:
    slices = TINY_SLICES.set_column(3, "runnable_ns", pa.nulls(4, pa.int64()))
    manifest = {**WINDOW, "mode": "perf-switch"}
    path = write_recording(tmp_path / "t.headway", manifest, {"thread": TINY_THREADS, "slice": slices})
    trace = Trace()
    trace.ParseFromString(export_perfetto(open_recording(path), tmp_path / "t.pf").read_bytes())
    assert wakings(trace) == []
    assert sum(map(len, compact_switches(trace).values())) == 5


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_a_column_of_varints_is_the_varints_one_by_one(values: list[int]) -> None:
    assert protobuf.varints(np.array(values, dtype=np.uint64)) == b"".join(map(protobuf.varint, values))


# --- CSV ------------------------------------------------------------------------------------------------------------


def test_the_csv_has_the_same_rows_and_sums_as_the_view(recording: Recording, tmp_path: Path) -> None:
    path = export_csv(recording, tmp_path / "states.csv")
    text = (
        "SELECT tid, state, COUNT(*), SUM(dur_ns), SUM(exec_ns), MIN(start_ns), COUNT(waker_tid) FROM {} GROUP BY 1, 2"
    )
    expected = recording.query(text.format("thread_state")).fetchall()
    with duckdb.connect() as reader:
        assert sorted(reader.execute(text.format(f"'{path}'")).fetchall()) == sorted(expected)


def test_the_csv_of_thread_states_is_row_for_row_the_view(recording: Recording, tmp_path: Path) -> None:
    path = export_csv(recording, tmp_path / "states.csv")
    with open(path, newline="", encoding="utf-8") as file:
        rows = Counter(tuple(row.values()) for row in csv.DictReader(file))
    columns = recording.query("SELECT * FROM thread_state").fetchall()
    assert rows == Counter(tuple("" if value is None else str(value) for value in row) for row in columns)


def test_names_with_quotes_commas_and_line_ends_survive_the_csv(tmp_path: Path) -> None:
    name = 'a "quoted",\nname \\xFF <b>'
    threads = TINY_THREADS.set_column(5, "name", pa.array([name, "plain"]))
    path = write_recording(tmp_path / "t.headway", WINDOW, {"thread": threads, "slice": TINY_SLICES})
    with open(
        export_csv(open_recording(path), tmp_path / "t.csv", table="thread"), newline="", encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == [name, "plain"]
    assert rows[0]["end_ns"] == ""


def test_all_tables_go_into_one_zip(recording: Recording, tmp_path: Path) -> None:
    path = export_csv(recording, tmp_path / "all.zip", table="all")
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        counts = {n: sum(1 for _ in csv.reader(archive.read(n).decode().splitlines())) - 1 for n in archive.namelist()}
    for name in ("thread", "slice", "thread_state", "activity", "jvm_phase"):
        assert counts[f"{name}.csv"] == (recording.query(f"SELECT COUNT(*) FROM {name}").fetchone() or (0,))[0]


# --- what can go wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("export", [export_csv, export_perfetto])
def test_an_export_never_overwrites_unless_told_to(export: Any, recording: Recording, tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("mine")
    with pytest.raises(HeadwayError, match="HW500"):
        export(recording, target)
    assert target.read_text() == "mine"
    export(recording, target, overwrite=True)
    assert target.stat().st_size > 1000
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("export", [export_csv, export_perfetto])
def test_a_place_that_can_not_be_written_is_a_clear_error(export: Any, recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match=r"HW501.*No such file or directory"):
        export(recording, tmp_path / "no" / "such" / "out")
    with pytest.raises(HeadwayError, match=r"HW501.*it is a directory"):
        export(recording, tmp_path, overwrite=True)
    with pytest.raises(HeadwayError, match=r"HW501.*not an ordinary file"):
        export(recording, "/dev/null", overwrite=True)


@pytest.mark.parametrize("form", ["csv", "perfetto"])
def test_a_disk_that_fills_up_leaves_no_half_file_behind(form: str, recording: Recording, tmp_path: Path) -> None:
    headway = Path(sys.executable).with_name("headway")
    command: list[str | Path] = [headway, "export", recording.path, "--format", form, "-o", tmp_path / "out"]
    limit = 100_000  # bytes that any file may grow to: what the kernel answers past it is what a full disk answers
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("HW501: ")
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_recording_without_states_is_not_exported_as_an_empty_file(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "t.headway", {**WINDOW, "mode": "agent"}, {"thread": TINY_THREADS})
    with pytest.raises(HeadwayError, match="HW507"):
        export_csv(open_recording(path), tmp_path / "t.csv")
    with pytest.raises(HeadwayError, match="HW507"):
        export_perfetto(open_recording(path), tmp_path / "t.pf")
    assert not list(tmp_path.glob("t.csv*"))
