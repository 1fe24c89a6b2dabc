"""The critical path of recordings made by hand, whose path can be read off."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from headway.analyses.critical_path.analysis import critical_path
from headway.analyses.critical_path.sums import state_of
from headway.analyses.critical_path.types import CriticalPath, PathSegment
from headway.analyses.critical_path.walk import BLOCKED, CUT, INTERRUPTED, OUTSIDE, RUNNING
from headway.analyses.lost_cores.types import Account, Why
from headway.errors import HeadwayError
from headway.report.export import export_perfetto
from headway.report.export.perfetto_lost_cores import cause_packets
from headway.report.json.critical_path import critical_path_json
from headway.report.terminal.critical_path import sentences, threads_table
from headway.store import open_recording
from support.builders import synthetic
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.recording_builder import Shape, make
from support.builders.synthetic import ORIGIN, FakeThread, slices_of

Run = Callable[..., tuple[int, str, str]]
IRQ = -9
TIMED_FUTEX = 2
WALL = 100


def written(
    path: Path,
    threads: Sequence[FakeThread],
    wakers: Mapping[tuple[int, int], int],
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    blocked_in: int = 0,
    **facts: Any,
) -> Path:
    """Write threads; `wakers` says who ended the n-th block of a thread (IRQ: an interrupt), `blocked_in` in which call."""
    rows = []
    for i, thread in enumerate(threads):
        blocks = 0
        for row in slices_of(i, thread):
            if row["blocked_ns"]:
                waker = wakers.get((i, blocks), -1)
                row["waker_id"], row["waker_irq"] = max(waker, -2), waker == IRQ
                row["blocked_in"] = blocked_in
                blocks += 1
            rows.append(row)
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    return synthetic.write(path, threads, WALL, tables={"slice": rows, **(tables or {})}, **facts)


def path_of(path: Path, **how: Any) -> CriticalPath:
    """The path, after checking what holds for every one."""
    result = critical_path(open_recording(path), **how)
    assert sum(ns for _, ns in result.by_state) == result.wall_ns
    assert sum(row.ns for row in result.by_thread) == result.wall_ns
    assert sum(row.ns for row in result.by_method) == result.wall_ns
    for row in result.by_thread:
        assert sum(row.by_state.values()) == row.ns
    now = result.window_ns[0]
    for each in result.segments:
        assert each.start_ns == now
        now = each.end_ns
    assert now == result.window_ns[1]
    return result


def segment_texts(segments: Sequence[PathSegment]) -> list[tuple[int, str, str]]:
    return [(each.end_ns, each.thread, each.state) for each in segments]


FORK_JOIN = [
    FakeThread("app", 0, [("R", 20), ("B", 60), ("W", 5), ("R", 15)], "main"),
    FakeThread("app", 10, [("R", 25)], "quick"),
    FakeThread("app", 15, [("W", 5), ("R", 60), ("R", 2)], "slow"),
]


def test_the_path_of_a_fork_and_join_goes_through_the_slow_worker(tmp_path: Path) -> None:
    result = path_of(written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2}))
    assert segment_texts(result.segments) == [
        (20, "main", "running"),
        (80, "slow", "running"),
        (85, "main", "runnable"),
        (100, "main", "running"),
    ]
    assert result.segments[1].waiter == "main"
    assert {row.name: row.ns for row in result.by_thread} == {"slow": 60, "main": 40}
    assert result.followed == 1


def test_threads_of_one_name_are_told_apart_by_their_tid_and_others_need_none(tmp_path: Path) -> None:
    result = path_of(written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2}))
    assert [str(column.header) for column in threads_table(result).columns][:2] == ["thread", "kind"]
    alike = replace(result, by_thread=tuple(replace(row, name="main") for row in result.by_thread))
    name, tid = threads_table(alike).columns[:2]
    assert len(set(name.cells)) == 1
    assert list(tid.cells) == [str(row.tid) for row in result.by_thread]


def test_a_thread_that_was_born_meanwhile_leads_to_who_made_it(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 70), ("R", 20)], "main"),
        FakeThread("app", 0, [("R", 60)], "maker"),
        FakeThread("app", 40, [("R", 45)], "late"),
    ]
    rows = [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)]
    rows[2]["parent_tid"] = rows[1]["tid"]
    result = path_of(written(tmp_path / "a.headway", threads, {(0, 0): 2}, {"thread": rows}))
    assert segment_texts(result.segments) == [
        (10, "main", "running"),
        (40, "maker", "running"),
        (80, "late", "running"),
        (100, "main", "running"),
    ]


def test_a_sleep_that_the_timer_ended_is_on_the_path_itself(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 10), ("B", 70), ("R", 20)], "main"), FakeThread("app", 0, [("R", 100)])]
    result = path_of(written(tmp_path / "a.headway", threads, {(0, 0): IRQ}))
    assert dict(result.by_state) == {"interrupt": 70, "running": 30}


@pytest.mark.parametrize("waker", [IRQ, -1], ids=["timer", "hidden"])
def test_a_wait_with_a_time_limit_that_no_thread_ended_is_a_sleep(tmp_path: Path, waker: int) -> None:
    """Hidden: some kernels keep wakings from their tracers that come while a thread runs that is not recorded."""
    threads = [FakeThread("app", 0, [("R", 10), ("B", 70), ("R", 20)], "main"), FakeThread("app", 0, [("R", 100)])]
    path = written(tmp_path / "a.headway", threads, {(0, 0): waker}, blocked_in=TIMED_FUTEX)
    result = path_of(path)
    assert dict(result.by_state) == {"sleep": 70, "running": 30}
    assert [row.name for row in result.by_thread] == ["main"]


def test_a_wait_with_a_time_limit_that_goes_on_at_the_end_is_not_known_to_be_a_sleep(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 10), ("B", 90)], "main")]
    path = written(tmp_path / "a.headway", threads, {(0, 0): -1}, blocked_in=TIMED_FUTEX)
    result = path_of(path, thread=re.compile("main"))
    assert dict(result.by_state) == {"running": 10, "unknown": 90}


def test_a_wait_for_a_thread_outside_or_unknown_stays_on_the_path(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 10), ("B", 30), ("R", 20), ("B", 20), ("R", 20)], "main")]
    result = path_of(written(tmp_path / "a.headway", threads, {(0, 0): -2, (0, 1): -1}))
    assert dict(result.by_state) == {"running": 50, "outside": 30, "unknown": 20}


def test_the_holder_is_on_the_path_while_the_waiter_waits(tmp_path: Path) -> None:
    """main waits for a lock of `first`, which waits for one of `second`: the JVM's record alone says so."""
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 50), ("R", 40)], "main"),
        FakeThread("app", 0, [("R", 20), ("B", 20), ("R", 40)], "first"),
        FakeThread("app", 0, [("R", 90)], "second"),
    ]
    waits = [Wait(0, 0, 10, 60, owner=1, waker=1, waking=60), Wait(1, 1, 20, 40, owner=2, stack=0)]
    path = LockRecording(threads, waits, wall=WALL, stacks=[(*LOCK_FRAMES, ("org.example.Store", "put"))])
    result = path_of(path.write(tmp_path / "a.headway"))
    assert segment_texts(result.segments) == [
        (10, "main", "running"),
        (20, "first", "running"),
        (40, "second", "running"),
        (60, "first", "running"),
        (100, "main", "running"),
    ]
    assert [(row.ns, row.followed_ns, row.waiting) for row in result.by_lock] == [
        (30, 30, "lock contention"),
        (20, 20, "lock contention"),
    ]
    assert result.segments[2].waiter == "first"
    assert result.segments[2].lock == result.by_lock[1].name


