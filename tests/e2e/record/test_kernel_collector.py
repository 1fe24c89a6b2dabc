"""The kernel collector on real programs, against the kernel's own tracers and the programs' own clocks."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from headway import _native
from support.drivers.live_process import state, thread_cpu_ns, thread_names
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, java_command
from support.oracles.kernel_oracle import (
    DEAD,
    Recording,
    SwitchSeen,
    TraceSeen,
    ftrace_beside,
    program,
    record,
    until_freed,
    waiting,
)
from support.oracles.spool_reader import (
    EXEC,
    EXIT,
    FORK,
    LOSS,
    NEXT_OURS,
    OTHERS,
    PREEMPT,
    PREV_OURS,
    RENAME,
    SNAPSHOT,
    STATE,
    SWITCH,
    UNREPORTED,
    WAKING_IRQ,
    WAKING_NEW,
    Spool,
    comm,
)

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="needs CAP_BPF and CAP_PERFMON")]

# Which letter of the kernel's trace each state of a spool stands for.
STATES = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 0x40: "P"}

TREE = """
import subprocess, threading, time, hashlib
def work():
    for _ in range(20):
        time.sleep(0.001)
        hashlib.sha256(b"x" * 200_000).digest()
for _ in range(3):
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    subprocess.run(["sh", "-c", "for i in 1 2 3 4; do ls / | sort | wc -l; done"], stdout=subprocess.DEVNULL)
    [t.join() for t in threads]
"""

COMMANDS = {
    "java": lambda: java_command(JAVAS["jdk17"], "PingPong", 4, 2000),
    "python-and-shells": lambda: [sys.executable, "-S", "-c", TREE],
    "c": lambda: [program("ping_pong"), "8", "1000"],
}


def inside(recording: Recording, records: np.ndarray) -> np.ndarray:
    """The records of the span in which the oracle and the collector were both attached."""
    return records[(records["ts_ns"] >= recording.begin_ns) & (records["ts_ns"] <= recording.end_ns)]


def was_inside(recording: Recording, us: int) -> bool:
    """The same for a time of the oracle; nothing of ours happens in the microsecond at either end."""
    return recording.begin_ns <= us * 1000 <= recording.end_ns


# Where the kernel hides some switches and wakings from its tracers (TraceSeen.gaps), it is always such as happen while a task
# runs that is not recorded. So what our own threads do must be equal, event by event. Of a hidden switch that brings one of
# them to a CPU each tracer knows by itself: the trace by a gap, the collector by a record that it marks UNREPORTED. So the
# numbers must be equal all the same.


def matched_switches(recording: Recording, trace: TraceSeen) -> Iterator[tuple[SwitchSeen, np.void]]:
    """Every switch as both saw it, per CPU in the same order, each between its neighbours in the trace's times."""
    ours = recording.spool.tids()
    every = inside(recording, recording.spool.switches())
    taken, worked_out = every[every["flags"] & UNREPORTED == 0], every[every["flags"] & UNREPORTED != 0]
    seen = [s for s in trace.switches if was_inside(recording, s.us)]
    for cpu in sorted({file.cpu for file in recording.spool.sched}):
        here = taken[taken["on_cpu"] == cpu]
        outs = [s for s in seen if s.cpu == cpu and s.prev_tid in ours]
        yield from in_step(outs, here[here["tid"] != 0], recording)
        ins = [s for s in seen if s.cpu == cpu and s.prev_tid not in ours and s.next_tid in ours]
        others = here[here["tid"] == 0]
        hidden = sum(hidden_arrivals(recording, trace, cpu).values())
        unreported = int((worked_out["on_cpu"] == cpu).sum())
        assert len(ins) + hidden == len(others) + unreported
        if not hidden and not unreported:
            yield from in_step(ins, others, recording)


