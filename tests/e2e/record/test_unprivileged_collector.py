"""The perf collector as a real ordinary user, against what the kernel and the program's own clocks say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.drivers.ordinary_user import OrdinaryUser, ordinary_user
from support.oracles.spool_reader import (
    EXEC,
    EXIT,
    FORK,
    NEXT_OURS,
    PREEMPT,
    PREV_OURS,
    RENAME,
    SCHEDSTAT,
    SNAPSHOT,
    UNREPORTED,
    Spool,
)

pytestmark = [
    pytest.mark.root,
    pytest.mark.other_users,
    pytest.mark.skipif(os.geteuid() != 0, reason="creates a user"),
]
DRIVER = Path(__file__).resolve().parents[2] / "support" / "drivers" / "perf_driver.py"

# Each thread sleeps often and computes, then says what the kernel counted for it until a moment that it names: switches
# asleep, switches preempted, CPU time. The counts are read before and after the moment, until both agree.
SLEEPERS = """
import json, resource, threading, time
def counts():
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw, usage.ru_nivcsw
def work():
    for _ in range(200): time.sleep(0.0003)
    until = time.thread_time_ns() + 30_000_000
    while time.thread_time_ns() < until: pass
    while True:
        first = counts(); cpu = time.thread_time_ns(); now = time.monotonic_ns()
        if counts() == first: break
    said.append(dict(tid=threading.get_native_id(), asleep=first[0], preempted=first[1], cpu=cpu, now=now))
    end.wait()
said = []; end = threading.Event()
threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads: t.start()
while len(said) < len(threads): time.sleep(0.01)
end.set()
for t in threads: t.join()
print(json.dumps(said))
"""

# Two threads that hand one byte to and fro: as many switches as the machine can make.
# The recorder, its parent, stands still meanwhile: nobody empties the rings, however quiet the machine is.
STORM = """
import os, signal, threading
os.kill(os.getppid(), signal.SIGSTOP)
a, b = os.pipe(), os.pipe()
def bounce(read, write, rounds):
    for _ in range(rounds): os.read(read, 1); os.write(write, b"x")
