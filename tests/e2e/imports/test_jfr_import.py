"""What `import` makes of a real JVM's file: blocks, phases, samples and loads are those that the JDK's own tool prints."""

from __future__ import annotations

import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.store import Recording, open_recording
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java
from support.oracles.jfr_oracle import printed

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "FlightRecorded.java"
G1 = ("-Xmx256m", "-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent")
"""A collection that is asked for goes on beside the program: it is much longer than its pauses."""
FIRST_NS, LATER_NS, NATIVE_NS = 10_000_000, 7_000_000, 20_000_000
"""The periods of the samplers: the program sets the first and changes it, the JDK's `profile` settings tell the native one's."""
CLOCKS_NS = 10_000_000
"""The tool takes each chunk's reading of the wall clock, headway that of the first: in a second these part by less than this."""
WAITS = {
    "jdk.ThreadPark": ("park", "parkedClass", ""),
    "jdk.JavaMonitorEnter": ("monitor", "monitorClass", "previousOwner"),
    "jdk.JavaMonitorWait": ("wait", "monitorClass", "notifier"),
}
Events = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Imported:
    """A file as the JDK's tool tells it, and the recording that was made of it."""

    jdk_events: Events
    recording: Recording
    events: str
    allocated: int


@pytest.fixture(
    scope="module", params=[(jdk, events) for jdk in sorted(JAVAS) for events in ("all", "few")], ids="-".join
)
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Imported]:
    jdk, events = request.param
    folder = tmp_path_factory.mktemp("imported")
    compile_java(folder, PROGRAM)
    command = [JAVAS[jdk], *G1, "-cp", folder, "FlightRecorded", folder / "a.jfr", events]
    said = subprocess.run(list(map(str, command)), capture_output=True, check=True, timeout=120).stdout
    done = headway("import", folder / "a.jfr", "-o", folder / "a.headway")
    assert done.returncode == 0, done.stderr
    jdk_events = {
        event: [json.loads(row) for row in rows.elements()] for event, rows in printed(folder / "a.jfr").items()
    }
    recording = open_recording(folder / "a.headway")
    yield Imported(jdk_events, recording, events, json.loads(said.splitlines()[-1])["allocated"])
    recording.close()


def frames_of(recording: Recording) -> dict[int | None, tuple[Any, ...]]:
    """Return each stack as (class, method, line) from the innermost frame on; null is no stack."""
    found: dict[int | None, list[Any]] = defaultdict(list)
    sql = "SELECT stack_id, class_name, method, line FROM stack JOIN frame USING (frame_id) ORDER BY stack_id, depth"
    for stack, *frame in recording.query(sql).fetchall():
        found[stack].append(tuple(frame))
    return {None: (), **{stack: tuple(frames) for stack, frames in found.items()}}


def told_frames(event: dict[str, Any]) -> tuple[Any, ...]:
    return tuple((each["in"], each["method"], each["line"]) for each in event.get("stackTrace") or ())


def java_id(thread: list[Any] | None) -> int | None:
    return thread[1] if thread and thread[1] > 0 else None


# --- blocks --------------------------------------------------------------------------------------------------------------