def test_of_a_program_in_which_no_thread_was_active_no_path_is_shown(tmp_path: Path) -> None:
    """An idle server that one attached to: its launcher's first thread was said to be on the path, for what is not known."""
    result = path_of(written(tmp_path / "a.headway", [FakeThread("app", 0, [("B", 100)], "main")], {}), window=(10, 90))
    assert [text.partition(",")[0] for text in sentences(result)] == ["No application thread was active"]


def test_locks_that_are_waited_for_at_one_line_are_one_row_with_that_line_first(tmp_path: Path) -> None:
    """A server makes a lock for each client: rows of the objects alone say nothing."""
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 20), ("R", 10), ("B", 30), ("R", 30)], "main"),
        FakeThread("app", 0, [("R", 90)], "owner"),
    ]
    waits = [Wait(0, 0, 10, 30, owner=1, stack=0), Wait(0, 1, 40, 70, owner=1, stack=0)]
    path = LockRecording(threads, waits, wall=WALL, stacks=[(*LOCK_FRAMES, ("org.example.Store", "put"))])
    result = path_of(path.write(tmp_path / "a.headway"))
    place = f"org.example.Store.put:{len(LOCK_FRAMES)}"
    (row,) = result.by_lock
    assert (row.ns, row.objects, row.place) == (50, 2, place)
    assert row.name == "2 objects (ReentrantLock)"
    assert f"a thread waited for {place} (2 objects (ReentrantLock)): lock contention." in " ".join(sentences(result))