t = threading.Thread(target=bounce, args=(a[0], b[1], 20000)); t.start()
os.write(a[1], b"x"); bounce(b[0], a[1], 19999); t.join()
os.kill(os.getppid(), signal.SIGCONT)
"""


@dataclass(frozen=True)
class Recorded:
    """What the driver said, its spool, and the spool of the eBPF collector that ran beside it, if one did."""

    stats: dict[str, Any]
    output: str
    spool: Spool
    beside: Spool | None


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as created_user:
        yield created_user


def record(
    user: OrdinaryUser, command: list[str], ring_bytes: int = 0, drain_ms: int = 40, beside: Path | None = None
) -> Recorded:
    """Record `command` as `user`; with `beside`, the eBPF collector records the same program into that directory."""
    place = user.home / f"spool-{time.monotonic_ns()}"
    subprocess.run(user.argv(["mkdir", str(place)]), check=True)
    driver = [user.python, str(DRIVER), str(place), str(ring_bytes), str(drain_ms), *command]
    kernel = None
    with subprocess.Popen(
        user.argv(driver), env=user.env, cwd=user.home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ready = process.stdout.readline().split()
        assert ready[:1] == ["ready"], "the driver must have started"
        if beside is not None:
            from headway import _native

            kernel = _native.KernelCollector(str(beside))
            kernel.add_process(int(ready[1]))
            kernel.start()
        said, _ = process.communicate("go\n", timeout=240)
    assert process.returncode == 0
    if kernel is not None:
        assert kernel.stop()["lost"] == 0
    answer = json.loads(said)
    return Recorded(answer["stats"], answer["output"], Spool(place), Spool(beside) if beside else None)


@pytest.fixture(scope="module")
def sleepers(user: OrdinaryUser, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(user, [user.python, "-c", SLEEPERS], beside=tmp_path_factory.mktemp("kernel"))


def outs_of(spool: Spool, tid: int, until_ns: int) -> np.ndarray:
    switches = spool.switches()
    mine = (switches["tid"] == tid) & (switches["flags"] & PREV_OURS > 0) & (switches["ts_ns"] <= until_ns)
    outs: np.ndarray = switches[mine]
    return outs


def intervals_of(spool: Spool, tid: int) -> list[tuple[int, int]]:
    """When the thread was switched in and out again, where the kernel told of both."""
    found = []
    came = None
    for switch in spool.switches():
        if switch["flags"] & PREV_OURS and switch["tid"] == tid:
            if came is not None:
                found.append((came, int(switch["ts_ns"])))
            came = None
        if switch["flags"] & NEXT_OURS and switch["next_tid"] == tid:
            came = None if switch["flags"] & UNREPORTED else int(switch["ts_ns"])  # whose time is worked out, not read
    return found


def exit_ns(spool: Spool, tid: int) -> int:
    exits = spool.lifecycle.of(EXIT)
    return int(exits[exits["tid"] == tid]["ts_ns"][0])


def test_the_switches_of_each_thread_are_those_that_the_kernel_counted_for_it(sleepers: Recorded) -> None:
    said = json.loads(sleepers.output)
    assert len(said) == 6
    for thread in said:
        outs = outs_of(sleepers.spool, thread["tid"], thread["now"])
        preempted = int(np.count_nonzero(outs["flags"] & PREEMPT))
        assert thread["asleep"] >= 200
        assert (len(outs) - preempted, preempted) == (thread["asleep"], thread["preempted"])


def test_it_sees_the_same_switch_outs_as_ebpf_beside_it(sleepers: Recorded) -> None:
    """Until a thread's exit record: the kernel takes its perf events off it then, and it may still wait for a lock.

    Outs, since eBPF misses a few switch-ins: while some system threads run, tracepoints stay silent on virtual machines.
    """
    assert sleepers.beside is not None
    for thread in json.loads(sleepers.output):
        tid = thread["tid"]
        end_ns = exit_ns(sleepers.spool, tid)
        by_perf, by_ebpf = (outs_of(spool, tid, end_ns - 1) for spool in (sleepers.spool, sleepers.beside))
        assert len(by_perf) == len(by_ebpf)
        assert all(by_perf["ts_ns"] > by_ebpf["ts_ns"]), "the kernel tells perf after the tracepoint"
        assert all((by_perf["flags"] & PREEMPT) == (by_ebpf["flags"] & PREEMPT) | (by_ebpf["prev_state"] == 0))


def test_it_sees_the_same_threads_as_ebpf_beside_it(sleepers: Recorded) -> None:
    assert sleepers.beside is not None
    assert sleepers.spool.tids() == sleepers.beside.tids()
    exits = [set(spool.lifecycle.of(EXIT)["tid"].tolist()) for spool in (sleepers.spool, sleepers.beside)]
    assert exits[0] == exits[1]


def test_an_interval_starts_and_ends_microseconds_after_what_ebpf_says(sleepers: Recorded) -> None:
    """The switch-in is told when the switch is done, the switch-out when it begins: an interval lacks the switch itself."""
    assert sleepers.beside is not None
    shifts: list[tuple[int, int]] = []
    for thread in json.loads(sleepers.output):
        by_ebpf = {out: came for came, out in intervals_of(sleepers.beside, thread["tid"])}
        ends = np.array(sorted(by_ebpf))
        for came, out in intervals_of(sleepers.spool, thread["tid"]):
            at = int(np.searchsorted(ends, out)) - 1  # perf's end comes just after eBPF's
            if at >= 0 and came < ends[at]:
                shifts.append((came - by_ebpf[int(ends[at])], out - int(ends[at])))
    assert len(shifts) > 1000
    at_start, at_end = np.array(shifts).T
    assert at_start.min() > 0
    assert at_end.min() > 0
    assert np.median(at_start) < 20_000
    assert np.median(at_end) < 5_000


def test_the_last_totals_of_a_thread_are_its_cpu_clock(sleepers: Recorded) -> None:
    """The kernel's totals are taken from schedstat at intervals: never more than the clock says at the end."""
    totals = sleepers.spool.lifecycle.of(SCHEDSTAT)
    assert len(totals) > 0
    for thread in json.loads(sleepers.output):
        mine = totals[(totals["tid"] == thread["tid"]) & (totals["ts_ns"] <= thread["now"])]
        assert all(mine["exec_ns"] <= thread["cpu"])
        assert all(np.diff(mine["exec_ns"].astype(np.int64)) >= 0)


