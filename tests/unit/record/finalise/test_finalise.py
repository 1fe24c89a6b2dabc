"""From a spool to a recording: names and kinds, the window, what is checked and told, and what a dead recorder leaves."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.errors import HeadwayError
from headway.model import Kind
from headway.record.finalise.finalise import finalise
from headway.record.finalise.recover import recover
from headway.record.finalise.threads.kinds_by_name import kind_of_java, kind_of_native
from headway.record.target_process.processes import Process
from headway.store import Recording, open_recording
from headway.store.manifest import Manifest
from headway.store.recorder import boot_id
from support.builders.spool_builder import DEAD, SLEEP, Agent, Spool

MS = 1_000_000
ROOT, WORKER = 10, 11


def finalised(tmp_path: Path, spool: Spool | None, agent: Agent | None = None, **draft: Any) -> Path:
    """Write what a recorder leaves: the draft of a manifest, and the spool."""
    directory = tmp_path / "a.headway"
    (directory / "spool").mkdir(parents=True)
    if spool is not None:
        spool.write(directory / "spool")
    if agent is not None:
        agent.write(directory / "spool")
    window = {"start_ns": 1 * MS, "end_ns": 100 * MS}
    base = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": ROOT}
    manifest = {**base, "attached": False, "ended_by": "exit", "window": window, "notices": [], **draft}
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return directory


@pytest.fixture
def spool() -> Spool:
    """A program that execs at 2 ms, has one worker from 10 to 60 ms, and ends at 90 ms."""
    spool = Spool()
    spool.snapshot(0, ROOT, "S")
    spool.switch(1 * MS, 0, None, ROOT)
    spool.exec(2 * MS, ROOT, ROOT, b"java")
    spool.fork(10 * MS, WORKER, pid=ROOT, parent=ROOT, comm=b"java")
    spool.rename(10 * MS + 500, WORKER, b"w\xff\xfe<b>")
    spool.waking(10 * MS + 1000, 0, WORKER, by=ROOT, new=True)
    spool.switch(11 * MS, 1, None, WORKER)
    spool.switch(20 * MS, 0, ROOT, None, SLEEP, exec_ns=19 * MS)
    spool.exit(60 * MS, WORKER, exec_ns=49 * MS)
    spool.switch(60 * MS, 1, WORKER, None, DEAD, exec_ns=49 * MS)
    spool.waking(60 * MS, 1, ROOT, by=WORKER)
    spool.switch(61 * MS, 0, None, ROOT)
    spool.exit(90 * MS, ROOT, exec_ns=48 * MS)
    spool.switch(90 * MS, 0, ROOT, None, DEAD, exec_ns=48 * MS)
    return spool


def test_a_finalised_recording_opens_with_its_tables_and_without_its_spool(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool)
    manifest = finalise(directory)
    got = open_recording(directory)
    assert got.manifest == manifest
    assert (manifest.state, manifest.switches, manifest.losses.events) == ("complete", 2, 0)
    checks = ["wall", "running-levels", "active-levels", "bottle-height", "one-thread-per-cpu", "states", "blocks"]
    assert {each.id: each.ok for each in manifest.invariants} == dict.fromkeys([*checks, "exec-at-exit"], True)
    assert not (directory / "spool").exists()
    states = got.query("SELECT state, start_ns, dur_ns FROM thread_state WHERE tid = 10 ORDER BY start_ns").fetchall()
    assert states == [
        ("running", 2 * MS, 18 * MS),
        ("sleeping", 20 * MS, 40 * MS),
        ("runnable", 60 * MS, 1 * MS),
        ("running", 61 * MS, 29 * MS),
    ]


def test_the_window_is_from_the_commands_exec_to_the_roots_exit(spool: Spool, tmp_path: Path) -> None:
    window = finalise(finalised(tmp_path, spool)).window
    assert window is not None
    assert (window.start_ns, window.end_ns) == (2 * MS, 90 * MS)


def test_the_window_of_an_attached_program_is_the_recorders(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool, attached=True, window={"start_ns": 5 * MS, "end_ns": 50 * MS})
    window = finalise(directory).window
    assert window is not None
    assert (window.start_ns, window.end_ns) == (5 * MS, 50 * MS)


def test_a_name_that_is_not_utf8_is_escaped_byte_by_byte(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool)
    finalise(directory)
    assert open_recording(directory).columns("thread", "name")["name"].tolist() == ["java", "w\\xff\\xfe<b>"]


def with_agent(spool: Spool, tmp_path: Path) -> Recording:
    agent = Agent(ROOT, created_ns=3 * MS)
    agent.thread(4 * MS, ROOT, 1, b"main")
    agent.thread(10 * MS + 2000, WORKER, 30, "pool-1-Ω".encode(), b"workers", flags=1)
    agent.rename(50 * MS, WORKER, 30, b"renamed")
    agent.end(60 * MS, WORKER, 30, 49 * MS)
    agent.phase(30 * MS, 32 * MS, 1, b"G1 Evacuation Pause")
    agent.fact(b"java.version", b"25.")
    agent.fact(b"java.version", b"0.1", part=1)
    agent.fact(b"available_processors", b"2")
    agent.lost = 3
    directory = finalised(tmp_path, spool, agent)
    finalise(directory)
    return open_recording(directory)


def test_java_threads_are_known_by_their_last_name_group_and_daemon_flag(spool: Spool, tmp_path: Path) -> None:
    got = with_agent(spool, tmp_path)
    rows = got.query('SELECT name, comm, "group", is_daemon, java_id, cpu_clock_ns FROM thread').fetchall()
    assert rows == [
        ("main", "java", "main", False, 1, None),
        ("renamed", "w\\xff\\xfe<b>", "workers", True, 30, 49 * MS),
    ]


def test_what_the_jvm_says_is_in_tables_and_manifest(spool: Spool, tmp_path: Path) -> None:
    got = with_agent(spool, tmp_path)
    phases = got.query("SELECT pid, start_ns, dur_ns, kind, cause FROM jvm_phase").fetchall()
    assert phases == [(ROOT, 30 * MS, 2 * MS, "gc_pause", "G1 Evacuation Pause")]
    jvm = got.manifest.jvms[0]
    assert (jvm["pid"], jvm["version"], jvm["available_processors"]) == (ROOT, "25.0.1", 2)
    assert "exec-cpu-clock" in {each.id for each in got.manifest.invariants if each.ok}


def test_records_that_the_agent_lost_mark_the_recording(spool: Spool, tmp_path: Path) -> None:
    got = with_agent(spool, tmp_path)
    assert [each.id for each in got.notices] == ["HW204"]
    assert got.query("SELECT source, events FROM loss").fetchall() == [("agent", 3)]


def test_a_cpu_clock_that_disagrees_breaks_an_invariant_and_is_told(spool: Spool, tmp_path: Path) -> None:
    agent = Agent(ROOT, created_ns=3 * MS)
    agent.thread(10 * MS, WORKER, 30, b"w")
    agent.end(60 * MS, WORKER, 30, 40 * MS)  # it executed 49 ms
    manifest = finalise(finalised(tmp_path, spool, agent))
    assert {each.id for each in manifest.invariants if not each.ok} == {"exec-cpu-clock"}
    assert [each.id for each in manifest.notices] == ["HW201"]


def exits(tmp_path: Path, at_exit_ns: int, agent: Agent | None = None) -> Manifest:
    """Finalise a recording of a thread that executed 30 ms before its last slice and 50 ms in all, by its switches."""
    spool = Spool()
    spool.snapshot(0, ROOT, "S")
    spool.exec(2 * MS, ROOT, ROOT, b"java")
    spool.fork(10 * MS, WORKER, pid=ROOT, parent=ROOT, comm=b"worker")
    spool.waking(10 * MS + 1000, 0, WORKER, by=ROOT, new=True)
    spool.switch(11 * MS, 1, None, WORKER)
    spool.switch(41 * MS, 1, WORKER, None, SLEEP, exec_ns=30 * MS)
    spool.waking(50 * MS, 1, WORKER, by=ROOT)
    spool.switch(51 * MS, 1, None, WORKER)
    spool.exit(65 * MS, WORKER, exec_ns=at_exit_ns)
    spool.switch(71 * MS, 1, WORKER, None, DEAD, exec_ns=50 * MS)
    spool.waking(72 * MS, 1, ROOT, by=None)
    spool.switch(73 * MS, 0, None, ROOT)
    spool.exit(90 * MS, ROOT)
    spool.switch(91 * MS, 0, ROOT, None, DEAD, exec_ns=18 * MS)
    return finalise(finalised(tmp_path, spool, agent))


@pytest.mark.parametrize("at_exit_ms", [30, 40, 44, 50])
def test_a_count_at_exit_may_be_as_old_as_the_slice_of_the_exit(tmp_path: Path, at_exit_ms: int) -> None:
    # Updated at the switch-in; at the last tick, which is 4 ms old; at the exit, before 6 ms in the kernel; at the switch-out.
    manifest = exits(tmp_path, at_exit_ms * MS)
    assert {each.id: each.ok for each in manifest.invariants}["exec-at-exit"]
    assert not manifest.notices


@pytest.mark.parametrize(("clock_ms", "is_ok"), [(43, True), (42, False)])
def test_a_clock_may_lag_by_what_the_thread_ran_on_after_its_exit(tmp_path: Path, clock_ms: int, is_ok: bool) -> None:
    agent = Agent(ROOT, created_ns=3 * MS)
    agent.thread(10 * MS, WORKER, 30, b"w")
    agent.end(64 * MS, WORKER, 30, clock_ms * MS)  # its exit is at 65 ms, and it is off its CPU at 71 ms
    manifest = exits(tmp_path, 44 * MS, agent)
    assert {each.id: each.ok for each in manifest.invariants}["exec-cpu-clock"] == is_ok


@pytest.mark.parametrize("at_exit_ms", [29, 51])
def test_a_count_at_exit_that_no_slice_explains_breaks_an_invariant(tmp_path: Path, at_exit_ms: int) -> None:
    manifest = exits(tmp_path, at_exit_ms * MS)
    assert {each.id for each in manifest.invariants if not each.ok} == {"exec-at-exit"}
    assert [each.id for each in manifest.notices] == ["HW201"]


def test_a_clock_may_lag_by_what_the_thread_lived_on_after_it_was_read(spool: Spool, tmp_path: Path) -> None:
    agent = Agent(ROOT, created_ns=3 * MS)
    agent.thread(10 * MS, WORKER, 30, b"w")
    agent.end(55 * MS, WORKER, 30, 44 * MS)  # it executed 49 ms: it ran on for the 5 ms that it had left
    manifest = finalise(finalised(tmp_path, spool, agent))
    assert all(each.ok for each in manifest.invariants)
    assert not manifest.notices


def test_losses_mark_the_recording(spool: Spool, tmp_path: Path) -> None:
    spool.loss(70 * MS, 1, 65 * MS, 12)
    directory = finalised(tmp_path, spool)
    manifest = finalise(directory)
    assert (manifest.losses.events, manifest.losses.spans) == (12, 1)
    assert "HW200" in [each.id for each in manifest.notices]
    rows = open_recording(directory).query("SELECT source, cpu, start_ns, dur_ns, events FROM loss").fetchall()
    assert rows == [("sched", 1, 65 * MS, 5 * MS, 12)]


def test_a_counter_line_that_was_cut_off_is_left_out(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool)
    line = json.dumps({"ns": 5, "event": "cpu_steal", "cpu": 1, "value": 7})
    (directory / "spool/counters.jsonl").write_text(f'{line}\n{{"ns": 6, "ev')
    finalise(directory)
    assert open_recording(directory).query("SELECT * FROM counter").fetchall() == [(5, "cpu_steal", 1, 7)]


def test_with_the_agent_alone_there_are_threads_but_no_states(tmp_path: Path) -> None:
    agent = Agent(ROOT)
    agent.thread(4 * MS, ROOT, 1, b"main")
    agent.end(60 * MS, ROOT, 1, 49 * MS)
    directory = finalised(tmp_path, None, agent, mode="agent")
    manifest = finalise(directory)
    assert "slice" not in manifest.tables
    rows = open_recording(directory).query("SELECT tid, name, running_ns, exec_ns FROM thread").fetchall()
    assert rows == [(ROOT, "main", None, 49 * MS)]


def test_when_a_table_cannot_be_written_the_spool_stays_and_can_be_finalised_later(
    spool: Spool, tmp_path: Path
) -> None:
    """A limit on the size of files stands in for a full disk: the kernel refuses the write in the same way."""
    directory = finalised(tmp_path, spool)
    program = (
        "import resource, sys; from headway.record.finalise.recover import recover; from headway.errors import HeadwayError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))\n"
        "try: recover(sys.argv[1])\n"
        "except HeadwayError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, directory], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("HW309: "), done.stderr
    assert (directory / "spool").is_dir()
    assert recover(directory).state == "complete"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


# --- recover ---------------------------------------------------------------------------------------------------------


def test_what_a_dead_recorder_left_is_finalised_up_to_the_last_record(spool: Spool, tmp_path: Path) -> None:
    spool.sched[0] = spool.sched[0][:3]  # up to the switch-out of the root at 20 ms
    spool.life = spool.life[:4]
    directory = finalised(tmp_path, spool, ended_by="recorder-died", window={"start_ns": MS, "end_ns": MS})
    file = directory / "spool/sched-cpu1.spool"
    file.write_bytes(file.read_bytes()[: 4096 + 40])  # the worker's switch-in, then half a record
    manifest = recover(directory)
    assert (manifest.state, manifest.ended_by) == ("partial", "recorder-died")
    assert manifest.window is not None
    assert (manifest.window.start_ns, manifest.window.end_ns) == (2 * MS, 20 * MS)
    assert [each.id for each in manifest.notices] == ["HW205"]
    assert all(each.ok for each in manifest.invariants)
    running = open_recording(directory).query("SELECT sum(running_ns) FROM thread").fetchall()
    assert running == [(18 * MS + 9 * MS,)]


def refused(directory: Path) -> str:
    with pytest.raises(HeadwayError) as caught:
        recover(directory)
    return caught.value.notice.id


def test_a_recording_that_is_still_made_is_left_alone(spool: Spool, tmp_path: Path) -> None:
    me = Process.of(os.getpid())
    assert me is not None
    who: dict[str, Any] = {"recorder_pid": me.pid, "recorder_start_ticks": me.start_ticks, "boot_id": boot_id()}
    assert refused(finalised(tmp_path, spool, **who)) == "HW307"


def test_a_complete_recording_has_nothing_to_recover(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool)
    finalise(directory)
    with pytest.raises(HeadwayError, match="HW308") as caught:
        recover(directory)
    assert caught.value.notice.remedy == f"headway why {directory}"
    assert refused(tmp_path) == "HW301"


def test_no_analysis_is_advised_of_a_finalised_recording_whose_table_is_damaged(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool)
    finalise(directory)
    table = directory / "slice.parquet"
    for spoil in (lambda: table.write_bytes(table.read_bytes()[:-1]), table.unlink):
        spoil()
        with pytest.raises(HeadwayError, match="HW308") as caught:
            recover(directory)
        assert caught.value.notice.remedy.startswith("copy it again")
        assert "slice.parquet is damaged or gone" in caught.value.notice.message


@pytest.mark.parametrize(
    ("facts", "helps"),
    [
        ({"state": "complete"}, "headway why {}"),
        ({"state": "partial", "mode": "agent"}, "headway notes {}"),
        ({"state": "partial", "kind": "causal"}, "headway causal {}"),
        ({"state": "recording"}, "headway record"),
    ],
)
def test_without_raw_records_what_is_advised_depends_on_whether_there_are_tables(
    tmp_path: Path, facts: dict[str, str], helps: str
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "headway-recording", "version": 1, **facts}))
    with pytest.raises(HeadwayError, match="HW308") as caught:
        recover(tmp_path)
    assert helps.format(tmp_path) in caught.value.notice.remedy


def test_finalising_that_is_killed_halfway_can_be_made_up_for(spool: Spool, tmp_path: Path) -> None:
    directory = finalised(tmp_path, spool)
    program = (
        "import os, sys; from headway.record.finalise.finalise import finalise\n"
        f"finalise(sys.argv[1], progress=lambda share: os.kill(os.getpid(), {int(signal.SIGKILL)}))"
    )
    assert subprocess.run([sys.executable, "-c", program, directory]).returncode == -signal.SIGKILL
    assert recover(directory).state == "complete"
    assert open_recording(directory).has("slice")


# --- kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comm", "kind"),
    [
        *((name, Kind.GC) for name in ("GC Thread#0", "G1 Main Marker", "G1 Conc#0", "G1 Refine#0", "G1 Service")),
        *((name, Kind.GC) for name in ("ZDriverMinor", "ZWorkerYoung#0", "ZStat", "XWorker#1", "Shenandoah GC T")),
        *((name, Kind.GC) for name in ("Shenand..ads#0", "RuntimeWorker#0", "ZUncommitter#0", "StringDedupProc")),
        *((name, Kind.JIT) for name in ("C2 CompilerThre", "C1 Comp..hread0", "JVMCI-native Co", "Sweeper thread")),
        *((name, Kind.VM) for name in ("VM Thread", "VM Periodic Tas", "VM Peri..c Task", "Signal Dispatch")),
        *((name, Kind.VM) for name in ("Reference Handl", "Referen..andler", "Finalizer", "Common-Cleaner")),
        *((name, Kind.VM) for name in ("Service Thread", "Monitor Deflati", "Monitor..Thread", "Notific..Thread")),
        *((name, Kind.APP) for name in ("java", "main", "C1", "GC", "pool-1-thread-1", "Thread-0", "VM Threads")),
    ],
)
def test_the_jvms_own_threads_are_known_by_their_names(comm: str, kind: Kind) -> None:
    assert kind_of_native(comm, in_jvm=True) is kind
    assert kind_of_native(comm, in_jvm=False) is Kind.APP


def test_a_java_thread_is_not_taken_for_the_jvms_own_because_of_its_name() -> None:
    assert kind_of_java("GC Thread#0", "main", is_carrier=False) is Kind.APP
    assert kind_of_java("Finalizer", "system", is_carrier=False) is Kind.VM
    assert kind_of_java("ForkJoinPool-1-worker-1", "CarrierThreads", is_carrier=True) is Kind.CARRIER
