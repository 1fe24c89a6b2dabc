"""Attaching as root to processes of others that mean harm: nothing outside is touched, nothing hangs, the recording is whole.

The process is an ordinary user's, or a container's powerless root's (fake_jvm.py). What it may be worth is one notice.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.record.target_process import agent_file
from headway.record.target_process.deadline import Deadline
from headway.record.target_process.rights import Rights, act_as
from headway.store import open_recording
from support.drivers.hostile_jvm import attached, fake_jvm, jvm_below, reason, with_number
from support.drivers.ordinary_user import OrdinaryUser

pytestmark = [pytest.mark.alone, pytest.mark.root]
SECRET = b"root's own\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of root's that nobody else may read, in a directory of root's."""
    directory = tmp_path / "root"
    directory.mkdir(mode=0o700)
    file = directory / f"agent-{os.getpid()}.spool"
    file.write_bytes(SECRET)
    file.chmod(0o600)
    return file


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("silent", "HW024"),
        ("no socket", "HW024"),
        ("drips", "HW024"),
        ("floods", "more than 64 KiB"),
        ("garbage", "HW025"),
        ("no records", "HW071"),
        ("three bytes", "HW071"),
        ("another's pid", "HW071"),
        ("a fifo", "is no socket"),
        ("a fifo for a trigger", "is not the JVM's own"),
        ("another listens", "listens on"),
    ],
)
def test_a_process_that_does_not_behave_like_a_jvm_costs_one_notice(
    user: OrdinaryUser, spool: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    with fake_jvm(user.argv([]), how, victim) as process:
        agents = attached(process.pid, spool, monkeypatch)
        assert said in reason(agents)
        assert not agents.results
        assert not [name for name in os.listdir("/tmp") if name.startswith(".headway-")], "nothing stays behind"
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("how", ["a link", "fifos", "directories", "a tebibyte", "performance data"])
def test_what_a_process_puts_in_place_of_records_is_neither_followed_nor_believed(
    user: OrdinaryUser, spool: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with fake_jvm(user.argv([]), how, victim) as process:
        attached(process.pid, spool, monkeypatch, limit_s=5)
    assert victim.read_bytes() == SECRET
    assert victim.stat().st_mode & 0o777 == 0o600
    for file in spool.iterdir():
        assert SECRET not in file.read_bytes()[:8192]
        assert file.stat().st_blocks * 512 < 1 << 20, "holes are not written out"
        assert file.stat().st_size <= 1 << 30, "no more than the format allows"
        assert (file.stat().st_mode & 0o777, file.stat().st_uid) == (0o600, 0)


def in_namespaces(*flags: str) -> list[str]:
    command = ["unshare", "--mount", *flags, "--"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"no such namespaces here: {' '.join(command)}")
    return command


POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"]


@pytest.mark.parametrize(
    "who", ["a user with a mount namespace", "a user with a pid namespace, too", "a container's root"]
)
def test_files_of_root_that_are_mounted_over_records_are_neither_read_nor_written(
    user: OrdinaryUser, spool: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    if who == "a container's root":
        before = in_namespaces()
    else:
        before = [*user.argv([]), "unshare", "--user", "--map-root-user", "--mount", "--"]
        if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
            pytest.skip("an ordinary user may not make a user namespace here")
    if "pid" in who:
        before = with_number(user, os.getpid())
    # The mount needs to find the file; to read it is root's alone.
    victim = Path(shutil.copy(victim, Path("/tmp") / f"fake-jvm-victim-{os.getpid()}"))
    victim.chmod(0o600)
    with fake_jvm(before, "bind mounts", victim) as process:
        pid = jvm_below(process, os.getpid()) if "pid" in who else process.pid
        agents = attached(pid, spool, monkeypatch, limit_s=5)
        mounted = {path.name.removeprefix("fake-jvm-mounted-") for path in Path("/tmp").glob("fake-jvm-mounted-*")}
        assert {name.partition("-")[0] for name in mounted} == {"agent", "locks"}, "the attack took place"
    assert victim.read_bytes() == SECRET
    assert victim.stat().st_mode & 0o777 == 0o600
    for file in spool.iterdir():
        assert SECRET not in file.read_bytes()[:8192], f"{file.name}: read past a mount"
    victim.unlink()
    assert len(agents.results) == 1


@pytest.mark.parametrize("who", ["an ordinary user", "a container's powerless root"])
def test_no_directory_that_is_exchanged_leads_headway_anywhere(
    user: OrdinaryUser, spool: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    before = user.argv([]) if who == "an ordinary user" else [*in_namespaces(), *POWERLESS]
    before_there = {path.name: path.stat() for path in (victim, victim.parent)}
    with fake_jvm(before, "exchanges", victim) as process:
        for _ in range(15):
            attached(process.pid, spool, monkeypatch)
        assert [name for name in os.listdir("/tmp") if name.startswith(".aside-")], "the attack took place"
    for path in (victim, victim.parent):
        was = before_there[path.name]
        assert (path.stat().st_mode, path.stat().st_uid) == (was.st_mode, was.st_uid)
    assert [path.name for path in victim.parent.iterdir()] == [victim.name]
    assert victim.read_bytes() == SECRET


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_recording_whose_target_keeps_the_attach_waiting(
    user: OrdinaryUser, tmp_path: Path, number: signal.Signals
) -> None:
    recording = tmp_path / "r.headway"
    with fake_jvm(user.argv([]), "silent") as process:
        command = [sys.executable, "-m", "headway", "record", "-o", str(recording), "--pid", str(process.pid)]
        headway = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        deadline = time.monotonic() + 60
        while not recording.exists() or not [name for name in os.listdir("/tmp") if name.startswith(".headway-")]:
            assert headway.poll() is None, headway.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        begun = time.monotonic()
        headway.send_signal(number)
        output, _ = headway.communicate(timeout=60)
        assert "Traceback" not in output
        assert headway.returncode == 0, output
    opened = open_recording(recording)
    assert (opened.manifest.state, opened.manifest.ended_by) == ("complete", "interrupt")
    assert opened.window_ns[1] / 1e9 - begun < 9, "the attach was not waited for until it would have timed out"


def test_argument_files_that_never_end_are_not_waited_for(
    user: OrdinaryUser, spool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path("/tmp") / f"fake-jvm-arguments-{os.getpid()}"
    place.mkdir()
    os.mkfifo(place / "fifo")
    with (place / "long").open("wb") as file:
        file.truncate(1 << 40)
    (place / "link").symlink_to("/dev/zero")
    try:
        with fake_jvm(
            user.argv([]), "no records", "x", *(f"@{place}/{name}" for name in ("fifo", "long", "link"))
        ) as process:
            assert "HW071" in reason(attached(process.pid, spool, monkeypatch, limit_s=5))
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("command", ["locks", "dump"])
def test_a_table_that_a_process_maps_is_believed_no_further_than_its_format(
    user: OrdinaryUser, tmp_path: Path, command: str
) -> None:
    with fake_jvm(user.argv([]), "a table") as process:
        headway = [sys.executable, "-m", "headway", command, "--pid", str(process.pid)]
        limited = ["prlimit", f"--as={6 << 30}", *headway]
        done = subprocess.run(limited, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert "HW065" in done.stderr
    assert "make no sense" in done.stderr
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_records_never_take_more_than_half_of_the_room_that_is_left(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(small)], check=True)
    try:
        source = tmp_path / "source"
        source.write_bytes(os.urandom(1 << 20) * 40)
        fd = os.open(source, os.O_RDONLY)
        with pytest.raises(OSError, match="half of the room"):
            agent_file.copy(fd, small / "agent-1.spool")
        assert list(small.iterdir()) == []
        os.truncate(source, 20 << 20)
        assert agent_file.copy(fd, small / "agent-1.spool") == 0
        os.close(fd)
        assert (small / "agent-1.spool").read_bytes() == source.read_bytes()
    finally:
        subprocess.run(["umount", str(small)], check=True)


TAKES_ITS_MEMORY = """
import os, sys, time
parent, ended = int(sys.argv[1]), time.monotonic() + 60
while time.monotonic() < ended:
    for child in open(f"/proc/{parent}/task/{parent}/children").read().split():
        try:
            status = open(f"/proc/{child}/status").read()
            if int(child) != os.getpid() and int(status.split("CapPrm:")[1].split()[0], 16) == 0:
                open(f"/proc/{child}/mem", "r+b").close()
                print("open", flush=True)
                sys.exit()
        except PermissionError:
            print("refused", flush=True)
            sys.exit()
        except FileNotFoundError:
            pass
"""


def test_what_acts_with_a_containers_rights_is_not_in_its_hands() -> None:
    """Whoever traced that process could answer in its place, and headway believes its answers."""
    command = [*in_namespaces(), *POWERLESS, sys.executable, "-c", TAKES_ITS_MEMORY, str(os.getpid())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.fileno()
        ready = act_as(
            Rights(0, 0, (), False), Deadline.after(60), lambda: bool(select.select([said], [], [], 50)[0]), said
        )
        assert ready
        assert process.stdout.read() == "refused\n"


def test_a_copy_that_is_given_up_keeps_no_room_where_a_process_that_is_left_behind_has_it_open(tmp_path: Path) -> None:
    kept: list[int] = []

    def stays_behind(_: object, target: int) -> int:
        kept.append(os.dup(target))
        os.pwrite(target, b"x" * 8192, 0)
        raise TimeoutError

    with pytest.raises(TimeoutError):
        agent_file.copy_by(stays_behind, tmp_path / "agent-1.spool")
    assert os.fstat(kept[0]).st_blocks == 0
    os.close(kept[0])
    assert not [*tmp_path.iterdir()]