def test_a_full_ring_loses_records_and_says_how_many_where_and_when(user: OrdinaryUser, tmp_path: Path) -> None:
    recorded = record(user, [user.python, "-c", STORM], ring_bytes=4096, drain_ms=500, beside=tmp_path)
    losses = recorded.spool.losses()
    lost = int(losses["events"].sum())
    assert lost > 0
    assert recorded.stats["lost"] == lost
    assert np.all(losses["first_ns"] <= losses["last_ns"])
    assert {int(cpu) for cpu in losses["cpu"]} <= {file.cpu for file in recorded.spool.sched}
    # eBPF's switch-outs beside it, each with its switch-in, are what was taken plus what was lost; births, exits and names
    # went the same way. Somewhere in a thread's exit, between eBPF's last look and its last switch-out, perf's view ends.
    assert recorded.beside is not None
    seen = recorded.beside.switches()
    outs = seen[seen["flags"] & PREV_OURS > 0]
    exits = {int(exit["tid"]): int(exit["ts_ns"]) for exit in recorded.beside.lifecycle.of(EXIT)}
    alive = sum(int(out["ts_ns"]) <= exits[int(out["tid"])] for out in outs)
    lifecycle = sum(len(recorded.beside.lifecycle.of(kind)) for kind in (FORK, EXIT, EXEC, RENAME))
    assert 2 * alive <= recorded.stats["switches"] + lost <= 2 * len(outs) + lifecycle


def test_threads_whose_birth_was_lost_are_found_again_and_so_is_their_end(user: OrdinaryUser) -> None:
    program = """
import json, os, signal, threading, time
os.kill(os.getppid(), signal.SIGSTOP)
def bounce(read, write):
    while not over: os.read(read, 1); os.write(write, b"x")
over = False
a, b = os.pipe(), os.pipe()
storm = [threading.Thread(target=bounce, args=ends) for ends in ((a[0], b[1]), (b[0], a[1]))]
for t in storm: t.start()
os.write(a[1], b"x"); time.sleep(0.3)
born = [threading.Thread(target=time.sleep, args=(3,)) for _ in range(20)]
for t in born: t.start()
os.kill(os.getppid(), signal.SIGCONT)
print(json.dumps([t.native_id for t in born]))
for t in born: t.join()
over = True
os.write(a[1], b"x"); os.write(b[1], b"x")
for t in storm: t.join()
"""
    recorded = record(user, [user.python, "-c", program], ring_bytes=4096, drain_ms=300)
    assert recorded.stats["lost"] > 0
    known = set(recorded.spool.lifecycle.of(FORK)["tid"].tolist()) | set(
        recorded.spool.lifecycle.of(SNAPSHOT)["tid"].tolist()
    )
    assert set(json.loads(recorded.output)) <= known
    exits = set(recorded.spool.lifecycle.of(EXIT)["tid"].tolist())
    assert set(json.loads(recorded.output)) <= exits


