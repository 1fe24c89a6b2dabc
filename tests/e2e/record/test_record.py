"""`headway record -- CMD`: what a recording holds, against what the program itself and the machine's own tools say."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.drivers.live_process import sleeps, thread_cpu_ns
from support.drivers.recording_cli import HEADWAY, JAVA_17, Terminal, headway, javas, manifest, notice_ids, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")


def own_events(output: str, event: str) -> list[dict[str, Any]]:
    """Return the workload's own reports of one kind."""
    rows = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [row for row in rows if row["event"] == event]


def threads(recording: Path) -> list[dict[str, Any]]:
    """Return `headway threads --json`."""
    result = headway("threads", recording, "--json")
    assert result.returncode == 0, result.stderr
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def running_levels(recording: Path, start_ns: int, end_ns: int) -> dict[int, int]:
    """Return how long each number of threads was active between two moments, from `headway parallelism --from --to`."""
    begin = manifest(recording)["window"]["start_ns"]
    words = ["--from", f"{start_ns - begin}ns", "--to", f"{end_ns - begin}ns", "--kind", "app"]
    result = headway("parallelism", recording, "--json", *words)
    assert result.returncode == 0, result.stderr
    return {level["active"]: level["ns"] for level in json.loads(result.stdout)["levels"]}


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_a_java_program_is_recorded_with_its_threads_and_nothing_is_printed(
    tmp_path: Path, workloads: Path, java: str
) -> None:
    output = tmp_path / "r.headway"
    result = headway("record", "-o", output, "--", java, "-cp", workloads, "headway.workloads.Phases", "100", "2")
    assert result.returncode == 0, result.stderr
    (phase,) = own_events(result.stdout, "phase")
    assert len(result.stdout.splitlines()) == 1
    assert "Picked up" not in result.stderr
    recorded = manifest(output)
    assert (recorded["state"], recorded["mode"], recorded["ended_by"]) == ("complete", "ebpf", "exit")
    assert recorded["losses"]["events"] == 0
    assert recorded["jvms"][0]["available_processors"] == len(os.sched_getaffinity(0))
    window = recorded["window"]
    assert window["start_ns"] < phase["begin_ns"] < phase["end_ns"] < window["end_ns"]
    workers = [thread for thread in threads(output) if thread["name"].startswith("phase-0-worker-")]
    assert len(workers) == 2
    cpu_ns = sum(thread["running_ns"] for thread in workers)
    assert cpu_ns >= phase["worker_cpu_ns"]  # on a CPU includes what the host stole
    assert not (output / "spool").exists()


def test_the_window_is_the_programs_life_and_no_longer(tmp_path: Path) -> None:
    program = "import time\na=time.monotonic_ns()\ntime.sleep(0.3)\nprint(a, time.monotonic_ns())\n"
    before_ns = time.monotonic_ns()
    result = headway("record", "-o", tmp_path / "r.headway", "--", sys.executable, "-c", program)
    after_ns = time.monotonic_ns()
    first_ns, last_ns = map(int, result.stdout.split())
    window = manifest(tmp_path / "r.headway")["window"]
    assert before_ns < window["start_ns"] < first_ns
    assert last_ns < window["end_ns"] < after_ns