def hidden_arrivals(recording: Recording, trace: TraceSeen, cpu: int | None = None) -> Counter[int]:
    """How often each of our threads came to a CPU unseen by the trace."""
    ours = recording.spool.tids()
    gaps = [gap for gap in trace.gaps() if cpu in (None, gap.cpu) and was_inside(recording, gap.to_us)]
    return Counter(gap.tid for gap in gaps if gap.tid in ours)


def in_step(seen: list[SwitchSeen], taken: np.ndarray, recording: Recording) -> Iterator[tuple[SwitchSeen, np.void]]:
    """The pairs of two equal sequences."""
    assert len(seen) == len(taken)
    times = [0, *(s.us * 1000 for s in seen), recording.end_ns]
    for before, after, one, other in zip(times, times[2:], seen, taken, strict=False):
        assert before <= other["ts_ns"] <= after + 1000
        yield one, other


def compare_switches(recording: Recording, trace: TraceSeen) -> None:
    """Both saw the same threads go and come, in the same states."""
    ours = recording.spool.tids()
    compared = 0
    for seen, taken in matched_switches(recording, trace):
        compared += 1
        assert taken["tid"] == (seen.prev_tid if seen.prev_tid in ours else 0)
        assert taken["next_tid"] == (seen.next_tid if seen.next_tid in ours else 0)
        assert bool(taken["flags"] & PREV_OURS) == (seen.prev_tid in ours)
        assert bool(taken["flags"] & NEXT_OURS) == (seen.next_tid in ours)
        if seen.prev_tid not in ours:
            continue
        if taken["flags"] & PREEMPT:
            assert seen.prev_state == "R+"
        elif taken["prev_state"] & DEAD:  # the trace tells X from Z by the exit state
            assert seen.prev_state in "XZ"
        else:
            assert seen.prev_state == STATES[int(taken["prev_state"]) & STATE]
    assert compared > 100


def compare_wakings(recording: Recording, trace: TraceSeen) -> None:
    """The same wakings of the same threads by the same threads, from the same contexts."""
    ours = recording.spool.tids()
    expected = Counter(
        (seen.cpu, seen.tid, seen.waker_tid, seen.is_new, seen.in_interrupt)
        for seen in trace.wakings
        if seen.tid in ours and was_inside(recording, seen.us)
        if seen.tid != seen.waker_tid  # who wakes itself has not slept: no record
    )
    taken = Counter(
        (
            int(r["cpu"]),
            int(r["tid"]),
            int(r["waker_tid"]),
            bool(r["flags"] & WAKING_NEW),
            bool(r["flags"] & WAKING_IRQ),
        )
        for r in inside(recording, recording.spool.wakings())
    )
    alone = (taken - expected) + (expected - taken)
    for (cpu, tid, waker, _, _), count in alone.items():  # hidden from one of the two, hence within a gap on that CPU
        assert waker not in ours
        spans = [(gap.from_us * 1000, gap.to_us * 1000 + 1000) for gap in trace.gaps() if gap.cpu == cpu]
        times = [int(r["ts_ns"]) for r in recording.spool.wakings() if (int(r["cpu"]), int(r["tid"])) == (cpu, tid)]
        times += [seen.us * 1000 for seen in trace.wakings if (seen.cpu, seen.tid) == (cpu, tid)]
        assert count <= sum(any(first <= ns <= last for first, last in spans) for ns in times), (cpu, tid, waker)


def compare_unreported(recording: Recording) -> None:
    """Every thread comes to a CPU before it leaves it, and ran in between for as long as its CPU clock went on."""
    switches = recording.spool.switches()
    on_cpu: dict[int, tuple[int, np.void]] = {}
    clock: dict[int, int] = {}
    for switch in switches:
        cpu, tid = int(switch["on_cpu"]), int(switch["tid"])
        if tid:
            came = on_cpu.get(cpu)
            assert came is None or came[0] == tid
            if came is not None and came[1]["flags"] & UNREPORTED and tid in clock:
                executed = int(switch["prev_exec_ns"]) - clock[tid]
                # At most what the host took is missing; the two clocks are read within a few microseconds.
                assert executed <= int(switch["ts_ns"]) - int(came[1]["ts_ns"]) + 20_000
            clock[tid] = int(switch["prev_exec_ns"])
        on_cpu[cpu] = (int(switch["next_tid"]), switch)