def test_a_wait_that_nobody_is_known_to_have_ended_has_the_name_of_its_lock_and_method(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 10), ("B", 50), ("R", 40)], "main")]
    stacks = [(*LOCK_FRAMES, ("org.example.Store", "put"))]
    path = LockRecording(threads, [Wait(0, 0, 10, 60, stack=0)], wall=WALL, stacks=stacks).write(tmp_path / "a.headway")
    result = path_of(path)
    assert dict(result.by_state) == {"running": 50, "lock": 50}
    assert [(row.method, row.waiting_ns) for row in result.by_method if row.waiting_ns] == [
        ("org.example.Store.put", 50)
    ]
    assert result.by_lock[0].followed_ns == 0


def test_what_happens_in_a_pause_counts_as_the_pause(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 30), ("B", 40), ("R", 30)], "main"),
        FakeThread("gc", 0, [("B", 32), ("R", 36), ("B", 32)], "GC Thread#0"),
    ]
    pause = {"pid": 100, "start_ns": ORIGIN + 30, "dur_ns": 38, "kind": "gc_pause", "cause": "test"}
    path = written(tmp_path / "a.headway", threads, {(0, 0): 1, (1, 0): 0}, {"jvm_phase": [pause]})
    result = path_of(path)
    assert dict(result.by_state)["gc_pause"] == 38
    assert result.by_thread[1].by_state["gc_pause"] == 38


def test_stolen_time_is_apart(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 60), ("W", 10), ("R", 30)], "main", stolen=[20, 0])]
    assert dict(path_of(written(tmp_path / "a.headway", threads, {})).by_state) == {
        "running": 70,
        "stolen": 20,
        "runnable": 10,
    }


def test_running_time_goes_to_the_methods_that_samples_on_the_path_found(tmp_path: Path) -> None:
    frames = [("java.util.HashMap", "get"), ("org.example.A", "find"), ("org.example.B", "other")]
    tables: dict[str, list[dict[str, Any]]] = {
        "frame": [
            {"frame_id": i, "class_name": name, "method": method, "line": None, "kind": "java"}
            for i, (name, method) in enumerate(frames)
        ],
        "stack": [
            {"stack_id": 0, "depth": 0, "frame_id": 0, "is_cut": False},
            {"stack_id": 0, "depth": 1, "frame_id": 1, "is_cut": False},
            {"stack_id": 1, "depth": 0, "frame_id": 2, "is_cut": False},
        ],
        "sample": [
            {"thread_id": thread, "ns": ORIGIN + ns, "event": "cpu", "weight": 10, "stack_id": stack, "state": None}
            for thread, ns, stack in [(0, 5, 1), (1, 12, 1), (2, 30, 0), (0, 50, 0), (2, 60, 0), (2, 70, 1)]
        ],
    }
    result = path_of(written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2}, tables))
    assert result.has_samples
    # 60 ns of `slow` by 2 to 1 (its samples at 30, 60 and 70), 35 ns of `main` all by its one at 5: at 50 it did not run.
    found = {row.method: (row.running_ns, row.waiting_ns) for row in result.by_method}
    assert found == {"org.example.A.find": (40, 0), "org.example.B.other": (55, 0), "(not running)": (0, 5)}


