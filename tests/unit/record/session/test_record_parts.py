"""The parts of the recorder that need no recording: CPU lists, names, quotas, programs, the place of a recording."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.record.directory.recording_dir import RecordingDir
from headway.record.machine import host
from headway.record.program.launch import Child, Ending, find_program
from headway.record.session.plan import default_output
from headway.record.target_process import processes
from headway.record.target_process.processes import Process


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=60))
def test_a_cpu_list_reads_back_as_the_cpus_it_was_written_from(cpus: set[int]) -> None:
    assert host.parse_cpu_list(host.format_cpu_list(cpus)) == sorted(cpus)


def test_a_cpu_list_follows_the_kernels_notation() -> None:
    assert host.parse_cpu_list("0-3,8, 10-14:2\n") == [0, 1, 2, 3, 8, 10, 12, 14]
    assert host.format_cpu_list({0, 1, 2, 5}) == "0-2,5"


def test_cpus_are_those_of_proc_where_sys_is_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown = host.online_cpus()
    monkeypatch.setattr(host, "_SYS_CPU", tmp_path)
    assert host.online_cpus() == shown


@pytest.mark.parametrize("text", ["", ",", "a", "1-", "-1", "2-1", "1-2:0", "1.5", "٣", "0x1", "1--2", "99999999"])
def test_what_is_no_cpu_list_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|names no|empty|machine"):
        host.parse_cpu_list(text)


@pytest.mark.parametrize(
    ("command", "stem"),
    [
        (["java", "-jar", "/opt/my app.jar"], "my_app"),
        (["/usr/bin/java", "-Xmx1g", "-cp", "x.jar:y.jar", "org.example.Main", "-jar", "no.jar"], "Main"),
        (["java", "--module-path", "mods", "-m", "com.example/com.example.App"], "App"),
        (["java", "@args", "Hello.java"], "Hello"),
        (["java", "-version"], "java"),
        (["./gradlew", "test"], "gradlew"),
        (["/bin/.hidden"], "hidden"),
        (["..."], "recording"),
    ],
)
def test_a_recording_is_named_after_what_a_person_calls_the_program(
    command: list[str], stem: str, tmp_path: Path
) -> None:
    assert default_output(command, tmp_path).name.rsplit("-", 2)[0] == stem


def test_a_program_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "tool").write_text("")  # not executable: the search goes on
    (tmp_path / "b" / "tool").write_text("")
    (tmp_path / "b" / "tool").chmod(0o755)
    env = {"PATH": f"{tmp_path}/a:{tmp_path}/b"}
    assert find_program("tool", env) == f"{tmp_path}/b/tool"
    with pytest.raises(HeadwayError, match="HW002"):
        find_program("tool", {"PATH": f"{tmp_path}/a"})
    with pytest.raises(HeadwayError, match="HW001"):
        find_program("tool", {"PATH": ""})


@pytest.mark.parametrize(
    ("files", "mountinfo", "cgroup", "cores"),
    [
        (
            {"v2/cpu.max": "max 100000", "v2/a/cpu.max": "150000 100000", "v2/a/b/cpu.max": "max 100000"},
            "v2",
            "0::/a/b",
            1.5,
        ),
        ({"v2/cpu.max": "100000 100000", "v2/a/cpu.max": "400000 100000"}, "v2", "0::/a", 1.0),
        ({"v1/a/cpu.cfs_quota_us": "25000", "v1/a/cpu.cfs_period_us": "50000"}, "v1", "4:cpu,cpuacct:/a\n0::/", 0.5),
        ({"v1/cpu.cfs_quota_us": "-1", "v1/cpu.cfs_period_us": "100000"}, "v1", "4:cpu,cpuacct:/\n0::/", None),
        (
            {"v2/cpu.max": "50000 100000"},
            "v2",
            "0::/../elsewhere",
            0.5,
        ),  # outside the mounted part: only its root is seen
    ],
)
def test_the_tightest_quota_of_a_cgroup_and_its_ancestors_holds(
    tmp_path: Path, files: dict[str, str], mountinfo: str, cgroup: str, cores: float | None
) -> None:
    # Layouts that one machine can't all have, as text in the kernel's format; the real one is in tests/e2e/record/test_record.py.
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "7").mkdir()
    (proc / "7" / "cgroup").write_text(f"{cgroup}\n")
    kinds = {"v1": "cgroup cgroup rw,cpu,cpuacct", "v2": "cgroup2 cgroup2 rw"}
    (proc / "self" / "mountinfo").write_text(f"31 23 0:28 / {tmp_path}/{mountinfo} rw,relatime - {kinds[mountinfo]}\n")
    assert host.quota(host.cgroups(7, proc=proc)).cores == cores


def test_a_process_is_known_by_its_start_and_not_by_its_pid_alone() -> None:
    me = Process.of(os.getpid())
    assert me is not None
    assert me.is_alive
    assert not Process(me.pid, me.start_ticks - 1).is_alive
    assert Process.of(0) is None
    assert processes.tree(os.getpid())[0] == os.getpid()


def test_a_program_that_was_killed_has_ended_once_nobody_is_left_of_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `timeout -s KILL` does, which kills its own group. What ends in another way may leave processes behind."""
    asked: list[tuple[int, int]] = []

    def two_looks_long(group: int, number: int) -> None:
        asked.append((group, number))
        if len(asked) > 2:
            raise ProcessLookupError

    monkeypatch.setattr("headway.record.program.launch.os.killpg", two_looks_long)
    monkeypatch.setattr("headway.record.program.launch._DYING_NS", 60_000_000_000)
    for status in (0, 1 << 8, signal.SIGTERM):
        Child(7, -1, -1, -1, Ending(status, 0, 0)).await_dying_group()
    assert asked == []
    Child(7, -1, -1, -1, Ending(signal.SIGKILL, 0, 0)).await_dying_group()
    assert asked == [(7, 0)] * 3


def test_a_place_that_is_not_kept_leaves_what_was_there(tmp_path: Path) -> None:
    old = tmp_path / "r.headway"
    old.mkdir()
    (old / "manifest.json").write_text('{"format": "headway-recording", "version": 1, "state": "complete"}')
    (old / "thread.parquet").write_text("old")
    with RecordingDir(old, force=True) as place:
        assert os.listdir(place.directory) == ["spool"]
    assert (old / "thread.parquet").read_text() == "old"
    with RecordingDir(old, force=True) as place:
        place.keep()
    assert not (old / "thread.parquet").exists()
    assert os.listdir(tmp_path) == ["r.headway"]


def test_a_recorder_of_an_earlier_boot_or_another_start_is_not_alive() -> None:
    from headway.store.recorder import boot_id, live_recorder

    me = Process.of(os.getpid())
    assert me is not None
    draft = {"state": "recording", "recorder_pid": me.pid, "recorder_start_ticks": me.start_ticks, "boot_id": boot_id()}
    assert live_recorder(draft) == me.pid
    assert live_recorder({**draft, "boot_id": "another"}) is None
    assert live_recorder({**draft, "recorder_start_ticks": 1}) is None
    assert live_recorder({**draft, "state": "complete"}) is None
