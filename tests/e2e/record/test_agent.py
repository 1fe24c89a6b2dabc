"""The agent in real JVMs, launched: what it wrote against what the program and the JVM itself say."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.live_process import blocked_times
from support.drivers.recording_cli import wait_for
from support.drivers.workloads import JAVAS, agent, java_command, read_spools, run
from support.oracles.agent_reader import CARRIER, DAEMON, VIRTUAL, AgentSpool, Phase, read_agent_spool

NAME_BYTES = 2048  # the longest name the agent keeps


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def as_written(name: str) -> str:
    """A Java string as the wire has it: lone surrogates replaced, cut between characters."""
    utf8 = name.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return utf8[:NAME_BYTES].decode(errors="ignore")


def test_thread_names_ids_and_flags_are_those_the_program_gave(java: Path, tmp_path: Path) -> None:
    done = run(java, "Names", spool_dir=tmp_path)
    expected = [line for line in done.lines if line["event"] == "thread"]
    assert len(expected) == 9
    for line in expected:
        (start,) = (start for start in done.spool.starts if start.java_id == line["java_id"])
        assert start.name == as_written(line["name"])
        assert start.group == "gröup<b>"
        assert bool(start.flags & DAEMON) == line["daemon"]
        assert not start.flags & (VIRTUAL | CARRIER)


def test_a_thread_that_renames_itself_ends_with_its_last_name(java: Path, tmp_path: Path) -> None:
    done = run(java, "Names", spool_dir=tmp_path)
    renamed = done.line("renamed")
    first = done.spool.thread(renamed["from"])
    last = [name for name in done.spool.renames if name.java_id == renamed["java_id"]]
    assert [(one.name, one.tid) for one in last] == [(renamed["to"], first.tid)]
    unchanged = {line["java_id"] for line in done.lines if line["event"] == "thread"}
    assert not unchanged & {one.java_id for one in done.spool.renames}


def test_threads_that_began_before_the_agent_could_listen_are_there_too(java: Path, tmp_path: Path) -> None:
    spool = run(java, "SelfCheck", 10, spool_dir=tmp_path).spool
    assert spool.thread("main").java_id > 0
    assert spool.thread("Finalizer").flags & DAEMON
    assert spool.thread("Reference Handler").group == "system"


def test_each_of_ten_thousand_short_threads_is_recorded_from_start_to_end(java: Path, tmp_path: Path) -> None:
    done = run(java, "ThreadPerTask", 10_000, spool_dir=tmp_path)
    printed = done.line("thread_per_task")
    starts = {start.java_id: start for start in done.spool.starts if start.name.startswith("task-")}
    ends = {end.java_id: end for end in done.spool.ends if end.java_id in starts}
    assert len(starts) == len(ends) == printed["tasks"] == 10_000
    assert all(ends[i].tid == starts[i].tid and ends[i].ts_ns >= starts[i].ts_ns for i in starts)
    assert all(printed["begin_ns"] <= start.ts_ns for start in starts.values())
    # Each task reads its own CPU clock, then its thread ends; all of them together are less than the whole process.
    assert printed["cpu_ns"] <= sum(end.cpu_ns for end in ends.values()) <= done.cpu_ns + 20_000_000  # os.times ticks
    assert done.spool.lost == 0
    assert (tmp_path / f"agent-{done.spool.pid}.spool").stat().st_size < 4 << 20


def test_start_up_ends_where_main_begins(java: Path, tmp_path: Path) -> None:
    before = time.monotonic_ns()
    done = run(java, "Phases", 20, "1", spool_dir=tmp_path)
    (startup,) = (phase for phase in done.spool.phases if phase.kind == "startup")
    assert before < startup.start_ns < startup.end_ns < done.line("phase")["begin_ns"]
    assert startup.cause == "headway.workloads.Phases"
    (main,) = {start.tid for start in done.spool.starts if start.name == "main"}
    assert main > 0


def test_the_main_class_of_a_jar_ends_start_up_too(java: Path, tmp_path: Path) -> None:
    jar = tmp_path / "app.jar"
    manifest = tmp_path / "manifest"
    manifest.write_text("Main-Class: headway.workloads.SelfCheck\n")
    classes = java_command(java, "SelfCheck")[2]
    with_classes = tmp_path / "classes"
    shutil.unpack_archive(classes, with_classes, "zip")
    subprocess.run(["jar", "cfm", jar, manifest, "-C", with_classes, "."], check=True)
    subprocess.run(
        [java, f"-agentpath:{agent()}={agent_options(tmp_path)}", "-jar", jar, "10"], check=True, capture_output=True
    )
    (spool,) = read_spools(tmp_path).values()
    assert [phase.cause for phase in spool.phases if phase.kind == "startup"] == ["headway.workloads.SelfCheck"]


def test_shutdown_comes_last(java: Path, tmp_path: Path) -> None:
    spool = run(java, "GcHeavy", 50, spool_dir=tmp_path).spool
    (shutdown,) = (phase for phase in spool.phases if phase.kind == "shutdown")
    others = [phase.end_ns for phase in spool.phases if phase.kind != "shutdown"]
    assert max(others) <= shutdown.start_ns <= shutdown.end_ns


COLLECTORS = ("Serial", "Parallel", "G1", "Z", "Shenandoah")
# `timenanos` is System.nanoTime, the agent's clock. A line is written at the end of what it tells of.
_LINE = re.compile(r"\[(?P<ns>\d+)ns\] GC\(\d+\) (?:\w: )?Pause (?P<what>.*?)(?: \d+M->\S+)? *(?P<ms>[\d.]+)ms$")
_ROUNDING_NS = 1000  # the log's milliseconds have three decimals


@pytest.mark.parametrize("collector", COLLECTORS)
def test_gc_pauses_and_causes_are_those_of_the_jvms_own_log(java: Path, collector: str, tmp_path: Path) -> None:
    log = tmp_path / "gc.log"
    options = (f"-XX:+Use{collector}GC", "-Xmx64m", f"-Xlog:gc,gc+phases:file={log}:timenanos")
    done = run(java, "GcHeavy", 200, 16, spool_dir=tmp_path, jvm=options)
    assert done.code == 0, done.stderr
    assert done.spool.info["gc"] == collector
    pauses = sorted((one for one in done.spool.phases if one.kind == "gc_pause"), key=lambda one: one.start_ns)
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(pauses)), "pauses overlap"
    # A young collection may turn into a full one within one pause: two lines. Each line belongs to the pause begun last.
    lines: dict[Phase, list[re.Match[str]]] = {pause: [] for pause in pauses}
    for found in filter(None, map(_LINE.match, log.read_text().splitlines())):
        lines[max((one for one in pauses if one.start_ns <= int(found["ns"])), key=lambda one: one.start_ns)].append(
            found
        )
    assert len(lines) > 0
    for pause, logged in lines.items():
        assert logged, f"the log knows nothing of {pause}"
        total_ns = sum(1e6 * float(line["ms"]) for line in logged)
        if int(logged[-1]["ns"]) <= pause.end_ns:  # the JVM times within the events, or (concurrent cycles) around them
            assert pause.end_ns - pause.start_ns >= total_ns - _ROUNDING_NS * len(logged)
        else:
            assert pause.end_ns - pause.start_ns <= total_ns + _ROUNDING_NS * len(logged)
        what = " ".join(line["what"] for line in logged)
        if what in ("Remark", "Cleanup"):
            assert pause.cause == "G1 concurrent cycle pauses"
        elif what == "Full (Ergonomics)":  # Parallel's choice of collection within a pause that has a cause of its own
            assert pause.cause == "Allocation Failure"
        elif collector in ("Serial", "Parallel", "G1"):
            assert f"({pause.cause})" in what


def test_without_performance_data_pauses_have_no_cause(java: Path, tmp_path: Path) -> None:
    spool = run(java, "GcHeavy", 100, spool_dir=tmp_path, jvm=("-XX:-UsePerfData", "-Xmx64m")).spool
    causes = {phase.cause for phase in spool.phases if phase.kind == "gc_pause"}
    assert causes == {""}


def test_the_jvm_is_described_as_it_describes_itself(java: Path, tmp_path: Path) -> None:
    done = run(
        java, "SelfCheck", 10, "with words", spool_dir=tmp_path, jvm=("-XX:ActiveProcessorCount=3", "-Dx=" + "y" * 5000)
    )
    said = done.line("self_check")
    info = done.spool.info
    assert done.spool.pid == said["pid"]
    assert info["java.version"] == said["java_version"]
    assert info["available_processors"] == str(said["available_processors"]) == "3"
    assert info["flags"].replace("\n", " ") == said["input_arguments"]
    assert info["command"] == "headway.workloads.SelfCheck 10 with words"
    assert info["attached"] == "false"


@pytest.mark.parametrize(
    "how",
    [
        ("code", 0),
        ("code", 3),
        ("halt", 4),
        ("exception",),
        ("signal", "TERM"),
        ("signal", "KILL"),
        ("hooks", 5),
        ("echo",),
    ],
)
def test_exit_code_and_output_are_the_programs_own(java: Path, how: tuple[object, ...], tmp_path: Path) -> None:
    stdin = bytes(range(256)) * 100
    plain = run(java, "Exit", *how, spool_dir=None, stdin=stdin)
    recorded = run(java, "Exit", *how, spool_dir=tmp_path, stdin=stdin, children=True)
    assert (recorded.code, recorded.stdout, recorded.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert recorded.spool.thread("main")


def test_a_child_jvm_is_seen_too_and_prints_one_line(java: Path, tmp_path: Path) -> None:
    done = run(java, "ChildJvm", 10, "1", spool_dir=tmp_path, children=True)
    said = done.line("child")
    assert (done.code, said["exit"]) == (0, 0)
    assert set(done.spools) == {said["pid"], said["child_pid"]}
    assert done.spools[said["child_pid"]].info["command"].startswith("headway.workloads.Phases")
    assert done.stderr.startswith(b"Picked up JAVA_TOOL_OPTIONS: -agentpath:")
    assert done.stderr.count(b"\n") == 1


def test_killing_the_jvm_leaves_what_was_recorded(java: Path, tmp_path: Path) -> None:
    command = java_command(java, "Sleeper", 600, 3, 5, jvm=(f"-agentpath:{agent()}={agent_options(tmp_path)}",))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (file,) = tmp_path.glob("agent-*.spool")
        wait_for(lambda: sum(start.name.startswith("brief-") for start in read_agent_spool(file).starts) > 2)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    (spool,) = read_spools(tmp_path).values()
    briefs = [start for start in spool.starts if start.name.startswith("brief-")]
    assert [start.name for start in sorted(briefs, key=lambda start: start.ts_ns)] == [
        f"brief-{i}" for i in range(len(briefs))
    ]
    assert len(briefs) > 2
    assert spool.thread("sleeper-0").flags & DAEMON


@pytest.mark.parametrize("place", ["missing/directory", "file", "empty name"])
def test_where_nothing_can_be_written_the_program_runs_as_ever(java: Path, place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    where = "" if place == "empty name" else f"spool={tmp_path / place}"
    plain = run(java, "Exit", "code", 3, spool_dir=None)
    command = java_command(java, "Exit", "code", 3, jvm=(f"-agentpath:{agent()}={where}",))
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert not list(tmp_path.rglob("agent-*"))


@pytest.mark.root
@pytest.mark.parametrize(
    ("jdk", "mapped"), [("jdk17", True), ("jdk25", False)]
)  # the agent's files know nothing of the JDK
def test_a_full_disk_silences_the_agent_and_leaves_the_program_unharmed(jdk: str, mapped: bool, tmp_path: Path) -> None:
    # A file system of 600 KiB: the first 256 KiB segments fit, then there is no room.
    small = tmp_path / "small"
    small.mkdir()
    options = agent_options(small) + ("" if mapped else ",nomap=1")
    command = java_command(JAVAS[jdk], "ThreadPerTask", 8000, jvm=(f"-agentpath:{agent()}={options}",))
    script = (
        'mount -t tmpfs -o size=600k tmpfs "$1"; shift 1; "$@"; code=$?; cp '
        + f"{small}/agent-* {tmp_path}; exit $code"
    )
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", small, *command], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"tasks": 8000' in done.stdout
    (spool,) = read_spools(tmp_path).values()
    recorded = sum(start.name.startswith("task-") for start in spool.starts)
    assert 1000 < recorded < 8000
    assert recorded + spool.lost >= 8000


def fill_up(directory: Path) -> None:
    """Write until there is no room, in ever smaller pieces: a file system may keep some for later."""
    for size in (1 << 20, 1 << 16, 4096):
        with contextlib.suppress(OSError), (directory / f"fill-{size}").open("wb", buffering=0) as out:
            while True:
                out.write(bytes(size))
        os.sync()


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mkfs.btrfs") is None, reason="mounts a btrfs")
def test_a_full_btrfs_where_what_was_allocated_is_no_promise_leaves_the_program_unharmed(tmp_path: Path) -> None:
    image, mounted = tmp_path / "image", tmp_path / "btrfs"
    mounted.mkdir()
    with image.open("wb") as out:
        out.truncate(32 << 20)
    subprocess.run(["mkfs.btrfs", "--quiet", "--mixed", image], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", image, mounted], capture_output=True).returncode != 0:
        pytest.skip("this kernel mounts no btrfs")
    try:
        options = f"-agentpath:{agent()}={agent_options(mounted)}"
        command = java_command(JAVAS["jdk17"], "ThreadPerTask", 2000, jvm=(options,))
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            wait_for(lambda: list(mounted.glob("agent-*.spool")))
            program.send_signal(signal.SIGSTOP)  # the agent is loaded before anything else: little is written yet
            try:
                fill_up(mounted)
            finally:
                program.send_signal(signal.SIGCONT)
            out_text, errors = program.communicate()
        assert (program.returncode, errors) == (0, b"")
        assert b'"tasks": 2000' in out_text
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)


def test_where_the_file_system_cannot_be_mapped_the_same_is_written(java: Path, tmp_path: Path) -> None:
    command = java_command(java, "ThreadPerTask", 500, jvm=(f"-agentpath:{agent()}={agent_options(tmp_path)},nomap=1",))
    subprocess.run(command, check=True, capture_output=True)
    (spool,) = read_spools(tmp_path).values()
    assert sum(start.name.startswith("task-") for start in spool.starts) == 500
    assert spool.lost == 0


def test_a_small_file_limit_is_respected(tmp_path: Path) -> None:
    command = java_command(
        JAVAS["jdk25"], "ThreadPerTask", 8000, jvm=(f"-agentpath:{agent()}={agent_options(tmp_path)}",)
    )
    limited = ["prlimit", "--fsize=600000", *command]
    done = subprocess.run(limited, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    (spool,) = read_spools(tmp_path).values()
    assert spool.lost > 0


def test_virtual_threads_are_recorded_only_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    recorded = run(JAVAS["jdk25"], "VirtualThreads", 300, spool_dir=tmp_path / "with", virtual_threads=True)
    plain = run(JAVAS["jdk25"], "VirtualThreads", 300, spool_dir=tmp_path / "without")
    assert recorded.line("virtual_threads")["threads"] == plain.line("virtual_threads")["threads"] == 300
    ids = {start.java_id for start in recorded.spool.vstarts}
    assert len(ids) >= 300  # and the JDK's own
    assert {end.java_id for end in recorded.spool.vends} >= ids - {0}
    assert {each.java_id for each in recorded.spool.mounts} >= ids - {0}
    for carrier in {each.tid for each in recorded.spool.mounts}:
        events = sorted((each for each in recorded.spool.mounts if each.tid == carrier), key=lambda each: each.ts_ns)
        pairs = list(zip(events[::2], events[1::2], strict=False))
        assert all(begin.java_id == end.java_id for begin, end in pairs), "a carrier has one virtual thread at a time"
        assert all((begin.is_end, end.is_end) == (False, True) for begin, end in pairs)
    assert plain.spool.vstarts == []
    assert plain.spool.mounts == []
    for spool in (recorded.spool, plain.spool):
        assert carriers(spool), "the threads that carry virtual threads are marked"


def carriers(spool: AgentSpool) -> list[str]:
    found = [start.name for start in spool.starts if start.flags & CARRIER]
    assert all(name.startswith("ForkJoinPool-1-worker-") for name in found)
    return found


@pytest.mark.parametrize("option", ["-Xcheck:jni", "-Xint", "-Xrs", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1"])
def test_unusual_jvm_options_change_nothing(java: Path, option: str, tmp_path: Path) -> None:
    done = run(java, "Exit", "hooks", 3, spool_dir=tmp_path, jvm=(option,))
    plain = run(java, "Exit", "hooks", 3, spool_dir=None, jvm=(option,))
    assert (done.code, done.stdout, done.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert done.spool.thread("main")


def test_the_agent_asks_for_no_newer_c_library_than_jdk_17_does() -> None:
    """A JVM in a container brings its own C library; JDK 17 builds run from glibc 2.17 on."""
    symbols = subprocess.run(["objdump", "-T", agent()], check=True, capture_output=True, text=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", symbols)}
    assert max(versions) <= (2, 17)
    needed = subprocess.run(["objdump", "-p", agent()], check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"NEEDED +(\S+)", needed)) <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def test_asking_an_old_jdk_for_virtual_threads_is_harmless(tmp_path: Path) -> None:
    done = run(JAVAS["jdk17"], "SelfCheck", 10, spool_dir=tmp_path, virtual_threads=True)
    assert (done.code, done.stderr) == (0, b"")
    assert done.spool.thread("main")


def test_the_stop_word_silences_a_launched_agent(java: Path, tmp_path: Path) -> None:
    command = java_command(java, "Sleeper", 600, 1, 5, jvm=(f"-agentpath:{agent()}={agent_options(tmp_path)}",))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (file,) = tmp_path.glob("agent-*.spool")
        with file.open("r+b") as opened:
            os.pwrite(opened.fileno(), b"\1", 48)
        # It lets go of its file, so that its space can be freed. By then it has seen the word.
        wait_for(lambda: file.name not in Path(f"/proc/{process.pid}/maps").read_text())
        main = read_agent_spool(file).thread("main").tid

        def one_round_later() -> AgentSpool:
            seen = blocked_times(
                process.pid, main
            )  # the main thread sleeps twice and more for each thread that it starts
            wait_for(lambda: blocked_times(process.pid, main) >= seen + 40)
            return read_agent_spool(file)

        before, after = one_round_later(), one_round_later()
        process.kill()
    assert len(after.starts) == len(before.starts) > 0