def test_a_window_has_its_own_path(tmp_path: Path) -> None:
    path = written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2})
    result = path_of(path, window=(30, 70))
    assert segment_texts(result.segments) == [(70, "slow", "running")]
    assert result.thread.name == "slow"


def test_the_path_may_end_in_a_thread_that_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2})
    result = path_of(path, thread=re.compile("quick"))
    assert segment_texts(result.segments) == [
        (10, "quick", "unknown"),
        (35, "quick", "running"),
        (100, "quick", "ended"),
    ]


def test_slices_of_threads_that_are_not_on_record_are_on_no_path(tmp_path: Path) -> None:
    alone = synthetic.write(tmp_path / "alone.headway", FORK_JOIN, WALL)
    rows = [row for i, thread in enumerate(FORK_JOIN) for row in slices_of(i, thread)]
    rows += [row | {"thread_id": number, "waker_id": 4} for row in slices_of(0, FORK_JOIN[0]) for number in (3, 5000)]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    strange = synthetic.write(tmp_path / "strange.headway", FORK_JOIN, WALL, tables={"slice": rows})
    assert path_of(strange).segments == path_of(alone).segments


def test_without_an_exit_the_path_ends_in_the_thread_that_was_active_last(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 90)], "main"),
        FakeThread("app", 0, [("R", 50), ("B", 50)], "early"),
        FakeThread("app", 0, [("B", 20), ("R", 60), ("B", 20)], "last"),
    ]
    path = written(tmp_path / "a.headway", threads, {}, ended_by="duration")
    result = path_of(path)
    assert result.thread.name == "last"
    assert segment_texts(result.segments)[-1] == (100, "last", "unknown")


@pytest.mark.parametrize("java_id", [1, 3])  # 3 in JDK 25
def test_without_wakers_the_path_ends_in_javas_main_thread(tmp_path: Path, java_id: int) -> None:
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 80), ("R", 10)], "java"),
        FakeThread("app", 0, [("R", 90)], "main"),
    ]
    rows = [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)]
    rows[1]["java_id"] = java_id
    path = synthetic.write(tmp_path / "a.headway", threads, WALL, tables={"thread": rows}, mode="perf-switch")
    result = path_of(path)
    assert segment_texts(result.segments) == [(90, "main", "running"), (100, "main", "ended")]


@pytest.mark.parametrize(
    ("on_path", "blocked_state", "blocked_in", "state"),
    [
        (INTERRUPTED, 1, 3, "sleep"),
        (INTERRUPTED, 1, 2, "sleep"),
        (BLOCKED, 1, 2, "sleep"),
        (OUTSIDE, 1, 2, "outside"),
        (CUT, 1, 2, "unknown"),
        (INTERRUPTED, 2, 2, "io"),
        (BLOCKED, 3, 2, "stopped"),
        (INTERRUPTED, 1, 4, "io"),
        (INTERRUPTED, 2, 9, "io"),
        (INTERRUPTED, 2, 0, "io"),
        (INTERRUPTED, 1, 0, "interrupt"),
        (OUTSIDE, 1, 7, "process"),
        (OUTSIDE, 1, 6, "io"),
        (OUTSIDE, 1, 0, "outside"),
        (BLOCKED, 3, 0, "stopped"),
        (BLOCKED, 1, 1, "unknown"),
        (RUNNING, 0, 0, "running"),
    ],
)
def test_a_wait_without_a_lock_is_named_by_its_system_call_and_by_who_ended_it(
    on_path: int, blocked_state: int, blocked_in: int, state: str
) -> None:
    assert state_of(on_path, blocked_state, blocked_in) == state