def test_the_hosts_facts_are_those_of_lscpu_and_the_kernel(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    assert headway("record", "-o", output, "--", "true").returncode == 0
    host = manifest(output)["host"]
    rows = json.loads(subprocess.check_output(["lscpu", "-J", "-e=CPU,CORE,SOCKET,NODE"]))["cpus"]
    seen = [(cpu["cpu"], cpu["core"], cpu["package"], cpu["node"]) for cpu in host["topology"]]
    assert seen == [(int(row["cpu"]), int(row["core"]), int(row["socket"]), int(row["node"])) for row in rows]
    facts = {row["field"]: row["data"] for row in json.loads(subprocess.check_output(["lscpu", "-J"]))["lscpu"]}
    assert bool(host["hypervisor"]) == ("Hypervisor vendor:" in facts)
    if host["hypervisor"]:
        assert host["hypervisor"].startswith(facts["Hypervisor vendor:"])
    assert host["kernel"] == os.uname().release
    assert all(cpu["smt_siblings"] == [] for cpu in host["topology"]) == (facts["Thread(s) per core:"] == "1")
    free_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert host["memory_bytes"] == free_kib * 1024


def test_steal_and_cpu_time_are_what_the_kernel_counted(tmp_path: Path) -> None:
    program = (
        "import time\nend=time.process_time_ns()+500_000_000\nwhile time.process_time_ns()<end: pass\n"
        "print(time.process_time_ns())\n"
    )
    before = _stat()
    result = headway("record", "-o", tmp_path / "r.headway", "--", sys.executable, "-c", program)
    after = _stat()
    recorded = manifest(tmp_path / "r.headway")
    own_ns = int(result.stdout)
    used_ns = recorded["rusage"]["user_ns"] + recorded["rusage"]["system_ns"]
    assert own_ns <= used_ns <= own_ns * 1.1 + 50_000_000
    for cpu, steal_ns in recorded["steal_ns"].items():
        assert 0 <= steal_ns <= (after[f"cpu{cpu}"][7] - before[f"cpu{cpu}"][7]) * 10_000_000


def _stat() -> dict[str, list[int]]:
    rows = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")]
    return {row[0]: [int(field) for field in row[1:]] for row in rows}


def test_cpus_and_jvm_processors_are_what_the_jvm_sees(tmp_path: Path, workloads: Path) -> None:
    output = tmp_path / "r.headway"
    command = [JAVA_17, "-cp", workloads, "headway.workloads.SelfCheck", "1"]
    one = headway("record", "-o", output, "--cpus", "1", "--", *command)
    assert own_events(one.stdout, "self_check")[0]["available_processors"] == 1
    recorded = manifest(output)
    assert (recorded["affinity"], recorded["recorded_cores"]) == ([1], 1)
    assert recorded["jvms"][0]["available_processors"] == 1
    three = headway("record", "--force", "-o", output, "--jvm-processors", "3", "--", *command)
    assert own_events(three.stdout, "self_check")[0]["available_processors"] == 3
    assert manifest(output)["jvms"][0]["available_processors"] == 3
    without = headway("record", "--force", "-o", output, "--no-agent", "--jvm-processors", "3", "--", *command)
    assert own_events(without.stdout, "self_check")[0]["available_processors"] == 3
    assert "HW057" in notice_ids(output)


def test_a_cpu_quota_of_the_cgroup_is_found(tmp_path: Path) -> None:
    group = Path(f"/sys/fs/cgroup/cpu/headway-test-{os.getpid()}")
    if not Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us").exists():
        group = Path(f"/sys/fs/cgroup/headway-test-{os.getpid()}")
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text("20000 100000")
        else:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("20000")
        # Until it was throttled: beside other tests it may get less than its quota for some time.
        burn = (
            "import pathlib, sys, time\nstat = pathlib.Path(sys.argv[1], 'cpu.stat')\n"
            "def count(): return next(line for line in stat.read_text().splitlines() if line.startswith('nr_throttled'))\n"
            "before, end = count(), time.monotonic() + 60\n"
            "while count() == before and time.monotonic() < end: pass\n"
        )
        script = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        words = [*HEADWAY, "record", "-o", str(tmp_path / "r.headway"), "--", sys.executable, "-c", burn, str(group)]
        result = subprocess.run(["sh", "-c", script, "sh", *words], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        recorded = manifest(tmp_path / "r.headway")
        assert recorded["quota_cores"] == 0.2
        assert recorded["throttled_ns"] > 0
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_the_rings_take_a_small_part_of_a_memory_limit_that_the_program_shares(tmp_path: Path) -> None:
    group, limit = Path(f"/sys/fs/cgroup/memory/headway-test-{os.getpid()}"), "memory.limit_in_bytes"
    if not Path("/sys/fs/cgroup/memory").exists():
        group, limit = Path(f"/sys/fs/cgroup/headway-test-{os.getpid()}"), "memory.max"
    group.mkdir()
    try:
        (group / limit).write_text(str(256 << 20))
        script = f'echo $$ > {group}/cgroup.procs && exec "$@"'
        words = [*HEADWAY, "record", "-o", str(tmp_path / "r.headway"), "--", "true"]
        result = subprocess.run(["sh", "-c", script, "sh", *words], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        rings = manifest(tmp_path / "r.headway")["collector"]["ring_bytes"] * (os.cpu_count() or 1)
        assert (256 << 20) / 32 < rings <= (256 << 20) / 16
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_a_wrapper_script_and_its_child_jvm_are_one_recording(tmp_path: Path, workloads: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_text(f"{JAVA_17} -cp {workloads} headway.workloads.ChildJvm 50 1\nsleep 0.1\n")  # without a #! line
    script.chmod(0o755)
    output = tmp_path / "r.headway"
    result = headway("record", "-o", output, "--", script)
    assert result.returncode == 0, result.stderr
    (child,) = own_events(result.stdout, "child")
    pids = {thread["pid"] for thread in threads(output)}
    assert {child["pid"], child["child_pid"]} <= pids
    assert len(pids) >= 4  # the shell and sleep as well
    assert {jvm["pid"] for jvm in manifest(output)["jvms"]} == {child["pid"], child["child_pid"]}
    assert "HW010" in notice_ids(output)


def test_a_child_jvm_whose_environment_was_cleared_is_told_to_have_no_agent(tmp_path: Path, workloads: Path) -> None:
    java = f"{JAVA_17} -cp {workloads} headway.workloads.SelfCheck 1"
    result = headway("record", "-o", tmp_path / "r.headway", "--", "sh", "-c", f"{java}; env -i {java}")
    assert result.returncode == 0, result.stderr
    first, second = own_events(result.stdout, "self_check")
    assert [jvm["pid"] for jvm in manifest(tmp_path / "r.headway")["jvms"]] == [first["pid"]]
    (notice,) = [each for each in manifest(tmp_path / "r.headway")["notices"] if each["id"] == "HW062"]
    assert f"(process {second['pid']})" in notice["message"]


@pytest.fixture
def other_root(tmp_path: Path) -> Iterator[Path]:
    """The root of a file system with the JDK, but without headway."""
    root = tmp_path / "root"
    for name in ("usr", "proc", "dev", "etc", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("lib", "lib64", "bin", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    for name in ("usr", "proc", "dev", "etc"):
        subprocess.run(["mount", "--bind", f"/{name}", root / name], check=True)
    try:
        yield root
    finally:
        for name in ("usr", "proc", "dev", "etc"):
            subprocess.run(["umount", "-l", root / name], check=True)


@pytest.mark.parametrize("how", ["direct", "shell words", "script"])
def test_a_jvm_in_another_root_starts_although_the_agent_is_not_there(
    tmp_path: Path, other_root: Path, how: str
) -> None:
    chroot = [shutil.which("chroot", path="/usr/sbin:/usr/bin"), str(other_root), JAVA_17, "-version"]
    script = tmp_path / "start"
    script.write_text(f"#!/bin/sh\n# to another place\n{' '.join(map(str, chroot))}\n")
    script.chmod(0o755)
    words = " ".join(map(str, chroot))
    commands: dict[str, list[object]] = {"direct": [*chroot], "shell words": ["sh", "-c", words], "script": [script]}
    result = headway("record", "-o", tmp_path / "r.headway", "--", *commands[how])
    assert result.returncode == 0, result.stderr
    assert result.stderr.startswith('openjdk version "17')
    assert "HW014: the command uses chroot: " in result.stderr
    assert "HW014" in notice_ids(tmp_path / "r.headway")
    assert "VM Thread" in {thread["name"] for thread in threads(tmp_path / "r.headway")}


def test_a_program_that_is_no_jvm_is_recorded_by_the_kernel_and_says_what_is_missing(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    result = headway("record", "-o", output, "--", "sh", "-c", "sleep 0.1; sleep 0.1")
    assert result.returncode == 0
    assert "HW053" in result.stderr
    assert notice_ids(output) >= {"HW053"}
    assert "HW010" not in notice_ids(output)
    assert sorted(thread["name"] for thread in threads(output)) == ["sh", "sleep", "sleep"]


@pytest.mark.parametrize("mode", ["ebpf", "perf-switch"])
def test_processes_that_live_on_after_the_command_are_told(tmp_path: Path, mode: str) -> None:
    output = tmp_path / "r.headway"
    script = "setsid sleep 600 >/dev/null 2>&1 & until grep -qx sleep /proc/$!/comm; do sleep 0.05; done; echo $!"
    result = headway("record", "-o", output, "--mode", mode, "--", "sh", "-c", script)
    pid = int(result.stdout)
    os.kill(pid, signal.SIGKILL)
    assert result.returncode == 0, result.stderr
    (notice,) = [notice for notice in manifest(output)["notices"] if notice["id"] == "HW061"]
    assert notice["message"].startswith("1 of the command's processes still ran when it ended (sleep)")
    assert f"--pid {pid}" in notice["remedy"]
    assert "HW061" in result.stderr
    assert headway("record", "--force", "-o", output, "--", "sh", "-c", "sleep 0.1 & wait").returncode == 0
    assert "HW061" not in notice_ids(output)


def test_duration_ends_the_recording_and_not_the_program(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    script = "echo begin; sleep 0.5; cat; exit 6"
    recorder = subprocess.Popen(
        [*HEADWAY, "record", "-o", str(output), "--duration", "200ms", "--", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: manifest(output)["state"] == "complete")  # while the program still waits for its input
    assert recorder.poll() is None
    window = manifest(output)["window"]
    assert window["end_ns"] - window["start_ns"] >= 200_000_000
    out, err = recorder.communicate("the end\n", timeout=60)
    assert (recorder.returncode, out) == (6, "begin\nthe end\n"), err
    recorded = manifest(output)
    assert (recorded["ended_by"], recorded["exit_code"], recorded["state"]) == ("duration", 6, "complete")


def test_repeat_makes_recordings_of_the_same_command_inside_the_first(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    result = headway(
        "record", "-o", output, "--repeat", "3", "--", "sh", "-c", f"echo x; exit $(ls {output}/repeats | wc -l)"
    )
    assert result.stdout == "x\nx\nx\n"
    assert result.returncode == 1  # the first failure
    parts = [output, output / "repeats" / "2.headway", output / "repeats" / "3.headway"]
    assert [manifest(part)["state"] for part in parts] == ["complete"] * 3
    assert [manifest(part)["exit_code"] for part in parts] == [0, 1, 2]
    assert headway("parallelism", parts[2], "--json").returncode == 0


def test_ctrl_c_between_repeats_keeps_what_is_complete(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    script = f"test -d {output}/repeats && exec sleep 600; echo first"
    terminal = Terminal([*HEADWAY, "record", "-o", output, "--repeat", "5", "--", "sh", "-c", script])
    try:
        wait_for(lambda: sleeps(manifest(output / "repeats" / "2.headway")["pid"]))
        terminal.press(b"\x03")
        assert terminal.wait() == 128 + signal.SIGINT
    finally:
        terminal.kill()
    assert sorted(os.listdir(output / "repeats")) == ["2.headway"]
    assert manifest(output)["state"] == manifest(output / "repeats" / "2.headway")["state"] == "complete"
    assert "HW055" in notice_ids(output)


def test_ten_thousand_short_lived_threads_are_all_there_and_none_is_lost(tmp_path: Path, workloads: Path) -> None:
    output = tmp_path / "r.headway"
    result = headway(
        "record", "-o", output, "--", JAVA_17, "-cp", workloads, "headway.workloads.ThreadPerTask", "10000", "8"
    )
    assert result.returncode == 0, result.stderr
    recorded = manifest(output)
    assert recorded["losses"]["events"] == 0
    tasks = [thread for thread in threads(output) if thread["name"].startswith("task-")]
    assert {thread["name"] for thread in tasks} == {f"task-{number}" for number in range(10_000)}
    assert len(tasks) == 10_000
    assert all(thread["end_ns"] is not None and thread["end_ns"] >= thread["start_ns"] for thread in tasks)


def test_thread_names_that_are_not_utf8_or_hold_markup_survive_every_reader(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    names = [b"<b>&\"'\\x", b"\xff\xfe[red]\x1b[31m", b"caf\xc3\xa9"]
    program = (
        "import ctypes,threading\nlibc=ctypes.CDLL(None)\n"
        f"def work(name): libc.prctl(15, name, 0, 0, 0); sum(range(100000))\n"
        f"ts=[threading.Thread(target=work,args=(n,)) for n in {names!r}]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]\n"
    )
    assert headway("record", "-o", output, "--", sys.executable, "-c", program).returncode == 0
    seen = {thread["name"] for thread in threads(output)}
    assert "<b>&\"'\\x" in seen
    assert "café" in seen
    assert any(name.startswith("\\xff\\xfe[red]") for name in seen)
    listing = headway("threads", output)
    assert listing.returncode == 0
    assert "\x1b" not in listing.stdout
    page = tmp_path / "r.html"
    assert headway("report", output, "-o", page).returncode == 0
    assert "<b>&" not in page.read_text()


def test_a_tid_that_is_used_again_gives_two_threads(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    program = (
        "import os,time\n"
        "def child():\n"
        "    pid=os.fork()\n"
        "    if pid==0: os._exit(0)\n"
        "    os.waitpid(pid,0); return pid\n"
        "first=child(); second=None\n"
        "for _ in range(200):\n"
        "    open('/proc/sys/kernel/ns_last_pid','w').write(str(first-1))\n"
        "    second=child()\n"
        "    if second==first: break\n"
        "print(first, second)\n"
    )
    result = headway("record", "-o", output, "--", sys.executable, "-c", program)
    first, second = result.stdout.split()
    assert first == second, "the kernel did not give the pid again; other processes were faster 200 times"
    lives = [thread for thread in threads(output) if thread["tid"] == int(first)]
    assert len(lives) == 2
    assert len({thread["start_ns"] for thread in lives}) == 2


def test_a_clock_set_back_while_recording_changes_no_figure(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    # CLOCK_REALTIME jumps back an hour and returns; the program tells by CLOCK_MONOTONIC how long it took.
    program = (
        "import time\na=time.monotonic_ns()\nnow=time.clock_gettime(time.CLOCK_REALTIME)\n"
        "time.clock_settime(time.CLOCK_REALTIME, now-3600)\ntime.sleep(0.2)\n"
        "time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME)+3600)\nprint(a, time.monotonic_ns())\n"
    )
    result = headway("record", "-o", output, "--", sys.executable, "-c", program)
    assert result.returncode == 0, result.stderr
    first_ns, last_ns = map(int, result.stdout.split())
    window = manifest(output)["window"]
    assert window["start_ns"] < first_ns < last_ns < window["end_ns"]
    assert all(invariant["ok"] for invariant in manifest(output)["invariants"])
    (thread,) = threads(output)
    assert thread["blocked_ns"] >= 200_000_000


def test_a_collector_that_refuses_for_a_reason_no_probe_saw_gives_way_to_the_next_mode(tmp_path: Path) -> None:
    # In a pid namespace of its own BPF programs load, but see other pids than we do.
    output = tmp_path / "r.headway"
    words = [*HEADWAY, "record", "-o", str(output), "--", "sh", "-c", "sleep 0.1; exit 3"]
    result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", *words], capture_output=True, text=True)
    assert result.returncode == 3, result.stderr
    recorded = manifest(output)
    assert (recorded["mode"], recorded["state"]) == ("perf-switch", "complete")
    (notice,) = [notice for notice in recorded["notices"] if notice["id"] == "HW100"]
    assert "pid-namespace" in notice["message"]
    assert "HW100" in result.stderr


def test_what_other_processes_took_of_each_cpu_is_told(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    neighbour = subprocess.Popen(
        ["taskset", "-c", "1", sys.executable, "-c", "while True: pass"], start_new_session=True
    )
    # A program of one second on CPU 1, which also reads what its neighbour there used of that second.
    burn = (
        "import time\n"
        f"def other(): return int(open('/proc/{neighbour.pid}/schedstat').read().split()[0])\n"
        "before=other(); end=time.monotonic()+1\n"
        "while time.monotonic()<end: pass\n"
        "print(other()-before, time.process_time_ns())\n"
    )
    try:
        wait_for(lambda: sum(thread_cpu_ns(neighbour.pid).values()) > 100_000_000)
        result = headway("record", "-o", output, "--cpus", "1", "--", sys.executable, "-c", burn)
    finally:
        neighbour.kill()
        neighbour.wait()
    used_by_neighbour_ns, own_ns = map(int, result.stdout.split())
    recorded = manifest(output)
    wall_ns = recorded["window"]["end_ns"] - recorded["window"]["start_ns"]
    others_ns = recorded["other_ns"]["1"]
    ticks_ns = 60_000_000  # the parts of one CPU's time that the kernel counts in ticks
    assert used_by_neighbour_ns > 2 * ticks_ns
    assert others_ns >= used_by_neighbour_ns - ticks_ns
    assert own_ns + others_ns + recorded["steal_ns"]["1"] <= wall_ns * 1.05 + ticks_ns
