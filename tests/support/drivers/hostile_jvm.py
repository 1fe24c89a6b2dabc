"""Runs the program that looks like a JVM from outside and means harm (tests/security/fake_jvm.py)."""

from __future__ import annotations

import contextlib
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headway.record.agent import agents as agents_module
from headway.record.agent.agents import AttachedAgents
from headway.record.request.jvm_options import LockOptions
from support.drivers.ordinary_user import OrdinaryUser

FAKE = Path(__file__).parents[2] / "security" / "fake_jvm.py"
HOWS: tuple[str, ...] = runpy.run_path(str(FAKE))["HOWS"]
"""All that it can do."""


@contextmanager
def fake_jvm(before: list[str], how: str, victim: Path | str = "", *more: str) -> Iterator[subprocess.Popen[str]]:
    """A process that looks like a JVM; what it left in /tmp is removed at the end."""
    handle, name = tempfile.mkstemp(".py", "fake-jvm-source-", "/tmp")
    os.close(handle)
    source = Path(name)
    shutil.copyfile(FAKE, source)
    source.chmod(0o644)
    for socket in Path("/tmp").glob(
        ".java_pid*"
    ):  # a JVM that was killed leaves its own, and process numbers come again
        if not Path("/proc", socket.name.removeprefix(".java_pid")).exists():
            socket.unlink()
    known = set(os.listdir("/tmp"))
    arguments = [
        *before,
        shutil.which("python3", path="/usr/bin:/bin") or sys.executable,
        str(source),
        how,
        str(victim),
    ]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        assert process.poll() is None, "headway ended it"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for name in {*os.listdir("/tmp")} - known:
            path = Path("/tmp", name)
            if name.startswith((".java_pid", ".attach_pid", "hsperfdata_fake", ".aside-", ".headway-", "fake-jvm-")):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        source.unlink(missing_ok=True)


def with_number(user: OrdinaryUser, number: int, *, own_tmp: bool = False) -> list[str]:
    """Return the command that gives a user's program this id in a pid namespace; `own_tmp`: with a /tmp of its own, too."""
    unshare = [*user.argv([]), "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"]
    takes = f"echo {number - 1} > /proc/sys/kernel/ns_last_pid"
    if subprocess.run([*unshare, "sh", "-c", takes], capture_output=True).returncode != 0:
        pytest.skip("an ordinary user may not choose numbers in a pid namespace here")
    moves = "mount -t tmpfs m /mnt && cp $2 /mnt/fake.py && mount -t tmpfs t /tmp" if own_tmp else "cd /"
    source = "/mnt/fake.py" if own_tmp else '"$2"'
    script = f'{moves} && python=$1 && source={source} && shift 2 && {takes} && "$python" "$source" "$@"; exit 1'
    return [*unshare, "sh", "-c", script, "sh"]


def jvm_below(process: subprocess.Popen[str], number: int) -> int:
    """Return the process id in our namespace of the process that has the given id in the namespace that a command started."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            numbers = Path("/proc", entry, "status").read_text().split("NSpid:")[1].split("\n")[0].split()
            if os.getsid(int(entry)) == process.pid and len(numbers) > 1 and numbers[-1] == str(number):
                return int(entry)
    raise AssertionError("it has not started")


def attached(pid: int, spool: Path, monkeypatch: pytest.MonkeyPatch, limit_s: float = 2.0) -> AttachedAgents:
    """Attach with locks, stop and leave, as a recording does; it must take no longer than the limits say."""
    monkeypatch.setattr(agents_module, "_ATTACH_LIMIT_S", limit_s)
    begun = time.monotonic()
    agents = AttachedAgents.attach_to(pid, [pid], spool, False, LockOptions())
    agents.silence()
    agents.leave()
    assert time.monotonic() - begun < limit_s + 20
    return agents


def reason(agents: AttachedAgents) -> str:
    """Return what the first notice says, which is of an agent that could not be used."""
    (notice, *_) = agents.notices
    assert notice.id == "HW054", agents.notices
    return notice.message