@pytest.mark.parametrize("force_raw", [False, True], ids=["tp_btf", "raw_tp"])
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_switches_and_wakings_are_those_that_the_kernel_traces_in_the_same_run(
    tmp_path: Path, command: Callable[[], list[str]], force_raw: bool
) -> None:
    with ftrace_beside() as trace:
        recording = record(command(), tmp_path / "spool", force_raw=force_raw)
    assert recording.code == 0, recording.stderr
    assert recording.stats["typed_programs"] is not force_raw
    assert recording.stats["lost"] == recording.stats["missed"] == 0
    compare_switches(recording, trace)
    compare_wakings(recording, trace)
    compare_unreported(recording)


def test_running_time_per_thread_is_that_of_the_kernels_trace_up_to_the_time_between_the_two_tracers(
    tmp_path: Path,
) -> None:
    with ftrace_beside() as trace:
        recording = record(COMMANDS["java"](), tmp_path / "spool")
    expected: Counter[int] = Counter()
    seen_in: dict[int, list[int]] = {}
    since: dict[int, int] = {}
    for seen in trace.switches:
        if seen.prev_tid in since:
            expected[seen.prev_tid] += seen.us * 1000 - since.pop(seen.prev_tid)
        if was_inside(recording, seen.us):
            since[seen.next_tid] = seen.us * 1000
            seen_in.setdefault(seen.next_tid, []).append(seen.us * 1000)
    # The time between the tracers, the microsecond that the trace cuts off included.
    skew: Counter[int] = Counter()
    for seen, taken in matched_switches(recording, trace):
        skew[seen.prev_tid] += abs(int(taken["ts_ns"]) - seen.us * 1000)
    hidden = hidden_arrivals(recording, trace)
    compared = 0
    for tid, ns in recording.spool.running_ns().items():
        switches = inside(recording, recording.spool.switches())
        came = switches["ts_ns"][switches["next_tid"] == tid]
        assert len(came) == len(seen_in.get(tid, [])) + hidden[tid]
        if hidden[tid]:
            continue
        apart = np.abs(came - seen_in[tid])
        assert abs(ns - expected[tid]) <= skew[tid] + apart.sum()
        compared += bool(apart.max() < 1_000_000)  # else the machine stood still between the tracers: it says little
    assert compared > 0


def test_a_waking_from_an_interrupt_is_marked_as_the_kernel_marks_it(tmp_path: Path) -> None:
    with ftrace_beside() as trace:
        recording = record([program("sleeper"), "100"], tmp_path / "spool")
    assert recording.stats["irq_context_known"]
    compare_wakings(recording, trace)
    marks = Counter(bool(flags & WAKING_IRQ) for flags in recording.spool.wakings()["flags"].tolist())
    # A hundred timers and a hundred semaphores, but for those that end before the thread sleeps or that the kernel hides.
    assert marks[True] > 50
    assert marks[False] > 50


