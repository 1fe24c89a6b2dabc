"""`locks --pid` and `dump` of JVMs with sparse files, directories and mounts in the place of an agent's: a message."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.record.agent.attach import attach
from headway.record.live import live_locks
from support.drivers.hostile_jvm import fake_jvm
from support.drivers.ordinary_user import OrdinaryUser

pytestmark = [pytest.mark.alone, pytest.mark.root]
Run = Callable[..., tuple[int, str, str]]
SECRET = "what only root may read"
IN_NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount"]
COMMANDS = ("locks", "dump")
HOWS = {
    "a tebibyte": "HW073",
    "directories": "HW073",
    "bind mounts": "HW073",
    "performance data": "HW071",
    "a table": "HW065",
}
"""What is put there, and the message."""


@pytest.mark.parametrize("where", ["a user's", "in namespaces"])
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_in_the_place_of_an_agents_files_is_a_message_and_leads_root_nowhere(
    user: OrdinaryUser,
    tmp_path: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    how: str,
    where: str,
) -> None:
    before = user.argv(IN_NAMESPACES if where == "in namespaces" else [])
    if where == "in namespaces" and subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        pytest.skip("an ordinary user may not make a user namespace here")
    victim = tmp_path / "victim"
    victim.write_text(SECRET)
    victim.chmod(0o600)
    known = victim.stat()
    monkeypatch.setattr(live_locks, "_TABLE_LIMIT_S", 1.0)
    # A fake JVM on a busy machine may be late; that it is, is another message.
    monkeypatch.setattr(live_locks, "_MAP_LIMIT_S", 60.0)
    monkeypatch.setattr(live_locks, "attach", functools.partial(attach, timeout_s=60.0))
    output = tmp_path / "out"
    output.mkdir()
    monkeypatch.chdir(output)
    with fake_jvm(before, how, victim) as process:
        code, out, err = run(command, "--pid", str(process.pid))
        if how != "directories":  # those of the JVM's user in it keep headway's from being removed
            assert not [name for name in os.listdir("/tmp") if name.startswith(".headway-") and is_of(user, name)]
    assert code == 1, err
    assert HOWS[how] in err
    for unwanted in (SECRET, "Traceback", "HW319", "\x1b"):
        assert unwanted not in out + err
    assert [*output.iterdir()] == [], "no file of locks"
    now = victim.stat()
    assert (victim.read_text(), now.st_mode, now.st_uid, now.st_mtime_ns) == (
        SECRET,
        known.st_mode,
        known.st_uid,
        known.st_mtime_ns,
    )


def is_of(user: OrdinaryUser, name: str) -> bool:
    try:
        return os.lstat(f"/tmp/{name}").st_uid == user.uid
    except FileNotFoundError:
        return False