def jdk_blocks(jdk_events: Events) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield when each wait began and what there is to know of it."""
    for name, (kind, of, role) in WAITS.items():
        for event in jdk_events[name]:
            thread, other = event["eventThread"], event.get(role)
            timed = (event.get("timeout") or 0) > 0 or (event.get("until") or 0) > 0
            owner, waker = (java_id(other) if kind == each else None for each in ("monitor", "wait"))
            who = (thread[1], thread[0] == 0, None if thread[0] == 0 else thread[2])
            yield (
                event["startTime"],
                (*(kind, event[of] or "", timed, event["duration"], *who, owner, waker, told_frames(event)),),
            )


def blocks(recording: Recording) -> Iterator[tuple[int, tuple[Any, ...]]]:
    stacks = frames_of(recording)
    sql = (
        "SELECT k.start_ns, k.kind, class_name, is_timed, dur_ns, k.java_id, is_virtual, t.name, owner_java_id, waker_java_id, "
        "stack_id FROM block k JOIN blocker USING (blocker_id) LEFT JOIN thread t USING (thread_id)"
    )
    for start, *facts, stack in recording.query(sql).fetchall():
        yield start, (*facts, stacks[stack])


def test_every_wait_is_a_block_with_its_object_owner_waker_and_stack(imported: Imported) -> None:
    theirs, ours = list(jdk_blocks(imported.jdk_events)), list(blocks(imported.recording))
    assert Counter(facts for _, facts in ours) == Counter(facts for _, facts in theirs)
    in_order = [sorted(each, key=lambda row: (str(row[1]), row[0])) for each in (ours, theirs)]
    assert max(abs(one - other) for (one, _), (other, _) in zip(*in_order, strict=True)) < CLOCKS_NS


def test_the_file_has_waits_of_each_kind_with_those_who_ended_them(imported: Imported) -> None:
    rows = {facts for _, facts in blocks(imported.recording)}
    found = {
        (kind, name, timed, owner is not None, waker is not None)
        for kind, _, timed, _, _, _, name, owner, waker, _ in rows
    }
    assert {
        ("monitor", "contender", False, True, False),
        ("wait", "main", True, False, False),
        ("wait", "waiter", False, False, True),
        ("park", "locker é", False, False, False),
        ("park", "main", True, False, False),
    } <= found


def test_objects_have_the_sums_of_their_waits(imported: Imported) -> None:
    theirs: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    for name, (kind, of, _) in WAITS.items():
        for event in imported.jdk_events[name]:
            sums = theirs[kind, event[of] or "", event["address"]]
            sums[0] += 1
            sums[1] += event["duration"]
    sql = "SELECT kind, class_name, times_parked, thread_time_ns FROM blocker"
    ours = Counter(imported.recording.query(sql).fetchall())
    assert ours == Counter((kind, name, *sums) for (kind, name, _), sums in theirs.items())


def test_sleeps_are_in_the_table_of_their_event(imported: Imported) -> None:
    sleeps = Counter((each["eventThread"][1], each["duration"]) for each in imported.jdk_events["jdk.ThreadSleep"])
    sql = "SELECT eventThread_java_id, dur_ns FROM jfr_ThreadSleep"
    assert Counter(imported.recording.query(sql).fetchall()) == sleeps


# --- phases and loads ------------------------------------------------------------------------------------------------------


def test_pauses_and_safepoints_are_those_of_the_jvm(imported: Imported) -> None:
    jdk_events = imported.jdk_events
    collections = {event["gcId"]: event for event in jdk_events["jdk.GarbageCollection"]}
    if imported.events == "all":
        pauses = [(event["duration"], collections[event["gcId"]]["cause"]) for event in jdk_events["jdk.GCPhasePause"]]
    else:
        assert "jdk.GCPhasePause" not in jdk_events
        assert any(event["duration"] > 2 * event["sumOfPauses"] for event in collections.values())
        pauses = [(event["sumOfPauses"], event["cause"]) for event in collections.values()]
    stops = [
        (each["duration"], each["operation"]) for each in jdk_events["jdk.ExecuteVMOperation"] if each["safepoint"]
    ]
    assert pauses
    assert stops
    expected = Counter([*(("gc_pause", *each) for each in pauses), *(("safepoint", *each) for each in stops)])
    assert Counter(imported.recording.query("SELECT kind, dur_ns, cause FROM jvm_phase").fetchall()) == expected


def test_readings_of_the_cpu_load_are_millionths_of_the_machine(imported: Imported) -> None:
    names = {"jvmUser": "cpu_load_jvm_user", "jvmSystem": "cpu_load_jvm_system", "machineTotal": "cpu_load_machine"}
    loads = [
        (name, round(each[field] * 1e6)) for each in imported.jdk_events["jdk.CPULoad"] for field, name in names.items()
    ]
    assert loads
    assert Counter(imported.recording.query("SELECT event, value FROM counter").fetchall()) == Counter(loads)


def test_threads_have_the_lives_that_the_jvm_tells(imported: Imported) -> None:
    lives: dict[int, set[str]] = defaultdict(set)
    for event in ("jdk.ThreadStart", "jdk.ThreadEnd"):
        for row in imported.jdk_events[event]:
            if row["thread"][0] > 0:
                lives[row["thread"][1]].add(event)
    assert lives
    sql = "SELECT java_id, name, from_snapshot, end_ns IS NOT NULL FROM thread WHERE java_id IS NOT NULL"
    rows = {number: (name, seen, ended) for number, name, seen, ended in imported.recording.query(sql).fetchall()}
    for number, events in lives.items():
        assert rows[number][1:] == ("jdk.ThreadStart" not in events, "jdk.ThreadEnd" in events), rows[number]
    assert {"contender", "waiter", "allocator", "computer"} <= {
        name for name, seen, ended in rows.values() if ended and not seen
    }


# --- samples ---------------------------------------------------------------------------------------------------------------


def jdk_period_ns(jdk_events: Events, ns: int) -> int:
    """Return the period of ExecutionSample at a time: the only event that ever has the later one."""
    rows = [each for each in jdk_events["jdk.ActiveSetting"] if each["name"] == "period"]
    (event,) = {each["id"] for each in rows if each["value"] == f"{LATER_NS} ns"}
    of_it = sorted((each["startTime"], each["value"]) for each in rows if each["id"] == event)
    # The sampler begins a little before it is told.
    value = next((value for start, value in reversed(of_it) if start <= ns), of_it[0][1])
    return int(value.removesuffix(" ns"))


def jdk_samples(jdk_events: Events) -> Iterator[tuple[Any, ...]]:
    """Yield (event, weight, thread, stack) of all samples: what two events tell counts once."""
    by_time = jdk_events.get("jdk.CPUTimeSample", [])
    rows = [("cpu", each["samplingPeriod"], each) for each in by_time]
    execution = "execution" if by_time else "cpu"
    rows += [
        (execution, jdk_period_ns(jdk_events, each["startTime"]), each) for each in jdk_events["jdk.ExecutionSample"]
    ]
    rows += [("native", NATIVE_NS, each) for each in jdk_events.get("jdk.NativeMethodSample", [])]
    if "jdk.ObjectAllocationInNewTLAB" in jdk_events:
        rows += [("alloc", each["tlabSize"], each) for each in jdk_events["jdk.ObjectAllocationInNewTLAB"]]
        rows += [("alloc", each["allocationSize"], each) for each in jdk_events["jdk.ObjectAllocationOutsideTLAB"]]
    else:
        rows += [("alloc", each["weight"], each) for each in jdk_events["jdk.ObjectAllocationSample"]]
    for event, weight, each in rows:
        thread = each.get("sampledThread") or each.get("eventThread") or [0, 0, "", ""]  # tid 0: a virtual one, or none
        yield event, weight, (thread[2] or thread[3]) if thread[0] > 0 else None, told_frames(each)


def test_every_sample_is_there_once_with_its_weight_thread_and_stack(imported: Imported) -> None:
    stacks = frames_of(imported.recording)
    sql = "SELECT event, weight, name, stack_id FROM sample LEFT JOIN thread USING (thread_id)"
    ours = Counter((*facts, stacks[stack]) for *facts, stack in imported.recording.query(sql).fetchall())
    theirs = Counter(jdk_samples(imported.jdk_events))
    assert {event for event, *_ in theirs} >= {"cpu", "alloc"}
    assert ours == theirs


def test_samples_stand_for_the_period_that_was_set_at_their_time(imported: Imported) -> None:
    periods = Counter(
        jdk_period_ns(imported.jdk_events, each["startTime"]) for each in imported.jdk_events["jdk.ExecutionSample"]
    )
    event = "execution" if "jdk.CPUTimeSample" in imported.jdk_events else "cpu"
    rows = imported.recording.query(
        "SELECT weight, count(*) FROM sample WHERE event = ? GROUP BY 1", [event]
    ).fetchall()
    assert dict(rows) == periods
    assert set(periods) == {FIRST_NS, LATER_NS}


def test_cpu_time_that_two_samplers_tell_counts_once(imported: Imported) -> None:
    if "jdk.CPUTimeSample" not in imported.jdk_events:
        pytest.skip("only JDK 25 samples by CPU time, and only where it is asked to")
    notices = {notice.id for notice in imported.recording.notices}
    assert "HW223" not in notices
    sql = "SELECT event, sum(weight), count(*) FROM sample WHERE event IN ('cpu', 'execution') GROUP BY 1 ORDER BY 1"
    cpu, execution = imported.recording.query(sql).fetchall()
    assert cpu[1:] == (
        sum(each["samplingPeriod"] for each in imported.jdk_events["jdk.CPUTimeSample"]),
        len(imported.jdk_events["jdk.CPUTimeSample"]),
    )
    assert execution[2] == len(imported.jdk_events["jdk.ExecutionSample"])


def test_allocations_sum_up_to_what_the_program_counted(imported: Imported) -> None:
    sql = "SELECT sum(weight) FROM sample JOIN thread USING (thread_id) WHERE event = 'alloc' AND name = 'allocator'"
    ((weight,),) = imported.recording.query(sql).fetchall()
    # A buffer counts whole when it is begun. Samples come at a limited rate, and what follows a thread's last one is in none.
    assert weight <= 1.2 * imported.allocated
    assert imported.events == "few" or weight >= 0.8 * imported.allocated