def test_ten_thousand_short_lived_threads_are_known_from_birth_to_exit(tmp_path: Path) -> None:
    recording = record([program("many_threads"), "10000"], tmp_path / "spool")
    rows = [tuple(map(int, line.split())) for line in recording.stdout.splitlines()]
    assert len(rows) == 10_000
    assert recording.stats["lost"] == 0
    lifecycle = recording.spool.lifecycle
    births, exits = lifecycle.of(FORK), lifecycle.of(EXIT)
    assert Counter(births["tid"].tolist()) == Counter(tid for tid, _, _ in rows)
    assert set(births["pid"].tolist()) == {recording.pid}
    assert len({(int(r["tid"]), int(r["start_ns"])) for r in births}) == 10_000
    assert Counter(exits["tid"].tolist()) == Counter([recording.pid, *(tid for tid, _, _ in rows)])
    assert (births["ns_tid"] == births["tid"]).all()

    # A tid may have been used again; without that each has one last switch-out, dead, after its exit record.
    switches = recording.spool.switches()
    last_out = {int(r["tid"]): r for r in switches if r["flags"] & PREV_OURS}
    exit_ns = {int(r["tid"]): int(r["ts_ns"]) for r in exits}
    for tid, cpu_ns, at_ns in rows:
        out = last_out[tid]
        assert out["prev_state"] == 0x80
        assert out["ts_ns"] > exit_ns[tid]
        # The thread read its own clock at `at_ns`; afterwards it cannot have run for longer than the time that passed.
        assert cpu_ns <= out["prev_exec_ns"] <= cpu_ns + int(out["ts_ns"]) - at_ns


def test_names_follow_renames_as_raw_bytes(tmp_path: Path) -> None:
    recording = record([program("names")], tmp_path / "spool")
    main, other = map(int, recording.stdout.split())
    renames = [(int(r["tid"]), comm(r)) for r in recording.spool.lifecycle.of(RENAME)]
    assert renames[-3:] == [(main, b'<b>&amp;"bold'), (main, b"\xff\xfe\x80 raw"), (other, b"from outside")]
    (birth,) = recording.spool.lifecycle.of(FORK)
    assert comm(birth) == b"names"
    assert comm(recording.spool.lifecycle.of(EXEC)[-1]) == b"names"


def test_an_exec_from_a_thread_that_is_not_the_leader_names_both(tmp_path: Path) -> None:
    recording = record([program("exec_from_thread")], tmp_path / "spool")
    leader, thread = map(int, recording.stdout.split())
    last = recording.spool.lifecycle.of(EXEC)[-1]
    assert (int(last["tid"]), int(last["pid"]), int(last["old_tid"]), comm(last)) == (leader, leader, thread, b"true")


def test_an_exit_carries_its_code_and_the_running_time_so_far(tmp_path: Path) -> None:
    recording = record(["sh", "-c", "(exit 7); (kill -9 $$); exit 3"], tmp_path / "spool")
    codes = {int(r["exit_code"]) for r in recording.spool.lifecycle.of(EXIT)}
    assert 7 << 8 in codes
    assert 9 in codes
    assert recording.code == -9


def test_other_processes_cost_a_record_each_ten_milliseconds_at_most(tmp_path: Path) -> None:
    with subprocess.Popen([program("ping_pong"), "2", "50000000"], stdout=subprocess.DEVNULL) as foreign:
        recording = record([program("sleeper"), "100"], tmp_path / "spool")
        foreign.kill()
    ours = recording.spool.tids()
    switches = recording.spool.switches()
    assert set(switches["tid"][switches["flags"] & PREV_OURS != 0].tolist()) <= ours
    assert set(switches["next_tid"][switches["flags"] & NEXT_OURS != 0].tolist()) <= ours
    for file in recording.spool.sched:
        pieces = file.of(SWITCH)
        pieces = pieces[pieces["flags"] & (PREV_OURS | NEXT_OURS) == 0]
        assert (pieces["flags"] == OTHERS).all()
        assert (np.diff(pieces["ts_ns"][:-1]) >= 10_000_000).all()  # the last one is written when the collector stops
    assert set(recording.spool.wakings()["tid"].tolist()) <= ours
    assert recording.stats["switches"] == (switches["flags"] & UNREPORTED == 0).sum()


