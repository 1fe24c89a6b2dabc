"""A process that has another's number, in a pid namespace of its own, or another's socket: root mistakes none for the other."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.drivers.hostile_jvm import attached, fake_jvm, jvm_below, reason, with_number
from support.drivers.ordinary_user import OrdinaryUser

pytestmark = [pytest.mark.alone, pytest.mark.root]
SLEEP = shutil.which("sleep") or "sleep"


def refusal(pid: int, spool: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Attach in vain; return what the one notice says."""
    agents = attached(pid, spool, monkeypatch)
    assert not agents.results
    assert not [*spool.iterdir()]
    assert len(agents.notices) == 1
    return reason(agents)


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of root's that a SIGQUIT would end."""
    process = subprocess.Popen([SLEEP, "1000"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def listening(number: int, uid: int) -> Iterator[socket.socket]:
    """The socket on which the JVM with this number would answer, of a user."""
    address = Path(f"/tmp/.java_pid{number}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(address))
        try:
            os.chown(address, uid, uid)
            address.chmod(0o666)
            server.listen(8)
            server.setblocking(False)
            yield server
        finally:
            address.unlink()


def was_spoken_to(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_a_socket_of_a_third_users_in_the_jvms_name_is_not_spoken_to(
    user: OrdinaryUser, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_jvm(user.argv([]), "no socket") as process, listening(process.pid, 54399) as server:
        said = refusal(process.pid, spool, monkeypatch)
        assert f"/tmp/.java_pid{process.pid} belongs to user 54399, the JVM to user {user.uid}" in said
        assert not was_spoken_to(server)


def test_who_listens_must_have_been_the_jvms_user_when_it_began_to(
    spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_jvm([], "listened as another") as process:
        said = refusal(process.pid, spool, monkeypatch)
        assert f"process {process.pid} of user 0 listens on" in said


def test_the_signal_for_a_process_in_a_pid_namespace_reaches_nobody_who_has_its_number_outside(
    user: OrdinaryUser, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bystander() as other, fake_jvm(with_number(user, other.pid, own_tmp=True), "no socket") as process:
        pid = jvm_below(process, other.pid)
        assert "HW024" in refusal(pid, spool, monkeypatch)
        assert other.poll() is None


@pytest.mark.parametrize("of_root", [True, False], ids=["root's", "another user's"])
def test_a_process_in_a_pid_namespace_that_shares_tmp_leads_to_no_socket_of_its_number_outside(
    user: OrdinaryUser, spool: Path, monkeypatch: pytest.MonkeyPatch, of_root: bool
) -> None:
    uid = 0 if of_root else 54399
    with bystander() as other, listening(other.pid, uid) as server:
        with fake_jvm(with_number(user, other.pid), "no socket") as process:
            said = refusal(jvm_below(process, other.pid), spool, monkeypatch)
            assert f"/tmp/.java_pid{other.pid} belongs to user {uid}, the JVM to user {user.uid}" in said
        assert not was_spoken_to(server)


def test_a_process_in_a_pid_namespace_can_not_answer_for_roots_jvm_of_its_number(
    user: OrdinaryUser, spool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_jvm([], "no socket") as jvm, fake_jvm(with_number(user, jvm.pid), "no records") as process:
        assert jvm_below(process, jvm.pid) != jvm.pid
        said = refusal(jvm.pid, spool, monkeypatch)
        assert f"/tmp/.java_pid{jvm.pid} belongs to user {user.uid}, the JVM to user 0" in said
