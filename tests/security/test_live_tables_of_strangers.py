"""`locks --pid` and `dump` as root, of a JVM whose user keeps its table from being read: a message, and headway can be ended.

Who else has a file open can keep its readers waiting, even where the kernel itself serves it. So root reads what a stranger has
mapped in a process of its own, which can be left behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.record.agent.attach import AttachResult
from headway.record.live import live_locks
from headway.record.live.live_locks import mapped_table
from headway.record.live.table_file import TableFile
from headway.record.target_process import mapped_files
from headway.record.target_process.deadline import Deadline, Interrupted
from headway.record.target_process.directory import TargetDirectory
from headway.record.target_process.rights import Rights, rights_of
from support.drivers.hostile_jvm import fake_jvm
from support.drivers.ordinary_user import OrdinaryUser

pytestmark = [pytest.mark.alone, pytest.mark.root]  # other tests clear /tmp of what these put there
COMMANDS = ("locks", "dump")


def headway(command: str, pid: int, place: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "headway", command, "--pid", str(pid)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=place)
    assert "Traceback" not in done.stderr
    assert "HW319" not in done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    return done


def table_of(pid: int) -> TableFile:
    table = mapped_table(pid, rights_of(pid), Deadline.after(10))
    assert table is not None
    return table


def waits_for_ever(*_: object) -> bytes:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(60)
    return b""


def test_a_table_of_a_stranger_is_read_elsewhere_and_shown(user: OrdinaryUser, tmp_path: Path) -> None:
    with fake_jvm(user.argv([]), "a whole table") as process:
        with contextlib.closing(table_of(process.pid)) as table:
            assert os.readlink(f"/proc/self/fd/{table._fd}").startswith("/memfd:headway-table")
            (row,) = table.read().rows
            assert (row.class_name, row.sums.times_parked) == ("org.example.Lock", 10)
        done = headway("locks", process.pid, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Lock@7" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_a_lease_on_a_table_is_a_message_that_names_the_process(
    user: OrdinaryUser, tmp_path: Path, command: str
) -> None:
    with fake_jvm(user.argv([]), "a leased table") as process:
        done = headway(command, process.pid, tmp_path)
        assert f"of process {process.pid} is not a table of locks: it can't be read" in done.stderr
    assert "HW065" in done.stderr
    assert done.returncode == 1


def test_links_in_the_place_of_a_table_are_a_message_to_its_user(user: OrdinaryUser) -> None:
    with fake_jvm(user.argv([]), "a table behind links") as process:
        done = user.headway("locks", "--pid", str(process.pid))
        assert f"of process {process.pid} is not a table of locks: it can't be read" in done.stderr
    assert "HW065" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_links_in_the_place_of_a_table_do_not_lead_root_elsewhere(
    user: OrdinaryUser, tmp_path: Path, command: str
) -> None:
    with fake_jvm(user.argv([]), "a table behind links") as process:
        assert headway(command, process.pid, tmp_path).returncode == 0, "it is what is mapped that counts"


@pytest.mark.parametrize(
    ("command", "how", "said"),
    [
        ("dump", "floods", "HW025"),
        ("locks", "garbage", "HW025"),
        ("dump", "three bytes", "HW071"),
        ("locks", "a fifo", "is no socket"),
    ],
)
def test_a_process_that_does_not_behave_like_a_jvm_is_a_message(
    user: OrdinaryUser, tmp_path: Path, command: str, how: str, said: str
) -> None:
    with fake_jvm(user.argv([]), how) as process:
        done = headway(command, process.pid, tmp_path)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        assert not [name for name in os.listdir("/tmp") if name.startswith(".headway-") and is_of(user, name)]
    assert [*tmp_path.iterdir()] == [], "no file of locks"


def is_of(user: OrdinaryUser, name: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.lstat(f"/tmp/{name}").st_uid == user.uid
    return False


def test_a_table_that_never_answers_is_left_at_the_deadline_and_by_an_interrupt(
    user: OrdinaryUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_jvm(user.argv([]), "a whole table") as process:
        rights = rights_of(process.pid)
        with contextlib.closing(table_of(process.pid)) as table:
            monkeypatch.setattr(mapped_files, "read_first", waits_for_ever)
            monkeypatch.setattr(live_locks, "_LOOK_LIMIT_S", 0.3)
            with pytest.raises(HeadwayError, match=r"HW065.*it does not answer in time"):
                table.read()
        with pytest.raises(TimeoutError):
            mapped_table(process.pid, rights, Deadline.after(2))
        monkeypatch.setattr(live_locks, "_LOOK_LIMIT_S", 50)
        asked_at = time.monotonic() + 0.5
        begun = time.monotonic()
        with pytest.raises(Interrupted):
            mapped_table(process.pid, rights, Deadline.after(50, lambda: time.monotonic() > asked_at))
        assert time.monotonic() - begun < 20


def test_what_an_agent_of_ours_wrote_outside_the_recording_is_not_waited_for_after_an_interrupt(
    user: OrdinaryUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`AttachResult.content` stands for an agent in layers that others have put together."""
    from headway.record.agent import attach

    rights = Rights(user.uid, user.gid, (), is_ours=False)
    tmp = os.open("/tmp", os.O_PATH | os.O_DIRECTORY)
    private = TargetDirectory.create(tmp, rights, Deadline.after(10))
    try:
        os.close(private.create_file("locks-1.table", Deadline.after(10)))
        result = AttachResult(None, private.path, private.path, private.path / "agent-1.spool", _private=private)  # type: ignore[arg-type]
        assert result.content("locks-1.table", 10, Deadline.after(10)) == b""
        monkeypatch.setattr(attach, "read_first", waits_for_ever)
        with pytest.raises(Interrupted):
            result.content("locks-1.table", 10, Deadline.after(50, lambda: True))
    finally:
        private.remove(Deadline.after(10))