def test_a_ring_that_is_too_small_loses_records_and_counts_each(tmp_path: Path) -> None:
    with ftrace_beside() as trace:
        # In a real-time class, so that the consumer has to wait while they run.
        command = ["chrt", "--fifo", "1", program("ping_pong"), "8", "5000"]
        recording = record(command, tmp_path / "spool", ring_bytes=4096)
    ours = recording.spool.tids()
    seen = sum(s.prev_tid in ours or s.next_tid in ours for s in trace.switches if was_inside(recording, s.us))
    seen += sum(s.tid in ours and s.tid != s.waker_tid for s in trace.wakings if was_inside(recording, s.us))
    of_others = sum(s.prev_tid not in ours and s.next_tid in ours for s in trace.switches)
    of_others += sum(s.tid in ours and s.waker_tid not in ours for s in trace.wakings)
    losses = recording.spool.losses()
    switches = inside(recording, recording.spool.switches())
    taken = (switches["flags"] & UNREPORTED == 0).sum() + len(inside(recording, recording.spool.wakings()))
    lost = int(losses["events"].sum())
    assert lost == recording.stats["lost"] > 0
    # Where the machine's supervisor runs inside it, each tracer misses what the supervisor itself did with these threads.
    assert taken + lost == seen or (trace.gaps() and abs(taken + lost - seen) <= of_others + trace.hidden(ours))
    for file in recording.spool.sched:
        spans = file.of(LOSS)
        assert (spans["cpu"] == file.cpu).all()
        assert (spans["first_ns"] <= spans["last_ns"]).all()
        assert (spans["last_ns"] <= spans["ts_ns"]).all()
        assert (spans["first_ns"][1:] > spans["first_ns"][:-1]).all()


def test_sixty_four_threads_in_ping_pong_lose_nothing(tmp_path: Path) -> None:
    recording = record([program("ping_pong"), "32", "4000"], tmp_path / "spool")
    counted = json.loads(recording.stdout)
    assert recording.stats["lost"] == recording.stats["missed"] == 0
    outs = recording.spool.switches()
    # The program's own count leaves out what came before main and after it.
    assert (outs["flags"] & PREV_OURS != 0).sum() >= counted["voluntary"] + counted["involuntary"]
    assert recording.stats["consumer_cpu_ns"] < 0.1 * counted["cpu_ns"]


def test_a_number_that_is_used_again_by_another_process_is_not_recorded(tmp_path: Path) -> None:
    collector = _native.KernelCollector(str(tmp_path))
    with waiting(["true"]) as process:
        collector.add_process(process.pid)
        collector.start()
        with until_freed(process.pid):
            process.communicate(b"\n")
    before = collector.stats()
    for _ in range(20):  # the number may be taken for a moment by whatever else starts on this machine
        if subprocess.run([program("same_pid"), str(process.pid)], check=False).returncode == 0:
            break
    else:
        pytest.fail("the number never became free")
    after = collector.stop()
    assert (after["switches"], after["wakings"]) == (before["switches"], before["wakings"])
    assert set(Spool(tmp_path).switches()["tid"].tolist()) <= {0, process.pid}


def test_two_recorders_at_once_record_each_their_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = (_native.KernelCollector(str(tmp_path / name)) for name in ("a", "b"))
    with waiting([program("sleeper"), "30"]) as one, waiting([program("sleeper"), "30"]) as other:
        first.add_process(one.pid)
        second.add_process(other.pid)
        first.start()
        second.start()
        for process in (one, other):
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        assert (one.wait(), other.wait()) == (0, 0)
    first.stop()
    second.stop()
    for directory, pid in ((tmp_path / "a", one.pid), (tmp_path / "b", other.pid)):
        exits = Spool(directory).lifecycle.of(EXIT)
        assert set(exits["pid"].tolist()) == {pid}
        assert len(exits) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 KiB."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", mounted], check=True)
    yield mounted
    subprocess.run(["umount", mounted], check=True)