def test_too_few_file_descriptors_for_the_threads_of_a_process_are_said(user: OrdinaryUser) -> None:
    place = user.home / "files"
    subprocess.run(user.argv(["mkdir", str(place)]), check=True)
    waiting = "import threading\nfor _ in range(60): threading.Thread(target=input).start()\nprint('ready', flush=True)"
    with subprocess.Popen(
        user.argv([user.python, "-c", waiting]),
        env=user.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        pid = children[0] if children else str(process.pid)
        result = user.run(["prlimit", "--nofile=64:64", user.python, "-c", ATTACH, pid, str(place)])
        process.communicate("\n" * 60)
    assert result.returncode == 1
    assert "CollectorError: files: Too many open files" in result.stderr


def test_threads_that_come_and_go_by_the_thousand_are_all_born_and_gone(user: OrdinaryUser) -> None:
    program = """
import threading
for _ in range(3000):
    t = threading.Thread(target=int); t.start(); t.join()
"""
    recorded = record(user, [user.python, "-c", program])
    assert recorded.stats["lost"] == 0
    assert len(recorded.spool.lifecycle.of(FORK)) == 3000
    assert len(recorded.spool.lifecycle.of(EXIT)) == 3001


def test_an_exec_by_another_thread_than_the_first_names_the_thread_that_goes_on(user: OrdinaryUser) -> None:
    program = """
import os, threading, time
def go():
    os.write(1, str(threading.get_native_id()).encode()); os.execv("/bin/true", ["true"])
threading.Thread(target=go).start(); time.sleep(60)
"""
    recorded = record(user, [user.python, "-c", program])
    last = recorded.spool.lifecycle.of(EXEC)[-1]
    assert int(last["old_tid"]) == int(recorded.output)
    assert int(last["tid"]) == int(last["pid"]) != int(last["old_tid"])


ATTACHED = """
import os, sys, threading, time
names = []
def work():
    while not over: time.sleep(0.001)
over = False
threads = [threading.Thread(target=work) for _ in range(5)]
for t in threads: t.start()
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    t = threading.Thread(target=time.sleep, args=(0.002,)); t.start(); t.join()
over = True
for t in threads: t.join()
"""

ATTACH = """
import json, sys, time
from headway import _native
collector = _native.PerfCollector(sys.argv[2])
collector.start(); collector.add_process(int(sys.argv[1]))
time.sleep(0.5)
print(json.dumps(collector.stop()))
"""


def test_attached_to_a_busy_program_it_finds_every_thread_once_and_no_switch_twice(user: OrdinaryUser) -> None:
    """Threads are born while their elders get their events, so some have two: what both report is written once."""
    place = user.home / "attached"
    subprocess.run(user.argv(["mkdir", str(place)]), check=True)
    with subprocess.Popen(
        user.argv([user.python, "-c", ATTACHED, str(place / "enough")]), env=user.env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        pid = children[0] if children else str(process.pid)  # a wrapper may stay as the parent
        try:
            result = user.run([user.python, "-c", ATTACH, pid, str(place)])
        finally:
            (place / "enough").touch()
    assert result.returncode == 0, result.stderr
    spool = Spool(place)
    born = [*spool.lifecycle.of(FORK)["tid"].tolist(), *spool.lifecycle.of(SNAPSHOT)["tid"].tolist()]
    assert len(born) == len(set(born))
    assert len(spool.lifecycle.of(SNAPSHOT)) >= 6
    state: dict[int, bool] = {}
    for switch in spool.switches():
        for side, tid, running in ((PREV_OURS, switch["tid"], False), (NEXT_OURS, switch["next_tid"], True)):
            if switch["flags"] & side:
                assert state.get(int(tid)) is not running, "twice in or twice out"
                state[int(tid)] = running


def test_a_program_of_another_user_is_refused(user: OrdinaryUser) -> None:
    place = user.home / "refused"
    subprocess.run(user.argv(["mkdir", str(place)]), check=True)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        result = user.run([user.python, "-c", ATTACH, str(process.pid), str(place)])
        process.communicate(b"\n")
    assert result.returncode == 1
    assert "CollectorError: open: " in result.stderr


def test_the_rings_shrink_to_the_memory_that_the_user_may_lock(user: OrdinaryUser) -> None:
    code = "import sys, json; from headway import _native; print(json.dumps(_native.probe_perf()))"
    generous = json.loads(user.run([user.python, "-c", code]).stdout)
    meagre = json.loads(user.run(["prlimit", "--memlock=0:0", user.python, "-c", code]).stdout)
    assert generous["errno"] == meagre["errno"] == 0
    assert 0 < meagre["ring_bytes"] < generous["ring_bytes"]