def test_a_list_of_segments_is_bounded_and_its_sums_are_not_touched(tmp_path: Path) -> None:
    path = make(tmp_path / "a.headway", Shape(slices=20_000))
    whole, short = path_of(path, limit=10**6), path_of(path, limit=50)
    assert len(whole.segments) > 1000
    assert 2 <= len(short.segments) <= 50
    assert sum(each.pieces for each in short.segments) == sum(each.pieces for each in whole.segments) == whole.pieces
    assert (short.by_state, short.by_thread, short.by_method) == (whole.by_state, whole.by_thread, whole.by_method)


def test_slices_out_of_order_are_a_damaged_file(tmp_path: Path) -> None:
    rows = [row for i, thread in enumerate(FORK_JOIN) for row in slices_of(i, thread)]
    path = synthetic.write(tmp_path / "a.headway", FORK_JOIN, WALL, tables={"slice": rows})
    with pytest.raises(HeadwayError) as caught:
        critical_path(open_recording(path))
    assert caught.value.notice.id == "HW303"


@settings(max_examples=25)  # each writes a recording
@given(st.data())
def test_whatever_the_columns_claim_the_path_is_as_long_as_the_window(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    ids = st.integers(-2, 6)  # what no recording can have is refused before (HW323)
    length = st.sampled_from([0, 0, 1, 5, 30, 2**40])
    rows = [
        {
            **slices_of(0, FakeThread(states=[("R", 1)]))[0],
            "thread_id": data.draw(ids),
            "start_ns": ORIGIN + data.draw(st.integers(-50, 200)),
            "blocked_ns": data.draw(length),
            "runnable_ns": data.draw(length),
            "running_ns": data.draw(length),
            "blocked_state": data.draw(st.integers(0, 3)),
            "waker_id": data.draw(ids),
            "waker_irq": data.draw(st.booleans()),
            "is_open": data.draw(st.booleans()),
        }
        for _ in range(data.draw(st.integers(1, 25)))
    ]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    folder = tmp_path_factory.mktemp("hostile")
    path_of(synthetic.write(folder / "a.headway", FORK_JOIN, WALL, activity=[], tables={"slice": rows}))


# --- what people see -----------------------------------------------------------------------------------------------------


def test_the_command_prints_80_columns_and_names_thread_and_state(run: Run, tmp_path: Path) -> None:
    code, out, err = run("critical-path", written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2}))
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "It is on 'slow' for 60% of the time, there mostly running" in out
    assert re.search(r"from +time +thread +state +who waits for it\n", out)


def test_json_is_the_result(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2})
    code, out, _ = run("critical-path", path, "--json")
    assert code == 0
    assert json.loads(out) == json.loads(json.dumps(critical_path_json(path_of(path))))


def test_names_that_hold_markup_or_controls_are_printed_as_text(run: Run, tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 100)], "[bold]\x1b[31mred\u202e[/bold]")]
    code, out, _ = run("critical-path", written(tmp_path / "a.headway", threads, {}))
    assert code == 0
    assert "[bold]\\x1b[31mred" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("facts", "words", "message"),
    [
        ({"mode": "agent"}, [], "HW400"),
        ({}, ["--thread", "nobody"], "HW495"),
        ({"window": {"start_ns": ORIGIN, "end_ns": ORIGIN}}, [], "HW402"),
    ],
)
def test_what_can_not_be_answered_is_said(
    run: Run, tmp_path: Path, facts: dict[str, Any], words: list[str], message: str
) -> None:
    slices: list[Any] = [] if facts.get("mode") == "agent" else slices_of(0, FORK_JOIN[0])
    path = synthetic.write(tmp_path / "a.headway", FORK_JOIN[:1], WALL, tables={"slice": slices}, **facts)
    code, out, err = run("critical-path", path, *words)
    assert (code, out) == (1, "")
    assert err.startswith(f"{message}: ")


