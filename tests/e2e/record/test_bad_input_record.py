"""What `headway record` says and does when it can't do what it was asked: one message, nothing left behind or lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headway.record.target_process.processes import is_kernel_thread
from support.builders.edited_manifest import edit
from support.drivers.ordinary_user import ordinary_user
from support.drivers.recording_cli import headway, manifest, notice_ids, start_headway, wait_for, wait_for_file

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")


def refused(result: subprocess.CompletedProcess[str], message_id: str) -> str:
    """Check that headway refused with this message and gave a next step; return what it said."""
    assert result.returncode == {"HW001": 127, "HW002": 126, "HW003": 126}.get(message_id, 1), result.stderr
    assert result.stdout == ""
    first = next(line for line in result.stderr.splitlines() if line.startswith("HW"))
    assert first.startswith(f"{message_id}: "), result.stderr
    assert "\n  next: " in result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_command_that_does_not_exist_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    said = refused(headway("record", "-o", tmp_path / "r.headway", "--", "no-such-program-here"), "HW001")
    assert "no-such-program-here" in said
    said = refused(headway("record", "-o", tmp_path / "r.headway", "--", "./nowhere/prog", cwd=tmp_path), "HW001")
    assert "./nowhere/prog" in said
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_not_executable_is_told_apart_from_a_missing_one(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho hi\n")
    assert "chmod +x" in refused(headway("record", "-o", tmp_path / "r.headway", "--", script), "HW002")
    assert "directory" in refused(headway("record", "-o", tmp_path / "r.headway", "--", tmp_path), "HW002")
    assert os.listdir(tmp_path) == ["script"]


def test_a_missing_interpreter_and_a_foreign_binary_are_told_and_leave_nothing(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(200))
    for program in (script, foreign):
        program.chmod(0o755)
    said = refused(headway("record", "-o", tmp_path / "r.headway", "--", script), "HW003")
    assert "/no/such/interpreter" in said
    assert "program for this machine" in refused(
        headway("record", "-o", tmp_path / "r.headway", "--", foreign), "HW003"
    )
    assert sorted(os.listdir(tmp_path)) == ["foreign", "script"]


def test_a_start_that_fails_gives_back_the_recording_that_force_would_have_replaced(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    assert headway("record", "-o", output, "--", "true").returncode == 0
    before = {path.name: path.read_bytes() for path in output.iterdir() if path.is_file()}
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    refused(headway("record", "--force", "-o", output, "--", script), "HW003")
    assert {path.name: path.read_bytes() for path in output.iterdir() if path.is_file()} == before
    assert sorted(os.listdir(tmp_path)) == ["r.headway", "script"]


def test_an_existing_recording_is_replaced_only_by_force(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    assert headway("record", "-o", output, "--", "true").returncode == 0
    refused(headway("record", "-o", output, "--", "false"), "HW305")
    assert manifest(output)["command"] == ["true"]
    assert headway("record", "--force", "-o", output, "--", "false").returncode == 1  # false's own code
    assert manifest(output)["command"] == ["false"]
    assert os.listdir(tmp_path) == ["r.headway"]


def test_a_directory_or_file_that_is_no_recording_is_never_touched_even_by_force(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").write_text("precious")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "manifest.json").write_text('{"format": "something-else"}')
    (tmp_path / "file").write_text("precious")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("photos", "other", "file", "dangling"):
        refused(headway("record", "--force", "-o", tmp_path / name, "--", "true"), "HW050")
    assert (tmp_path / "photos" / "me.jpg").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"
    assert os.readlink(tmp_path / "dangling") == "nowhere"


def test_a_place_that_cannot_be_written_is_told_before_the_program_starts(tmp_path: Path) -> None:
    marker = tmp_path / "started"
    said = refused(headway("record", "-o", "/proc/r.headway", "--", "touch", marker), "HW006")
    assert "/proc/r.headway" in said
    refused(headway("record", "-o", tmp_path / "no" / "such" / "r.headway", "--", "touch", marker), "HW006")
    (tmp_path / "ro").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=1m", "none", tmp_path / "ro"], check=True)
    try:
        said = refused(headway("record", "-o", tmp_path / "ro" / "r.headway", "--", "touch", marker), "HW006")
        assert "Read-only" in said
    finally:
        subprocess.run(["umount", tmp_path / "ro"], check=True)
    assert not marker.exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x", "not a CPU number"),
        ("", "names no CPU"),
        ("3-1", "empty range"),
        ("0-", "not a CPU number"),
        ("-1", "not a CPU number"),
        ("0,9999", "CPU 9999 does not exist"),
        ("99999999999", "no machine"),
    ],
)
def test_nonsense_in_cpus_is_explained_with_the_cpus_there_are(tmp_path: Path, text: str, reason: str) -> None:
    result = headway("record", "-o", tmp_path / "r.headway", f"--cpus={text}", "--", "true")
    said = refused(result, "HW007")
    assert reason in said
    assert Path("/sys/devices/system/cpu/online").read_text().strip() in said
    assert os.listdir(tmp_path) == []


def test_an_offline_cpu_is_named_as_offline(tmp_path: Path) -> None:
    switch = Path("/sys/devices/system/cpu/cpu1/online")
    if not switch.exists():
        # Machines without CPU hotplug: show the kernel's file system as it would be, in a private mount namespace.
        online = tmp_path / "online"
        online.write_text("0\n")
        script = f'mount --bind {online} /sys/devices/system/cpu/online && exec "$@"'
        prefix = ["unshare", "-m", "sh", "-c", script, "sh"]
        command = [
            *prefix,
            sys.executable,
            "-m",
            "headway",
            "record",
            "-o",
            str(tmp_path / "r"),
            "--cpus",
            "0,1",
            "true",
        ]
        said = refused(subprocess.run(command, capture_output=True, text=True), "HW007")
    else:
        switch.write_text("0")
        try:
            said = refused(headway("record", "-o", tmp_path / "r", "--cpus", "0,1", "--", "true"), "HW007")
        finally:
            switch.write_text("1")
    assert "CPU 1 is offline" in said


FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.mark.parametrize("command", ["record", "counters", "locks", "dump", "place"])
def test_a_process_that_runs_no_program_is_not_said_to_have_ended(tmp_path: Path, command: str) -> None:
    """Threads of the kernel, and programs whose first thread has ended before others."""
    words = [command, *(["-o", tmp_path / "r.headway"] if command == "record" else [])]
    kernel = next((pid for pid in ("2", "3", "4") if is_kernel_thread(int(pid))), None)
    if kernel is not None:  # a container sees none
        said = refused(headway(*words, "--pid", kernel), "HW004")
        assert "thread of the kernel" in said
    with subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS]) as process:
        wait_for(lambda: Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "Z")
        said = refused(headway(*words, "--pid", str(process.pid)), "HW004")
        assert "its first thread has ended" in said
        process.kill()
    assert os.listdir(tmp_path) == []


def test_a_pid_that_is_gone_a_thread_or_a_zombie_is_told_apart(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    output = tmp_path / "r.headway"
    assert "no such process" in refused(headway("record", "-o", output, "--pid", str(ended.pid)), "HW004")
    for nonsense in ("0", "-5", "4194305"):
        refused(headway("record", "-o", output, f"--pid={nonsense}"), "HW004")
    zombie = subprocess.Popen(["true"])
    wait_for(lambda: Path(f"/proc/{zombie.pid}/stat").read_text().split()[2] == "Z")
    assert "zombie" in refused(headway("record", "-o", output, "--pid", str(zombie.pid)), "HW004")
    zombie.wait()
    program = "import threading,time; threading.Thread(target=time.sleep, args=(60,)).start(); time.sleep(60)"
    threads = subprocess.Popen([sys.executable, "-c", program])
    try:
        tids = wait_for(lambda: [t for t in os.listdir(f"/proc/{threads.pid}/task") if t != str(threads.pid)])
        said = refused(headway("record", "-o", output, "--pid", tids[0]), "HW004")
        assert f"thread of process {threads.pid}" in said
    finally:
        threads.kill()
        threads.wait()
    assert os.listdir(tmp_path) == []


def test_a_pid_and_a_command_together_or_neither_is_wrong_usage(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    for words in (["--pid", "1", "--", "true"], [], ["--duration", "0", "--", "true"], ["--repeat", "0", "--", "true"]):
        result = headway("record", "-o", output, *words)
        assert result.returncode == 2, result.stderr
        assert "Usage:" in result.stderr
    assert os.listdir(tmp_path) == []


def test_another_users_process_is_refused_with_both_names() -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        with ordinary_user() as user:
            said = refused(user.headway("record", "-o", "r.headway", "--pid", str(sleeper.pid)), "HW005")
            assert "root" in said
            assert user.name in said
            assert not (user.home / "r.headway").exists()
            for command in ("locks", "dump"):
                said = refused(user.headway(command, "--pid", str(sleeper.pid)), "HW005")
                assert f"headway {command} --pid {sleeper.pid}" in said
    finally:
        sleeper.kill()
        sleeper.wait()


def test_a_process_is_recorded_by_one_headway_at_a_time_and_a_dead_one_holds_no_lock(tmp_path: Path) -> None:
    program = subprocess.Popen(["sh", "-c", "sleep 600 & wait"])
    child = wait_for(lambda: Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split())
    first = start_headway("record", "-o", tmp_path / "first.headway", "--no-agent", "--pid", str(program.pid))
    try:
        wait_for_file(tmp_path / "first.headway" / "spool" / "counters.jsonl")
        for pid in (str(program.pid), child[0]):  # itself, and as a part of the tree
            said = refused(headway("record", "-o", tmp_path / "second.headway", "--pid", pid), "HW008")
            assert f"process {first.pid}" in said
        assert not (tmp_path / "second.headway").exists()
        first.kill()
        first.communicate()
        third = headway(
            "record", "-o", tmp_path / "3.headway", "--no-agent", "--pid", program.pid, "--duration", "100ms"
        )
        assert third.returncode == 0, third.stderr
    finally:
        first.kill()
        subprocess.run(["pkill", "-P", str(program.pid)], check=False)
        program.kill()
        program.wait()


def test_a_program_started_by_one_headway_is_not_attached_to_by_another(tmp_path: Path) -> None:
    first = start_headway(
        "record", "-o", tmp_path / "first.headway", "--", "sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 600"
    )
    pid = wait_for_file(tmp_path / "pid").strip()
    try:
        refused(headway("record", "-o", tmp_path / "second.headway", "--pid", pid), "HW008")
    finally:
        first.terminate()
        first.communicate()
    assert manifest(tmp_path / "first.headway")["ended_by"] == "interrupt"


def test_a_recording_at_work_is_not_replaced_by_force(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    # A recorder that is ended before its program has begun leaves nothing.
    first = start_headway("record", "-o", output, "--", "sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 600")
    try:
        wait_for_file(tmp_path / "pid")
        said = refused(headway("record", "--force", "-o", output, "--", "true"), "HW307")
        assert str(first.pid) in said
    finally:
        first.terminate()
        first.communicate()
    assert manifest(output)["state"] == "complete"


def test_a_pid_that_was_used_again_does_not_pass_for_the_recorder(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    script = f"echo $$ > {tmp_path}/pid; exec sleep 600"
    first = start_headway("record", "-o", output, "--", "sh", "-c", script)
    program = int(wait_for_file(tmp_path / "pid"))
    first.kill()
    os.kill(program, signal.SIGKILL)  # it outlives its recorder, and would keep its streams open
    first.communicate()
    draft = manifest(output)
    assert draft["state"] == "recording"
    # What PID reuse looks like: the pid lives, but began at another time. This process is such another one.
    edit(output, recorder_pid=os.getpid())
    result = headway("recover", output)
    assert result.returncode == 0, result.stderr
    assert manifest(output)["state"] in ("complete", "partial")


def test_a_disk_that_fills_up_ends_the_recording_cleanly_and_the_program_runs_on(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], check=True)
    try:
        # Two processes that hand a byte to and fro: hundreds of thousands of switches.
        program = (
            "import os,sys,time\n"
            "a,b=os.pipe(),os.pipe()\n"
            "end=time.monotonic()+120\n"
            "if os.fork()==0:\n"
            "    while os.read(a[0],1)==b'x': os.write(b[1],b'x')\n"
            "    os._exit(0)\n"
            "n=0\n"
            f"while time.monotonic()<end and not os.path.exists({str(tmp_path / 'enough')!r}):\n"
            "    for _ in range(1000): os.write(a[1],b'x'); os.read(b[0],1); n+=1\n"
            "os.write(a[1],b'q'); print(n); sys.exit(6)\n"
        )
        recorder = start_headway("record", "-o", place / "r.headway", "--", sys.executable, "-c", program)
        wait_for(lambda: manifest(place / "r.headway")["state"] != "recording")
        (tmp_path / "enough").touch()  # the program itself was not stopped
        out, err = recorder.communicate(timeout=200)
        assert recorder.returncode == 6, err
        assert int(out) > 0
        assert "HW051" in err
        recorded = manifest(place / "r.headway")
        assert recorded["ended_by"] == "disk-full"
        assert recorded["exit_code"] == 6
        assert "HW051" in notice_ids(place / "r.headway")
        assert recorded["switches"] > 10_000
        assert headway("parallelism", place / "r.headway", "--json").returncode == 0
    finally:
        subprocess.run(["umount", "-l", place], check=True)
        shutil.rmtree(place, ignore_errors=True)


@pytest.mark.parametrize("mode", ["ebpf", "perf-switch"])
def test_a_disk_that_was_full_for_an_instant_ends_the_recording_there_and_makes_up_nothing(
    tmp_path: Path, mode: str
) -> None:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", place], check=True)
    try:
        program = (
            f"import os,time\nfill=open({str(place / 'fill')!r},'wb',0)\n"
            "try:\n    while True: fill.write(bytes(65536))\nexcept OSError: pass\n"
            "for _ in range(1500): time.sleep(0.0001)\n"
            "print(time.monotonic_ns())\n"
            # The instant is over when headway has noticed: its collector's threads are gone.
            "while len(os.listdir(f'/proc/{os.getppid()}/task')) > 1: time.sleep(0.01)\n"
            "fill.truncate(0); raise SystemExit(3)\n"
        )
        output = place / "r.headway"
        result = headway("record", "--mode", mode, "-o", output, "--", sys.executable, "-c", program)
        assert result.returncode == 3, result.stderr
        assert manifest(output)["ended_by"] == "disk-full"
        assert "HW051" in notice_ids(output)
        assert manifest(output)["window"]["end_ns"] < int(result.stdout)
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_recording_that_is_deleted_meanwhile_leaves_the_program_alone(tmp_path: Path) -> None:
    # headway may be writing into it just then: then there is something left to delete.
    script = "until rm -rf r.headway; do :; done; sleep 1.2; echo done > done; exit 9"
    result = headway("record", "-o", "r.headway", "--", "sh", "-c", script, cwd=tmp_path)
    assert result.returncode == 9
    assert "HW301: " in result.stderr
    assert "Traceback" not in result.stderr
    assert (tmp_path / "done").exists()  # headway has waited for it: its terminal was not given away


@pytest.mark.parametrize("command", ["record", "run"])
def test_where_finalising_fails_the_exit_code_is_still_the_programs_and_the_records_stay(
    tmp_path: Path, command: str
) -> None:
    output = tmp_path / "r.headway"
    script = f"mkdir {output}/slice.parquet {output}/slice.parquet/x; exit 9"  # in a table's place
    result = headway(command, "-o", output, "--", "sh", "-c", script)
    assert result.returncode == 9
    assert "HW056: " in result.stderr
    assert f"next: headway recover {output}" in result.stderr
    assert "Traceback" not in result.stderr
    assert manifest(output)["state"] == "recording"
    shutil.rmtree(output / "slice.parquet")
    recovered = headway("recover", output)
    assert recovered.returncode == 0, recovered.stderr
    assert (manifest(output)["state"], manifest(output)["exit_code"]) == ("complete", 9)


def test_repeats_end_where_finalising_fails(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    script = f"test -d {output}/repeats && mkdir -p {output}/repeats/2.headway/slice.parquet/x; echo ran"
    result = headway("record", "-o", output, "--repeat", "4", "--", "sh", "-c", script)
    assert (result.returncode, result.stdout) == (0, "ran\nran\n")
    assert "HW056: " in result.stderr
    assert "HW055: 1 of 4 recordings were made: finalising failed" in result.stderr
    assert "HW055" in notice_ids(output)


def test_a_disk_without_room_is_told_before_the_program_starts(tmp_path: Path) -> None:
    place = tmp_path / "tiny"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place], check=True)
    try:
        said = refused(headway("record", "-o", place / "r.headway", "--", "touch", tmp_path / "started"), "HW006")
        assert "MiB are free" in said
        assert os.listdir(place) == []
        assert not (tmp_path / "started").exists()
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_kernel_without_type_information_records_in_a_lesser_mode_and_says_so(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    script = f'mount --bind {empty} /sys/kernel/btf && exec "$@"'
    words = [sys.executable, "-m", "headway", "record", "-o", str(tmp_path / "r.headway"), "--", "true"]
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *words], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    recorded = manifest(tmp_path / "r.headway")
    assert recorded["mode"] == "perf-switch"
    assert "HW100" in notice_ids(tmp_path / "r.headway")
    assert "HW100" in result.stderr
    asked = [*words[:4], "--mode", "ebpf", "--force", *words[4:]]
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *asked], capture_output=True, text=True)
    refused(result, "HW102")