def test_a_full_disk_stops_the_recording_and_not_the_program(small_disk: Path) -> None:
    recording = record([program("ping_pong"), "8", "20000"], small_disk)
    assert recording.code == 0
    assert json.loads(recording.stdout)["voluntary"] > 0
    assert recording.stats["disk_error"] == errno.ENOSPC
    assert recording.begin_ns < recording.stats["disk_error_ns"] < recording.end_ns
    assert len(recording.spool.lifecycle.of(FORK)) > 0  # what was written before stays readable
    assert recording.spool.switches()["ts_ns"].max(initial=0) <= recording.stats["disk_error_ns"]
    assert 0 < recording.stats["written_until_ns"] < recording.stats["disk_error_ns"]


def test_a_running_process_is_recorded_with_its_threads_and_its_descendants(tmp_path: Path) -> None:
    script = "sleep 60 & exec {} 2 100000000".format(program("ping_pong"))
    with subprocess.Popen(["sh", "-c", script], stdout=subprocess.DEVNULL) as process:
        # Both are what they are to be, and the threads have run for longer than one clock tick.
        wait_for(lambda: list(thread_names(process.pid).values()) == ["ping_pong"] * 5)
        wait_for(lambda: sum(thread_cpu_ns(process.pid).values()) > 20_000_000)
        (child,) = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        wait_for(lambda: (thread_names(child).get(child), state(child)) == ("sleep", "S"))
        collector = _native.KernelCollector(str(tmp_path))
        collector.start()
        asked_ns = time.monotonic_ns()
        collector.snapshot_process(process.pid)
        wait_for(lambda: collector.stats()["switches"] > 1000)
        tids = set(thread_names(process.pid))
        stats = collector.stop()
        process.kill()
        os.kill(child, 9)
    found = {int(r["tid"]): r for r in Spool(tmp_path).lifecycle.of(SNAPSHOT)}
    assert set(found) == tids | {child}
    assert len(tids) == 5
    assert all(comm(found[tid]) == b"ping_pong" for tid in tids)
    sleeper = found[child]
    assert (comm(sleeper), chr(sleeper["state"]), int(sleeper["parent_pid"])) == (b"sleep", "S", process.pid)
    assert all(asked_ns <= r["ts_ns"] for r in found.values())
    # They began in an earlier clock tick of 10 ms; the threads have run since, by the kernel's account.
    assert all(int(r["start_ns"]) < asked_ns for r in found.values())
    assert sum(int(found[tid]["exec_ns"]) for tid in tids) > 10_000_000
    assert stats["switches"] > 1000
    assert set(Spool(tmp_path).switches()["tid"].tolist()) <= {0, *found}


@pytest.mark.parametrize(
    ("pid", "reason"), [(2**22 - 1, errno.ESRCH), (os.getpid(), errno.EINVAL)], ids=["gone", "self"]
)
def test_a_process_that_cannot_be_recorded_is_refused_by_name(tmp_path: Path, pid: int, reason: int) -> None:
    collector = _native.KernelCollector(str(tmp_path))
    with pytest.raises(_native.CollectorError) as caught:
        collector.add_process(pid)
    assert (caught.value.step, caught.value.errno) == ("process", reason)


def test_a_spool_that_exists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lifecycle.spool").write_bytes(b"somebody's")
    with pytest.raises(_native.CollectorError) as caught:
        _native.KernelCollector(str(tmp_path)).start()
    assert (caught.value.step, caught.value.errno) == ("spool", errno.EEXIST)
    assert (tmp_path / "lifecycle.spool").read_bytes() == b"somebody's"


def test_without_privileges_the_refusal_says_so_and_prints_nothing(tmp_path: Path) -> None:
    script = (
        "from headway import _native\n"
        "try:\n  _native.KernelCollector('/tmp')\n"
        "except _native.CollectorError as error:\n  print(error.step, error.errno)"
    )
    finished = subprocess.run(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == f"load {errno.EPERM}\n"
    assert finished.stderr == ""