def test_a_mode_without_wakers_is_named(run: Run, tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "a.headway", FORK_JOIN, WALL, mode="perf-switch")
    code, out, _ = run("critical-path", path)
    assert code == 0
    assert "HW494" in out


def test_a_pattern_that_is_none_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "a.headway", FORK_JOIN, {})
    assert run("critical-path", path, "--thread", "(")[0] == 2
    assert run("critical-path", path, "--from", "90ns", "--to", "10ns")[0] == 2


# --- Perfetto ------------------------------------------------------------------------------------------------------------


def test_a_trace_has_the_path_as_slices_end_to_end(tmp_path: Path) -> None:
    path = written(tmp_path / "a.headway", FORK_JOIN, {(0, 0): 2})
    trace = Trace()
    trace.ParseFromString(export_perfetto(open_recording(path), tmp_path / "t.pf").read_bytes())
    named = [p.track_descriptor for p in trace.packet if p.track_descriptor.name.startswith("Critical path")]
    (track,) = named
    events = [p for p in trace.packet if p.HasField("track_event") and p.track_event.track_uuid == track.uuid]
    begins = [p for p in events if p.track_event.type == TrackEvent.TYPE_SLICE_BEGIN]
    ends = [p for p in events if p.track_event.type == TrackEvent.TYPE_SLICE_END]
    assert [p.track_event.name for p in begins] == ["main: running", "slow: running", "main: runnable", "main: running"]
    assert [p.timestamp - ORIGIN for p in begins] == [0, 20, 80, 85]
    assert [p.timestamp - ORIGIN for p in ends] == [20, 80, 85, 100]


def test_a_trace_has_the_causes_as_counters_in_cores() -> None:
    account = Account(10, 35, 4.0, {}, 0, 0, (), 0.0)
    bins = {"lock_contention": [20, 20, 5], "sleep": [0, 10, 0]}
    why = Why(account, (("lock_contention", 45), ("sleep", 10)), (), 10, bins, "ebpf", ())
    trace = Trace()

    def packet(payload: bytes, ns: int | None = None) -> bytes:
        from headway.report.export.perfetto import _packet

        return _packet(payload, ns=ns)

    trace.ParseFromString(b"".join(cause_packets(why, 1000, packet)))
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")}
    found: dict[str, list[tuple[int, float]]] = {}
    for each in trace.packet:
        if each.HasField("track_event"):
            values = found.setdefault(names[each.track_event.track_uuid], [])
            values.append((each.timestamp, each.track_event.double_counter_value))
    assert found == {
        "Cores kept idle: lock contention": [(1010, 2.0), (1030, 1.0), (1035, 0.0)],
        "Cores kept idle: sleep": [(1010, 0.0), (1020, 1.0), (1030, 0.0)],
    }


@pytest.mark.parametrize(("next_call", "second"), [(TIMED_FUTEX, ("main", "sleep")), (1, ("agent", "running"))])
def test_a_wait_that_a_thread_of_headways_ended_is_a_samplers_only_where_the_same_call_goes_on(
    tmp_path: Path, next_call: int, second: tuple[str, str]
) -> None:
    """A sample cuts a wait in two, which nobody ends then; a JVM that starts waits for its agent, then for something else."""
    threads = [
        FakeThread("app", 0, [("R", 10), ("B", 60), ("R", 1), ("B", 9), ("R", 20)], "main"),
        FakeThread("headway", 0, [("R", 90)], "agent"),
    ]
    rows = [row for i, thread in enumerate(threads) for row in slices_of(i, thread)]
    first, then = (row for row in rows if row["blocked_ns"])
    first |= {"waker_id": 1, "blocked_in": TIMED_FUTEX}
    then |= {"waker_id": -1, "waker_irq": True, "blocked_in": next_call}
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    found = path_of(synthetic.write(tmp_path / "a.headway", threads, WALL, tables={"slice": rows}))
    assert (found.segments[1].thread, found.segments[1].state) == second
    assert found.segments[1].end_ns == 70
